/* SPDX-License-Identifier: Apache-2.0 */
/* A set of values of which some nodes want all of theirs or none. */
#ifndef OPTRACE_RUNTIME_PASSES_AGREE_H
#define OPTRACE_RUNTIME_PASSES_AGREE_H

#include "runtime/graph/graph.h"

/* Its inputs and then its outputs by number: the value, or NULL for one that its node has no wish for. */
typedef struct value *agree_member_fn(const void *context, const struct node *node, uint32_t i);

/** Where a wishful node has a value that is not in the set, its others leave it, and so on: what is left is the
 *  largest set that all agree to. In time that grows with the uses of values, whatever hangs on what.
 *  is_in  by value->index
 *  Returns 0, or -ENOMEM. */
int pass_agree(const struct graph *graph, bool *is_in, agree_member_fn *member,
               const void *context);

#endif
