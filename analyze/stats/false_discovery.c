/* SPDX-License-Identifier: Apache-2.0 */
/* The step-up procedure of Benjamini and Hochberg as corrected p values. */
#include "analyze/stats/false_discovery.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct tested {
    double p;
    size_t place;
};

static int compare_tested(const void *a, const void *b)
{
    const struct tested *left = a, *right = b;

    return (left->p > right->p) - (left->p < right->p);
}

int false_discovery_correct(const double *p, size_t count, double *out_corrected)
{
    struct tested *sorted = malloc((count ? count : 1) * sizeof(*sorted));
    size_t known = 0;
    double least = 1;

    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        out_corrected[i] = NAN;
        if (!isnan(p[i]))
            sorted[known++] = (struct tested){p[i], i};
    }
    if (known)
        qsort(sorted, known, sizeof(*sorted), compare_tested);
    for (size_t k = known; k > 0; k--) {
        least = fmin(least, sorted[k - 1].p * (double)known / (double)k);
        out_corrected[sorted[k - 1].place] = least;
    }
    free(sorted);
    return 0;
}
