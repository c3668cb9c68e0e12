/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which earlier spans of a thread lie inside of a later one, as they come: inner before outer. A
 * thread's spans that may still be enclosed wait on a stack. A span lies in the one that began last of
 * those that enclose it.
 */
#ifndef OPTRACE_SCHEMA_STORE_NEST_H
#define OPTRACE_SCHEMA_STORE_NEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

enum {
    NEST_OPEN_MAX = 2048,   /* spans of a lane; no more than reports keep */
    NEST_OPEN_FEW = 64,     /* where there are many lanes */
    NEST_ALL_MAX = 1 << 18, /* spans of all lanes: 8 MiB */
};

struct nest_span {
    int64_t start_ns, dur_ns, run;
};

struct nest_open {
    struct nest_span span;
    int64_t last_ns; /* the latest start of it and of those inside */
};

struct nest {
    int64_t lane_id;
    int64_t floor_ns; /* a span that begins up to here may hold some that are forgotten */
    int64_t end_ns;   /* of what came last */
    ARRAY_OF(struct nest_open) open;
};

struct nests {
    ARRAY_OF(struct nest) lanes;
    uint32_t *slots; /* open addressing: 1 + place */
    uint32_t slot_mask;
    size_t open_count; /* of all */
};

/** The place of a lane, which is new: floor_ns is for it. Returns 0 or -ENOMEM. */
int store_nest_find(struct nests *nests, int64_t lane_id, int64_t floor_ns, uint32_t *out_place);

/** How many spans of a lane are kept. */
static inline size_t store_nest_limit(const struct nests *nests)
{
    return nests->open_count < NEST_ALL_MAX ? NEST_OPEN_MAX : NEST_OPEN_FEW;
}

/** store_nest_claim() where some lie in it, or there is no room for it. */
int store_nest_claim_inner(struct nests *nests, uint32_t place, const struct nest_span *span,
                           int64_t *out_nested_ns, bool *out_is_sure);

/** The time of a span that earlier ones take which lie in it, at most its own. *out_is_sure: false
 *  when some may be forgotten, are of another run or in an earlier one, too, or when it comes late.
 *  Returns 0 or -ENOMEM. */
static inline int store_nest_claim(struct nests *nests, uint32_t place,
                                   const struct nest_span *span, int64_t *out_nested_ns,
                                   bool *out_is_sure)
{
    struct nest *nest = &nests->lanes.items[place];
    const size_t count = nest->open.count;

    /* Mostly it begins behind the last one. */
    if (count == 0 || count >= nest->open.capacity || count >= store_nest_limit(nests) ||
        nest->open.items[count - 1].last_ns >= span->start_ns ||
        span->start_ns + span->dur_ns < nest->end_ns)
        return store_nest_claim_inner(nests, place, span, out_nested_ns, out_is_sure);
    nest->open.items[count] = (struct nest_open){*span, span->start_ns};
    nest->end_ns = span->start_ns + span->dur_ns;
    nest->open.count = count + 1;
    nests->open_count++;
    *out_nested_ns = 0;
    *out_is_sure = span->start_ns > nest->floor_ns;
    return 0;
}

void store_nest_clear(struct nests *nests);
void store_nest_deinit(struct nests *nests);

#endif
