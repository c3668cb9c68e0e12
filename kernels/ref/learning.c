/* SPDX-License-Identifier: Apache-2.0 */
/* Ensembles of trees, distances, probabilities of pairs, the truth. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/kernels.h"
#include "kernels/ref/number.h"

static bool answer(const struct kernel_tree_node *node, double x)
{
    if (isnan(x) && node->takes_nan)
        return true;
    switch (node->test) {
    case TREE_LEQ:
        return x <= node->threshold;
    case TREE_LT:
        return x < node->threshold;
    case TREE_GEQ:
        return x >= node->threshold;
    case TREE_GT:
        return x > node->threshold;
    case TREE_EQ:
        return x == node->threshold;
    default:
        return x != node->threshold;
    }
}

/* What the tree tells of a target; false: nothing. */
static bool tell(const struct kernel_trees *t, int64_t tree, const void *x, int64_t row,
                 int64_t target, double *out_sum)
{
    const struct kernel_tree_node *node = &t->nodes[t->roots[tree]];
    bool found = false;

    while (node->test != TREE_LEAF) {
        double feature = ref_get_f64(x, t->dtype, row * t->features + node->feature);

        node = &t->nodes[answer(node, feature) ? node->yes : node->no];
    }
    *out_sum = 0.0;
    for (int32_t i = 0; i < node->no; i++) {
        const struct kernel_tree_weight *weight = &t->weights[node->yes + i];

        if (weight->target != target)
            continue;
        *out_sum += weight->weight;
        found = true;
    }
    return found;
}

void trees_ref(void *y, const void *x, const struct kernel_trees *trees)
{
    const struct kernel_trees *t = trees;

    for (int64_t i = 0; i < t->rows * t->targets; i++) {
        double all = 0.0, one;
        bool found = false;

        for (int64_t tree = 0; tree < t->tree_count; tree++) {
            if (!tell(t, tree, x, i / t->targets, i % t->targets, &one))
                continue;
            if (!found || t->sum == TREE_SUM || t->sum == TREE_AVERAGE)
                all += one;
            else
                all = t->sum == TREE_MIN ? fmin(all, one) : fmax(all, one);
            found = true;
        }
        if (t->sum == TREE_AVERAGE)
            all /= (double)t->tree_count;
        ref_set_f64(y, t->result, i, all + (t->base ? t->base[i % t->targets] : 0.0));
    }
}

void distances_ref(void *y, const void *a, const void *b, const struct kernel_distances *shape)
{
    const struct kernel_distances *s = shape;

    for (int64_t i = 0; i < s->m * s->n; i++) {
        double sum = 0.0;

        for (int64_t p = 0; p < s->k; p++) {
            double difference = ref_get_f64(a, s->dtype, i / s->n * s->k + p) -
                                ref_get_f64(b, s->dtype, i % s->n * s->k + p);

            sum += s->is_absolute ? fabs(difference) : difference * difference;
        }
        ref_set_f64(y, s->dtype, i, s->is_root ? sqrt(sum) : sum);
    }
}

/* r [k, k]: how probable the row's class is where it or the column's is right. */
static void put_pairs(float *r, const float *scores, const float *a, const float *b, int64_t k)
{
    const float least = 1e-7f;
    int64_t pair = 0;

    for (int64_t i = 0; i < k; i++)
        for (int64_t j = i + 1; j < k; j++, pair++) {
            const float p = 1.0f / (1.0f + expf(a[pair] * scores[pair] + b[pair]));

            r[i * k + j] = fminf(fmaxf(p, least), 1.0f - least);
            r[j * k + i] = 1.0f - r[i * k + j];
        }
}

/* Their distances are p' Q p. */
static void put_q(float *q, const float *r, int64_t k)
{
    for (int64_t i = 0; i < k; i++) {
        q[i * k + i] = 0.0f;
        for (int64_t j = 0; j < k; j++) {
            if (j == i)
                continue;
            q[i * k + i] += r[j * k + i] * r[j * k + i];
            q[i * k + j] = -r[j * k + i] * r[i * k + j];
        }
    }
}

