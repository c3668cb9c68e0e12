/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation: one multiplication and one addition per element. Those of f64, of mixed types and of training are
 * computed in f64. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/reals.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <math.h>

enum {
    BLOCK = 256,     /* channels at a time */
    GRAIN = 1 << 14, /* elements that are worth a second thread */
};

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

/* --- Of f32 and f64 in any mixture, and training: channels [begin, end). --- */

struct channels {
    const struct kernel_batch_norm_data *data;
    const struct kernel_batch_norm *shape;
};

/* What is normalised by: that of x itself goes beside what was given, too. */
static void use_statistics(const struct channels *p, int64_t c, double *mean, double *variance)
{
    const struct kernel_batch_norm *s = p->shape;
    double old_mean = real_at(p->data->mean, s->stat_dtype, c);
    double old_variance = real_at(p->data->variance, s->stat_dtype, c);

    if (p->data->new_mean) {
        real_put(p->data->new_mean, s->stat_dtype, c,
                 old_mean * s->momentum + *mean * (1.0 - s->momentum));
        real_put(p->data->new_variance, s->stat_dtype, c,
                 old_variance * s->momentum + *variance * (1.0 - s->momentum));
        return;
    }
    *mean = old_mean;
    *variance = old_variance;
}

#define CHANNELS(name, type)                                                                       \
    /* Mean and variance of x, one after the other. */                                             \
    ISA_BODY void measure_##name(const struct channels *p, int64_t c, double *mean,                \
                                 double *variance)                                                 \
    {                                                                                              \
        const struct kernel_batch_norm *s = p->shape;                                              \
        double sum = 0.0, squares = 0.0, count = (double)(s->batch * s->plane);                    \
                                                                                                   \
        for (int64_t n = 0; n < s->batch; n++) {                                                   \
            const type *x = (const type *)p->data->x + (n * s->channels + c) * s->plane;           \
                                                                                                   \
            _Pragma("omp simd reduction(+ : sum)") for (int64_t i = 0; i < s->plane; i++) sum +=   \
                (double)x[i];                                                                      \
        }                                                                                          \
        *mean = sum / count;                                                                       \
        for (int64_t n = 0; n < s->batch; n++) {                                                   \
            const type *x = (const type *)p->data->x + (n * s->channels + c) * s->plane;           \
            double middle = *mean;                                                                 \
                                                                                                   \
            _Pragma("omp simd reduction(+ : squares)") for (int64_t i = 0; i < s->plane; i++)      \
                squares += ((double)x[i] - middle) * ((double)x[i] - middle);                      \
        }                                                                                          \
        *variance = squares / count;                                                               \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void apply_##name(const struct channels *p, int64_t first, int64_t count,             \
                               const double *mean, const double *a, const double *b)               \
    {                                                                                              \
        const struct kernel_batch_norm *s = p->shape;                                              \
                                                                                                   \
        for (int64_t n = 0; n < s->batch; n++) {                                                   \
            int64_t at = (n * s->channels + first) * s->plane;                                     \
            const type *x = (const type *)p->data->x + at;                                         \
            type *y = (type *)p->data->y + at;                                                     \
                                                                                                   \
            for (int64_t i = 0; s->plane == 1 && i < count; i++)                                   \
                y[i] = (type)(((double)x[i] - mean[i]) * a[i] + b[i]);                             \
            for (int64_t c = 0; s->plane > 1 && c < count; c++, x += s->plane, y += s->plane) {    \
                double m = mean[c], factor = a[c], summand = b[c];                                 \
                                                                                                   \
                for (int64_t i = 0; i < s->plane; i++)                                             \
                    y[i] = (type)(((double)x[i] - m) * factor + summand);                          \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void channels_##name(const struct channels *p, int64_t begin, int64_t end)            \
    {                                                                                              \
        const struct kernel_batch_norm *s = p->shape;                                              \
        double mean[BLOCK], a[BLOCK], b[BLOCK];                                                    \
                                                                                                   \
        for (int64_t first = begin; first < end; first += BLOCK) {                                 \
            int64_t count = end - first < BLOCK ? end - first : BLOCK;                             \
                                                                                                   \
            for (int64_t i = 0; i < count; i++) {                                                  \
                double variance = 0.0;                                                             \
                                                                                                   \
                mean[i] = 0.0;                                                                     \
                if (p->data->new_mean)                                                             \
                    measure_##name(p, first + i, &mean[i], &variance);                             \
                use_statistics(p, first + i, &mean[i], &variance);                                 \
                a[i] = real_at(p->data->scale, s->scale_dtype, first + i) /                        \
                       sqrt(variance + s->epsilon);                                                \
                b[i] = real_at(p->data->bias, s->scale_dtype, first + i);                          \
            }                                                                                      \
            apply_##name(p, first, count, mean, a, b);                                             \
        }                                                                                          \
    }

CHANNELS(f32, float)
CHANNELS(f64, double)

static bool is_wide(enum kernel_dtype dtype)
{
    return dtype == KERNEL_F32 || dtype == KERNEL_F64;
}

static bool has_loop(const struct kernel_batch_norm *s, bool is_training)
{
    return is_wide(s->dtype) && is_wide(s->scale_dtype) && is_wide(s->stat_dtype) &&
           s->plane_stats == 1 && s->batch > 0 && s->plane > (is_training ? 1 : 0);
}

#define BATCH_NORM(isa)                                                                            \
    ISA_TARGET_##isa void batch_norm_f32_##isa(                                                    \
        float *y, const float *x, const float *scale, const float *bias, const float *mean,        \
        const float *variance, float epsilon, size_t batch, size_t channels, size_t plane)         \
    {                                                                                              \
        const float *const statistics[4] = {scale, bias, mean, variance};                          \
                                                                                                   \
        batch_norm(y, x, statistics, epsilon, batch, channels, plane);                             \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void channels_part_##isa(void *argument, int64_t begin, int64_t end)   \
    {                                                                                              \
        const struct channels *p = argument;                                                       \
                                                                                                   \
        if (p->shape->dtype == KERNEL_F64)                                                         \
            channels_f64(p, begin, end);                                                           \
        else                                                                                       \
            channels_f32(p, begin, end);                                                           \
    }                                                                                              \
                                                                                                   \
    void batch_norm_##isa(const struct kernel_batch_norm_data *data,                               \
                          const struct kernel_batch_norm *shape)                                   \
    {                                                                                              \
        struct channels p = {data, shape};                                                         \
                                                                                                   \
        if (has_loop(shape, data->new_mean != NULL))                                               \
            team_for(shape->channels, GRAIN / (shape->batch * shape->plane) + 1,                   \
                     channels_part_##isa, &p);                                                     \
        else                                                                                       \
            batch_norm_ref(data, shape);                                                           \
    }

ISA_VERSIONS(BATCH_NORM)
