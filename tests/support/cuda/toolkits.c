/* SPDX-License-Identifier: Apache-2.0 */
/* The lengths that the headers of 17 toolkits tell; see toolkits.h. */
#include "tests/support/cuda/toolkits.h"

const struct toolkit toolkits[TOOLKITS] = {
    {"11.7", 17, 176, 88, 88, 48, 40, 120, 40, 24, 16, 72, 0},
    {"11.8", 18, 200, 88, 88, 48, 40, 120, 40, 24, 16, 72, 64},
    {"12.0", 18, 208, 88, 88, 48, 40, 120, 40, 24, 16, 72, 64},
    {"12.1", 18, 208, 88, 88, 48, 40, 120, 40, 24, 16, 72, 64},
    {"12.2", 20, 208, 88, 88, 48, 40, 120, 40, 24, 16, 72, 64},
    {"12.3", 21, 208, 88, 88, 56, 40, 120, 48, 24, 16, 72, 64},
    {"12.4", 22, 208, 88, 88, 56, 40, 120, 56, 24, 24, 72, 72},
    {"12.5", 23, 208, 88, 88, 56, 40, 120, 56, 24, 32, 72, 72},
    {"12.6", 24, 208, 88, 88, 56, 40, 128, 56, 24, 32, 72, 72},
    {"12.8", 26, 208, 96, 88, 56, 56, 128, 56, 56, 32, 72, 72},
    {"12.9", 28, 208, 96, 88, 56, 56, 128, 56, 56, 32, 72, 72},
    {"13.0", 130001, 216, 96, 88, 56, 56, 128, 56, 56, 32, 80, 72},
    {"13.1", 130101, 224, 96, 88, 56, 56, 128, 56, 56, 40, 80, 72},
    {"13.2", 130202, 224, 96, 88, 56, 56, 128, 56, 56, 40, 80, 72},
    {"13.3", 130301, 232, 96, 88, 56, 56, 128, 56, 56, 40, 80, 72},
    {"13.4", 130401, 248, 112, 104, 56, 56, 128, 56, 56, 40, 80, 72},
    {"13.5", 130500, 248, 112, 104, 56, 56, 128, 56, 80, 40, 80, 72},
};

const struct toolkit toolkit_ancient = {"ancient", 12, 144, 64, 64, 0, 40, 0, 40, 24, 16, 0, 0};

size_t toolkit_bytes(const struct toolkit *toolkit, uint32_t kind)
{
    switch (kind) {
    case CUPTI_KERNEL:
        return toolkit->kernel;
    case CUPTI_MEMCPY:
        return toolkit->memcpy;
    case CUPTI_MEMCPY2:
        return sizeof(struct cupti_memcpy2);
    case CUPTI_MEMSET:
        return toolkit->memset;
    case CUPTI_GRAPH:
        return toolkit->graph;
    case CUPTI_SYNC:
        return toolkit->sync;
    case CUPTI_MEMORY:
        return toolkit->memory;
    case CUPTI_OVERHEAD:
        return toolkit->overhead;
    case CUPTI_EVENT:
        return toolkit->event;
    case CUPTI_CONTEXT:
        return toolkit->context;
    case CUPTI_POOL:
        return toolkit->pool;
    case CUPTI_JIT:
        return toolkit->jit;
    case TOOLKIT_EXTERNAL:
        return 24;
    case TOOLKIT_GREEN_CONTEXT:
        return toolkit->version >= 130400 ? 304 : toolkit->version >= 130200 ? 168 : 0;
    case TOOLKIT_TO_COME:
        return 40;
    default:
        return 0;
    }
}
