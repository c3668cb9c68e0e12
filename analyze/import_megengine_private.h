/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of reading a MegEngine profile: the graph, and the spans. */
#ifndef OPTRACE_ANALYZE_IMPORT_MEGENGINE_PRIVATE_H
#define OPTRACE_ANALYZE_IMPORT_MEGENGINE_PRIVATE_H

#include "analyze/import_megengine.h"
#include "base/array.h"

/* A member of an object that is looked up by its name. */
struct by_id {
    const char *id;
    const cJSON *item;
    int64_t number;   /* from 1, in the order of the document */
    int64_t producer; /* variables: op_id, or 0 */
    bool is_put;      /* ops */
};
struct by_id_array ARRAY_FIELDS(struct by_id);

struct import_lane {
    const char *name;
    bool is_device;
    int64_t lane_id;
};

struct import {
    struct store *store;
    int64_t session_id;
    struct store_ids first; /* ids in use before */
    const cJSON *graph, *host, *device;
    struct by_id_array ops, variables, chunks, footprints; /* sorted by id */
    ARRAY_OF(struct import_lane) lanes;
    ARRAY_OF(struct store_event) events;
    int64_t last_ns;                  /* latest end of any span */
    int64_t run_start_ns, run_end_ns; /* on the host where there is a host, else on the device */
};

/** The op of an id of the document, or NULL. */
const struct by_id *import_find_op(const struct import *import, const char *id);

/** Check and keep all spans and their lanes; nothing is written. */
int import_read_spans(struct import *import, struct diag *diag);

/** Write lanes, run and events. */
int import_put_spans(struct import *import, struct diag *diag);
void import_drop_spans(struct import *import);

#endif
