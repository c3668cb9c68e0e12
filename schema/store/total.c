/* SPDX-License-Identifier: Apache-2.0 */
/* Totals: what is counted, and the runs that are open. */
#include "schema/store/total_entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/private.h"

enum { FEW_ENTRIES = 1 << 11 };
#define NOT_FOUND TOTAL_NOT_FOUND

static inline void touch(struct totals *totals, struct total_entry *entry)
{
    totals->dirty_count += !entry->is_dirty;
    entry->is_dirty = true;
    entry->idle_count = 0;
}

static void add_saturated(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

/* --- Runs that are open --- */

static uint32_t hash_of_run(int64_t session_id, int64_t run)
{
    uint64_t mixed = (uint64_t)session_id * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)run;

    return (uint32_t)((mixed * UINT64_C(0xd6e8feb86659fd93)) >> 40);
}

static uint32_t *head_of(struct totals *totals, int64_t session_id, int64_t run)
{
    return &totals->run_heads[hash_of_run(session_id, run) % TOTAL_OPEN_RUNS_MAX];
}

static uint32_t find_open(struct totals *totals, int64_t session_id, int64_t run)
{
    uint32_t place = *head_of(totals, session_id, run);

    while (place &&
           (totals->runs[place - 1].run != run || totals->runs[place - 1].session_id != session_id))
        place = totals->runs[place - 1].next;
    return place ? place - 1 : NOT_FOUND;
}

/* --- Sums --- */

static int add_sums(struct total_sums *into, const struct total_sums *from)
{
    int rc = store_histogram_merge(&into->histogram, &from->histogram);

    if (rc < 0)
        return rc;
    into->event_count += from->event_count;
    add_saturated(&into->sum_ns, from->sum_ns);
    add_saturated(&into->nested_ns, from->nested_ns);
    into->min_ns = from->min_ns < into->min_ns ? from->min_ns : into->min_ns;
    into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
    into->kern_count += from->kern_count;
    add_saturated(&into->kern_sum_ns, from->kern_sum_ns);
    add_saturated(&into->exec_sum_ns, from->exec_sum_ns);
    into->sized_count += from->sized_count;
    add_saturated(&into->sized_sum_ns, from->sized_sum_ns);
    add_saturated(&into->bytes, from->bytes);
    return 0;
}

/* Entries of open runs are mostly added to once: what is fresh becomes the total as it is. */
static int add_fresh(struct total_entry *entry)
{
    const struct total_sums before = entry->all;

    if (before.event_count > 0)
        return add_sums(&entry->all, &entry->fresh);
    entry->all = entry->fresh;
    entry->fresh = before;
    return 0;
}

/* What is fresh of an entry, to its total and the roll-up of its bucket. */
static int fold_entry(struct store *store, uint32_t place, struct diag *diag)
{
    struct totals *totals = &store->totals;
    struct total_entry *entry = &totals->entries.items[place];
    const struct total_sums *fresh = &entry->fresh;
    int rc = 0;

    if (!totals->counts_again)
        rc = store_rollup_add_sums(store,
                                   &(struct rollup_sums){.op_id = entry->op_id,
                                                         .start_ns = entry->bucket_ns,
                                                         .first_rowid = entry->first_rowid,
                                                         .last_rowid = totals->last_rowid,
                                                         .event_count = fresh->event_count,
                                                         .sum_ns = fresh->sum_ns,
                                                         .min_ns = fresh->min_ns,
                                                         .max_ns = fresh->max_ns,
                                                         .kern_sum_ns = fresh->kern_sum_ns,
                                                         .histogram = &fresh->histogram,
                                                         .lane_kind = entry->lane_kind},
                                   diag);
    if (rc == 0 && entry->op_kind <= TOTAL_OP_LABEL) {
        if (add_fresh(entry) < 0)
            rc = diag_set(diag, -ENOMEM, "no memory for the totals of %s", store->path);
        touch(totals, entry);
    }
    store_total_empty_sums(&entry->fresh);
    totals->fresh_count--;
    return rc;
}

/* With many ops none of it is in a cache: entries are fetched some turns before they are read, and
 * their counts some turns later. */
