/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of operators: whatever is chosen computes the same; the text of a choice. */
#include "runtime/exec/bind.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/layout_format.h"
#include "runtime/tune/layout_choose.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"

static struct graph *graph;
static uint32_t noise = 1;

static struct value *add_value(int64_t channels, int64_t size, bool is_weight)
{
    struct shape image = {.rank = 4, .dims = {2, channels, size, size}};
    struct shape weight = {.rank = 4, .dims = {channels, channels, size, size}};
    struct shape *shape = is_weight ? &weight : &image;
    struct value *value = graph_add_value(graph, NULL, DTYPE_F32, shape, NULL);
    float *data;

    assert_non_null(value);
    if (!is_weight)
        return value;
    data = graph_alloc_data((size_t)shape_bytes(shape, DTYPE_F32));
    for (int64_t i = 0; i < shape_elements(shape); i++)
        data[i] = exec_check_random(&noise) / 8;
    value_set_data(value, data);
    return value;
}

static struct value *add_node(const char *op_type, int64_t size, struct value *x, struct value *z,
                              struct node **out_node)
{
    struct value *y = add_value(8, size, false), *inputs[] = {x, z};
    struct node *node = graph_add_node(graph, op_type, "", NULL, inputs, z ? 2 : 1, &y, 1);

    assert_non_null(node);
    if (out_node)
        *out_node = node;
    return y;
}

/* Two branches, pooled, added, concatenated: each way in which layouts meet. */
static void make_graph(void)
{
    struct value *x, *a, *b, *y, *c, *joined[2];
    struct shape wide = {.rank = 4, .dims = {2, 16, 6, 6}};
    struct node *node;

    graph = graph_create();
    CHECK_OK(graph_add_opset(graph, "", 13));
    x = add_value(8, 12, false);
    CHECK_OK(graph_add_input(graph, x));
    a = add_node("Conv", 12, x, add_value(8, 1, true), NULL);
    b = add_node("Conv", 12, x, add_value(8, 3, true), &node);
    CHECK_OK(node_set_ints(node, "pads", (const int64_t[]){1, 1, 1, 1}, 4));
    b = add_node("Relu", 12, b, NULL, NULL);
    y = add_node("Add", 12, a, b, NULL);
    y = add_node("MaxPool", 6, y, NULL, &node);
    CHECK_OK(node_set_ints(node, "kernel_shape", (const int64_t[]){2, 2}, 2));
    CHECK_OK(node_set_ints(node, "strides", (const int64_t[]){2, 2}, 2));
    joined[0] = y;
    joined[1] = add_node("Conv", 6, y, add_value(8, 1, true), &node);
    node->fused.activation = ACTIVATION_RELU;
    c = graph_add_value(graph, NULL, DTYPE_F32, &wide, NULL);
    node = graph_add_node(graph, "Concat", "", NULL, joined, 2, &c, 1);
    CHECK_OK(node_set_int(node, "axis", 1));
    CHECK_OK(graph_add_output(graph, c));
}

static void every_choice_computes_the_same(void **state)
{
    static uint8_t formats[16];

    make_graph();
    assert_in_range(graph->node_count, 1, 8);
    for (uint32_t choice = 0; choice < 1u << graph->node_count; choice++) {
        char what[40];

        for (uint32_t i = 0; i < graph->node_count; i++)
            formats[i] = choice >> i & 1 ? FORMAT_CHANNELS_LAST : FORMAT_ROW_MAJOR;
        free(graph->layouts);
        graph->layouts = format_text(graph, formats);
        snprintf(what, sizeof(what), "choice %x", choice);
        exec_check_graph(graph, choice + 1, 20.0, what);
    }
    graph_destroy(&graph);
}

static void what_is_chosen_is_done(void **state)
{
    uint8_t formats[16] = {0};
    struct exec *exec;
    struct exec_operand y;
    uint32_t found = 0;

    make_graph();
    for (uint32_t i = 0; i < graph->node_count; i++)
        formats[i] = FORMAT_ROW_MAJOR;
    graph->layouts = format_text(graph, formats);
    exec = exec_check_create(graph, 1);
    for (uint32_t i = 0; i < exec_step_count(exec); i++) {
        assert_string_not_equal(exec_step(exec, i)->type, "Reorder");
        assert_true(exec_step_output(exec, i, 0, &y));
        found += layout_is_row_major(&y.layout, &y.value->shape);
    }
    assert_int_equal(found, graph->node_count);
    exec_destroy(&exec);
    graph_destroy(&graph);
}

static void a_choice_is_made_once(void **state)
{
    struct layout_choice choice = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct exec_options options = {.threads = 2, .layouts = layout_chooser(&choice)};
    struct exec *exec = NULL;
    struct diag diag = {0};
    char *first, *said = NULL;
    size_t size;

    make_graph();
    choice.out = open_memstream(&said, &size);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(exec_create(graph, &options, &exec, &diag));
        exec_destroy(&exec);
        first = choice.text;
        assert_non_null(first);
    }
    fclose(choice.out);
    CHECK_CONTAINS(said, "--layout-transform: ");
    CHECK_CONTAINS(said, "of 7 operators that know two layouts");
    assert_null(strstr(strstr(said, "know two") + 1, "know two"));
    CHECK_OK(format_check(first, &diag));
    free(said);
    free(choice.text);
    graph_destroy(&graph);
}

