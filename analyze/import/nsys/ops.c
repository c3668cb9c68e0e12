/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes and ops of an export of Nsight Systems. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/nsys/private.h"
#include "analyze/import/values.h"

enum { NVTX_MARK = 34, PROCESS_SHIFT = 24 };

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the export");
}

/* --- Names. --- */

/* The one text that a statement finds for a number, or NULL; the caller frees it. */
static char *look_up(sqlite3_stmt *statement, int64_t number)
{
    struct json_slice slice = {.kind = JSON_NULL};
    char *text = NULL;

    if (!statement || number == STORE_NULL)
        return NULL;
    sqlite3_bind_int64(statement, 1, number);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        slice.text = (const char *)sqlite3_column_text(statement, 0);
        slice.length = (size_t)sqlite3_column_bytes(statement, 0);
        text = slice.text ? json_take_text(slice) : NULL;
    }
    sqlite3_reset(statement);
    return text;
}

static const char *copy_name(int64_t kind)
{
    switch (kind) {
    case 1:
        return "Memcpy HtoD";
    case 2:
        return "Memcpy DtoH";
    case 8:
        return "Memcpy DtoD";
    case 10:
        return "Memcpy PtoP";
    case 11:
        return "Memcpy unified HtoD";
    case 12:
        return "Memcpy unified DtoH";
    case 13:
        return "Memcpy unified DtoD";
    default:
        return "Memcpy";
    }
}

static const char *memory_name(int64_t kind)
{
    static const char *const names[] = {"Pageable", "Pinned", "Device", "Array", "Managed"};

    return kind >= 0 && kind < 5 ? names[kind] : NULL;
}

/* As Kineto names them where one side is the host's, since copies of pageable memory block:
 * "Memcpy HtoD (Pageable -> Device)". */
static char *copy_text(const struct nsys_row *row)
{
    enum { PAGEABLE, PINNED };
    const char *from = memory_name(row->from_memory), *to = memory_name(row->to_memory);
    char *text;

    if (!from || !to || (row->from_memory > PINNED && row->to_memory > PINNED))
        return strdup(copy_name(row->detail));
    return asprintf(&text, "%s (%s -> %s)", copy_name(row->detail), from, to) < 0 ? NULL : text;
}

static char *graph_text(const struct nsys_row *row)
{
    char *text;

    if (row->graph == STORE_NULL)
        return strdup("CUDA graph");
    return asprintf(&text, "CUDA graph %lld", (long long)row->graph) < 0 ? NULL : text;
}

static const char *sync_name(int64_t kind)
{
    static const char *const names[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                        "Context Sync"};

    return kind > 0 && kind < 5 ? names[kind] : names[0];
}

/* --- Lanes. --- */

int nsys_process(struct nsys *nsys, int64_t process, uint32_t *out_place, struct diag *diag)
{
    size_t place = 0;

    while (place < nsys->processes.count && nsys->processes.items[place] != process)
        place++;
    if (place == nsys->processes.count && array_push(&nsys->processes, process) < 0)
        return no_memory(diag);
    *out_place = (uint32_t)place;
    return 0;
}

static int make_lane(struct nsys *nsys, struct place_key key, const struct importer_lane *lane,
                     uint32_t *out_lane, struct diag *diag)
{
    int rc = importer_lane(&nsys->importer, lane, out_lane, diag);

    if (rc == 0 && place_map_set(&nsys->lanes, key, *out_lane) < 0)
        rc = no_memory(diag);
    return rc;
}

