/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a session in the recording. */
#ifndef OPTRACE_RUNTIME_SESSION_TRACE_MEMORY_H
#define OPTRACE_RUNTIME_SESSION_TRACE_MEMORY_H

#include <stdint.h>

#include "runtime/session/session.h"

/** optrace_alloc() or optrace_free(). */
typedef void trace_memory_fn(uint32_t op, const void *address, uint64_t bytes);

/** Who takes the arena: an op, with what is not to be seen from outside, in which op most of it is needed. */
uint32_t trace_memory_arena(const struct session *session);

/** All that the session holds: taken, or given back. */
void trace_memory_tell(const struct session *session, uint32_t arena, trace_memory_fn *tell);

#endif
