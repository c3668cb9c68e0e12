/* SPDX-License-Identifier: Apache-2.0 */
/* From spans, part by part, to a table of ops and runs, and its sums by unit. */
#include "analyze/metrics/run_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/text_order.h"
#include "analyze/stats/describe.h"

#define NOWHERE UINT32_MAX

/* The runs of a session that count, one after the other; where it has none at all, one for all of
 * it. */
struct session_runs {
    uint32_t first, count;
    bool has_runs;
    bool has_op;              /* else the times are 0 */
    int64_t start_ns, end_ns; /* of its ops */
};

/* A row of an op in the runs of its session. */
struct row_times {
    double *ns;       /* beside these; NULL: it never ran in one */
    int64_t first_ns; /* when it first did */
    uint64_t calls;
};

struct run_samples_parts {
    enum op_side asked, side;
    size_t session_count, row_count, lane_count;
    struct session_runs *sessions; /* beside windows */
    struct row_times *rows;        /* beside ops */
    uint32_t *session_of_lane, *session_of_row;
    uint32_t *place_of_run; /* spans.runs -> a place among runs, or NOWHERE */
    double *other_ns;       /* by such a place */
    uint32_t run_count;     /* of such places; of sessions without runs the last */
    size_t cell_count;
    bool has_span, is_too_large;
};

static void *new_items(size_t count, size_t bytes)
{
    return calloc(count ? count : 1, bytes);
}

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

/* What stands together in a session is found once. */
static uint32_t find_next_session(const struct spans_answer *spans, uint32_t last,
                                  int64_t session_id)
{
    if (last != NOWHERE && spans->windows.items[last].session_id == session_id)
        return last;
    return find_session(spans, session_id);
}

static bool is_span_of_op(const struct spans_answer *spans, const struct span *span)
{
    return spans->op_kinds[span->op] == SPAN_OP;
}

/* --- Runs. --- */

static bool has_ended(const struct run_row *run)
{
    return run->selected && run->end_ns != STORE_NULL;
}

/* Places of the runs of all sessions that have some, then of the other sessions. */
static void place_runs(const struct spans_answer *spans, struct run_samples_parts *parts)
{
    uint32_t session = NOWHERE;

    for (size_t i = 0; i < spans->runs.count; i++) {
        const struct run_row *run = &spans->runs.items[i];

        session = find_next_session(spans, session, run->session_id);
        if (!parts->sessions[session].has_runs)
            parts->sessions[session].first = parts->run_count;
        parts->sessions[session].has_runs = true;
        if (!has_ended(run) ||
            run->lacks_events) /* its ops took longer than what is left of them */
            continue;
        parts->place_of_run[i] = parts->run_count++;
        parts->sessions[session].count++;
    }
    for (size_t i = 0; i < parts->session_count; i++) {
        if (!parts->sessions[i].has_runs) {
            parts->sessions[i].first = parts->run_count++;
            parts->sessions[i].count = 1;
        }
    }
}

static void free_rows(struct run_samples_parts *parts)
{
    for (size_t i = 0; i < parts->row_count && parts->rows; i++)
        free(parts->rows[i].ns);
}

void run_samples_drop(struct run_samples_parts **parts)
{
    struct run_samples_parts *old = *parts;

    if (!old)
        return;
    free_rows(old);
    free(old->sessions);
    free(old->rows);
    free(old->session_of_lane);
    free(old->session_of_row);
    free(old->place_of_run);
    free(old->other_ns);
    free(old);
    *parts = NULL;
}

int run_samples_begin(const struct spans_answer *spans, enum op_side side,
                      struct run_samples_parts **out_parts)
{
    struct run_samples_parts *parts = calloc(1, sizeof(*parts));
    uint32_t session = NOWHERE;