static inline void fetch_folded(const struct totals *totals, size_t i)
{
    enum { ENTRIES_AHEAD = 16, COUNTS_AHEAD = 8, LINE_BYTES = 64, LINE_BINS = 32 };
    const size_t count = totals->touched.count;

    if (i + ENTRIES_AHEAD < count) {
        const char *entry =
            (const char *)&totals->entries.items[totals->touched.items[i + ENTRIES_AHEAD]];

        for (size_t at = 0; at < sizeof(struct total_entry); at += LINE_BYTES)
            __builtin_prefetch(entry + at, 1);
    }
    if (i + COUNTS_AHEAD < count) {
        const struct total_entry *entry =
            &totals->entries.items[totals->touched.items[i + COUNTS_AHEAD]];

        const uint32_t first = entry->fresh.histogram.first;

        for (uint32_t bins = 0; bins < 3 * LINE_BINS; bins += LINE_BINS) {
            store_histogram_fetch(&entry->fresh.histogram, first + bins);
            store_histogram_fetch(&entry->all.histogram, first + bins);
        }
    }
}

int store_total_fold(struct store *store, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int rc = 0;

    for (size_t i = 0; i < totals->touched.count && rc == 0; i++) {
        struct total_entry *entry = &totals->entries.items[totals->touched.items[i]];

        fetch_folded(totals, i);
        entry->is_touched = false;
        if (entry->fresh.event_count)
            rc = fold_entry(store, totals->touched.items[i], diag);
    }
    totals->touched.count = 0;
    if (rc == 0)
        store_total_close_ranks(totals);
    return rc;
}

/* What the entry of an open run counts, to that of its kind. */
static int move_entry(struct store *store, uint32_t from, uint32_t run_class, int64_t run,
                      struct diag *diag)
{
    struct totals *totals = &store->totals;
    const struct total_entry moved = totals->entries.items[from];
    struct total_gone gone = {.op_id = moved.op_id, .run = run, .lane_kind = moved.lane_kind};
    uint32_t to = store_total_find_entry(totals, moved.op_id, run_class, moved.lane_kind);
    int rc = moved.is_stored ? array_push(&totals->gone, gone) : 0;

    if (rc == 0 && to == NOT_FOUND)
        rc = store_total_new_entry(store,
                                   (struct total_entry){.op_id = moved.op_id,
                                                        .run_class = run_class,
                                                        .session = moved.session,
                                                        .lane_kind = moved.lane_kind,
                                                        .op_kind = moved.op_kind,
                                                        .sort = moved.sort},
                                   &to, diag);
    if (rc == 0)
        rc = add_sums(&totals->entries.items[to].all, &moved.all);
    if (rc < 0)
        return rc;
    totals->entries.items[to].is_unsure |= moved.is_unsure;
    totals->entries.items[to].is_mixed |=
        moved.is_mixed || moved.sort != totals->entries.items[to].sort;
    touch(totals, &totals->entries.items[to]);
    store_total_free_entry(totals, from);
    return 0;
}

/* The place is free. */
static void end_run(struct totals *totals, uint32_t place)
{
    struct total_run *run = &totals->runs[place];
    uint32_t *link = head_of(totals, run->session_id, run->run);

    while (*link && *link != place + 1)
        link = &totals->runs[*link - 1].next;
    *link = run->next;
    totals->sessions.items[run->session].open_count--;
    *run = (struct total_run){0};
    totals->generation++;
}

static int move_run(struct store *store, uint32_t place, uint32_t run_class, struct diag *diag)
{
    struct totals *totals = &store->totals;
    struct total_run *run = &totals->runs[place];
    uint32_t entry;
    int rc = 0;

    while (rc == 0 && (entry = run->first) != 0) {
        run->first = totals->entries.items[entry - 1].next;
        if (totals->entries.items[entry - 1].fresh.event_count)
            rc = fold_entry(store, entry - 1, diag);
        if (rc < 0)
            break;
        if (totals->entries.items[entry - 1].all.event_count)
            rc = move_entry(store, entry - 1, run_class, run->run, diag);
        else
            store_total_free_entry(totals, entry - 1);
    }
    end_run(totals, place);
    return rc;
}

