/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of recurrent.cu. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

enum { UNITS_EACH = CUDA_LINE_BLOCK / 32 }; /* of a block: a warp each */

static void take_step(const struct kernel_recurrent_data *data,
                      const struct kernel_recurrent *shape, int64_t index, bool is_second)
{
    struct kernel_recurrent_data pointers = *data;
    struct kernel_recurrent given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int gates = kernel_cell_gates(shape->cell);
    int64_t units = shape->directions * shape->batch * shape->hidden;

    cuda_launch_lines(shape->dtype == KERNEL_F64 ? CUDA_KERNEL_recurrent_step_f64
                                                 : CUDA_KERNEL_recurrent_step,
                      (units + UNITS_EACH - 1) / UNITS_EACH,
                      (void *[]){&pointers, &given, &index, &is_second, &gates, &units, &fault});
}

static void move_states(const struct kernel_recurrent_data *data,
                        const struct kernel_recurrent *shape, bool is_end)
{
    struct kernel_recurrent_data pointers = *data;
    struct kernel_recurrent given = *shape;
    int64_t units = shape->directions * shape->batch * shape->hidden;

    cuda_launch_elements(shape->dtype == KERNEL_F64 ? CUDA_KERNEL_recurrent_states_f64
                                                    : CUDA_KERNEL_recurrent_states,
                         units, (void *[]){&pointers, &given, &is_end, &units});
}

static int recurrent_cuda(const struct kernel_recurrent_data *data,
                          const struct kernel_recurrent *shape)
{
    bool has_two = shape->cell == CELL_GRU && !shape->is_reset_last;

    move_states(data, shape, false);
    for (int64_t i = 0; i < shape->steps; i++) {
        take_step(data, shape, i, false);
        if (has_two)
            take_step(data, shape, i, true);
    }
    move_states(data, shape, true);
    return cuda_fault_result();
}

void cuda_table_recurrent(struct kernel_table *table)
{
    CUDA_USE(recurrent, recurrent_cuda);
}
