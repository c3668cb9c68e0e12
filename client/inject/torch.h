/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch, which is looked for when a library has been loaded. Inside client/inject only. */
#ifndef OPTRACE_CLIENT_INJECT_TORCH_H
#define OPTRACE_CLIENT_INJECT_TORCH_H

#include <stdbool.h>

#include "client/inject/torch_layout.h"

/** Begin to listen to libtorch, if it is there by now and is wanted. Any thread; not while a library
 *  is being loaded by it. */
void torch_look(void);

/** A function that libtorch_cpu exports; NULL: there is none, or it was not found yet. */
void (*torch_function(const char *name))(void);

/** An op of which libtorch tells nobody, as it begins and ends on this thread. What is told meanwhile
 *  lies within it; where it calls itself by another way, that is not told twice.
 *
 *  call  an address that is its own until it has ended
 *  name  one that stays, as ATen has it
 *
 *  Returns whether it is to be ended. */
bool torch_call_begin(const void *call, const char *name, struct torch_values inputs);
void torch_call_end(const void *call, struct torch_values outputs);

#endif