/* All of it is in the file, where it stays as it is. */
static void park_run(struct totals *totals, uint32_t place)
{
    struct total_run *run = &totals->runs[place];
    struct total_session *session = &totals->sessions.items[run->session];

    while (run->first) {
        uint32_t entry = run->first - 1;

        run->first = totals->entries.items[entry].next;
        store_total_free_entry(totals, entry);
    }
    if (run->run > session->stored_run_max)
        session->stored_run_max = run->run;
    session->has_given_up |= ++session->parked_count > TOTAL_PARKED_MAX;
    end_run(totals, place);
}

static void know_run(struct totals *totals, int64_t session_id, int64_t run, uint32_t run_class)
{
    totals->known_runs[hash_of_run(session_id, run) % TOTAL_RUNS_KNOWN] =
        (struct total_known_run){session_id, run, run_class};
}

/* What is known of open runs goes to those that nobody knows: of one place, or of a session. */
static int give_up(struct store *store, uint32_t place, const struct total_session *session,
                   struct diag *diag)
{
    struct totals *totals = &store->totals;
    int rc = 0;

    for (uint32_t i = 0; i < TOTAL_OPEN_RUNS_MAX && rc == 0; i++) {
        const struct total_run *run = &totals->runs[i];

        if (run->session_id == 0 ||
            (i != place && (!session || run->session_id != session->session_id)))
            continue;
        totals->sessions.items[run->session].has_given_up = true;
        rc = move_run(store, i, TOTAL_UNKNOWN, diag);
    }
    return rc;
}

/* Begins a run that has not ended, in place of the one that was begun the longest ago. */
static int open_run(struct store *store, uint32_t session_place, int64_t run, uint32_t *out_class,
                    struct diag *diag)
{
    struct totals *totals = &store->totals;
    struct total_session *session = &totals->sessions.items[session_place];
    uint32_t place = totals->next_run, *head;
    int rc = 0;

    if (!totals->runs)
        totals->runs = calloc(TOTAL_OPEN_RUNS_MAX, sizeof(*totals->runs));
    if (!totals->runs)
        return diag_set(diag, -ENOMEM, "no memory for the totals of %s", store->path);
    *out_class = TOTAL_UNKNOWN;
    if (session->open_count >= TOTAL_OPEN_OF_SESSION_MAX)
        return give_up(store, NOT_FOUND, session, diag);
    if (totals->runs[place].session_id)
        rc = give_up(store, place, NULL, diag);
    if (rc < 0)
        return rc;
    head = head_of(totals, session->session_id, run);
    totals->runs[place] = (struct total_run){.session_id = session->session_id,
                                             .run = run,
                                             .next = *head,
                                             .session = session_place,
                                             .may_be_stored = run <= session->stored_run_max};
    *head = place + 1;
    session->open_count++;
    totals->next_run = (place + 1) % TOTAL_OPEN_RUNS_MAX;
    *out_class = TOTAL_OPEN + place;
    return 0;
}

static int find_class(struct store *store, uint32_t session_place, int64_t run, uint32_t *out_class,
                      struct diag *diag)
{
    struct totals *totals = &store->totals;
    const struct total_session *session = &totals->sessions.items[session_place];
    const struct total_known_run *known;
    uint32_t place = NOT_FOUND;
    int rc = 0;

    *out_class = TOTAL_NONE;
    if (run == STORE_NULL)
        return 0;
    *out_class = TOTAL_OPEN;
    known = &totals->known_runs[hash_of_run(session->session_id, run) % TOTAL_RUNS_KNOWN];
    if (known->run == run && known->session_id == session->session_id)
        *out_class = known->run_class;
    if (*out_class == TOTAL_OPEN && totals->runs)
        place = find_open(totals, session->session_id, run);
    if (place != NOT_FOUND) {
        totals->runs[place].idle_count = 0;
        *out_class += place;
    }
    if (*out_class != TOTAL_OPEN || place != NOT_FOUND)
        return 0;
    if (run <= session->run_max)
        rc = store_total_read_run(store, session->session_id, run, out_class, diag);
    if (rc < 0)
        return rc;
    if (*out_class != TOTAL_OPEN)
        know_run(totals, session->session_id, run, *out_class);
    else if (session->has_given_up)
        *out_class = TOTAL_UNKNOWN;
    else
        rc = open_run(store, session_place, run, out_class, diag);
    return rc;
}

