/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the variables once; compares what runs take with nodes and without. */
#include "client/inject/nodes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/found.h"

/* Runs of each kind before anything is said of them. */
enum { WITH_MIN = 5, WITHOUT_MIN = 8, EVERY_MAX = 1000000 };

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static uint32_t every = NODES_EVERY;
static double max_share = 0.02;
static bool is_limited = true;

static void ask_every(const char *text)
{
    unsigned long count;
    char *end;

    if (strcmp(text, "off") == 0)
        every = 0;
    if (strcmp(text, "all") == 0)
        every = 1;
    if (strncmp(text, "1/", 2) != 0)
        return;
    count = strtoul(text + 2, &end, 10);
    if (end != text + 2 && !*end && count >= 1 && count <= UINT32_MAX)
        every = (uint32_t)count;
}

static void ask(void)
{
    const char *nodes = secure_getenv("OPTRACE_NODES"), *cost = secure_getenv("OPTRACE_MAX_COST");
    double percent;
    char *end;

    if (nodes && nodes[0]) {
        ask_every(nodes);
        is_limited = false; /* who says how often means that */
    }
    if (!cost || !cost[0])
        return;
    percent = strtod(cost, &end);
    if (end == cost || !(percent > 0) || percent > 100)
        return;
    max_share = percent / 100;
    is_limited = every > 0;
}

uint32_t nodes_every(void)
{
    pthread_once(&asked, ask);
    return every;
}

bool nodes_are_limited(void)
{
    pthread_once(&asked, ask);
    return is_limited;
}

bool nodes_turn_limited(struct nodes_place *place)
{
    const uint32_t number = __atomic_fetch_add(&place->count, 1, __ATOMIC_RELAXED);
    const uint32_t now = __atomic_load_n(&place->every, __ATOMIC_RELAXED);

    if (now > 1 || every > 1)
        return number % (now ? now : every) == 0;
    return number == 0 || number > WITHOUT_MIN; /* of all: some without, to compare with */
}

static int by_size(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static double median(const struct nodes_place *place, bool has_nodes)
{
    const uint32_t count = place->time_count[has_nodes];
    const uint32_t kept = count < NODES_TIMES ? count : NODES_TIMES;
    uint64_t sorted[NODES_TIMES];

    memcpy(sorted, place->times[has_nodes], kept * sizeof(sorted[0]));
    qsort(sorted, kept, sizeof(sorted[0]), by_size);
    return (double)sorted[kept / 2];
}

static void say(uint32_t before, uint32_t now, double share)
{
    char text[160];

    snprintf(text, sizeof(text),
             "nodes of one run in %u from here on: of one in %u they took %.2g %%"
             " of the time",
             now, before, 100 * share);
    recorder.mark(recorder.name(OPTRACE_MARK, text));
    found_note("nodes", text);
}

/* One run in N costs extra / (N * plain + extra). */
static void limit(struct nodes_place *place)
{
    const double plain = median(place, false), extra = median(place, true) - plain;
    const uint32_t before = place->every ? place->every : every;
    const double share = extra / (before * plain + extra);
    double wanted;

    if (!(extra > 0) || share <= max_share)
        return;
    wanted = plain > 0 ? (extra / max_share - extra) / plain + 1 : EVERY_MAX;
    if (wanted > EVERY_MAX)
        wanted = EVERY_MAX;
    if (wanted <= before)
        return;
    __atomic_store_n(&place->every, (uint32_t)wanted, __ATOMIC_RELAXED);
    place->time_count[true] = 0; /* before it is looked at again */
    say(before, (uint32_t)wanted, share);
}

/* The first run is slow for reasons of its own. What several threads tell at once may be left out. */
void nodes_end_limited(struct nodes_place *place, bool has_nodes, uint64_t start)
{
    const uint64_t end = recorder.ticks();

    if (__atomic_exchange_n(&place->is_busy, 1, __ATOMIC_ACQUIRE))
        return;
    if (place->run_count++ > 0 && end > start) {
        place->times[has_nodes][place->time_count[has_nodes]++ % NODES_TIMES] = end - start;
        if (has_nodes && place->time_count[true] >= WITH_MIN &&
            place->time_count[false] >= WITHOUT_MIN)
            limit(place);
    }
    __atomic_store_n(&place->is_busy, 0, __ATOMIC_RELEASE);
}
