/* SPDX-License-Identifier: Apache-2.0 */
/* The graph: names, edges, editing, order, and that graph_check() finds what is broken. */
#include "runtime/graph/graph.h"
#include "runtime/graph/compare.h"
#include "runtime/graph/text.h"
#include "runtime/graph/texts.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"

#include <math.h>
#include <pthread.h>

static void names_are_unique(void **state)
{
    struct graph *graph = build_graph(13);
    struct shape shape = {.rank = 0};
    char name[16];
    int error;

    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        assert_non_null(graph_add_value(graph, name, DTYPE_F32, &shape, &error));
    }
    assert_null(graph_add_value(graph, "v7", DTYPE_F32, &shape, &error));
    assert_int_equal(error, -EEXIST);
    assert_string_equal(graph_find_value(graph, "v999")->name, "v999");
    assert_null(graph_find_value(graph, "v1000"));
    assert_non_null(graph_add_value(graph, NULL, DTYPE_F32, &shape, &error));
    /* All of them are dead; their names are free again. */
    graph_remove_dead(graph);
    assert_int_equal(graph->value_count, 0);
    assert_null(graph_find_value(graph, "v7"));
    assert_non_null(graph_add_value(graph, "v7", DTYPE_F32, &shape, &error));
    graph_destroy(&graph);
    assert_null(graph);
    graph_destroy(&graph);
}

static void opsets_are_found(void **state)
{
    struct graph *graph = build_graph(13);

    CHECK_OK(graph_add_opset(graph, "com.example", 2));
    assert_int_equal(graph_opset(graph, ""), 13);
    assert_int_equal(graph_opset(graph, "com.example"), 2);
    assert_int_equal(graph_opset(graph, "com.other"), 0);
    graph_destroy(&graph);
}

static void attributes_are_replaced(void **state)
{
    struct graph *graph = build_graph(13);
    struct node *node = build_node(graph, "Conv", "x:f32 1", "a=1 b=2.5 c='text' d=[1,2,3]", "y");
    size_t count;

    assert_int_equal(node_int(node, "a", 9), 1);
    assert_int_equal(node_int(node, "b", 9), 9);
    assert_int_equal(node_int(node, "z", 9), 9);
    CHECK_NEAR(node_float(node, "b", 0), 2.5, 0);
    assert_string_equal(node_string(node, "c", ""), "text");
    assert_int_equal(node_ints(node, "d", &count)[2], 3);
    assert_int_equal(count, 3);
    CHECK_OK(node_set_string(node, "a", "now text", 8));
    assert_int_equal(node_int(node, "a", 9), 9);
    assert_string_equal(node_string(node, "a", ""), "now text");
    assert_int_equal(node->attribute_count, 4);
    assert_null(node_ints(node, "a", &count));
    assert_int_equal(count, 0);
    graph_destroy(&graph);
}

static void nodes_without_name_get_one(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Relu", "x:f32 1", "", "y");
    assert_string_equal(build_node(graph, "Relu", "y", "", "z")->name, "Relu_1");
    graph_destroy(&graph);
}

/* Adds the nodes of a chain a -> b -> c -> d in the order that `order` gives. */
static struct graph *build_chain(const int *order)
{
    static const char *const names[] = {"x", "a", "b", "c", "d"};
    static const struct shape shape = {.rank = 0};
    struct graph *graph = build_graph(13);
    struct value *values[5];

    for (int i = 0; i < 5; i++)
        values[i] = graph_add_value(graph, names[i], DTYPE_F32, &shape, NULL);
    CHECK_OK(graph_add_input(graph, values[0]));
    for (int i = 0; i < 4; i++)
        assert_non_null(graph_add_node(graph, "Relu", "", names[order[i] + 1], &values[order[i]], 1,
                                       &values[order[i] + 1], 1));
    CHECK_OK(graph_add_output(graph, values[4]));
    return graph;
}

