/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From records of CUPTI to events: kernels, copies and graphs on lanes of their streams. Records of all kinds and streams come mixed, and after their run has ended:
 * the run is that in which the call was made.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fetch.h"
#include "base/hints.h"
#include "client/inject/cupti/private.h"
#include "client/inject/recorder.h"

enum {
    CALLS = 1 << 16,
    KERNELS = 1 << 10,
    RECENT_LANES = 64,
    RECORDS_PER_LOOK = 32,
    CACHE_LINE = 64,
    RECORDS_AHEAD = 6,
    CALLS_AHEAD = 3,
    RECORDS_FIRST = 16,
};

/* The op of a kernel that came lately, by where CUPTI keeps its name. That stays as long as the buffer;
 * it may be another one later, where a module is gone: it is compared, once in a buffer. In one line,
 * and the rest in another one. */
struct known {
    const char *place;
    uint64_t sizes[4]; /* as in the record, from `grid` on */
    uint32_t device, registers;
    uint64_t compared;     /* in_buffer(), when it was; and 1 more where it is apart */
    uint32_t op, is_apart; /* by a node, or as it has no op: not by record_known() */
};

struct known_more {
    struct cupti_node node;
    char *name;
};

/* What records of kernels take, in a page, and the kernels that a program has after it: after a rest
 * each page has to come anew, which takes as long as ten records or more. Under the lock. */
