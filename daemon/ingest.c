/* SPDX-License-Identifier: Apache-2.0 */
/* Checking records and making rows of them. */
#include "daemon/ingest.h"

#include <string.h>

#include "base/clock.h"
#include "base/fetch.h"
#include "base/hints.h"
#include "daemon/share.h"

/* Beside those of the contract: its op was beyond the share of its session. */
enum { LOST_DEFINITIONS = 0x100 };

static const int64_t HOUR_NS = INT64_C(3600000000000);

/* A record whose ids are looked up and whose times are converted. */
struct resolved {
    int64_t lane_id, op_id, run;
    int64_t start_ns, kern_ns, end_ns; /* kern_ns: STORE_NULL when not known */
};

void ingest_init(struct ingest *ingest, struct session *session, struct batch *batch, bool waits)
{
    ingest->session = session;
    ingest->batch = batch;
    ingest->realtime_max_ns = (int64_t)ot_clock_ns(CLOCK_REALTIME) + HOUR_NS;
    ingest->waits = waits;
    ingest->undefined_count = 0;
    tick_clock_set_now(&session->clock, ot_clock_ns(CLOCK_BOOTTIME));
    session->is_touched = true;
}

/* The time of a loss, which is only informative. */
static int64_t to_ns_or_null(struct ingest *ingest, uint16_t flags, uint64_t time)
{
    struct tick_clock *clock = &ingest->session->clock;

    if (flags & OT_RECORD_REALTIME)
        return time > 0 && time <= (uint64_t)ingest->realtime_max_ns ? (int64_t)time : STORE_NULL;
    return tick_clock_is_plausible(clock, time) ? tick_clock_ns(clock, time) : STORE_NULL;
}

/* Ticks of now, or of before the counter jumped. */
static bool convert_either(struct tick_clock *clock, uint64_t ticks, int64_t *out_ns)
{
    if (!tick_clock_is_plausible(clock, ticks))
        return tick_clock_before_jump_ns(clock, ticks, out_ns);
    *out_ns = tick_clock_ns(clock, ticks);
    return true;
}

/* The counter jumped, or these times are nonsense. A first kernel that cannot be placed is not
 * known. */
static __attribute__((cold, noinline)) bool
convert_over_jump(struct tick_clock *clock, const uint64_t ticks[3], struct resolved *out_resolved)
{
    if (!convert_either(clock, ticks[0], &out_resolved->start_ns) ||
        !convert_either(clock, ticks[2], &out_resolved->end_ns) ||
        out_resolved->end_ns < out_resolved->start_ns)
        return false;
    if (ticks[1] == 0 || !convert_either(clock, ticks[1], &out_resolved->kern_ns) ||
        out_resolved->kern_ns < out_resolved->start_ns ||
        out_resolved->kern_ns > out_resolved->end_ns)
        out_resolved->kern_ns = STORE_NULL;
    return true;
}

/* Times that are not plausible now. Returns 0 for those of before a jump, else why they are lost.
 */
static __attribute__((cold, noinline)) int
place_odd_times(struct tick_clock *clock, const uint64_t ticks[3], struct resolved *out_resolved)
{
    if (convert_over_jump(clock, ticks, out_resolved))
        return 0;
    if (tick_clock_is_in_doubt(clock))
        return OT_LOSS_CLOCK;
    return ticks[2] > clock->ticks_max ? OT_LOSS_FUTURE : OT_LOSS_PAST;
}

/* Converts the times of a record, which are in order. Returns 0, or why the record is lost. */
static inline int convert_times(struct ingest *ingest, const struct ot_wire_record *record,
                                struct resolved *out_resolved)
{
    struct tick_clock *clock = &ingest->session->clock;
    bool has_end = record->kind <= OT_RECORD_COPY; /* SPAN, RUN, COPY */
    uint64_t start = record->start_ticks, end = has_end ? record->end_ticks : start;
    uint64_t kern = has_end ? record->kern_ticks : 0;

