/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind an input becomes one node: which, and that the numbers stay. */
#include "runtime/exec/exec.h"
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

enum { NODES_MAX = 7 };

struct line {
    const char *op_type, *inputs, *attributes;
};

/* A chain of nodes behind input x; the last one makes y. Each reads the one before as "@". */
struct scene {
    struct line lines[NODES_MAX];
    int fused;          /* how many nodes */
    uint32_t remaining; /* nodes then */
};

static struct graph *build(const struct line *lines, bool is_convolved)
{
    struct graph *graph = build_graph(14);
    struct diag diag = {0};
    char before[16] = "", name[16] = "", inputs[2000];

    for (int i = 0; i < NODES_MAX && lines[i].op_type; i++) {
        const char *mark = strchr(lines[i].inputs, '@');

        snprintf(name, sizeof(name), "v%d", i);
        if (!mark)
            snprintf(inputs, sizeof(inputs), "%s", lines[i].inputs);
        else
            snprintf(inputs, sizeof(inputs), "%.*s%s%s", (int)(mark - lines[i].inputs),
                     lines[i].inputs, before, mark + 1);
        build_node(graph, lines[i].op_type, inputs, lines[i].attributes, name);
        memcpy(before, name, sizeof(before));
    }
    if (is_convolved) {
        int at = snprintf(inputs, sizeof(inputs), "%s; w:f32 16,3,2,2=0.5", before);

        for (int i = 1; i < 16 * 3 * 2 * 2; i++)
            at += snprintf(inputs + at, sizeof(inputs) - (size_t)at, ",%.2f", i * 7 % 11 / 10.0);
        build_node(graph, "Conv", inputs, "", "conv");
        snprintf(name, sizeof(name), "conv");
    }
    build_output(graph, name);
    if (shape_infer(graph, eval_node, &diag) < 0)
        fail_msg("%s", diag.text);
    return graph;
}

/* Fill input i with numbers that depend on where they are. */
static void feed(struct exec *exec, const struct graph *graph, uint32_t i)
{
    const struct value *value = graph->inputs[i];
    int64_t count = shape_elements(&value->shape);
    void *data = graph_alloc_data((size_t)shape_bytes(&value->shape, value->dtype));
    struct tensor_view view = {value->dtype, value->shape, data};
    struct diag diag = {0};

    for (int64_t k = 0; k < count; k++) {
        if (value->dtype == DTYPE_F32)
            ((float *)data)[k] = (float)((k * 37 + i * 11) % 64) / 32.0f - 1.0f;
        else
            ((uint8_t *)data)[k] = (uint8_t)(k * 37 % 251);
    }
    CHECK_OK(exec_set_input(exec, i, &view, &diag));
    free(data);
}

static float *run(const struct graph *graph)
{
    struct exec *exec;
    struct diag diag = {0};
    struct tensor_view view;
    float *out;

    if (exec_create(graph, &(struct exec_options){.threads = 1}, &exec, &diag) < 0)
        fail_msg("%s", diag.text);
    for (uint32_t i = 0; i < graph->input_count; i++)
        feed(exec, graph, i);
    exec_dispatch(exec);
    CHECK_OK(exec_wait(exec, &diag));
    CHECK_OK(exec_output(exec, 0, &view));
    assert_int_equal(view.dtype, DTYPE_F32);
    out = malloc((size_t)shape_bytes(&view.shape, DTYPE_F32) + 1);
    memcpy(out, view.data, (size_t)shape_bytes(&view.shape, DTYPE_F32));
    exec_destroy(&exec);
    return out;
}

static const struct scene scenes[] = {
    /* bytes of an image: to floats, channels first, less the mean, by the deviation */
    {{{"Cast", "x:u8 2,5,4,3", "to=1"},
      {"Transpose", "@", "perm=[0,3,1,2]"},
      {"Sub", "@; mean:f32 3,1,1=1,2,3", ""},
      {"Div", "@; dev:f32 1,3,1,1=2,4,8", ""}},
     4,
     1},
    /* the same in another order, with a frame */
    {{{"Pad", "x:u8 1,5,4,3; p:i64=0,1,2,0,0,1,0,0; v:u8 =7", ""},
      {"Cast", "@", "to=1"},
      {"Sub", "mean:f32=1,2,3; @", ""},
      {"Mul", "@; half:f32 =0.5", ""},
      {"Transpose", "@", "perm=[0,3,1,2]"},
      {"Add", "@; one:f32 1=1", ""}},
     6,
     1},
    /* floats, transposed twice */
    {{{"Transpose", "x:f32 2,3,4,5", "perm=[3,2,1,0]"},
      {"Pad", "@; p:i64=1,0,0,0,0,0,0,2", ""},
      {"Transpose", "@", "perm=[1,0,3,2]"}},
     3,
     1},
    /* a pad behind a sum begins anew */
    {{{"Cast", "x:u8 2,3,4", "to=1"},
      {"Add", "@; one:f32 =1", ""},
      {"Pad", "@; p:i64=0,0,1,0,0,1", ""}},
     2,
     2},
    /* one alone stays, and sums without anything else are no preparation */
    {{{"Cast", "x:u8 2,3,4", "to=1"}, {"Softmax", "@", ""}}, 0, 2},
    {{{"Add", "x:f32 2,3; one:f32 =1", ""}, {"Mul", "@; two:f32 =2", ""}}, 0, 2},
    /* not by a constant, not by a whole matrix, not mirrored, not cut */
    {{{"Cast", "x:u8 2,3", "to=1"}, {"Mul", "@; z:f32 2,3", ""}}, 0, 2},
    {{{"Cast", "x:u8 2,2", "to=1"}, {"Mul", "@; m:f32 2,2=1,2,3,4", ""}}, 0, 2},
    {{{"Cast", "x:u8 2,3", "to=1"}, {"Pad", "@; p:i64=0,1,0,1", "mode='reflect'"}}, 0, 2},
    {{{"Cast", "x:u8 2,3", "to=1"}, {"Pad", "@; p:i64=0,-1,0,1", ""}}, 0, 2},
    /* named axes are not read, those of a scalar neither */
    {{{"Cast", "x:u8", "to=1"}, {"Pad", "@; p:i64 0=; -; a:i64 0=", ""}}, 0, 2},
};

