/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --layout-transform: each operator that can compute on row-major and on channels-last images is
 * timed on both, and so is moving each tensor from one to the other; the cheapest choice for the
 * whole graph is taken where it saves 3 % or more of what the rules choose.
 */
#ifndef OPTRACE_RUNTIME_LAYOUT_CHOOSE_H
#define OPTRACE_RUNTIME_LAYOUT_CHOOSE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "runtime/graph.h"

/** Made by the caller, who frees text; one for all executions of one model. */
struct layout_choice {
    FILE *out; /* where it says what it did; NULL: nowhere */
    bool is_verbose;
    pthread_mutex_t lock;
    char *text; /* format_text() of what was chosen for the first of them; NULL: nothing yet */
};

/**
 * out_formats  graph->node_count of them, enum format: FORMAT_BY_RULE where the rules' choice stays
 *
 * The second execution gets what was chosen for the first. On the thread that will run the graph.
 * Returns 0 or -ENOMEM; errors of format_parse().
 */
int layout_choose(struct layout_choice *choice, const struct graph *graph, uint8_t *out_formats,
                  struct diag *diag);

#endif
