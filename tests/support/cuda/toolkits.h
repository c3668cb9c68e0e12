/* SPDX-License-Identifier: Apache-2.0 */
/* How long the records are that the libcupti of each toolkit writes: for the double, and for whoever
 * makes records himself. Held against the headers of toolkits by tests/flow/cuda_toolkit.py. */
#ifndef OPTRACE_TESTS_SUPPORT_CUDA_TOOLKITS_H
#define OPTRACE_TESTS_SUPPORT_CUDA_TOOLKITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cupti/records.h"

enum {
    TOOLKITS = 17,
    /* Kinds that nobody of ours reads. The last one no toolkit has: of one to come. */
    TOOLKIT_EXTERNAL = 39,
    TOOLKIT_GREEN_CONTEXT = 59,
    TOOLKIT_TO_COME = 71,
};

struct toolkit {
    const char *name;
    uint32_t version; /* what its library says of itself */
    uint16_t kernel, memcpy, memset, graph, sync, memory, overhead, event, context, pool, jit;
};
extern const struct toolkit toolkits[TOOLKITS]; /* 11.7 to 13.5 */

/** One whose records are shorter than any that are read; no toolkit's in particular. */
extern const struct toolkit toolkit_ancient;

/** 0: its library has no such kind, or it is none of the above. */
size_t toolkit_bytes(const struct toolkit *toolkit, uint32_t kind);

#endif
