/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest choice of layouts: a walk over the operators that keeps the best way to each set of
 * layouts of what is still to be read. */
#include "runtime/tune/layout_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In which layouts a value exists, a bit each, and in which it was made, above them. 0: it is not
 * there, or nobody reads it any more. */
enum { MADE_SHIFT = SEARCH_LAYOUTS };

/* A way to where the walk is. */
struct way {
    double cost;
    uint32_t step; /* how it came there; SEARCH_NONE at the beginning */
    uint64_t hash;
    uint8_t *sets; /* by value; part of the generation's memory */
};

/* One choice, which many ways may share. */
struct step {
    uint32_t before;
    uint8_t layout;
};

struct walk {
    const struct search *search;
    uint32_t *last_reads; /* by value: the last node that reads it; SEARCH_NONE: nobody */
    struct way *ways, *next;
    uint8_t *memory, *next_memory;
    uint32_t way_count, next_count;
    struct step *steps;
    size_t step_count, step_room;
    const uint8_t *given; /* by node: the only layout that is taken; NULL: any */
    bool is_exact;
};

static uint8_t made(int layout)
{
    return (uint8_t)(1u << layout | (unsigned)layout << MADE_SHIFT);
}

/* The value is there in this layout afterwards. Returns what that takes. */
static double provide(const struct walk *walk, uint8_t *sets, uint32_t value, int layout)
{
    int from = sets[value] >> MADE_SHIFT;

    if (sets[value] & 1u << layout)
        return 0.0;
    sets[value] |= (uint8_t)(1u << layout);
    return walk->search->values[value].move[from][layout];
}

/* One way goes on over a node in one layout. */
static void go(struct walk *walk, const struct way *way, uint32_t index, int layout,
               struct way *out_way)
{
    const struct search_node *node = &walk->search->nodes[index];

    memcpy(out_way->sets, way->sets, walk->search->value_count);
    out_way->cost = way->cost + node->cost[layout];
    for (uint32_t i = 0; i < node->read_count; i++)
        if (node->reads[i] != SEARCH_NONE)
            out_way->cost +=
                provide(walk, out_way->sets, node->reads[i], node->follows[i] ? layout : 0);
    for (uint32_t i = 0; i < node->read_count; i++)
        if (node->reads[i] != SEARCH_NONE && walk->last_reads[node->reads[i]] == index)
            out_way->sets[node->reads[i]] = 0;
    for (uint32_t i = 0; i < node->make_count; i++) {
        uint32_t value = node->makes[i];

        if (value == SEARCH_NONE)
            continue;
        out_way->sets[value] = made(i == 0 ? layout : 0);
        if (walk->search->values[value].is_output)
            out_way->cost += provide(walk, out_way->sets, value, 0);
        if (walk->last_reads[value] == SEARCH_NONE)
            out_way->sets[value] = 0;
    }
    out_way->hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < walk->search->value_count; i++)
        out_way->hash = (out_way->hash ^ out_way->sets[i]) * UINT64_C(0x100000001b3);
}

