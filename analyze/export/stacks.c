/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of PyTorch's export_stacks(): a line for each row of its averages that has a call stack
 * and takes a microsecond of its own, "outer_frame;inner_frame microseconds".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/metrics/averages_rows.h"
#include "analyze/query/call_stack.h"
#include "base/text.h"
#include "base/text_buffer.h"

struct frames ARRAY_FIELDS(struct frame {
    const char *text;
    size_t length;
});

/* Frames stand in the store nearest first. */
static int add_frames(struct text_buffer *line, const char *stack)
{
    struct frames frames = {0};
    struct frame frame;
    int rc = 0;

    while (rc == 0 && call_stack_next(&stack, &frame.text, &frame.length))
        rc = array_push(&frames, frame);
    for (size_t i = frames.count; i-- > 0 && rc == 0;) {
        for (size_t k = 0; k < frames.items[i].length; k++)
            text_buffer_add(
                line, strchr(" \t\n\r", frames.items[i].text[k]) ? "_" : &frames.items[i].text[k],
                1);
        if (i)
            text_buffer_add(line, ";", 1);
    }
    array_deinit(&frames);
    return rc < 0 || line->failed ? -ENOMEM : 0;
}

/* The op's call stack as a line has it, or NULL where it has none. */
static int make_line(const struct op_row *op, char **out_line)
{
    char *stack = call_stack_of(op->params);
    struct text_buffer line = {0};
    int rc = stack ? add_frames(&line, stack) : 0;

    free(stack);
    *out_line = line.text;
    return rc;
}

/* Of an op, its self time on the host, or of what it launched itself. */
static int64_t weigh(const struct export *export, const struct average_rows *rows, size_t place)
{
    const struct span *span = &export->spans->spans.items[place];

    if (rows->row[place] != place || !span->is_shown || span_is_device(export->spans, span))
        return 0;
    return (export->weight == WEIGHT_DEVICE ? rows->costs[place].self_device_ns
                                            : rows->costs[place].self_cpu_ns) /
           1000;
}

/* In the order of starts over all threads, as PyTorch has them. */
static int compare_starts(const void *a, const void *b)
{
    const struct span *left = *(const struct span *const *)a;
    const struct span *right = *(const struct span *const *)b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left > right) - (left < right);
}

static int write_lines(const struct export *export, const struct average_rows *rows,
                       char *const *lines, size_t *out_count)
{
    const struct spans_answer *spans = export->spans;
    ARRAY_OF(const struct span *) sorted = {0};
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (lines[span->op] && weigh(export, rows, i) > 0)
            rc = array_push(&sorted, span);
    }
    if (sorted.count)
        qsort(sorted.items, sorted.count, sizeof(*sorted.items), compare_starts);
    for (size_t i = 0; i < sorted.count && rc == 0; i++)
        text_print(export->stream, "%s %" PRId64 "\n", lines[sorted.items[i]->op],
                   weigh(export, rows, span_place(spans, sorted.items[i])));
    *out_count = sorted.count;
    array_deinit(&sorted);
    return rc;
}

static int run(const struct export *export, struct diag *diag)
{
    const struct op_row_array *ops = &export->spans->ops;
    char **lines = calloc(ops->count + 1, sizeof(*lines));
    struct average_rows rows;
    size_t count = 0;
    int rc = average_rows_make(export->spans, &rows);

    if (!lines)
        rc = -ENOMEM;

    for (size_t i = 0; i < ops->count && rc == 0; i++)
        rc = make_line(&ops->items[i], &lines[i]);
    if (rc == 0)
        rc = write_lines(export, &rows, lines, &count);
    average_rows_deinit(&rows);
    for (size_t i = 0; lines && i < ops->count; i++)
        free(lines[i]);
    free(lines);
    if (rc < 0)
        return diag_set(diag, rc, "no memory for the stacks");
    if (!count) {
        diag_set(diag, 0,
                 "no span has a call stack of its program: --export folded writes stacks of spans");
        return REPORT_NOTHING;
    }
    return 0;
}

const struct export_kind export_stacks = {
    .name = "stacks",
    .about = "the file of PyTorch's export_stacks(): a line per span with its call stack in the "
             "program and microseconds.",
    .suffix = ".stacks.txt",
    .run = run,
    .order = EXPORT_WHOLE,
    .weights = 1U << WEIGHT_TIME | 1U << WEIGHT_DEVICE,
};