int store_total_peek_run(struct store *store, uint32_t session_place, int64_t run,
                         uint32_t *out_class, struct diag *diag)
{
    struct totals *totals = &store->totals;
    const struct total_session *session = &totals->sessions.items[session_place];
    const struct total_known_run *known =
        &totals->known_runs[hash_of_run(session->session_id, run) % TOTAL_RUNS_KNOWN];
    int rc = 0;

    *out_class = TOTAL_OPEN;
    if (known->run == run && known->session_id == session->session_id)
        *out_class = known->run_class;
    else if (run <= session->run_max)
        rc = store_total_read_run(store, session->session_id, run, out_class, diag);
    if (rc == 0 && *out_class != TOTAL_OPEN)
        know_run(totals, session->session_id, run, *out_class);
    return rc;
}

/* It is asked for many times over, and where it is not the last one for few of these. */
static uint32_t find_session(struct totals *totals, int64_t session_id)
{
    const struct total_session *sessions = totals->sessions.items;
    uint32_t last = totals->last_session;

    if (last < totals->sessions.count && sessions[last].session_id == session_id)
        return last;
    for (size_t i = totals->sessions.count; i > 0; i--) {
        if (sessions[i - 1].session_id == session_id)
            return totals->last_session = (uint32_t)(i - 1);
    }
    return NOT_FOUND;
}

void store_total_note_end(struct totals *totals, int64_t session_id)
{
    const uint32_t session = totals->is_ready ? find_session(totals, session_id) : NOT_FOUND;

    if (session != NOT_FOUND)
        store_cover_end(&totals->covers, session);
}

int store_total_note_run(struct store *store, const struct store_run *run, struct diag *diag)
{
    struct totals *totals = &store->totals;
    uint32_t run_class = store_total_class_of(run->without_ops, run->warmup), place, session;
    const struct total_known_run *known;

    if (!totals->is_ready)
        return 0;
    session = find_session(totals, run->session_id);
    if (session == NOT_FOUND)
        return 0;
    if (run->run > totals->sessions.items[session].run_max)
        totals->sessions.items[session].run_max = run->run;
    known = &totals->known_runs[hash_of_run(run->session_id, run->run) % TOTAL_RUNS_KNOWN];
    store_cover_note_run(&totals->covers, session, run,
                         known->run == run->run && known->session_id == run->session_id);
    if (run->end_ns == STORE_NULL)
        return 0;
    know_run(totals, run->session_id, run->run, run_class);
    place = totals->runs ? find_open(totals, run->session_id, run->run) : NOT_FOUND;
    return place == NOT_FOUND ? 0 : move_run(store, place, run_class, diag);
}

/* --- Events --- */

static int find_or_read_session(struct store *store, int64_t session_id, uint32_t *out_place,
                                struct diag *diag)
{
    struct totals *totals = &store->totals;
    struct total_session session;
    uint32_t place = find_session(totals, session_id);
    int rc = 0;

    if (place == NOT_FOUND) {
        rc = store_total_read_session(store, session_id, &session, diag);
        place = (uint32_t)totals->sessions.count;
        if (rc == 0 && array_push(&totals->sessions, session) < 0)
            rc = diag_set(diag, -ENOMEM, "no memory for the totals of %s", store->path);
    }
    *out_place = place;
    return rc;
}

