/* SPDX-License-Identifier: Apache-2.0 */
/* Local response normalisation across channels, the truth. */
#include "kernels/kernels.h"

#include <math.h>

void lrn_f32_ref(float *y, const float *x, const struct kernel_lrn *shape)
{
    int64_t before = (shape->size - 1) / 2, after = shape->size / 2;
    int64_t channel = shape->channels_last ? 1 : shape->plane;
    int64_t pixel = shape->channels_last ? shape->channels : 1;

    for (int64_t n = 0; n < shape->batch; n++) {
        const float *image = x + n * shape->channels * shape->plane;

        for (int64_t c = 0; c < shape->channels; c++) {
            int64_t first = c - before > 0 ? c - before : 0;
            int64_t last = c + after < shape->channels ? c + after : shape->channels - 1;

            for (int64_t p = 0; p < shape->plane; p++) {
                int64_t at = c * channel + p * pixel;
                double sum = 0.0;

                for (int64_t i = first; i <= last; i++)
                    sum += (double)image[i * channel + p * pixel] * image[i * channel + p * pixel];
                sum = (double)shape->bias + (double)shape->alpha / (double)shape->size * sum;
                y[image - x + at] = (float)(image[at] / pow(sum, shape->beta));
            }
        }
    }
}
