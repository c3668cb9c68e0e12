/* SPDX-License-Identifier: Apache-2.0 */
/* Appending the rows that are written a lot, with what is kept beside them. */
#include <assert.h>
#include <errno.h>

#include "schema/store/private.h"

/* The structs are rows as they stand: their fields are the columns, in order. */
static_assert(sizeof(struct store_event) == 8 * sizeof(int64_t), "event");
static_assert(sizeof(struct store_memory_event) == 6 * sizeof(int64_t), "memory_event");
static_assert(sizeof(struct store_counter) == 5 * sizeof(int64_t), "counter");

const struct rows_table store_rows_tables[STORE_ROWS_COUNT] = {
    [STORE_ROWS_EVENT] = {.name = "event",
                          .columns = "lane_id,op_id,run,start_ns,dur_ns,kern_ns,correlation,bytes",
                          .column_count = 8},
    [STORE_ROWS_MEMORY_EVENT] = {.name = "memory_event",
                                 .columns = "lane_id,op_id,run,time_ns,address,bytes",
                                 .column_count = 6},
    [STORE_ROWS_COUNTER] = {.name = "counter",
                            .columns = "lane_id,op_id,run,time_ns,value",
                            .column_count = 5,
                            .last_is_real = true},
};

/* The rowid that SQLite will give to the next event: asked once per transaction. */
static int next_rowid(struct store *store, int64_t *out_rowid, struct diag *diag)
{
    if (store->next_event == 0) {
        int64_t last;
        int rc = store_query_int(store, "SELECT max(rowid) FROM event", &last, diag);

        if (rc < 0)
            return rc;
        store->next_event = last + 1;
    }
    *out_rowid = store->next_event;
    return 0;
}

static int check_event(const struct store_event *event, size_t index, struct diag *diag)
{
    if (event->lane_id == STORE_NULL)
        return diag_set(diag, -EINVAL, "event %zu of a batch has no lane", index);
    if (event->start_ns == STORE_NULL)
        return diag_set(diag, -EINVAL, "event %zu of a batch has no start", index);
    if (event->dur_ns < 0 && event->dur_ns != STORE_NULL)
        return diag_set(diag, -EINVAL, "event %zu of a batch ends before it starts", index);
    return 0;
}

/* The lane of an event, counted in the batch. */
static inline int account_lane(struct store *store, int64_t lane_id, struct lane **out_lane,
                               struct diag *diag)
{
    struct lane *lane = store_lane_slot(&store->lanes, lane_id);

    if (lane->lane_id != lane_id || lane_id == 0) {
        int rc = store_lane_read(store, lane_id, lane, diag);

        if (rc < 0)
            return rc;
    }
    if (lane->batch_rowid != store->batch.first_rowid) {
        store_batch_add_lane(&store->batch, lane_id, lane->session_id);
        lane->batch_rowid = store->batch.first_rowid;
        lane->tally = store_tally_of(&store->tallies, lane->batch_rowid, lane->session_id);
    }
    *out_lane = lane;
    return 0;
}

static inline int64_t end_of(const struct store_event *event)
{
    int64_t end_ns, dur_ns = event->dur_ns == STORE_NULL ? 0 : event->dur_ns;

    return __builtin_add_overflow(event->start_ns, dur_ns, &end_ns) ? INT64_MAX : end_ns;
}

/* Events of a batch on their way to what is kept beside them: at most ROLLUP_AT_ONCE. */
struct some {
    uint64_t tally; /* whose `times` are */
    struct batch_times times;
    size_t counted_count, finished_count;
    struct total_event counted[ROLLUP_AT_ONCE];
    struct rollup_event finished[ROLLUP_AT_ONCE];
};

/* Times are added up until an event of another session comes. */
static void bring_times(struct store *store, struct some *some)
{
    store_tally_add(&store->tallies, some->tally, &some->times);
    store_batch_add(&store->batch, &some->times);
    some->times = BATCH_NO_TIMES;
}

static inline void add_time(struct store *store, struct some *some, const struct lane *lane,
                            const struct store_event *event, int64_t end_ns)
{
    if (lane->tally != some->tally) {
        bring_times(store, some);
        some->tally = lane->tally;
    }
    store_batch_add_time(&some->times, event->start_ns, end_ns, event->dur_ns);
}

/* Whether an event is as nearly all are: sound, and of a lane of which all is known. */
static inline bool is_plain(const struct store *store, const struct lane *lane,
                            const struct store_event *event)
{
    return lane->lane_id == event->lane_id && lane->batch_rowid == store->batch.first_rowid &&
           !store->gathers && store_total_knows(&store->totals, lane, event) &&
           store_total_is_plain(&store->totals, lane, event);
}

/* store_total_look(); what was looked at before is counted first where that may change what is
 * known. */
static int look(struct store *store, struct some *some, struct lane *lane,
                const struct store_event *event, int64_t rowid, struct diag *diag)
{
    int rc = 0;

    if (!store_total_knows(&store->totals, lane, event)) {
        rc = store_total_count(store, some->counted, some->counted_count, diag);
        some->counted_count = 0;
    }
    if (rc == 0)
        rc = store_total_look(store, lane, event, rowid, &some->counted[some->counted_count], diag);
    some->counted_count += rc == 1;
    return rc;
}

