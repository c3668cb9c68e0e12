/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The injector that libcuda calls, from $CUDA_INJECTION64_PATH, while it starts: subscribes to
 * CUPTI, and makes of each launch, copy and wait of the program a span of its thread, which bears
 * the number that the kernel's record has. See docs/decisions/0047.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/inject/cupti/private.h"
#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"

enum {
    KEY_CALL = 120,
    NESTING = 8,
    FLUSH_FORCED = 1,
    STACK_BYTES = 256 << 10,
    WAIT_S = 1,
    LAST_WAIT_S = 3,
    SILENT_FLUSHES = 5,
    LAST_TRIES = 300,
    LAST_TRY_NS = 1000000,
    TIMED_EVERY = 255, /* odd: of enter and leave alike */
};
#define NS_PER_S UINT64_C(1000000000)

enum { OVER, ALIVE, LEAVING };

OT_HOOK int InitializeInjection(void);

static struct cupti cupti;
static uint32_t state; /* atomic; LEAVING: calls that threads are in still end */
static pid_t owner;

/* What this thread is in; a call of the driver within one of the runtime is that one's. */
static OT_TLS struct {
    uint32_t depth, level;
    struct {
        uint32_t correlation;
        struct optrace_span span;
    } calls[NESTING];
    struct cupti_work work;
} mine;

static uint64_t flush_ns; /* atomic: when the next flush is due */
static uint32_t pending;  /* atomic: launches since the last one */
static uint32_t sleeping; /* atomic: the thread waits for a launch */
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_end = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t flush_lock = PTHREAD_MUTEX_INITIALIZER; /* whoever calls CUPTI's flush */

/* --- Flushing: CUPTI keeps a buffer until it is full --- */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool is_mine(void)
{
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ALIVE && getpid() == owner;
}

static void flush_now(void)
{
    static uint64_t seen;
    static uint32_t silent;
    const int rc = cupti.flush(0);

    if (rc != 0) {
        cupti_say("records come late, when a buffer is full (error %d of cuptiActivityFlushAll)",
                  rc);
        return;
    }
    silent = cupti_buffers_completed() == seen ? silent + 1 : 0;
    seen = cupti_buffers_completed();
    if (silent >= SILENT_FLUSHES && cupti_buffers_out() == 0)
        cupti_say("no records came for calls that were seen: does another tool take them?");
}

/* One thread in a second; the others go on. */
static void flush(uint64_t now)
{
    uint64_t due = __atomic_load_n(&flush_ns, __ATOMIC_RELAXED);

    if (now < due || !__atomic_compare_exchange_n(&flush_ns, &due, now + WAIT_S * NS_PER_S, false,
                                                  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    if (__atomic_exchange_n(&pending, 0, __ATOMIC_ACQ_REL) == 0 && cupti_buffers_out() == 0)
        return;
    if (pthread_mutex_trylock(&flush_lock) != 0)
        return;
    if (is_mine()) {
        flush_now();
        cupti_watch_clock();
        cupti_judge_look();
    }
    pthread_mutex_unlock(&flush_lock);
}

/* Where calls come, they flush. This is for the last of them, and sleeps until there is one. */
static void *sleep_and_flush(void *nothing)
{
    pthread_mutex_lock(&sleep_lock);
    while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != OVER) {
        struct timespec until;

        if (__atomic_load_n(&pending, __ATOMIC_ACQUIRE) == 0 && cupti_buffers_out() == 0) {
            __atomic_store_n(&sleeping, 1, __ATOMIC_SEQ_CST);
            if (__atomic_load_n(&pending, __ATOMIC_SEQ_CST) == 0)
                pthread_cond_wait(&sleep_end, &sleep_lock);
            __atomic_store_n(&sleeping, 0, __ATOMIC_SEQ_CST);
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += WAIT_S;
        while (pthread_cond_timedwait(&sleep_end, &sleep_lock, &until) == 0)
            ;
        pthread_mutex_unlock(&sleep_lock);
        flush(now_ns());
        pthread_mutex_lock(&sleep_lock);
    }
    pthread_mutex_unlock(&sleep_lock);
    return nothing;
}

static void begin_thread(void)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;

    if (pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, &attributes, sleep_and_flush, NULL) == 0)
        pthread_setname_np(thread, "optrace-cupti");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void wake(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, begin_thread);
    if (__atomic_load_n(&sleeping, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&sleep_lock);
        pthread_cond_signal(&sleep_end);
        pthread_mutex_unlock(&sleep_lock);
    }
}

static void after_call(void)
{
    const uint64_t now = now_ns();

    if (__atomic_exchange_n(&pending, 1, __ATOMIC_SEQ_CST) == 0)
        wake();
    if (UNLIKELY(now >= __atomic_load_n(&flush_ns, __ATOMIC_RELAXED)))
        flush(now);
}

/* --- Calls --- */

/* Words of {key, domain, id, the text}. */
struct call_key {
    uint64_t kind;
    uint32_t domain, id;
};
struct call_context {
    struct call_key key;
    const char *function;
};

