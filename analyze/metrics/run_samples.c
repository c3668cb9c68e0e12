/* SPDX-License-Identifier: Apache-2.0 */
/* From spans to a table of ops and runs, and its sums by unit. */
#include "analyze/metrics/run_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/text_order.h"
#include "analyze/stats/describe.h"

#define NOWHERE UINT32_MAX

/* What is needed while samples are taken. */
struct taking {
    struct run_samples *samples;
    uint32_t *session_of_lane; /* place in `windows` */
    uint32_t *run_of_run;      /* spans.runs -> samples->runs, or NOWHERE */
    uint32_t *run_of_session;  /* of a session without runs; or NOWHERE */
    uint32_t *op_of_row;       /* spans.ops -> samples->ops, or NOWHERE */
    int64_t *first_ns;         /* of each row: when it first ran; INT64_MAX: never */
};

static uint32_t *new_places(size_t count)
{
    uint32_t *places = malloc((count ? count : 1) * sizeof(*places));

    for (size_t i = 0; places && i < count; i++)
        places[i] = NOWHERE;
    return places;
}

static uint32_t find_session(const struct spans_answer *spans, int64_t session_id)
{
    for (uint32_t i = 0; i < spans->windows.count; i++) {
        if (spans->windows.items[i].session_id == session_id)
            return i;
    }
    return NOWHERE;
}

static int make_places(struct taking *taking)
{
    const struct spans_answer *spans = &taking->samples->spans;

    taking->session_of_lane = new_places(spans->lanes.count);
    taking->run_of_run = new_places(spans->runs.count);
    taking->run_of_session = new_places(spans->windows.count);
    taking->op_of_row = new_places(spans->ops.count);
    taking->first_ns = malloc((spans->ops.count ? spans->ops.count : 1) * sizeof(int64_t));
    if (!taking->session_of_lane || !taking->run_of_run || !taking->run_of_session ||
        !taking->op_of_row || !taking->first_ns)
        return -ENOMEM;
    for (size_t i = 0; i < spans->lanes.count; i++)
        taking->session_of_lane[i] = find_session(spans, spans->lanes.items[i].session_id);
    for (size_t i = 0; i < spans->ops.count; i++)
        taking->first_ns[i] = INT64_MAX;
    return 0;
}

static void free_places(struct taking *taking)
{
    free(taking->session_of_lane);
    free(taking->run_of_run);
    free(taking->run_of_session);
    free(taking->op_of_row);
    free(taking->first_ns);
}

static bool is_span_of_op(const struct spans_answer *spans, const struct span *span)
{
    return spans->op_kinds[span->op] == SPAN_OP;
}

/* --- Runs. --- */

