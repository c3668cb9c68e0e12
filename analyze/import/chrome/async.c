/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of a Chrome trace that belong to no thread: b and e, S and F, and the lives of objects (N
 * and D). Those of one id nest; those of different ids overlap as they like, so each category has
 * as many lanes as it has ids that are open at once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/chrome/private.h"
#include "analyze/import/values.h"

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the trace");
}

/* An id is global in its category, but for id2.local, which is one of the process. */
static struct place_key key_of(const struct chrome_event *event, struct json_slice category)
{
    struct json_slice id = event->id, local = {0};
    struct place_key key = {0};

    if (event->id2.kind == JSON_OBJECT) {
        local = json_member(event->id2, "local");
        id = local.kind == JSON_NONE ? json_member(event->id2, "global") : local;
    }
    place_key_add(&key, category.text, category.length);
    place_key_add(&key, id.text, id.length);
    place_key_add(&key, event->scope.text, event->scope.length);
    if (local.kind != JSON_NONE)
        place_key_add(&key, event->process.text, event->process.length);
    return key;
}

/* --- Lanes. --- */

static int make_lane(struct chrome *chrome, struct chrome_pool *pool, uint32_t *out_lane,
                     struct diag *diag)
{
    struct importer_lane lane = {.native_id = STORE_NULL};
    char name[200];

    pool->lane_count++;
    snprintf(name, sizeof(name), pool->lane_count > 1 ? "async %.150s (%zu)" : "async %.150s",
             *pool->name ? pool->name : "spans", pool->lane_count);
    lane.name = name;
    return chrome_make_lane(chrome, &lane, out_lane, diag);
}

/* The lanes of a category, of which one is made at once. */
static int find_pool(struct chrome *chrome, struct json_slice category, uint32_t *out_pool,
                     struct diag *diag)
{
    struct place_key key = {0};
    struct chrome_pool pool = {0};
    uint32_t lane;
    int rc;

    place_key_add(&key, category.text, category.length);
    *out_pool = place_map_find(&chrome->pool_ids, key);
    if (*out_pool != PLACE_NONE)
        return 0;
    *out_pool = (uint32_t)chrome->pools.count;
    pool.name = json_take_text(category);
    if (!pool.name || array_push(&chrome->pools, pool) < 0) {
        free(pool.name);
        return no_memory(diag);
    }
    rc = make_lane(chrome, &chrome->pools.items[*out_pool], &lane, diag);
    if (rc == 0 && (array_push(&chrome->pools.items[*out_pool].idle, lane) < 0 ||
                    place_map_set(&chrome->pool_ids, key, *out_pool) < 0))
        rc = no_memory(diag);
    return rc;
}

/* One on which nothing is open. */
static int take_lane(struct chrome *chrome, struct chrome_pool *pool, uint32_t *out_lane,
                     struct diag *diag)
{
    if (!pool->idle.count)
        return make_lane(chrome, pool, out_lane, diag);
    *out_lane = pool->idle.items[--pool->idle.count];
    return 0;
}

/* --- Ids. --- */

/* The place of an id that is open, made where there is a pool for it. */
static int find_async(struct chrome *chrome, struct place_key key, uint32_t pool,
                      uint32_t *out_place, struct diag *diag)
{
    struct chrome_async async = {.key = key, .pool = pool};
    int rc;

    *out_place = place_map_find(&chrome->async_ids, key);
    if (*out_place != PLACE_NONE || pool == PLACE_NONE)
        return 0;
    rc = take_lane(chrome, &chrome->pools.items[pool], &async.lane, diag);
    if (rc < 0)
        return rc;
    if (chrome->idle_asyncs.count) {
        *out_place = chrome->idle_asyncs.items[--chrome->idle_asyncs.count];
        async.open = chrome->asyncs.items[*out_place].open; /* room that is there already */
        chrome->asyncs.items[*out_place] = async;
    } else {
        *out_place = (uint32_t)chrome->asyncs.count;
        if (array_push(&chrome->asyncs, async) < 0)
            return no_memory(diag);
    }
    return place_map_set(&chrome->async_ids, key, *out_place) < 0 ? no_memory(diag) : 0;
}