/* Any other event: the `index`th. */
static __attribute__((noinline)) int account_other(struct store *store, struct some *some,
                                                   const struct store_event *event, size_t index,
                                                   int64_t rowid, struct diag *diag)
{
    struct lane *lane = NULL;
    int rc = check_event(event, index, diag);

    if (rc == 0)
        rc = account_lane(store, event->lane_id, &lane, diag);
    if (rc < 0)
        return rc;
    add_time(store, some, lane, event, end_of(event));
    if (!store->gathers)
        rc = look(store, some, lane, event, rowid, diag);
    if (rc == 0 && event->dur_ns != STORE_NULL && event->op_id != STORE_NULL)
        some->finished[some->finished_count++] =
            (struct rollup_event){.event = event, .rowid = rowid, .lane_kind = lane->kind};
    return rc < 0 ? rc : 0;
}

/* What event_batch and op_stat are to know of some events of a batch, of which `left` are there. */
static int account_some(struct store *store, int64_t rowid, const struct store_event *rows,
                        size_t count, size_t left, struct diag *diag)
{
    enum { ROWS_AHEAD = 16 }; /* they come from another thread, and so from afar */
    struct some some;
    int rc = 0;

    some.tally = TALLY_NONE;
    some.times = BATCH_NO_TIMES;
    some.counted_count = some.finished_count = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct store_event *event = &rows[i];
        const struct lane *lane = store_lane_slot(&store->lanes, event->lane_id);

        if (i + ROWS_AHEAD < left)
            __builtin_prefetch(&event[ROWS_AHEAD]);
        if (is_plain(store, lane, event)) {
            add_time(store, &some, lane, event, event->start_ns + event->dur_ns);
            store->totals.last_rowid = rowid + (int64_t)i;
            store_total_set_event(&some.counted[some.counted_count++], lane, event,
                                  rowid + (int64_t)i);
        } else {
            rc = account_other(store, &some, event, i, rowid + (int64_t)i, diag);
        }
    }
    if (rc < 0)
        return rc;
    bring_times(store, &some);
    rc = store_total_count(store, some.counted, some.counted_count, diag);
    return rc < 0 ? rc : store_rollup_add(store, some.finished, some.finished_count, diag);
}

/* What event_batch and op_stat are to know about events of one batch. */
static int account_batch(struct store *store, int64_t rowid, const struct store_event *rows,
                         size_t count, struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i += ROLLUP_AT_ONCE)
        rc = account_some(store, rowid + (int64_t)i, rows + i,
                          count - i < ROLLUP_AT_ONCE ? count - i : ROLLUP_AT_ONCE, count - i, diag);
    return rc;
}

static int account(struct store *store, int64_t rowid, const struct store_event *rows, size_t count,
                   struct diag *diag)
{
    while (count > 0) {
        size_t part;
        int rc = store_batch_reserve(store, rowid, rows, &part, diag);

        if (rc < 0)
            return rc;
        part = part < count ? part : count;
        rc = account_batch(store, rowid, rows, part, diag);
        if (rc < 0)
            return rc;
        rowid += (int64_t)part;
        rows += part;
        count -= part;
    }
    return 0;
}

int store_add_events(struct store *store, const struct store_event *rows, size_t count,
                     struct diag *diag)
{
    int64_t rowid;
    int rc;

    if (count == 0)
        return 0;
    if (sqlite3_get_autocommit(store->db))
        return diag_set(diag, -EINVAL, "events are added to %s outside a transaction", store->path);
    rc = store_rollup_prepare(store, diag);
    if (rc == 0)
        rc = store_total_prepare(store, diag);
    if (rc == 0)
        rc = next_rowid(store, &rowid, diag);
    if (rc == 0 && store->gathers && store->first_gathered == 0)
        store->first_gathered = rowid;
    for (size_t at = 0, part; at < count && rc == 0; at += part) {
        part = store_rows_part(&store->rows[STORE_ROWS_EVENT]);
        part = part < count - at ? part : count - at;
        rc = account(store, rowid + (int64_t)at, rows + at, part, diag);
        if (rc == 0)
            rc = store_rows_add(store, &store->rows[STORE_ROWS_EVENT], rows + at, part, diag);
    }
    if (rc == 0)
        store->next_event = rowid + (int64_t)count;
    return rc;
}

int store_add_memory_events(struct store *store, const struct store_memory_event *rows,
                            size_t count, struct diag *diag)
{
    return store_rows_add(store, &store->rows[STORE_ROWS_MEMORY_EVENT], rows, count, diag);
}

int store_add_counters(struct store *store, const struct store_counter *rows, size_t count,
                       struct diag *diag)
{
    return store_rows_add(store, &store->rows[STORE_ROWS_COUNTER], rows, count, diag);
}

int store_write_accounts(struct store *store, struct diag *diag)
{
    int rc = store_batch_write(store, diag);

    if (rc == 0)
        rc = store_rollup_commit(store, diag);
    return rc < 0 ? rc : store_total_commit(store, diag);
}

void store_forget_accounts(struct store *store)
{
    store->next_event = 0;
    store->first_gathered = 0;
    store->kept_counter = 0;
    store->merge = (struct merge){0};
    store->forget = (struct forget){0};
    store_batch_clear(&store->batch);
    store_tally_clear(&store->tallies);
    store_rollup_clear(&store->rollup);
    store_total_clear(&store->totals);
    store_lane_cache_clear(&store->lanes);
}
