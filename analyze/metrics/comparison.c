/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a comparison: aligned ops, their samples, their means, what is judged. */
#include "analyze/metrics/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/json/text.h"
#include "analyze/metrics/outlying_runs.h"
#include "analyze/stats/describe.h"
#include "base/text_buffer.h"

/* A comparison while it is made. */
struct making {
    const struct run_samples *const *samples;
    const struct comparison_options *options;
    struct comparison *out;
    ARRAY_OF(struct compare_case) cases; /* beside out->lines; they own their samples */
    struct alignment alignment;
    struct outlying_runs outlying[ALIGN_SIDES];
    bool skips_outlying;
    uint32_t *members[ALIGN_SIDES]; /* ops, by group */
    size_t *first[ALIGN_SIDES];     /* of each group: its place in `members`; one more at the end */
};

/* --- Which ops belong to which group. --- */

static int list_members(struct making *making, int side)
{
    const struct alignment *alignment = &making->alignment;
    size_t ops = making->samples[side]->ops.count, groups = alignment->groups.count;
    size_t *first = calloc(groups + 1, sizeof(*first)),
           *filled = calloc(groups + 1, sizeof(*filled));
    uint32_t *members = calloc(ops ? ops : 1, sizeof(*members));

    making->first[side] = first;
    making->members[side] = members;
    if (!first || !filled || !members) {
        free(filled);
        return -ENOMEM;
    }
    for (size_t i = 0; i < groups; i++)
        first[i + 1] = first[i] + alignment->groups.items[i].count[side];
    for (uint32_t op = 0; op < ops; op++) {
        uint32_t group = alignment->group_of[side][op];

        members[first[group] + filled[group]++] = op;
    }
    free(filled);
    return 0;
}

static int align(struct making *making)
{
    struct align_op *ops[ALIGN_SIDES];
    size_t count[ALIGN_SIDES];
    int rc;

    for (int side = 0; side < ALIGN_SIDES; side++) {
        ops[side] = run_samples_align(making->samples[side]);
        count[side] = making->samples[side]->ops.count;
    }
    rc = ops[ALIGN_BASE] && ops[ALIGN_NEW] ? 0 : -ENOMEM;
    if (rc == 0)
        rc = align_ops((const struct align_op *const[]){ops[ALIGN_BASE], ops[ALIGN_NEW]}, count,
                       &making->alignment);
    for (int side = 0; side < ALIGN_SIDES; side++) {
        if (rc == 0)
            rc = list_members(making, side);
        free(ops[side]);
    }
    return rc;
}

/* --- Texts. --- */

/* "conv1 + relu1", "aten::add x 3"; the first few. */
static void name_side(struct text_buffer *name, const struct making *making, int side, size_t group)
{
    enum { NAMES_MAX = 4 };
    const struct run_samples *samples = making->samples[side];
    size_t end = making->first[side][group + 1], names = 0;

    for (size_t i = making->first[side][group], next; i < end; i = next) {
        const char *text = samples->ops.items[making->members[side][i]].row->name;

        for (next = i + 1;
             next < end &&
             strcmp(samples->ops.items[making->members[side][next]].row->name, text) == 0;)
            next++;
        if (names++ == NAMES_MAX) {
            text_buffer_print(name, " + %zu more", end - i);
            return;
        }
        text_buffer_print(name, "%s%s", names > 1 ? " + " : "", text);
        if (next > i + 1)
            text_buffer_print(name, " x %zu", next - i);
    }
}

static struct json_slice implementation_of(const struct op_row *op)
{
    const char *params = op->params ? op->params : "";

    return json_member(json_value(params, strlen(params)), "implementation");
}

static void add_change(struct text_buffer *detail, const char *what, const char *base,
                       const char *new)
{
    text_buffer_print(detail, "%s%s %s -> %s", detail->length ? "; " : "", what,
                      base ? base : "unknown", new ? new : "unknown");
}

static bool differ(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) != 0 : a != b;
}

