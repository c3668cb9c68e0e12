/* SPDX-License-Identifier: Apache-2.0 */
/* What sort of work an op is, and how a profiler's table calls it. By its type and name; pure. */
#ifndef OPTRACE_ANALYZE_QUERY_OP_CLASS_H
#define OPTRACE_ANALYZE_QUERY_OP_CLASS_H

#include <stdbool.h>

#include "analyze/query/query.h"
#include "base/op_sort.h"

enum op_class op_class_of(const struct op_row *op);

/** Whether its type alone says that it is a copy or a fill of memory. */
bool op_has_copy_type(const struct op_row *op);
bool op_has_fill_type(const struct op_row *op);

/** Whether it is a call of a runtime or driver (cuda_runtime, ...), which only passes on what an op
 *  around it asked for. */
bool op_is_runtime_call(const struct op_row *op);

/** Whether it is a function of Python that PyTorch recorded for its stacks. */
bool op_is_python(const struct op_row *op);

/** Whether it is what a call starts on a device, a kernel, a copy or a fill: its params tell how, and
 *  with others it is the same. */
bool op_is_launched(const struct op_row *op);

/** Find these once, as they are asked for at every span. */
void op_class_note(struct op_row *op);

/** Whether it only asks for a collective: torch.distributed's c10d::allreduce_ and the like. */
bool op_asks_for_collective(const struct op_row *op);

/** Its type; where that only says what sort of event it is (kernel, cpu_op, copy, label, phase ...)
 *  its name. Lives as long as the op. */
const char *op_group_name(const struct op_row *op);

/** False when its group is its name: there is nothing more to tell ops of a group apart by than
 *  their shapes. */
bool op_is_grouped_by_type(const struct op_row *op);

enum copy_mode { COPY_ASYNC, COPY_SYNC, COPY_MODE_UNKNOWN };
enum copy_direction {
    COPY_TO_DEVICE,
    COPY_TO_HOST,
    COPY_ON_DEVICE, /* also between devices */
    COPY_ON_HOST,
    COPY_DIRECTION_UNKNOWN,
};

/** From a copy's name, "Memcpy HtoD (Pageable -> Device)" or "GpuMemcpySync:GPU->CPU". */
enum copy_direction copy_direction_of(const struct op_row *copy);

/** From its name, or that of the call that launched it. launch: NULL when it is not known. */
enum copy_mode copy_mode_of(const struct op_row *copy, const struct op_row *launch);

#endif