/* "cudaLaunchKernel_v7000" and "cuLaunchKernel_ptsz" are what programs call without the tail. */
static uint64_t define_call(const void *context)
{
    const struct call_context *call = context;
    char name[128];
    struct optrace_op_info info =
        OPTRACE_OP_INFO(name, call->key.domain == CUPTI_RUNTIME ? "cuda_runtime" : "cuda_driver");
    uint32_t op = 0;
    char *tail;

    snprintf(name, sizeof(name), "%s", call->function ? call->function : "CUDA");
    tail = strstr(name, "_v");
    if (call->key.domain == CUPTI_RUNTIME && tail && tail[2] >= '0' && tail[2] <= '9')
        *tail = '\0';
    tail = strstr(name, "_pts");
    if (!tail)
        tail = strstr(name, "_ptds");
    if (tail)
        *tail = '\0';
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

static uint32_t op_of(uint32_t domain, uint32_t id, const struct cupti_call *call)
{
    static uint32_t ops[2][1024]; /* atomic */
    const struct call_context context = {{KEY_CALL, domain, id}, call->function};
    uint32_t *place = id < 1024 ? &ops[domain == CUPTI_RUNTIME][id] : NULL;
    uint32_t op = place ? __atomic_load_n(place, __ATOMIC_RELAXED) : 0;

    if (op)
        return op;
    op = (uint32_t)names_find_always(&context.key, sizeof(context.key), define_call, &context);
    if (place)
        __atomic_store_n(place, op, __ATOMIC_RELAXED);
    return op;
}

static uint32_t current_run(void)
{
    const uint32_t number = recorder.run_set(0);

    if (number)
        recorder.run_set(number);
    return number;
}

/* What the library computes is for its kernel, not for the memset that it launches before. */
static struct cupti_work take_work(uint32_t domain, uint32_t id)
{
    const struct cupti_work none = {0, 0}, work = cupti_work_now;

    if (work.flop == 0 || !cupti_launches(domain, id))
        return none;
    cupti_work_now = none;
    return work;
}

/* Of a capture, on the thread that captures and within its call; or of what makes a graph of it that
 * can be replayed. */
static void on_node(uint32_t id, const struct cupti_resource *resource)
{
    const struct cupti_graph_data *data = resource->data;
    uint64_t node = 0, original = 0;
    int rc;

    if (!recorder_is_on() || !data)
        return;
    rc = cupti.get_node_id(data->node, &node);
    if (rc != 0) {
        cupti_say("which op captured a graph's kernel is not known (error %d)", rc);
        return;
    }
    if (id == CUPTI_NODE_CREATED) {
        cupti_node_created(node, mine.depth > 0 ? mine.work : (struct cupti_work){0, 0});
        mine.work = (struct cupti_work){0, 0};
    } else if (cupti.get_node_id(data->original_node, &original) == 0) {
        cupti_node_cloned(node, original);
    }
}

/* What a call was left in whose end was not told, as where a level was left meanwhile. */
static void drop_to(uint32_t depth)
{
    for (; mine.depth > depth; mine.depth--) {
        if (mine.depth <= NESTING && mine.calls[mine.depth - 1].span.id)
            recorder.end(mine.calls[mine.depth - 1].span);
    }
}

static void enter_call(uint32_t domain, uint32_t id, const struct cupti_call *call)
{
    struct optrace_span span = {0, 0};
    uint32_t depth;

    if (UNLIKELY(mine.level != (uint32_t)cupti_level_now())) {
        drop_to(0);
        mine.level = (uint32_t)cupti_level_now();
    }
    depth = mine.depth++;
    if (depth >= NESTING)
        return;
    if (recorder_is_on() &&
        (depth == 0 || mine.calls[depth - 1].correlation != call->correlation)) {
        mine.work = take_work(domain, id);
        cupti_note_call(call->correlation, current_run(), mine.work);
        span = recorder.begin(op_of(domain, id, call));
        recorder.correlate(span, call->correlation);
    }
    mine.calls[depth].correlation = call->correlation;
    mine.calls[depth].span = span;
}

static void leave_call(void)
{
    struct optrace_span span;

    if (mine.depth == 0 || --mine.depth >= NESTING)
        return;
    span = mine.calls[mine.depth].span;
    if (span.id == 0)
        return;
    recorder.end(span);
    if (mine.depth == 0)
        after_call();
}

static bool is_entered(uint32_t domain, const struct cupti_call *call)
{
    return (domain != CUPTI_RUNTIME && domain != CUPTI_DRIVER) || call->site == 0;
}

static void on_call(void *user, uint32_t domain, uint32_t id, const void *data)
{
    const bool is_timed = cupti_calls_of_thread++ % TIMED_EVERY == 0 &&
                          __atomic_load_n(__atomic_load_n(&recorder.level, __ATOMIC_ACQUIRE),
                                          __ATOMIC_RELAXED) != OPTRACE_OFF;
    const uint64_t start_ns = UNLIKELY(is_timed) ? cupti_watch_now() : 0;
    const struct cupti_call *call = data;
    const uint32_t now = __atomic_load_n(&state, __ATOMIC_RELAXED);

    (void)user;
    if (UNLIKELY(now != ALIVE) && (now == OVER || is_entered(domain, call)))
        return; /* a child, which has neither our thread nor the state of our locks; or the end */
    if (domain == CUPTI_RESOURCE && (id == CUPTI_NODE_CREATED || id == CUPTI_NODE_CLONED))
        on_node(id, data);
    if (domain != CUPTI_RUNTIME && domain != CUPTI_DRIVER)
        return;
    if (call->site == 0)
        enter_call(domain, id, call);
    else
        leave_call();
    if (UNLIKELY(is_timed))
        cupti_watch_call(start_ns, TIMED_EVERY);
}

/* --- Begin and end --- */

static enum cupti_level wanted_level(void)
{
    const char *value = secure_getenv("OPTRACE_GPU");

    for (enum cupti_level i = CUPTI_LEVEL_HOST; value && i <= CUPTI_LEVEL_ALL; i++) {
        if (strcmp(value, cupti_level_name(i)) == 0)
            return i;
    }
    return CUPTI_LEVEL_HOST;
}

/* CUPTI may hand them over on a thread of its own, after the flush has returned. */
static void await_buffers(void)
{
    for (int i = 0; i < LAST_TRIES && cupti_buffers_out() > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = LAST_TRY_NS}, NULL);
}

