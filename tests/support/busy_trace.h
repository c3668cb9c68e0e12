/* SPDX-License-Identifier: Apache-2.0 */
/* A Chrome trace in which much goes on: for reports that look at single spans. */
#ifndef OPTRACE_TESTS_SUPPORT_BUSY_TRACE_H
#define OPTRACE_TESTS_SUPPORT_BUSY_TRACE_H

#include <stdint.h>

/**
 * Write a trace of `runs` runs, ProfilerStep#0 and on. Two threads have ops nested up to three deep
 * with labels among them; they launch kernels, copies that block or not, and fills on three streams
 * of one device, of which some wait and some leave gaps; now and then a thread waits for the
 * device. The same seed gives the same trace. Fails the test when the file cannot be written.
 */
void busy_trace_write(const char *path, uint64_t seed, unsigned runs);

#endif