static _Alignas(4096) struct {
    pthread_mutex_t lock;
    uint64_t buffer_count;
    uint64_t record_count, invalid_count; /* of a buffer */
    struct lane_of_stream {
        uint32_t device, context, stream, number; /* 0: none */
    } lanes[RECENT_LANES];
    uint32_t kernel_count;
    uint16_t places[KERNELS];                               /* in `kernels`, by a hash */
    _Alignas(CACHE_LINE) struct known kernels[KERNELS + 1]; /* the first one is none */
    struct known_more more[KERNELS + 1];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Of the latest calls. Written on the threads that call, read when the records come. */
static uint64_t calls[CALLS]; /* upper half of the correlation, whether it computes, run */
static struct cupti_work works[CALLS];

#define FUNCTION(name) ((const void *)(uintptr_t)(name))

#define CALL_COMPUTES (UINT64_C(1) << 32)

void cupti_note_call(uint32_t correlation, uint32_t run, struct cupti_work work)
{
    uint64_t call = (uint64_t)(correlation / CALLS) << 48 | run;

    if (UNLIKELY(work.flop != 0)) {
        __atomic_store_n(&works[correlation % CALLS].flop, work.flop, __ATOMIC_RELAXED);
        __atomic_store_n(&works[correlation % CALLS].bytes, work.bytes, __ATOMIC_RELAXED);
        call |= CALL_COMPUTES;
    }
    __atomic_store_n(&calls[correlation % CALLS], call, __ATOMIC_RELEASE);
}

/* As it is kept, with the run in its lower half; 0: none, or it is too long ago. */
static inline uint64_t call_of(uint32_t correlation)
{
    const uint64_t call = __atomic_load_n(&calls[correlation % CALLS], __ATOMIC_ACQUIRE);

    return call >> 48 == correlation / CALLS ? call : 0;
}

uint32_t cupti_run_of(uint32_t correlation)
{
    return (uint32_t)call_of(correlation);
}

/* Taken by the first kernel of the call. */
static NOINLINE struct cupti_work take_work(uint32_t correlation)
{
    struct cupti_work *place = &works[correlation % CALLS];
    struct cupti_work work = {0, 0};

    if (__atomic_load_n(&place->flop, __ATOMIC_RELAXED) != 0) {
        work.flop = __atomic_exchange_n(&place->flop, 0, __ATOMIC_RELAXED);
        work.bytes = __atomic_exchange_n(&place->bytes, 0, __ATOMIC_RELAXED);
    }
    return work;
}

/* --- Lanes --- */

static NOINLINE uint32_t find_lane(uint32_t device, uint32_t context, uint32_t stream, size_t at)
{
    seen.lanes[at].number = cupti_lane_find(device, context, stream);
    seen.lanes[at].device = device;
    seen.lanes[at].context = context;
    seen.lanes[at].stream = stream;
    return seen.lanes[at].number;
}

static inline size_t lane_place(uint32_t device, uint32_t context, uint32_t stream)
{
    return (stream + context * 5 + device * 3) % RECENT_LANES;
}

static uint32_t lane_of(uint32_t device, uint32_t context, uint32_t stream)
{
    const size_t at = lane_place(device, context, stream);
    const struct lane_of_stream *lane = &seen.lanes[at];

    if (LIKELY(lane->number != 0 && lane->stream == stream && lane->context == context &&
               lane->device == device))
        return lane->number;
    return find_lane(device, context, stream, at);
}

uint32_t cupti_lane_of(uint32_t device, uint32_t context, uint32_t stream)
{
    return lane_of(device, context, stream);
}

/* --- Ops --- */

/* Of a record of a graph's node. A copy that was made later than what we know of it has the node that
 * it is a copy of. */
static struct cupti_node node_of(uint64_t graph_node, uint64_t source_node)
{
    const struct cupti_node node = cupti_node_find(source_node ? source_node : graph_node);

    if (source_node && !node.origin && node.work.flop == 0)
        return cupti_node_find(graph_node);
    return node;
}

static inline uint64_t word_of(const void *field)
{
    uint64_t word;

    memcpy(&word, field, sizeof(word));
    return word;
}

/* 0: it is. All of it, and then one branch: they are the same nearly always. */
static inline uint64_t difference(const struct known *known, const struct cupti_kernel *record,
                                  const char *name)
{
    return ((uintptr_t)known->place ^ (uintptr_t)name) |
           (known->sizes[0] ^ word_of(&record->grid[0])) |
           (known->sizes[1] ^ word_of(&record->grid[2])) |
           (known->sizes[2] ^ word_of(&record->block[1])) |
           (known->sizes[3] ^ word_of(&record->static_shared)) |
           (known->registers ^ record->registers) | (known->device ^ record->device);
}

static inline uint64_t in_buffer(void)
{
    return seen.buffer_count * 2;
}

static bool is_node(const struct cupti_node *a, const struct cupti_node *b)
{
    return a->origin == b->origin && a->work.flop == b->work.flop && a->work.bytes == b->work.bytes;
}

static void make_known(size_t at, const struct cupti_kernel *record, const char *name,
                       const struct cupti_node *node)
{
    const struct cupti_launch launch = {{record->grid[0], record->grid[1], record->grid[2]},
                                        {record->block[0], record->block[1], record->block[2]},
                                        (uint32_t)record->static_shared +
                                            (uint32_t)record->dynamic_shared,
                                        record->registers,
                                        record->device,
                                        0,
                                        node->work,
                                        node->origin};
    struct known *known = &seen.kernels[at];
    struct known_more *more = &seen.more[at];

    free(more->name);
    more->name = strdup(name);
    more->node = *node;
    known->place = more->name ? name : NULL;
    memcpy(known->sizes, record->grid, sizeof(known->sizes));
    known->device = record->device;
    known->registers = record->registers;
    known->op = cupti_op_of_kernel(name, &launch);
    known->is_apart = !known->op || node->origin || node->work.flop || node->work.bytes;
}

/* The first one of a buffer, or of all. */
static NOINLINE HOT uint32_t kernel_op_slowly(const struct cupti_kernel *record, const char *name,
                                              const struct cupti_node *node, uint16_t *place)
{
    struct known *known;

    if (*place == 0)
        *place = (uint16_t)++seen.kernel_count;
    known = &seen.kernels[*place];
    if (difference(known, record, name) || !is_node(&seen.more[*place].node, node) ||
        ((known->compared | 1) != (in_buffer() | 1) && strcmp(seen.more[*place].name, name) != 0))
        make_known(*place, record, name, node);
    known->compared = in_buffer() | known->is_apart;
    return known->op;
}

/* `of`: what it is told apart by beside. */
static inline uint16_t *place_of(const struct cupti_kernel *record, const char *name, size_t of)
{
    return &seen.places[((uintptr_t)name / 8 + (uint32_t)record->grid[0] * 9 +
                         (uint32_t)record->block[0] * 5 + of) %
                        KERNELS];
}

static inline const char *name_of(const struct cupti_kernel *record)
{
    return record->name ? record->name : "unknown kernel";
}

/* Of a node of a graph, or of a call that computes. */
static NOINLINE uint32_t node_op(const struct cupti_kernel *record, struct cupti_node node)
{
    const char *name = name_of(record);

    return kernel_op_slowly(record, name, &node,
                            place_of(record, name, (uintptr_t)node.origin / 16 * 13));
}

static uint32_t kernel_op(const struct cupti_kernel *record)
{
    static const struct cupti_node none = {NULL, {0, 0}};
    const char *name = name_of(record);

    return kernel_op_slowly(record, name, &none, place_of(record, name, 0));
}

/* --- Records --- */

static NOINLINE void say_invalid(uint64_t start, uint64_t end)
{
    seen.invalid_count++;
    if (end == 0)
        cupti_say("records of the device without an end were left out");
    else if (end < start)
        cupti_say("records of the device that end before they start were left out");
    else
        cupti_say("records of the device whose times are none were left out");
}

static bool has_times(uint64_t start, uint64_t end)
{
    seen.record_count++;
    if (LIKELY(cupti_are_times(start, end)))
        return true;
    say_invalid(start, end);
    return false;
}

static void put(struct optrace_event *event, uint32_t correlation)
{
    event->flags = OPTRACE_EVENT_REALTIME;
    event->correlation = correlation;
    event->run = cupti_run_of(correlation);
    if (event->lane && event->op)
        recorder.record(event);
}

/* Any kernel. */
static void put_kernel(const struct cupti *cupti, const struct cupti_kernel *record)
{
    const uint64_t call = call_of(record->correlation);
    uint32_t op, lane;

    if (!has_times(record->start, record->end))
        return;
    if (UNLIKELY(record->graph_node))
        op = node_op(record, node_of(record->graph_node,
                                     CUPTI_HAS(cupti, CUPTI_KERNEL, cupti_kernel, source_node)
                                         ? record->source_node
                                         : 0));
    else if (UNLIKELY(call & CALL_COMPUTES))
        op = node_op(record, (struct cupti_node){NULL, take_work(record->correlation)});
    else
        op = kernel_op(record);
    lane = lane_of(record->device, record->context, record->stream);
    if (LIKELY(lane && op))
        recorder_spans.record(op, ot_lane_run(lane, (uint32_t)call), record->start, record->end,
                              record->correlation);
}

static void put_copy(const struct cupti_memcpy *record, uint32_t correlation,
                     const struct cupti_origin *origin)
{
    struct optrace_event event = {.kind = OPTRACE_KIND_COPY,
                                  .start = record->start,
                                  .end = record->end,
                                  .bytes = record->bytes};

    if (!has_times(record->start, record->end))
        return;
    event.op = cupti_op_of_copy(record, origin);
    event.lane = lane_of(record->device, record->context, record->stream);
    put(&event, correlation);
}

/* One of a copy's record, or of another one that has these fields elsewhere. */
static const struct cupti_origin *origin_of(uint64_t graph_node, uint64_t source_node)
{
    return graph_node ? node_of(graph_node, source_node).origin : NULL;
}

static void put_memset(const struct cupti *cupti, const struct cupti_memset *record)
{
    const uint64_t source =
        CUPTI_HAS(cupti, CUPTI_MEMSET, cupti_memset, source_node) ? record->source_node : 0;
    struct optrace_event event = {
        .kind = OPTRACE_KIND_SPAN, .start = record->start, .end = record->end};

    if (!has_times(record->start, record->end))
        return;
    event.op = cupti_op_of_memset(record->device, origin_of(record->graph_node, source));
    event.lane = lane_of(record->device, record->context, record->stream);
    put(&event, record->correlation);
}

static void put_graph(const struct cupti_graph *record)
{
    struct optrace_event event = {
        .kind = OPTRACE_KIND_SPAN, .start = record->start, .end = record->end};

    if (!has_times(record->start, record->end))
        return;
    event.op = cupti_op_of_graph(record->device, record->graph);
    event.lane = lane_of(record->device, record->context, record->stream);
    put(&event, record->correlation);
}

static void put_overhead(const struct cupti *cupti, const struct cupti_overhead *record)
{
    if (record->start != 0 && record->end > record->start)
        cupti_watch_overhead(record->end - record->start);
    if (CUPTI_HAS(cupti, CUPTI_OVERHEAD, cupti_overhead, data))
        free(record->data);
}

static NOINLINE void put_other(const struct cupti *cupti, const void *record, uint32_t kind)
{
    const struct cupti_memcpy *copy = record;
    const struct cupti_memcpy2 *copy2 = record;

    switch (kind) {
    case CUPTI_MEMCPY:
        put_copy(
            copy, copy->correlation,
            origin_of(copy->graph_node, CUPTI_HAS(cupti, CUPTI_MEMCPY, cupti_memcpy, source_node)
                                            ? copy->source_node
                                            : 0));
        break;
    case CUPTI_MEMCPY2: /* the same up to the stream */
        put_copy(record, copy2->correlation, origin_of(copy2->graph_node, 0));
        break;
    case CUPTI_MEMSET:
        put_memset(cupti, record);
        break;
    case CUPTI_GRAPH:
        put_graph(record);
        break;
    case CUPTI_MEMORY:
        if (cupti_record_has(cupti, kind, offsetof(struct cupti_memory, name)))
            cupti_put_memory(record);
        break;
    case CUPTI_POOL:
        cupti_put_pool(record);
        break;
    case CUPTI_JIT:
        cupti_put_compilation(cupti, record);
        break;
    case CUPTI_CONTEXT:
        cupti_note_context(cupti, record);
        break;
    case CUPTI_EVENT:
        cupti_put_event(cupti, record);
        break;
    case CUPTI_SYNC:
        cupti_put_wait(cupti, record);
        break;
    case CUPTI_OVERHEAD:
        put_overhead(cupti, record);
        break;
    default:
        break;
    }
}

static NOINLINE HOT void put_record(const struct cupti *cupti, const void *record)
{
    const uint32_t kind = cupti_kind_of(record);

    if (kind == CUPTI_KERNEL)
        put_kernel(cupti, record);
    else
        put_other(cupti, record, kind);
}

/* --- Buffers --- */

/* What others wrote comes in the time of some records: lines of records, to be written, as they are
 * made 0; and the call of a kernel to come, as it is where that is one. There are so many bytes. */
static inline void fetch_ahead(const uint8_t *at, size_t bytes)
{
    const struct cupti_kernel *kernel = (const void *)(at + CALLS_AHEAD * bytes);

    at += RECORDS_AHEAD * bytes;
    ot_fetch_to_write(at);
    ot_fetch_to_write(at + CACHE_LINE);
    ot_fetch_to_write(at + 2 * CACHE_LINE);
    ot_fetch_to_write(at + 3 * CACHE_LINE);
    __builtin_prefetch(&calls[kernel->correlation % CALLS]);
}

/* Room in the ring of this thread; what lies before `first` is committed. */
struct room {
    struct ot_wire_record *first;
    struct ot_spans spans;
};

/* Before the thread records in another way, too. */
static inline void commit(struct room *room)
{
    const uint32_t count = (uint32_t)(room->spans.next - room->first);

    if (count == 0)
        return;
    room->first = room->spans.next;
    seen.record_count += count;
    recorder_spans.commit(count);
}

/* It may be another ring from now on. */
static inline void leave(struct room *room)
{
    commit(room);
    *room = (struct room){NULL, {NULL, NULL}};
}

static inline void put_span(struct room *room, uint32_t op, uint64_t lane_run,
                            const struct cupti_kernel *record)
{
    if (UNLIKELY(room->spans.next == room->spans.end)) {
        commit(room);
        room->spans = recorder_spans.reserve();
        room->first = room->spans.next;
        if (UNLIKELY(!room->first)) {
            seen.record_count++;
            recorder_spans.record(op, lane_run, record->start, record->end, record->correlation);
            return;
        }
    }
    ot_spans_put(&room->spans, op, lane_run, record->start, record->end, record->correlation);
}

/* One that was compared in this buffer, on a lane that is known. False: it is for put_kernel(). */
static inline bool put_known_kernel(struct room *room, const struct cupti_kernel *record)
{
    const uint64_t call = call_of(record->correlation);
    const struct known *known = &seen.kernels[*place_of(record, record->name, 0)];
    const struct lane_of_stream *lane =
        &seen.lanes[lane_place(record->device, record->context, record->stream)];

    if (UNLIKELY((difference(known, record, record->name) | (known->compared ^ in_buffer()) |
                  (word_of(&lane->device) ^ word_of(&record->device)) |
                  (lane->stream ^ record->stream) | record->graph_node | (call & CALL_COMPUTES)) !=
                 0))
        return false;
    if (UNLIKELY(lane->number == 0 || !cupti_are_times(record->start, record->end)))
        return false;
    put_span(room, known->op, ot_lane_run(lane->number, (uint32_t)call), record);
    return true;
}

/* After so many. Whether it waited: the ring may be another one now. */
static inline bool look(void)
{
    if (!cupti_pace_is_due(RECORDS_PER_LOOK))
        return false;
    pthread_mutex_unlock(&seen.lock);
    cupti_pace_wait();
    pthread_mutex_lock(&seen.lock);
    return true;
}

/* The records of a buffer up to the first one whose length is for CUPTI to say. The last one read stays,
 * as CUPTI is asked for what comes after it; before that all is 0 again, made so while it is in the nearest
 * cache. */
struct walk {
    uint8_t *last, *next, *cleared;
};

static inline void put_known(const struct cupti *cupti, struct walk *walk, const uint8_t *end)
{
    const size_t kernel_bytes = cupti->record_bytes[CUPTI_KERNEL];
    const size_t ahead_bytes = kernel_bytes ? (CALLS_AHEAD + 1) * kernel_bytes : SIZE_MAX;
    struct room room = {NULL, {NULL, NULL}};
    uint32_t count = 0;

    for (;;) {
        uint8_t *at = walk->next;
        size_t bytes = kernel_bytes;
        bool is_put = false;

        if (LIKELY((size_t)(end - at) >= ahead_bytes && cupti_kind_of(at) == CUPTI_KERNEL)) {
            fetch_ahead(at, kernel_bytes);
            is_put = put_known_kernel(&room, (const void *)at);
        } else if ((bytes = cupti_known_bytes(cupti, at, end)) == 0) {
            break;
        }
        if (UNLIKELY(!is_put)) {
            leave(&room);
            put_record(cupti, at);
        }
        walk->last = at;
        walk->next += bytes;
        if (++count % RECORDS_PER_LOOK != 0)
            continue;
        memset(walk->cleared, 0, (size_t)(walk->last - walk->cleared));
        walk->cleared = walk->last;
        commit(&room);
        if (look())
            leave(&room);
    }
    commit(&room);
}

/* One that CUPTI has found, of whatever kind: what is not ours to read is passed over. */
static NOINLINE void put_found(const struct cupti *cupti, const uint8_t *at, const uint8_t *end)
{
    const uint32_t kind = cupti_kind_of(at);

    if (cupti->is_short) {
        at = cupti_short_expand(at, (size_t)(end - at));
    } else if (cupti_known_bytes(cupti, at, end) == 0) {
        if (kind < CUPTI_KINDS && cupti->record_bytes[kind] > 0)
            cupti_say("a record of the device was left out: its buffer ends before it does");
        return;
    }
    if (at)
        put_record(cupti, at);
}

/* Those after a record, NULL: all. Returns what CUPTI answered at last. */
static int put_asked(const struct cupti *cupti, uint8_t *buffer, size_t valid, void *last)
{
    void *record = last;
    uint32_t count = 0;
    int rc;

    while ((rc = cupti_next(cupti, buffer, valid, &record)) == 0) {
        put_found(cupti, record, buffer + valid);
        if (++count % RECORDS_PER_LOOK == 0)
            look();
    }
    if (rc == CUPTI_ELSEWHERE)
        cupti_say("records of the device were left out: CUPTI finds the next one elsewhere");
    return rc == CUPTI_ELSEWHERE ? CUPTI_END_OF_BUFFER : rc;
}

/* Instructions come as slowly as data after a rest; here they come together. */
static inline void fetch_code(const void *function, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += CACHE_LINE)
        __builtin_prefetch((const char *)function + i);
}