    if (UNLIKELY(record->flags & OT_RECORD_REALTIME)) {
        out_resolved->start_ns = (int64_t)start;
        out_resolved->kern_ns = kern ? (int64_t)kern : STORE_NULL;
        out_resolved->end_ns = (int64_t)end;
        return end > (uint64_t)ingest->realtime_max_ns ? OT_LOSS_FUTURE
               : start == 0                            ? OT_LOSS_PAST
                                                       : 0;
    }
    if (UNLIKELY(start < clock->ticks_min || end > clock->ticks_max))
        return place_odd_times(clock, (const uint64_t[3]){start, kern, end}, out_resolved);
    out_resolved->start_ns = tick_clock_look_ns(clock, start);
    out_resolved->kern_ns = kern ? tick_clock_look_ns(clock, kern) : STORE_NULL;
    out_resolved->end_ns = tick_clock_look_ns(clock, end);
    tick_clock_note(clock, end);
    return 0;
}

static void lose(struct ingest *ingest, const struct ot_wire_record *record, uint32_t reason)
{
    int64_t lane_id = id_table_get(&ingest->session->lanes, record->lane_id);
    int64_t time_ns = to_ns_or_null(ingest, record->flags, record->start_ticks);

    batch_add_gap(ingest->batch, ingest->session->session_id, lane_id ? lane_id : STORE_NULL,
                  reason == LOST_DEFINITIONS ? "definitions" : ot_wire_loss_name(reason), 1,
                  time_ns, time_ns);
    ingest->session->lost_count++;
}

/* How far from now the record says it is, in s: negative for the past. */
static double distance_s(const struct ingest *ingest, const struct ot_wire_record *record)
{
    const struct tick_clock *clock = &ingest->session->clock;
    const double ticks = (double)record->start_ticks;

    if (record->flags & OT_RECORD_REALTIME)
        return (ticks - (double)(ingest->realtime_max_ns - HOUR_NS)) / 1e9;
    return (ticks - (double)clock->latest.ticks) * clock->rate / 1e9;
}

/* A record that is not taken: the program is told, and the log says the first reason. */
static void refuse(struct ingest *ingest, const struct ot_wire_record *record, uint32_t reason)
{
    struct session *session = ingest->session;

    if (reason == OT_LOSS_BAD_RECORD && record->start_ticks > OT_WIRE_TIME_MAX)
        reason = OT_LOSS_FUTURE; /* a difference below 0, usually */
    if (reason != LOST_DEFINITIONS && reason != OT_LOSS_CLOCK && session->refused_count++ == 0) {
        session->refused_reason = reason;
        session->refused_distance_s = distance_s(ingest, record);
    }
    lose(ingest, record, reason);
}

void ingest_drop(struct ingest *ingest, const struct ot_wire_record *record)
{
    lose(ingest, record, OT_LOSS_STORE);
}

void ingest_gap(struct ingest *ingest, const struct ot_ring_gap *gap, uint64_t lost)
{
    struct session *session = ingest->session;
    int64_t lane_id = id_table_get(&session->lanes, gap->lane_id);
    int64_t first_ns = to_ns_or_null(ingest, 0, gap->first_ticks);
    int64_t last_ns = to_ns_or_null(ingest, 0, gap->last_ticks);
    /* A ring may say anything; the reasons above are the daemon's own. */
    uint32_t reason = gap->reason <= OT_LOSS_PRODUCER ? gap->reason : 0;

    batch_add_gap(ingest->batch, session->session_id, lane_id ? lane_id : STORE_NULL,
                  ot_wire_loss_name(reason), lost, first_ns, last_ns);
    session->lost_count += lost;
}

static inline int64_t number_or_null(uint64_t number)
{
    return number ? (int64_t)number : STORE_NULL;
}