/* What the lane is to remember: whose it is, and its stack. */
static int place_lane(struct store *store, struct lane *lane, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int64_t floor_ns = lane->lane_id <= totals->lane_max ? totals->before_ns : INT64_MIN;
    int rc = find_or_read_session(store, lane->session_id, &lane->total_session, diag);

    if (rc == 0 && store_nest_find(&totals->nests, lane->lane_id, floor_ns, &lane->nest) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the totals of %s", store->path);
    if (rc == 0)
        rc = store_cover_read_lane(store, lane->nest, lane->total_session, lane->lane_id, floor_ns,
                                   diag);
    if (rc == 0)
        lane->total_clearing = totals->clearing;
    return rc;
}

/* The same, and the class of the run. */
static int place_run(struct store *store, struct lane *lane, int64_t run, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int rc = lane->total_clearing == totals->clearing ? 0 : place_lane(store, lane, diag);

    if (rc == 0 && totals->sessions.items[lane->total_session].is_counted)
        rc = find_class(store, lane->total_session, run, &lane->total_class, diag);
    lane->total_run = run;
    lane->total_generation = totals->generation; /* which finding the class may have changed */
    return rc;
}

/* What an op is for events of a session. */
static int find_op_kind(struct store *store, int64_t op_id, int64_t session_id, uint8_t *out_kind,
                        uint8_t *out_sort, struct diag *diag)
{
    struct total_known_op *known = &store->totals.known_ops[(uint64_t)op_id % TOTAL_OPS_KNOWN];
    int rc;

    *out_kind = known->op_kind;
    *out_sort = known->sort;
    if (known->op_id == op_id && known->session_id == session_id && session_id != 0)
        return 0;
    rc = store_total_read_op(store, op_id, session_id, out_kind, out_sort, diag);
    if (rc == 0 && *out_kind != TOTAL_OP_MISSING)
        *known = (struct total_known_op){op_id, session_id, *out_kind, *out_sort};
    return rc;
}

void store_total_forget_op(struct totals *totals, int64_t op_id)
{
    totals->known_ops[(uint64_t)op_id % TOTAL_OPS_KNOWN] = (struct total_known_op){0};
}

static __attribute__((noinline)) int make_place(struct store *store, struct total_event *item,
                                                struct diag *diag)
{
    const struct totals *totals = &store->totals;
    struct total_entry entry = {.op_id = item->event->op_id,
                                .run_class = item->run_class,
                                .session = item->session,
                                .lane_kind = item->lane_kind};
    int rc = find_op_kind(store, entry.op_id, totals->sessions.items[item->session].session_id,
                          &entry.op_kind, &entry.sort, diag);

    return rc < 0 ? rc : store_total_new_entry(store, entry, &item->entry, diag);
}

/* Finds or makes its entry. Programs run their ops in the same order again and again, and met them in
 * it: the entry is mostly the one behind that of the event before, `guess`. */
static inline int find_place(struct store *store, struct total_event *item, uint32_t guess,
                             struct diag *diag)
{
    const struct totals *totals = &store->totals;

    item->entry = guess;
    if (guess < totals->entries.count &&
        store_total_is_entry(&totals->entries.items[guess], item->event->op_id, item->run_class,
                             item->lane_kind))
        return 0;
    item->entry =
        store_total_find_entry(totals, item->event->op_id, item->run_class, item->lane_kind);
    return item->entry == NOT_FOUND ? make_place(store, item, diag) : 0;
}

int store_total_look(struct store *store, struct lane *lane, const struct store_event *event,
                     int64_t rowid, struct total_event *out_event, struct diag *diag)
{
    struct totals *totals = &store->totals;
    struct total_session *session;
    int rc;

    totals->last_rowid = rowid;
    if (!store_total_knows(totals, lane, event)) {
        rc = place_run(store, lane, event->run, diag);
        if (rc < 0)
            return rc;
    }
    session = &totals->sessions.items[lane->total_session];
    if (!session->is_counted)
        return 0;
    if (event->op_id == STORE_NULL) {
        session->bad_count++;
        session->is_dirty = true;
        return 0;
    }
    if (event->dur_ns == STORE_NULL) {
        if (session->unfinished_count++ == 0)
            session->first_unfinished = rowid;
        session->last_unfinished = rowid;
        session->is_dirty = true;
        return 0;
    }
    if (!store_total_has_sane_times(event)) {
        session->is_counted = false; /* reports look at each of its events */
        session->is_dirty = true;
        return 0;
    }
    store_total_set_event(out_event, lane, event, rowid);
    return 1;
}

/* Roll-ups are told when it is met: what is fresh may come to them long after. */
static void meet_bucket(struct store *store, int64_t start_ns)
{
    store->totals.bucket_ns = start_ns;
    if (!store->totals.counts_again)
        store_rollup_meet_bucket(&store->rollup, start_ns);
}

/* The time of the bucket that the event is in; what is fresh is of one bucket. */
static int begin_bucket(struct store *store, const struct total_event *item, struct diag *diag)
{
    struct totals *totals = &store->totals;
    struct total_entry *entry = &totals->entries.items[item->entry];
    int rc = 0;

    if (entry->fresh.event_count)
        rc = fold_entry(store, item->entry, diag);
    if (totals->fresh_count == 0)
        totals->fresh_rowid = item->rowid;
    if (rc == 0 && !entry->is_touched)
        rc = array_push(&totals->touched, item->entry);
    if (rc < 0)
        return rc;
    totals->fresh_count++;
    entry->is_touched = true;
    entry->bucket_ns = totals->bucket_ns;
    entry->first_rowid = item->rowid;
    return 0;
}

/* More than any machine holds is damage, and not known. */
static void add_bytes(struct total_sums *sums, const struct store_event *event)
{
    const int64_t most = INT64_C(1) << 48;

    if (event->bytes > most || event->bytes < -most)
        return;
    sums->sized_count++;
    add_saturated(&sums->sized_sum_ns, event->dur_ns);
    add_saturated(&sums->bytes, event->bytes);
}

static inline int count(struct store *store, const struct total_event *item, struct diag *diag)
{
    struct totals *totals = &store->totals;
    struct total_entry *entry = &totals->entries.items[item->entry];
    const struct store_event *event = item->event;
    struct total_sums *sums = &entry->fresh;
    int64_t nested_ns = 0;
    bool is_sure = true;
    int rc = 0;

    if ((uint64_t)event->start_ns - (uint64_t)totals->bucket_ns >= (uint64_t)ROLLUP_BUCKET_NS)
        meet_bucket(store, event->start_ns - event->start_ns % ROLLUP_BUCKET_NS);
    if (sums->event_count == 0 || entry->bucket_ns != totals->bucket_ns)
        rc = begin_bucket(store, item, diag);
    if (rc == 0 && item->lane_kind == 0 && entry->op_kind == TOTAL_OP_NESTING)
        rc = store_nest_claim(&totals->nests, item->nest,
                              &(struct nest_span){event->start_ns, event->dur_ns, event->run},
                              &nested_ns, &is_sure);
    if (rc == 0)
        rc = store_histogram_count_one(&sums->histogram, item->bin);
    if (rc < 0)
        return rc;
    store_cover_add(&totals->covers, item->nest, entry->sort, event);
    sums->event_count++;
    add_saturated(&sums->sum_ns, event->dur_ns);
    add_saturated(&sums->nested_ns, nested_ns);
    entry->is_unsure |= !is_sure;
    sums->min_ns = event->dur_ns < sums->min_ns ? event->dur_ns : sums->min_ns;
    sums->max_ns = event->dur_ns > sums->max_ns ? event->dur_ns : sums->max_ns;
    if (event->kern_ns != STORE_NULL) {
        sums->kern_count++;
        add_saturated(&sums->kern_sum_ns, event->kern_ns);
        add_saturated(&sums->exec_sum_ns, event->dur_ns - event->kern_ns);
    }
    if (event->bytes != STORE_NULL)
        add_bytes(sums, event);
    return 0;
}

static inline void fetch_counts(const struct totals *totals, struct total_event *item)
{
    const struct total_entry *entry = &totals->entries.items[item->entry];

    item->bin = store_bin_of(item->event->dur_ns);
    store_histogram_fetch(&entry->fresh.histogram, item->bin);
}

/* What counting needs of an entry, and of one that is probably asked for a little later. */
static inline void fetch_entry(const struct totals *totals, uint32_t place)
{
    enum { AHEAD = 8 };
    const struct total_entry *entry = &totals->entries.items[place];

    __builtin_prefetch(&entry->fresh, 1);
    __builtin_prefetch(&entry->fresh.histogram, 1);
    if (place + AHEAD < totals->entries.count)
        __builtin_prefetch(&entry[AHEAD], 1);
}

/* Finds the entries of events. Those of few ops are in a cache, their counts mostly are not. */
static int place_events(struct store *store, struct total_event *events, size_t event_count,
                        bool are_few, struct diag *diag)
{
    struct totals *totals = &store->totals;
    int rc = 0;

    for (size_t i = 0; i < event_count && rc == 0; i++) {
        rc = find_place(store, &events[i], i ? events[i - 1].entry + 1 : 0, diag);
        if (rc == 0 && totals->entries.items[events[i].entry].op_kind == TOTAL_OP_MISSING) {
            totals->sessions.items[events[i].session].is_counted = false;
            totals->sessions.items[events[i].session].is_dirty = true;
        }
        if (rc == 0 && are_few)
            fetch_counts(totals, &events[i]);
        else if (rc == 0)
            fetch_entry(totals, events[i].entry);
    }
    return rc;
}

/* With many ops, each of these places is in no cache: all are fetched before the first is used. */
int store_total_count(struct store *store, struct total_event *events, size_t event_count,
                      struct diag *diag)
{
    const bool are_few = store->totals.entries.count <= FEW_ENTRIES;
    int rc = place_events(store, events, event_count, are_few, diag);

    for (size_t i = 0; i < event_count && rc == 0 && !are_few; i++)
        fetch_counts(&store->totals, &events[i]);
    for (size_t i = 0; i < event_count && rc == 0; i++)
        rc = count(store, &events[i], diag);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the totals of %s", store->path) : rc;
}

int store_total_replay(struct store *store, struct lane *lane, const struct store_event *event,
                       struct diag *diag)
{
    struct totals *totals = &store->totals;
    const struct nest_span span = {event->start_ns, event->dur_ns, event->run};
    uint8_t op_kind, sort;
    int64_t nested_ns;
    bool is_sure;
    int rc = 0;

    if (event->dur_ns == STORE_NULL || event->op_id == STORE_NULL ||
        !store_total_has_sane_times(event))
        return 0;
    if (lane->total_clearing != totals->clearing)
        rc = place_lane(store, lane, diag);
    if (rc == 0)
        rc = find_op_kind(store, event->op_id, lane->session_id, &op_kind, &sort, diag);
    if (rc == 0)
        store_cover_replay(&totals->covers, lane->nest, sort, event);
    if (rc == 0 && lane->kind == 0 && op_kind == TOTAL_OP_NESTING &&
        store_nest_claim(&totals->nests, lane->nest, &span, &nested_ns, &is_sure) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the totals of %s", store->path);
    return rc;
}

void store_total_forget_idle(struct totals *totals, uint32_t idle_max)
{
    size_t count = totals->entries.count - totals->free_count;
    bool are_many = count > TOTAL_ENTRIES_KEPT, are_too_many = count > TOTAL_ENTRIES_MAX;

    for (uint32_t i = 0; i < TOTAL_OPEN_RUNS_MAX && totals->runs; i++) {
        if (totals->runs[i].session_id && totals->runs[i].idle_count++ > idle_max)
            park_run(totals, i);
    }
    for (uint32_t i = 0; i < totals->entries.count; i++) {
        struct total_entry *entry = &totals->entries.items[i];

        if (entry->run_class >= TOTAL_OPEN) /* also TOTAL_GONE */
            continue;
        if ((entry->idle_count++ > idle_max && are_many) || are_too_many)
            store_total_free_entry(totals, i);
    }
}

void store_total_clear(struct totals *totals)
{
    store_total_clear_entries(totals);
    totals->touched.count = 0;
    totals->fresh_count = 0;
    totals->sessions.count = 0;
    totals->gone.count = 0;
    if (totals->runs)
        memset(totals->runs, 0, TOTAL_OPEN_RUNS_MAX * sizeof(*totals->runs));
    memset(totals->run_heads, 0, sizeof(totals->run_heads));
    memset(totals->known_runs, 0, sizeof(totals->known_runs));
    memset(totals->known_ops, 0, sizeof(totals->known_ops));
    store_nest_clear(&totals->nests);
    store_cover_clear(&totals->covers);
    totals->is_ready = totals->has_mark = totals->wants_write = false;
    totals->clearing++;
    totals->generation++;
}

void store_total_deinit(struct totals *totals)
{
    store_total_clear(totals);
    array_deinit(&totals->touched);
    array_deinit(&totals->entries);
    array_deinit(&totals->sessions);
    array_deinit(&totals->gone);
    store_nest_deinit(&totals->nests);
    store_cover_deinit(&totals->covers);
    free(totals->slots);
    free(totals->runs);
    free(totals->text);
    *totals = (struct totals){0};
}
