/* SPDX-License-Identifier: Apache-2.0 */
/* What was compiled, in the form that MegEngine's tools read: a part of profiles, and graph.json of
 * --get-static-mem-info. */
#ifndef OPTRACE_RUNTIME_MODES_GRAPH_EXEC_H
#define OPTRACE_RUNTIME_MODES_GRAPH_EXEC_H

#include "base/json.h"
#include "runtime/exec/exec.h"
#include "runtime/graph/graph.h"

/* The one device of this runtime, in MegEngine's words. */
#define GRAPH_EXEC_DEVICE "CompNode(\"cpu0:0\" from \"cpux:0\")"

/** The id of each step: of the node where it is that node's own operator, else a number above those
 *  of all nodes. The caller frees them; NULL without memory. */
uint32_t *graph_exec_ids(const struct graph *graph, const struct exec *exec);

/** {"operator": {ID: {..}}, "var": {ID: {..}}, "mem_chunk": {..}, "comp_seq": [ID, ..]} */
void graph_exec_write(const struct graph *graph, const struct exec *exec, const uint32_t *ids,
                      struct json_writer *json);

/** [1,3,224,224] */
void graph_exec_write_dims(const struct shape *shape, struct json_writer *json);

#endif
