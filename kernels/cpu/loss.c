/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of samples that are of a class, of f32 and f64: a block of samples at a time, rows of scores that lie dense, or
 * columns of them side by side. Losses are added up one by one, in whatever order they were computed. */
#include "kernels/cpu/isa.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/math_f64.h"
#include "kernels/cpu/reals.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

#include <math.h>

enum {
    SAMPLES = 256,   /* of a block */
    PART = 32,       /* classes whose powers are added up in f32 */
    GRAIN = 1 << 13, /* elements that are worth a second thread */
};

/* Samples of one block: the columns of an image from `first` on, or rows. */
struct block {
    const void *x;
    void *log_prob; /* or NULL */
    const struct kernel_class_loss *shape;
    int64_t step;    /* from sample to sample */
    double *normals; /* what is taken from each of its scores */
};

/* As the reference has it, where something is not finite. */
static double normal_ref(const void *x, int64_t first, const struct kernel_class_loss *s)
{
    double largest = -(double)INFINITY, sum = 0.0;

    for (int64_t c = 0; c < s->classes; c++)
        largest = fmax(largest, real_at(x, s->dtype, first + c * s->inner));
    for (int64_t c = 0; c < s->classes; c++)
        sum += exp(real_at(x, s->dtype, first + c * s->inner) - largest);
    return largest + log(sum);
}

ISA_BODY double row_f32(const float *x, int64_t count)
{
    float largest = math_largest(x, count);

    return (double)largest + log(math_sum_below(x, count, largest) * MATH_BELOW);
}

ISA_BODY double row_f64(const double *x, int64_t count)
{
    double largest = -(double)INFINITY, sum = 0.0;

#pragma omp simd reduction(max : largest)
    for (int64_t i = 0; i < count; i++)
        largest = x[i] > largest ? x[i] : largest;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; i++)
        sum += math_f64_exp_below(x[i] - largest);
    return largest + log(sum);
}

ISA_BODY float power_f32(float x, float least)
{
    return math_exp_below(x, least);
}

ISA_BODY double power_f64(double x, float least)
{
    (void)least;
    return math_f64_exp_below(x);
}

/* name_columns(): of neighbours; name_part(): of samples [begin, end) of a block. */
#define LOSS(name, type, below)                                                                    \
    ISA_BODY void columns_##name(double *normals, const type *x, int64_t columns, int64_t classes, \
                                 int64_t inner)                                                    \
    {                                                                                              \
        type largest[SAMPLES], parts[SAMPLES];                                                     \
        double sums[SAMPLES];                                                                      \
        float least = math_least();                                                                \
                                                                                                   \
        for (int64_t i = 0; i < columns; i++) {                                                    \
            largest[i] = x[i];                                                                     \
            sums[i] = 0.0;                                                                         \
        }                                                                                          \
        for (int64_t c = 1; c < classes; c++)                                                      \
            for (int64_t i = 0; i < columns; i++)                                                  \
                largest[i] = x[c * inner + i] > largest[i] ? x[c * inner + i] : largest[i];        \
        for (int64_t first = 0; first < classes; first += PART) {                                  \
            for (int64_t i = 0; i < columns; i++)                                                  \
                parts[i] = 0;                                                                      \
            for (int64_t c = first; c < classes && c < first + PART; c++)                          \
                for (int64_t i = 0; i < columns; i++)                                              \
                    parts[i] += power_##name(x[c * inner + i] - largest[i], least);                \
            for (int64_t i = 0; i < columns; i++)                                                  \
                sums[i] += (double)parts[i];                                                       \
        }                                                                                          \
        for (int64_t i = 0; i < columns; i++)                                                      \
            normals[i] = (double)largest[i] + log(sums[i] * (below));                              \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void take_##name(type *restrict y, const type *restrict x, int64_t count,             \
                              double normal)                                                       \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            y[i] = (type)((double)x[i] - normal);                                                  \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void take_columns_##name(type *restrict y, const type *restrict x, int64_t columns,   \
                                      const double *normals)                                       \
    {                                                                                              \
        for (int64_t i = 0; i < columns; i++)                                                      \
            y[i] = (type)((double)x[i] - normals[i]);                                              \
    }                                                                                              \
                                                                                                   \
    ISA_BODY void part_##name(const struct block *b, int64_t begin, int64_t end)                   \
    {                                                                                              \
        const struct kernel_class_loss *s = b->shape;                                              \
        const type *x = (const type *)b->x + begin * b->step;                                      \
        type *to = b->log_prob ? (type *)b->log_prob + begin * b->step : NULL;                     \
                                                                                                   \
        if (s->takes_scores && s->inner > 1)                                                       \
            columns_##name(b->normals + begin, x, end - begin, s->classes, s->inner);              \
        for (int64_t i = begin; i < end; i++) {                                                    \
            if (s->takes_scores && s->inner == 1)                                                  \
                b->normals[i] = row_##name(x + (i - begin) * b->step, s->classes);                 \
            else if (!s->takes_scores)                                                             \
                b->normals[i] = 0.0;                                                               \
            if (!isfinite(b->normals[i]))                                                          \
                b->normals[i] = normal_ref(b->x, i * b->step, s);                                  \
            if (to && s->inner == 1)                                                               \
                take_##name(to + (i - begin) * b->step, x + (i - begin) * b->step, s->classes,     \
                            b->normals[i]);                                                        \
        }                                                                                          \
        for (int64_t c = 0; to && s->inner > 1 && c < s->classes; c++)                             \
            take_columns_##name(to + c * s->inner, x + c * s->inner, end - begin,                  \
                                b->normals + begin);                                               \
    }

