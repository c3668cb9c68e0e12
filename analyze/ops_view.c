/* SPDX-License-Identifier: Apache-2.0 */
/* Filter, reduce, sort, cut: the lines of a table of ops. */
#include "analyze/ops_view.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/lines.h"
#include "base/text.h"

/* --- Orders. --- */

static const struct {
    const char *name;
    enum ops_order order;
} orders[] = {
    {"time", OPS_ORDER_TIME},
    {"cumulative", OPS_ORDER_TIME}, /* grows with the lines: the order is that of their times */
    {"end", OPS_ORDER_END},
    {"kern", OPS_ORDER_KERN},
    {"exec", OPS_ORDER_EXEC},
    {"computation", OPS_ORDER_COMPUTATION},
    {"flops", OPS_ORDER_FLOPS},
    {"memory", OPS_ORDER_MEMORY},
    {"bandwidth", OPS_ORDER_BANDWIDTH},
    {"calls", OPS_ORDER_CALLS},
    {"count", OPS_ORDER_COUNT},
    {"min", OPS_ORDER_MIN},
    {"max", OPS_ORDER_MAX},
    {"name", OPS_ORDER_NAME},
    {"type", OPS_ORDER_TYPE},
    {"opr_id", OPS_ORDER_ID},
    {"id", OPS_ORDER_ID},
    {"device", OPS_ORDER_DEVICE},
    {"in_shapes", OPS_ORDER_IN_SHAPES},
    {"out_shapes", OPS_ORDER_OUT_SHAPES},
};
enum { ORDER_COUNT = sizeof(orders) / sizeof(orders[0]) };

static int refuse_order(const char *text, const char *word, struct diag *diag)
{
    const char *names[ORDER_COUNT], *nearest;
    char all[256] = "";

    for (size_t i = 0; i < ORDER_COUNT; i++)
        names[i] = orders[i].name;
    nearest = text_nearest(word, names, ORDER_COUNT);
    if (nearest)
        return diag_set(diag, -EINVAL, "there is no column \"%s\" to order by: did you mean %s?",
                        text, nearest);
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        strcat(all, i ? ", " : "");
        strcat(all, names[i]);
    }
    return diag_set(diag, -EINVAL, "there is no column \"%s\" to order by: there are %s", text,
                    all);
}

int ops_parse_order(const char *text, enum ops_order *out_order, bool *out_ascending,
                    struct diag *diag)
{
    const char *rest = text[0] == '+' ? text + 1 : text;
    char word[32];
    size_t length = strlen(rest);

    if (length >= sizeof(word))
        return refuse_order(rest, rest, diag);
    for (size_t i = 0; i <= length; i++)
        word[i] = rest[i] == '-' || rest[i] == ' ' ? '_' : (char)tolower((unsigned char)rest[i]);
    for (size_t i = 0; i < ORDER_COUNT; i++) {
        if (strcmp(orders[i].name, word) == 0) {
            *out_order = orders[i].order;
            *out_ascending = text[0] == '+';
            return 0;
        }
    }
    return refuse_order(rest, word, diag);
}

/* --- Lines. --- */

double ops_time_of(const struct op_cost *cost, enum ops_time time)
{
    return time == OPS_TIME_END    ? cost->end_ns
           : time == OPS_TIME_KERN ? cost->kern_ns
                                   : cost->exec_ns;
}

/* What happens per second; nothing can be said of no time at all. */
static double rate(double amount, double time_ns)
{
    return time_ns > 0 ? amount * 1e9 / time_ns : NAN;
}

/* Whether the time of this side is the time of the computation: on the host only where no device
 * does it. MegEngine's reader divides by any time, and its profiles are read the same way. */
static bool is_computed_here(const struct ops_answer *answer, const struct op_row *op,
                             enum op_side side)
{
    return side == OP_DEVICE || !op->cost[OP_DEVICE].calls || answer->basis.is_flat;
}