    run_samples_drop(out_parts);
    *out_parts = parts;
    if (!parts)
        return -ENOMEM;
    parts->asked = side;
    parts->side = side == OP_SIDES ? OP_HOST : side;
    parts->session_count = spans->windows.count;
    parts->row_count = spans->ops.count;
    parts->lane_count = spans->lanes.count;
    parts->sessions = new_items(parts->session_count, sizeof(*parts->sessions));
    parts->rows = new_items(parts->row_count, sizeof(*parts->rows));
    parts->session_of_lane = new_places(parts->lane_count);
    parts->session_of_row = new_places(parts->row_count);
    parts->place_of_run = new_places(spans->runs.count);
    parts->other_ns = new_items(spans->runs.count + parts->session_count, sizeof(double));
    if (!parts->sessions || !parts->rows || !parts->session_of_lane || !parts->session_of_row ||
        !parts->place_of_run || !parts->other_ns)
        return -ENOMEM;
    for (size_t i = 0; i < parts->lane_count; i++) {
        session = find_next_session(spans, session, spans->lanes.items[i].session_id);
        parts->session_of_lane[i] = session;
    }
    for (size_t i = 0; i < parts->row_count; i++) {
        session = find_next_session(spans, session, spans->ops.items[i].session_id);
        parts->session_of_row[i] = session;
    }
    place_runs(spans, parts);
    return 0;
}

/* --- Times. --- */

static void forget_times(struct run_samples_parts *parts)
{
    free_rows(parts);
    memset(parts->rows, 0, parts->row_count * sizeof(*parts->rows));
    memset(parts->other_ns, 0, parts->run_count * sizeof(*parts->other_ns));
    parts->cell_count = 0;
    parts->is_too_large = false;
}

/* The device counts from the first op on that has a time there. */
static void choose_side(const struct spans_answer *spans, struct run_samples_parts *parts)
{
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];

        if (is_span_of_op(spans, span) && span_is_device(spans, span)) {
            parts->side = OP_DEVICE;
            forget_times(parts);
            return;
        }
    }
}

static void extend_session(struct session_runs *session, const struct span *span)
{
    int64_t end_ns = span->start_ns + span->dur_ns;

    if (!session->has_op || span->start_ns < session->start_ns)
        session->start_ns = span->start_ns;
    if (!session->has_op || end_ns > session->end_ns)
        session->end_ns = end_ns;
    session->has_op = true;
}

/* The place of the run that an op's span counts for, or NOWHERE. */
static uint32_t run_of(const struct run_samples_parts *parts, const struct spans_answer *spans,
                       const struct span *span)
{
    const struct session_runs *session = &parts->sessions[parts->session_of_lane[span->lane]];

    if (spans->lanes.items[span->lane].side != parts->side)
        return NOWHERE;
    if (span->run != SPAN_NONE)
        return parts->place_of_run[span->run];
    return session->has_runs ? NOWHERE : session->first;
}

static int make_row(struct run_samples_parts *parts, struct row_times *row, size_t count)
{
    parts->cell_count += count;
    if (parts->cell_count > RUN_SAMPLES_MAX) {
        parts->is_too_large = true;
        return 0;
    }
    row->ns = calloc(count, sizeof(*row->ns));
    row->first_ns = INT64_MAX;
    return row->ns ? 0 : -ENOMEM;
}

static int add_time(struct run_samples_parts *parts, const struct spans_answer *spans,
                    const struct span *span, uint32_t run)
{
    const uint32_t place = parts->session_of_row[span->op];
    const struct session_runs *session = &parts->sessions[place];
    struct row_times *row = &parts->rows[span->op];
    const double own_ns = (double)span_own_ns(spans, span);
    double *ns;

    /* An op of another session is nobody's whose runs these are. */
    if (!span->is_shown || place != parts->session_of_lane[span->lane]) {
        parts->other_ns[run] += own_ns;
        return 0;
    }
    if (!row->ns && (make_row(parts, row, session->count) < 0 || parts->is_too_large))
        return parts->is_too_large ? 0 : -ENOMEM;
    ns = &row->ns[run - session->first];
    if (spans->basis.is_flat) /* the lanes of an op are parts of one execution */
        *ns = fmax(*ns, own_ns);
    else
        *ns += own_ns;
    if (span->start_ns < row->first_ns)
        row->first_ns = span->start_ns;
    row->calls += span->frame != SPAN_FRAME_AGAIN;
    return 0;
}