static void sorting_puts_producers_first(void **state)
{
    static const int order[] = {3, 1, 0, 2};
    struct graph *graph = build_chain(order);
    struct diag diag = {0};

    assert_int_equal(graph_check(graph, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "stands before");
    CHECK_OK(graph_sort(graph, &diag));
    CHECK_OK(graph_check(graph, &(struct diag){0}));
    for (int i = 0; i < 4; i++)
        assert_int_equal(graph->nodes[i]->name[0], 'a' + i);
    graph_destroy(&graph);
}

static void sorting_keeps_an_order_that_works(void **state)
{
    struct graph *graph = build_graph(13);
    struct diag diag = {0};

    build_node(graph, "Relu", "x:f32 1", "", "a");
    build_node(graph, "Relu", "x", "", "b");
    build_node(graph, "Relu", "a", "", "c");
    build_node(graph, "Add", "b;c", "", "d");
    CHECK_OK(graph_sort(graph, &diag));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(graph->nodes[i]->id, i);
    graph_destroy(&graph);
}

static void a_cycle_is_named(void **state)
{
    static const int order[] = {0, 1, 2, 3};
    struct graph *graph = build_chain(order);
    struct diag diag = {0};

    CHECK_OK(node_set_input(graph->nodes[1], 0, graph_find_value(graph, "c")));
    assert_int_equal(graph_sort(graph, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "cycle through node 'b'");
    graph_destroy(&graph);
}

static void uses_are_replaced_everywhere(void **state)
{
    struct graph *graph = build_graph(13);
    struct node *twice, *once;
    struct value *z;

    build_node(graph, "Relu", "x:f32 1", "", "y");
    twice = build_node(graph, "Mul", "y;y", "", "p");
    once = build_node(graph, "Add", "x;y", "", "q");
    z = build_value(graph, "z:f32 1");
    assert_int_equal(graph_find_value(graph, "y")->consumer_count, 3);
    CHECK_OK(graph_replace_uses(graph, graph_find_value(graph, "y"), z));
    assert_int_equal(graph_find_value(graph, "y")->consumer_count, 0);
    assert_int_equal(z->consumer_count, 3);
    assert_ptr_equal(twice->inputs[0], z);
    assert_ptr_equal(twice->inputs[1], z);
    assert_ptr_equal(once->inputs[1], z);
    CHECK_OK(graph_check(graph, &(struct diag){0}));
    graph_destroy(&graph);
}

static void bypassing_keeps_output_names(void **state)
{
    struct graph *graph = build_graph(13);
    struct node *first, *middle, *last;

    first = build_node(graph, "Relu", "x:f32 1", "", "a");
    middle = build_node(graph, "Identity", "a", "", "b");
    last = build_node(graph, "Identity", "b", "", "y");
    build_node(graph, "Relu", "a", "", "z");
    build_output(graph, "y");
    build_output(graph, "z");
    assert_int_equal(graph_bypass(graph, middle, 0), 1);
    assert_int_equal(graph_bypass(graph, last, 0), 1);
    assert_int_equal(graph_remove_dead(graph), 2);
    CHECK_OK(graph_check(graph, &(struct diag){0}));
    assert_int_equal(graph->node_count, 2);
    assert_string_equal(first->outputs[0]->name, "y");
    assert_string_equal(graph->nodes[1]->inputs[0]->name, "y");
    graph_destroy(&graph);
}

static void an_input_that_is_an_output_is_not_bypassed(void **state)
{
    struct graph *graph = build_graph(13);
    struct node *node = build_node(graph, "Identity", "x:f32 1", "", "y");

    build_output(graph, "y");
    assert_int_equal(graph_bypass(graph, node, 0), 0);
    CHECK_OK(graph_check(graph, &(struct diag){0}));
    graph_destroy(&graph);
}

static void dead_nodes_go_with_what_only_they_read(void **state)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "Relu", "x:f32 1", "", "y");
    build_node(graph, "Add", "x; k:f32=1", "", "a");
    build_node(graph, "Relu", "a", "", "b");
    build_output(graph, "y");
    assert_int_equal(graph_remove_dead(graph), 2);
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph->value_count, 2);
    assert_null(graph_find_value(graph, "k"));
    CHECK_OK(graph_check(graph, &(struct diag){0}));
    graph_destroy(&graph);
}