static struct ops_line line_of(const struct ops_answer *answer, const struct op_row *op,
                               const struct ops_view_options *options)
{
    const struct op_cost *cost = &op->cost[options->side];
    double time_ns = ops_time_of(cost, options->time);
    double rate_ns = is_computed_here(answer, op, options->side) ? time_ns : NAN;

    return (struct ops_line){
        .op = op,
        .type = op->type,
        .op_count = 1,
        .calls = cost->calls,
        .time_ns = time_ns,
        .end_ns = cost->end_ns,
        .kern_ns = cost->kern_ns,
        .exec_ns = cost->exec_ns,
        .min_ns = cost->min_ns,
        .max_ns = cost->max_ns,
        .computation_flop = cost->computation_flop,
        .memory_bytes = cost->memory_bytes,
        .computation_count = !isnan(cost->computation_flop),
        .memory_count = !isnan(cost->memory_bytes),
        .rate_ns = rate_ns,
        .flop_rate = rate(cost->computation_flop, rate_ns),
        .byte_rate = rate(cost->memory_bytes, rate_ns),
    };
}

/* Several ops on their way to one line. */
struct group {
    const char *type;
    size_t op_count;
    uint64_t calls;
    struct stats_reducer time, end, kern, exec, min, max, computation, memory;
    struct stats_reducer computation_time, memory_time; /* times of ops that say how much */
};
struct groups ARRAY_FIELDS(struct group);

static void add_to_group(struct group *group, const struct ops_line *line)
{
    group->op_count++;
    group->calls += line->calls;
    stats_add(&group->time, line->time_ns);
    stats_add(&group->end, line->end_ns);
    stats_add(&group->kern, line->kern_ns);
    stats_add(&group->exec, line->exec_ns);
    stats_add(&group->min, line->min_ns);
    stats_add(&group->max, line->max_ns);
    stats_add(&group->computation, line->computation_flop);
    stats_add(&group->memory, line->memory_bytes);
    if (!isnan(line->computation_flop))
        stats_add(&group->computation_time, line->rate_ns);
    if (!isnan(line->memory_bytes))
        stats_add(&group->memory_time, line->rate_ns);
}

static struct ops_line line_of_group(const struct group *group, enum stats_reduction reduction)
{
    struct ops_line line = {
        .type = group->type,
        .op_count = group->op_count,
        .calls = group->calls,
        .time_ns = stats_reduced(&group->time, reduction),
        .end_ns = stats_reduced(&group->end, reduction),
        .kern_ns = stats_reduced(&group->kern, reduction),
        .exec_ns = stats_reduced(&group->exec, reduction),
        .min_ns = stats_reduced(&group->min, STATS_MIN),
        .max_ns = stats_reduced(&group->max, STATS_MAX),
        .computation_flop = stats_reduced(&group->computation, reduction),
        .memory_bytes = stats_reduced(&group->memory, reduction),
        .computation_count = group->computation.known_count,
        .memory_count = group->memory.known_count,
    };

    line.flop_rate =
        rate(line.computation_flop, stats_reduced(&group->computation_time, reduction));
    line.byte_rate = rate(line.memory_bytes, stats_reduced(&group->memory_time, reduction));
    return line;
}

static int add_line_to_groups(struct groups *groups, const struct ops_line *line,
                              enum ops_grouping grouping)
{
    struct group made = {.type = grouping == OPS_BY_TYPE ? line->type : "all"};
    size_t i = 0;

    while (i < groups->count && strcmp(groups->items[i].type, made.type) != 0)
        i++;
    if (i == groups->count && array_push(groups, made) < 0)
        return -ENOMEM;
    add_to_group(&groups->items[i], line);
    return 0;
}

/* --- Sorting. --- */

static double number_of(const struct ops_line *line, enum ops_order order)
{
    switch (order) {
    case OPS_ORDER_END:
        return line->end_ns;
    case OPS_ORDER_KERN:
        return line->kern_ns;
    case OPS_ORDER_EXEC:
        return line->exec_ns;
    case OPS_ORDER_COMPUTATION:
        return line->computation_flop;
    case OPS_ORDER_FLOPS:
        return line->flop_rate;
    case OPS_ORDER_MEMORY:
        return line->memory_bytes;
    case OPS_ORDER_BANDWIDTH:
        return line->byte_rate;
    case OPS_ORDER_CALLS:
        return (double)line->calls;
    case OPS_ORDER_COUNT:
        return (double)line->op_count;
    case OPS_ORDER_MIN:
        return line->min_ns;
    case OPS_ORDER_MAX:
        return line->max_ns;
    default:
        return line->time_ns;
    }
}

