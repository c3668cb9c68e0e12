/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation: one multiplication and one addition per element. */
#include "kernels/cpu/isa.h"
#include "kernels/kernels.h"

#include <math.h>

enum { BLOCK = 256 }; /* channels at a time */

/* Factors of the channels [first, first + count): y = x * a + b. */
ISA_BODY void factors(float *a, float *b, const float *const statistics[4], float epsilon,
                      size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t c = first + i;
        float deviation = sqrtf(statistics[3][c] + epsilon);

        a[i] = statistics[0][c] / deviation;
        b[i] = statistics[1][c] - statistics[2][c] * a[i];
    }
}

/* statistics: scale, bias, mean, variance. x may be y. */
ISA_BODY void batch_norm(float *y, const float *x, const float *const statistics[4], float epsilon,
                         size_t batch, size_t channels, size_t plane)
{
    float a[BLOCK], b[BLOCK];

    for (size_t first = 0; first < channels; first += BLOCK) {
        size_t count = channels - first < BLOCK ? channels - first : BLOCK;

        factors(a, b, statistics, epsilon, first, count);
        for (size_t n = 0; n < batch; n++) {
            size_t at = (n * channels + first) * plane;

            if (plane == 1) {
                for (size_t i = 0; i < count; i++)
                    y[at + i] = x[at + i] * a[i] + b[i];
                continue;
            }
            for (size_t i = 0; i < count; i++, at += plane)
                for (size_t p = 0; p < plane; p++)
                    y[at + p] = x[at + p] * a[i] + b[i];
        }
    }
}

#define BATCH_NORM(isa)                                                                            \
    ISA_TARGET_##isa void batch_norm_f32_##isa(                                                    \
        float *y, const float *x, const float *scale, const float *bias, const float *mean,        \
        const float *variance, float epsilon, size_t batch, size_t channels, size_t plane)         \
    {                                                                                              \
        const float *const statistics[4] = {scale, bias, mean, variance};                          \
                                                                                                   \
        batch_norm(y, x, statistics, epsilon, batch, channels, plane);                             \
    }

ISA_VERSIONS(BATCH_NORM)
