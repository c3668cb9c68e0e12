/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms, bands of frequencies and random numbers, the truth. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"

#include <math.h>

struct number {
    double real, imaginary;
};

/* Number n of a line that begins at `base`, with what is not stored. */
static struct number number_at(const void *x, int64_t base, int64_t n, const struct kernel_dft *s)
{
    bool is_mirrored = s->is_half && n > s->length / 2;
    int64_t from = is_mirrored ? s->length - n : n;
    int64_t at = (base + from * s->inner) * s->x_parts;
    struct number number = {0.0, 0.0};

    if (from >= s->in)
        return number;
    number.real = ref_get_f64(x, s->dtype, at);
    if (s->x_parts == 2 && !(s->is_half && (from == 0 || 2 * from == s->length)))
        number.imaginary = ref_get_f64(x, s->dtype, at + 1);
    if (is_mirrored)
        number.imaginary = -number.imaginary;
    return number;
}

/* Root number `step` of unity; those of quarter turns are exact. */
static struct number root_of(int64_t step, const struct kernel_dft *s)
{
    static const double quarters[] = {0.0, 1.0, 0.0, -1.0};
    double turn = (s->is_inverse ? 2.0 : -2.0) * M_PI / (double)s->length;
    int64_t quarter = 4 * step / s->length;

    if (4 * step % s->length == 0)
        return (struct number){quarters[(quarter + 1) % 4],
                               s->is_inverse ? quarters[quarter] : -quarters[quarter]};
    return (struct number){cos(turn * (double)step), sin(turn * (double)step)};
}

static struct number transform(const void *x, int64_t base, int64_t k, const struct kernel_dft *s)
{
    double scale = s->is_inverse ? 1.0 / (double)s->length : 1.0;
    struct number sum = {0.0, 0.0};
    int64_t step = 0; /* k n modulo the length */

    for (int64_t n = 0; n < s->length; n++) {
        struct number number = number_at(x, base, n, s);
        struct number root = root_of(step, s);

        sum.real += number.real * root.real - number.imaginary * root.imaginary;
        sum.imaginary += number.real * root.imaginary + number.imaginary * root.real;
        step = (step + k) % s->length;
    }
    return (struct number){sum.real * scale, sum.imaginary * scale};
}

void dft_ref(void *y, const void *x, void *workspace, const struct kernel_dft *shape)
{
    (void)workspace;
    for (int64_t line = 0; line < shape->outer * shape->inner; line++) {
        int64_t o = line / shape->inner, i = line % shape->inner;

        for (int64_t k = 0; k < shape->out; k++) {
            struct number number = transform(x, o * shape->in * shape->inner + i, k, shape);
            int64_t at = ((o * shape->out + k) * shape->inner + i) * shape->y_parts;

            ref_set_f64(y, shape->dtype, at, number.real);
            if (shape->y_parts == 2)
                ref_set_f64(y, shape->dtype, at + 1, number.imaginary);
        }
    }
}

/* Mel */

/* The number of the frequency that edge i of the bands falls on. */
static double edge_of(int64_t i, const struct kernel_mel *s)
{
    double low = 2595.0 * log10(1.0 + s->low / 700.0);
    double high = 2595.0 * log10(1.0 + s->high / 700.0);
    double mel = low + (double)i * (high - low) / (double)(s->bands + 2);

    return floor((double)(s->length + 1) * 700.0 * expm1(mel / 2595.0 * M_LN10) / s->sample_rate);
}

/* The height of the triangle of three edges over frequency j. */
static double height(double j, const double *edges)
{
    double left = edges[1] - edges[0], right = edges[2] - edges[1];

    if (j == edges[1])
        return 1.0;
    if (j < edges[1])
        return left > 0.0 && j >= edges[0] ? (j - edges[0]) / left : 0.0;
    return right > 0.0 && j < edges[2] ? (edges[2] - j) / right : 0.0;
}

int mel_ref(void *y, const struct kernel_mel *shape)
{
    int64_t frequencies = shape->length / 2 + 1;

    for (int64_t band = 0; band < shape->bands; band++) {
        double edges[3];

        for (int i = 0; i < 3; i++)
            edges[i] = edge_of(band + i, shape);
        /* Behind the last edge there may be nothing. */
        if (!(edges[0] >= 0.0 && edges[1] >= 0.0 && edges[0] < (double)frequencies &&
              edges[1] < (double)frequencies && edges[2] <= (double)frequencies))
            return -1;
        for (int64_t j = 0; j < frequencies; j++)
            ref_set_f64(y, shape->dtype, j * shape->bands + band, height((double)j, edges));
    }
    return 0;
}

/* Random numbers */

/* SplitMix64's steps: each of 2^64 places has its own number. */
static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In [0, 1). */
static double fraction(uint64_t seed, uint64_t i)
{
    return (double)(mix(seed ^ mix(i)) >> 11) * 0x1p-53;
}

void random_ref(void *y, size_t count, const struct kernel_random *shape)
{
    uint64_t seed = mix(shape->seed);

    for (uint64_t i = 0; i < count; i++) {
        double number = fraction(seed, 2 * i);

        if (shape->is_normal) /* two uniform numbers to a place in the plane */
            number = shape->a + shape->b * sqrt(-2.0 * log1p(-number)) *
                                    cos(2.0 * M_PI * fraction(seed, 2 * i + 1));
        else
            number = shape->a + number * (shape->b - shape->a);
        ref_set_f64(y, shape->dtype, (int64_t)i, number);
    }
}