/* What changed between two ops that are one on each side. */
static void describe_change(struct text_buffer *detail, const struct op_row *base,
                            const struct op_row *new)
{
    struct json_slice was = implementation_of(base), is = implementation_of(new);

    if (differ(base->name, new->name))
        add_change(detail, "name", base->name, new->name);
    if (differ(base->type, new->type))
        add_change(detail, "type", base->type, new->type);
    if (differ(base->input_shapes, new->input_shapes))
        add_change(detail, "inputs", base->input_shapes, new->input_shapes);
    if (differ(base->input_dtypes, new->input_dtypes))
        add_change(detail, "dtypes", base->input_dtypes, new->input_dtypes);
    if (was.kind == JSON_STRING && is.kind == JSON_STRING &&
        (was.length != is.length || memcmp(was.text, is.text, is.length) != 0))
        text_buffer_print(detail, "%simplementation %.*s -> %.*s", detail->length ? "; " : "",
                          (int)was.length, was.text, (int)is.length, is.text);
}

/* The line takes the texts over. */
static int name_group(const struct making *making, size_t group, struct comparison_line *line)
{
    struct text_buffer name = {0}, detail = {0};
    bool has_new = line->op_count[ALIGN_NEW] > 0;

    name_side(&name, making, has_new ? ALIGN_NEW : ALIGN_BASE, group);
    if (line->op_count[ALIGN_BASE] == 1 && line->op_count[ALIGN_NEW] == 1) {
        describe_change(&detail, line->op[ALIGN_BASE], line->op[ALIGN_NEW]);
    } else if (line->op_count[ALIGN_BASE] && has_new) {
        name_side(&detail, making, ALIGN_BASE, group);
        text_buffer_print(&detail, " -> ");
        name_side(&detail, making, ALIGN_NEW, group);
    }
    line->name = name.text;
    line->detail = detail.text;
    return name.failed || detail.failed ? -ENOMEM : 0;
}

/* --- Lines. --- */

static void free_case(struct compare_case *one)
{
    free(one->base);
    free(one->new);
    free(one->judged_base);
    free(one->judged_new);
}

static int take_units(const struct run_samples *samples, const struct sampled_sum *sum,
                      double **out_units, double *out_mean)
{
    double *units = malloc((samples->unit_count ? samples->unit_count : 1) * sizeof(*units));
    int rc = units ? run_samples_sum(samples, sum, units, out_mean) : -ENOMEM;

    if (rc < 0)
        free(units);
    else
        *out_units = units;
    return rc;
}

/* A single session is judged by the median of the runs that count, whichever of its runs is asked. */
static int judge_single(const double *units, size_t count, const bool *is_skipped,
                        double **out_judged)
{
    double *judged = malloc((count ? count : 1) * sizeof(*judged));
    size_t kept = 0;

    if (!judged)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (!is_skipped[i])
            judged[kept++] = units[i];
    }
    stats_sort(judged, kept);
    for (size_t i = 0; i < count && kept; i++)
        judged[i] = i ? judged[0] : stats_percentile(judged, kept, 50);
    *out_judged = judged;
    return 0;
}

/* What a side's sessions took, and what they are judged by. */
static int take_side(const struct making *making, int side, struct sampled_sum sum,
                     struct compare_case *one, double *out_mean)
{
    const struct run_samples *samples = making->samples[side];
    double **units = side == ALIGN_BASE ? &one->base : &one->new, mean;
    double **judged = side == ALIGN_BASE ? &one->judged_base : &one->judged_new;
    int rc = take_units(samples, &sum, units, out_mean);

    *(side == ALIGN_BASE ? &one->base_count : &one->new_count) = samples->unit_count;
    if (rc < 0 || !making->skips_outlying)
        return rc;
    if (!samples->units_are_sessions)
        return judge_single(*units, samples->unit_count, making->outlying[side].is_outlying,
                            judged);
    sum.is_skipped = making->outlying[side].is_outlying;
    return take_units(samples, &sum, judged, &mean);
}

