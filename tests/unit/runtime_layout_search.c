/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest choice of layouts, against all choices there are. */
#include <math.h>

#include "runtime/tune/layout_search.h"
#include "tests/support/check.h"

enum { NODES = 9, VALUES = NODES + 1, READS = 3 };

static uint32_t state = 1;

static uint32_t below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

/* Node i makes value i + 1 of earlier values; value 0 is the graph's input. */
static struct search_value values[VALUES];
static struct search_node nodes[NODES];
static uint32_t reads[NODES][READS], makes[NODES];
static bool follows[NODES][READS];

static struct search random_graph(void)
{
    for (uint32_t i = 0; i < VALUES; i++) {
        bool is_free = below(5) == 0; /* both layouts are the same memory */

        values[i] = (struct search_value){.is_output = i == VALUES - 1 || below(6) == 0};
        values[i].move[0][1] = is_free ? 0 : 1 + below(20);
        values[i].move[1][0] = is_free ? 0 : 1 + below(20);
    }
    values[0].is_output = false;
    for (uint32_t i = 0; i < NODES; i++) {
        bool knows_both = below(4) != 0;

        makes[i] = i + 1;
        nodes[i] = (struct search_node){
            .can = {true, knows_both},
            .cost = {below(40), below(40)},
            .reads = reads[i],
            .follows = follows[i],
            .read_count = 1 + below(READS),
            .makes = &makes[i],
            .make_count = 1,
        };
        for (uint32_t k = 0; k < READS; k++) {
            reads[i][k] = k == 0 ? i : below(5) == 0 ? SEARCH_NONE : below(i + 1);
            follows[i][k] = below(5) != 0;
        }
    }
    return (struct search){values, VALUES, nodes, NODES};
}

static void nothing_is_cheaper(void **unused)
{
    for (int round = 0; round < 200; round++) {
        struct search search = random_graph();
        uint8_t best[NODES], layouts[NODES];
        double cost = 0, again = 0, least = INFINITY;
        bool is_exact = false;

        CHECK_OK(search_layouts(&search, best, &cost, &is_exact));
        assert_true(is_exact);
        CHECK_OK(search_cost(&search, best, &again));
        assert_true(fabs(cost - again) < 1e-9);
        for (uint32_t choice = 0; choice < 1u << NODES; choice++) {
            bool can = true;
            double other;

            for (uint32_t i = 0; i < NODES; i++) {
                layouts[i] = choice >> i & 1;
                can = can && nodes[i].can[layouts[i]];
            }
            if (!can)
                continue;
            CHECK_OK(search_cost(&search, layouts, &other));
            least = other < least ? other : least;
        }
        if (fabs(least - cost) > 1e-9)
            fail_msg("round %d: %g, and there is a choice of %g", round, cost, least);
    }
}

/* x -> a -> b, where b reads x, too: x is moved once, in the layout of the graph. */
static void a_tensor_is_moved_once(void **unused)
{
    struct search search = random_graph();
    double cost;

    search.node_count = 2;
    for (int i = 0; i < 2; i++)
        nodes[i] = (struct search_node){.can = {true, true},
                                        .cost = {100, 10},
                                        .reads = reads[i],
                                        .follows = follows[i],
                                        .read_count = (uint32_t)i + 1,
                                        .makes = &makes[i],
                                        .make_count = 1};
    for (int i = 0; i < 3; i++)
        values[i] = (struct search_value){.move = {{0, 3}, {5, 0}}, .is_output = i == 2};
    reads[0][0] = reads[1][0] = 0;
    reads[1][1] = 1;
    follows[0][0] = follows[1][0] = follows[1][1] = true;
    search.value_count = 3;
    CHECK_OK(search_cost(&search, (const uint8_t[]){1, 1}, &cost));
    assert_true(fabs(cost - (3 + 10 + 10 + 5)) < 1e-9);
    CHECK_OK(search_cost(&search, (const uint8_t[]){0, 1}, &cost));
    assert_true(fabs(cost - (100 + 3 + 3 + 10 + 5)) < 1e-9);
}

/* Sixteen branches that all wait for the end: more sets than are kept. */
static void a_search_that_is_cut_says_so(void **unused)
{
    enum { WIDTH = 16 };
    static struct search_value wide_values[WIDTH + 2];
    static struct search_node wide[WIDTH + 1];
    static uint32_t inputs[WIDTH + 1], outputs[WIDTH + 1];
    static bool all[WIDTH + 1];
    struct search search = {wide_values, WIDTH + 2, wide, WIDTH + 1};
    uint8_t best[WIDTH + 1];
    double cost, again;
    bool is_exact;

    for (uint32_t i = 0; i < WIDTH + 2; i++)
        wide_values[i] = (struct search_value){.move = {{0, 2 + i}, {1 + i, 0}}};
    for (uint32_t i = 0; i < WIDTH; i++) {
        outputs[i] = i + 1;
        all[i] = true;
        wide[i] = (struct search_node){.can = {true, true},
                                       .cost = {7 + i % 3, 6},
                                       .reads = inputs,
                                       .follows = all,
                                       .read_count = 1,
                                       .makes = &outputs[i],
                                       .make_count = 1};
    }
    outputs[WIDTH] = WIDTH + 1;
    wide[WIDTH] = (struct search_node){.can = {true, false},
                                       .reads = outputs,
                                       .follows = all,
                                       .read_count = WIDTH,
                                       .makes = &outputs[WIDTH],
                                       .make_count = 1};
    CHECK_OK(search_layouts(&search, best, &cost, &is_exact));
    assert_false(is_exact);
    CHECK_OK(search_cost(&search, best, &again));
    assert_true(fabs(cost - again) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_cheaper),
        cmocka_unit_test(a_tensor_is_moved_once),
        cmocka_unit_test(a_search_that_is_cut_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
