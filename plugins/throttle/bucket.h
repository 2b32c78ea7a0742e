/* plugins/throttle/bucket.h - how many bytes may pass now, and how long the others wait
 *
 * A bucket fills at the rate up to the burst. What passes is taken out of it at once; what does not
 * fit takes nothing, and asks again. So over any time passes at most the rate times that time, and
 * one burst. */
#ifndef THROTTLE_BUCKET_H
#define THROTTLE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct rate {
    double per_second, burst; /* bytes; per_second 0: no limit */
};

struct bucket {
    double bytes;
    uint64_t filled_ms;
    bool begun; /* zeroed: it is full */
};

/* The rate with a burst that lets the largest part pass, and timers be late without loss. */
struct rate rate_make(uint64_t per_second, uint64_t burst, uint32_t largest_part);

/* 0: taken; else ask again after so many milliseconds. */
uint32_t bucket_take(struct bucket *bucket, struct rate rate, uint64_t bytes, uint64_t now_ms);

#endif
