/* SPDX-License-Identifier: Apache-2.0 */
/* Products by weights in blocks, as they are said to be. */
#include "kernels/blocks.h"

#include <math.h>

static int four_bits(const uint8_t *bytes, int64_t i)
{
    return bytes[i / 2] >> (i % 2 * 4) & 15;
}

/* Numbers of a row by those of a column, whose first four bits are `quanta`. */
static double plain_product(const float *a, const uint8_t *quanta, int zero, int64_t count)
{
    double sum = 0.0;

    for (int64_t i = 0; i < count; i++)
        sum += (double)a[i] * (four_bits(quanta, i) - zero);
    return sum;
}

/* The same of a row that is rounded. */
static double rounded_product(const float *a, const uint8_t *quanta, int zero, int64_t count)
{
    float largest = 0.0f, inverse;
    int64_t sum = 0;

    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(a[i]))
            return (double)NAN;
        largest = fmaxf(largest, fabsf(a[i]));
    }
    inverse = largest > 0.0f ? 127.0f / largest : 0.0f;
    for (int64_t i = 0; i < count; i++)
        sum += (int64_t)rintf(a[i] * inverse) * (four_bits(quanta, i) - zero);
    return (double)sum * (double)(largest / 127.0f);
}

void product_blocks_ref(float *y, const float *a, const struct kernel_blocks_weights *weights,
                        const float *bias, const struct kernel_blocks *shape)
{
    int64_t blocks = (shape->k + shape->size - 1) / shape->size;
    double (*multiply)(const float *, const uint8_t *, int, int64_t) =
        shape->is_rounded ? rounded_product : plain_product;

    for (int64_t i = 0; i < shape->m; i++) {
        for (int64_t j = 0; j < shape->n; j++) {
            double sum = bias ? (double)bias[j] : 0.0;

            for (int64_t b = 0; b < blocks; b++) {
                int64_t begin = b * shape->size, left = shape->k - begin, at = j * blocks + b;
                int zero =
                    weights->zeros ? four_bits(weights->zeros + j * ((blocks + 1) / 2), b) : 8;

                sum += (double)weights->scales[at] *
                       multiply(a + i * shape->k + begin, weights->quanta + at * (shape->size / 2),
                                zero, left < shape->size ? left : shape->size);
            }
            y[i * shape->n + j] = (float)sum;
        }
    }
}