static inline void fetch_functions(void)
{
    fetch_code(FUNCTION(cupti_decode), 26 * CACHE_LINE);
    fetch_code(FUNCTION(kernel_op_slowly), 8 * CACHE_LINE);
    fetch_code(FUNCTION(put_record), 11 * CACHE_LINE);
    fetch_code(FUNCTION(pthread_mutex_lock), 2 * CACHE_LINE);
    fetch_code(FUNCTION(strcmp), 4 * CACHE_LINE);
    fetch_code(FUNCTION(recorder_spans.reserve), 3 * CACHE_LINE);
    fetch_code(FUNCTION(recorder_spans.record), 3 * CACHE_LINE);
}

HOT void cupti_decode_soon(const struct cupti *cupti, const uint8_t *buffer, size_t valid)
{
    const uint8_t *at = buffer, *end = buffer + valid;
    size_t bytes;

    if (!recorder_is_open())
        return;
    fetch_functions();
    ot_fetch_to_write(&seen.lock);
    ot_fetch_to_write(&cupti_calls_of_thread);
    __builtin_prefetch(recorder.level);
    for (int i = 0; i < RECORDS_FIRST && (bytes = cupti_known_bytes(cupti, at, end)) > 0; i++) {
        const struct cupti_kernel *record = (const void *)at;

        at += bytes;
        __builtin_prefetch(&seen.kernels[i + 1]);
        __builtin_prefetch(&seen.more[i + 1]);
        if (cupti->is_short || record->kind != CUPTI_KERNEL || !record->name)
            continue;
        __builtin_prefetch(record->name);
        __builtin_prefetch(record->name + CACHE_LINE);
        __builtin_prefetch(place_of(record, record->name, 0));
        __builtin_prefetch(&calls[record->correlation % CALLS]);
    }
    recorder_spans.fetch();
}

