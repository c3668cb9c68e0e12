/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over what is taken and given back, part of the time by part of the time. */
#include "analyze/reports/memory_curve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"

/* --- One walk for both. --- */

/* Called for the first highest sum of each part, as soon as it is known to be one: a later call for
 * the same part takes the place of the one before. */
typedef void curve_fn(void *user, size_t bin, int64_t sum);
typedef void change_fn(void *user, uint32_t block, int64_t bytes);

struct walk {
    curve_fn *high;
    change_fn *change; /* before `high` of the sum that it leads to */
    void *user;
};

static void walk_over(const struct memory_view *view, uint32_t pool, size_t count,
                      const struct walk *walk)
{
    int64_t alive = memory_bytes_before(&view->blocks, pool), highest = alive;
    double length_ns = (double)(view->end_ns - view->start_ns) + 1;
    size_t bin = 0;

    walk->high(walk->user, 0, alive);
    for (size_t i = 0; i < view->points.count; i++) {
        const struct memory_point *point = &view->points.items[i];
        const struct memory_block *block = &view->blocks.blocks.items[point->block];
        double place = (double)(point->time_ns - view->start_ns) / length_ns * (double)count;
        int64_t bytes = point->is_start ? block->bytes : -block->bytes;

        if (block->pool != pool)
            continue;
        while (bin + 1 < count && (double)(bin + 1) <= place) {
            walk->high(walk->user, ++bin, alive);
            highest = alive;
        }
        alive += bytes;
        walk->change(walk->user, point->block, bytes);
        if (alive > highest) {
            highest = alive;
            walk->high(walk->user, bin, alive);
        }
    }
    while (++bin < count)
        walk->high(walk->user, bin, alive);
}

/* --- Sums. --- */

static void keep_sum(void *user, size_t bin, int64_t sum)
{
    ((int64_t *)user)[bin] = sum;
}

static void ignore_change(void *user, uint32_t block, int64_t bytes)
{
    (void)user, (void)block, (void)bytes;
}

void memory_curve_fill(const struct memory_view *view, uint32_t pool, int64_t *bins, size_t count)
{
    walk_over(view, pool, count, &(struct walk){keep_sum, ignore_change, bins});
}

/* --- By name. --- */

struct name_walk {
    const struct memory_view *view;
    const uint32_t *places; /* of a line: that of its name among those of the pool */
    size_t name_count;
    int64_t *alive; /* by place */
    int64_t *bins;  /* name_count of each part */
};

static void keep_names(void *user, size_t bin, int64_t sum)
{
    struct name_walk *walk = user;

    (void)sum;
    memcpy(walk->bins + bin * walk->name_count, walk->alive,
           walk->name_count * sizeof(*walk->alive));
}

static void change_name(void *user, uint32_t block, int64_t bytes)
{
    struct name_walk *walk = user;

    walk->alive[walk->places[walk->view->line_of[block]]] += bytes;
}

/* Held since before the recording. */
static void begin_names(struct name_walk *walk, uint32_t pool)
{
    for (size_t i = 0; i < walk->view->blocks.blocks.count; i++) {
        const struct memory_block *block = &walk->view->blocks.blocks.items[i];

        if (block->pool == pool && block->is_shown && block->start_ns == MEMORY_BEFORE)
            change_name(walk, (uint32_t)i, block->bytes);
    }
}

/* A name of the pool and what it holds over all parts. */
struct weighed_name {
    const char *name;
    uint32_t place;
    double weight;
};

static int compare_weights(const void *a, const void *b)
{
    const struct weighed_name *left = a, *right = b;

    if (left->weight != right->weight)
        return left->weight > right->weight ? -1 : 1;
    return (left->place > right->place) - (left->place < right->place);
}

/* Lines of one name have one place. */
static int find_names(const struct memory_view *view, uint32_t pool, uint32_t *places,
                      struct weighed_name *names, size_t *out_count)
{
    struct place_map map = {0};
    uint32_t count = 0;
    int rc = 0;

    for (uint32_t i = 0; i < view->lines.count && rc == 0; i++) {
        const char *name = view->lines.items[i].name;
        struct place_key key = {0};

        if (view->lines.items[i].pool != pool)
            continue;
        place_key_add(&key, name ? name : "", name ? strlen(name) + 1 : 0);
        places[i] = place_map_find(&map, key);
        if (places[i] != PLACE_NONE)
            continue;
        places[i] = count;
        names[count] = (struct weighed_name){name, count, 0};
        rc = place_map_set(&map, key, count++);
    }
    place_map_deinit(&map);
    *out_count = count;
    return rc < 0 ? -ENOMEM : 0;
}

static void sum_groups(struct memory_groups *out_groups, const struct name_walk *walk,
                       struct weighed_name *names)
{
    size_t groups = out_groups->count + out_groups->has_others;

    for (size_t i = 0; i < walk->name_count; i++) {
        for (size_t bin = 0; bin < out_groups->bin_count; bin++)
            names[i].weight += (double)walk->bins[bin * walk->name_count + names[i].place];
    }
    if (walk->name_count)
        qsort(names, walk->name_count, sizeof(*names), compare_weights);
    for (size_t i = 0; i < walk->name_count; i++) {
        size_t group = i < out_groups->count ? i : out_groups->count;

        if (i < out_groups->count)
            out_groups->names[i] = names[i].name;
        for (size_t bin = 0; bin < out_groups->bin_count; bin++)
            out_groups->bytes[bin * groups + group] +=
                walk->bins[bin * walk->name_count + names[i].place];
    }
}

int memory_groups_init(struct memory_groups *out_groups, const struct memory_view *view,
                       uint32_t pool, size_t bin_count)
{
    size_t all = view->lines.count ? view->lines.count : 1;
    uint32_t *places = calloc(all, sizeof(*places));
    struct weighed_name *names = calloc(all, sizeof(*names));
    struct name_walk walk = {.view = view, .places = places};
    int rc = places && names ? 0 : -ENOMEM;

    *out_groups = (struct memory_groups){.bin_count = bin_count};
    if (rc == 0)
        rc = find_names(view, pool, places, names, &walk.name_count);
    if (rc == 0) {
        out_groups->has_others = walk.name_count > MEMORY_GROUPS_MAX;
        out_groups->count = out_groups->has_others ? MEMORY_GROUPS_MAX : walk.name_count;
        walk.alive = calloc(walk.name_count + 1, sizeof(*walk.alive));
        walk.bins = calloc(walk.name_count * bin_count + 1, sizeof(*walk.bins));
        out_groups->bytes = calloc((out_groups->count + 1) * bin_count, sizeof(*out_groups->bytes));
        rc = walk.alive && walk.bins && out_groups->bytes ? 0 : -ENOMEM;
    }
    if (rc == 0) {
        begin_names(&walk, pool);
        walk_over(view, pool, bin_count, &(struct walk){keep_names, change_name, &walk});
        sum_groups(out_groups, &walk, names);
    }
    free(places);
    free(names);
    free(walk.alive);
    free(walk.bins);
    return rc;
}

void memory_groups_deinit(struct memory_groups *groups)
{
    free(groups->bytes);
    groups->bytes = NULL;
}