/* Returns how far off the worst one is. */
static float multiply(float *qp, float *out_pqp, const float *q, const float *p, int64_t k)
{
    float pqp = 0.0f, worst = 0.0f;

    for (int64_t i = 0; i < k; i++) {
        qp[i] = 0.0f;
        for (int64_t j = 0; j < k; j++)
            qp[i] += q[i * k + j] * p[j];
        pqp += p[i] * qp[i];
    }
    for (int64_t i = 0; i < k; i++)
        worst = fmaxf(worst, fabsf(qp[i] - pqp));
    *out_pqp = pqp;
    return worst;
}

/* One probability after the other, and all made 1 together again. */
static void improve(float *p, float *qp, float pqp, const float *q, int64_t k)
{
    for (int64_t i = 0; i < k; i++) {
        const float change = (pqp - qp[i]) / q[i * k + i], all = 1.0f + change;

        p[i] += change;
        pqp = (pqp + change * (change * q[i * k + i] + 2.0f * qp[i])) / all / all;
        for (int64_t j = 0; j < k; j++) {
            qp[j] = (qp[j] + change * q[i * k + j]) / all;
            p[j] /= all;
        }
    }
}

int coupling_ref(float *y, const float *scores, const float *a, const float *b,
                 const struct kernel_coupling *shape)
{
    const int64_t k = shape->classes, pairs = k * (k - 1) / 2, steps = k > 100 ? k : 100;
    float *r = malloc((size_t)(2 * k * k + k) * sizeof(*r)), *q = r + k * k, *qp = q + k * k, pqp;

    if (!r)
        return -ENOMEM;
    for (int64_t row = 0; row < shape->rows; row++) {
        float *p = y + row * k;

        put_pairs(r, scores + row * pairs, a, b, k);
        put_q(q, r, k);
        for (int64_t i = 0; i < k; i++)
            p[i] = 1.0f / (float)k;
        for (int64_t step = 0; step < steps; step++) {
            if (multiply(qp, &pqp, q, p, k) < 0.005f / (float)k)
                break;
            improve(p, qp, pqp, q, k);
        }
    }
    free(r);
    return 0;
}

/* N-grams */

static int64_t item_of(const void *x, enum kernel_dtype dtype, int64_t i)
{
    return dtype == KERNEL_I64 ? ((const int64_t *)x)[i] : ((const int32_t *)x)[i];
}

/* The gram of `size` elements from `first` on, each `step` behind the other; NULL: it is not known. */
static const struct kernel_gram *find_gram(const void *x, const struct kernel_ngrams *s,
                                           int64_t first, int64_t step, int64_t size, uint64_t hash)
{
    for (uint64_t slot = hash & s->slot_mask; s->slots[slot]; slot = (slot + 1) & s->slot_mask) {
        const struct kernel_gram *gram = &s->grams[s->slots[slot] - 1];
        int64_t i = 0;

        if (gram->size != size)
            continue;
        while (i < size && s->items[gram->first + i] == item_of(x, s->dtype, first + i * step))
            i++;
        if (i == size)
            return gram;
    }
    return NULL;
}

static void count_row(float *y, const void *x, const struct kernel_ngrams *s, int64_t row)
{
    const int64_t begin = row * s->length, end = begin + s->length;

    for (int64_t step = 1; step <= s->skips + 1 && (step == 1 || step < s->length); step++)
        for (int64_t first = begin; first < end; first++) {
            uint64_t hash = 0;

            for (int64_t size = 1, at = first; size <= s->longest && at < end; size++, at += step) {
                const struct kernel_gram *gram = NULL;

                hash = kernel_gram_hash(hash, item_of(x, s->dtype, at));
                if (size >= s->shortest && (size > 1 || step == 1))
                    gram = find_gram(x, s, first, step, size, hash);
                if (gram && s->has_counts)
                    y[gram->column] += gram->weight;
                else if (gram)
                    y[gram->column] = gram->weight;
            }
        }
}

void ngrams_ref(float *y, const void *x, const struct kernel_ngrams *s)
{
    for (int64_t row = 0; row < s->rows; row++) {
        float *counts = y + row * s->columns;

        for (int64_t i = 0; i < s->columns; i++)
            counts[i] = 0.0f;
        count_row(counts, x, s, row);
    }
}