/* Adds a line and its case; takes both over, also after a failure. */
static int add_line(struct making *making, struct comparison_line *line, struct compare_case *one)
{
    int rc;

    one->base_is_one = !making->samples[ALIGN_BASE]->units_are_sessions;
    one->new_is_one = !making->samples[ALIGN_NEW]->units_are_sessions;
    one->base_is_named = making->options->base_is_named;
    one->in_time = making->options->in_time;
    one->is_op = line->part == COMPARISON_OPS;
    rc = array_push(&making->cases, *one);
    line->delta_ns = line->mean_ns[ALIGN_NEW] - line->mean_ns[ALIGN_BASE];
    if (rc == 0 && (rc = array_push(&making->out->lines, *line)) == 0)
        return 0;
    if (making->cases.count > making->out->lines.count)
        making->cases.count--;
    free_case(one);
    free(line->name);
    free(line->detail);
    return rc;
}

static int add_part(struct making *making, enum comparison_part part, const char *name)
{
    static const enum sampled_part sampled[] = {
        [COMPARISON_RUN] = SAMPLED_RUN,
        [COMPARISON_BETWEEN] = SAMPLED_BETWEEN,
    };
    struct comparison_line line = {.part = part, .kind = ALIGN_SAME, .name = strdup(name)};
    struct compare_case one = {0};
    int rc = line.name ? 0 : -ENOMEM;

    for (int side = 0; side < ALIGN_SIDES && rc == 0; side++)
        rc = take_side(making, side, (struct sampled_sum){.part = sampled[part]}, &one,
                       &line.mean_ns[side]);
    if (rc == 0)
        return add_line(making, &line, &one);
    free_case(&one);
    free(line.name);
    return rc;
}

/* Ops that were not asked for, and what was added to them. */
static int add_other(struct making *making, const double folded_ns[ALIGN_SIDES])
{
    struct comparison_line line = {.part = COMPARISON_OTHER};
    struct compare_case none = {0};
    int rc = 0;

    for (int side = 0; side < ALIGN_SIDES && rc == 0; side++) {
        double *units = NULL;

        rc = take_units(making->samples[side], &(struct sampled_sum){SAMPLED_OTHER}, &units,
                        &line.mean_ns[side]);
        free(rc == 0 ? units : NULL);
        line.mean_ns[side] += folded_ns[side];
    }
    if (rc < 0 || (line.mean_ns[ALIGN_BASE] == 0 && line.mean_ns[ALIGN_NEW] == 0))
        return rc;
    line.name = strdup("ops not asked for");
    return line.name ? add_line(making, &line, &none) : -ENOMEM;
}

static bool is_asked_for(const struct comparison_options *options, const double *mean_ns)
{
    double larger = fmax(mean_ns[ALIGN_BASE], mean_ns[ALIGN_NEW]);
    double smaller = fmin(mean_ns[ALIGN_BASE], mean_ns[ALIGN_NEW]);

    return !(larger < options->min_ns) && !(smaller > options->max_ns);
}

static int take_group(struct making *making, size_t group, struct comparison_line *line,
                      struct compare_case *one)
{
    const struct align_group *aligned = &making->alignment.groups.items[group];
    int rc = 0;

    line->kind = aligned->kind;
    for (int side = 0; side < ALIGN_SIDES && rc == 0; side++) {
        const struct run_samples *samples = making->samples[side];
        const uint32_t *members = making->members[side] + making->first[side][group];

        line->op_count[side] = aligned->count[side];
        if (!aligned->count[side])
            continue;
        line->op[side] = samples->ops.items[members[0]].row;
        for (size_t i = 0; i < aligned->count[side]; i++)
            line->calls[side] += samples->ops.items[members[i]].calls;
        rc = take_side(making, side,
                       (struct sampled_sum){SAMPLED_OPS, members, aligned->count[side], NULL}, one,
                       &line->mean_ns[side]);
    }
    return rc;
}

