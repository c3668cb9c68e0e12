/* SPDX-License-Identifier: Apache-2.0 */
/* Sets that nodes agree to: random graphs against one node asked after the other until nobody has a wish, and chains
 * that would take hours so. */
#include "runtime/passes/agree.h"

#include "tests/support/check.h"

enum { VALUES_MAX = 40, NODES_MAX = 40, ARITY_MAX = 5 };

static uint64_t seed;

static uint32_t below(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % limit;
}

/* Nodes of the type "All" wish for their values of float16. */
static struct value *member(const void *context, const struct node *node, uint32_t i)
{
    struct value *value =
        i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];

    assert_ptr_equal(context, &seed);
    return strcmp(node->op_type, "All") == 0 && value && value->dtype == DTYPE_F16 ? value : NULL;
}

static struct value *add_value(struct graph *graph)
{
    struct shape shape = {1, {2}};
    struct value *value =
        graph_add_value(graph, NULL, below(8) ? DTYPE_F16 : DTYPE_I64, &shape, NULL);

    assert_non_null(value);
    return value;
}

/* A value may be read twice by one node; inputs and outputs may be left out. */
static struct graph *random_graph(void)
{
    struct graph *graph = graph_create();
    uint32_t nodes = below(NODES_MAX);

    assert_non_null(graph);
    for (uint32_t i = below(4) + 1; i > 0; i--)
        add_value(graph);
    for (uint32_t n = 0; n < nodes && graph->value_count < VALUES_MAX; n++) {
        struct value *inputs[ARITY_MAX], *outputs[ARITY_MAX];
        uint32_t input_count = below(ARITY_MAX), output_count = below(3);

        for (uint32_t i = 0; i < input_count; i++)
            inputs[i] = below(9) ? graph->values[below(graph->value_count)] : NULL;
        for (uint32_t i = 0; i < output_count; i++)
            outputs[i] = below(9) ? add_value(graph) : NULL;
        assert_non_null(graph_add_node(graph, below(3) ? "All" : "Any", "", NULL, inputs,
                                       input_count, outputs, output_count));
    }
    return graph;
}

static void ask_all(const struct graph *graph, bool *is_in)
{
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const struct node *node = graph->nodes[n];
            const uint32_t count = node->input_count + node->output_count;
            bool all = true;

            for (uint32_t i = 0; i < count; i++) {
                const struct value *value = member(&seed, node, i);

                all = all && (!value || is_in[value->index]);
            }
            for (uint32_t i = 0; i < count && !all; i++) {
                const struct value *value = member(&seed, node, i);

                has_changed = has_changed || (value && is_in[value->index]);
                if (value)
                    is_in[value->index] = false;
            }
        }
    }
}

static void random_sets_are_the_largest(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 3000; round++) {
        bool got[VALUES_MAX + ARITY_MAX], wanted[VALUES_MAX + ARITY_MAX];
        struct graph *graph;

        seed = round;
        graph = random_graph();
        for (uint32_t i = 0; i < graph->value_count; i++)
            got[i] = wanted[i] = below(10) != 0;
        ask_all(graph, wanted);
        CHECK_OK(pass_agree(graph, got, member, &seed));
        for (uint32_t i = 0; i < graph->value_count; i++)
            if (got[i] != wanted[i])
                fail_msg("round %u: value %u is %d, not %d", round, i, got[i], wanted[i]);
        graph_destroy(&graph);
    }
}

/* The last of them tells the one before, and so on, against the order of the nodes. */
static void chains_take_as_long_as_they_are(void **state)
{
    enum { LENGTH = 200000 };
    bool *is_in = malloc(LENGTH + 1);
    struct graph *graph = graph_create();
    struct shape shape = {1, {2}};
    struct value *value = graph_add_value(graph, NULL, DTYPE_F16, &shape, NULL);

    (void)state;
    assert_non_null(is_in);
    for (uint32_t i = 0; i < LENGTH; i++) {
        struct value *next = graph_add_value(graph, NULL, DTYPE_F16, &shape, NULL);

        assert_non_null(graph_add_node(graph, "All", "", NULL, &value, 1, &next, 1));
        value = next;
    }
    memset(is_in, true, LENGTH);
    is_in[LENGTH] = false;
    CHECK_OK(pass_agree(graph, is_in, member, &seed));
    assert_null(memchr(is_in, true, LENGTH + 1));
    free(is_in);
    graph_destroy(&graph);
}

static void nobody_has_a_wish(void **state)
{
    struct graph *graph = graph_create();
    bool is_in[1] = {true};

    (void)state;
    CHECK_OK(pass_agree(graph, is_in, member, &seed));
    assert_true(is_in[0]);
    graph_destroy(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sets_are_the_largest),
        cmocka_unit_test(chains_take_as_long_as_they_are),
        cmocka_unit_test(nobody_has_a_wish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
