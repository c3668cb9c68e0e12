/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of element-wise operations, the truth: element by element, step by step. */
#include "kernels/kernels.h"
#include "kernels/ref/ref.h"

bool kernel_chain_has_map(enum kernel_map op)
{
    return op != MAP_IS_INF && op != MAP_IS_NAN && op != MAP_NOT && op != MAP_BIT_NOT;
}

static void run_step(float *y, const float *a, const float *b, const struct kernel_chain_step *step)
{
    if (step->has_two) {
        struct kernel_zip_args args = {step->zip, KERNEL_F32, KERNEL_F32, KERNEL_F32};

        zip_ref(y, a, b, &args);
    } else {
        struct kernel_map_args args = {step->map, KERNEL_F32, step->a, step->b};

        map_ref(y, a, 1, &args);
    }
}

float ref_chain_input(const void *x, const struct kernel_chain *chain, int i,
                      enum kernel_dtype type, int64_t index)
{
    bool is_padded = i == 0 && chain->is_padded;
    int64_t rest = index, at = 0;
    float number;

    for (int axis = chain->rank - 1; axis >= 0; axis--) {
        int64_t c = rest % chain->dims[axis] - (is_padded ? chain->pad.begin[axis] : 0);

        if (is_padded && (c < 0 || c >= chain->pad.dims[axis]))
            return chain->pad.value;
        at += c * chain->strides[i][axis];
        rest /= chain->dims[axis];
    }
    cast_ref(&number, KERNEL_F32, (const char *)x + at * (int64_t)kernel_dtype_bytes(type), type,
             1);
    return number;
}

void chain_ref(float *y, const void *const *inputs, const struct kernel_chain *chain)
{
    float numbers[KERNEL_CHAIN_INPUTS + KERNEL_CHAIN_STEPS];
    int64_t count = 1;

    for (int i = 0; i < chain->rank; i++)
        count *= chain->dims[i];
    for (int64_t index = 0; index < count; index++) {
        for (int i = 0; i < chain->inputs; i++)
            numbers[i] =
                ref_chain_input(inputs[i], chain, i, i == 0 ? chain->type : KERNEL_F32, index);
        for (int s = 0; s < chain->steps; s++) {
            const struct kernel_chain_step *step = &chain->step[s];

            run_step(&numbers[KERNEL_CHAIN_RESULT + s], &numbers[step->operands[0]],
                     &numbers[step->has_two ? step->operands[1] : step->operands[0]], step);
        }
        y[index] = numbers[chain->steps > 0 ? KERNEL_CHAIN_RESULT + chain->steps - 1 : 0];
    }
}