/* Runs of all sessions that have some. */
static int add_runs(struct taking *taking)
{
    struct run_samples *samples = taking->samples;
    const struct spans_answer *spans = &samples->spans;

    for (size_t i = 0; i < spans->runs.count; i++) {
        const struct run_row *run = &spans->runs.items[i];
        struct sampled_run sampled = {.session = find_session(spans, run->session_id),
                                      .row = (uint32_t)i};

        samples->has_runs = true;
        taking->run_of_session[sampled.session] = 0; /* has runs of its own */
        if (!run->selected || run->end_ns == STORE_NULL)
            continue;
        if (run->lacks_events && spans->spans.count)
            continue; /* its ops took longer than what is left of them */
        sampled.run_ns = (double)(run->end_ns - run->start_ns);
        taking->run_of_run[i] = (uint32_t)samples->runs.count;
        if (array_push(&samples->runs, sampled) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Sessions without runs that have ops: from the first op to the last. */
static int add_whole_sessions(struct taking *taking)
{
    struct run_samples *samples = taking->samples;
    const struct spans_answer *spans = &samples->spans;

    for (uint32_t session = 0; session < spans->windows.count; session++) {
        struct sampled_run sampled = {.session = session, .row = SPAN_NONE};
        int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;

        if (taking->run_of_session[session] != NOWHERE) {
            taking->run_of_session[session] = NOWHERE;
            continue;
        }
        for (size_t i = 0; i < spans->spans.count; i++) {
            const struct span *span = &spans->spans.items[i];

            if (taking->session_of_lane[span->lane] != session || !is_span_of_op(spans, span))
                continue;
            start_ns = span->start_ns < start_ns ? span->start_ns : start_ns;
            end_ns =
                span->start_ns + span->dur_ns > end_ns ? span->start_ns + span->dur_ns : end_ns;
        }
        if (end_ns < start_ns)
            continue;
        sampled.run_ns = (double)(end_ns - start_ns);
        taking->run_of_session[session] = (uint32_t)samples->runs.count;
        if (array_push(&samples->runs, sampled) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Place of the sampled run that an op's span counts for, or NOWHERE. */
static uint32_t run_of(const struct taking *taking, const struct span *span)
{
    const struct spans_answer *spans = &taking->samples->spans;

    if (!is_span_of_op(spans, span) || spans->lanes.items[span->lane].side != taking->samples->side)
        return NOWHERE;
    if (span->run != SPAN_NONE)
        return taking->run_of_run[span->run];
    return taking->run_of_session[taking->session_of_lane[span->lane]];
}

/* --- Ops. --- */

static int compare_identity(const struct op_row *a, const struct op_row *b)
{
    int order = strcmp(a->name, b->name);

    order = order ? order : strcmp(a->type, b->type);
    order = order ? order : compare_texts(a->input_shapes, b->input_shapes);
    order = order ? order : compare_texts(a->input_dtypes, b->input_dtypes);
    return order ? order : compare_texts(a->origin, b->origin);
}

/* A row that ran, and the how-manieth it is of those of its session that look the same. */
struct seen_row {
    const struct op_row *row;
    uint32_t place, session, nth;
    int64_t first_ns;
};

static int compare_seen(const void *a, const void *b)
{
    const struct seen_row *left = a, *right = b;
    int order = compare_identity(left->row, right->row);

    order = order ? order : (left->session > right->session) - (left->session < right->session);
    return order ? order : (left->place > right->place) - (left->place < right->place);
}

static int compare_same(const void *a, const void *b)
{
    const struct seen_row *left = a, *right = b;
    int order = compare_identity(left->row, right->row);

    order = order ? order : (left->nth > right->nth) - (left->nth < right->nth);
    return order ? order : (left->session > right->session) - (left->session < right->session);
}

static int compare_first(const void *a, const void *b)
{
    const struct seen_row *left = a, *right = b;
    int order = (left->session > right->session) - (left->session < right->session);

    order = order ? order : (left->first_ns > right->first_ns) - (left->first_ns < right->first_ns);
    return order ? order : (left->place > right->place) - (left->place < right->place);
}

static bool is_same_op(const struct seen_row *a, const struct seen_row *b)
{
    return a->nth == b->nth && compare_identity(a->row, b->row) == 0;
}

/* Rows that are the same op of different sessions are linked: next_same[place] is the one of the
 * next session. Keeps the first of each in `seen`; returns how many. */
static size_t link_sessions(struct seen_row *seen, size_t count, uint32_t *next_same)
{
    size_t kept = 0;

    qsort(seen, count, sizeof(*seen), compare_seen);
    for (size_t i = 1; i < count; i++) {
        if (seen[i].session == seen[i - 1].session &&
            compare_identity(seen[i].row, seen[i - 1].row) == 0)
            seen[i].nth = seen[i - 1].nth + 1;
    }
    qsort(seen, count, sizeof(*seen), compare_same);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && is_same_op(&seen[i - 1], &seen[i]))
            next_same[seen[i - 1].place] = seen[i].place;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_first = i == 0 || !is_same_op(&seen[i - 1], &seen[i]);

        if (is_first)
            seen[kept++] = seen[i]; /* kept <= i: what is compared next stays as it is */
    }
    return kept;
}

static size_t gather_seen(struct taking *taking, struct seen_row *seen)
{
    const struct spans_answer *spans = &taking->samples->spans;
    size_t count = 0;

    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (span->is_shown && run_of(taking, span) != NOWHERE &&
            span->start_ns < taking->first_ns[span->op])
            taking->first_ns[span->op] = span->start_ns;
    }
    for (uint32_t i = 0; i < spans->ops.count; i++) {
        const struct op_row *row = &spans->ops.items[i];

        if (taking->first_ns[i] != INT64_MAX)
            seen[count++] = (struct seen_row){
                .row = row,
                .place = i,
                .session = find_session(spans, row->session_id),
                .first_ns = taking->first_ns[i],
            };
    }
    return count;
}

static int add_ops(struct taking *taking)
{
    struct run_samples *samples = taking->samples;
    size_t rows = samples->spans.ops.count, count;
    struct seen_row *seen = calloc(rows ? rows : 1, sizeof(*seen));
    uint32_t *next_same = new_places(rows);
    int rc = seen && next_same ? 0 : -ENOMEM;

    if (rc < 0)
        goto out;
    count = gather_seen(taking, seen);
    count = link_sessions(seen, count, next_same);
    qsort(seen, count, sizeof(*seen), compare_first);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct sampled_op op = {.row = seen[i].row};

        for (uint32_t row = seen[i].place; row != NOWHERE; row = next_same[row])
            taking->op_of_row[row] = (uint32_t)samples->ops.count;
        rc = array_push(&samples->ops, op);
    }
out:
    free(seen);
    free(next_same);
    return rc;
}

/* --- Times. --- */

static int add_times(struct taking *taking)
{
    struct run_samples *samples = taking->samples;
    const struct spans_answer *spans = &samples->spans;
    size_t runs = samples->runs.count, cells = samples->ops.count * runs;

    samples->op_ns = calloc(cells ? cells : 1, sizeof(*samples->op_ns));
    if (!samples->op_ns)
        return -ENOMEM;
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        uint32_t run = run_of(taking, span);
        double *ns;

        if (run == NOWHERE)
            continue;
        if (!span->is_shown) {
            samples->runs.items[run].other_ns += (double)span_own_ns(spans, span);
            continue;
        }
        ns = &samples->op_ns[taking->op_of_row[span->op] * runs + run];
        if (spans->basis.is_flat) /* the lanes of an op are parts of one execution */
            *ns = fmax(*ns, (double)span_own_ns(spans, span));
        else
            *ns += (double)span_own_ns(spans, span);
        samples->ops.items[taking->op_of_row[span->op]].calls += 1 / (double)runs;
    }
    return 0;
}

/* A run of a flat profile is the sum of its ops. */
static void sum_flat_runs(struct run_samples *samples)
{
    size_t runs = samples->runs.count;

    for (size_t run = 0; run < runs; run++) {
        samples->runs.items[run].run_ns = samples->runs.items[run].other_ns;
        for (size_t op = 0; op < samples->ops.count; op++)
            samples->runs.items[run].run_ns += samples->op_ns[op * runs + run];
    }
}

/* The device, where an op has a time there. */
static enum op_side choose_side(const struct spans_answer *spans)
{
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (is_span_of_op(spans, span) && span_is_device(spans, span))
            return OP_DEVICE;
    }
    return OP_HOST;
}

