/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cheapest choice of a layout for each operator of a graph, given what each costs in each
 * layout and what moving a tensor from one to another costs. Pure: only numbers.
 *
 * Operators stand in the order in which they run. A tensor is made in the layout of its operator;
 * for readers that want it in another it is moved once, from the layout in which it was made.
 *
 * The search walks over the operators and keeps, for each set of layouts in which the tensors that
 * are still to be read exist, the cheapest way there: exact as long as there are at most
 * SEARCH_STATES_MAX of these sets, else the cheapest of them go on.
 */
#ifndef OPTRACE_RUNTIME_TUNE_LAYOUT_SEARCH_H
#define OPTRACE_RUNTIME_TUNE_LAYOUT_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SEARCH_LAYOUTS = 2, /* the first is that of graph inputs and outputs */
    SEARCH_STATES_MAX = 2048,
    SEARCH_NONE = UINT32_MAX,
};

struct search_value {
    double move[SEARCH_LAYOUTS][SEARCH_LAYOUTS]; /* from, to; 0 where both are the same memory */
    bool is_output;                              /* needed in the first layout at the end */
};

struct search_node {
    bool can[SEARCH_LAYOUTS];
    double cost[SEARCH_LAYOUTS];
    /* Values, SEARCH_NONE for what does not count; wanted in the layout of the node where it says
     * so, else in the first one. */
    const uint32_t *reads;
    const bool *follows;
    uint32_t read_count;
    const uint32_t *makes; /* output 0 in the node's layout, the others in the first one */
    uint32_t make_count;
};

struct search {
    const struct search_value *values;
    uint32_t value_count;
    const struct search_node *nodes;
    uint32_t node_count;
};

/** layouts: by node, written on success. *out_is_exact: see above. Values that no node makes exist
 *  in the first layout from the beginning. Returns 0 or -ENOMEM. */
int search_layouts(const struct search *search, uint8_t *out_layouts, double *out_cost,
                   bool *out_is_exact);

/** What a choice costs. -ENOMEM. */
int search_cost(const struct search *search, const uint8_t *layouts, double *out_cost);

#endif
