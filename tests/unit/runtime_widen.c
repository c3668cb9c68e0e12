/* SPDX-License-Identifier: Apache-2.0 */
/* Models that say float16 or bfloat16: what is float32 between their operators, what becomes one operator then, and
 * what stays as they say. */
#include <math.h>
#include <string.h>

#include "runtime/exec/exec.h"
#include "runtime/graph/element.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/shape/shape.h"
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"
#include "tests/support/graph_build.h"

static const struct {
    enum dtype dtype;
    const char *word, *to;
    double unit; /* the largest relative error of one rounding */
} halves[] = {{DTYPE_F16, "f16", "to=10", 0x1p-11}, {DTYPE_BF16, "bf16", "to=16", 0x1p-8}};

static void optimise(struct graph *graph)
{
    struct diag diag = {0};

    if (graph_optimise(graph, &(struct pass_options){.widens = true}, eval_node, &diag) < 0)
        fail_msg("%s", diag.text);
    CHECK_OK(graph_check(graph, &diag));
}

static float *run(const struct graph *graph)
{
    struct exec *exec = exec_check_create(graph, 1);
    float *out = exec_check_run(exec, graph, 1.0f);

    exec_destroy(&exec);
    return out;
}

static enum dtype dtype_of(const struct graph *graph, const char *name)
{
    const struct value *value = graph_find_value(graph, name);

    return value ? value->dtype : DTYPE_NONE;
}

/* "NAME:TYPE DIMS=...": numbers that both types hold as they are. */
static const char *weights(const char *name, const char *type, const char *dims, int count)
{
    static char text[4000];
    int at = snprintf(text, sizeof(text), "%s:%s %s", name, type, dims);

    for (int i = 0; i < count; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, "%c%g", i == 0 ? '=' : ',',
                       (i * 7 % 23 - 11) / 16.0);
    return text;
}

static const char *of(const char *inputs, const char *type)
{
    static char text[200];

    snprintf(text, sizeof(text), inputs, type);
    return text;
}

/* Weights beside which all between operators is little; without, it is stored as the model says after all. */
static void add_heavy(struct graph *graph, size_t h)
{
    struct shape shape = {2, {512, 64}};
    struct value *value = graph_add_value(graph, "heavy", halves[h].dtype, &shape, NULL);
    uint16_t *data = calloc(512 * 64, sizeof(*data));

    assert_true(value && data);
    value_set_data(value, data);
    build_node(graph, "Cast", "row:f32 1,512", halves[h].to, "row16");
    build_node(graph, "MatMul", "row16; heavy", "", "light");
    build_output(graph, "light");
}

static uint32_t count_of(const struct graph *graph, const char *op_type)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->node_count; i++)
        count += strcmp(graph->nodes[i]->op_type, op_type) == 0;
    return count;
}

/* As transformers writes it: the norm between casts to float32, what is around it in half. */
static struct graph *build_norm_between_casts(size_t h)
{
    const char *type = halves[h].word;
    struct graph *graph = build_graph(17);

    build_value(graph, weights("w", type, "8,8", 64));
    build_value(graph, weights("v", type, "8,4", 32));
    build_node(graph, "Cast", "x:f32 6,8", halves[h].to, "x16");
    build_node(graph, "MatMul", "x16; w", "", "a");
    build_node(graph, "Add", of("a; bias:%s=1,2,3,4,5,6,7,8", type), "", "b");
    build_node(graph, "Cast", "b", "to=1", "wide");
    build_node(graph, "ReduceMean", "wide", "axes=[-1]", "mean");
    build_node(graph, "Sub", "wide; mean", "", "d");
    build_node(graph, "Pow", "d; two:f32 =2", "", "square");
    build_node(graph, "ReduceMean", "square", "axes=[-1]", "variance");
    build_node(graph, "Add", "variance; e:f32 =0.001", "", "sum");
    build_node(graph, "Sqrt", "sum", "", "root");
    build_node(graph, "Div", "d; root", "", "n");
    build_node(graph, "Cast", "n", halves[h].to, "n16");
    build_node(graph, "Mul", of("n16; scale:%s=1,2,-1,0.5,1,2,-1,0.5", type), "", "s");
    build_node(graph, "Add", of("s; shift:%s=1,0,2,-1,1,0,2,-1", type), "", "t");
    build_node(graph, "MatMul", "t; v", "", "c");
    build_node(graph, "Relu", "c", "", "r");
    build_node(graph, "Cast", "r", "to=1", "y");
    build_output(graph, "y");
    add_heavy(graph, h);
    build_infer(graph);
    return graph;
}