static void count_units(struct run_samples *samples)
{
    size_t sessions = 0;

    for (size_t i = 0; i < samples->runs.count; i++)
        sessions += i == 0 || samples->runs.items[i].session != samples->runs.items[i - 1].session;
    samples->units_are_sessions = sessions > 1;
    samples->unit_count = sessions > 1 ? sessions : samples->runs.count;
}

int run_samples_take(struct spans_answer *spans, enum op_side side, struct run_samples *out_samples,
                     struct diag *diag)
{
    struct taking taking = {.samples = out_samples};
    int rc;

    *out_samples = (struct run_samples){.spans = *spans};
    *spans = (struct spans_answer){0};
    out_samples->side = side == OP_SIDES ? choose_side(&out_samples->spans) : side;
    rc = make_places(&taking);
    if (rc == 0)
        rc = add_runs(&taking);
    if (rc == 0)
        rc = add_whole_sessions(&taking);
    if (rc == 0)
        rc = add_ops(&taking);
    if (rc == 0 && out_samples->runs.count &&
        out_samples->ops.count > RUN_SAMPLES_MAX / out_samples->runs.count)
        rc = -EFBIG;
    if (rc == 0)
        rc = add_times(&taking);
    if (rc == 0 && out_samples->spans.basis.is_flat)
        sum_flat_runs(out_samples);
    count_units(out_samples);
    free_places(&taking);
    array_deinit(&out_samples->spans.spans);
    if (rc == -ENOMEM)
        return diag_set(diag, rc, "no memory for the runs");
    if (rc == -EFBIG)
        return diag_set(diag, rc, "too many ops and runs to compare: choose some with --runs");
    if (rc == 0 && !out_samples->runs.count) {
        diag_set(diag, 0,
                 out_samples->spans.basis.lacks_whole_runs
                     ? "no run that is asked for has all of its events any more"
                     : "no run has ended in what is asked for");
        return 1;
    }
    return rc;
}

