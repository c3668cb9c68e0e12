/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which op of one recording is which of another, when names, shapes or the cutting into ops may
 * have changed. Pure: no store, no times.
 *
 * In this order, each step with what the ones before left over:
 *  1. the same name, type, shapes, dtypes and model nodes; of equal ones the first with the first
 *  2. model nodes in common: fused ops keep the names of the nodes that they came from (`origin`),
 *     an op without them stands for the node of its own name, where no other op of its side has
 *     that name. Ops that share nodes, directly or through others, become one group
 *  3. the same name and type: another shape or dtype; where one side tells no shapes, all ops of
 *     that name together
 *  4. the same type, shapes and dtypes between the same neighbours, in the same order: another name
 *  5. the same type, shapes and dtypes anywhere, where both sides have as many of them left
 * Ops whose shapes are not known are not taken for others of another name. The rest was added or
 * removed.
 */
#ifndef OPTRACE_ANALYZE_METRICS_ALIGN_OPS_H
#define OPTRACE_ANALYZE_METRICS_ALIGN_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

enum { ALIGN_BASE, ALIGN_NEW, ALIGN_SIDES };

/* In the order in which they ran. Texts are borrowed for the call. */
struct align_op {
    const char *name, *type;     /* not NULL */
    const char *shapes, *dtypes; /* of inputs, JSON, or NULL */
    const char *origin;          /* JSON: names of model nodes, or NULL */
};

enum align_kind {
    ALIGN_SAME,
    ALIGN_RENAMED,
    ALIGN_RESHAPED,  /* shapes or dtypes differ; perhaps the name, too */
    ALIGN_RETYPED,   /* another type for the same model nodes */
    ALIGN_FUSED,     /* several ops became one */
    ALIGN_SPLIT,     /* one op became several */
    ALIGN_REGROUPED, /* several ops became several others */
    ALIGN_REMOVED,
    ALIGN_ADDED,
    ALIGN_KINDS
};

/* "same", "renamed", ... */
extern const char *const align_kind_names[ALIGN_KINDS];

struct align_group {
    enum align_kind kind;
    size_t count[ALIGN_SIDES];   /* ops of each side */
    uint32_t first[ALIGN_SIDES]; /* place of the first of them, where there is one */
};

struct alignment {
    ARRAY_OF(struct align_group) groups; /* in the order of the new side, removed ones last */
    uint32_t *group_of[ALIGN_SIDES];     /* for each op: place in `groups` */
};

/** Every op gets a group. Returns 0 or -ENOMEM; alignment_deinit() after either. */
int align_ops(const struct align_op *const ops[ALIGN_SIDES], const size_t count[ALIGN_SIDES],
              struct alignment *out_alignment);
void alignment_deinit(struct alignment *alignment);

#endif