static const char *text_of(const struct ops_line *line, enum ops_order order)
{
    if (order == OPS_ORDER_TYPE)
        return line->type;
    if (!line->op)
        return NULL;
    switch (order) {
    case OPS_ORDER_NAME:
        return line->op->name;
    case OPS_ORDER_ID:
        return line->op->node_id;
    case OPS_ORDER_DEVICE:
        return line->op->device;
    case OPS_ORDER_IN_SHAPES:
        return line->op->input_shapes;
    default:
        return line->op->output_shapes;
    }
}

struct sorted_line {
    const struct ops_line *line;
    const struct ops_view_options *options;
};

/* Lines without a value come last in both directions, equal ones in the order of the ops. */
static int compare_lines(const void *a, const void *b)
{
    const struct sorted_line *left = a, *right = b;
    const struct ops_view_options *options = left->options;
    int order = 0;

    if (options->order < OPS_ORDER_NAME) {
        double x = number_of(left->line, options->order);
        double y = number_of(right->line, options->order);

        if (isnan(x) != isnan(y))
            return isnan(x) ? 1 : -1;
        order = (x > y) - (x < y);
    } else {
        const char *x = text_of(left->line, options->order);
        const char *y = text_of(right->line, options->order);

        if (!x != !y)
            return x ? -1 : 1;
        order = x ? lines_compare_natural(x, y) : 0;
    }
    if (order)
        return options->ascending ? order : -order;
    return (left->line > right->line) - (left->line < right->line);
}

static int sort_lines(struct ops_lines *lines, const struct ops_view_options *options)
{
    size_t count = lines->lines.count;
    struct sorted_line *order = malloc((count ? count : 1) * sizeof(*order));
    struct ops_line *sorted = malloc((count ? count : 1) * sizeof(*sorted));

    if (!order || !sorted) {
        free(order);
        free(sorted);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = (struct sorted_line){&lines->lines.items[i], options};
    qsort(order, count, sizeof(*order), compare_lines);
    for (size_t i = 0; i < count; i++)
        sorted[i] = *order[i].line;
    if (count)
        memcpy(lines->lines.items, sorted, count * sizeof(*sorted));
    free(order);
    free(sorted);
    return 0;
}

static void cut_lines(struct ops_lines *lines, int64_t top)
{
    uint64_t count = lines->lines.count, dropped = 0 - (uint64_t)top;

    if (top > 0 && (uint64_t)top < count)
        lines->lines.count = (size_t)top;
    else if (top < 0)
        lines->lines.count = dropped < count ? (size_t)(count - dropped) : 0;
}

int ops_view(const struct ops_answer *answer, struct filter *filter,
             const struct ops_view_options *options, struct ops_lines *out)
{
    struct groups groups = {0};
    int rc = 0;

    *out = (struct ops_lines){0};
    for (size_t i = 0; i < answer->rows.count && rc == 0; i++) {
        const struct op_row *op = &answer->rows.items[i];
        struct ops_line line;

        if (!op->cost[options->side].calls)
            continue;
        out->present++;
        line = line_of(answer, op, options);
        if (!filter_passes(filter, op, line.time_ns))
            continue;
        out->matched++;
        if (options->grouping == OPS_EACH)
            rc = array_push(&out->lines, line);
        else
            rc = add_line_to_groups(&groups, &line, options->grouping);
    }
    for (size_t i = 0; i < groups.count && rc == 0; i++)
        rc = array_push(&out->lines, line_of_group(&groups.items[i], options->reduction));
    array_deinit(&groups);
    out->line_count = out->lines.count;
    if (rc == 0)
        rc = sort_lines(out, options);
    if (rc == 0)
        cut_lines(out, options->top);
    return rc;
}

void ops_lines_deinit(struct ops_lines *lines)
{
    array_deinit(&lines->lines);
}