void run_samples_skip(struct run_samples *samples, const bool *is_skipped)
{
    size_t runs = samples->runs.count, kept = 0, cells = 0;

    for (size_t op = 0; op < samples->ops.count; op++) {
        for (size_t run = 0; run < runs; run++) {
            if (!is_skipped[run]) /* what is written to was read before */
                samples->op_ns[cells++] = samples->op_ns[op * runs + run];
        }
    }
    for (size_t run = 0; run < runs; run++) {
        if (!is_skipped[run])
            samples->runs.items[kept++] = samples->runs.items[run];
    }
    samples->runs.count = kept;
    count_units(samples);
}

void run_samples_deinit(struct run_samples *samples)
{
    spans_answer_deinit(&samples->spans);
    array_deinit(&samples->ops);
    array_deinit(&samples->runs);
    free(samples->op_ns);
    samples->op_ns = NULL;
}

/* --- Sums. --- */

static double part_ns(const struct run_samples *samples, const struct sampled_sum *sum, size_t run)
{
    const struct sampled_run *sampled = &samples->runs.items[run];
    size_t runs = samples->runs.count;
    double ns = 0;

    if (sum->part == SAMPLED_RUN || sum->part == SAMPLED_OTHER)
        return sum->part == SAMPLED_RUN ? sampled->run_ns : sampled->other_ns;
    if (sum->part == SAMPLED_OPS) {
        for (size_t i = 0; i < sum->op_count; i++)
            ns += samples->op_ns[sum->ops[i] * runs + run];
        return ns;
    }
    for (size_t op = 0; op < samples->ops.count; op++)
        ns += samples->op_ns[op * runs + run];
    return sampled->run_ns - sampled->other_ns - ns;
}

/* Where the unit that begins at `first` ends. */
static size_t unit_end(const struct run_samples *samples, size_t first)
{
    size_t end = first + 1;

    while (samples->units_are_sessions && end < samples->runs.count &&
           samples->runs.items[end].session == samples->runs.items[first].session)
        end++;
    return end;
}

int run_samples_sum(const struct run_samples *samples, const struct sampled_sum *sum,
                    double *out_units, double *out_mean)
{
    size_t runs = samples->runs.count, unit = 0;
    double *ns = malloc((runs ? runs : 1) * sizeof(*ns));

    if (!ns)
        return -ENOMEM;
    *out_mean = runs ? 0 : NAN;
    for (size_t first = 0, end; first < runs; first = end, unit++) {
        size_t count = 0;
        double all = 0;

        end = unit_end(samples, first);
        for (size_t run = first; run < end; run++) {
            if (sum->is_skipped && sum->is_skipped[run])
                continue;
            ns[count] = part_ns(samples, sum, run);
            all += ns[count++];
        }
        *out_mean += all / (double)count / (double)samples->unit_count;
        stats_sort(ns, count);
        out_units[unit] = stats_percentile(ns, count, 50);
    }
    free(ns);
    return 0;
}

struct align_op *run_samples_align(const struct run_samples *samples)
{
    struct align_op *ops = calloc(samples->ops.count ? samples->ops.count : 1, sizeof(*ops));

    for (size_t i = 0; ops && i < samples->ops.count; i++) {
        const struct op_row *row = samples->ops.items[i].row;

        ops[i] = (struct align_op){row->name, row->type, row->input_shapes, row->input_dtypes,
                                   row->origin};
    }
    return ops;
}
