/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops that a thread is in, by name: what a kernel belongs to that is captured now and runs later.
 * Kept only where CUDA is recorded (--gpu); ops of the program's own liboptrace are not in it.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_STACK_H
#define OPTRACE_CLIENT_INJECT_STACK_H

#include "client/inject/recorder.h"

#define STACK_SEPARATOR " > "

/** Constant once the recorder is open. */
extern bool stack_is_kept;

/** Have names of ops kept from now on, if they are wanted. While the recorder opens. */
void stack_open(struct recorder *opening);

void stack_push(struct optrace_span span, uint32_t op);

/** It, and what it is around. */
void stack_pop(struct optrace_span span);

/** Their names from the outermost on, STACK_SEPARATOR between them; from the front what does not fit
 *  is left out. Returns the length; 0: the thread is in none. */
size_t stack_path(char *out_path, size_t bytes);

#endif
