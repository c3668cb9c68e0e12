/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of writing a MegEngine profile: what runs where and when; graph and costs. */
#ifndef OPTRACE_ANALYZE_EXPORT_MEGENGINE_PRIVATE_H
#define OPTRACE_ANALYZE_EXPORT_MEGENGINE_PRIVATE_H

#include "analyze/export/export.h"
#include "base/json.h"

struct megengine_writer {
    const struct export *export;
    const struct spans_answer *spans;
    struct json_writer json;
    uint32_t run;       /* place of the run, or SPAN_NONE: there are none */
    int64_t *ids;       /* beside ops: their ids in the file */
    char **lane_names;  /* beside lanes: as the format spells them */
    uint32_t *sequence; /* places of the ops in the file, in the order in which they first ran */
    size_t sequence_count;
    int64_t next_var;
};

/* --- graph.c --- */

/** The member "graph_exec": operators, variables, order. */
void megengine_write_graph(struct megengine_writer *writer);

/** The member "opr_footprint": what each op computes and moves. */
void megengine_write_op_costs(struct megengine_writer *writer);

/** Ids are decimal texts. */
void megengine_write_id_key(struct json_writer *json, int64_t id);

#endif
