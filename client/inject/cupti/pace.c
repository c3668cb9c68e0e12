/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Not faster than the daemon reads: a flush may hand over 270,000 records at once, as at the end of a
 * program, and the ring of the thread that puts them holds a quarter of these.
 */
#include <stdlib.h>
#include <time.h>

#include "client/inject/cupti/private.h"
#include "client/inject/recorder.h"

enum {
    RING_RECORDS = 65536, /* as the client has it, if nobody says otherwise */
    WAIT_MS = 2000,
    LAST_WAIT_MS = 3000, /* without a daemon it is all of this */
    FAST_NS = 200000000, /* half of a ring in less time than this may be too fast for the daemon */
};
#define NS_PER_S UINT64_C(1000000000)

OT_TLS uint32_t cupti_calls_of_thread;

static uint32_t part;     /* records after which the daemon is waited for */
static uint64_t tired_ns; /* atomic: it did not answer; until then it is not asked */

static OT_TLS struct {
    uint32_t count;
    bool is_last; /* all that comes now comes at once, and nobody is kept waiting */
    uint64_t since_ns;
} mine;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void cupti_pace_begin(void)
{
    const char *text = secure_getenv("OPTRACE_RING_RECORDS");
    const unsigned long wanted = text && text[0] ? strtoul(text, NULL, 10) : 0;

    part = (wanted > 0 && wanted < RING_RECORDS ? (uint32_t)wanted : RING_RECORDS) / 2;
}

void cupti_pace_last(void)
{
    mine.is_last = true;
    mine.count = cupti_calls_of_thread / 2; /* what it recorded itself may be there, too */
    if (mine.count >= part) {
        mine.count = 0;
        cupti_pace_wait();
    }
}

HOT bool cupti_pace_is_due(uint32_t records)
{
    uint64_t now, since;

    mine.count += records;
    if (LIKELY(mine.count < part))
        return false;
    now = now_ns();
    since = mine.since_ns;
    mine.count = 0;
    mine.since_ns = now;
    return (mine.is_last || (cupti_calls_of_thread == 0 && now - since < FAST_NS)) &&
           now >= __atomic_load_n(&tired_ns, __ATOMIC_RELAXED);
}

void cupti_pace_wait(void)
{
    if (recorder.flush(mine.is_last ? LAST_WAIT_MS : WAIT_MS) != 0)
        __atomic_store_n(&tired_ns, now_ns() + 10 * NS_PER_S, __ATOMIC_RELAXED);
    mine.since_ns = now_ns();
}
