/* SPDX-License-Identifier: Apache-2.0 */
/* When lanes were in use, and who launched what runs on a device. Pure. */
#ifndef OPTRACE_ANALYZE_QUERY_LANE_USE_H
#define OPTRACE_ANALYZE_QUERY_LANE_USE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/query/spans.h"

struct lane_use {
    bool has_op;              /* else all is 0 */
    int64_t start_ns, end_ns; /* from the start of its first op to the end of its last */
    int64_t wall_start_ns;    /* the same over all lanes of its session; in profiles whose host */
    int64_t wall_end_ns;      /* and device have clocks of their own, over those of its side */
};

/** Beside spans->lanes; the caller frees *out_use. Returns 0 or -ENOMEM. */
int lane_use_make(const struct spans_answer *spans, struct lane_use **out_use);

/** The same of spans in parts: into zeros beside spans->lanes, each part; then walls. */
void lane_use_add(struct lane_use *uses, const struct spans_answer *spans);
void lane_use_find_walls(struct lane_use *uses, const struct spans_answer *spans);

static inline int64_t span_end_ns(const struct span *span)
{
    return span->start_ns + span->dur_ns;
}

static inline bool span_is_op(const struct spans_answer *spans, const struct span *span)
{
    return spans->op_kinds[span->op] == SPAN_OP;
}

static inline const struct op_row *span_op(const struct spans_answer *spans,
                                           const struct span *span)
{
    return &spans->ops.items[span->op];
}

/** Whether it is a call of a runtime or driver (cuda_runtime, ...), which only passes on what an op
 *  around it asked for. */
bool span_is_runtime_call(const struct spans_answer *spans, const struct span *span);

/** Whether it is a function of Python that PyTorch recorded for its stacks. */
bool span_is_python(const struct spans_answer *spans, const struct span *span);

/** What kind of work a span on a device is. */
enum device_work {
    WORK_COMPUTE,
    WORK_COPY,
    WORK_FILL,
    WORK_COMMUNICATION, /* collectives, as op_class_of() has them */
};
enum device_work span_work(const struct spans_answer *spans, const struct span *span);

/** Whether data moves between processes or devices while a span runs. On a thread that is not so of
 *  NCCL's and its kin, which there are only launched. */
bool span_communicates(const struct spans_answer *spans, const struct span *span);

/** The innermost op that the launch of a device span lies in; for want of one, the innermost label
 *  or collective, which torch.distributed names beside its ops; or else the launch itself;
 * SPAN_NONE without a launch. */
uint32_t span_owner(const struct spans_answer *spans, const struct span *span);

#endif
