/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results that PyTorch need not keep for us. It keeps the result of each op that somebody wants to
 * see, which takes longer than all that is done with it here; an op in place has the shape of its
 * first argument, which is seen anyway. So each call says itself that nobody wants its result.
 *
 * Where a RecordFunction has that is found out by exported functions on buffers of ours: two that
 * are made with one wish and without differ in one byte.
 *
 * Inside client/inject only.
 */
#ifndef OPTRACE_CLIENT_INJECT_TORCH_OUTPUTS_H
#define OPTRACE_CLIENT_INJECT_TORCH_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

enum { TORCH_SCOPES = 10 };

/* A RecordFunctionCallback, from 1.13 to 2.15. */
struct torch_callback {
    void *(*start)(void **out_context, const void *function);
    void (*end)(const void *function, void *context);
    double probability;
    bool scopes[TORCH_SCOPES];
    bool needs_inputs, needs_outputs, needs_ids;
    char padding[3];
};

/* libtorch's list of them. */
struct torch_callbacks {
    uint64_t (*add)(struct torch_callback callback);
    void (*remove)(uint64_t handle);
};

/** Find out, once, before any op is told of; where that fails, results are kept. Callbacks of a kind
 *  that no op is of come and go meanwhile. */
void torch_outputs_find(void *library, const struct torch_callbacks *callbacks);

/** While the start of this call is told: have its result not kept. False: it is kept, as this was not
 *  found out, or somebody else listens too. */
bool torch_outputs_leave(const void *function);

#endif
