/* SPDX-License-Identifier: Apache-2.0 */
/* Ways that are taken in turn. */
#include "tests/support/turns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

bool turns_all(void)
{
    const char *all = getenv("OPTRACE_TEST_ALL");

    return all && *all;
}

bool turns_slow(void)
{
    const char *slow = getenv("OPTRACE_TEST_SLOW");

    return slow && *slow && !turns_all();
}

bool turns_third(size_t place)
{
    static uint64_t turn = UINT64_MAX;
    const char *given = getenv("OPTRACE_TEST_TURN");

    if (!turns_slow())
        return true;
    if (turn == UINT64_MAX) {
        turn = (given ? strtoull(given, NULL, 10) : ot_clock_ns(CLOCK_REALTIME) / 1000) % 3;
        printf("OPTRACE_TEST_TURN=%" PRIu64 "\n", turn);
        fflush(stdout);
    }
    return place % 3 == turn;
}

bool turns_take(size_t turn, size_t way, size_t ways)
{
    return turns_all() || turn % ways == way;
}

unsigned turns_rounds(unsigned all)
{
    return turns_all() ? all : (all + 3) / 4;
}

uint64_t turns_seed(void)
{
    const char *given = getenv("OPTRACE_TEST_SEED");
    const uint64_t seed = (given ? strtoull(given, NULL, 10) : ot_clock_ns(CLOCK_REALTIME)) | 1;

    printf("OPTRACE_TEST_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
    return seed;
}