static int device_lane(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row,
                       uint32_t *out_lane, struct diag *diag)
{
    struct importer_lane lane = {
        .is_device = true,
        .native_id = kind == NSYS_MEMORY ? STORE_NULL : row->stream,
    };
    /* Waits name a stream, but not always the device that it is of. */
    struct place_key key = {.high = kind == NSYS_MEMORY ? 1 : kind == NSYS_SYNC ? 3 : 0};
    long long process = (long long)(row->process >> PROCESS_SHIFT & 0xffffff);
    char name[96], device[40];
    int rc;

    /* Beside what it holds up, where that is known. */
    *out_lane = kind == NSYS_SYNC && nsys_holds_stream(nsys, row)
                    ? nsys_stream_lane(nsys, row->process, row->stream)
                    : IMPORT_NONE;
    if (*out_lane != IMPORT_NONE)
        return 0;
    place_key_add(&key, &row->process, sizeof(row->process));
    if (kind != NSYS_SYNC)
        place_key_add(&key, &row->device, sizeof(row->device));
    if (kind != NSYS_MEMORY)
        place_key_add(&key, &row->stream, sizeof(row->stream));
    *out_lane = place_map_find(&nsys->lanes, key);
    if (*out_lane != PLACE_NONE)
        return 0;
    snprintf(device, sizeof(device), "cuda:%lld",
             row->device == STORE_NULL ? 0 : (long long)row->device);
    if (kind == NSYS_MEMORY)
        snprintf(name, sizeof(name), "memory of %s, process %lld", device, process);
    else
        snprintf(name, sizeof(name), "%sstream %lld of process %lld",
                 kind == NSYS_SYNC ? "waits for " : "",
                 row->stream == STORE_NULL ? 0 : (long long)row->stream, process);
    lane.name = name;
    lane.device = kind == NSYS_SYNC ? NULL : device;
    rc = make_lane(nsys, key, &lane, out_lane, diag);
    if (rc == 0 && kind < NSYS_SYNC &&
        array_push(&nsys->streams, ((struct nsys_stream){row->process, row->stream, *out_lane})) <
            0)
        rc = no_memory(diag);
    return rc;
}

static int thread_lane(struct nsys *nsys, const struct nsys_row *row, uint32_t *out_lane,
                       struct diag *diag)
{
    struct importer_lane lane = {.native_id = row->thread & 0xffffff};
    struct place_key key = {.high = 2};
    char number[48];
    int rc;

    place_key_add(&key, &row->thread, sizeof(row->thread));
    *out_lane = place_map_find(&nsys->lanes, key);
    if (*out_lane != PLACE_NONE)
        return 0;
    snprintf(number, sizeof(number), "thread %lld", (long long)lane.native_id);
    lane.name = look_up(nsys->thread_name, row->thread);
    if (!lane.name)
        lane.name = strdup(number);
    rc = lane.name ? make_lane(nsys, key, &lane, out_lane, diag) : no_memory(diag);
    free(lane.name);
    return rc;
}

int nsys_lane(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row,
              uint32_t *out_lane, struct diag *diag)
{
    if (kind <= NSYS_SYNC || kind == NSYS_MEMORY)
        return device_lane(nsys, kind, row, out_lane, diag);
    return thread_lane(nsys, row, out_lane, diag);
}

/* --- Ops. --- */

/* The text of a range, which PyTorch fills with "name, seq = 1, op_id = 2, sizes = [[2, 3]]". */
struct range_text {
    size_t name_length;
    const char *sizes; /* or NULL */
    size_t sizes_length;
    bool is_op;
};

static struct range_text read_range(const char *text)
{
    struct range_text range = {.name_length = strlen(text)};
    const char *sequence = strstr(text, ", seq = "), *id = strstr(text, ", op_id = ");
    const char *end = sequence && (!id || sequence < id) ? sequence : id;
    const char *sizes = end ? strstr(end, ", sizes = [") : NULL;
    struct json_scan scan = {0};

    if (end) {
        range.is_op = true;
        range.name_length = (size_t)(end - text);
    }
    if (sizes && json_scan(&scan, sizes + 10, strlen(sizes + 10), &range.sizes_length) == 1)
        range.sizes = sizes + 10;
    return range;
}

static char *kernel_params(const struct nsys_row *row)
{
    struct json_writer json;

    json_init_memory(&json);
    json_begin_object(&json);
    json_key(&json, "grid");
    json_begin_array(&json);
    for (int i = 0; i < 3; i++)
        json_int(&json, row->grid[i] == STORE_NULL ? 1 : row->grid[i]);
    json_end_array(&json);
    json_key(&json, "block");
    json_begin_array(&json);
    for (int i = 0; i < 3; i++)
        json_int(&json, row->block[i] == STORE_NULL ? 1 : row->block[i]);
    json_end_array(&json);
    if (row->registers != STORE_NULL) {
        json_key(&json, "registers_per_thread");
        json_int(&json, row->registers);
    }
    if (row->static_shared != STORE_NULL && row->dynamic_shared != STORE_NULL) {
        json_key(&json, "shared_memory_bytes");
        json_double(&json, (double)row->static_shared + (double)row->dynamic_shared);
    }
    json_end_object(&json);
    return import_take(&json);
}