/* The id may be used again, the lane by others. */
static int release(struct chrome *chrome, uint32_t place, struct diag *diag)
{
    const struct chrome_async *async = &chrome->asyncs.items[place];

    place_map_remove(&chrome->async_ids, async->key);
    if (array_push(&chrome->pools.items[async->pool].idle, async->lane) < 0 ||
        array_push(&chrome->idle_asyncs, place) < 0)
        return no_memory(diag);
    return 0;
}

/* --- Events. --- */

static bool is_end(char phase)
{
    return phase == 'e' || phase == 'F' || phase == 'D';
}

static bool is_point(char phase)
{
    return phase == 'n' || phase == 'T' || phase == 'p';
}

int chrome_add_async(struct chrome *chrome, const struct chrome_event *event, char phase,
                     int64_t time_ns, struct diag *diag)
{
    static const struct json_slice objects = {"object", 6, JSON_STRING};
    struct chrome_event copy = *event;
    struct chrome_edge edge = {
        .time_ns = time_ns, .phase = phase, .lane = PLACE_NONE, .bytes = STORE_NULL};
    int rc = 0;

    if ((phase == 'N' || phase == 'D') && !event->category.length)
        copy.category = objects;
    edge.key = key_of(event, copy.category);
    if (!is_end(phase))
        rc = find_pool(chrome, copy.category, &edge.lane, diag);
    if (rc == 0 && !is_end(phase)) {
        /* whichever of the pool's lanes it comes on: none is a device's */
        uint32_t lane = chrome->pools.items[edge.lane].idle.items[0];

        rc = chrome_op(chrome, &copy, is_point(phase) ? KIND_MARK : KIND_OTHER, lane, NULL,
                       &edge.op, diag);
    }
    return rc < 0 ? rc : chrome_keep_edge(chrome, &edge, diag);
}

/* --- Edges, in the order of time. --- */

static int end(struct chrome *chrome, uint32_t place, int64_t time_ns, struct diag *diag)
{
    struct chrome_async *async = &chrome->asyncs.items[place];
    size_t depth = async->open.count--;
    int rc =
        chrome_close_span(chrome, async->lane, &async->open.items[depth - 1], depth, time_ns, diag);

    return rc < 0 || async->open.count ? rc : release(chrome, place, diag);
}

static int add_mark(struct chrome *chrome, const struct chrome_edge *edge, uint32_t place,
                    struct diag *diag)
{
    const struct chrome_async *async = &chrome->asyncs.items[place];
    int rc =
        chrome_close_span(chrome, async->lane, edge, async->open.count + 1, edge->time_ns, diag);

    return rc < 0 || async->open.count ? rc : release(chrome, place, diag);
}

int chrome_take_async(struct chrome *chrome, const struct chrome_edge *edge, struct diag *diag)
{
    uint32_t place;
    int rc = find_async(chrome, edge->key, edge->lane, &place, diag);

    if (rc < 0)
        return rc;
    if (place == PLACE_NONE) {
        chrome->unmatched_count++;
        return 0;
    }
    if (is_end(edge->phase))
        return end(chrome, place, edge->time_ns, diag);
    if (is_point(edge->phase))
        return add_mark(chrome, edge, place, diag);
    return array_push(&chrome->asyncs.items[place].open, *edge) < 0 ? no_memory(diag) : 0;
}

int chrome_close_asyncs(struct chrome *chrome, struct diag *diag)
{
    int rc = 0;

    for (uint32_t i = 0; i < chrome->asyncs.count; i++) {
        struct chrome_async *async = &chrome->asyncs.items[i];

        while (rc == 0 && async->open.count) {
            size_t depth = async->open.count--;

            rc = chrome_close_span(chrome, async->lane, &async->open.items[depth - 1], depth,
                                   STORE_NULL, diag);
        }
    }
    return rc;
}

void chrome_drop_asyncs(struct chrome *chrome)
{
    for (size_t i = 0; i < chrome->asyncs.count; i++)
        array_deinit(&chrome->asyncs.items[i].open);
    for (size_t i = 0; i < chrome->pools.count; i++) {
        array_deinit(&chrome->pools.items[i].idle);
        free(chrome->pools.items[i].name);
    }
    array_deinit(&chrome->asyncs);
    array_deinit(&chrome->idle_asyncs);
    array_deinit(&chrome->pools);
    place_map_deinit(&chrome->async_ids);
    place_map_deinit(&chrome->pool_ids);
}
