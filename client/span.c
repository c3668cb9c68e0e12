/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot path: begin, kern, end. Each reads the clock once, stores into the thread's ring and
 * publishes with one store of `state`; docs/decisions/0025 says what of it has been tried. What is
 * unlikely leaves for a cold function at the first sight of it: no ring yet, too deep, ended out of
 * order, ring full, housekeeping due, CPU counters to be read.
 */
#include "client/optrace.h"

#include "client/counted.h"
#include "client/hot.h"
#include "client/polling.h"
#include "client/schedule.h"
#include "client/session.h"
#include "client/span_end.h"
#include "client/thread_life.h"

/* Both values are in registers here, not to be loaded later. */
#define HAVE_LOADED(a, b) __asm__ volatile("" : "+r"(a), "+r"(b))

static uint32_t run_count;

/* A handle: `start` as in the open entry, `id` the depth at which it stands, from 1. */

/*
 * An open entry holds kind, lane and start, which begin stores. Its other words are 0 before and
 * after: they are so in a new ring, and who stores one of them (kern, correlation, the bytes of a
 * copy) has end put it back, after the word that ends the span. Entries beyond the depth may have
 * old words in the first three only.
 */

/* Open an entry of which kind and lane are stored. */
static inline struct optrace_span open_entry(struct ot_hot *hot, struct ot_wire_record *entry,
                                             uint64_t state, uint64_t now, uint64_t bytes)
{
    ot_record_store(entry, OT_WORD_START, now);
    if (bytes)
        ot_record_store(entry, OT_WORD_BYTES, bytes);
    ot_publish(hot, state + OT_DEPTH_ONE);
    return (struct optrace_span){.start = now, .id = ot_ring_depth(state) + 1};
}

static COLD struct optrace_span begin_slowly(uint64_t kind_word, uint64_t bytes)
{
    const struct optrace_span none = {0, 0};
    struct ot_hot *hot = &ot_hot;
    struct ot_wire_record *entry;
    uint64_t now;

    if (hot->busy)
        return none;
    now = ot_ticks();
    if (hot->state == OT_STATE_NONE) {
        if (!ot_thread_attach(now)) {
            if (optrace_level() != OPTRACE_OFF)
                ot_thread_lose(0, OT_LOSS_NO_MEMORY, now);
            return none;
        }
        now = ot_ticks(); /* that took its time, which is not the span's */
    } else if (ot_is_called(hot, now)) {
        ot_thread_service(now);
        if (optrace_level() == OPTRACE_OFF) /* it has been switched off meanwhile */
            return none;
        now = ot_ticks();
    }
    if (hot->state >= OT_STATE_DEEP) {
        ot_thread_lose(0, OT_LOSS_TOO_DEEP, now);
        return none;
    }
    if (hot->counters) {
        ot_counted_begin(hot, kind_word);
        now = ot_ticks();
    }
    entry = &hot->ring->open[ot_ring_depth(hot->state)];
    ot_record_store(entry, OT_WORD_KIND, kind_word);
    ot_record_store(entry, OT_WORD_LANE, hot->lane_run);
    return open_entry(hot, entry, hot->state, now, bytes);
}

static inline struct optrace_span begin(uint64_t kind_word, uint64_t bytes)
{
    struct ot_hot *hot = &ot_hot;
    const uint64_t state = hot->state;
    uint64_t deadline = __atomic_load_n(&hot->deadline, __ATOMIC_RELAXED);
    struct ot_wire_record *entry;
    uint64_t now;

    if (UNLIKELY(state >= OT_STATE_DEEP))
        return begin_slowly(kind_word, bytes);
    entry = &hot->ring->open[ot_ring_depth(state)];
    ot_record_store(entry, OT_WORD_KIND, kind_word);
    ot_record_store(entry, OT_WORD_LANE, hot->lane_run);
    HAVE_LOADED(deadline, entry); /* what needs no clock is done before it is read */
    now = ot_fast_ticks();
    if (UNLIKELY(now >= deadline))
        return begin_slowly(kind_word, bytes);
    return open_entry(hot, entry, state, now, bytes);
}

struct optrace_span optrace_span_begin(uint32_t op)
{
    return begin(ot_record_kind_word(OT_RECORD_SPAN, 0, op), 0);
}

struct optrace_span optrace_copy_begin(uint32_t op, uint64_t bytes)
{
    const struct optrace_span none = {0, 0};

    if (optrace_level() == OPTRACE_OFF || op == 0 || bytes > INT64_MAX)
        return none;
    return begin(ot_record_kind_word(OT_RECORD_COPY, 0, op), bytes);
}

/* The open entry of a span of this thread; NULL when it has ended, or never was this thread's. */
static inline struct ot_wire_record *find_entry(const struct ot_hot *hot, struct optrace_span span)
{
    struct ot_wire_record *entry;

    if (UNLIKELY(span.id - 1 >= ot_ring_depth(hot->state) || hot->state == OT_STATE_NONE))
        return NULL;
    entry = &hot->ring->open[span.id - 1];
    return ot_record_load(entry, OT_WORD_START) == span.start ? entry : NULL;
}

