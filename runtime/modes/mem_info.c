/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of static memory as files and as text. */
#include "runtime/modes/mem_info.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/amount.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/modes/graph_exec.h"

struct layout_info {
    const struct session *session;
    struct exec_block *blocks;
    uint32_t count;
    uint32_t steps;
};

/* --- JSON. --- */

static void write_number(struct json_writer *json, const char *key, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    json_key(json, key);
    json_string(json, text);
}

static void write_chunk(struct json_writer *json, uint32_t id, const char *type,
                        const struct exec_block *block, const char *owner)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", id);
    json_key(json, text);
    json_begin_object(json);
    json_key(json, "id");
    json_string(json, text);
    json_key(json, "type");
    json_string(json, type);
    write_number(json, "time_begin", block->first_step);
    write_number(json, "time_end", block->end_step);
    write_number(json, "logic_addr_begin", block->offset);
    write_number(json, "logic_addr_end", block->offset + block->bytes);
    json_key(json, "overwrite_dest_id");
    json_string(json, "-1");
    json_key(json, "owner");
    json_string(json, owner);
    json_end_object(json);
}

static void write_chunks(const struct layout_info *info, struct json_writer *json)
{
    const struct graph *graph = info->session->graph;
    const bool is_device = exec_device_facts(info->session->exec).name != NULL;
    size_t offset = exec_arena_bytes(info->session->exec);
    uint32_t id = 0;

    json_key(json, "chunk");
    json_begin_object(json);
    for (uint32_t i = 0; i < info->count; i++)
        write_chunk(json, id++, "static_mem", &info->blocks[i],
                    info->blocks[i].owner ? info->blocks[i].owner->name : "");
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];
        struct exec_block block = {.offset = offset, .end_step = info->steps};

        if (!value->data)
            continue;
        block.bytes = (size_t)shape_bytes(&value->shape, value->dtype);
        if (is_device && !exec_device_constant(info->session->exec, value, &block.offset))
            continue;
        block.offset += is_device ? offset : 0;
        offset += is_device ? 0 : block.bytes;
        write_chunk(json, id++, "weight_mem", &block, value->name);
    }
    json_end_object(json);
}

static void write_steps(const struct layout_info *info, struct json_writer *json)
{
    char text[16];

    json_key(json, "opr");
    json_begin_object(json);
    for (uint32_t i = 0; i < info->steps; i++) {
        snprintf(text, sizeof(text), "%u", i);
        json_key(json, text);
        json_begin_object(json);
        json_key(json, "id");
        json_string(json, text);
        json_key(json, "name");
        json_string(json, exec_step(info->session->exec, i)->name);
        json_end_object(json);
    }
    json_end_object(json);
}

static int write_layout(const struct layout_info *info, FILE *out)
{
    struct json_writer json;

    json_init_file(&json, out);
    json_set_indent(&json, 2);
    json_begin_object(&json);
    write_chunks(info, &json);
    write_steps(info, &json);
    json_end_object(&json);
    return json_finish(&json);
}

static int write_graph(const struct layout_info *info, FILE *out)
{
    const struct session *session = info->session;
    uint32_t *ids = graph_exec_ids(session->graph, session->exec);
    struct json_writer json;

    if (!ids)
        return -ENOMEM;
    json_init_file(&json, out);
    graph_exec_write(session->graph, session->exec, ids, &json);
    free(ids);
    return json_finish(&json);
}

static int write_file(const struct layout_info *info, const char *folder, const char *name,
                      int (*write)(const struct layout_info *info, FILE *out), struct diag *diag)
{
    char path[4096];
    FILE *out;
    int rc;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    out = fopen(path, "w");
    if (!out)
        return diag_set(diag, -errno, "cannot write %s: %s", path, strerror(errno));
    rc = write(info, out);
    if (fclose(out) != 0 && rc == 0)
        rc = -errno;
    return rc < 0 ? diag_set(diag, rc, "cannot write %s: %s", path, strerror(-rc)) : 0;
}

/* --- Text. --- */

static int larger_first(const void *a, const void *b)
{
    const struct exec_block *x = a, *y = b;

    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void tell_peak(struct layout_info *info, FILE *out)
{
    const struct exec *exec = info->session->exec;
    char arena[AMOUNT_BYTES], text[AMOUNT_BYTES];
    size_t peak_bytes;
    uint32_t peak = exec_peak_step(exec, &peak_bytes);

    if (peak == EXEC_NO_STEP)
        return;
    qsort(info->blocks, info->count, sizeof(*info->blocks), larger_first);
    text_print(out,
               "static memory: %s for intermediate tensors; at most %s of it are live, in %s "
               "(%s):\n",
               amount_format_bytes(arena, sizeof(arena), (double)exec_arena_bytes(exec)),
               amount_format_bytes(text, sizeof(text), (double)peak_bytes),
               exec_step(exec, peak)->name, exec_step(exec, peak)->type);
    for (uint32_t i = 0; i < info->count; i++) {
        const struct exec_block *block = &info->blocks[i];

        if (block->first_step <= peak && peak < block->end_step)
            text_print(out, "  %12s %5.1f%%  %s\n",
                       amount_format_bytes(text, sizeof(text), (double)block->bytes),
                       100 * (double)block->bytes / (double)peak_bytes,
                       block->owner ? block->owner->name : "scratch");
    }
}

/* What is taken there, piece by piece. */
static void tell_device(const struct exec *exec, FILE *out)
{
    const char *device = exec_device_facts(exec).name;
    char text[AMOUNT_BYTES];
    size_t all = 0;

    for (uint32_t i = 0; i < exec_chunk_count(exec); i++)
        if (exec_chunk(exec, i)->what == EXEC_MEMORY_DEVICE)
            all += exec_chunk(exec, i)->bytes;
    if (!device)
        return;
    text_print(out, "memory of %s: %s\n", device,
               amount_format_bytes(text, sizeof(text), (double)all));
    for (uint32_t i = 0; i < exec_chunk_count(exec); i++) {
        const struct exec_chunk *chunk = exec_chunk(exec, i);

        if (chunk->what == EXEC_MEMORY_DEVICE && chunk->bytes > 0)
            text_print(out, "  %12s %5.1f%%  %s\n",
                       amount_format_bytes(text, sizeof(text), (double)chunk->bytes),
                       100 * (double)chunk->bytes / (double)all, chunk->name);
    }
}

int mem_info_write(const struct session *session, const char *folder, FILE *out, struct diag *diag)
{
    struct layout_info info = {
        .session = session,
        .count = exec_block_count(session->exec),
        .steps = exec_step_count(session->exec),
    };
    int rc = 0;

    info.blocks = calloc(info.count + 1, sizeof(*info.blocks));
    if (!info.blocks)
        return diag_set(diag, -ENOMEM, "no memory for the memory plan");
    exec_blocks(session->exec, info.blocks);
    if (mkdir(folder, 0777) < 0 && errno != EEXIST)
        rc = diag_set(diag, -errno, "cannot make the folder %s: %s", folder, strerror(errno));
    if (rc == 0)
        rc = write_file(&info, folder, "graph.json", write_graph, diag);
    if (rc == 0)
        rc = write_file(&info, folder, "StaticMemoryInfo.json", write_layout, diag);
    if (rc == 0 && out) {
        tell_peak(&info, out);
        tell_device(session->exec, out);
    }
    free(info.blocks);
    return rc;
}