static const char *type_of(enum nsys_kind kind, const struct nsys_row *row, bool is_op)
{
    static const char *const types[NSYS_KINDS] = {
        [NSYS_KERNEL] = "kernel",    [NSYS_COPY] = "copy",
        [NSYS_MEMSET] = "memset",    [NSYS_SYNC] = "phase",
        [NSYS_CUDNN] = "cudnn",      [NSYS_CUBLAS] = "cublas",
        [NSYS_GRAPH] = "cuda_graph", [NSYS_RUNTIME] = "cuda_runtime",
        [NSYS_OS] = "os_runtime",    [NSYS_NVTX] = "label",
    };

    if (kind == NSYS_NVTX && row->detail == NVTX_MARK)
        return "mark";
    return is_op ? "cpu_op" : types[kind];
}

static char *name_of(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row,
                     const struct range_text *range)
{
    struct json_slice text = {row->text, range->name_length, JSON_NULL};
    char *name = NULL;

    if (kind == NSYS_COPY)
        name = copy_text(row);
    else if (kind == NSYS_GRAPH)
        name = graph_text(row);
    else if (kind == NSYS_MEMSET)
        name = strdup("Memset");
    else if (kind == NSYS_SYNC)
        name = strdup(sync_name(row->detail));
    else
        name = row->text ? json_take_text(text) : look_up(nsys->string, row->name);
    return name ? name : strdup("unknown");
}

static int put_op(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row, uint32_t lane,
                  struct place_key identity, uint32_t *out_op, struct diag *diag)
{
    struct range_text range = {0};
    char *name, *params = NULL, *shapes = NULL;
    struct store_op op = {
        .model_id = STORE_NULL,
        .device = nsys->importer.lanes.items[lane].device,
        .computation_flop = STORE_NULL,
        .memory_bytes = STORE_NULL,
        .workspace_bytes = STORE_NULL,
    };
    int rc;

    if (kind == NSYS_KERNEL)
        params = kernel_params(row);
    else if (kind == NSYS_SYNC)
        params = nsys_wait_params(nsys, row);
    if (row->text)
        range = read_range(row->text);
    if (range.sizes)
        shapes = import_shapes_text(json_value(range.sizes, range.sizes_length));
    name = name_of(nsys, kind, row, &range);
    op.name = name;
    op.type = type_of(kind, row, range.is_op);
    op.params = params;
    op.input_shapes = shapes;
    rc = name ? importer_put_op(&nsys->importer, identity, &op, out_op, diag) : no_memory(diag);
    free(name);
    free(params);
    free(shapes);
    return rc;
}

int nsys_op(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row, uint32_t lane,
            uint32_t *out_op, struct diag *diag)
{
    struct place_key identity = {.low = (uint64_t)kind};

    if (row->text) {
        struct range_text range = read_range(row->text);

        place_key_add(&identity, row->text, range.name_length);
        place_key_add(&identity, range.sizes, range.sizes ? range.sizes_length : 0);
        identity.high ^= (uint64_t)range.is_op << 1 | (row->detail == NVTX_MARK);
    } else {
        const int64_t numbers[] = {
            row->name,
            kind == NSYS_COPY || kind == NSYS_SYNC || kind == NSYS_NVTX ? row->detail : 0,
            nsys->importer.lanes.items[lane].is_device ? row->device : 0,
            row->registers,
            row->static_shared,
            row->dynamic_shared,
            kind == NSYS_COPY ? row->from_memory : 0,
            kind == NSYS_COPY ? row->to_memory : 0,
            kind == NSYS_GRAPH ? row->graph : 0,
            kind == NSYS_SYNC ? row->process : 0,
            kind == NSYS_SYNC ? nsys_awaited_stream(nsys, row) : 0};

        place_key_add(&identity, numbers, sizeof(numbers));
        place_key_add(&identity, row->grid, sizeof(row->grid));
        place_key_add(&identity, row->block, sizeof(row->block));
    }
    *out_op = importer_find_op(&nsys->importer, identity);
    return *out_op == PLACE_NONE ? put_op(nsys, kind, row, lane, identity, out_op, diag) : 0;
}
