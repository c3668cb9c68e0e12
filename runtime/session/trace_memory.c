/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a session, as it is recorded. */
#include "runtime/session/trace_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "client/optrace.h"

static const char *memory_name(enum exec_memory what)
{
    switch (what) {
    case EXEC_MEMORY_INPUTS:
        return "inputs";
    case EXEC_MEMORY_ARENA:
        return "arena";
    case EXEC_MEMORY_WEIGHTS:
        return "weights, laid out";
    case EXEC_MEMORY_DEVICE:
        return "memory of the GPU";
    }
    return "other";
}

uint32_t trace_memory_arena(const struct session *session)
{
    struct optrace_op_info info = OPTRACE_OP_INFO(memory_name(EXEC_MEMORY_ARENA), "memory");
    size_t bytes;
    uint32_t step = exec_peak_step(session->exec, &bytes), op = 0;
    struct json_writer json;
    char *params;

    if (step == EXEC_NO_STEP)
        return optrace_name(OPTRACE_MEMORY, memory_name(EXEC_MEMORY_ARENA));
    json_init_memory(&json);
    json_begin_object(&json);
    json_key(&json, "peak_op");
    json_string(&json, exec_step(session->exec, step)->name);
    json_key(&json, "peak_bytes");
    json_uint(&json, bytes);
    json_end_object(&json);
    params = json_finish(&json) == 0 ? json_take(&json, NULL) : NULL;
    json_deinit(&json);
    if (params)
        params[strcspn(params, "\n")] = '\0';
    info.params = params;
    (void)optrace_op_define(&info, &op);
    free(params);
    return op;
}

void trace_memory_tell(const struct session *session, uint32_t arena, trace_memory_fn *tell)
{
    const struct graph *graph = session->graph;
    uint32_t constants = optrace_name(OPTRACE_MEMORY, "weights");

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];

        if (value->data)
            tell(constants, value->data, (uint64_t)shape_bytes(&value->shape, value->dtype));
    }
    for (uint32_t i = 0; i < exec_chunk_count(session->exec); i++) {
        const struct exec_chunk *chunk = exec_chunk(session->exec, i);

        tell(chunk->what == EXEC_MEMORY_ARENA
                 ? arena
                 : optrace_name(OPTRACE_MEMORY, memory_name(chunk->what)),
             chunk->address, chunk->bytes);
    }
}