static int add_step(struct walk *walk, uint32_t before, int layout)
{
    if (walk->step_count == walk->step_room) {
        size_t room = 2 * walk->step_room + 64;
        struct step *grown = realloc(walk->steps, room * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        walk->steps = grown;
        walk->step_room = room;
    }
    walk->steps[walk->step_count++] = (struct step){before, (uint8_t)layout};
    return 0;
}

/* Equal sets beside each other, of those the cheapest first. */
static int compare_sets(const void *a, const void *b)
{
    const struct way *left = a, *right = b;

    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    return (left->cost > right->cost) - (left->cost < right->cost);
}

static int compare_costs(const void *a, const void *b)
{
    const struct way *left = a, *right = b;

    return (left->cost > right->cost) - (left->cost < right->cost);
}

/* Of equal sets the cheapest stays, and of too many the cheapest do. */
static void thin_out(struct walk *walk)
{
    uint32_t kept = 0;

    qsort(walk->next, walk->next_count, sizeof(*walk->next), compare_sets);
    for (uint32_t i = 0; i < walk->next_count; i++) {
        struct way swap = walk->next[i];

        if (kept > 0 && walk->next[kept - 1].hash == swap.hash &&
            memcmp(walk->next[kept - 1].sets, swap.sets, walk->search->value_count) == 0)
            continue;
        /* The places' memory is exchanged, not lost. */
        walk->next[i] = walk->next[kept];
        walk->next[kept++] = swap;
    }
    if (kept > SEARCH_STATES_MAX) {
        qsort(walk->next, kept, sizeof(*walk->next), compare_costs);
        kept = SEARCH_STATES_MAX;
        walk->is_exact = false;
    }
    walk->next_count = kept;
}

static int pass_node(struct walk *walk, uint32_t index)
{
    const struct search_node *node = &walk->search->nodes[index];
    struct way *ways;
    int rc = 0;

    walk->next_count = 0;
    for (uint32_t i = 0; i < walk->way_count; i++) {
        for (int layout = 0; rc == 0 && layout < SEARCH_LAYOUTS; layout++) {
            struct way *out = &walk->next[walk->next_count];

            if (!node->can[layout] || (walk->given && walk->given[index] != layout))
                continue;
            go(walk, &walk->ways[i], index, layout, out);
            out->step = (uint32_t)walk->step_count;
            rc = add_step(walk, walk->ways[i].step, layout);
            walk->next_count++;
        }
    }
    thin_out(walk);
    ways = walk->ways;
    walk->ways = walk->next;
    walk->next = ways;
    walk->way_count = walk->next_count;
    return rc;
}

static struct way *make_ways(uint32_t value_count, uint8_t **out_memory)
{
    size_t count = (size_t)SEARCH_STATES_MAX * SEARCH_LAYOUTS;
    struct way *ways = calloc(count, sizeof(*ways));

    *out_memory = calloc(count, (size_t)value_count + 1);
    for (size_t i = 0; ways && *out_memory && i < count; i++)
        ways[i].sets = *out_memory + i * ((size_t)value_count + 1);
    return ways;
}

static int begin(struct walk *walk)
{
    const struct search *search = walk->search;

    walk->last_reads = calloc((size_t)search->value_count + 1, sizeof(*walk->last_reads));
    walk->ways = make_ways(search->value_count, &walk->memory);
    walk->next = make_ways(search->value_count, &walk->next_memory);
    if (!walk->last_reads || !walk->ways || !walk->memory || !walk->next || !walk->next_memory)
        return -ENOMEM;
    walk->way_count = 1;
    walk->ways[0].step = SEARCH_NONE;
    for (uint32_t i = 0; i < search->value_count; i++) {
        walk->last_reads[i] = SEARCH_NONE;
        walk->ways[0].sets[i] = made(0);
    }
    for (uint32_t i = 0; i < search->node_count; i++)
        for (uint32_t k = 0; k < search->nodes[i].read_count; k++)
            if (search->nodes[i].reads[k] != SEARCH_NONE)
                walk->last_reads[search->nodes[i].reads[k]] = i;
    return 0;
}

static void end(struct walk *walk)
{
    free(walk->last_reads);
    free(walk->ways);
    free(walk->next);
    free(walk->memory);
    free(walk->next_memory);
    free(walk->steps);
}

static int run(struct walk *walk, uint8_t *out_layouts, double *out_cost)
{
    const struct way *best;
    int rc = begin(walk);

    for (uint32_t i = 0; rc == 0 && i < walk->search->node_count; i++)
        rc = pass_node(walk, i);
    if (rc == 0 && walk->way_count == 0)
        rc = -EINVAL; /* a layout was given that a node cannot have */
    if (rc < 0)
        return rc;
    best = &walk->ways[0];
    for (uint32_t i = 1; i < walk->way_count; i++)
        if (walk->ways[i].cost < best->cost)
            best = &walk->ways[i];
    *out_cost = best->cost;
    for (uint32_t i = walk->search->node_count, step = best->step; out_layouts && i > 0;
         step = walk->steps[step].before)
        out_layouts[--i] = walk->steps[step].layout;
    return 0;
}

int search_layouts(const struct search *search, uint8_t *out_layouts, double *out_cost,
                   bool *out_is_exact)
{
    struct walk walk = {.search = search, .is_exact = true};
    int rc = run(&walk, out_layouts, out_cost);

    *out_is_exact = walk.is_exact;
    end(&walk);
    return rc;
}

int search_cost(const struct search *search, const uint8_t *layouts, double *out_cost)
{
    struct walk walk = {.search = search, .given = layouts};
    int rc = run(&walk, NULL, out_cost);

    end(&walk);
    return rc;
}