/* SPAN, COPY, MARK */
static inline void put_event(struct ingest *ingest, const struct ot_wire_record *record,
                             const struct resolved *resolved)
{
    const struct store_event row = {
        .lane_id = resolved->lane_id,
        .op_id = resolved->op_id,
        .run = resolved->run,
        .start_ns = resolved->start_ns,
        .dur_ns = resolved->end_ns - resolved->start_ns,
        .kern_ns =
            resolved->kern_ns == STORE_NULL ? STORE_NULL : resolved->kern_ns - resolved->start_ns,
        .correlation = number_or_null(record->correlation),
        .bytes = record->kind == OT_RECORD_COPY ? record->bytes : STORE_NULL,
    };

    batch_push(&ingest->batch->events, row);
}

static void put_run(struct ingest *ingest, const struct ot_wire_record *record,
                    const struct resolved *resolved)
{
    struct store_run row = {
        .session_id = ingest->session->session_id,
        .run = resolved->run,
        .model_id = resolved->op_id,
        .lane_id = resolved->lane_id,
        .start_ns = resolved->start_ns,
        .end_ns = resolved->end_ns,
        .warmup = (record->flags & OT_RECORD_WARMUP) != 0,
        .without_ops = (record->flags & OT_RECORD_WITHOUT_OPS) != 0,
    };

    batch_push(&ingest->batch->runs, row);
    pace_note_run(&ingest->session->pace, (uint64_t)(row.end_ns - row.start_ns), row.warmup);
}

static void put_memory_event(struct ingest *ingest, const struct ot_wire_record *record,
                             const struct resolved *resolved)
{
    struct store_memory_event row = {
        .lane_id = resolved->lane_id,
        .op_id = resolved->op_id,
        .run = resolved->run,
        .time_ns = resolved->start_ns,
        .address = (int64_t)record->address,
        .bytes = record->bytes ? record->bytes : STORE_NULL,
    };

    batch_push(&ingest->batch->memory_events, row);
}

static void put_counter(struct ingest *ingest, const struct ot_wire_record *record,
                        const struct resolved *resolved)
{
    struct store_counter row = {
        .lane_id = resolved->lane_id,
        .op_id = resolved->op_id,
        .run = resolved->run,
        .time_ns = resolved->start_ns,
    };

    memcpy(&row.value, &record->bytes, sizeof(row.value));
    batch_push(&ingest->batch->counters, row);
}

/* Looks up lane and op (RUN: model). Returns false when one is not defined. */
static inline bool resolve(const struct session *session, const struct ot_wire_record *record,
                           struct resolved *out_resolved)
{
    const struct id_table *table = record->kind == OT_RECORD_RUN ? &session->models : &session->ops;

    out_resolved->lane_id = id_table_get(&session->lanes, record->lane_id);
    out_resolved->op_id = record->op_id ? id_table_get(table, record->op_id) : STORE_NULL;
    out_resolved->run = number_or_null(record->run);
    return out_resolved->lane_id != 0 && out_resolved->op_id != 0;
}

/* Returns 0, or why the record is lost. */
static inline __attribute__((always_inline)) int
put_record(struct ingest *ingest, const struct ot_wire_record *record, struct resolved *resolved)
{
    int reason = convert_times(ingest, record, resolved);

    if (reason != 0)
        return reason;
    if (UNLIKELY(resolved->op_id == SHARE_OP_REFUSED))
        return LOST_DEFINITIONS;
    switch (record->kind) {
    case OT_RECORD_SPAN:
    case OT_RECORD_COPY:
    case OT_RECORD_MARK:
        put_event(ingest, record, resolved);
        break;
    case OT_RECORD_RUN:
        put_run(ingest, record, resolved);
        break;
    case OT_RECORD_COUNTER:
        put_counter(ingest, record, resolved);
        break;
    default: /* ALLOC, FREE: others did not pass the check */
        put_memory_event(ingest, record, resolved);
    }
    return 0;
}

/* Whether a record is as nearly all are: a sound span whose times are the last line's. What is not
 * compared here holds for ids that are defined, and for ticks of such a time. */
static inline bool is_plain(const struct ot_wire_record *record, const struct tick_line *line)
{
    return record->kind == OT_RECORD_SPAN && (record->flags & ~OT_RECORD_IMPLICIT_END) == 0 &&
           record->start_ticks >= line->min && record->end_ticks <= line->max &&
           record->end_ticks >= record->start_ticks &&
           (record->kern_ticks == 0 ||
            (record->kern_ticks >= record->start_ticks && record->kern_ticks <= record->end_ticks));
}