static void one_node_is_removed(void **state)
{
    struct graph *graph = build_graph(13);
    struct node *node;

    build_node(graph, "Relu", "x:f32 1", "", "y");
    node = build_node(graph, "Relu", "y", "", "z");
    graph_remove_node(graph, node);
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph_find_value(graph, "y")->consumer_count, 0);
    assert_null(graph_find_value(graph, "z")->producer);
    graph_destroy(&graph);
}

static void detached_nodes_are_removed_together(void **state)
{
    struct graph *graph = build_graph(13);
    struct node *first = build_node(graph, "Add", "x:f32 1 | x", "", "y");
    struct node *second = build_node(graph, "Relu", "y", "", "z");
    struct node *third = build_node(graph, "Neg", "z", "", "w");
    struct value *x = graph_find_value(graph, "x");

    graph_detach_node(first);
    assert_int_equal(x->consumer_count, 0);
    assert_null(graph_find_value(graph, "y")->producer);
    graph_detach_node(third);
    assert_int_equal(graph->node_count, 3);
    assert_int_equal(first->input_count + first->output_count + first->captured_count, 0);
    graph_remove_detached(graph);
    assert_int_equal(graph->node_count, 1);
    assert_ptr_equal(graph->nodes[0], second);
    assert_int_equal(second->index, 0);
    graph_remove_detached(graph);
    assert_int_equal(graph->node_count, 1);
    graph_destroy(&graph);
}

/* Were a reader searched for among the others, this would take hours. */
static void a_value_with_very_many_readers_is_edited(void **state)
{
    enum { READERS = 1 << 19 };
    struct graph *graph = build_graph(13);
    struct shape shape = {.rank = 0};
    struct value *from = graph_add_value(graph, "from", DTYPE_F32, &shape, NULL);
    struct value *to = graph_add_value(graph, "to", DTYPE_F32, &shape, NULL);
    struct value *twice[2] = {from, from};
    struct diag diag = {0};

    CHECK_OK(graph_add_input(graph, from));
    CHECK_OK(graph_add_input(graph, to));
    for (uint32_t i = 0; i < READERS; i++) {
        struct value *out = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);

        assert_non_null(graph_add_node(graph, "Add", "", "n", twice, 2, &out, 1));
    }
    for (uint32_t i = 0; i < READERS / 2; i++)
        CHECK_OK(node_set_input(graph->nodes[i], i % 2, to));
    assert_int_equal(to->consumer_count, READERS / 2);
    CHECK_OK(graph_check(graph, &diag));
    for (uint32_t i = 0; i < READERS; i += 2)
        graph_detach_node(graph->nodes[i]);
    graph_remove_detached(graph);
    CHECK_OK(graph_check(graph, &diag));
    CHECK_OK(graph_replace_uses(graph, from, to));
    CHECK_OK(graph_check(graph, &diag));
    assert_int_equal(from->consumer_count, 0);
    assert_int_equal(to->consumer_count, READERS);
    assert_int_equal(graph_remove_dead(graph), READERS / 2);
    assert_int_equal(to->consumer_count, 0);
    graph_destroy(&graph);
}

/* Edits by chance: both directions of each edge agree after each. */
static void edges_agree_after_edits_by_chance(void **state)
{
    enum { VALUES = 5, NODES = 12 };
    struct graph *graph = build_graph(13);
    struct value *values[VALUES], *none[3] = {NULL};
    struct shape shape = {.rank = 0};
    struct diag diag = {0};
    uint32_t seed = 1;

    for (int i = 0; i < VALUES; i++) {
        values[i] = graph_add_value(graph, NULL, DTYPE_F32, &shape, NULL);
        CHECK_OK(graph_add_input(graph, values[i]));
    }
    for (uint32_t round = 0; round < 20000; round++) {
        uint32_t random = (seed = seed * 1664525u + 1013904223u) >> 8, at = random / 64;

        if (graph->node_count < NODES)
            assert_non_null(graph_add_node(graph, "Sum", "", "", none, 3, NULL, 0));
        at %= graph->node_count;
        if (random % 64 == 0)
            graph_remove_node(graph, graph->nodes[at]);
        else if (random % 64 == 1)
            CHECK_OK(graph_replace_uses(graph, values[random / 4096 % VALUES],
                                        values[(random / 4096 + 1) % VALUES]));
        else
            CHECK_OK(node_set_input(graph->nodes[at], random / 4096 % 4,
                                    random % 8 == 2 ? NULL : values[random / 65536 % VALUES]));
        CHECK_OK(graph_check(graph, &diag));
    }
    graph_destroy(&graph);
}

