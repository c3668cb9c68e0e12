/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles over the frequencies of a transform: hardly a weight is not 0, and each edge is that of three bands. */
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"

/* The number of the frequency that edge i of the bands falls on, as the reference has it. */
static double edge_of(int64_t i, const struct kernel_mel *s)
{
    double low = 2595.0 * log10(1.0 + s->low / 700.0);
    double high = 2595.0 * log10(1.0 + s->high / 700.0);
    double mel = low + (double)i * (high - low) / (double)(s->bands + 2);

    return floor((double)(s->length + 1) * 700.0 * expm1(mel / 2595.0 * M_LN10) / s->sample_rate);
}

/* Where a triangle is not 0. */
static void put_triangle(float *y, const double edges[3], int64_t bands, int64_t frequencies)
{
    int64_t peak = (int64_t)edges[1];
    double left = edges[1] - edges[0], right = edges[2] - edges[1];

    for (int64_t j = (int64_t)edges[0]; j < peak; j++)
        y[j * bands] = (float)(((double)j - edges[0]) / left);
    y[peak * bands] = 1.0f;
    for (int64_t j = peak + 1; j < (int64_t)edges[2] && j < frequencies; j++)
        y[j * bands] = (float)((edges[2] - (double)j) / right);
}

int mel_portable(void *y, const struct kernel_mel *shape)
{
    int64_t frequencies = shape->length / 2 + 1;
    double limit = (double)frequencies, edges[3];

    if (shape->dtype != KERNEL_F32 || shape->bands <= 0)
        return mel_ref(y, shape);
    memset(y, 0, (size_t)(frequencies * shape->bands) * sizeof(float));
    edges[1] = edge_of(0, shape);
    edges[2] = edge_of(1, shape);
    for (int64_t band = 0; band < shape->bands; band++) {
        edges[0] = edges[1];
        edges[1] = edges[2];
        edges[2] = edge_of(band + 2, shape);
        if (!(edges[0] >= 0.0 && edges[1] >= 0.0 && edges[0] < limit && edges[1] < limit &&
              edges[2] <= limit))
            return -1;
        put_triangle((float *)y + band, edges, shape->bands, frequencies);
    }
    return 0;
}
