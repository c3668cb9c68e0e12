/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of PyTorch's export_stacks(): a line for each row of its averages that has a call stack
 * and takes a microsecond of its own, "outer_frame;inner_frame microseconds".
 */
#include <errno.h>
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

/* A text as it may be shown; the caller frees it, or NULL without memory. */
static char *show(const char *text)
{
    const size_t length = strlen(text), room = length * (TEXT_SHOWN_BYTES - 1) + 1;
    char *shown = malloc(room), *fitting;

    if (!shown)
        return NULL;
    fitting = realloc(shown, text_show(text, length, shown, room) + 1);
    return fitting ? fitting : shown;
}

/* The op's call stack as a line has it, written out once for all of them, or NULL where it has
 * none. */
static int make_line(const struct op_row *op, char **out_line)
{
    char *stack = call_stack_of(op->params);
    struct text_buffer line = {0};
    int rc = stack ? add_frames(&line, stack) : 0;

    free(stack);
    *out_line = rc == 0 && line.text ? show(line.text) : NULL;
    if (rc == 0 && line.text && !*out_line)
        rc = -ENOMEM;
    text_buffer_deinit(&line);
    return rc;
}

/* --- Taking. --- */

void stacks_deinit(struct stack_lines *stacks)
{
    for (size_t i = 0; i < stacks->op_count && stacks->lines; i++)
        free(stacks->lines[i]);
    free(stacks->lines);
    bytes_deinit(&stacks->rows);
    array_deinit(&stacks->frames);
    stacks->lines = NULL;
    stacks->op_count = stacks->count = 0;
    stacks->last_op = 0;
}

int stacks_begin(void *user, const struct spans_answer *spans)
{
    struct stack_lines *stacks = user;
    int rc;

    stacks_deinit(stacks);
    stacks->lines = calloc(spans->ops.count + 1, sizeof(*stacks->lines));
    rc = stacks->lines ? 0 : -ENOMEM;
    for (size_t i = 0; i < spans->ops.count && rc == 0; i++) {
        rc = make_line(&spans->ops.items[i], &stacks->lines[i]);
        stacks->op_count++;
    }
    return rc;
}

