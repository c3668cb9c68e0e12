/* SPDX-License-Identifier: Apache-2.0 */
/* An execution against the truth: the same graph, computed node by node with eval_node(). */
#ifndef OPTRACE_TESTS_SUPPORT_EXEC_CHECK_H
#define OPTRACE_TESTS_SUPPORT_EXEC_CHECK_H

#include "runtime/exec/exec.h"
#include "runtime/graph/graph.h"

/** Uniform in [-1, 1), from *state. */
float exec_check_random(uint32_t *state);

/** exec_create() that fails the test with the diagnosis. */
struct exec *exec_check_create(const struct graph *graph, uint32_t threads);

/** Run once with made-up float inputs in [-scale / 2, scale / 2), the same ones for the same
 * shapes; a copy of output 0, float32, which the caller frees. */
float *exec_check_run(struct exec *exec, const struct graph *graph, float scale);

/**
 * Compute a graph of known shapes both ways, with random float inputs from `seed`: three runs each
 * with one and with two threads. Fails the test, naming `what`, where an element is further off
 * than 1e-5 + 1e-5 * |expected|, times `slack`.
 */
void exec_check_graph(const struct graph *graph, uint32_t seed, double slack, const char *what);

#endif
