/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of spans, one for each thread. */
#include "schema/store/nest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(int64_t lane_id)
{
    return (uint32_t)(((uint64_t)lane_id * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static void insert_slot(struct nests *nests, uint32_t place)
{
    uint32_t slot = hash_of(nests->lanes.items[place].lane_id) & nests->slot_mask;

    while (nests->slots[slot])
        slot = (slot + 1) & nests->slot_mask;
    nests->slots[slot] = place + 1;
}

/* The slots stay at most half full. */
static int make_slots(struct nests *nests)
{
    uint32_t count = nests->slots ? nests->slot_mask + 1 : 0;
    uint32_t *slots;

    if ((nests->lanes.count + 1) * 2 <= count)
        return 0;
    count = count ? count * 2 : 64;
    slots = calloc(count, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(nests->slots);
    nests->slots = slots;
    nests->slot_mask = count - 1;
    for (uint32_t i = 0; i < nests->lanes.count; i++)
        insert_slot(nests, i);
    return 0;
}

int store_nest_find(struct nests *nests, int64_t lane_id, int64_t floor_ns, uint32_t *out_place)
{
    int rc = make_slots(nests);

    if (rc < 0)
        return rc;
    for (uint32_t slot = hash_of(lane_id);; slot++) {
        uint32_t place = nests->slots[slot & nests->slot_mask];

        if (place == 0)
            break;
        if (nests->lanes.items[place - 1].lane_id == lane_id) {
            *out_place = place - 1;
            return 0;
        }
    }
    rc = array_push(&nests->lanes, ((struct nest){.lane_id = lane_id, .floor_ns = floor_ns}));
    if (rc < 0)
        return rc;
    *out_place = (uint32_t)(nests->lanes.count - 1);
    insert_slot(nests, *out_place);
    return 0;
}

/* The older half goes. */
static void forget_half(struct nests *nests, struct nest *nest)
{
    const size_t gone = nest->open.count / 2, kept = nest->open.count - gone;
    int64_t start_ns = nest->open.items[gone - 1].span.start_ns;

    nest->floor_ns = start_ns > nest->floor_ns ? start_ns : nest->floor_ns;
    memmove(nest->open.items, nest->open.items + gone, kept * sizeof(*nest->open.items));
    nest->open.count = kept;
    nests->open_count -= gone;
}

int store_nest_claim_inner(struct nests *nests, uint32_t place, const struct nest_span *span,
                           int64_t *out_nested_ns, bool *out_is_sure)
{
    struct nest *nest = &nests->lanes.items[place];
    const int64_t end_ns = span->start_ns + span->dur_ns;
    size_t count = nest->open.count;
    int64_t nested_ns = 0, last_ns = span->start_ns;
    bool is_sure = span->start_ns > nest->floor_ns && (!count || end_ns >= nest->end_ns);
    int rc;

    while (count && nest->open.items[count - 1].span.start_ns >= span->start_ns) {
        const struct nest_open *inner = &nest->open.items[--count];

        is_sure &= inner->span.run == span->run;
        last_ns = inner->last_ns > last_ns ? inner->last_ns : last_ns;
        if (__builtin_add_overflow(nested_ns, inner->span.dur_ns, &nested_ns))
            nested_ns = INT64_MAX;
    }
    is_sure &= !count || nest->open.items[count - 1].last_ns < span->start_ns;
    nest->end_ns = end_ns;
    nests->open_count -= nest->open.count - count;
    nest->open.count = count;
    if (count >= store_nest_limit(nests))
        forget_half(nests, nest);
    rc = array_push(&nest->open, ((struct nest_open){*span, last_ns}));
    nests->open_count += rc == 0;
    *out_nested_ns = nested_ns < span->dur_ns ? nested_ns : span->dur_ns;
    *out_is_sure = is_sure;
    return rc;
}

void store_nest_clear(struct nests *nests)
{
    for (size_t i = 0; i < nests->lanes.count; i++)
        array_deinit(&nests->lanes.items[i].open);
    nests->lanes.count = 0;
    nests->open_count = 0;
    if (nests->slots)
        memset(nests->slots, 0, ((size_t)nests->slot_mask + 1) * sizeof(*nests->slots));
}

void store_nest_deinit(struct nests *nests)
{
    store_nest_clear(nests);
    array_deinit(&nests->lanes);
    free(nests->slots);
    *nests = (struct nests){0};
}
