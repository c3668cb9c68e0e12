/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow: sizes of what a kernel computed, which its profiler is not told. Before a kernel runs, a
 * thread has it described, by a C++ symbol that tables of one library hold another's by; as the
 * description is told, with its end, its result is still there and is asked for by exported functions.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_TENSORFLOW_RESULT_H
#define OPTRACE_CLIENT_INJECT_TENSORFLOW_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Find the functions in the library that a handle of dlopen() is of. Once. */
void tensorflow_result_open(void *handle);

/** Sizes of the result of a kernel that has just run on this thread and is told of now: one that runs no
 *  others, ends where it is called, and calls its result "output". False: they are not known.
 *  text, length  its description
 *  rank          how many sizes it has */
bool tensorflow_result(const char *text, size_t length, int rank, int64_t *out_dims);

#endif