LOSS(f32, float, MATH_BELOW)
LOSS(f64, double, 1.0)

/* The sums over the samples so far. */
struct sums {
    double losses, weights;
};

struct operands {
    void *y;
    const void *labels, *weights;
    const struct kernel_class_loss *shape;
};

/* Adds `count` samples, of which `first` is the first; false where a label is no class. */
static bool add_block(struct sums *sums, const struct operands *o, const struct block *b,
                      int64_t first, int64_t count)
{
    const struct kernel_class_loss *s = o->shape;

    for (int64_t i = 0; i < count; i++) {
        int64_t label = s->label_type == KERNEL_I32 ? ((const int32_t *)o->labels)[first + i]
                                                    : ((const int64_t *)o->labels)[first + i];
        bool is_ignored = s->has_ignored && label == s->ignored;
        double weight = 0.0, loss = 0.0;

        if (!is_ignored) {
            if (label < 0 || label >= s->classes)
                return false;
            weight = o->weights ? real_at(o->weights, s->dtype, label) : 1.0;
            loss =
                (b->normals[i] - real_at(b->x, s->dtype, i * b->step + label * s->inner)) * weight;
        }
        if (s->reduction == LOSS_EACH)
            real_put(o->y, s->dtype, first + i, loss);
        sums->losses += loss;
        sums->weights += weight;
    }
    return true;
}

static void end_sums(const struct sums *sums, const struct operands *o)
{
    double loss = o->shape->reduction == LOSS_SUM ? sums->losses : sums->losses / sums->weights;

    if (o->shape->reduction == LOSS_EACH)
        return;
    real_put(o->y, o->shape->dtype, 0, loss);
}

static int add_blocks(const struct operands *o, const void *x, void *log_prob, team_fn *part)
{
    const struct kernel_class_loss *s = o->shape;
    int64_t lines = s->inner == 1 ? 1 : s->batch, samples = s->inner == 1 ? s->batch : s->inner;
    size_t bytes = s->dtype == KERNEL_F64 ? sizeof(double) : sizeof(float);
    struct sums sums = {0.0, 0.0};
    double normals[SAMPLES];

    for (int64_t line = 0; line < lines; line++) {
        for (int64_t first = 0; first < samples; first += SAMPLES) {
            int64_t count = samples - first < SAMPLES ? samples - first : SAMPLES;
            int64_t step = s->inner == 1 ? s->classes : 1;
            size_t at = (size_t)(line * s->classes * s->inner + first * step) * bytes;
            struct block b = {(const char *)x + at, NULL, s, step, normals};

            if (log_prob)
                b.log_prob = (char *)log_prob + at;
            team_for(count, GRAIN / s->classes + 1, part, &b);
            if (!add_block(&sums, o, &b, line * samples + first, count))
                return -1;
        }
    }
    end_sums(&sums, o);
    return 0;
}

static bool has_loop(const struct kernel_class_loss *s)
{
    return (s->dtype == KERNEL_F32 || s->dtype == KERNEL_F64) && s->classes > 0 && s->inner > 0 &&
           (s->label_type == KERNEL_I32 || s->label_type == KERNEL_I64);
}

#define CLASS_LOSS(isa)                                                                            \
    ISA_TARGET_##isa static void part_f32_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        part_f32(argument, begin, end);                                                            \
    }                                                                                              \
                                                                                                   \
    ISA_TARGET_##isa static void part_f64_##isa(void *argument, int64_t begin, int64_t end)        \
    {                                                                                              \
        part_f64(argument, begin, end);                                                            \
    }                                                                                              \
                                                                                                   \
    int class_loss_##isa(void *y, void *log_prob, const void *x, const void *labels,               \
                         const void *weights, const struct kernel_class_loss *s)                   \
    {                                                                                              \
        struct operands o = {y, labels, weights, s};                                               \
                                                                                                   \
        if (!has_loop(s))                                                                          \
            return class_loss_ref(y, log_prob, x, labels, weights, s);                             \
        return add_blocks(&o, x, log_prob,                                                         \
                          s->dtype == KERNEL_F64 ? part_f64_##isa : part_f32_##isa);               \
    }

ISA_VERSIONS(CLASS_LOSS)
