/* core/io/work.c - functions that take long run on threads of libuv's pool */
#include "core/io/work.h"

#include "core/base/memory.h"
#include "core/io/uv_loop.h"

struct work {
    uv_work_t request;
    weir_result (*run)(void *data);
    void (*done)(void *data, weir_result result);
    void *data;
    weir_result result;
};

static void cb_work(uv_work_t *request)
{
    struct work *work = request->data;
    work->result = work->run(work->data);
}

static void cb_after_work(uv_work_t *request, int status)
{
    struct work *work = request->data;
    void (*done)(void *, weir_result) = work->done;
    void *data = work->data;
    weir_result result = status ? WEIR_CANCELLED : work->result;
    memory_free(work);
    done(data, result);
}

struct work *work_start(struct loop *loop, weir_result (*run)(void *data),
                        void (*done)(void *data, weir_result result), void *data)
{
    struct work *work = memory_zeroed(sizeof *work);
    work->run = run;
    work->done = done;
    work->data = data;
    work->request.data = work;
    uv_queue_work(loop_uv(loop), &work->request, cb_work, cb_after_work);
    return work;
}

void work_cancel(struct work *work)
{
    uv_cancel((uv_req_t *)&work->request);
}
