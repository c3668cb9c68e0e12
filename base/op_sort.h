/* SPDX-License-Identifier: Apache-2.0 */
/* What sort of work an op is, by the types and names that profilers use. */
#ifndef OPTRACE_BASE_OP_SORT_H
#define OPTRACE_BASE_OP_SORT_H

#include <stdbool.h>

enum op_class {
    OP_CLASS_WORK, /* an operator, a kernel */
    OP_CLASS_COPY,
    OP_CLASS_FILL,          /* of memory: a memset */
    OP_CLASS_CALL,          /* of a runtime: a launch, a wait */
    OP_CLASS_COMMUNICATION, /* a collective between processes or devices, a send, a receive */
};

/** By its type and name, neither of which is NULL. */
enum op_class op_sort_class(const char *type, const char *name);

/** Whether the type tells the sort of an event alone (kernel, cpu_op, copy, label ...), and nothing
 *  else of it. */
bool op_sort_is_known(const char *type);

/** Whether it only asks for a collective: torch.distributed's c10d::allreduce_ and the like. */
bool op_sort_asks(const char *type, const char *name);

/* What it is to the time of a session, in bits; none: an op that only takes time. */
enum {
    OP_SORT_COMPUTES = 1, /* an operator, a kernel */
    OP_SORT_COPIES = 2,   /* or fills */
    OP_SORT_LABEL = 4,
    OP_SORT_MARK = 8,  /* takes no time, as a counter does not */
    OP_SORT_OTHER = 16 /* phases, collectives and those who ask for them: not to be summed up */
};
unsigned op_sort_bits(const char *type, const char *name);

#endif