int run_samples_add(struct run_samples_parts *parts, const struct spans_answer *spans)
{
    int rc = 0;

    if (parts->asked == OP_SIDES && parts->side == OP_HOST)
        choose_side(spans, parts);
    parts->has_span |= spans->spans.count > 0;
    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];
        uint32_t run;

        if (!is_span_of_op(spans, span))
            continue;
        extend_session(&parts->sessions[parts->session_of_lane[span->lane]], span);
        run = run_of(parts, spans, span);
        if (run != NOWHERE && !parts->is_too_large)
            rc = add_time(parts, spans, span, run);
    }
    return rc;
}

bool run_samples_saw_spans(const struct run_samples_parts *parts)
{
    return parts && parts->has_span;
}

/* --- Runs that are sampled. --- */

/* Without any span also those whose events are gone. */
static int sample_runs(const struct run_samples_parts *parts, struct run_samples *samples)
{
    const struct spans_answer *spans = &samples->spans;
    uint32_t session = NOWHERE;
    int rc = 0;

    for (size_t i = 0; i < spans->runs.count && rc == 0; i++) {
        const struct run_row *run = &spans->runs.items[i];
        struct sampled_run sampled = {.row = (uint32_t)i};

        samples->has_runs = true;
        session = find_next_session(spans, session, run->session_id);
        sampled.session = session;
        if (!has_ended(run) || (run->lacks_events && parts->has_span))
            continue;
        sampled.run_ns = (double)(run->end_ns - run->start_ns);
        if (parts->place_of_run[i] != NOWHERE)
            sampled.other_ns = parts->other_ns[parts->place_of_run[i]];
        rc = array_push(&samples->runs, sampled);
    }
    return rc;
}

/* Sessions without runs that have ops: from the first op to the last. */
static int sample_whole_sessions(const struct run_samples_parts *parts, struct run_samples *samples)
{
    int rc = 0;

    for (uint32_t i = 0; i < parts->session_count && rc == 0; i++) {
        const struct session_runs *session = &parts->sessions[i];

        if (session->has_op && !session->has_runs)
            rc = array_push(
                &samples->runs,
                ((struct sampled_run){.session = i,
                                      .row = SPAN_NONE,
                                      .run_ns = (double)(session->end_ns - session->start_ns),
                                      .other_ns = parts->other_ns[session->first]}));
    }
    return rc;
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

static size_t gather_seen(const struct run_samples_parts *parts, const struct spans_answer *spans,
                          struct seen_row *seen)
{
    size_t count = 0;

    for (uint32_t i = 0; i < parts->row_count; i++) {
        if (parts->rows[i].ns)
            seen[count++] = (struct seen_row){
                .row = &spans->ops.items[i],
                .place = i,
                .session = parts->session_of_row[i],
                .first_ns = parts->rows[i].first_ns,
            };
    }
    return count;
}

/* *out_places: of each row that of its op, or NOWHERE; for the caller to free. */
static int sample_ops(const struct run_samples_parts *parts, struct run_samples *samples,
                      uint32_t **out_places)
{
    size_t rows = parts->row_count, count;
    struct seen_row *seen = new_items(rows, sizeof(*seen));
    uint32_t *next_same = new_places(rows), *places = new_places(rows);
    int rc = seen && next_same && places ? 0 : -ENOMEM;

    *out_places = places;
    if (rc < 0)
        goto out;
    count = gather_seen(parts, &samples->spans, seen);
    count = link_sessions(seen, count, next_same);
    if (count)
        qsort(seen, count, sizeof(*seen), compare_first);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct sampled_op op = {.row = seen[i].row};

        for (uint32_t row = seen[i].place; row != NOWHERE; row = next_same[row])
            places[row] = (uint32_t)samples->ops.count;
        rc = array_push(&samples->ops, op);
    }
out:
    free(seen);
    free(next_same);
    return rc;
}

