/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal stacks of spans put together: for exports that tell what each stack weighs. A stack goes
 * from the outermost span to the innermost; that of a device span goes on from its launch's. What
 * is not shown counts nothing, but its name stays in the stacks of what lies inside.
 *
 * Phases and marks are left out, since an op's time holds that of its phases; labels on a device
 * only tie kernels together. Host and device times stay apart.
 */
#ifndef OPTRACE_ANALYZE_EXPORT_CALL_TREE_H
#define OPTRACE_ANALYZE_EXPORT_CALL_TREE_H

#include "analyze/export/export.h"

struct call_node {
    uint32_t parent;         /* place of the enclosing stack, which comes before; or SPAN_NONE */
    uint32_t name;           /* place in `names` */
    int64_t values[WEIGHTS]; /* of this very stack, not of those that go on from it */
};

struct call_name {
    const char *text; /* belongs to the spans' answer */
    uint32_t op;      /* the first op of that name */
};

struct call_tree {
    ARRAY_OF(struct call_node) nodes;
    ARRAY_OF(struct call_name) names; /* different ones */
};

/** Returns 0 or -ENOMEM; call_tree_deinit() is right after either. */
int call_tree_init(struct call_tree *tree, const struct export *export);
void call_tree_deinit(struct call_tree *tree);

#endif
