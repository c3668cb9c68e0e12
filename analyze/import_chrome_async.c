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

#include "analyze/import_chrome_private.h"
#include "analyze/import_values.h"

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

static int make_lane(struct chrome *chrome, struct json_slice category, size_t number,
                     uint32_t *out_lane, struct diag *diag)
{
    struct importer_lane lane = {.native_id = STORE_NULL};
    char *text = json_take_text(category), name[200];
    int rc;

    if (!text)
        return no_memory(diag);
    snprintf(name, sizeof(name), number > 1 ? "async %.150s (%zu)" : "async %.150s",
             *text ? text : "spans", number);
    lane.name = name;
    rc = chrome_make_lane(chrome, &lane, out_lane, diag);
    free(text);
    return rc;
}

/* A lane of the category on which nothing is open. */
static int take_lane(struct chrome *chrome, struct json_slice category, uint32_t *out_pool,
                     uint32_t *out_lane, struct diag *diag)
{
    struct place_key key = {0};
    struct chrome_pool empty = {0}, *pool;

    place_key_add(&key, category.text, category.length);
    *out_pool = place_map_find(&chrome->pool_ids, key);
    if (*out_pool == PLACE_NONE) {
        *out_pool = (uint32_t)chrome->pools.count;
        if (array_push(&chrome->pools, empty) < 0 ||
            place_map_set(&chrome->pool_ids, key, *out_pool) < 0)
            return no_memory(diag);
    }
    pool = &chrome->pools.items[*out_pool];
    if (pool->idle.count) {
        *out_lane = pool->idle.items[--pool->idle.count];
        return 0;
    }
    return make_lane(chrome, category, ++pool->lane_count, out_lane, diag);
}

/* --- Ids. --- */

/* The place of an id that is open, made where `makes`; else it may be PLACE_NONE. */
static int find_async(struct chrome *chrome, struct place_key key, struct json_slice category,
                      bool makes, uint32_t *out_place, struct diag *diag)
{
    struct chrome_async async = {.key = key};
    int rc;

    *out_place = place_map_find(&chrome->async_ids, key);
    if (*out_place != PLACE_NONE || !makes)
        return 0;
    rc = take_lane(chrome, category, &async.pool, &async.lane, diag);
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

static int begin(struct chrome *chrome, const struct chrome_event *event, uint32_t place,
                 int64_t time_ns, struct diag *diag)
{
    struct chrome_open open = {.start_ns = time_ns,
                               .correlation = STORE_NULL,
                               .external = STORE_NULL,
                               .bytes = STORE_NULL};
    int rc = chrome_op(chrome, event, KIND_OTHER, chrome->asyncs.items[place].lane, NULL, &open.op,
                       diag);

    if (rc == 0 && array_push(&chrome->asyncs.items[place].open, open) < 0)
        rc = no_memory(diag);
    return rc;
}

static int end(struct chrome *chrome, uint32_t place, int64_t time_ns, struct diag *diag)
{
    struct chrome_async *async = &chrome->asyncs.items[place];
    struct chrome_open open = async->open.items[--async->open.count];
    int rc = chrome_close_span(chrome, async->lane, &open, time_ns, diag);

    return rc < 0 || async->open.count ? rc : release(chrome, place, diag);
}

static int add_mark(struct chrome *chrome, const struct chrome_event *event, uint32_t place,
                    int64_t time_ns, struct diag *diag)
{
    struct import_span span = {
        .lane = chrome->asyncs.items[place].lane,
        .start_ns = time_ns,
        .kern_ns = STORE_NULL,
        .correlation = STORE_NULL,
        .bytes = STORE_NULL,
    };
    int rc = chrome_op(chrome, event, KIND_MARK, span.lane, NULL, &span.op, diag);

    if (rc == 0)
        rc = importer_span(&chrome->importer, &span, diag);
    return rc < 0 || chrome->asyncs.items[place].open.count ? rc : release(chrome, place, diag);
}

int chrome_add_async(struct chrome *chrome, const struct chrome_event *event, char phase,
                     int64_t time_ns, struct diag *diag)
{
    static const struct json_slice objects = {"object", 6, JSON_STRING};
    bool is_object = phase == 'N' || phase == 'D', ends = phase && strchr("eFD", phase);
    struct chrome_event copy = *event;
    uint32_t place;
    int rc;

    if (is_object && !event->category.length)
        copy.category = objects;
    rc = find_async(chrome, key_of(event, copy.category), copy.category, !ends, &place, diag);
    if (rc < 0)
        return rc;
    if (ends && place == PLACE_NONE) {
        chrome->unmatched_count++;
        return 0;
    }
    if (ends)
        return end(chrome, place, time_ns, diag);
    return phase == 'n' || phase == 'T' || phase == 'p'
               ? add_mark(chrome, &copy, place, time_ns, diag)
               : begin(chrome, &copy, place, time_ns, diag);
}

int chrome_close_asyncs(struct chrome *chrome, struct diag *diag)
{
    int rc = 0;

    for (uint32_t i = 0; i < chrome->asyncs.count; i++) {
        struct chrome_async *async = &chrome->asyncs.items[i];

        while (rc == 0 && async->open.count) {
            struct chrome_open open = async->open.items[--async->open.count];

            rc = chrome_close_span(chrome, async->lane, &open, STORE_NULL, diag);
        }
    }
    return rc;
}

void chrome_drop_asyncs(struct chrome *chrome)
{
    for (size_t i = 0; i < chrome->asyncs.count; i++)
        array_deinit(&chrome->asyncs.items[i].open);
    for (size_t i = 0; i < chrome->pools.count; i++)
        array_deinit(&chrome->pools.items[i].idle);
    array_deinit(&chrome->asyncs);
    array_deinit(&chrome->idle_asyncs);
    array_deinit(&chrome->pools);
    place_map_deinit(&chrome->async_ids);
    place_map_deinit(&chrome->pool_ids);
}
