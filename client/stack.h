/* SPDX-License-Identifier: Apache-2.0 */
/* The call stack under which an op was defined, where OPTRACE_STACKS asks for it. */
#ifndef OPTRACE_CLIENT_STACK_H
#define OPTRACE_CLIENT_STACK_H

#include <stddef.h>
#include <stdint.h>

enum { OT_STACK_FRAMES_MAX = 64 };

/** $OPTRACE_STACKS: how many frames to keep, the nearest first; 0: none. What is no number counts
 *  as none; optrace_start() complains of it. */
uint32_t ot_stack_frames(void);

/** Reads a number of frames. Returns 0 or -EINVAL. */
int ot_stack_parse(const char *text, uint32_t *out_frames);

/**
 * The parameters of an op with the stack of the calling thread.
 *
 * params  a JSON object or NULL. One that has a "stack" already, or is no object, is left alone
 * caller  the return address of the function that the program called: the frames begin there
 * frames  at most that many
 *
 * Returns {..., "stack": "f (libf.so);main (program)"}, for free(), or NULL when there is nothing
 * to add. Takes no lock of ours; allocates.
 */
char *ot_stack_params(const char *params, const void *caller, uint32_t frames);

#endif
