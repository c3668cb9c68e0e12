/* SPDX-License-Identifier: Apache-2.0 */
/* What is recorded in one go: marks, counters, memory, and events with given times. */
#include <errno.h>
#include <string.h>

#include "client/greet.h"
#include "client/hot.h"
#include "client/optrace.h"
#include "client/record.h"
#include "client/session.h"
#include "client/thread_life.h"
#include "client/thread_ring.h"

/* Records that bring their own times read no clock for the housekeeping, except each of so many. */
enum { RECORDS_PER_LOOK = 64 };

#define OT_RECORD(id, name, text, uses_end, meaning)                                               \
    static_assert(OPTRACE_KIND_##name == id, "kind " text);
#include "schema/wire/records.def"
static_assert((int)OPTRACE_EVENT_REALTIME == (int)OT_RECORD_REALTIME, "flag");
static_assert((int)OPTRACE_EVENT_WARMUP == (int)OT_RECORD_WARMUP, "flag");
static_assert((int)OPTRACE_EVENT_WITHOUT_OPS == (int)OT_RECORD_WITHOUT_OPS, "flag");

struct words {
    uint64_t word[8];
};

/* Straight from registers: `words` is never memory on the fast way. */
static inline void write_words(struct ot_hot *hot, struct words words)
{
    struct ot_wire_record *record = &hot->ring->records[hot->state & hot->mask];

#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++)
        ot_record_store(record, i, words.word[i]);
    ot_publish(hot, hot->state + 1);
    ot_fetch_ahead(record);
}

static COLD int put_slowly(struct words words)
{
    struct ot_hot *hot = &ot_hot;
    const uint64_t now = ot_ticks();

    if (hot->busy && hot->state == OT_STATE_NONE)
        return -ENOBUFS;
    if (hot->state != OT_STATE_NONE) {
        if (!hot->busy && ot_is_called(hot, now))
            ot_thread_service(now);
        if (optrace_level() == OPTRACE_OFF) /* it has been switched off meanwhile */
            return 0;
    } else if (!ot_thread_attach(now)) {
        if (optrace_level() == OPTRACE_OFF)
            return 0;
    }
    if ((uint32_t)words.word[OT_WORD_LANE] == 0)
        words.word[OT_WORD_LANE] |= (uint32_t)hot->lane_run;
    if (ot_ring_head(hot->state) >= hot->stop && !ot_thread_make_room(now)) {
        ot_thread_lose((uint32_t)words.word[OT_WORD_LANE], OT_LOSS_RING_FULL, now);
        return -ENOBUFS;
    }
    write_words(hot, words);
    return 0;
}

static inline int put(struct words words, bool look)
{
    struct ot_hot *hot = &ot_hot;

    if (UNLIKELY(ot_ring_head(hot->state) >= hot->stop || look))
        return put_slowly(words);
    write_words(hot, words);
    return 0;
}

/* A record of this thread, now, of a kind without an end. */
static inline void put_point(uint16_t kind, uint32_t op, int64_t bytes, uint64_t address)
{
    const uint64_t now = ot_ticks();
    struct words words = {{
        [OT_WORD_KIND] = ot_record_kind_word(kind, 0, op),
        [OT_WORD_LANE] = ot_hot.lane_run,
        [OT_WORD_START] = now,
        [OT_WORD_BYTES] = (uint64_t)bytes,
        [OT_WORD_ADDRESS] = address,
    }};

    put(words, ot_is_called(&ot_hot, now));
}

/* While off, what would be recorded looks for a daemon, as spans do. */
static inline bool is_on(void)
{
    if (optrace_level() != OPTRACE_OFF)
        return true;
    optrace_count_idle();
    return false;
}

void optrace_mark(uint32_t op)
{
    if (is_on() && op != 0)
        put_point(OT_RECORD_MARK, op, 0, 0);
}

/* False for infinities and for what is no number. */
static bool counter_bits(double value, uint64_t *out_bits)
{
    const uint64_t exponent = UINT64_C(0x7ff) << 52;

    memcpy(out_bits, &value, sizeof(value));
    return (*out_bits & exponent) != exponent;
}

void optrace_counter(uint32_t op, double value)
{
    uint64_t bits;

    if (is_on() && op != 0 && counter_bits(value, &bits))
        put_point(OT_RECORD_COUNTER, op, (int64_t)bits, 0);
}

void optrace_alloc(uint32_t op, const void *address, uint64_t bytes)
{
    if (is_on() && bytes > 0 && bytes <= INT64_MAX)
        put_point(OT_RECORD_ALLOC, op, (int64_t)bytes, (uintptr_t)address);
}

void optrace_free(uint32_t op, const void *address, uint64_t bytes)
{
    if (is_on() && bytes <= INT64_MAX)
        put_point(OT_RECORD_FREE, op, -(int64_t)bytes, (uintptr_t)address);
}

/* Fill in what the kind has. Returns false when the event makes no sense. */
static inline bool fill(const struct optrace_event *event, uint16_t kind, struct words *words)
{
    uint64_t *word = words->word;
    const bool has_end = kind == OT_RECORD_SPAN || kind == OT_RECORD_RUN || kind == OT_RECORD_COPY;
    const bool needs_op =
        kind != OT_RECORD_RUN && kind != OT_RECORD_ALLOC && kind != OT_RECORD_FREE;

    if ((needs_op && event->op == 0) || event->bytes > INT64_MAX ||
        event->start > OT_WIRE_TIME_MAX || event->end > OT_WIRE_TIME_MAX)
        return false;
    word[OT_WORD_START] = event->start;
    word[OT_WORD_CORRELATION] = event->correlation;
    if (has_end) {
        if (event->end < event->start ||
            (event->kern && (event->kern < event->start || event->kern > event->end)))
            return false;
        word[OT_WORD_END] = event->end;
        word[OT_WORD_KERN] = event->kern;
    }
    word[OT_WORD_BYTES] = kind == OT_RECORD_FREE ? -event->bytes : event->bytes;
    word[OT_WORD_ADDRESS] = event->address;
    if (kind == OT_RECORD_RUN)
        return word[OT_WORD_LANE] >> 32 != 0;
    if (kind == OT_RECORD_ALLOC)
        return event->bytes > 0;
    if (kind == OT_RECORD_COUNTER)
        return counter_bits(event->value, &word[OT_WORD_BYTES]);
    return kind <= OT_RECORD_FREE;
}

static uint16_t run_flags(void)
{
    return OT_RECORD_REALTIME | OT_RECORD_WARMUP | ot_run_flags_known(OT_RECORD_WITHOUT_OPS);
}

static inline bool is_look_due(const struct ot_hot *hot)
{
    return ot_is_called(hot, 0) || hot->state % RECORDS_PER_LOOK == 0;
}

static inline __attribute__((always_inline)) int put_event(const struct optrace_event *event,
                                                           uint16_t kind)
{
    struct ot_hot *hot = &ot_hot;
    const uint16_t flags =
        event->flags & (kind == OT_RECORD_RUN ? run_flags() : OT_RECORD_REALTIME);
    const uint32_t lane = event->lane ? event->lane : (uint32_t)hot->lane_run;
    const uint64_t run = event->run ? event->run : hot->lane_run >> 32;
    struct words words = {{ot_record_kind_word(kind, flags, event->op), lane | run << 32}};

    if (!fill(event, kind, &words))
        return -EINVAL;
    if (!is_on())
        return 0;
    return put(words, is_look_due(hot));
}

static __attribute__((noinline)) int put_other(const struct optrace_event *event)
{
    return put_event(event, event->kind);
}

/* Most are spans. */
HOT int optrace_record(const struct optrace_event *event)
{
    if (event->kind == OT_RECORD_SPAN || event->kind == 0)
        return put_event(event, OT_RECORD_SPAN);
    return put_other(event);
}

static inline struct words span_words(uint32_t op, uint64_t lane_run, uint64_t start, uint64_t end,
                                      uint64_t correlation)
{
    return (struct words){{
        [OT_WORD_KIND] = ot_record_kind_word(OT_RECORD_SPAN, OT_RECORD_REALTIME, op),
        [OT_WORD_LANE] = lane_run,
        [OT_WORD_START] = start,
        [OT_WORD_END] = end,
        [OT_WORD_CORRELATION] = correlation,
    }};
}

/* What is handed on stays in registers on the fast way, too. */
static COLD int record_span_slowly(uint32_t op, uint64_t lane_run, uint64_t start, uint64_t end,
                                   uint64_t correlation)
{
    return is_on() ? put_slowly(span_words(op, lane_run, start, end, correlation)) : 0;
}

HOT int ot_record_span(uint32_t op, uint64_t lane_run, uint64_t start, uint64_t end,
                       uint64_t correlation)
{
    struct ot_hot *hot = &ot_hot;

    if (UNLIKELY(optrace_level() == OPTRACE_OFF || ot_ring_head(hot->state) >= hot->stop ||
                 is_look_due(hot)))
        return record_span_slowly(op, lane_run, start, end, correlation);
    write_words(hot, span_words(op, lane_run, start, end, correlation));
    return 0;
}

HOT struct ot_spans ot_spans_reserve(void)
{
    struct ot_hot *hot = &ot_hot;
    const uint64_t head = ot_ring_head(hot->state), at = head & hot->mask;
    uint64_t count = RECORDS_PER_LOOK - head % RECORDS_PER_LOOK;
    struct ot_wire_record *first;

    if (UNLIKELY(optrace_level() == OPTRACE_OFF || head >= hot->stop || is_look_due(hot)))
        return (struct ot_spans){NULL, NULL};
    if (count > hot->stop - head)
        count = hot->stop - head;
    if (count > hot->mask + 1 - at)
        count = hot->mask + 1 - at;
    first = &hot->ring->records[at];
    return (struct ot_spans){first, first + count};
}

HOT void ot_spans_commit(uint32_t count)
{
    ot_publish(&ot_hot, ot_hot.state + count);
}

HOT void ot_spans_fetch(void)
{
    const struct ot_hot *hot = &ot_hot;
    const struct ot_wire_record *record;

    if (hot->state == OT_STATE_NONE)
        return;
    record = &hot->ring->records[hot->state & hot->mask];
    ot_fetch_to_write(&hot->ring->state);
    for (unsigned i = 0; i < OT_AHEAD; i++)
        ot_fetch_to_write(record + i);
}

uint64_t optrace_ticks(void)
{
    ot_ticks_choose_clock();
    return ot_ticks();
}

uint64_t optrace_correlation_new(void)
{
    struct ot_hot *hot = &ot_hot;

    if (UNLIKELY(!hot->thread))
        optrace_thread_lane();
    return ++hot->correlation;
}