/* A flush under way is waited for, but not for ever. */
static bool lock_flush(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LAST_WAIT_S;
    return pthread_mutex_timedlock(&flush_lock, &until) == 0;
}

/* From `ALIVE`: false for all but the first, and in a child. */
static bool become(uint32_t next)
{
    uint32_t alive = ALIVE;

    return getpid() == owner && __atomic_compare_exchange_n(&state, &alive, next, false,
                                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* What came last is there when all buffers are. Those that are not finished have no end. */
static void take_the_rest(void)
{
    cupti_pace_last();
    cupti.flush(0);
    cupti.flush(FLUSH_FORCED);
    await_buffers();
    cupti_watch_clock();
    cupti_watch_end();
}

/* CUPTI ends after this, and is not to be called then. */
static void at_end(void)
{
    const bool is_first = become(OVER);

    if (getpid() != owner || !lock_flush())
        return;
    if (is_first)
        take_the_rest();
    pthread_mutex_unlock(&flush_lock);
}

/* To the program: the calls that threads are in end meanwhile. */
static bool yield(void)
{
    if (!become(LEAVING))
        return false;
    __atomic_store_n(&cupti_is_recording, 0, __ATOMIC_RELAXED);
    if (!lock_flush()) {
        __atomic_store_n(&state, OVER, __ATOMIC_RELEASE);
        cupti_say("the program asks for CUPTI and does not get it: a flush does not end");
        return false;
    }
    cupti_buffers_give_no_more();
    take_the_rest();
    cupti_level_leave();
    cupti_give_back(&cupti, cupti.subscriber);
    __atomic_store_n(&state, OVER, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&flush_lock);
    cupti_say(
        "from here on the program has CUPTI itself, as for a profiler of its own: kernels are not"
        " recorded any more");
    found_note("cuda", "kernels up to where the program's own profiler took CUPTI");
    return true;
}

/* Of CUPTI nothing is left in a child but what hangs. */
static void after_fork_child(void)
{
    __atomic_store_n(&cupti_is_recording, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&state, OVER, __ATOMIC_RELEASE);
}

/* libcuda is told that all is well in any case: what is not is none of its concern. */
int InitializeInjection(void)
{
    static uint32_t calls;
    const enum cupti_level level = wanted_level();
    const char *why;
    int rc;

    if (__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) > 0 || level == CUPTI_LEVEL_HOST ||
        !recorder_wants("cuda"))
        return 1;
    why = cupti_open(&cupti, real_symbol);
    if (why) {
        found_absent(FOUND_CUDA, "the host alone is recorded: a mark says why");
        cupti_say("only the host is recorded: %s", why);
        return 1;
    }
    if (!cupti_buffers_open(&cupti)) {
        cupti_say("only the host is recorded: out of memory");
        return 1;
    }
    cupti_yield_begin(cupti.handle, yield);
    rc = cupti_subscribe(&cupti, on_call);
    if (rc == 0) {
        rc = cupti_level_begin(&cupti, level);
        if (rc != 0)
            cupti_give_back(&cupti, cupti.subscriber);
    }
    if (rc != 0) {
        cupti_say("only the host is recorded: %s (error %d)", cupti_meaning(rc), rc);
        return 1;
    }
    if (recorder_is_on()) /* what is called at exit first comes last: this before what ends the session */
        found_say(FOUND_CUDA);
    recorder_prepare();
    owner = getpid();
    cupti_watch_begin();
    cupti_watch_clock();
    cupti_judge_begin();
    cupti_pace_begin();
    __atomic_store_n(&state, ALIVE, __ATOMIC_RELEASE);
    __atomic_store_n(&cupti_is_recording, 1, __ATOMIC_RELAXED);
    pthread_atfork(NULL, NULL, after_fork_child);
    atexit(at_end);
    cupti_level_begin_calls();
    return 1;
}
