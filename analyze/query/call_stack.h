/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks of ops, as `params` of an op has them: frames parted by ';', the nearest first. What
 * PyTorch leaves out of its stacks, the frames in which autograd calls itself, is left out here, as
 * are frames without a name.
 */
#ifndef OPTRACE_ANALYZE_QUERY_CALL_STACK_H
#define OPTRACE_ANALYZE_QUERY_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>

/** The text of params.stack, or NULL where there is none or no memory for it. The caller frees it.
 */
char *call_stack_of(const char *params);

/** The next frame of the text at *at, which goes on; false behind the last. */
bool call_stack_next(const char **at, const char **out_frame, size_t *out_length);

#endif
