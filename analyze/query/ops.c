/* SPDX-License-Identifier: Apache-2.0 */
/* What each op cost: has the events summed up and puts the sums beside the ops. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/private.h"
#include "analyze/query/spans.h"

static void set_cost(struct op_row *row, struct op_cost *cost, struct scan_cost sums,
                     double divisor)
{
    double calls = (double)sums.calls;

    cost->calls = sums.calls;
    cost->end_ns = sums.end_ns / divisor;
    cost->whole_ns = sums.whole_ns / divisor;
    cost->kern_ns = sums.kern_ns / divisor;
    cost->exec_ns = sums.exec_ns / divisor;
    cost->min_ns = sums.min_ns;
    cost->max_ns = sums.max_ns;
    memcpy(cost->percentile_ns, sums.percentile_ns, sizeof(cost->percentile_ns));
    cost->computation_flop = NAN;
    cost->memory_bytes = NAN;
    if (row->computation_flop != STORE_NULL)
        cost->computation_flop = (double)row->computation_flop * calls / divisor;
    if (row->memory_bytes != STORE_NULL)
        cost->memory_bytes = (double)row->memory_bytes * calls / divisor;
}

/* Where costs come from. */
struct cost_source {
    const struct scan *scan;
    const struct rollups *rollups; /* NULL: the scan */
};

static struct scan_cost cost_of(const struct cost_source *source, uint32_t op, enum op_side side)
{
    return source->rollups ? rollups_cost(source->rollups, source->scan, op, side)
                           : scan_op_cost(source->scan, op, (enum scan_side)side);
}

static int add_durations(const struct cost_source *source, uint32_t op, enum op_side side,
                         struct store_histogram *into)
{
    return source->rollups
               ? store_histogram_merge(into, &source->rollups->costs[op][side].durations)
               : scan_add_durations(source->scan, op, (enum scan_side)side, into);
}

/* Hands the rows over, without those that are no ops here; durations beside them, unless NULL. */
static int take_rows(struct reading *reading, const struct cost_source *source,
                     struct ops_answer *answer, struct op_durations *durations)
{
    size_t kept = 0;
    int rc = 0;

    answer->rows = reading->rows;
    reading->rows = (struct op_row_array){0};
    for (size_t i = 0; i < answer->rows.count; i++) {
        struct op_row *row = &answer->rows.items[i];

        if (reading->op_kinds.items[i] == SCAN_OP_SKIPPED)
            continue;
        for (int side = 0; side < OP_SIDES; side++) {
            set_cost(row, &row->cost[side], cost_of(source, (uint32_t)i, (enum op_side)side),
                     answer->basis.divisor);
            if (durations && rc == 0)
                rc = add_durations(source, (uint32_t)i, (enum op_side)side,
                                   &durations[kept].of[side]);
        }
        answer->rows.items[kept++] = *row;
    }
    answer->rows.count = kept;
    return rc;
}

/* The rows, those that are one op together. */
static int make_rows(struct reading *reading, const struct cost_source *source,
                     struct ops_answer *answer)
{
    size_t count = reading->rows.count;
    size_t sessions = reading->question->session_count;
    enum query_merge merge = reading->question->merge;
    bool merges = merges_ops(reading->rows.items, count, sessions, merge);
    bool wants = merges || reading->question->wants_durations;
    struct op_durations *durations = wants ? calloc(count + 1, sizeof(*durations)) : NULL;
    int rc = wants && !durations ? -ENOMEM : take_rows(reading, source, answer, durations);

    if (rc == 0 && merges)
        rc = merge_equal_ops(answer, durations, sessions, merge);
    if (!merges) {
        answer->durations = durations;
        answer->duration_count = count;
        return rc;
    }
    op_durations_free(durations, count);
    return rc;
}

/* --- Self times where the order of events does not tell them. --- */

static int begin_own(void *user, const struct spans_answer *spans)
{
    (void)spans;
    scan_forget_nested(user);
    return 0;
}

/* Ops and lanes have the same places in both. */
static int add_own(void *user, struct spans_answer *spans)
{
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (spans->op_kinds[span->op] == SPAN_OP)
            scan_take_own(user, span->op, span->lane, span_own_ns(spans, span));
    }
    return 0;
}

