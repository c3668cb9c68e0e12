/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of query_ops(), and what they hand to each other. */
#ifndef OPTRACE_ANALYZE_QUERY_OPS_PRIVATE_H
#define OPTRACE_ANALYZE_QUERY_OPS_PRIVATE_H

#include "analyze/query_private.h"

struct lane_name {
    int64_t lane_id;
    const char *text;
};

struct ops_reading {
    struct store *store;
    const struct ops_question *question;
    struct ops_answer *answer;
    ARRAY_OF(struct scan_session) sessions;
    ARRAY_OF(struct scan_lane) lanes;
    ARRAY_OF(struct lane_name) lane_names; /* beside `lanes` */
    ARRAY_OF(int64_t) op_ids;              /* beside the answer's rows, until costs are set */
    ARRAY_OF(uint8_t) op_kinds;
};

/* query_loss.c */

int query_losses(struct ops_reading *reading, int64_t session_id, struct diag *diag);

/** Names for the unfinished spans that the scan met. */
int query_unfinished(struct ops_reading *reading, const struct scan *scan, struct diag *diag);

/* merge_ops.c */

/** Rows of several sessions that are the same op (name, type, node, device, shapes, dtypes) become
 * one, their costs added, in the place of the first. */
int merge_equal_ops(struct ops_answer *answer);

#endif
