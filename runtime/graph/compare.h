/* SPDX-License-Identifier: Apache-2.0 */
/* Is a computed tensor what was expected? */
#ifndef OPTRACE_RUNTIME_GRAPH_COMPARE_H
#define OPTRACE_RUNTIME_GRAPH_COMPARE_H

#include "runtime/graph/graph.h"

/** Allowed: |got - expected| <= atol + rtol * |expected|, for floating types; bools and integers must
 *  be equal, but for those of 8 bits, which may be `quanta` from each other: most are quantised. */
struct tolerance {
    double rtol, atol;
    int quanta;
    double rms; /* above 0: in place of both, see struct comparison */
};

/**
 * What kernels of an operator may differ by: rtol, or where it is negative 1e-3 (2^-7 for bfloat16,
 * of which one that was rounded the other way is further off); atol, or where it is negative 1e-5
 * of the largest expected magnitude.
 */
struct tolerance compare_tolerance(const struct tensor_view *expected, double rtol, double atol);

/** The share of the largest expected magnitude that kernels of an operator may differ by. */
#define COMPARE_ATOL_SHARE 1e-5

/** What outputs may differ by where tensors between operators are rounded to a type, beside what is
 *  allowed anyway: rtol, and an atol that is atol_share of the largest expected magnitude. */
struct storage_tolerance {
    double rtol, atol_share;
};

/**
 * With u, the most that one rounding to the type is off by relative to the number (2^-11 for
 * float16, 2^-8 for bfloat16): rtol is 32 u, atol_share is 8 u; both are 0 for other types.
 *
 * Errors of many roundings grow with their root: a transformer of four layers, a hundred operators,
 * is off by 11 u of a number at most and by 3 u of the largest, networks of fifty convolutions by
 * less; a thousand operators come to three times that. Numbers that are small beside the others are
 * differences of larger ones and keep their error, hence atol_share. What was computed wrongly is
 * off by parts of the largest number itself.
 */
struct storage_tolerance compare_storage_tolerance(enum dtype dtype);

/** The largest magnitude that is finite, or 0. */
double compare_largest(const struct tensor_view *tensor);

struct comparison {
    bool same_form;     /* dtype and shape agree; the rest is 0 where they do not */
    int64_t count;      /* elements */
    int64_t mismatches; /* beyond the tolerance; all or none where `rms` decides */
    double rms; /* root of the mean square of what is different, relative to the largest magnitude;
                   0 where it was not asked for */
    /* The element that is worst in units of what is allowed for it; -1 where there is none. */
    int64_t worst_index;
    long double worst_expected, worst_got; /* the numbers of texts */
    double worst_error;   /* |got - expected|; infinity or NaN where one of them is not finite */
    double worst_allowed; /* atol + rtol * |expected| */
};

/** NaN equals NaN; infinities equal themselves. */
struct comparison compare_tensors(const struct tensor_view *got, const struct tensor_view *expected,
                                  const struct tolerance *tolerance);

bool comparison_passed(const struct comparison *comparison);

/** Whether compare_tensors() would pass, sooner known. */
bool compare_agree(const struct tensor_view *got, const struct tensor_view *expected,
                   const struct tolerance *tolerance);

/** Position of an element as "{1,0,5}". */
const char *compare_index_text(const struct shape *shape, int64_t index,
                               char out[SHAPE_TEXT_BYTES]);

#endif