/* By the tree of spans, as reports on these have them. */
static int read_self_times(struct store *store, const struct ops_question *question,
                           struct scan *scan, struct diag *diag)
{
    const struct span_parts parts = {
        .user = scan, .begin = begin_own, .take = add_own, .frames = SPAN_FRAMES_OPS};
    struct spans_answer spans;
    int rc = query_span_parts(store, question, &parts, &spans, diag);

    spans_answer_deinit(&spans);
    return rc;
}

static int read_events(struct store *store, const struct ops_question *question, struct scan *scan,
                       struct diag *diag)
{
    int rc = query_events(store, scan, question->progress, diag);

    return rc == 0 && scan->needs_tree ? read_self_times(store, question, scan, diag) : rc;
}

/* Returns 1 when totals were asked for and do not tell enough. */
static int answer_ops(struct store *store, const struct ops_question *question, bool from_totals,
                      struct ops_answer *out_answer, struct diag *diag)
{
    struct reading reading = {.from_totals = from_totals,
                              .store = store,
                              .question = question,
                              .texts = &out_answer->texts,
                              .basis = &out_answer->basis};
    struct cost_source source = {0};
    struct rollups rollups = {0};
    struct scan scan;
    int rc;

    *out_answer = (struct ops_answer){0};
    rc = reading_open(&reading, diag);
    if (rc == 0)
        rc = reading_prepare_scan(&reading, &scan);
    if (rc == 0)
        rc = from_totals ? totals_add(&reading, &scan, diag)
                         : read_events(store, question, &scan, diag);
    if (rc == 0)
        rc = reading_finish_scan(&reading, &scan, diag);
    if (rc == 0 && from_totals)
        totals_finish(&out_answer->basis);
    source.scan = &scan;
    if (rc == 0 && !from_totals && rollups_are_needed(&reading, &scan)) {
        source.rollups = &rollups;
        rc = rollups_read(&reading, &scan, &rollups, diag);
    }
    if (rc == 0)
        rc = make_rows(&reading, &source, out_answer);
    rollups_deinit(&rollups);
    reading_close(&reading);
    if (rc == 0 && out_answer->texts.failed)
        rc = -ENOMEM;
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the ops of this source") : rc;
}

int query_ops(struct store *store, const struct ops_question *question,
              struct ops_answer *out_answer, struct diag *diag)
{
    int rc = totals_may_answer(store, question, diag);

    *out_answer = (struct ops_answer){0};
    if (rc < 0)
        return rc;
    if (rc == 1)
        rc = answer_ops(store, question, true, out_answer, diag);
    else
        rc = 1;
    if (rc != 1)
        return rc;
    ops_answer_deinit(out_answer);
    return answer_ops(store, question, false, out_answer, diag);
}

int query_has_op(struct store *store, const int64_t *session_ids, size_t session_count,
                 bool (*is_of_kind)(const struct op_row *op), struct diag *diag)
{
    const struct ops_question question = {.session_ids = session_ids,
                                          .session_count = session_count};
    struct query_texts texts = {0};
    struct basis basis = {0};
    struct reading reading = {
        .store = store, .question = &question, .texts = &texts, .basis = &basis};
    bool has_one = false;
    int rc = 0;

    for (size_t i = 0; i < session_count && rc == 0; i++)
        rc = reading_read_ops(&reading, session_ids[i], diag);
    for (size_t i = 0; i < reading.rows.count && rc == 0 && !has_one; i++)
        has_one = is_of_kind(&reading.rows.items[i]);
    array_deinit(&reading.rows);
    array_deinit(&reading.op_ids);
    array_deinit(&reading.op_kinds);
    query_texts_deinit(&texts);
    if (rc == -ENOMEM)
        return diag_set(diag, rc, "no memory for the ops of this source");
    return rc < 0 ? rc : has_one;
}

void ops_answer_deinit(struct ops_answer *answer)
{
    array_deinit(&answer->rows);
    op_durations_free(answer->durations, answer->duration_count);
    answer->durations = NULL;
    basis_deinit(&answer->basis);
    query_texts_deinit(&answer->texts);
}
