/* tests/sim/dice.h - random numbers that follow from a seed */
#ifndef TESTS_SIM_DICE_H
#define TESTS_SIM_DICE_H

#include <stdbool.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood 2014) */
static inline uint64_t dice_roll(struct dice *dice)
{
    uint64_t z = dice->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Dice of their own for each `purpose`. */
static inline struct dice dice_of(uint64_t seed, uint64_t purpose)
{
    struct dice dice = {seed};
    dice.state = dice_roll(&dice) ^ purpose * 0xd6e8feb86659fd93;
    return dice;
}

static inline uint64_t dice_below(struct dice *dice, uint64_t limit)
{
    return limit ? dice_roll(dice) % limit : 0;
}

static inline bool dice_percent(struct dice *dice, uint32_t percent)
{
    return dice_below(dice, 100) < percent;
}

/* 1 .. most, every order of magnitude as likely as any other. */
static inline uint64_t dice_size(struct dice *dice, uint64_t most)
{
    uint64_t bits = 64 - (uint64_t)__builtin_clzll(most | 1);
    uint64_t limit = 1ull << (1 + dice_below(dice, bits));
    return 1 + dice_below(dice, limit < most ? limit : most);
}

#endif
