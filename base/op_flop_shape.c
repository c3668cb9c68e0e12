/* SPDX-License-Identifier: Apache-2.0 */
/* What formulas ask of shapes. */
#include "base/op_flop_private.h"

#define FLOP_MAX 0x1p62

int64_t op_flop_rounded(double flop)
{
    return flop >= 0 && flop < FLOP_MAX ? (int64_t)(flop + 0.5) : -1;
}

double op_flop_elements(const struct op_flop_shape *shape)
{
    double count = 1;

    if (shape->rank < 0)
        return -1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0)
            return -1;
        count *= (double)shape->dims[i];
    }
    return count;
}

const struct op_flop_shape *op_flop_input(const struct op_flop_call *call, size_t place)
{
    static const struct op_flop_shape unknown = {.rank = -1};

    return place < call->input_count && place < OP_FLOP_TENSORS_MAX ? &call->inputs[place]
                                                                    : &unknown;
}
