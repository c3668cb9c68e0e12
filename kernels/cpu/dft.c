/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms by parts: one of n numbers is p of n / p numbers each, for each factor p of n.
 * Prime factors beyond a few take as long as the reference. In f64. */
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"

struct plan {
    int64_t length;
    const double *roots; /* of unity: the length's, in order */
    double *few;         /* room for a factor's numbers */
};

static int64_t factor_of(int64_t n)
{
    if (n % 4 == 0)
        return 4;
    for (int64_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

/* z times root number `at`. */
static inline void turn(double *out_turned, const double *z, const double *roots, int64_t at)
{
    double c = roots[2 * at], d = roots[2 * at + 1];

    out_turned[0] = z[0] * c - z[1] * d;
    out_turned[1] = z[0] * d + z[1] * c;
}

static void join_two(double *y, int64_t m, int64_t step, const struct plan *plan)
{
    for (int64_t k = 0; k < m; k++) {
        double *a = y + 2 * k, *b = a + 2 * m, t[2];

        turn(t, b, plan->roots, k * step);
        b[0] = a[0] - t[0];
        b[1] = a[1] - t[1];
        a[0] += t[0];
        a[1] += t[1];
    }
}

static void join_four(double *y, int64_t m, int64_t step, const struct plan *plan)
{
    double sign = plan->roots[2 * (plan->length / 4) + 1]; /* of i in the fourth root */

    for (int64_t k = 0; k < m; k++) {
        double *a = y + 2 * k, *b = a + 2 * m, *c = b + 2 * m, *d = c + 2 * m, u[2], v[2], w[2];
        double sum[2], difference[2], cross[2], other[2];

        turn(u, b, plan->roots, k * step);
        turn(v, c, plan->roots, 2 * k * step);
        turn(w, d, plan->roots, 3 * k * step);
        for (int i = 0; i < 2; i++) {
            sum[i] = a[i] + v[i];
            difference[i] = a[i] - v[i];
            cross[i] = u[i] + w[i];
            other[i] = u[i] - w[i];
            a[i] = sum[i] + cross[i];
            c[i] = sum[i] - cross[i];
        }
        b[0] = difference[0] - sign * other[1];
        b[1] = difference[1] + sign * other[0];
        d[0] = difference[0] + sign * other[1];
        d[1] = difference[1] - sign * other[0];
    }
}

static void join_any(double *y, int64_t p, int64_t m, int64_t step, const struct plan *plan)
{
    int64_t length = plan->length, whole = length / p;

    for (int64_t k = 0; k < m; k++) {
        for (int64_t q = 0; q < p; q++)
            turn(plan->few + 2 * q, y + 2 * (q * m + k), plan->roots, q * k * step);
        for (int64_t r = 0; r < p; r++) {
            double *sum = y + 2 * (r * m + k);
            int64_t at = 0;

            sum[0] = sum[1] = 0.0;
            for (int64_t q = 0; q < p; q++) {
                double t[2];

                turn(t, plan->few + 2 * q, plan->roots, at);
                sum[0] += t[0];
                sum[1] += t[1];
                at += r * whole;
                at -= at >= length ? length : 0;
            }
        }
    }
}

/* y: n numbers; x: every stride-th. */
static void transform(double *y, const double *x, int64_t n, int64_t stride,
                      const struct plan *plan)
{
    int64_t p = factor_of(n), m = n / p;

    if (n == 1) {
        memcpy(y, x, 2 * sizeof(*y));
        return;
    }
    for (int64_t q = 0; q < p; q++)
        transform(y + 2 * q * m, x + 2 * q * stride, m, stride * p, plan);
    if (p == 2)
        join_two(y, m, stride, plan);
    else if (p == 4)
        join_four(y, m, stride, plan);
    else
        join_any(y, p, m, stride, plan);
}

static void load_line(double *line, const void *x, int64_t base, const struct kernel_dft *s)
{
    int64_t kept = s->is_half ? s->length / 2 + 1 : s->length;

    memset(line, 0, (size_t)s->length * 2 * sizeof(*line));
    kept = kept < s->in ? kept : s->in;
    for (int64_t n = 0; n < kept; n++) {
        int64_t at = (base + n * s->inner) * s->x_parts;

        for (int part = 0; part < s->x_parts; part++)
            line[2 * n + part] = s->dtype == KERNEL_F32 ? (double)((const float *)x)[at + part]
                                                        : ((const double *)x)[at + part];
    }
    for (int64_t n = 0; s->is_half && n <= s->length / 2; n++) {
        if (n == 0 || 2 * n == s->length)
            line[2 * n + 1] = 0.0;
        else {
            line[2 * (s->length - n)] = line[2 * n];
            line[2 * (s->length - n) + 1] = -line[2 * n + 1];
        }
    }
}

static void store_line(void *y, const double *line, int64_t base, const struct kernel_dft *s)
{
    double scale = s->is_inverse ? 1.0 / (double)s->length : 1.0;

    for (int64_t k = 0; k < s->out; k++) {
        int64_t at = (base + k * s->inner) * s->y_parts;

        for (int part = 0; part < s->y_parts; part++) {
            if (s->dtype == KERNEL_F32)
                ((float *)y)[at + part] = (float)(line[2 * k + part] * scale);
            else
                ((double *)y)[at + part] = line[2 * k + part] * scale;
        }
    }
}

void dft_portable(void *y, const void *x, void *workspace, const struct kernel_dft *shape)
{
    double *roots = workspace, *line = roots + 2 * shape->length;
    double *result = line + 2 * shape->length;
    struct plan plan = {shape->length, roots, result + 2 * shape->length};
    double angle = (shape->is_inverse ? 2.0 : -2.0) * M_PI / (double)shape->length;

    if (shape->dtype != KERNEL_F32 && shape->dtype != KERNEL_F64) {
        dft_ref(y, x, workspace, shape);
        return;
    }
    for (int64_t i = 0; i < shape->length; i++) {
        bool is_quarter = 4 * i % shape->length == 0; /* exact */

        roots[2 * i] = cos(angle * (double)i);
        roots[2 * i + 1] = sin(angle * (double)i);
        for (int part = 0; is_quarter && part < 2; part++)
            roots[2 * i + part] = nearbyint(roots[2 * i + part]);
    }
    for (int64_t at = 0; at < shape->outer * shape->inner; at++) {
        int64_t o = at / shape->inner, i = at % shape->inner;

        load_line(line, x, o * shape->in * shape->inner + i, shape);
        transform(result, line, shape->length, 1, &plan);
        store_line(y, result, o * shape->out * shape->inner + i, shape);
    }
}
