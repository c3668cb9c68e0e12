/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When steps ran on a GPU, by the records that CUPTI makes of kernels and copies. A libcupti is opened
 * at run time, at the first run that somebody observes, and stays: there is one for a process, and one
 * execution at a time has it.
 *
 * Order of calls: for each run cuda_records_begin(), cuda_records_step() around what is handed over,
 * and once all of it is done cuda_records_end(); at last cuda_records_leave(). One thread hands over;
 * CUPTI may hand records back on any.
 */
#ifndef OPTRACE_RUNTIME_EXEC_CUDA_RECORDS_H
#define OPTRACE_RUNTIME_EXEC_CUDA_RECORDS_H

#include <stdint.h>

#include "runtime/exec/backend.h"

/** A run of so many steps begins on a device that is idle. Returns NULL, or why nothing is recorded: a
 *  text that stays. */
const char *cuda_records_begin(const void *owner, uint32_t steps);

/** What the calling thread hands over from now on is a part of this step; UINT32_MAX: of none. In a run
 *  that is recorded. */
void cuda_records_step(uint32_t step);

/**
 * out_spans  by step; they stay until the next begin
 *
 * Returns NULL, or why they are not whole: a text that stays.
 */
const char *cuda_records_end(const struct device_span **out_spans);

/** "CUPTI 13.5"; NULL: none was opened. */
const char *cuda_records_name(void);

/** Others may have it. */
void cuda_records_leave(const void *owner);

#endif
