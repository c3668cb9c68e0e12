/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each op on the page's timeline, once for all of its spans. */
#include <math.h>
#include <stdlib.h>

#include "analyze/query/call_stack.h"
#include "analyze/reports/page/page.h"
#include "base/json.h"

/* Its call stack as a JSON list of frames, the nearest first; NULL where there is none. */
static int list_frames(const char *params, char **out_list)
{
    char *stack = call_stack_of(params);
    const char *at = stack, *frame;
    struct json_writer json;
    size_t length;
    int rc;

    *out_list = NULL;
    if (!stack)
        return 0;
    json_init_memory(&json);
    json_begin_array(&json);
    while (call_stack_next(&at, &frame, &length))
        json_string_n(&json, frame, length);
    json_end_array(&json);
    rc = json_finish(&json);
    if (rc == 0)
        *out_list = json_take(&json, NULL);
    json_deinit(&json);
    free(stack);
    return rc;
}

static double amount(int64_t value)
{
    return value == STORE_NULL ? NAN : (double)value;
}

static int emit_op(struct out *out, const struct op_row *op)
{
    char *stack;
    int rc = list_frames(op->params, &stack);

    if (rc < 0)
        return rc;
    out_row(out, (struct out_value[]){
                     out_text(op->name),
                     out_text(op->type),
                     out_text(op->node_id),
                     out_text(op->device),
                     out_text(op->source),
                     out_shapes(op->input_shapes, NULL),
                     out_json_text(op->input_dtypes),
                     out_shapes(op->output_shapes, NULL),
                     out_json_text(op->output_dtypes),
                     out_number(OUT_FLOP, amount(op->computation_flop)),
                     out_number(OUT_BYTES, amount(op->memory_bytes)),
                     out_json_text(op->origin),
                     out_list(stack),
                     out_json_text(op->params),
                 });
    free(stack);
    return 0;
}

int page_timeline_ops(const struct page *page, const struct spans_answer *spans,
                      const uint32_t *ops, size_t count)
{
    static const struct out_chart chart = {.kind = OUT_CHART_DATA};
    static const struct out_section section = {
        .name = "timeline_ops", .data_only = true, .chart = &chart};
    static const struct out_column columns[] = {
        {.name = "name"},         {.name = "type"},
        {.name = "id"},           {.name = "device"},
        {.name = "source"},       {.name = "in_shapes"},
        {.name = "in_dtypes"},    {.name = "out_shapes"},
        {.name = "out_dtypes"},   {.name = "computation_flop"},
        {.name = "memory_bytes"}, {.name = "origin"},
        {.name = "stack"},        {.name = "params"},
    };
    int rc = 0;

    out_table_begin(page->report->out, &section, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = emit_op(page->report->out, &spans->ops.items[ops[i]]);
    out_table_end(page->report->out);
    return rc;
}
