/* core/process/nearest.c - "did you mean": the known word that is closest to a mistyped one */
#include "core/process/nearest.h"

#include <stdbool.h>
#include <stdio.h>

#include "core/base/string.h"

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool same(weir_string a, size_t i, weir_string b, size_t j)
{
    return character_lower(a.bytes[i - 1]) == character_lower(b.bytes[j - 1]);
}

/* Damerau and Levenshtein's distance, without letter case: how many letters must be inserted, left
 * out, changed or swapped with their neighbour. cost[i][j] is that of the first i and j letters. */
static uint32_t distance(weir_string a, weir_string b)
{
    uint32_t cost[NEAREST_WORD_BYTES + 1][NEAREST_WORD_BYTES + 1];
    for (size_t i = 0; i <= a.length; i++)
        cost[i][0] = (uint32_t)i;
    for (size_t j = 0; j <= b.length; j++)
        cost[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= a.length; i++)
        for (size_t j = 1; j <= b.length; j++) {
            cost[i][j] = least(least(cost[i - 1][j], cost[i][j - 1]) + 1,
                               cost[i - 1][j - 1] + !same(a, i, b, j));
            if (i > 1 && j > 1 && same(a, i, b, j - 1) && same(a, i - 1, b, j))
                cost[i][j] = least(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[a.length][b.length];
}

/* Half a word is meant as the whole one: warn, warning. */
static bool begins(weir_string word, weir_string start)
{
    return start.length >= 3 && start.length < word.length &&
           string_equal_nocase((weir_string){word.bytes, start.length}, start);
}

struct nearest nearest_to(weir_string word)
{
    return (struct nearest){word, NULL, UINT32_MAX};
}

/* One mistake for every three letters is still the same word. */
void nearest_consider(struct nearest *nearest, const char *known)
{
    weir_string word = nearest->word, other = string_of(known);
    if (word.length > NEAREST_WORD_BYTES || other.length > NEAREST_WORD_BYTES)
        return;
    uint32_t letters = least((uint32_t)word.length, (uint32_t)other.length);
    uint32_t found = begins(other, word) ? 1 : distance(word, other);
    if (found < nearest->distance && found * 3 <= letters) {
        nearest->best = known;
        nearest->distance = found;
    }
}

const char *nearest_hint(const struct nearest *nearest, char text[NEAREST_HINT_BYTES])
{
    text[0] = 0;
    if (nearest->best)
        snprintf(text, NEAREST_HINT_BYTES, "; did you mean \"%s\"?", nearest->best);
    return text;
}
