/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation with given statistics, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

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

struct statistics {
    double mean, variance;
};

/* Of x itself: all that shares statistic c. */
static struct statistics measure(const void *x, int64_t c, const struct kernel_batch_norm *s)
{
    int64_t stats = s->channels * s->plane_stats, shared = s->plane / s->plane_stats;
    double sum = 0.0, squares = 0.0, count = (double)(s->batch * shared);
    struct statistics out;

    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < s->batch * shared; i++) {
            double v = ref_get_f64(x, s->dtype, (i / shared * stats + c) * shared + i % shared);

            sum += pass == 0 ? v : 0.0;
            squares += pass == 0 ? 0.0 : (v - sum / count) * (v - sum / count);
        }
    }
    out.mean = sum / count;
    out.variance = squares / count;
    return out;
}

void batch_norm_ref(const struct kernel_batch_norm_data *data,
                    const struct kernel_batch_norm *shape)
{
    const struct kernel_batch_norm *s = shape;
    int64_t stats = s->channels * s->plane_stats,
            shared = s->plane / (s->plane_stats ? s->plane_stats : 1);

    for (int64_t c = 0; c < stats; c++) {
        struct statistics used = {ref_get_f64(data->mean, s->stat_dtype, c),
                                  ref_get_f64(data->variance, s->stat_dtype, c)};
        double scale = ref_get_f64(data->scale, s->scale_dtype, c);
        double bias = ref_get_f64(data->bias, s->scale_dtype, c);

        if (data->new_mean) {
            struct statistics own = measure(data->x, c, s);

            ref_set_f64(data->new_mean, s->stat_dtype, c,
                        used.mean * s->momentum + own.mean * (1.0 - s->momentum));
            ref_set_f64(data->new_variance, s->stat_dtype, c,
                        used.variance * s->momentum + own.variance * (1.0 - s->momentum));
            used = own;
        }
        for (int64_t i = 0; i < s->batch * shared; i++) {
            int64_t at = (i / shared * stats + c) * shared + i % shared;
            double x = ref_get_f64(data->x, s->dtype, at);

            ref_set_f64(data->y, s->dtype, at,
                        (x - used.mean) / sqrt(used.variance + s->epsilon) * scale + bias);
        }
    }
}
