/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the base and taking the samples of both sides. */
#include "analyze/reports/compare/sides.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/query/choose_sessions.h"
#include "analyze/reports/compare/place.h"
#include "analyze/stats/significance.h"
#include "base/amount.h"

/* Of 100 comparisons of what does not differ at most one is to raise an alarm. */
#define COMPARE_ALPHA 0.01
/* Shares of disturbed runs that differ by more are no accident. */
#define DISTURBED_APART 0.25

/* --- The base. --- */

static int open_sessions(struct compare_side *base, const char *sessions, struct diag *diag)
{
    int rc = query_sessions(base->source->store, &base->own_rows, diag);

    if (rc < 0)
        return rc;
    if (!base->own_rows.rows.count) {
        diag_set(diag, 0, "%s, the base, holds no session yet", base->source->name);
        return REPORT_NOTHING;
    }
    base->rows = &base->own_rows;
    base->own_ids = calloc(base->own_rows.rows.count, sizeof(*base->own_ids));
    if (!base->own_ids)
        return diag_set(diag, -ENOMEM, "no memory for the sessions");
    base->session_ids = base->own_ids;
    return choose_sessions(sessions, &base->own_rows, base->own_ids, &base->session_count, diag);
}

static int open_base(const struct report *report, struct compare_side *base, struct diag *diag)
{
    struct import_options import = {.lenient = report->options->lenient};
    struct compare_place place;
    int rc = compare_place_read(report->options->compare, &place);

    if (rc == 0 && report->options->sample)
        rc = amount_parse_duration("--sample", report->options->sample, &import.sample_ns, diag);
    if (rc < 0)
        return diag_set(diag, rc, "no memory for the base");
    base->source = report->source;
    if (place.path) {
        rc = source_open(place.path, &import, &base->own_source, diag);
        base->source = &base->own_source;
    }
    if (rc == -EINVAL)
        rc = -EUCLEAN; /* the file's fault, not the command line's */
    if (rc == 0)
        rc = open_sessions(base, place.sessions, diag);
    if (rc == 0 &&
        sessions_are_samples(base->rows, base->session_ids, base->session_count) !=
            sessions_are_samples(report->sessions, report->session_ids, report->session_count))
        rc = diag_set(diag, -EUCLEAN,
                      "one side has times, the other counts of samples: --sample 10ms says what "
                      "one stands for");
    compare_place_deinit(&place);
    return rc;
}

double compare_alpha(const struct analyze_options *options)
{
    return isnan(options->alpha) ? COMPARE_ALPHA : options->alpha;
}

