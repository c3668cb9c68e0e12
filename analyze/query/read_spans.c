/* SPDX-License-Identifier: Apache-2.0 */
/* The spans that a question selects, as rows in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/earlier_records.h"
#include "analyze/query/private.h"
#include "analyze/query/span_bins.h"
#include "analyze/query/span_frames.h"
#include "analyze/query/span_tree.h"
#include "analyze/query/stair_cut.h"

static enum span_kind kind_of(const struct op_row *op)
{
    if (op->is_label)
        return SPAN_LABEL;
    if (strcmp(op->type, "phase") == 0)
        return SPAN_PHASE;
    return strcmp(op->type, "mark") == 0 || strcmp(op->type, "counter") == 0 ? SPAN_MARK : SPAN_OP;
}

/* What the reading has beside events, which it goes on to own. */
static int lend_rows(const struct reading *reading, struct spans_answer *answer)
{
    answer->ops = reading->rows;
    answer->lanes = reading->lane_rows;
    answer->op_kinds = malloc(answer->ops.count ? answer->ops.count : 1);
    if (!answer->op_kinds)
        return -ENOMEM;
    for (size_t i = 0; i < reading->sessions.count; i++) {
        const struct scan_session *session = &reading->sessions.items[i];
        struct session_window window = {session->session_id, session->from_ns, session->until_ns};

        if (array_push(&answer->windows, window) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < answer->ops.count; i++)
        answer->op_kinds[i] = (uint8_t)kind_of(&answer->ops.items[i]);
    return 0;
}

/* It is the answer's from now on, or stays the reading's. */
static void give_rows(struct reading *reading, struct spans_answer *answer, bool is_given)
{
    if (is_given) {
        reading->rows = (struct op_row_array){0};
        reading->lane_rows = (struct lane_row_array){0};
    } else {
        answer->ops = (struct op_row_array){0};
        answer->lanes = (struct lane_row_array){0};
    }
}

/* --- Runs. --- */

static int add_session_runs(const struct scan *scan, size_t session, struct spans_answer *answer)
{
    const struct scan_session *from = &scan->sessions[session];

    if (array_reserve(&answer->runs, answer->runs.count + from->run_count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < from->run_count; i++) {
        const struct scan_run *run = &from->runs[i];

        answer->runs.items[answer->runs.count++] = (struct run_row){
            .session_id = from->session_id,
            .run = run->number,
            .start_ns = run->start_ns,
            .end_ns = run->end_ns,
            .lane = id_map_find(&scan->lane_map, run->lane_id),
            .warmup = run->is_warmup,
            .counts = run->selected,
            .selected =
                run->selected && run->start_ns >= from->from_ns && run->start_ns < from->until_ns,
            .lacks_events = run->lacks_events,
            .without_ops = run->without_ops,
        };
    }
    return 0;
}

/* *out_first: of each session the place of its first run; the caller's to free. */
static int add_runs(const struct scan *scan, struct spans_answer *answer, uint32_t **out_first)
{
    uint32_t *first = malloc((scan->session_count + 1) * sizeof(*first));
    int rc = first ? 0 : -ENOMEM;

    for (size_t i = 0; i < scan->session_count && rc == 0; i++) {
        first[i] = (uint32_t)answer->runs.count;
        rc = add_session_runs(scan, i, answer);
    }
    *out_first = first;
    return rc;
}

/* --- Spans. --- */

static uint32_t find_run(const struct scan *scan, const uint32_t *first_runs, uint32_t lane,
                         int64_t run)
{
    uint32_t session = scan->lanes[lane].session, place = ID_MAP_NONE;

    if (run != STORE_NULL)
        place = id_map_find(&scan->sessions[session].run_map, run);
    return place == ID_MAP_NONE ? SPAN_NONE : first_runs[session] + place;
}

/* Whether the scan took the event as a whole one, and if not, as one that never ended. */
enum taken { TAKEN_NOT, TAKEN_WHOLE, TAKEN_UNFINISHED };

static enum taken offer(struct scan *scan, const struct scan_event *event)
{
    uint64_t counted = scan->counted, unfinished = scan->unfinished_count;

    scan_add(scan, event);
    if (scan->counted != counted)
        return TAKEN_WHOLE;
    return scan->unfinished_count != unfinished ? TAKEN_UNFINISHED : TAKEN_NOT;
}

static bool is_of_chosen_run(const struct scan *scan, const struct spans_answer *answer,
                             const struct span *span)
{
    if (span->run == SPAN_NONE)
        return scan->sessions[scan->lanes[span->lane].session].all_events;
    return answer->runs.items[span->run].selected;
}

/* Where rows go. */
struct taking {
    struct scan *scan;
    const uint32_t *first_runs; /* by session */
    struct spans_answer *answer;
    struct span_bins bins; /* finished spans, until all are there */
    uint32_t taken;        /* finished spans so far */
    int64_t bytes_sum;     /* of their bytes */
    struct rows_read rows;
    struct diag *diag;
    int rc; /* of the first row that failed; the others are passed over */

    const struct span_parts *parts; /* or NULL: all spans at once */
    bool is_whole;                  /* there is no way to cut them */
    bool is_unsound;                /* what was in several parts was not what it was told to be */
    struct frames frames;           /* which are not in bins */
    struct earlier_records records; /* which waits of later parts may be for */
    struct row_limits limits;
    size_t limit;         /* place of that of the row at hand */
    size_t next_try;      /* so many spans are to be cut */
    int64_t cut_ns;       /* parts have been handed over until then, by the time of threads */
    struct stair_cut cut; /* the last one */
    bool is_ahead;        /* it was of each lane by itself: there is hardly another one next */
    struct launch_key last_key[KEY_KINDS]; /* the greatest of those parts */
};

/* --- Parts. --- */

/* Spans of a part are passed over a dozen times: they should stay in a cache. What is done for each
 * op and lane of all there are once a part should stay little beside that. */
enum { PART_SPANS = 1 << 12, PART_SPANS_PER_ITEM = 4, PATIENCE = 8 };
enum { CUT_TRIES = 16, TRIES_AHEAD = 3 };
enum { KEPT_SHARE = 8 }; /* of parts that are smaller than usual so many records are not packed */

/* Whether no launch of this part may be in an earlier one. */
static bool keys_grow(struct taking *taking)
{
    const struct spans_answer *answer = taking->answer;
    struct launch_key last[KEY_KINDS];

    memcpy(last, taking->last_key, sizeof(last));
    for (size_t i = 0; i < answer->spans.count; i++) {
        const struct span *span = &answer->spans.items[i];
        struct launch_key key;
        int kind;

        if (!stair_cut_has_key(&taking->cut, span))
            continue;
        kind = launch_key_of(answer, span, &key);
        if (launch_key_compare(&key, &taking->last_key[kind]) <= 0)
            return false;
        if (launch_key_compare(&key, &last[kind]) > 0)
            last[kind] = key;
    }
    memcpy(taking->last_key, last, sizeof(last));
    return true;
}

/* Hands over the spans of the answer, which begin until a time. */
static int hand_over(struct taking *taking, int64_t until_ns)
{
    struct spans_answer *answer = taking->answer;
    int64_t start_ns = answer->start_ns, end_ns = answer->end_ns;
    bool has_bounds = taking->cut_ns > INT64_MIN;
    int rc, frame_count;

    if (!taking->is_whole && !keys_grow(taking))
        return SPAN_PARTS_WHOLE;
    answer->from_ns = taking->cut_ns;
    answer->until_ns = until_ns;
    frame_count = frames_put(&taking->frames, taking->cut_ns, until_ns, answer);
    rc = frame_count < 0 ? frame_count : 0;
    if (rc == 0 && taking->cut.opens && until_ns < INT64_MAX)
        rc = frames_open(&taking->frames, until_ns, answer);
    if (rc == 0)
        rc = span_tree_build(answer, answer->basis.is_flat);
    if (rc == 0 && (frame_count || taking->frames.opened.count))
        frames_add_self(&taking->frames, &taking->bins, answer);
    if (rc == 0 && taking->cut.parts_waits)
        rc = earlier_records_link(&taking->records, answer);
    if (rc == 0)
        rc = taking->parts->take(taking->parts->user, answer);
    if (rc == 0 && taking->cut.parts_waits)
        rc = earlier_records_keep(&taking->records, answer);
    answer->earlier_count = 0;
    if (has_bounds) {
        answer->start_ns = start_ns < answer->start_ns ? start_ns : answer->start_ns;
        answer->end_ns = end_ns > answer->end_ns ? end_ns : answer->end_ns;
    }
    span_tree_deinit(answer);
    answer->spans.count = 0;
    return rc;
}

static size_t part_size(const struct taking *taking)
{
    const struct spans_answer *answer = taking->answer;
    size_t items = answer->ops.count + answer->lanes.count;
    size_t by_items = items * PART_SPANS_PER_ITEM;

    if (taking->parts->span_count)
        return taking->parts->span_count;
    return by_items > PART_SPANS ? by_items : PART_SPANS;
}

static bool is_before_time(const void *user, const struct span *span)
{
    return span->start_ns < *(const int64_t *)user;
}

static bool is_before_stairs(const void *user, const struct span *span)
{
    const struct taking *taking = user;

    return stair_cut_is_before(&taking->cut, taking->answer, span);
}

/* Whether it is better to wait for what may be missing. */
static bool is_patient(const struct taking *taking)
{
    return taking->bins.count < part_size(taking) * PATIENCE;
}

/* Where something always runs. */
static int try_stairs(struct taking *taking, int64_t later_ns)
{
    const size_t all = taking->bins.count;
    int rc;

    frames_reach(&taking->frames, taking->cut.in_op_until_ns, taking->bins.lane_count);
    if (taking->parts->cuts == SPAN_CUT_STRAIGHT ||
        !stair_cut_find(&taking->cut, &taking->bins, taking->answer, later_ns,
                        is_patient(taking))) {
        taking->next_try = all * 2;
        return 0;
    }
    rc = span_bins_cut(&taking->bins, is_before_stairs, taking, taking->answer);
    taking->answer->settled_ns = stair_cut_settled_ns(&taking->cut);
    taking->is_ahead = true;
    if (taking->bins.count > all / 2)
        taking->next_try = taking->bins.count * 2;
    if (rc == 0)
        rc = hand_over(taking, taking->cut.host_ns);
    taking->cut_ns = taking->cut.host_ns;
    return rc;
}

/* Where enough spans are there, looks for a time to cut them. */
static int try_to_cut(struct taking *taking, int64_t later_ns)
{
    size_t count;
    int64_t cut_ns;
    int rc;

    if (!span_bins_find_cut(&taking->bins, later_ns, taking->is_ahead ? TRIES_AHEAD : CUT_TRIES,
                            &cut_ns, &count) ||
        count < taking->bins.count / 2 ||
        !stair_cut_parts_launches(&taking->cut, &taking->bins, taking->answer, cut_ns) ||
        (is_patient(taking) &&
         !stair_cut_has_arrived(&taking->cut, &taking->bins, taking->answer, cut_ns)))
        return try_stairs(taking, later_ns);
    rc = span_bins_cut(&taking->bins, is_before_time, &cut_ns, taking->answer);
    taking->answer->settled_ns = cut_ns;
    taking->is_ahead = false;
    if (rc == 0)
        rc = hand_over(taking, cut_ns);
    stair_cut_straight(&taking->cut, cut_ns);
    taking->cut_ns = cut_ns;
    return rc;
}

/* Before a row: behind its batch all may be there until some time. */
static int pass_limits(struct taking *taking, int64_t rowid)
{
    int rc = 0;

    while (taking->limit < taking->limits.count && rc == 0 &&
           taking->limits.items[taking->limit].last < rowid) {
        if (taking->next_try == 0)
            taking->next_try = part_size(taking);
        if (taking->bins.count >= taking->next_try) {
            taking->next_try = part_size(taking);
            rc = try_to_cut(taking, taking->limits.items[taking->limit].later_ns);
        }
        taking->limit++;
    }
    return rc;
}

/* Before the first row, and again where all begins anew. */
static int begin_parts(struct taking *taking)
{
    scan_restart(taking->scan);
    span_bins_clear(&taking->bins);
    frames_restart(&taking->frames);
    taking->answer->unfinished.count = 0;
    taking->answer->frames.count = 0;
    taking->answer->spans.count = 0;
    taking->answer->clipped_count = 0;
    taking->answer->start_ns = taking->answer->end_ns = 0;
    taking->taken = 0;
    taking->rows.count = 0;
    taking->rc = 0;
    taking->limit = 0;
    taking->next_try = 0;
    taking->cut_ns = INT64_MIN;
    taking->is_ahead = false;
    stair_cut_restart(&taking->cut);
    earlier_records_restart(&taking->records);
    for (int i = 0; i < KEY_KINDS; i++)
        taking->last_key[i] = (struct launch_key){INT64_MIN, INT64_MIN};
    return taking->parts ? taking->parts->begin(taking->parts->user, taking->answer) : 0;
}

/* --- Rows. --- */

static int add_row(struct taking *taking, const struct event_row *row)
{
    struct scan *scan = taking->scan;
    struct spans_answer *answer = taking->answer;
    enum taken taken;
    int rc;
    struct span span = {
        .start_ns = row->event.start_ns,
        .dur_ns = row->event.dur_ns,
        .kern_ns = row->event.kern_ns,
        .self_ns = row->event.dur_ns,
        .correlation = row->correlation,
        .bytes = STORE_NULL,
        .parent = SPAN_NONE,
        .launch = SPAN_NONE,
        .next = SPAN_NONE,
        .is_shown = true,
        .order = taking->taken,
    };

    rows_read_add(&taking->rows);
    if (taking->parts && !taking->is_whole && (rc = pass_limits(taking, row->rowid)) != 0)
        return rc;
    taken = offer(scan, &row->event);
    if (scan->error || taken == TAKEN_NOT)
        return scan->error; /* not asked for, or nothing that can be counted */
    if (taking->bins.count == SPANS_MAX)
        return diag_set(taking->diag, -EFBIG,
                        "more than %zu events to look at one by one: choose some of them with "
                        "--runs or --time",
                        SPANS_MAX);
    span.bytes = believed_in_sum(row->bytes, &taking->bytes_sum);
    span.lane = id_map_find(&scan->lane_map, row->event.lane_id);
    span.op = id_map_find(&scan->op_map, row->event.op_id);
    span.run = find_run(scan, taking->first_runs, span.lane, row->event.run);
    if (frames_is_next(&taking->frames, row->rowid)) {
        taking->frames.reached++;
        taking->taken++;
        return taken == TAKEN_WHOLE ? array_push(&answer->frames, span) : SPAN_PARTS_WHOLE;
    }
    if (taken == TAKEN_WHOLE) {
        taking->taken++;
        if (taking->parts && stair_cut_is_late(&taking->cut, &span))
            return SPAN_PARTS_WHOLE; /* its batch does not say so */
        return span_bins_add(&taking->bins, &span);
    }
    return is_of_chosen_run(scan, answer, &span) ? array_push(&answer->unfinished, span) : 0;
}

static void take_row(void *user, const struct event_row *row)
{
    struct taking *taking = user;

    if (taking->rc == 0)
        taking->rc = add_row(taking, row);
}

/* One by one, where pages are of no use. */
static int step_rows(struct store *store, const struct row_ranges *ranges, struct taking *taking)
{
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store,
                           "SELECT lane_id, op_id, run, start_ns, dur_ns, kern_ns, correlation,"
                           "       bytes, rowid FROM event WHERE rowid BETWEEN ?1 AND ?2",
                           &statement, taking->diag);

    for (size_t i = 0; i < ranges->count && rc == 0; i++) {
        sqlite3_bind_int64(statement, 1, ranges->items[i].first);
        sqlite3_bind_int64(statement, 2, ranges->items[i].last);
        while (rc == 0 && (rc = query_step(store, statement, taking->diag)) == 1) {
            const struct event_row row = {
                .event = {query_int(statement, 0), query_int(statement, 1), query_int(statement, 2),
                          query_int(statement, 3), query_int(statement, 4),
                          query_int(statement, 5)},
                .correlation = query_int(statement, 6),
                .bytes = query_int(statement, 7),
                .rowid = query_int(statement, 8),
            };

            rc = add_row(taking, &row);
        }
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return rc;
}

/* What was not handed over as parts. */
static int take_rest(struct taking *taking)
{
    int rc = span_bins_move(&taking->bins, taking->answer);

    taking->answer->settled_ns = 0;
    if (rc == 0 && taking->parts)
        rc = hand_over(taking, INT64_MAX);
    taking->is_unsound = rc == 0 && !frames_are_sound(&taking->frames);
    return taking->is_unsound ? SPAN_PARTS_WHOLE : rc;
}

static int read_all(struct store *store, const struct row_ranges *ranges, struct taking *taking)
{
    int rc = begin_parts(taking);

    if (rc == 0 && event_pages_pay(store, ranges) &&
        event_pages(store, ranges, EVENT_WHOLE, take_row, taking)) {
        rc = taking->rc;
    } else if (rc == 0) {
        rc = begin_parts(taking);
        if (rc == 0)
            rc = step_rows(store, ranges, taking);
    }
    return rc ? rc : take_rest(taking);
}

/* Where parts may be cut. */
static int find_limits(struct store *store, const struct row_ranges *ranges, struct taking *taking)
{
    int rc = query_row_limits(store, ranges, &taking->limits, taking->diag);

    if (rc == 0)
        rc = frames_init(&taking->frames, taking->answer, taking->parts->frames);
    if (rc == 0 && taking->parts->frames)
        rc = frames_find(store, taking->scan, taking->answer, &taking->limits, &taking->frames,
                         taking->diag);
    if (taking->parts->frames)
        taking->cut.may_be_open = taking->frames.may_be_open;
    taking->cut.opens_leaves = taking->parts->frames == SPAN_FRAMES_LEAVES;
    for (size_t i = 0; i < taking->frames.items.count && rc == 0; i++) {
        struct frame *frame = &taking->frames.items.items[i];

        frame->span.run = find_run(taking->scan, taking->first_runs, frame->span.lane, frame->run);
    }
    row_limits_look_ahead(&taking->limits);
    return rc;
}

static int read_spans(struct store *store, struct taking *taking)
{
    struct row_ranges ranges = {0};
    int rc = span_bins_init(&taking->bins, taking->scan->lane_count);

    if (rc == 0)
        rc = query_event_ranges(store, taking->scan, &ranges, taking->diag);
    if (rc == 0 && taking->parts)
        rc = stair_cut_init(&taking->cut, taking->answer);
    if (rc == 0 && taking->parts)
        rc = earlier_records_init(&taking->records, taking->answer,
                                  (taking->parts->span_count + KEPT_SHARE - 1) / KEPT_SHARE);
    taking->cut.parts_waits = taking->parts && taking->parts->cuts == SPAN_CUT_WAITS;
    if (rc == 0 && taking->parts && !taking->is_whole)
        rc = find_limits(store, &ranges, taking);
    taking->rows = rows_read_begin(&ranges, taking->rows.progress);
    if (rc == 0)
        rc = read_all(store, &ranges, taking);
    if (rc == SPAN_PARTS_WHOLE && taking->is_unsound && frames_learn(&taking->frames))
        rc = read_all(store, &ranges, taking);
    if (rc == SPAN_PARTS_WHOLE) {
        taking->is_whole = true;
        taking->cut.parts_waits = false;
        taking->frames.items.count = taking->frames.opened.count = 0;
        rc = read_all(store, &ranges, taking);
    }
    progress_end(taking->rows.progress);
    span_bins_deinit(&taking->bins);
    frames_deinit(&taking->frames);
    stair_cut_deinit(&taking->cut);
    earlier_records_deinit(&taking->records);
    array_deinit(&taking->limits);
    array_deinit(&ranges);
    return rc;
}

static int query(struct store *store, const struct ops_question *question,
                 const struct span_parts *parts, struct spans_answer *out_answer, struct diag *diag)
{
    struct reading reading = {
        .store = store,
        .question = question,
        .every_span = true,
        .texts = &out_answer->texts,
        .basis = &out_answer->basis,
    };
    uint32_t *first_runs = NULL;
    struct taking taking = {.answer = out_answer,
                            .diag = diag,
                            .rows = {.progress = question->progress},
                            .parts = parts,
                            .is_whole = parts && parts->is_whole};
    struct scan scan;
    int rc;

    *out_answer = (struct spans_answer){0};
    rc = reading_open(&reading, diag);
    if (rc == 0)
        rc = reading_prepare_scan(&reading, &scan);
    taking.scan = &scan;
    taking.is_whole |= out_answer->basis.is_flat;
    if (rc == 0)
        rc = add_runs(&scan, out_answer, &first_runs);
    taking.first_runs = first_runs;
    if (rc == 0)
        rc = lend_rows(&reading, out_answer);
    if (rc == 0)
        rc = read_spans(store, &taking);
    if (rc == 0)
        rc = reading_finish_scan(&reading, &scan, diag);
    give_rows(&reading, out_answer, rc == 0);
    reading_close(&reading);
    free(first_runs);
    if (rc == 0 && !parts)
        rc = span_tree_build(out_answer, out_answer->basis.is_flat);
    out_answer->basis.clipped_count = out_answer->clipped_count;
    if (rc == 0 && out_answer->texts.failed)
        rc = -ENOMEM;
    return rc == -ENOMEM ? diag_set(diag, rc,
                                    "no memory for the events: choose some of them with "
                                    "--runs or --time")
                         : rc;
}

int query_spans(struct store *store, const struct ops_question *question,
                struct spans_answer *out_answer, struct diag *diag)
{
    return query(store, question, NULL, out_answer, diag);
}

int query_span_parts(struct store *store, const struct ops_question *question,
                     const struct span_parts *parts, struct spans_answer *out_answer,
                     struct diag *diag)
{
    return query(store, question, parts, out_answer, diag);
}

void spans_answer_deinit(struct spans_answer *answer)
{
    array_deinit(&answer->spans);
    array_deinit(&answer->unfinished);
    array_deinit(&answer->frames);
    array_deinit(&answer->ops);
    array_deinit(&answer->lanes);
    array_deinit(&answer->runs);
    array_deinit(&answer->windows);
    free(answer->op_kinds);
    answer->op_kinds = NULL;
    span_tree_deinit(answer);
    basis_deinit(&answer->basis);
    query_texts_deinit(&answer->texts);
}
