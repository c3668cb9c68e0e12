/* SPDX-License-Identifier: Apache-2.0 */
/* Filter, reduce, sort, cut: the lines of a table of ops. */
#include "analyze/reports/ops_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/roofline_machine.h"

/* --- Columns. --- */

LINE_CELL(get_time, struct ops_line, out_number(OUT_NS, line->time_ns))
LINE_CELL(get_end, struct ops_line, out_number(OUT_NS, line->end_ns))
LINE_CELL(get_kern, struct ops_line, out_number(OUT_NS, line->kern_ns))
LINE_CELL(get_exec, struct ops_line, out_number(OUT_NS, line->exec_ns))
LINE_CELL(get_computation, struct ops_line, out_number(OUT_FLOP, line->computation_flop))
LINE_CELL(get_flops, struct ops_line, out_number(OUT_FLOP_RATE, line->flop_rate))
LINE_CELL(get_memory, struct ops_line, out_number(OUT_BYTES, line->memory_bytes))
LINE_CELL(get_bandwidth, struct ops_line, out_number(OUT_BYTE_RATE, line->byte_rate))
LINE_CELL(get_calls, struct ops_line, out_integer(OUT_INT, (int64_t)line->calls))
LINE_CELL(get_count, struct ops_line, out_integer(OUT_INT, (int64_t)line->op_count))
LINE_CELL(get_min, struct ops_line, out_number(OUT_NS, line->min_ns))
LINE_CELL(get_p50, struct ops_line, out_number(OUT_NS, line->percentile_ns[0]))
LINE_CELL(get_p90, struct ops_line, out_number(OUT_NS, line->percentile_ns[1]))
LINE_CELL(get_p99, struct ops_line, out_number(OUT_NS, line->percentile_ns[2]))
LINE_CELL(get_max, struct ops_line, out_number(OUT_NS, line->max_ns))
LINE_CELL(get_name, struct ops_line, out_text(line->op ? line->op->name : NULL))
LINE_CELL(get_type, struct ops_line, out_text(line->type))
LINE_CELL(get_id, struct ops_line, out_text(line->op ? line->op->node_id : NULL))
LINE_CELL(get_device, struct ops_line, out_text(line->op ? line->op->device : NULL))
LINE_CELL(get_in_shapes, struct ops_line, out_text(line->op ? line->op->input_shapes : NULL))
LINE_CELL(get_out_shapes, struct ops_line, out_text(line->op ? line->op->output_shapes : NULL))
LINE_CELL(get_in_dtypes, struct ops_line, out_text(line->op ? line->op->input_dtypes : NULL))
LINE_CELL(get_out_dtypes, struct ops_line, out_text(line->op ? line->op->output_dtypes : NULL))
LINE_CELL(get_source, struct ops_line, out_text(line->op ? line->op->source : NULL))

/* The names that JSON and CSV have; MegEngine's words beside them. How the table looks to people is
 * up to the report. */
const struct line_column ops_columns[OPS_COLUMNS] = {
    {{.name = "time_ns"},
     {"time", "cumulative", "share"}, /* these grow with the lines in the order of their times */
     "the time that --top-end-key chooses",
     get_time},
    {{.name = "end_ns"}, {"end"}, "from start to end without nested operators", get_end},
    {{.name = "kern_ns"}, {"kern"}, "from start to the first kernel", get_kern},
    {{.name = "exec_ns"}, {"exec"}, "from the first kernel to the end", get_exec},
    {{.name = "computation_flop"}, {"computation"}, "operations", get_computation},
    {{.name = "flop_per_s"}, {"flops"}, "operations per second of time_ns", get_flops},
    {{.name = "memory_bytes"}, {"memory"}, "bytes read and written", get_memory},
    {{.name = "bandwidth_bytes_per_s"}, {"bandwidth"}, "of time_ns", get_bandwidth},
    {{.name = "calls"}, {0}, "executions, in total", get_calls},
    {{.name = "op_count"}, {"count"}, "operators in one line of --aggregate", get_count},
    {{.name = "call_min_ns"}, {"min"}, "the shortest call, nested operators included", get_min},
    {{.name = "call_p50_ns"},
     {"p50"},
     "percentiles of calls by nearest rank, at most 1/32 away from the true value",
     get_p50},
    {{.name = "call_p90_ns"}, {"p90"}, "the same", get_p90},
    {{.name = "call_p99_ns"}, {"p99"}, "the same", get_p99},
    {{.name = "call_max_ns"}, {"max"}, "the longest call", get_max},
    {{.name = "name"}, {0}, "its name", get_name},
    {{.name = "type"}, {0}, "its type", get_type},
    {{.name = "id"}, {"opr_id"}, "its id in the model", get_id},
    {{.name = "device"}, {0}, "where it runs", get_device},
    {{.name = "in_shapes"}, {0}, "of its inputs", get_in_shapes},
    {{.name = "out_shapes"}, {0}, "of its outputs", get_out_shapes},
    {{.name = "in_dtypes"}, {0}, "of its inputs", get_in_dtypes},
    {{.name = "out_dtypes"}, {0}, "of its outputs", get_out_dtypes},
    {{.name = "source"}, {0}, "file and line", get_source},
};

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
    return side == OP_DEVICE || answer->basis.is_flat ||
           (!op->cost[OP_DEVICE].calls && roofline_is_timed(op));
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
        .percentile_ns = {cost->percentile_ns[0], cost->percentile_ns[1], cost->percentile_ns[2]},
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
        .percentile_ns = {NAN, NAN, NAN},
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