/* The same of the names that those are compared with, which these places know. */
static inline void fetch_names(const struct cupti *cupti, const uint8_t *at, const uint8_t *end)
{
    const size_t bytes = cupti->record_bytes[CUPTI_KERNEL];

    if (bytes == 0)
        return;
    for (int i = 0; i < RECORDS_FIRST && (size_t)(end - at) >= bytes; i++, at += bytes) {
        const struct cupti_kernel *record = (const void *)at;
        const char *name;

        if (record->kind != CUPTI_KERNEL)
            return;
        name = seen.more[*place_of(record, record->name, 0)].name;
        if (!name)
            continue;
        __builtin_prefetch(name);
        __builtin_prefetch(name + CACHE_LINE);
    }
}

HOT size_t cupti_decode(const struct cupti *cupti, uint8_t *buffer, size_t valid)
{
    struct walk walk = {NULL, buffer, buffer};
    const uint8_t *end = buffer + valid;
    uint32_t mine;
    int rc = CUPTI_END_OF_BUFFER;

    if (!recorder_is_on())
        return 0;
    /* This may be a thread of the program, within a run that these are not of. */
    mine = recorder.run_set(0);
    pthread_mutex_lock(&seen.lock);
    seen.buffer_count++;
    if (!cupti->is_short) {
        fetch_names(cupti, buffer, end);
        put_known(cupti, &walk, end);
    }
    if (walk.next < end)
        rc = put_asked(cupti, buffer, valid, walk.last);
    cupti_watch_records(seen.record_count, seen.invalid_count);
    seen.record_count = seen.invalid_count = 0;
    pthread_mutex_unlock(&seen.lock);
    if (rc != CUPTI_END_OF_BUFFER && rc != 0)
        cupti_say("records of the device could not be read (error %d)", rc);
    recorder.run_set(mine);
    return (size_t)(walk.cleared - buffer);
}

void cupti_decode_nothing(const struct cupti *cupti, uint8_t *buffer, size_t valid)
{
    const uint8_t *end = buffer + valid;
    void *record = NULL;

    pthread_mutex_lock(&seen.lock);
    while (cupti_next(cupti, buffer, valid, &record) == 0) {
        const uint8_t *at = record;

        if (cupti_kind_of(at) != CUPTI_OVERHEAD)
            continue;
        if (cupti->is_short)
            at = cupti_short_expand(at, (size_t)(end - at));
        else if (cupti_known_bytes(cupti, at, end) == 0)
            at = NULL;
        if (at)
            put_overhead(cupti, (const void *)at);
    }
    pthread_mutex_unlock(&seen.lock);
}
