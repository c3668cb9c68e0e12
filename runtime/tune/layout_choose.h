/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --layout-transform: each operator that can compute on row-major and on channels-last images is
 * timed on both, and so is moving each tensor from one to the other; the cheapest choice for the
 * whole graph is taken where it saves 3 % or more of what the rules choose. On a device, where it is
 * by the device's clock, the rules are row-major images everywhere; --fast-run does the same there. Or all
 * convolutions in one layout.
 */
#ifndef OPTRACE_RUNTIME_TUNE_LAYOUT_CHOOSE_H
#define OPTRACE_RUNTIME_TUNE_LAYOUT_CHOOSE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "runtime/exec/choosers.h"
#include "runtime/graph/graph.h"

enum layout_wish {
    LAYOUT_BY_TIME,
    LAYOUT_NHWC, /* convolutions on channels-last images; what comes behind takes what it gets */
    LAYOUT_NCHW,
};

struct device_choice;

/** Made by the caller, who frees text; one for all executions of one model. */
struct layout_choice {
    struct layout_chooser chooser; /* first; layout_chooser() fills in all but whether it yields */
    FILE *out;                     /* where it says what it did; NULL: nowhere */
    enum layout_wish wish;
    const char *option;                    /* that asked for it; NULL: "--layout-transform" */
    const struct device_choice *on_device; /* of whoever computes on a device; NULL: no matter */
    bool only_recalls; /* of a device: by what its memory knows alone, all of it, else by rule */
    bool is_verbose;
    pthread_mutex_t lock;
    char *text; /* format_text() of what was chosen for the first of them; NULL: nothing yet */
};

/**
 * The chooser of a choice. The second execution gets what was chosen for the first. It returns 0 or
 * -ENOMEM; errors of format_parse().
 */
struct layout_chooser *layout_chooser(struct layout_choice *choice);

#endif
