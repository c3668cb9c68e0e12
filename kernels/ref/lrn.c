/* SPDX-License-Identifier: Apache-2.0 */
/* Local response normalisation across channels, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

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

static double square(const void *x, enum kernel_dtype dtype, int64_t i)
{
    return ref_get_f64(x, dtype, i) * ref_get_f64(x, dtype, i);
}

void lrn_ref(void *y, const void *x, const struct kernel_lrn_any *shape)
{
    int64_t before = (shape->size - 1) / 2, after = shape->size / 2;

    for (int64_t i = 0; i < shape->batch * shape->channels * shape->plane; i++) {
        int64_t c = i / shape->plane % shape->channels, channel = i - c * shape->plane;
        int64_t first = c > before ? c - before : 0;
        int64_t last = after < shape->channels - c ? c + after : shape->channels - 1;
        double sum = 0.0;

        for (int64_t k = first; k <= last; k++)
            sum += square(x, shape->dtype, channel + k * shape->plane);
        sum = shape->bias + shape->alpha / (double)shape->size * sum;
        ref_set_f64(y, shape->dtype, i, ref_get_f64(x, shape->dtype, i) / pow(sum, shape->beta));
    }
}
