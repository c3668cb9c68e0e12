/* SPDX-License-Identifier: Apache-2.0 */
/* Opening at the first record, and whose functions are used from then on. */
#include "client/inject/recorder.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/inject/names.h"
#include "client/inject/onednn.h"
#include "client/inject/runs.h"
#include "client/inject/scopes.h"

enum { IDLE_CALLS_MAX = 63 };
#define NS_PER_S UINT64_C(1000000000)
#define OFTEN_NS (NS_PER_S / 16)

const uint32_t recorder_closed_level = OPTRACE_OFF;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

struct recorder recorder = {.level = &recorder_closed_level};
OT_TLS uint32_t recorder_idle;

static const struct recorder own = {
    &optrace_level_now,  optrace_look,    optrace_span_begin,  optrace_span_end,
    optrace_mark,        optrace_record,  optrace_ticks,       optrace_op_define,
    optrace_lane_define, optrace_name,    optrace_thread_name, optrace_model_define,
    optrace_run_begin,   optrace_run_end, optrace_run_set,     optrace_start,
};

static const char *const symbols[] = {
    "optrace_level_now",   "optrace_look",    "optrace_span_begin",  "optrace_span_end",
    "optrace_mark",        "optrace_record",  "optrace_ticks",       "optrace_op_define",
    "optrace_lane_define", "optrace_name",    "optrace_thread_name", "optrace_model_define",
    "optrace_run_begin",   "optrace_run_end", "optrace_run_set",     "optrace_start",
};
static_assert(sizeof(symbols) / sizeof(symbols[0]) * sizeof(void *) == sizeof(struct recorder),
              "a symbol for each member");

/* The program's own liboptrace, if it has all that is needed. Ours exports none of this. */
static bool find_theirs(struct recorder *out)
{
    void *places[sizeof(symbols) / sizeof(symbols[0])];

    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        places[i] = dlsym(RTLD_DEFAULT, symbols[i]);
        if (!places[i])
            return false;
    }
    memcpy(out, places, sizeof(*out));
    return true;
}

static void before_fork(void)
{
    scopes_before_fork();
    names_before_fork();
}

static void after_fork_parent(void)
{
    names_after_fork();
    scopes_after_fork(false);
}

static void after_fork_child(void)
{
    names_after_fork();
    scopes_after_fork(true);
    onednn_running = 0; /* of threads that are not here */
}

/* After the client has told of its own handlers, as it was loaded: these are called before them. */
static void prepare_once(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void recorder_prepare(void)
{
    pthread_once(&prepared, prepare_once);
}

static void open_once(void)
{
    struct recorder chosen;

    if (!find_theirs(&chosen))
        chosen = own;
    recorder_prepare();
    recorder = (struct recorder){.level = &recorder_closed_level,
                                 .look = chosen.look,
                                 .begin = chosen.begin,
                                 .end = chosen.end,
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
                                 .start = chosen.start};
    runs_open();
    recorder.start(NULL);
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

bool recorder_wants(const char *source)
{
    const char *list = secure_getenv("OPTRACE_SOURCES");
    const size_t length = strlen(source);

    if (!list || !list[0])
        return true;
    while (*list) {
        const size_t word = strcspn(list, ",");

        if (word == length && strncmp(list, source, length) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}
