/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes of the writer in memory: whose they are and of which kind, as every event asks. */
#ifndef OPTRACE_SCHEMA_STORE_LANE_H
#define OPTRACE_SCHEMA_STORE_LANE_H

#include "schema/store/store.h"

enum { STORE_LANE_KIND_COUNT = 3, LANE_SLOTS = 4096 };

/* thread, stream, queue */
extern const char *const store_lane_kinds[STORE_LANE_KIND_COUNT];

struct lane {
    int64_t lane_id; /* 0: free slot */
    int64_t session_id;
    int64_t batch_rowid; /* first_rowid of the last batch that it was counted in */
    uint64_t tally;      /* of its session in that batch, see tally.h */
    uint8_t kind;        /* index into store_lane_kinds */
    /* What store_total.h knows of it. */
    int64_t total_run; /* of its last event */
    uint32_t total_clearing, total_generation, total_session, total_class;
    uint32_t nest; /* place of its stack */
};

/* A cache with one place per hash value: the last lane of a value is remembered. */
struct lane_cache {
    struct lane slots[LANE_SLOTS];
};

/** The index of a kind, or -EINVAL for a text that is none. */
int store_lane_kind_of(const char *text);

/** Read a lane from the file into its slot. -EINVAL when it was never put. */
int store_lane_read(struct store *store, int64_t lane_id, struct lane *out_lane, struct diag *diag);

static inline struct lane *store_lane_slot(struct lane_cache *cache, int64_t lane_id)
{
    return &cache->slots[(uint64_t)lane_id % LANE_SLOTS];
}

/** A lane is being put anew. */
void store_lane_forget(struct lane_cache *cache, int64_t lane_id);
void store_lane_cache_clear(struct lane_cache *cache);

#endif
