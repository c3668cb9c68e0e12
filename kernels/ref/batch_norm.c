/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation with given statistics, the truth. */
#include "kernels/kernels.h"

#include <math.h>

void batch_norm_f32_ref(float *y, const float *x, const float *scale, const float *bias,
                        const float *mean, const float *variance, float epsilon, size_t batch,
                        size_t channels, size_t plane)
{
    for (size_t n = 0; n < batch; n++) {
        for (size_t c = 0; c < channels; c++) {
            double factor = scale[c] / sqrt((double)variance[c] + epsilon);

            for (size_t p = 0; p < plane; p++, x++)
                *y++ = (float)(((double)*x - mean[c]) * factor + bias[c]);
        }
    }
}
