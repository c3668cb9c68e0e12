/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of samples that are of a class: the truth. */
#include <math.h>

#include "kernels/kernels.h"
#include "kernels/ref/number.h"

/* What is taken from each score of a sample: the logarithm of the sum of their exponentials. */
static double log_of_sum(const void *x, int64_t first, const struct kernel_class_loss *s)
{
    double largest = -INFINITY, sum = 0.0;

    for (int64_t c = 0; c < s->classes; c++)
        largest = fmax(largest, ref_get_f64(x, s->dtype, first + c * s->inner));
    for (int64_t c = 0; c < s->classes; c++)
        sum += exp(ref_get_f64(x, s->dtype, first + c * s->inner) - largest);
    return largest + log(sum);
}

int class_loss_ref(void *y, void *log_prob, const void *x, const void *labels, const void *weights,
                   const struct kernel_class_loss *s)
{
    double sum = 0.0, of_weights = 0.0;

    for (int64_t i = 0; i < s->batch * s->inner; i++) {
        int64_t first = i / s->inner * s->classes * s->inner + i % s->inner;
        int64_t label = ref_get_i64(labels, s->label_type, i);
        bool is_ignored = s->has_ignored && label == s->ignored;
        double normal = s->takes_scores ? log_of_sum(x, first, s) : 0.0, weight, loss;

        for (int64_t c = 0; log_prob && c < s->classes; c++) {
            int64_t at = first + c * s->inner;

            ref_set_f64(log_prob, s->dtype, at, ref_get_f64(x, s->dtype, at) - normal);
        }
        if (!is_ignored && (label < 0 || label >= s->classes))
            return -1;
        weight = is_ignored ? 0.0 : weights ? ref_get_f64(weights, s->dtype, label) : 1.0;
        loss = is_ignored ? 0.0
                          : (normal - ref_get_f64(x, s->dtype, first + label * s->inner)) * weight;
        if (s->reduction == LOSS_EACH)
            ref_set_f64(y, s->dtype, i, loss);
        sum += loss;
        of_weights += weight;
    }
    if (s->reduction != LOSS_EACH)
        ref_set_f64(y, s->dtype, 0, s->reduction == LOSS_SUM ? sum : sum / of_weights);
    return 0;
}