static int add_groups(struct making *making, double folded_ns[ALIGN_SIDES])
{
    for (size_t group = 0; group < making->alignment.groups.count; group++) {
        struct comparison_line line = {.part = COMPARISON_OPS};
        struct compare_case one = {0};
        int rc = take_group(making, group, &line, &one);

        if (rc == 0 && !is_asked_for(making->options, line.mean_ns)) {
            folded_ns[ALIGN_BASE] += line.mean_ns[ALIGN_BASE];
            folded_ns[ALIGN_NEW] += line.mean_ns[ALIGN_NEW];
            free_case(&one);
            continue;
        }
        if (rc == 0)
            rc = name_group(making, group, &line);
        if (rc < 0) {
            free_case(&one);
            free(line.name);
            free(line.detail);
            return rc;
        }
        rc = add_line(making, &line, &one);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Shares of a change that may be none, or next to none, would only mislead. */
static bool has_shares(const struct comparison_line *run, const struct compare_gates *gates)
{
    double shown_ns = run->result.p50.new_ns - run->result.p50.base_ns;

    if (run->delta_ns == 0 || run->result.verdict == COMPARE_NO_CHANGE)
        return false;
    /* Of means that some runs moved, where medians tell something else: of what nobody sees. */
    if (!(fabs(run->delta_ns - shown_ns) <= fabs(shown_ns) / 2))
        return false;
    return run->result.verdict != COMPARE_CANNOT_TELL || fabs(run->result.ratio) > gates->threshold;
}

static int judge(struct making *making)
{
    struct comparison *out = making->out;
    struct compare_case *cases = making->cases.items;
    int rc;

    /* What lies between ops may be next to nothing: it counts as a part of the run. */
    for (size_t i = 1; i < out->lines.count; i++) {
        if (out->lines.items[i].part == COMPARISON_BETWEEN)
            cases[i].gate_of = &cases[0];
    }
    rc = compare_judge(cases, making->cases.count, &making->options->gates);
    for (size_t i = 0; i < out->lines.count && rc == 0; i++) {
        struct comparison_line *line = &out->lines.items[i], *run = &out->lines.items[0];

        line->result = cases[i].result;
        line->share =
            has_shares(run, &making->options->gates) ? line->delta_ns / run->delta_ns : NAN;
        out->tested += !isnan(line->result.p_corrected);
    }
    return rc;
}

static int set_outlying_aside(struct making *making)
{
    struct comparison *out = making->out;
    int rc = outlying_runs_find(making->samples, making->outlying);

    if (rc < 0)
        return rc;
    /* What happens to one process or two is no matter of the programs. */
    out->judges_outlying =
        !making->options->in_time && outlying_runs_are_apart(making->samples, making->outlying);
    for (int side = 0; side < ALIGN_SIDES; side++) {
        out->outlying_count[side] = making->outlying[side].count;
        making->skips_outlying |= making->outlying[side].count && !out->judges_outlying;
    }
    return 0;
}

int comparison_make(const struct run_samples *const samples[ALIGN_SIDES],
                    const struct comparison_options *options, struct comparison *out_comparison)
{
    struct making making = {.samples = samples, .options = options, .out = out_comparison};
    double folded_ns[ALIGN_SIDES] = {0};
    int rc;

    *out_comparison = (struct comparison){0};
    rc = set_outlying_aside(&making);
    if (rc == 0)
        rc = align(&making);
    if (rc == 0)
        rc = add_part(&making, COMPARISON_RUN, "one run");
    if (rc == 0)
        rc = add_groups(&making, folded_ns);
    if (rc == 0)
        rc = add_part(&making, COMPARISON_BETWEEN, "between ops");
    if (rc == 0)
        rc = add_other(&making, folded_ns);
    if (rc == 0)
        rc = judge(&making);
    for (size_t i = 0; i < making.cases.count; i++)
        free_case(&making.cases.items[i]);
    array_deinit(&making.cases);
    alignment_deinit(&making.alignment);
    for (int side = 0; side < ALIGN_SIDES; side++) {
        free(making.members[side]);
        free(making.first[side]);
        free(making.outlying[side].is_outlying);
    }
    return rc;
}

void comparison_deinit(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->lines.count; i++) {
        free(comparison->lines.items[i].name);
        free(comparison->lines.items[i].detail);
    }
    array_deinit(&comparison->lines);
}
