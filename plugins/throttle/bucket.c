/* plugins/throttle/bucket.c - how many bytes may pass now, and how long the others wait */
#include "plugins/throttle/bucket.h"

struct rate rate_make(uint64_t per_second, uint64_t burst, uint32_t largest_part)
{
    double least = largest_part + (double)per_second / 8;
    return (struct rate){(double)per_second, (double)burst > least ? (double)burst : least};
}

static void fill(struct bucket *bucket, struct rate rate, uint64_t now_ms)
{
    double more = (double)(now_ms - bucket->filled_ms) * rate.per_second / 1000;
    bucket->bytes += more;
    if (!bucket->begun || bucket->bytes > rate.burst)
        bucket->bytes = rate.burst;
    bucket->begun = true;
    bucket->filled_ms = now_ms;
}

uint32_t bucket_take(struct bucket *bucket, struct rate rate, uint64_t bytes, uint64_t now_ms)
{
    fill(bucket, rate, now_ms);
    if (bucket->bytes < (double)bytes)
        return (uint32_t)(((double)bytes - bucket->bytes) * 1000 / rate.per_second) + 1;
    bucket->bytes -= (double)bytes;
    return 0;
}
