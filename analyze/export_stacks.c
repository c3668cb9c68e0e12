/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of PyTorch's export_stacks(): a line for each span that has a call stack and takes a
 * microsecond of its own, "outer_frame;inner_frame microseconds".
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export.h"
#include "analyze/out_buffer.h"

/* Frames stand in the store nearest first, parted by ';'. */
static void add_frames(struct out_buffer *line, const char *stack)
{
    const char *end = stack + strlen(stack), *frame;

    for (;;) {
        frame = end;
        while (frame > stack && frame[-1] != ';')
            frame--;
        for (const char *at = frame; at < end; at++)
            out_buffer_add(line, strchr(" \t\n\r", *at) ? "_" : at, 1);
        if (frame == stack)
            return;
        out_buffer_add(line, ";", 1);
        end = frame - 1;
    }
}

/* The op's call stack as a line has it, or NULL where it has none. */
static int make_line(const struct op_row *op, char **out_line)
{
    cJSON *params = op->params ? cJSON_Parse(op->params) : NULL;
    const char *stack = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(params, "stack"));
    struct out_buffer line = {0};

    if (stack && *stack)
        add_frames(&line, stack);
    cJSON_Delete(params);
    *out_line = line.text;
    return line.failed ? -ENOMEM : 0;
}

static int64_t weigh(const struct export *export, const struct span *span)
{
    bool is_device = span_is_device(export->spans, span);

    if (is_device != (export->weight == WEIGHT_DEVICE))
        return 0;
    return (is_device ? span->dur_ns : span->self_ns) / 1000;
}

/* The stack of a device span is that of the nearest span around its launch that has one. */
static const char *stack_of(const struct export *export, char *const *lines,
                            const struct span *span)
{
    const struct span *items = export->spans->spans.items;
    uint32_t place = span_is_device(export->spans, span) ? span->launch : SPAN_NONE;

    if (lines[span->op])
        return lines[span->op];
    while (place != SPAN_NONE && !lines[items[place].op])
        place = items[place].parent;
    return place == SPAN_NONE ? NULL : lines[items[place].op];
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

static int write_lines(const struct export *export, char *const *lines, size_t *out_count)
{
    const struct spans_answer *spans = export->spans;
    ARRAY_OF(const struct span *) sorted = {0};
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (span->is_shown && stack_of(export, lines, span) && weigh(export, span) > 0)
            rc = array_push(&sorted, span);
    }
    if (sorted.count)
        qsort(sorted.items, sorted.count, sizeof(*sorted.items), compare_starts);
    for (size_t i = 0; i < sorted.count && rc == 0; i++)
        fprintf(export->stream, "%s %" PRId64 "\n", stack_of(export, lines, sorted.items[i]),
                weigh(export, sorted.items[i]));
    *out_count = sorted.count;
    array_deinit(&sorted);
    return rc;
}

static int run(const struct export *export, struct diag *diag)
{
    const struct op_row_array *ops = &export->spans->ops;
    char **lines = calloc(ops->count + 1, sizeof(*lines));
    size_t count = 0;
    int rc = lines ? 0 : -ENOMEM;

    for (size_t i = 0; i < ops->count && rc == 0; i++)
        rc = make_line(&ops->items[i], &lines[i]);
    if (rc == 0)
        rc = write_lines(export, lines, &count);
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
    .weights = 1U << WEIGHT_TIME | 1U << WEIGHT_DEVICE,
};