/* Of an op, its self time on the host, or of what it launched itself, in ns. */
static int64_t weigh(const struct stack_lines *stacks, const struct average_rows *rows,
                     size_t place)
{
    const struct span *span = &rows->spans->spans.items[place];

    if (rows->row[place] != place || !span->is_shown || span_is_device(rows->spans, span))
        return 0;
    return stacks->by_device ? rows->costs[place].self_device_ns : rows->costs[place].self_cpu_ns;
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

static int put_row(struct stack_lines *stacks, uint32_t op, int64_t weight)
{
    uint8_t *at = bytes_reserve(&stacks->rows, 2 * PACKED_NUMBER_MAX);

    if (!at)
        return -ENOMEM;
    at = packed_number_put(at, bytes_fold((int64_t)op - stacks->last_op));
    at = packed_number_put(at, (uint64_t)weight);
    bytes_commit(&stacks->rows, at);
    stacks->last_op = op;
    stacks->count++;
    return 0;
}

/* The row of what is in several parts stands where the first of them has it. */
static int put_frame(struct stack_lines *stacks, const struct span *span, int64_t ns)
{
    size_t place;
    int rc = frame_times_add(&stacks->frames, span, ns, &place);

    if (rc < 0 || span->frame != SPAN_FRAME_FIRST)
        return rc;
    stacks->frames.items[place].row = stacks->count;
    return put_row(stacks, span->op, 0);
}

static int put_rows(struct stack_lines *stacks, const struct average_rows *rows)
{
    const struct spans_answer *spans = rows->spans;
    ARRAY_OF(const struct span *) sorted = {0};
    int rc = 0;

    for (size_t i = 0; i < spans->spans.count && rc == 0; i++) {
        const struct span *span = &spans->spans.items[i];

        if (stacks->lines[span->op] && (span->frame || weigh(stacks, rows, i) >= 1000))
            rc = array_push(&sorted, span);
    }
    if (sorted.count)
        qsort(sorted.items, sorted.count, sizeof(*sorted.items), compare_starts);
    for (size_t i = 0; i < sorted.count && rc == 0; i++) {
        const struct span *span = sorted.items[i];
        const int64_t ns = weigh(stacks, rows, span_place(spans, span));

        rc = span->frame ? put_frame(stacks, span, ns) : put_row(stacks, span->op, ns / 1000);
    }
    array_deinit(&sorted);
    return rc;
}

int stacks_take(void *user, struct spans_answer *part)
{
    struct stack_lines *stacks = user;
    struct average_rows rows;
    bool depends = false;
    int rc = stacks->is_whole ? 0 : averages_depend_on_others(part, &depends);

    if (rc == 0 && depends) {
        stacks->is_whole = true;
        return SPAN_PARTS_WHOLE;
    }
    if (rc < 0)
        return rc;
    rc = average_rows_make(part, &rows);
    stacks->is_whole |= rc == 0 && rows.needs_whole;
    if (rc == 0)
        rc = rows.needs_whole ? SPAN_PARTS_WHOLE : put_rows(stacks, &rows);
    average_rows_deinit(&rows);
    return rc;
}

/* --- Writing. --- */

/* Of a row that was kept without weight; 0: it takes none. */
static uint64_t weight_of_frame(const struct stack_lines *stacks, size_t row)
{
    for (size_t i = 0; i < stacks->frames.count; i++) {
        const struct frame_time *frame = &stacks->frames.items[i];

        if (frame->row == row)
            return frame->ns >= 1000 ? (uint64_t)frame->ns / 1000 : 0;
    }
    return 0;
}

/* printf() is slow at millions. */
static void write_line(const char *line, uint64_t weight, FILE *stream)
{
    char end[TEXT_INT_BYTES + 2] = " ";
    const size_t length = 1 + text_format_uint(end + 1, weight);

    end[length] = '\n';
    end[length + 1] = '\0';
    text_put_page(line, stream);
    text_put_page(end, stream);
}

static void write_lines(const struct stack_lines *stacks, FILE *stream)
{
    struct bytes_reader reader = bytes_read(&stacks->rows);
    const uint8_t *at;
    uint32_t op = 0;

    for (size_t i = 0; (at = bytes_row(&reader)); i++) {
        uint64_t weight;

        op += (uint32_t)bytes_unfold(packed_number_get(&at));
        weight = packed_number_get(&at);
        if (!weight)
            weight = weight_of_frame(stacks, i);
        if (weight)
            write_line(stacks->lines[op], weight, stream);
        bytes_pass(&reader, at);
        if ((i & 0xfff) == 0)
            progress_share(stacks->progress, "writing events", i, stacks->count);
    }
}

/* Rows of what is in several parts were kept before it was known what they weigh. */
static bool has_lines(const struct stack_lines *stacks)
{
    size_t light = 0;

    for (size_t i = 0; i < stacks->frames.count; i++)
        light += stacks->frames.items[i].ns < 1000;
    return stacks->count > light;
}

static int run(const struct export *export, struct diag *diag)
{
    if (!has_lines(export->stacks)) {
        diag_set(diag, 0,
                 "no span has a call stack of its program: --export folded writes stacks of spans");
        return REPORT_NOTHING;
    }
    write_lines(export->stacks, export->stream);
    return 0;
}

const struct export_kind export_stacks = {
    .name = "stacks",
    .about = "the file of PyTorch's export_stacks(): a line per span with its call stack in the "
             "program and microseconds.",
    .suffix = ".stacks.txt",
    .run = run,
    .order = EXPORT_STACKS,
    .weights = 1U << WEIGHT_TIME | 1U << WEIGHT_DEVICE,
};
