/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one node and compares with the answer. */
#include "tests/support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/element.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/shape/shape.h"
#include "tests/support/example.h"
#include "tests/support/graph_build.h"

static void check_values(const struct example *e, const struct value *value)
{
    int64_t count = shape_elements(&value->shape);

    for (int64_t i = 0; i < count && i < EXAMPLE_ELEMENTS; i++) {
        double got = (double)element_get(value->known, value->dtype, i), want = e->want[i];
        double room = value->dtype == DTYPE_F16 ? 2e-3 : 2e-6;

        if (isnan(want) ? !isnan(got)
                        : !(fabs(got - want) <= room * (1 + fabs(want))) && got != want)
            fail_msg("%s (opset %d) %s: element %d is %.9g, not %.9g", e->op_type, (int)e->opset,
                     e->inputs, (int)i, got, want);
    }
}

static void check_example(const struct example *e)
{
    static const char *const names[] = {"y0", "y0;y1", "y0;y1;y2"};
    struct graph *graph = build_graph(e->opset);
    struct diag diag = {0};
    char name[] = "y0", text[100];
    const struct value *value;

    name[1] = (char)('0' + e->output);
    build_node(graph, e->op_type, e->inputs, e->attributes, names[e->output]);
    build_output(graph, name);
    if (shape_infer(graph, eval_node, &diag) < 0)
        fail_msg("%s: %s", e->op_type, diag.text);
    value = graph_find_value(graph, name);
    if (strcmp(build_type_text(value, text), e->type) != 0)
        fail_msg("%s %s gives %s, not %s", e->op_type, e->inputs, text, e->type);
    assert_non_null(value->known);
    check_values(e, value);
    graph_destroy(&graph);
}

void example_check(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_example(&examples[i]);
}
