/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing kernels other than by default: by timing them, by what an earlier run found, by what
 * they declare, by how much scratch they need.
 *
 * Order: tuning_create(); any number of executions are made with it (exec_options.kernels), each of
 * which asks it while it is bound; tuning_destroy(). Executions may be made on
 * several threads at once: they choose one after the other, so that they do not disturb each
 * other's times.
 */
#ifndef OPTRACE_RUNTIME_TUNE_TUNE_H
#define OPTRACE_RUNTIME_TUNE_TUNE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "runtime/exec/bind.h"

enum tune_run {
    TUNE_NOTHING,
    TUNE_FAST, /* time all kernels but references */
    TUNE_FULL, /* and those */
};

struct tune_options {
    enum tune_run run;
    const char *policy_path;  /* NULL: none */
    bool reproducible;        /* only kernels that declare it */
    bool batch_equal;         /* and whose results for a sample prove not to depend on the others */
    int64_t shared_batch;     /* time with this batch, and use what was found with any; 0: no */
    uint64_t workspace_limit; /* bytes; UINT64_MAX: none */
    bool is_verbose;
    bool shows_progress;
    FILE *out; /* where it says what it did; NULL: nowhere */
};

/**
 * Reads the file of the policy. The chooser writes it where something was timed.
 *
 * Returns 0; -ENOENT when there is none and nothing would make it; errors of policy_load(); what
 * keeps the file from being written, if it will have to be; -ENOMEM.
 *
 * The chooser returns 0; -ENOTSUP when an operator has no kernel within the options, which diag
 * names; -ENOMEM; errors of policy_save().
 */
int tuning_create(const struct tune_options *options, struct kernel_chooser **out_tuning,
                  struct diag *diag);

/** Accepts NULL; sets *tuning to NULL. */
void tuning_destroy(struct kernel_chooser **tuning);

struct device_memory;

/**
 * What was timed on devices, in the file of the policy beside what was timed on the CPU.
 *
 * makes  this run times what the file lacks, and writes it
 *
 * Returns 0; -ENOENT when there is no file and nothing would make it; errors of policy_load(); what
 * keeps the file from being written, if it will have to be; -ENOMEM.
 */
int device_memory_open(const char *path, bool makes, struct device_memory **out_memory,
                       struct diag *diag);

/** Accepts NULL; sets *memory to NULL. */
void device_memory_close(struct device_memory **memory);

#endif