static void inputs_grow_with_holes(void **state)
{
    struct graph *graph = build_graph(13);
    struct node *node = build_node(graph, "Conv", "x:f32 1", "", "y");

    CHECK_OK(node_set_input(node, 3, graph_find_value(graph, "x")));
    assert_int_equal(node->input_count, 4);
    assert_null(node_input(node, 2));
    assert_null(node_input(node, 7));
    assert_int_equal(graph_find_value(graph, "x")->consumer_count, 2);
    CHECK_OK(graph_check(graph, &(struct diag){0}));
    graph_destroy(&graph);
}

static void a_read_value_needs_a_source(void **state)
{
    struct graph *graph = build_graph(13);
    struct shape shape = {.rank = 0};
    struct value *orphan = graph_add_value(graph, "w", DTYPE_F32, &shape, NULL);
    struct diag diag = {0};

    assert_non_null(graph_add_node(graph, "Relu", "", "r", &orphan, 1, &(struct value *){NULL}, 1));
    assert_int_equal(graph_check(graph, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "node 'r' reads 'w'");
    graph_destroy(&graph);
}

static void sizes_stay_within_the_limit(void **state)
{
    struct shape large = {.rank = 3, .dims = {1 << 30, 1 << 30, 1 << 30}};
    struct shape empty = {.rank = 3, .dims = {1 << 20, 1 << 20, 0}};
    struct shape long_beside_nothing = {.rank = 4, .dims = {0, 1 << 30, 1 << 30, 1 << 30}};
    struct shape open = {.rank = 2, .dims = {3, -1}};
    struct shape scalar = {.rank = 0};
    char text[SHAPE_TEXT_BYTES];

    assert_int_equal(shape_elements(&large), -1);
    assert_int_equal(shape_bytes(&large, DTYPE_U8), -1);
    assert_int_equal(shape_elements(&empty), 0);
    assert_int_equal(shape_elements(&long_beside_nothing), -1);
    assert_int_equal(shape_elements(&open), -1);
    assert_int_equal(shape_bytes(&scalar, DTYPE_F64), 8);
    assert_int_equal(shape_bytes(&scalar, DTYPE_STRING), 8);
    assert_int_equal(shape_bytes(&scalar, DTYPE_NONE), -1);
    assert_string_equal(shape_text(&open, text), "{3,?}");
    assert_string_equal(shape_text(&scalar, text), "{}");
    assert_string_equal(dtype_name(DTYPE_F32), "float32");
    assert_string_equal(dtype_name((enum dtype)77), "unknown");
    assert_int_equal(dtype_bytes((enum dtype)77), 0);
}

static void the_text_shows_what_is_fused(void **state)
{
    struct graph *graph = build_graph(13);
    struct node *node = build_node(graph, "Conv", "x:f32 1,1,4,4; w:f32 1,1,1,1=2; -; x",
                                   "pads=[0,0,0,0] auto_pad='NOTSET'", "y");
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    node->fused = (struct fused){ACTIVATION_CLIP, 0.0f, 6.0f, 3};
    node->outputs[0]->dtype = DTYPE_F32;
    node->outputs[0]->shape = (struct shape){.rank = 1, .dims = {-1}};
    build_output(graph, "y");
    graph_text_write(graph, out);
    fclose(out);
    assert_string_equal(text, "module: \"main\"\n"
                              "x = @param -> float32, {1,1,4,4}\n"
                              "w = @literal{2} -> float32, {1,1,1,1}\n"
                              "y = Conv[pads={0,0,0,0},auto_pad=\"NOTSET\"](x,w,) + x + Clip[0,6]"
                              " -> float32, {?} # Conv_0\n"
                              "@return(y)\n");
    free(text);
    graph_destroy(&graph);
}

/* Equal texts have one number, whatever else was added since. */
static void texts_have_numbers(void **state)
{
    int64_t numbers[1000];
    char text[16];
    size_t length;

    assert_int_equal(texts_number("", 0), 0);
    for (int i = 0; i < 1000; i++) {
        numbers[i] = texts_number(text, (size_t)snprintf(text, sizeof(text), "text %d", i));
        assert_true(numbers[i] > 0);
        assert_true(i == 0 || numbers[i] != numbers[i - 1]);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "text %d", i);
        assert_string_equal(texts_get(numbers[i], &length), text);
        assert_int_equal(length, strlen(text));
        assert_int_equal(texts_number(text, length), numbers[i]);
    }
    assert_int_not_equal(texts_number("a\0b", 3), texts_number("a\0c", 3));
    assert_int_not_equal(texts_number("a\0b", 3), texts_number("a", 1));
    assert_memory_equal(texts_get(texts_number("a\0b", 3), &length), "a\0b", 4);
    assert_int_equal(length, 3);
}

