/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of nodes in bodies: what is kept, and when it serves again. */
#include "tests/support/check.h"

#include <string.h>

#include "kernels/kernels.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/body_calls.h"
#include "runtime/ops/shape/shape.h"
#include "tests/support/graph_build.h"

struct place {
    struct graph *body;
    struct node *node;
    struct body_calls *calls;
    struct kernel_table kernels;
    struct eval_options options;
    bool is_fixed[4];
};

static struct tensor_view view_of(const struct value *value)
{
    return (struct tensor_view){value->dtype, value->shape,
                                value->data ? value->data : value->known};
}

/* Infers, computes and notes as a turn does for which nothing serves again. */
static void run_anew(struct place *p)
{
    struct tensor_view inputs[4] = {{0}}, output;
    struct value *value = p->node->outputs[0];
    struct diag diag = {0};
    uint64_t asked;

    CHECK_OK(shape_infer_node(p->body, p->node, eval_node, &asked, &diag));
    for (uint32_t i = 0; i < p->node->input_count; i++)
        inputs[i] = view_of(p->node->inputs[i]);
    output = view_of(value);
    output.data = graph_alloc_data((size_t)shape_bytes(&output.shape, output.dtype));
    CHECK_OK(body_calls_run(p->calls, 0, p->body, p->node, inputs, p->is_fixed, &output,
                            &p->options, &diag));
    body_calls_note(p->calls, 0, p->node, inputs, p->is_fixed, asked);
    free(output.data);
}

static void set_up(struct place *p, const char *op_type, const char *inputs)
{
    *p = (struct place){.body = build_graph(13)};
    p->node = build_node(p->body, op_type, inputs, "", "y");
    kernel_table_init(&p->kernels, kernel_best_level());
    p->options = (struct eval_options){.kernels = &p->kernels};
    CHECK_OK(body_calls_create(1, &p->calls));
    assert_false(body_calls_recall(p->calls, 0, p->node));
}

static void tear_down(struct place *p)
{
    for (uint32_t i = 0; i < p->body->value_count; i++)
        if (p->body->values[i]->is_input)
            p->body->values[i]->known = NULL; /* the test's */
    body_calls_destroy(&p->calls);
    graph_destroy(&p->body);
}

static void types_are_recalled(void **state)
{
    float x[4] = {1, -2, 3, -4};
    struct value *in, *out;
    struct diag diag = {0};
    const void *lent;
    struct place p;

    set_up(&p, "Abs", "x:f32 4");
    in = p.body->inputs[0];
    out = p.node->outputs[0];
    in->known = x;
    run_anew(&p);
    assert_true(body_calls_recall(p.calls, 0, p.node));
    CHECK_OK(body_calls_repeat(p.calls, 0, p.body, p.node, &p.options, &diag));
    assert_true(out->known_is_lent);
    assert_true(((float *)out->known)[3] == 4.0f);
    lent = out->known;
    x[3] = 5; /* content of which nothing follows */
    out->dtype = DTYPE_NONE;
    assert_true(body_calls_recall(p.calls, 0, p.node));
    assert_int_equal(out->dtype, DTYPE_F32);
    CHECK_OK(body_calls_repeat(p.calls, 0, p.body, p.node, &p.options, &diag));
    assert_ptr_equal(out->known, lent);
    assert_true(((float *)out->known)[3] == 5.0f);
    in->shape.dims[0] = 3;
    assert_false(body_calls_recall(p.calls, 0, p.node));
    in->shape.dims[0] = 4;
    out->is_output = true; /* it leaves the body */
    CHECK_OK(body_calls_repeat(p.calls, 0, p.body, p.node, &p.options, &diag));
    assert_false(out->known_is_lent);
    assert_ptr_not_equal(out->known, lent);
    in->dtype = DTYPE_F64;
    assert_false(body_calls_recall(p.calls, 0, p.node));
    tear_down(&p);
}

static void content_is_compared_where_types_follow_from_it(void **state)
{
    float x[4] = {1, -2, 3, -4};
    int64_t shape[2] = {2, 2}, same[2] = {2, 2};
    struct value *target;
    struct place p;

    for (int is_fixed = 0; is_fixed < 2; is_fixed++) {
        shape[0] = shape[1] = 2;
        set_up(&p, "Reshape", "x:f32 4; s:i64 2");
        p.is_fixed[1] = is_fixed;
        target = p.node->inputs[1];
        p.node->inputs[0]->known = x;
        target->known = shape;
        run_anew(&p);
        assert_true(body_calls_recall(p.calls, 0, p.node));
        target->known = same;
        assert_int_equal(body_calls_recall(p.calls, 0, p.node), !is_fixed);
        target->known = shape;
        shape[0] = 1, shape[1] = 4;
        assert_int_equal(body_calls_recall(p.calls, 0, p.node), is_fixed); /* fixed: nobody does */
        tear_down(&p);
    }
}

/* As much as takes longer to compare than to infer from is inferred from. */
static void long_content_is_not_compared(void **state)
{
    static float numbers[400];
    struct place p;

    for (int is_long = 0; is_long < 2; is_long++) {
        set_up(&p, "NonZero", is_long ? "x:f32 400" : "x:f32 100");
        p.node->inputs[0]->known = numbers;
        numbers[0] = 1;
        run_anew(&p);
        assert_int_equal(body_calls_recall(p.calls, 0, p.node), !is_long);
        numbers[0] = 0;
        assert_false(body_calls_recall(p.calls, 0, p.node));
        tear_down(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_recalled),
        cmocka_unit_test(content_is_compared_where_types_follow_from_it),
        cmocka_unit_test(long_content_is_not_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
