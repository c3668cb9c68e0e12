/* SPDX-License-Identifier: Apache-2.0 */
/* A small store whose every figure can be worked out by hand. */
#ifndef OPTRACE_TESTS_SUPPORT_STORE_SAMPLE_H
#define OPTRACE_TESTS_SUPPORT_STORE_SAMPLE_H

#include "schema/store/store.h"

/**
 * Fill an empty store with two sessions of a program "model". Each has ten runs, 10 ms apart, from
 * 2026-01-01 00:00:00 UTC and an hour later. A run is a label "forward" around a copy of 602,112
 * bytes, a convolution and a matrix product, each launched on lane "main" and executed on the queue
 * "worker". In the second session the convolution takes 1.2 ms instead of 0.8, run 1 is a warm-up,
 * run 5 is slow (the convolution takes 3.2 ms), memory is taken and given back, and the program
 * dies in a convolution, having lost 42 events.
 */
void store_sample_fill(struct store *store);

#endif