/* A tensor may hold any number, by a kernel's mistake. */
static void numbers_without_a_text_are_empty(void **state)
{
    static const int64_t numbers[] = {0, -1, INT64_MIN, INT64_MAX, 1 << 30};
    size_t length = 1;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_string_equal(texts_get(numbers[i], &length), "");
        assert_int_equal(length, 0);
    }
}

static void *add_texts(void *first)
{
    char text[16];

    for (int i = 0; i < 2000; i++)
        texts_number(text, (size_t)snprintf(text, sizeof(text), "of all %d", i));
    return NULL;
}

static void threads_agree_on_numbers(void **state)
{
    pthread_t threads[4];
    int64_t number, before = texts_number("before them", 11);
    size_t length;

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_texts, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    number = texts_number("of all 1999", 11);
    assert_true(number > before && number <= before + 2000);
    assert_string_equal(texts_get(number, &length), "of all 1999");
}

static void comparing_texts_is_exact(void **state)
{
    int64_t a[] = {texts_number("a", 1), 0}, b[] = {texts_number("b", 1), 0};
    struct tensor_view got = {DTYPE_STRING, {1, {2}}, a}, expected = {DTYPE_STRING, {1, {2}}, b};
    struct tolerance tolerance = {.rtol = 100, .atol = 1e9, .quanta = 3, .rms = 100};
    struct comparison result = compare_tensors(&got, &expected, &tolerance);

    assert_int_equal(result.mismatches, 1);
    assert_int_equal(result.worst_index, 0);
    assert_true(isinf(result.worst_error));
    assert_false(compare_agree(&got, &expected, &tolerance));
    assert_true(compare_agree(&got, &got, &tolerance));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(opsets_are_found),
        cmocka_unit_test(attributes_are_replaced),
        cmocka_unit_test(nodes_without_name_get_one),
        cmocka_unit_test(sorting_puts_producers_first),
        cmocka_unit_test(sorting_keeps_an_order_that_works),
        cmocka_unit_test(a_cycle_is_named),
        cmocka_unit_test(uses_are_replaced_everywhere),
        cmocka_unit_test(bypassing_keeps_output_names),
        cmocka_unit_test(an_input_that_is_an_output_is_not_bypassed),
        cmocka_unit_test(dead_nodes_go_with_what_only_they_read),
        cmocka_unit_test(one_node_is_removed),
        cmocka_unit_test(detached_nodes_are_removed_together),
        cmocka_unit_test(a_value_with_very_many_readers_is_edited),
        cmocka_unit_test(edges_agree_after_edits_by_chance),
        cmocka_unit_test(inputs_grow_with_holes),
        cmocka_unit_test(a_read_value_needs_a_source),
        cmocka_unit_test(sizes_stay_within_the_limit),
        cmocka_unit_test(texts_have_numbers),
        cmocka_unit_test(numbers_without_a_text_are_empty),
        cmocka_unit_test(threads_agree_on_numbers),
        cmocka_unit_test(comparing_texts_is_exact),
        cmocka_unit_test(the_text_shows_what_is_fused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