static bool is_among(int64_t id, const int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* The base's and the newest of the earlier ones, in the order of the store. */
static int extend(struct compare_side *base, size_t more, struct diag *diag)
{
    size_t count = 0;

    base->extended_ids = calloc(base->session_count + more, sizeof(*base->extended_ids));
    if (!base->extended_ids)
        return diag_set(diag, -ENOMEM, "no memory for the sessions");
    for (size_t i = 0; i < base->rows->rows.count; i++) {
        int64_t id = base->rows->rows.items[i].session_id;

        if (is_among(id, base->named_ids, base->named_count) ||
            is_among(id, base->earlier.session_ids, more))
            base->extended_ids[count++] = id;
    }
    base->session_ids = base->extended_ids;
    base->session_count = count;
    return 0;
}

int64_t compare_side_start(const struct compare_side *side, int64_t session_id)
{
    for (size_t i = 0; i < side->rows->rows.count; i++) {
        if (side->rows->rows.items[i].session_id == session_id)
            return side->rows->rows.items[i].start_ns;
    }
    return 0;
}

/* Numbers of sessions by when they began; of those that began at once the first comes first. */
static int order_in_time(const int64_t *start_ns, size_t count, size_t **out_order)
{
    size_t *order = malloc((count ? count : 1) * sizeof(*order));

    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        size_t at = i;

        for (; at > 0 && start_ns[order[at - 1]] > start_ns[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    *out_order = order;
    return 0;
}

static size_t put_starts(const struct compare_side *side, const int64_t *ids, size_t count,
                         int64_t *out_start_ns)
{
    for (size_t i = 0; i < count; i++)
        out_start_ns[i] = compare_side_start(side, ids[i]);
    return count;
}

/* Whether the earlier sessions are enough for those of the new side to be judged beside them. */
static int are_enough(const struct compare_side sides[ALIGN_SIDES], double alpha, bool *out_enough)
{
    const struct compare_side *base = &sides[ALIGN_BASE], *new = &sides[ALIGN_NEW];
    size_t all = base->session_count + base->earlier.count, count = 0, *order = NULL;
    int64_t *start_ns = malloc((all + new->session_count) * sizeof(*start_ns));
    int rc = start_ns ? 0 : -ENOMEM;

    if (rc == 0) {
        count = put_starts(base, base->session_ids, base->session_count, start_ns);
        count += put_starts(base, base->earlier.session_ids, base->earlier.count, start_ns + count);
        count += put_starts(new, new->session_ids, new->session_count, start_ns + count);
        rc = order_in_time(start_ns, count, &order);
    }
    if (rc == 0)
        *out_enough = compare_can_tell_along(all, new->session_count, order, alpha);
    free(start_ns);
    free(order);
    return rc;
}

/* Earlier sessions join the base where verdicts take them, and where they are enough. */
static int add_earlier(const struct report *report, struct compare_side sides[ALIGN_SIDES],
                       bool is_same_store, struct diag *diag)
{
    struct compare_side *base = &sides[ALIGN_BASE], *new = &sides[ALIGN_NEW];
    double alpha = compare_alpha(report->options);
    bool is_enough = false;
    int rc;

    if (compare_can_tell(base->session_count, new->session_count, alpha))
        return 0;
    base->is_along = true;
    rc = earlier_sessions_find(base->source->store, base->session_ids, base->session_count,
                               is_same_store ? new->session_ids : NULL,
                               is_same_store ? new->session_count : 0, &base->earlier, diag);
    if (rc < 0)
        return rc;
    if (are_enough(sides, alpha, &is_enough) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the sessions");
    return is_enough && base->earlier.count ? extend(base, base->earlier.count, diag) : 0;
}

static bool is_same_file(const struct source *a, const struct source *b)
{
    struct stat left, right;

    return a == b || (stat(a->name, &left) == 0 && stat(b->name, &right) == 0 &&
                      left.st_dev == right.st_dev && left.st_ino == right.st_ino);
}

static bool is_same_recording(const struct compare_side sides[ALIGN_SIDES])
{
    const struct compare_side *base = &sides[ALIGN_BASE], *new = &sides[ALIGN_NEW];

    return is_same_file(base->source, new->source) &&
           base->session_count ==
               new->session_count &&memcmp(base->session_ids, new->session_ids,
                                           new->session_count * sizeof(*new->session_ids)) == 0;
}

/* --- Samples. --- */

static enum op_side side_of(const struct analyze_options *options)
{
    if (options->print_only == PRINT_HOST)
        return OP_HOST;
    return options->print_only == PRINT_DEVICE ? OP_DEVICE : OP_SIDES;
}

/* Samples of a side; that none of its spans is shown is no failure, as long as there are some. */
static int query_side(const struct report *of_side, struct compare_side *side, struct diag *diag)
{
    struct run_sampling sampling = {.side = side_of(of_side->options)};
    const struct report_parts parts = {&sampling, run_sampling_begin, run_sampling_take,
                                       SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    struct report_selection selection;
    struct spans_answer spans = {0};
    struct diag nothing = {0};
    int rc = report_select(of_side, &selection, diag);

    if (rc == 0) {
        rc = report_query_span_parts(of_side, &selection, &parts, &spans, &nothing);
        if (rc < 0 || !run_samples_saw_spans(sampling.parts))
            diag_set(diag, rc, "%s: %s", side->source->name, nothing.text);
        else
            rc = run_samples_finish(&sampling.parts, &spans, &side->samples, diag);
    }
    run_samples_drop(&sampling.parts);
    spans_answer_deinit(&spans);
    report_selection_deinit(&selection);
    return rc;
}

static int measure_runs(struct compare_side *side, struct diag *diag)
{
    size_t count = side->samples.unit_count;
    double mean;
    int rc;

    side->run_ns = malloc((count ? count : 1) * sizeof(*side->run_ns));
    rc = side->run_ns ? run_samples_sum(&side->samples, &(struct sampled_sum){SAMPLED_RUN},
                                        side->run_ns, &mean)
                      : -ENOMEM;
    if (rc == 0)
        rc = spread_of(side->run_ns, count, &side->spread);
    return rc < 0 ? diag_set(diag, rc, "no memory for the runs") : 0;
}

struct report compare_side_report(const struct report *report, const struct compare_side *side)
{
    struct report of_side = *report;

    of_side.source = side->source;
    of_side.sessions = side->rows;
    of_side.session_ids = side->session_ids;
    of_side.session_count = side->session_count;
    return of_side;
}

static int find_disturbed(const struct compare_side *side, struct disturbed_runs *out_disturbed,
                          struct diag *diag)
{
    struct off_cpu_shares shares = {0};
    int rc =
        query_off_cpu(side->source->store, side->session_ids, side->session_count, &shares, diag);

    if (rc == 0 && disturbed_runs_find(&side->samples, &shares, out_disturbed) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the runs");
    array_deinit(&shares);
    return rc;
}

static int read_side(const struct report *report, struct compare_side *side,
                     struct disturbed_runs *out_disturbed, struct diag *diag)
{
    struct report of_side = compare_side_report(report, side);
    int rc = query_environment(side->source->store, side->session_ids, side->session_count,
                               &side->environment, diag);

    if (rc == 0)
        rc = query_side(&of_side, side, diag);
    if (rc == 0)
        rc = find_disturbed(side, out_disturbed, diag);
    return rc;
}

bool compare_sides_disturbed_apart(const struct compare_side sides[ALIGN_SIDES])
{
    const struct compare_side *base = &sides[ALIGN_BASE], *new = &sides[ALIGN_NEW];

    return !base->is_along && base->runs_with_cpu_time &&
           new->runs_with_cpu_time &&fabs(
               (double)base->runs_set_aside / (double)base->runs_with_cpu_time -
               (double)new->runs_set_aside / (double)new->runs_with_cpu_time) > DISTURBED_APART;
}

/* Disturbed runs go on both sides or on none, and where they are not the programs' own doing. */
static void set_aside(struct compare_side sides[ALIGN_SIDES],
                      const struct disturbed_runs disturbed[ALIGN_SIDES])
{
    for (int i = 0; i < ALIGN_SIDES; i++) {
        sides[i].runs_set_aside = disturbed[i].count;
        sides[i].runs_with_cpu_time = disturbed[i].read_count;
    }
    if (!disturbed[ALIGN_BASE].read_count || !disturbed[ALIGN_NEW].read_count) {
        for (int i = 0; i < ALIGN_SIDES; i++)
            sides[i].runs_set_aside = sides[i].runs_with_cpu_time = 0;
        return;
    }
    if (compare_sides_disturbed_apart(sides))
        return;
    for (int i = 0; i < ALIGN_SIDES; i++)
        run_samples_skip(&sides[i].samples, disturbed[i].is_disturbed);
}

static int mark_named(struct compare_side *side, struct diag *diag)
{
    const struct run_samples *samples = &side->samples;
    size_t unit = 0;

    if (!side->extended_ids || !samples->units_are_sessions)
        return 0;
    side->unit_is_named = calloc(samples->unit_count, sizeof(bool));
    if (!side->unit_is_named)
        return diag_set(diag, -ENOMEM, "no memory for the sessions");
    for (size_t i = 0; i < samples->runs.count; i++) {
        uint32_t session = samples->runs.items[i].session;

        if (i && session == samples->runs.items[i - 1].session)
            continue;
        side->unit_is_named[unit++] = is_among(samples->spans.windows.items[session].session_id,
                                               side->named_ids, side->named_count);
    }
    return 0;
}

/* Session ids of a side's units, in their order; they are one for runs of one session. */
static size_t put_unit_starts(const struct compare_side *side, int64_t *out_start_ns)
{
    const struct run_samples *samples = &side->samples;
    size_t count = 0;

    for (size_t i = 0; i < samples->runs.count; i++) {
        uint32_t session = samples->runs.items[i].session;

        if (i && (session == samples->runs.items[i - 1].session || !samples->units_are_sessions))
            continue;
        out_start_ns[count++] =
            compare_side_start(side, samples->spans.windows.items[session].session_id);
    }
    return count;
}

/* Sessions that are too few by themselves have a place in time beside the others. */
static int put_in_time(struct compare_side sides[ALIGN_SIDES], struct diag *diag)
{
    struct compare_side *base = &sides[ALIGN_BASE], *new = &sides[ALIGN_NEW];
    size_t runs = base->samples.runs.count + new->samples.runs.count, count;
    int64_t *start_ns;
    int rc;

    if (!base->is_along)
        return 0;
    start_ns = malloc((runs ? runs : 1) * sizeof(*start_ns));
    rc = start_ns ? 0 : -ENOMEM;
    if (rc == 0) {
        count = put_unit_starts(base, start_ns);
        count += put_unit_starts(new, start_ns + count);
        rc = order_in_time(start_ns, count, &base->in_time);
    }
    free(start_ns);
    return rc < 0 ? diag_set(diag, rc, "no memory for the sessions") : 0;
}

int compare_sides_open(const struct report *report, struct compare_side out[ALIGN_SIDES],
                       struct diag *diag)
{
    int rc;

    memset(out, 0, ALIGN_SIDES * sizeof(*out));
    out[ALIGN_NEW].source = report->source;
    out[ALIGN_NEW].rows = report->sessions;
    out[ALIGN_NEW].session_ids = report->session_ids;
    out[ALIGN_NEW].session_count = report->session_count;
    rc = open_base(report, &out[ALIGN_BASE], diag);
    if (rc == 0 && is_same_recording(out))
        rc = diag_set(diag, -EINVAL,
                      "--compare needs two recordings, and both are the same session%s of %s",
                      report->session_count > 1 ? "s" : "", report->source->name);
    for (int side = 0; side < ALIGN_SIDES; side++) {
        out[side].named_ids = out[side].session_ids;
        out[side].named_count = out[side].session_count;
        out[side].earlier.variation = NAN;
    }
    if (rc == 0)
        rc = add_earlier(report, out, is_same_file(out[ALIGN_BASE].source, out[ALIGN_NEW].source),
                         diag);
    return rc;
}

int compare_sides_read(const struct report *report, struct compare_side out[ALIGN_SIDES],
                       struct diag *diag)
{
    struct disturbed_runs disturbed[ALIGN_SIDES] = {{0}};
    int rc = compare_sides_open(report, out, diag);

    for (int side = 0; side < ALIGN_SIDES && rc == 0; side++)
        rc = read_side(report, &out[side], &disturbed[side], diag);
    if (rc == 0)
        set_aside(out, disturbed);
    for (int side = 0; side < ALIGN_SIDES && rc == 0; side++) {
        rc = measure_runs(&out[side], diag);
        if (rc == 0)
            rc = mark_named(&out[side], diag);
    }
    if (rc == 0)
        rc = put_in_time(out, diag);
    for (int side = 0; side < ALIGN_SIDES; side++)
        free(disturbed[side].is_disturbed);
    return rc;
}

void compare_sides_deinit(struct compare_side sides[ALIGN_SIDES])
{
    for (int i = 0; i < ALIGN_SIDES; i++) {
        struct compare_side *side = &sides[i];

        environment_deinit(&side->environment);
        run_samples_deinit(&side->samples);
        free(side->run_ns);
        session_rows_deinit(&side->own_rows);
        free(side->own_ids);
        free(side->extended_ids);
        free(side->unit_is_named);
        free(side->in_time);
        source_close(&side->own_source);
    }
}