static void text_names_nodes(void **state)
{
    uint8_t formats[16];
    struct diag diag = {0};
    char text[200];

    make_graph();
    snprintf(text, sizeof(text), "optrace-layout 1\nrow-major %s\nchannels-last no such node\n",
             graph->nodes[1]->name);
    CHECK_OK(format_parse(text, graph, formats, &diag));
    assert_int_equal(formats[0], FORMAT_BY_RULE);
    assert_int_equal(formats[1], FORMAT_ROW_MAJOR);
    CHECK_OK(format_parse("optrace-layout 1", graph, formats, &diag));
    assert_int_equal(formats[1], FORMAT_BY_RULE);
    graph_destroy(&graph);
}

static void damaged_text_is_refused(void **state)
{
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"", "line 1;"},
        {"optrace-layout 2\n", "line 1;"},
        {"optrace-layout 1\nrow-major\n", "line 2;"},
        {"optrace-layout 1\nrow-major a\nblocked b\n", "line 3;"},
        {"optrace-layout 1\n\n", "line 2;"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag diag = {0};

        assert_int_equal(format_check(cases[i].text, &diag), -EINVAL);
        CHECK_CONTAINS(diag.text, cases[i].place);
        CHECK_CONTAINS(diag.text, "optrace.layout");
    }
}

static struct value *add_constant(enum dtype dtype, const struct shape *shape, const void *number)
{
    struct value *value = graph_add_value(graph, NULL, dtype, shape, NULL);
    size_t bytes = dtype_bytes(dtype), count = (size_t)shape_elements(shape);
    char *data = graph_alloc_data(count * bytes);

    assert_non_null(data);
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * bytes, number, bytes);
    value_set_data(value, data);
    return value;
}

/* A quantised convolution of 16 channels; of one each where it is deep. */
static struct value *add_quantised(struct value *x, bool is_deep)
{
    const struct shape one = {.rank = 0}, weight = {4, {16, is_deep ? 1 : 16, 1, 1}};
    struct value *scale = add_constant(DTYPE_F32, &one, &(float){0.5f});
    struct value *zero = add_constant(DTYPE_U8, &one, &(uint8_t){3});
    struct value *w_zero = add_constant(DTYPE_I8, &one, &(int8_t){0});
    struct value *w = add_constant(DTYPE_I8, &weight, &(int8_t){5});
    struct value *inputs[] = {x, scale, zero, w, scale, w_zero, scale, zero};
    struct value *y = graph_add_value(graph, NULL, DTYPE_U8, &x->shape, NULL);
    struct node *node = graph_add_node(graph, "QLinearConv", "", NULL, inputs, 8, &y, 1);

    assert_non_null(node);
    CHECK_OK(node_set_int(node, "group", is_deep ? 16 : 1));
    return y;
}

/* What stands around a convolution that likes images channels-last has them so; without such a one they are row-major. */
static void images_of_bytes_go_with_depthwise_filters(void **state)
{
    for (int deep = 0; deep < 2; deep++) {
        struct exec_options options = {.threads = 1};
        struct exec *exec = NULL;
        struct diag diag = {0};
        struct value *x;
        uint32_t turned = 0, last = 0;

        graph = graph_create();
        CHECK_OK(graph_add_opset(graph, "", 13));
        x = graph_add_value(graph, NULL, DTYPE_U8, &(struct shape){4, {1, 16, 6, 6}}, NULL);
        CHECK_OK(graph_add_input(graph, x));
        x = add_quantised(add_quantised(add_quantised(x, false), deep != 0), false);
        CHECK_OK(graph_add_output(graph, x));
        CHECK_OK(exec_create(graph, &options, &exec, &diag));
        for (uint32_t i = 0; i < exec_step_count(exec); i++) {
            struct exec_operand y;

            if (strcmp(exec_step(exec, i)->type, "Reorder") == 0) {
                turned++;
                continue;
            }
            assert_true(exec_step_output(exec, i, 0, &y));
            last += !layout_is_row_major(&y.layout, &y.value->shape);
        }
        assert_int_equal(turned, last > 0 ? 2 : 0); /* at the beginning and at the end */
        if (deep == 0)
            assert_int_equal(last, 0);
#if defined(__x86_64__)
        else if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni"))
            assert_int_equal(last, 3);
#endif
        exec_destroy(&exec);
        graph_destroy(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_computes_the_same),
        cmocka_unit_test(what_is_chosen_is_done),
        cmocka_unit_test(images_of_bytes_go_with_depthwise_filters),
        cmocka_unit_test(a_choice_is_made_once),
        cmocka_unit_test(text_names_nodes),
        cmocka_unit_test(damaged_text_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