/* Of each session the place of its first sampled run; or NOWHERE. */
static uint32_t *find_first_runs(const struct run_samples *samples, size_t session_count)
{
    uint32_t *first = new_places(session_count);

    for (uint32_t i = (uint32_t)samples->runs.count; first && i-- > 0;)
        first[samples->runs.items[i].session] = i;
    return first;
}

/* The table of ops and runs; what it is made of goes row by row. */
static int sample_times(struct run_samples_parts *parts, struct run_samples *samples,
                        const uint32_t *places)
{
    size_t runs = samples->runs.count, cells = samples->ops.count * runs;
    uint32_t *first = find_first_runs(samples, parts->session_count);

    samples->op_ns = new_items(cells, sizeof(*samples->op_ns));
    for (size_t i = 0; i < parts->row_count && first && samples->op_ns; i++) {
        struct row_times *row = &parts->rows[i];
        uint32_t session = parts->session_of_row[i];

        if (!row->ns)
            continue;
        memcpy(&samples->op_ns[places[i] * runs + first[session]], row->ns,
               parts->sessions[session].count * sizeof(*row->ns));
        samples->ops.items[places[i]].calls += (double)row->calls / (double)runs;
        free(row->ns);
        row->ns = NULL;
    }
    free(first);
    return first && samples->op_ns ? 0 : -ENOMEM;
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

static void count_units(struct run_samples *samples)
{
    size_t sessions = 0;

    for (size_t i = 0; i < samples->runs.count; i++)
        sessions += i == 0 || samples->runs.items[i].session != samples->runs.items[i - 1].session;
    samples->units_are_sessions = sessions > 1;
    samples->unit_count = sessions > 1 ? sessions : samples->runs.count;
}

static int sample(struct run_samples_parts *parts, struct run_samples *samples)
{
    uint32_t *places = NULL;
    int rc = sample_runs(parts, samples);

    if (rc == 0)
        rc = sample_whole_sessions(parts, samples);
    if (rc == 0)
        rc = sample_ops(parts, samples, &places);
    if (rc == 0 &&
        (parts->is_too_large ||
         (samples->runs.count && samples->ops.count > RUN_SAMPLES_MAX / samples->runs.count)))
        rc = -EFBIG;
    if (rc == 0)
        rc = sample_times(parts, samples, places);
    if (rc == 0 && samples->spans.basis.is_flat)
        sum_flat_runs(samples);
    free(places);
    return rc;
}

int run_samples_finish(struct run_samples_parts **parts, struct spans_answer *spans,
                       struct run_samples *out_samples, struct diag *diag)
{
    int rc;

    *out_samples = (struct run_samples){.spans = *spans, .side = (*parts)->side};
    *spans = (struct spans_answer){0};
    rc = sample(*parts, out_samples);
    count_units(out_samples);
    run_samples_drop(parts);
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

int run_samples_take(struct spans_answer *spans, enum op_side side, struct run_samples *out_samples,
                     struct diag *diag)
{
    struct run_samples_parts *parts = NULL;
    int rc = run_samples_begin(spans, side, &parts);

    *out_samples = (struct run_samples){0};
    if (rc == 0)
        rc = run_samples_add(parts, spans);
    if (rc == 0)
        return run_samples_finish(&parts, spans, out_samples, diag);
    run_samples_drop(&parts);
    return diag_set(diag, rc, "no memory for the runs");
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

int run_sampling_begin(void *user, const struct spans_answer *spans)
{
    struct run_sampling *sampling = user;

    return run_samples_begin(spans, sampling->side, &sampling->parts);
}

int run_sampling_take(void *user, struct spans_answer *spans)
{
    struct run_sampling *sampling = user;

    return run_samples_add(sampling->parts, spans);
}
