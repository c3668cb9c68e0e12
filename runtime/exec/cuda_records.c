/* SPDX-License-Identifier: Apache-2.0 */
/* One CUPTI for the process: what was called, what was recorded, and whether that is whole. */
#include "runtime/exec/cuda_records.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/cupti/library.h"

enum {
    BUFFER_BYTES = 256 << 10,
    BUFFER_ALIGNMENT = 8,
    NULL_IS_ALLOWED = 27, /* from this version on */
    YEARLY = 100000,      /* versions of CUPTI that are its toolkit's, 130500, and not counted */
    TRIES = 300,
    GENTLE_TRIES = 10, /* then what is not finished comes, too; all is */
    FORCED = 1,
    TEXTS = 16,
    TRY_NS = 1000000,
    SLACK_NS = 1000000, /* by which CUPTI's clock may be another than the host's */
};

/* A call of the thread that hands over: it has the number that the records of its work have. */
struct call {
    uint32_t correlation, step;
};

/* What is known of a step. */
struct counts {
    uint32_t launches, kernels; /* called for, and recorded */
    uint32_t copy_calls, copies;
};

/* One for the process, as there is one CUPTI. */
static struct {
    pthread_mutex_t lock;
    struct cupti cupti;
    bool is_tried;
    const char *refusal; /* why there is none; NULL: there is */
    char name[32];
    const void *owner;
    struct ot_clock_triple zero; /* as the run began */
    ARRAY_OF(struct call) calls; /* in ascending order */
    struct device_span *spans;
    struct counts *counts;
    uint32_t step_count, step_room;
    bool is_on, is_disordered, is_full;
    uint64_t dropped, timeless, unread;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local uint32_t thread_step; /* from 1; 0: none */
static _Alignas(BUFFER_ALIGNMENT) uint8_t discard[BUFFER_BYTES];

/* --- Calls --- */

/* Calls of the runtime and those of the driver in them may have one number or two. Work is counted by
 * those of the driver. Needs the lock. */
static void note_call(uint32_t domain, uint32_t id, uint32_t correlation, uint32_t step)
{
    const struct call *last = all.calls.count ? &all.calls.items[all.calls.count - 1] : NULL;

    if (!all.is_on || step >= all.step_count)
        return;
    all.counts[step].launches += domain == CUPTI_DRIVER && cupti_launches(domain, id);
    all.counts[step].copy_calls += domain == CUPTI_DRIVER && cupti_copies(id);
    if (last && last->correlation == correlation)
        return;
    all.is_disordered |= last && (int32_t)(correlation - last->correlation) < 0;
    all.is_full |= array_push(&all.calls, ((struct call){correlation, step})) < 0;
}

static void on_call(void *user, uint32_t domain, uint32_t id, const void *data)
{
    const struct cupti_call *call = data;

    (void)user;
    if (thread_step == 0 || (domain != CUPTI_DRIVER && domain != CUPTI_RUNTIME) || call->site != 0)
        return;
    pthread_mutex_lock(&all.lock);
    note_call(domain, id, call->correlation, thread_step - 1);
    pthread_mutex_unlock(&all.lock);
}

/* Numbers go round after 2^32. */
static const struct call *find_call(uint32_t correlation)
{
    size_t first = 0, end = all.calls.count;

    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        const int32_t ahead = (int32_t)(correlation - all.calls.items[middle].correlation);

        if (ahead == 0)
            return &all.calls.items[middle];
        if (ahead < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

/* --- Records --- */

static void take_span(struct device_span *span, uint64_t start, uint64_t end)
{
    if (!cupti_are_times(start, end)) {
        all.timeless++;
        return;
    }
    if (span->end_ns == 0 || start < span->start_ns)
        span->start_ns = start;
    if (end > span->end_ns)
        span->end_ns = end;
}

static void take_kernel(uint32_t step, const struct cupti_kernel *record)
{
    struct device_span *span = &all.spans[step];

    all.counts[step].kernels++;
    take_span(span, record->start, record->end);
    if (span->kern_ns == 0 || record->start < span->kern_ns)
        span->kern_ns = record->start;
}

static void take_record(const void *record)
{
    const struct cupti_kernel *kernel = record;
    const struct cupti_memcpy *copy = record;
    const struct cupti_memset *set = record;
    const struct call *call;

    switch (cupti_kind_of(record)) {
    case CUPTI_KERNEL:
        call = find_call(kernel->correlation);
        if (call)
            take_kernel(call->step, kernel);
        break;
    case CUPTI_MEMCPY:
        call = find_call(copy->correlation);
        if (call) {
            all.counts[call->step].copies++;
            take_span(&all.spans[call->step], copy->start, copy->end);
        }
        break;
    case CUPTI_MEMSET:
        call = find_call(set->correlation);
        if (call)
            take_span(&all.spans[call->step], set->start, set->end);
        break;
    default:
        break;
    }
}

/* Records of another run, or of what no step handed over, are of no call that is known. */
static void take_buffer(uint8_t *buffer, size_t valid)
{
    void *record = NULL;
    int rc;

    while ((rc = cupti_next(&all.cupti, buffer, valid, &record)) == 0) {
        if (cupti_known_bytes(&all.cupti, record, buffer + valid) > 0)
            take_record(record);
        else if (cupti_kind_of(record) < CUPTI_KINDS &&
                 all.cupti.record_bytes[cupti_kind_of(record)] > 0)
            all.unread++;
    }
    all.unread += rc != CUPTI_END_OF_BUFFER;
}

static void request(uint8_t **out_buffer, size_t *out_bytes, size_t *out_record_limit)
{
    *out_record_limit = 0;
    *out_bytes = BUFFER_BYTES;
    *out_buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
    if (*out_buffer)
        return;
    /* What comes is lost, and counted by CUPTI. */
    *out_bytes = 0;
    *out_buffer = all.cupti.version >= NULL_IS_ALLOWED ? NULL : discard;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    size_t dropped = 0;
    const int rc = all.cupti.dropped(context, stream, &dropped);

    pthread_mutex_lock(&all.lock);
    all.dropped += rc == 0 ? dropped : 1; /* who does not say may have dropped some */
    if (all.is_on && buffer != discard)
        take_buffer(buffer, valid < bytes ? valid : bytes);
    pthread_mutex_unlock(&all.lock);
    if (buffer != discard)
        free(buffer);
}

/* --- Opening --- */

/* Texts stay as they are: several executions may have kept one. Of too many the last is said. */
static const char *say(const char *function, int result)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char texts[TEXTS][96];
    char text[sizeof(texts[0])];
    size_t i = 0;

    snprintf(text, sizeof(text), "%s (error %d of %s)", cupti_meaning(result), result, function);
    pthread_mutex_lock(&lock);
    while (i + 1 < TEXTS && texts[i][0] != '\0' && strcmp(texts[i], text) != 0)
        i++;
    if (texts[i][0] == '\0')
        memcpy(texts[i], text, sizeof(text));
    pthread_mutex_unlock(&lock);
    return texts[i];
}

/* Newer functions are unknown to older libraries. */
static int enable_calls(uint32_t domain)
{
    size_t count, enabled = 0;
    const uint16_t *calls = cupti_calls(domain, &count);
    int rc = 0;

    for (size_t i = 0; i < count; i++) {
        const int answer = all.cupti.enable_callback(1, all.cupti.subscriber, domain, calls[i]);

        enabled += answer == 0;
        rc = answer != 0 ? answer : rc;
    }
    return enabled > 0 ? 0 : rc;
}

/* All but the subscription stays as it is where something is refused: of what CUPTI is asked to record
 * no more of it has crashed. */
static const char *enable_all(void)
{
    static const uint32_t kinds[] = {CUPTI_KERNEL, CUPTI_MEMCPY, CUPTI_MEMSET};
    int rc = all.cupti.register_callbacks(request, complete);

    if (rc != 0)
        return say("cuptiActivityRegisterCallbacks", rc);
    rc = enable_calls(CUPTI_DRIVER);
    if (rc == 0)
        rc = enable_calls(CUPTI_RUNTIME);
    if (rc != 0)
        return say("cuptiEnableCallback", rc);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        rc = all.cupti.enable(kinds[i]);
        if (rc != 0)
            return say("cuptiActivityEnable", rc);
    }
    return NULL;
}

static void name_it(void)
{
    const unsigned version = all.cupti.version;

    if (version >= YEARLY)
        snprintf(all.name, sizeof(all.name), "CUPTI %u.%u", version / 10000, version / 100 % 100);
    else
        snprintf(all.name, sizeof(all.name), "CUPTI (version %u)", version);
}

static const char *open_library(void)
{
    const char *injected = secure_getenv("CUDA_INJECTION64_PATH"), *why;
    int rc;

    if (injected && injected[0])
        return "CUPTI is left to the tool that CUDA_INJECTION64_PATH names";
    why = cupti_open(&all.cupti, dlsym);
    if (why)
        return why;
    rc = all.cupti.subscribe(&all.cupti.subscriber, on_call, NULL);
    if (rc != 0)
        return say("cuptiSubscribe", rc);
    why = enable_all();
    if (why)
        (void)all.cupti.unsubscribe(all.cupti.subscriber);
    else
        name_it();
    return why;
}

/* --- Runs --- */

static bool make_room(uint32_t steps)
{
    struct device_span *spans;
    struct counts *counts;

    if (steps > all.step_room) {
        spans = realloc(all.spans, steps * sizeof(*spans));
        all.spans = spans ? spans : all.spans;
        counts = realloc(all.counts, steps * sizeof(*counts));
        all.counts = counts ? counts : all.counts;
        if (!spans || !counts)
            return false;
        all.step_room = steps;
    }
    if (steps > 0) {
        memset(all.spans, 0, steps * sizeof(*spans));
        memset(all.counts, 0, steps * sizeof(*counts));
    }
    all.step_count = steps;
    return true;
}

/* Needs the lock, without which CUPTI may call back. */
static const char *begin(const void *owner, uint32_t steps)
{
    if (all.owner && all.owner != owner)
        return "another execution of this process has CUPTI";
    if (!make_room(steps))
        return "out of memory";
    all.owner = owner;
    all.calls.count = 0;
    all.is_disordered = all.is_full = false;
    all.dropped = all.timeless = all.unread = 0;
    all.zero = ot_clock_read_triple();
    all.is_on = true;
    return NULL;
}

const char *cuda_records_begin(const void *owner, uint32_t steps)
{
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    const char *why;

    pthread_mutex_lock(&opening);
    if (!all.is_tried)
        all.refusal = open_library();
    all.is_tried = true;
    why = all.refusal;
    pthread_mutex_unlock(&opening);
    if (why)
        return why;
    pthread_mutex_lock(&all.lock);
    why = begin(owner, steps);
    pthread_mutex_unlock(&all.lock);
    return why;
}

void cuda_records_step(uint32_t step)
{
    thread_step = step + 1;
}

/* All, or as many as ever will. */
static bool has_come(void)
{
    bool has = true;

    pthread_mutex_lock(&all.lock);
    for (uint32_t i = 0; has && i < all.step_count; i++)
        has = all.counts[i].kernels >= all.counts[i].launches &&
              all.counts[i].copies >= all.counts[i].copy_calls;
    has = has || all.dropped > 0 || all.unread > 0 || all.is_disordered || all.is_full;
    pthread_mutex_unlock(&all.lock);
    return has;
}

/* Records may come on a thread of CUPTI's, after the flush has returned. */
static const char *await_records(void)
{
    for (int i = 0; i < TRIES; i++) {
        const int rc = all.cupti.flush(i < GENTLE_TRIES ? 0 : FORCED);

        if (rc != 0)
            return say("cuptiActivityFlushAll", rc);
        if (has_come())
            return NULL;
        nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
    }
    return "records of some kernels or copies did not come: does another tool take them?";
}

static bool are_within(uint64_t begin_ns, uint64_t end_ns)
{
    for (uint32_t i = 0; i < all.step_count; i++) {
        const struct device_span *span = &all.spans[i];

        if (span->end_ns != 0 &&
            (span->start_ns + SLACK_NS < begin_ns || span->end_ns > end_ns + SLACK_NS))
            return false;
    }
    return true;
}

static bool was_clock_set(const struct ot_clock_triple *now)
{
    const int64_t before = (int64_t)(all.zero.realtime_ns - all.zero.monotonic_ns);
    const int64_t after = (int64_t)(now->realtime_ns - now->monotonic_ns);

    return llabs(after - before) > SLACK_NS;
}

/* Needs the lock. */
static const char *judge(const struct ot_clock_triple *now)
{
    if (all.is_full)
        return "out of memory";
    if (all.is_disordered)
        return "CUPTI does not number calls in their order";
    if (all.dropped > 0)
        return "CUPTI dropped records for want of room";
    if (all.unread > 0)
        return "records of CUPTI could not be read";
    if (all.timeless > 0)
        return "records of CUPTI have no times, or end before they start";
    if (was_clock_set(now))
        return "the wall clock, which CUPTI's times are by, was set";
    if (!are_within(all.zero.realtime_ns, now->realtime_ns))
        return "records of CUPTI lie outside of their run";
    return NULL;
}

const char *cuda_records_end(const struct device_span **out_spans)
{
    struct ot_clock_triple now = ot_clock_read_triple();
    const char *why = await_records(), *verdict;

    pthread_mutex_lock(&all.lock);
    all.is_on = false;
    verdict = judge(&now);
    pthread_mutex_unlock(&all.lock);
    *out_spans = all.spans;
    return verdict ? verdict : why;
}

const char *cuda_records_name(void)
{
    return all.name[0] != '\0' ? all.name : NULL;
}

void cuda_records_leave(const void *owner)
{
    pthread_mutex_lock(&all.lock);
    if (all.owner == owner) {
        all.owner = NULL;
        all.is_on = false;
        array_deinit(&all.calls);
        free(all.spans);
        free(all.counts);
        all.spans = NULL;
        all.counts = NULL;
        all.step_count = all.step_room = 0;
    }
    pthread_mutex_unlock(&all.lock);
}
