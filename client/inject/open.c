/* SPDX-License-Identifier: Apache-2.0 */
/* Opening at the first record, and whose functions are used from then on. */
#include "client/inject/recorder.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/inject/found.h"
#include "client/inject/runs.h"
#include "client/inject/stack.h"

static pthread_once_t opened = PTHREAD_ONCE_INIT;

enum { IDLE_CALLS_MAX = 63 };
#define NS_PER_S UINT64_C(1000000000)
#define OFTEN_NS (NS_PER_S / 16)

static const struct recorder own = {
    &optrace_level_now,  optrace_look,           optrace_span_begin,  optrace_span_end,
    optrace_span_op,     optrace_span_correlate, optrace_mark,        optrace_record,
    optrace_ticks,       optrace_op_define,      optrace_lane_define, optrace_name,
    optrace_thread_name, optrace_model_define,   optrace_run_begin,   optrace_run_end,
    optrace_run_set,     optrace_start,          optrace_thread_lane, optrace_flush,
};

static const char *const symbols[] = {
    "optrace_level_now",   "optrace_look",           "optrace_span_begin",  "optrace_span_end",
    "optrace_span_op",     "optrace_span_correlate", "optrace_mark",        "optrace_record",
    "optrace_ticks",       "optrace_op_define",      "optrace_lane_define", "optrace_name",
    "optrace_thread_name", "optrace_model_define",   "optrace_run_begin",   "optrace_run_end",
    "optrace_run_set",     "optrace_start",          "optrace_thread_lane", "optrace_flush",
};
static_assert(sizeof(symbols) / sizeof(symbols[0]) * sizeof(void *) == sizeof(struct recorder),
              "a symbol for each member");

/* The program's own liboptrace, if it has all that is needed. Ours exports none of this. */
static bool find_theirs(struct recorder *out_recorder)
{
    void *places[sizeof(symbols) / sizeof(symbols[0])];

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        places[i] = dlsym(RTLD_DEFAULT, symbols[i]);
        if (!places[i])
            return false;
    }
    memcpy(out_recorder, places, sizeof(*out_recorder));
    return true;
}

/* By theirs, which has no other way. */
static int record_span(uint32_t op, uint64_t lane_run, uint64_t start, uint64_t end,
                       uint64_t correlation)
{
    const struct optrace_event event = {.kind = OPTRACE_KIND_SPAN,
                                        .flags = OPTRACE_EVENT_REALTIME,
                                        .op = op,
                                        .lane = (uint32_t)lane_run,
                                        .run = (uint32_t)(lane_run >> 32),
                                        .start = start,
                                        .end = end,
                                        .correlation = correlation};

    return recorder.record(&event);
}

static struct ot_spans reserve_none(void)
{
    return (struct ot_spans){NULL, NULL};
}

static void commit_none(uint32_t count)
{
    (void)count;
}

static void fetch_none(void)
{
}

static void open_once(void)
{
    static const struct recorder_spans spans_own = {ot_record_span, ot_spans_reserve,
                                                    ot_spans_commit, ot_spans_fetch};
    static const struct recorder_spans spans_theirs = {record_span, reserve_none, commit_none,
                                                       fetch_none};
    struct recorder chosen;
    const bool is_theirs = find_theirs(&chosen);

    if (!is_theirs)
        chosen = own;
    recorder_spans = is_theirs ? spans_theirs : spans_own;
    recorder_prepare();
    recorder = (struct recorder){.level = &recorder_closed_level,
                                 .look = chosen.look,
                                 .begin = chosen.begin,
                                 .end = chosen.end,
                                 .span_op = chosen.span_op,
                                 .correlate = chosen.correlate,
                                 .mark = chosen.mark,
                                 .record = chosen.record,
                                 .ticks = chosen.ticks,
                                 .op_define = chosen.op_define,
                                 .lane_define = chosen.lane_define,
                                 .name = chosen.name,
                                 .thread_name = chosen.thread_name,
                                 .model_define = chosen.model_define,
                                 .run_begin = chosen.run_begin,
                                 .run_end = chosen.run_end,
                                 .run_set = chosen.run_set,
                                 .start = chosen.start,
                                 .thread_lane = chosen.thread_lane,
                                 .flush = chosen.flush};
    stack_open(&recorder);
    runs_open();
    recorder.start(NULL);
    found_open();
    __atomic_store_n(&recorder.level, chosen.level, __ATOMIC_RELEASE);
}

void recorder_open(void)
{
    pthread_once(&opened, open_once);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* As optrace_look() counts its inline callers: each call where they are seldom. */
bool recorder_look(void)
{
    static OT_TLS uint64_t looked_ns;
    static OT_TLS uint32_t calls;
    const uint64_t now = now_ns();

    if (now == looked_ns) { /* within a tick of that clock nobody comes */
        recorder_idle = calls;
        return !recorder_is_off();
    }
    if (now - looked_ns > OFTEN_NS)
        calls /= 4;
    else
        calls = calls * 2 + 1 < IDLE_CALLS_MAX ? calls * 2 + 1 : IDLE_CALLS_MAX;
    looked_ns = now;
    recorder_idle = calls;
    recorder_open();
    recorder.look();
    return __atomic_load_n(recorder.level, __ATOMIC_RELAXED) != OPTRACE_OFF;
}
