/* SPDX-License-Identifier: Apache-2.0 */
/* A graph stored in half precision against the same graph in float32. */
#ifndef OPTRACE_TESTS_SUPPORT_HALF_CHECK_H
#define OPTRACE_TESTS_SUPPORT_HALF_CHECK_H

#include "runtime/graph/graph.h"

enum { HALF_CHECK_TYPES = 2 };

struct half_check {
    /* The same graph each time, without shapes; its inputs are float32. */
    struct graph *(*build)(void *user);
    void *user;
    const char *what; /* for messages */
    float low, high;  /* inputs are uniform in [low, high); both 0: in [-1, 1) */
    uint32_t seed;
    double slack; /* how many of the type's roundings, of 1 + |expected|, may lie between */
    /* Outputs, a bit for each, that may be anything finite: something was decided on the way to
     * them that a rounding decides otherwise. */
    uint32_t loose;
    bool is_tuned; /* once more with kernels that are timed and compared, as by --full-run */
};

/**
 * Optimise and run as load_and_run does: in float32, then stored in float16 and in bfloat16, by one
 * and by two threads, with and without sharing memory between tensors. Fails the test where that is
 * refused, where a float32 output is not finite though it is so in float32, or too far off, and
 * where another output is not the same. out_counts: how many values are stored in each type; NULL.
 */
void half_check(const struct half_check *check, uint32_t out_counts[HALF_CHECK_TYPES]);

#endif