static void casts_around_a_norm_are_none(void **state)
{
    for (size_t h = 0; h < 2; h++) {
        struct graph *plain = build_norm_between_casts(h);
        struct graph *graph = build_norm_between_casts(h);
        float *want = run(plain), *got;

        optimise(graph);
        CHECK_U64(count_of(graph, "Cast"), 0);
        CHECK_U64(count_of(graph, "LayerNormalization"), 1);
        CHECK_U64(graph->node_count,
                  4); /* that of add_heavy();  bias and activation are parts of the products */
        assert_int_equal(dtype_of(graph, "w"), halves[h].dtype);
        assert_int_equal(dtype_of(graph, "v"), halves[h].dtype);
        got = run(graph);
        for (int i = 0; i < 24; i++)
            CHECK_NEAR(got[i], want[i], 40 * halves[h].unit);
        free(got);
        free(want);
        graph_destroy(&graph);
        graph_destroy(&plain);
    }
}

/* Weights are what they were, to the last bit and where they lie; a norm behind a convolution goes into them. */
static void weights_stay_as_they_are(void **state)
{
    for (size_t h = 0; h < 2; h++) {
        struct graph *graph = build_graph(17);
        const void *v;

        build_value(graph, weights("w", halves[h].word, "4,2,3,3", 72));
        v = build_value(graph, weights("v", halves[h].word, "36,4", 144))->data;
        build_node(graph, "Conv", of("x:%s 1,2,5,5; w", halves[h].word), "", "a");
        build_node(graph, "BatchNormalization",
                   "a; s:f32=1,2,1,2; b:f32=0,1,0,1; m:f32=0,1,0,1; q:f32=1,1,2,2", "", "n");
        build_node(graph, "Reshape", "n; shape:i64=1,36", "", "f");
        build_node(graph, "MatMul", "f; v", "", "y");
        build_output(graph, "y");
        add_heavy(graph, h);
        build_infer(graph);
        optimise(graph);
        CHECK_U64(count_of(graph, "BatchNormalization"), 0);
        assert_int_equal(dtype_of(graph, "y"), halves[h].dtype);
        assert_int_equal(dtype_of(graph, "f"), DTYPE_F32);
        assert_int_equal(dtype_of(graph, "v"), halves[h].dtype);
        assert_ptr_equal(graph_find_value(graph, "v")->data, v);
        assert_int_equal(graph->nodes[0]->inputs[1]->dtype, halves[h].dtype);
        graph_destroy(&graph);
    }
}

/* What is compared, with all that it is made of element by element, is rounded as the model says; what is not, is
 * not. Nor is what stands beside an input that is only moved. */
static void what_decides_is_rounded(void **state)
{
    struct graph *graph = build_graph(17);

    build_value(graph, weights("w", "f16", "4,4", 16));
    build_node(graph, "MatMul", "x:f16 3,4; w", "", "a");
    build_node(graph, "Mul", "a; three:f16 =3", "", "b");
    build_node(graph, "Greater", "b; one:f16 =1", "", "mask");
    build_node(graph, "MatMul", "b; w", "", "c");
    build_node(graph, "Softsign", "c", "", "d");
    build_node(graph, "Where", "mask; d; c", "", "e");
    build_node(graph, "Concat", "z:f16 3,4; d", "axis=0", "f");
    build_node(graph, "Softplus", "f", "", "g");
    build_node(graph, "MatMul", "g; w", "", "y");
    build_node(graph, "MatMul", "e; w", "", "u");
    build_output(graph, "y");
    build_output(graph, "u");
    add_heavy(graph, 0);
    build_infer(graph);
    optimise(graph);
    assert_int_equal(dtype_of(graph, "a"), DTYPE_F16);
    assert_int_equal(dtype_of(graph, "b"), DTYPE_F16);
    assert_int_equal(dtype_of(graph, "d"), DTYPE_F16);
    assert_int_equal(dtype_of(graph, "g"), DTYPE_F32);
    graph_destroy(&graph);
}

/* Where a rounding is all that is asked for. */
static void a_rounding_is_done(void **state)
{
    struct graph *graph = build_graph(17);
    float *got;

    build_node(graph, "Mul", "x:f32 7,11; third:f32 =0.33333334", "", "a");
    build_node(graph, "Cast", "a", "to=10", "rounded");
    build_node(graph, "Cast", "rounded", "to=1", "b");
    build_node(graph, "Cast", "b", "to=10", "c");
    build_node(graph, "Neg", "c", "", "d");
    build_node(graph, "Abs", "d", "", "e");
    build_node(graph, "Cast", "e", "to=1", "y");
    build_output(graph, "y");
    add_heavy(graph, 0);
    build_infer(graph);
    optimise(graph);
    assert_int_equal(dtype_of(graph, "rounded"), DTYPE_F16);
    got = run(graph);
    for (int i = 0; i < 77; i++) {
        float number = fabsf(((float)(i * 37 % 61) / 61.0f - 0.5f) * 0.33333334f);
        uint16_t bits;

        assert_true(element_set(&bits, DTYPE_F16, 0, number));
        CHECK_NEAR(got[i], (double)element_get(&bits, DTYPE_F16, 0), 0);
    }
    free(got);
    graph_destroy(&graph);
}