static void it_becomes_one_node_and_the_numbers_stay(void **state)
{
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        struct graph *plain = build(scenes[i].lines, false);
        struct graph *graph = build(scenes[i].lines, false);
        struct diag diag = {0};
        int64_t count = shape_elements(&plain->outputs[0]->shape);
        int fused = pass_preprocess(graph, &diag);
        float *want, *got;

        if (fused < 0 || graph_check(graph, &diag) < 0)
            fail_msg("scene %zu: %s", i, diag.text);
        if (fused != scenes[i].fused || graph->node_count != scenes[i].remaining)
            fail_msg("scene %zu: %d, %u nodes", i, fused, graph->node_count);
        want = run(plain);
        got = run(graph);
        for (int64_t k = 0; k < count; k++)
            if (got[k] != want[k])
                fail_msg("scene %zu: element %lld is %.9g, not %.9g", i, (long long)k,
                         (double)got[k], (double)want[k]);
        free(want);
        free(got);
        graph_destroy(&plain);
        graph_destroy(&graph);
    }
}

/* The image is made in the layout that the convolution reads: no step copies it. */
static void a_convolution_gets_what_it_wants(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        struct graph *plain = build(scenes[i].lines, true), *graph = build(scenes[i].lines, true);
        struct diag diag = {0};
        int64_t count = shape_elements(&plain->outputs[0]->shape);
        struct exec *exec;
        float *want, *got;

        assert_int_equal(pass_preprocess(graph, &diag), scenes[i].fused);
        CHECK_OK(exec_create(graph, &(struct exec_options){.threads = 1}, &exec, &diag));
        assert_string_equal(exec_step(exec, 0)->type, PREPROCESS_OP_TYPE);
        assert_string_equal(exec_step(exec, 1)->type, "Conv");
        exec_destroy(&exec);
        want = run(plain);
        got = run(graph);
        for (int64_t k = 0; k < count; k++)
            CHECK_NEAR(got[k], want[k], 1e-3);
        free(want);
        free(got);
        graph_destroy(&plain);
        graph_destroy(&graph);
    }
}

/* Two readers of one input, one of which is prepared; what is shown on the way stays. */
static void others_may_read_the_input(void **state)
{
    struct graph *graph = build_graph(14);
    struct diag diag = {0};

    build_node(graph, "Transpose", "x:f32 2,3", "perm=[1,0]", "t");
    build_node(graph, "Mul", "t; two:f32 =2", "", "y");
    build_node(graph, "Transpose", "x", "perm=[1,0]", "shown");
    build_node(graph, "Mul", "shown; two", "", "z");
    build_output(graph, "y");
    build_output(graph, "z");
    build_output(graph, "shown");
    CHECK_OK(shape_infer(graph, eval_node, &diag));
    assert_int_equal(pass_preprocess(graph, &diag), 2);
    CHECK_U64(graph->node_count, 3);
    CHECK_OK(graph_check(graph, &diag));
    graph_destroy(&graph);
}

/* Were all looked at anew after each, this would take minutes. */
static void very_many_readers_are_fused(void **state)
{
    enum { READERS = 1 << 15 };
    struct graph *graph = build_graph(14);
    struct shape shape = {.rank = 2, .dims = {2, 2}};
    struct value *x = graph_add_value(graph, "x", DTYPE_U8, &shape, NULL);
    struct diag diag = {0};

    CHECK_OK(graph_add_input(graph, x));
    for (uint32_t i = 0; i < READERS; i++) {
        static const int64_t perm[] = {1, 0};
        struct value *wide = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);
        struct value *turned = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);
        struct node *cast = graph_add_node(graph, "Cast", "", NULL, &x, 1, &wide, 1);
        struct node *node = graph_add_node(graph, "Transpose", "", NULL, &wide, 1, &turned, 1);

        CHECK_OK(node_set_int(cast, "to", 1));
        CHECK_OK(node_set_ints(node, "perm", perm, 2));
        CHECK_OK(graph_add_output(graph, turned));
    }
    assert_int_equal(pass_preprocess(graph, &diag), 2 * READERS);
    CHECK_OK(graph_check(graph, &diag));
    assert_int_equal(graph->node_count, READERS);
    assert_int_equal(x->consumer_count, READERS);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_becomes_one_node_and_the_numbers_stay),
        cmocka_unit_test(a_convolution_gets_what_it_wants),
        cmocka_unit_test(others_may_read_the_input),
        cmocka_unit_test(very_many_readers_are_fused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
