/* SPDX-License-Identifier: Apache-2.0 */
/* --get-static-mem-info: how the memory of intermediate tensors and weights is laid out. */
#ifndef OPTRACE_RUNTIME_MODES_MEM_INFO_H
#define OPTRACE_RUNTIME_MODES_MEM_INFO_H

#include <stdio.h>

#include "base/diag.h"
#include "runtime/session/session.h"

/**
 * Write two files into a folder, which is made when it is missing (its parents are not), and what
 * makes up the peak, and what a device gives room to, as text on out (NULL: nothing).
 *
 *     graph.json             the object "graph_exec" of a profile
 *     StaticMemoryInfo.json  {"chunk": {ID: {"id", "type": "static_mem" | "weight_mem",
 *                            "time_begin", "time_end", "logic_addr_begin", "logic_addr_end",
 *                            "overwrite_dest_id": "-1", "owner"}}, "opr": {STEP: {"id", "name"}}}
 *
 * as MegEngine's tools read them, all values being strings. Times are places in the order of
 * execution, the end exclusive; addresses are offsets in the arena, weights lie behind it, on a device
 * those that it has, as they lie there. "owner"
 * is our addition: the first tensor that lies there, "" for scratch memory. Tensors that operators
 * work on in place are one chunk here.
 *
 * Returns 0, -ENOMEM, or -EIO, -EACCES ... with a sentence.
 */
int mem_info_write(const struct session *session, const char *folder, FILE *out, struct diag *diag);

#endif