/* An output beyond the type's largest number is infinite, as the model says. */
static void infinity_stays(void **state)
{
    struct graph *graph = build_graph(17);
    struct tensor_view view = {DTYPE_F32, {2, {3, 4}}, (float[12]){1}};
    struct diag diag = {0};
    struct exec *exec;

    build_node(graph, "Cast", "x:f32 3,4", "to=10", "x16");
    build_node(graph, "Abs", "x16", "", "a");
    build_node(graph, "Add", "a; one:f16 =1", "", "b");
    build_node(graph, "Reshape", "b; s:i64=12", "", "c");
    build_node(graph, "Mul", "c; most:f16 =65504", "", "d");
    build_node(graph, "Mul", "d; two:f16 =2", "", "y");
    build_output(graph, "y");
    add_heavy(graph, 0);
    build_infer(graph);
    optimise(graph);
    assert_int_equal(dtype_of(graph, "c"), DTYPE_F32);
    exec = exec_check_create(graph, 1);
    CHECK_OK(exec_set_input(exec, 0, &view, &diag));
    exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    CHECK_OK(exec_output(exec, 0, &view));
    assert_int_equal(view.dtype, DTYPE_F16);
    for (int i = 0; i < 12; i++)
        assert_int_equal(((const uint16_t *)view.data)[i], 0x7c00);
    exec_destroy(&exec);
    graph_destroy(&graph);
}

/* Without weights a model says where it wants a rounding, and so does one of other weights. */
static void few_weights_change_nothing(void **state)
{
    for (int has_others = 0; has_others < 2; has_others++) {
        struct graph *graph = build_graph(17);
        struct shape shape = {2, {512, 64}};
        struct value *others = graph_add_value(graph, "others", DTYPE_F32, &shape, NULL);

        assert_non_null(others);
        build_value(graph, weights("w", "f16", "4,4", 16));
        build_node(graph, "MatMul", "x:f16 3,4; w", "", "a");
        build_node(graph, "Relu", "a", "", "b");
        build_node(graph, "MatMul", "b; w", "", "y");
        build_output(graph, "y");
        if (has_others) {
            add_heavy(graph, 0);
            value_set_data(others, calloc(512 * 64, sizeof(float)));
            build_node(graph, "MatMul", "z:f32 1,512; others", "", "u");
            build_output(graph, "u");
        }
        build_infer(graph);
        optimise(graph);
        assert_int_equal(dtype_of(graph, "b"), DTYPE_F16);
        CHECK_U64(count_of(graph, "Relu"), 1);
        graph_destroy(&graph);
    }
}

static uint16_t bits_of(enum dtype dtype, float number)
{
    uint32_t wide;
    uint16_t bits;

    memcpy(&wide, &number, sizeof(wide));
    if (dtype == DTYPE_BF16)
        return (uint16_t)(wide >> 16);
    assert_true(element_set(&bits, dtype, 0, number));
    return bits;
}

/* All numbers that there are, by way of value_settle(). */
static void each_number_is_widened(void **state)
{
    for (size_t h = 0; h < 2; h++) {
        struct graph *graph = build_graph(17);
        struct shape shape = {2, {256, 256}};
        struct value *value = graph_add_value(graph, "w", halves[h].dtype, &shape, NULL);
        uint16_t *data = graph_alloc_data(65536 * sizeof(*data));

        assert_true(value && data);
        for (uint32_t i = 0; i < 65536; i++)
            data[i] = (uint16_t)i;
        value_set_data(value, data);
        value_defer_half(value);
        assert_false(value_take_back(value, halves[1 - h].dtype));
        assert_true(value_take_back(value, halves[h].dtype));
        assert_int_equal(value->dtype, halves[h].dtype);
        value_defer_half(value);
        CHECK_OK(value_settle(value));
        assert_int_equal(value->dtype, DTYPE_F32);
        for (uint32_t i = 0; i < 65536; i++) {
            float number = ((const float *)value->data)[i];

            if (isnan(number) || isinf(number))
                assert_int_equal(i >> (h == 0 ? 10 : 7) & (h == 0 ? 31 : 255), h == 0 ? 31 : 255);
            else
                assert_int_equal(bits_of(halves[h].dtype, number), i);
        }
        graph_destroy(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_around_a_norm_are_none),
        cmocka_unit_test(weights_stay_as_they_are),
        cmocka_unit_test(what_decides_is_rounded),
        cmocka_unit_test(a_rounding_is_done),
        cmocka_unit_test(infinity_stays),
        cmocka_unit_test(few_weights_change_nothing),
        cmocka_unit_test(each_number_is_widened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
