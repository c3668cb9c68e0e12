/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of an execution: which of the graph's parameters its runs read, touching all that they
 * read and write, letting go of the rest. */
#include <errno.h>
#include <stdlib.h>

#include "runtime/exec/private.h"

static int compare_pointers(const void *a, const void *b)
{
    const char *left = *(const char *const *)a, *right = *(const char *const *)b;

    return (left > right) - (left < right);
}

/* The external memory of a buffer, such as a constant's; NULL for what lies in the arena. */
static const void *external_memory(const struct bound *bound, uint32_t buffer)
{
    size_t offset;
    uint32_t root;

    if (buffer == PLAN_NONE)
        return NULL;
    root = plan_root(&bound->plan, buffer, &offset);
    return bound->plan.buffers[root].is_external ? bound->memory[root] : NULL;
}

static void need(struct exec *exec, uint32_t buffer)
{
    const void *memory = external_memory(exec->bound, buffer);

    if (memory)
        exec->needed[exec->needed_count++] = memory;
}

int exec_list_needed(struct exec *exec)
{
    const struct bound *bound = exec->bound;
    size_t room = exec->graph->output_count + 1;

    for (uint32_t i = 0; i < bound->step_count; i++)
        room += bound->steps[i].info.input_count;
    exec->needed = calloc(room, sizeof(*exec->needed));
    if (!exec->needed)
        return -ENOMEM;
    for (uint32_t i = 0; i < bound->step_count; i++)
        for (uint32_t k = 0; k < bound->steps[i].info.input_count; k++)
            if (exec_step_reads(exec, i, k))
                need(exec, bound->steps[i].input_buffers[k]);
    for (uint32_t i = 0; i < exec->graph->output_count; i++)
        need(exec, bound->output_buffers[i]);
    qsort(exec->needed, exec->needed_count, sizeof(*exec->needed), compare_pointers);
    return 0;
}

/* Whether a run reads this constant of the graph. */
static bool is_needed(const struct exec *exec, const void *data)
{
    return bsearch(&data, exec->needed, exec->needed_count, sizeof(*exec->needed),
                   compare_pointers) != NULL;
}

/* Touching */

/* Parameters lie in pages of a file or of the system that nobody has looked at yet. */
static void touch(const void *address, size_t bytes)
{
    enum { PAGE = 4096 };
    const volatile char *at = address;

    for (size_t i = 0; i < bytes; i += PAGE)
        (void)at[i];
}

/* What the steps read and write: the arena, the inputs, parameters in either form. */
static size_t for_all_memory(const struct exec *exec, void (*visit)(const void *, size_t))
{
    size_t total = 0;

    for (uint32_t i = 0; i < exec->chunk_count; i++) {
        if (exec->chunks[i].what == EXEC_MEMORY_DEVICE)
            continue;
        visit(exec->chunks[i].address, exec->chunks[i].bytes);
        total += exec->chunks[i].bytes;
    }
    for (uint32_t i = 0; i < exec->graph->value_count; i++) {
        const struct value *value = exec->graph->values[i];
        size_t bytes = value->data ? (size_t)shape_bytes(&value->shape, value->dtype) : 0;

        if (bytes && is_needed(exec, value->data)) {
            visit(value->data, bytes);
            total += bytes;
        }
    }
    return total;
}

void exec_touch_all(void *exec)
{
    for_all_memory(exec, touch);
}

static void visit_nothing(const void *address, size_t bytes)
{
}

size_t exec_touched_bytes(const struct exec *exec)
{
    return for_all_memory(exec, visit_nothing);
}

/* The graph */

size_t exec_release_graph(struct exec *exec, struct graph *graph)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        struct value *value = graph->values[i];

        bytes += value->data && !is_needed(exec, value->data) ? value_release_data(value) : 0;
    }
    return bytes + graph_release_details(graph);
}

uint32_t exec_peak_step(const struct exec *exec, size_t *out_bytes)
{
    uint32_t steps = exec_step_count(exec), count = exec_block_count(exec), peak = EXEC_NO_STEP;
    struct exec_block *blocks = calloc(count ? count : 1, sizeof(*blocks));
    size_t *taken = calloc((size_t)steps + 1, sizeof(*taken)), live = 0;
    size_t *given = calloc((size_t)steps + 1, sizeof(*given));

    *out_bytes = 0;
    if (blocks && taken && given) {
        exec_blocks(exec, blocks);
        for (uint32_t i = 0; i < count; i++) {
            taken[blocks[i].first_step < steps ? blocks[i].first_step : steps] += blocks[i].bytes;
            given[blocks[i].end_step < steps ? blocks[i].end_step : steps] += blocks[i].bytes;
        }
        for (uint32_t i = 0; i < steps; i++) {
            live += taken[i] - given[i];
            if (live > *out_bytes) {
                *out_bytes = live;
                peak = i;
            }
        }
    }
    free(blocks);
    free(taken);
    free(given);
    return peak;
}
