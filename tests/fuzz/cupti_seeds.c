/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the seeds of the fuzz target `cupti` into a folder: a buffer of each toolkit, with a record of
 * each kind that is read and one that is not. tests/fuzz/cupti_seeds corpus/cupti */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/seed.h"
#include "tests/support/cuda/toolkits.h"

enum { HEAD = 2, BYTES_MAX = 4096, RECORD_MAX = 320, CUT = 8 };

#define START UINT64_C(1700000000000000000)

static union {
    uint32_t kind;
    uint8_t bytes[RECORD_MAX];
    struct cupti_kernel kernel;
    struct cupti_memcpy copy;
    struct cupti_memcpy2 copy2;
    struct cupti_memset set;
    struct cupti_graph graph;
    struct cupti_sync wait;
    struct cupti_event event;
    struct cupti_memory memory;
    struct cupti_pool pool;
    struct cupti_jit jit;
    struct cupti_context context;
    struct cupti_overhead overhead;
} records[] = {
    {.context = {.kind = CUPTI_CONTEXT, .context = 2, .is_green = 1, .multiprocessors = 16}},
    {.kernel = {.kind = CUPTI_KERNEL,
                .registers = 32,
                .start = START,
                .end = START + 900,
                .context = 1,
                .stream = 7,
                .grid = {16, 1, 1},
                .block = {128, 1, 1}}},
    {.kernel = {.kind = CUPTI_KERNEL,
                .start = START,
                .end = START + 900,
                .context = 2,
                .graph_node = 5,
                .source_node = 4}},
    {.copy = {.kind = CUPTI_MEMCPY,
              .copy_kind = 1,
              .from = 1,
              .to = 3,
              .bytes = 4096,
              .start = START,
              .end = START + 256}},
    {.kind = TOOLKIT_EXTERNAL},
    {.copy2 = {.kind = CUPTI_MEMCPY2,
               .copy_kind = 10,
               .from = 3,
               .to = 3,
               .bytes = 64,
               .start = START,
               .end = START + 4}},
    {.set = {.kind = CUPTI_MEMSET, .bytes = 64, .start = START, .end = START + 4}},
    {.graph = {.kind = CUPTI_GRAPH, .start = START, .end = START + 4, .graph = 3}},
    {.event = {.kind = CUPTI_EVENT, .correlation = 9, .stream = 7, .event = 1, .number = 1}},
    {.wait = {.kind = CUPTI_SYNC,
              .type = 2,
              .start = START,
              .end = START + 1,
              .stream = 8,
              .event = 1,
              .event_number = 1}},
    {.memory = {.kind = CUPTI_MEMORY,
                .operation = 1,
                .memory_kind = 3,
                .address = 4096,
                .bytes = 64,
                .time = START,
                .pool_type = 1,
                .pool_address = 1,
                .utilized = 64}},
    {.pool = {.kind = CUPTI_POOL,
              .operation = 1,
              .pool_type = 1,
              .address = 2,
              .bytes = 64,
              .time = START}},
    {.jit = {.kind = CUPTI_JIT, .entry = 1, .operation = 3, .start = START, .end = START + 9}},
    {.kind = TOOLKIT_TO_COME},
    {.kernel = {.kind = CUPTI_KERNEL, .start = START, .end = START - 1}},
    {.kernel = {.kind = CUPTI_KERNEL, .start = START, .end = UINT64_MAX}},
    {.overhead = {.kind = CUPTI_OVERHEAD, .start = START, .end = START + 9}},
};

int main(int argc, char **argv)
{
    uint8_t bytes[HEAD + BYTES_MAX];

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (uint8_t i = 0; i < TOOLKITS; i++) {
        size_t used = HEAD;
        char name[32];

        bytes[0] = i;
        bytes[1] = 0;
        for (size_t k = 0; k < sizeof(records) / sizeof(records[0]); k++) {
            const size_t length = toolkit_bytes(&toolkits[i], records[k].kind);

            memcpy(bytes + used, records[k].bytes, length);
            used += length;
        }
        seed_write(argv[1], toolkits[i].name, bytes, used);
        snprintf(name, sizeof(name), "%s_cut", toolkits[i].name);
        if (i == 0 || i == TOOLKITS - 1)
            seed_write(argv[1], name, bytes, used - CUT);
    }
    /* Of chosen fields: whatever lies where, some kernels of them are there. */
    memset(bytes, 0, sizeof(bytes));
    bytes[0] = TOOLKITS;
    for (size_t at = HEAD; at < sizeof(bytes); at += sizeof(uint64_t))
        bytes[at] = at % (16 * sizeof(uint64_t)) == HEAD ? CUPTI_KERNEL : 1;
    seed_write(argv[1], "chosen", bytes, sizeof(bytes));
    return 0;
}