/* Plain records of ops and lanes that are defined, up to the first other one: the same rows as
 * put_record() makes. Returns how many there are. */
static size_t put_plain(struct ingest *ingest, const struct ot_wire_record *records, size_t count)
{
    enum { ROWS_AHEAD = 8 };
    struct session *session = ingest->session;
    const struct tick_line line = tick_clock_last_line(&session->clock);
    const struct id_table lanes = session->lanes, ops = session->ops;
    uint64_t latest = 0;
    struct store_event *rows;
    size_t i;

    if (count == 0)
        return 0;
    memory_must(array_reserve(&ingest->batch->events, ingest->batch->events.count + count));
    rows = ingest->batch->events.items + ingest->batch->events.count;
    for (i = 0; i < count; i++) {
        const struct ot_wire_record *record = &records[i];
        const int64_t lane_id = id_table_get(&lanes, record->lane_id);
        const int64_t op_id = id_table_get(&ops, record->op_id);
        struct store_event *row = &rows[i];

        if (!is_plain(record, &line) || lane_id == 0 || op_id <= 0)
            break;
        if (i + ROWS_AHEAD < count)
            ot_fetch_to_write(&row[ROWS_AHEAD]);
        latest = record->end_ticks > latest ? record->end_ticks : latest;
        row->lane_id = lane_id;
        row->op_id = op_id;
        row->run = number_or_null(record->run);
        row->start_ns = tick_line_ns(&line, record->start_ticks);
        row->dur_ns = tick_line_ns(&line, record->end_ticks) - row->start_ns;
        row->kern_ns = record->kern_ticks ? tick_line_ns(&line, record->kern_ticks) - row->start_ns
                                          : STORE_NULL;
        row->correlation = number_or_null(record->correlation);
        row->bytes = STORE_NULL;
    }
    ingest->batch->events.count += i;
    tick_clock_note(&session->clock, latest);
    return i;
}

size_t ingest_records(struct ingest *ingest, const struct ot_wire_record *records, size_t count)
{
    const uint64_t lost_before = ingest->session->lost_count;
    size_t i;

    for (i = put_plain(ingest, records, count); i < count;
         i += 1 + put_plain(ingest, records + i + 1, count - i - 1)) {
        struct resolved resolved;
        int reason = ot_wire_check_record(&records[i]);

        if (reason == 0 && !resolve(ingest->session, &records[i], &resolved)) {
            ingest->undefined_count++;
            if (ingest->waits)
                break;
            reason = OT_LOSS_UNDEFINED;
        }
        if (reason == 0)
            reason = put_record(ingest, &records[i], &resolved);
        if (UNLIKELY(reason != 0))
            refuse(ingest, &records[i], (uint32_t)reason);
    }
    ingest->session->event_count += i - (ingest->session->lost_count - lost_before);
    return i;
}

void ingest_open(struct ingest *ingest, const struct ot_wire_record *open, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ot_wire_record record = open[i];
        struct resolved resolved;
        int reason = ot_wire_check_open(&record);

        if (record.kern_ticks < record.start_ticks)
            record.kern_ticks = 0;
        record.end_ticks = record.kern_ticks ? record.kern_ticks : record.start_ticks; /* so far */
        if (reason == 0 && !resolve(ingest->session, &record, &resolved))
            reason = OT_LOSS_UNDEFINED;
        if (reason == 0)
            reason = put_record(ingest, &record, &resolved);
        if (reason != 0)
            refuse(ingest, &record, (uint32_t)reason);
        else if (record.kind == OT_RECORD_RUN)
            ingest->batch->runs.items[ingest->batch->runs.count - 1].end_ns = STORE_NULL;
        else
            ingest->batch->events.items[ingest->batch->events.count - 1].dur_ns = STORE_NULL;
    }
}
