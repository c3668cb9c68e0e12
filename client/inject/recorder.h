/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sources record with: the functions of optrace.h, of this library or of the liboptrace
 * that the program brings, so that a process has one session. Nothing is opened before a source has
 * something to record: most processes that load this library never do.
 *
 *     if (recorder_is_on()) span = recorder.begin(op);
 *
 * Inside client/inject only. Every function may be called by any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_RECORDER_H
#define OPTRACE_CLIENT_INJECT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hints.h"
#include "client/optrace.h"
#include "client/record.h"

#define OT_HOOK __attribute__((visibility("default")))
#define OT_TLS  _Thread_local __attribute__((tls_model("initial-exec")))

struct recorder {
    const uint32_t *level; /* while closed: of a level that is always off */
    void (*look)(void);
    struct optrace_span (*begin)(uint32_t op);
    void (*end)(struct optrace_span span);
    void (*span_op)(struct optrace_span span, uint32_t op);
    void (*correlate)(struct optrace_span span, uint64_t correlation);
    void (*mark)(uint32_t op);
    int (*record)(const struct optrace_event *event);
    uint64_t (*ticks)(void);
    int (*op_define)(const struct optrace_op_info *info, uint32_t *out_op);
    int (*lane_define)(const struct optrace_lane_info *info, uint32_t *out_lane);
    uint32_t (*name)(enum optrace_name_type type, const char *name);
    int (*thread_name)(const char *name);
    int (*model_define)(const struct optrace_model_info *info, uint32_t *out_model);
    struct optrace_run (*run_begin)(uint32_t model, uint32_t flags);
    void (*run_end)(struct optrace_run run);
    uint32_t (*run_set)(uint32_t number);
    int (*start)(const struct optrace_config *config);
    uint32_t (*thread_lane)(void);
    int (*flush)(uint32_t timeout_ms);
};
extern struct recorder recorder;

/** The ways of client/record.h. Where the recorder is the program's, record() alone does it: there is never
 *  room. NULL while the recorder is closed. */
struct recorder_spans {
    int (*record)(uint32_t op, uint64_t lane_run, uint64_t start, uint64_t end,
                  uint64_t correlation);
    struct ot_spans (*reserve)(void);
    void (*commit)(uint32_t count);
    void (*fetch)(void);
};
extern struct recorder_spans recorder_spans;
extern const uint32_t recorder_closed_level;

/** Calls until the next recorder_look() of this thread. For recorder_is_on() alone. */
extern OT_TLS uint32_t recorder_idle;
bool recorder_look(void);

/** Whether to record now. The first call opens the recorder, which may block as optrace_start()
 *  does; while off, one call in some looks for a daemon. */
static inline bool recorder_is_on(void)
{
    const uint32_t *level = __atomic_load_n(&recorder.level, __ATOMIC_ACQUIRE);

    if (LIKELY(__atomic_load_n(level, __ATOMIC_RELAXED) != OPTRACE_OFF))
        return true;
    return UNLIKELY(recorder_idle-- == 0) && recorder_look();
}

/** Whether nobody listens. True says nothing of a daemon that came just now: recorder_is_on() looks,
 *  unless recorder_may_pass() says that it is not this call's turn. */
static inline bool recorder_is_off(void)
{
    const uint32_t *level = __atomic_load_n(&recorder.level, __ATOMIC_ACQUIRE);

    return UNLIKELY(__atomic_load_n(level, __ATOMIC_RELAXED) == OPTRACE_OFF);
}

static inline bool recorder_may_pass(void)
{
    if (UNLIKELY(recorder_idle == 0))
        return false;
    recorder_idle--;
    return true;
}

/** Open it, if it is not. */
void recorder_open(void);

static inline bool recorder_is_open(void)
{
    return __atomic_load_n(&recorder.level, __ATOMIC_ACQUIRE) != &recorder_closed_level;
}

/** Locks across files, in the order in which they are taken: a fork() takes them, too. */
enum recorder_lock {
    RECORDER_LOCK_TORCH,
    RECORDER_LOCK_OPENVINO,
    RECORDER_LOCK_GGML,
    RECORDER_LOCK_ORT,
    RECORDER_LOCK_ORT_REGISTERING, /* while ONNX Runtime calls CreateEpFactories() */
    RECORDER_LOCK_ORT_PROVIDER,
    RECORDER_LOCK_SCOPES,
    RECORDER_LOCK_CUDNN,
    RECORDER_LOCK_NAMES,
    RECORDER_LOCK_COUNT
};
void recorder_lock(enum recorder_lock which);
bool recorder_try_lock(enum recorder_lock which);
void recorder_unlock(enum recorder_lock which);

/** From now on a fork() takes these locks, and is noticed. */
void recorder_prepare(void);

/** How many forks lie between this process and the one that loaded the library: what threads of the
 *  parent have begun does not exist here. */
extern uint32_t recorder_forks;

/** How many primitives of oneDNN that are recorded run now, in the whole process: meanwhile oneDNN
 *  tells the same by ITT, on each of its threads. Read it relaxed. */
extern uint32_t recorder_primitives;

/** Where a library lies whose products are counted by the ops that they are part of, so that they are
 *  no ops by themselves; 0 and 0: none does. Read it by recorder_is_counted(). */
extern uintptr_t recorder_counted_begin, recorder_counted_end;

static inline bool recorder_is_counted(uintptr_t function)
{
    return function >= __atomic_load_n(&recorder_counted_begin, __ATOMIC_RELAXED) &&
           function < __atomic_load_n(&recorder_counted_end, __ATOMIC_RELAXED);
}

/** Whether a source of this name is wanted: $OPTRACE_SOURCES is a list, or not set. */
bool recorder_wants(const char *source);

#endif