void optrace_span_kern(struct optrace_span span)
{
    uint64_t now = ot_ticks();
    struct ot_wire_record *entry = find_entry(&ot_hot, span);

    if (entry)
        ot_record_store(entry, OT_WORD_KERN, now < span.start ? span.start : now);
}

void optrace_span_correlate(struct optrace_span span, uint64_t correlation)
{
    struct ot_wire_record *entry = span.id ? find_entry(&ot_hot, span) : NULL;

    if (entry)
        ot_record_store(entry, OT_WORD_CORRELATION, correlation);
}

void optrace_span_op(struct optrace_span span, uint32_t op)
{
    struct ot_wire_record *entry = span.id && op ? find_entry(&ot_hot, span) : NULL;

    if (entry)
        ot_record_store(entry, OT_WORD_KIND,
                        (uint32_t)ot_record_load(entry, OT_WORD_KIND) | (uint64_t)op << 32);
}

/* Whether an open entry holds what begin stores, and no more. */
static inline bool is_plain(const struct ot_wire_record *entry)
{
    return (ot_record_load(entry, OT_WORD_KERN) | ot_record_load(entry, OT_WORD_CORRELATION) |
            ot_record_load(entry, OT_WORD_BYTES)) == 0;
}

static COLD void end_slowly(struct optrace_span span, uint64_t now)
{
    const uint64_t implicit = (uint64_t)OT_RECORD_IMPLICIT_END << 16;
    struct ot_hot *hot = &ot_hot;

    if (!ot_fast_ticks_fit())
        now = ot_ticks();
    if (hot->counters && find_entry(hot, span))
        ot_counters_read(hot->counters);
    if (!hot->busy && ot_is_called(hot, now))
        ot_thread_service(now);
    if (!find_entry(hot, span))
        return;
    while (ot_ring_depth(hot->state) > span.id)
        ot_span_end_innermost(hot, now, implicit);
    ot_span_end_innermost(hot, now, 0);
}

void optrace_span_end(struct optrace_span span)
{
    struct ot_hot *hot = &ot_hot;
    const uint64_t now = ot_fast_ticks();
    const uint64_t state = hot->state;
    struct ot_wire_record *entry, *record;

    if (UNLIKELY(ot_ring_depth(state) != span.id || span.id == 0 ||
                 ot_ring_head(state) >= hot->stop || ot_is_due(hot, now))) {
        end_slowly(span, now);
        return;
    }
    entry = &hot->ring->open[span.id - 1];
    if (UNLIKELY(ot_record_load(entry, OT_WORD_START) != span.start))
        return;
    if (UNLIKELY(!is_plain(entry) || now < span.start)) {
        ot_span_end_rich(entry, now);
        return;
    }
    record = &hot->ring->records[state & hot->mask];
    ot_record_store(record, OT_WORD_KIND, ot_record_load(entry, OT_WORD_KIND));
    ot_record_store(record, OT_WORD_LANE, ot_record_load(entry, OT_WORD_LANE));
    ot_record_store(record, OT_WORD_START, span.start);
    ot_record_store(record, OT_WORD_END, now);
    ot_record_clear_rest(record);
    ot_publish(hot, state + 1 - OT_DEPTH_ONE);
    ot_fetch_ahead(record);
}

uint32_t optrace_run_new(void)
{
    return __atomic_add_fetch(&run_count, 1, __ATOMIC_RELAXED);
}

HOT uint32_t optrace_run_set(uint32_t number)
{
    struct ot_hot *hot = &ot_hot;
    const uint32_t previous = (uint32_t)(hot->lane_run >> 32);

    hot->lane_run = (uint64_t)number << 32 | (uint32_t)hot->lane_run;
    return previous;
}

struct optrace_run optrace_run_begin(uint32_t model, uint32_t flags)
{
    uint16_t record_flags = flags & OPTRACE_WARMUP ? OT_RECORD_WARMUP : 0;
    struct optrace_run run = {{0, 0}, 0, 0};

    ot_poll();
    if (UNLIKELY(ot_schedule_is_on()))
        record_flags |= ot_poll_run();
    if (optrace_level() == OPTRACE_OFF)
        return run;
    if (flags & OPTRACE_WITHOUT_OPS)
        record_flags |= ot_run_flags_known(OT_RECORD_WITHOUT_OPS);
    run.number = optrace_run_new();
    run.previous = optrace_run_set(run.number);
    run.span = begin(ot_record_kind_word(OT_RECORD_RUN, record_flags, model), 0);
    return run;
}

void optrace_run_end(struct optrace_run run)
{
    if (run.number == 0)
        return;
    optrace_end(run.span);
    if ((uint32_t)(ot_hot.lane_run >> 32) == run.number)
        optrace_run_set(run.previous);
}
