/* codecs/tls/bytes.c - a BIO whose other end are the queues of a connection */
#include <openssl/bio.h>
#include <pthread.h>
#include <string.h>

#include "codecs/tls/tls.h"

static BIO_METHOD *method;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What is not here comes later: how below ended is judged elsewhere. A part of a record would only
 * make OpenSSL keep room for the whole of it. */
static int on_read(BIO *bio, char *bytes, int size)
{
    struct tls *tls = BIO_get_data(bio);
    size_t most = tls->handshake ? SIZE_MAX : tls->readable, length = 0;
    weir_slice slice;
    BIO_clear_retry_flags(bio);
    if (most > (size_t)size)
        most = (size_t)size;
    while (slice_queue_peek(&tls->incoming, &slice, 1, most - length)) {
        memcpy(bytes + length, slice.bytes, slice.length);
        length += slice.length;
        slice_queue_drop(&tls->incoming, slice.length);
    }
    if (!tls->handshake)
        tls->readable -= length;
    if (length)
        return (int)length;
    BIO_set_retry_read(bio);
    return -1;
}

static int on_write(BIO *bio, const char *bytes, int size)
{
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (size <= 0)
        return 0;
    weir_buffer *buffer = buffer_new((size_t)size);
    memcpy(buffer->bytes, bytes, (size_t)size);
    slice_queue_push(&tls->sealed, (weir_slice){buffer->bytes, (size_t)size, buffer});
    buffer_release(buffer);
    return size;
}

static long on_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir");
    BIO_meth_set_read(method, on_read);
    BIO_meth_set_write(method, on_write);
    BIO_meth_set_ctrl(method, on_control);
}

BIO *tls_bio_new(struct tls *tls)
{
    pthread_once(&once, make_method);
    BIO *bio = BIO_new(method);
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    return bio;
}