/* Lines without a value come last in both directions, equal ones in the order of the ops. */
static int sort_and_cut(struct ops_lines *lines, const struct ops_view_options *options)
{
    const struct lines unsorted = {
        .columns = ops_columns,
        .column_count = OPS_COLUMNS,
        .items = lines->lines.items,
        .count = lines->lines.count,
        .item_bytes = sizeof(struct ops_line),
        .order_by = options->order_by ? options->order_by : "time_ns",
        .top = options->top,
    };
    struct ops_line *sorted;
    size_t *order, count;
    int rc = lines_sort(&unsorted, &order, &count, NULL);

    if (rc < 0)
        return rc;
    sorted = malloc((count ? count : 1) * sizeof(*sorted));
    for (size_t i = 0; i < count && sorted; i++)
        sorted[i] = lines->lines.items[order[i]];
    if (count && sorted)
        memcpy(lines->lines.items, sorted, count * sizeof(*sorted));
    lines->lines.count = count;
    rc = sorted ? 0 : -ENOMEM;
    free(sorted);
    free(order);
    return rc;
}

enum op_side ops_side(const struct ops_answer *answer, struct filter *filter)
{
    bool is_on_host = false;

    if (isnan(answer->basis.total_ns[OP_DEVICE]))
        return isnan(answer->basis.total_ns[OP_HOST]) ? OP_DEVICE : OP_HOST;
    for (size_t i = 0; i < answer->rows.count; i++) {
        const struct op_row *op = &answer->rows.items[i];

        if (!filter_passes_op(filter, op))
            continue;
        if (op->cost[OP_DEVICE].calls)
            return OP_DEVICE;
        is_on_host |= op->cost[OP_HOST].calls > 0;
    }
    return is_on_host ? OP_HOST : OP_DEVICE;
}

int ops_view(const struct ops_answer *answer, struct filter *filter,
             const struct ops_view_options *options, struct ops_lines *out_lines)
{
    struct groups groups = {0};
    int rc = 0;

    *out_lines = (struct ops_lines){0};
    for (size_t i = 0; i < answer->rows.count && rc == 0; i++) {
        const struct op_row *op = &answer->rows.items[i];
        struct ops_line line;

        if (!op->cost[options->side].calls)
            continue;
        out_lines->present++;
        line = line_of(answer, op, options);
        if (!filter_passes(filter, op, line.time_ns))
            continue;
        out_lines->matched++;
        if (options->grouping == OPS_EACH)
            rc = array_push(&out_lines->lines, line);
        else
            rc = add_line_to_groups(&groups, &line, options->grouping);
    }
    for (size_t i = 0; i < groups.count && rc == 0; i++)
        rc = array_push(&out_lines->lines, line_of_group(&groups.items[i], options->reduction));
    array_deinit(&groups);
    out_lines->line_count = out_lines->lines.count;
    if (rc == 0)
        rc = sort_and_cut(out_lines, options);
    return rc;
}

void ops_lines_deinit(struct ops_lines *lines)
{
    array_deinit(&lines->lines);
}
