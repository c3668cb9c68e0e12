/* SPDX-License-Identifier: Apache-2.0 */
/* Taking in what importers find; importer_drain.c writes it. */
#include "analyze/import/importer.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "analyze/import/importer_private.h"

const char import_supported[] =
    "supported are a store of optraced, Chrome traces such as PyTorch's, profiles of ONNX Runtime "
    "and "
    "of MegEngine's load_and_run, dumps of PyTorch's function events, "
    "folded stacks, and times and profiles of TensorRT's trtexec";

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the imported rows");
}

int importer_begin(struct importer *importer, struct store *store, const char *source,
                   struct diag *diag)
{
    int rc;

    *importer = (struct importer){.store = store, .source = source, .model_id = STORE_NULL};
    if (sqlite3_get_autocommit(store_handle(store))) {
        rc = store_begin(store, diag);
        if (rc < 0)
            return rc;
        importer->in_transaction = true;
    }
    rc = store_gather(store, diag);
    if (rc == 0)
        rc = store_last_ids(store, &importer->first, diag);
    if (rc == 0)
        rc = importer_put_session(importer, NULL, diag); /* ops refer to it */
    return rc;
}

/* --- Lanes and ops. --- */

int importer_set_text(char **text, const char *value, struct diag *diag)
{
    char *copy = value ? strdup(value) : NULL;

    if (value && !copy)
        return no_memory(diag);
    free(*text);
    *text = copy;
    return 0;
}

int importer_lane(struct importer *importer, const struct importer_lane *lane, uint32_t *out_lane,
                  struct diag *diag)
{
    struct importer_lane copy = {
        .native_id = lane->native_id,
        .is_device = lane->is_device,
        .is_queue = lane->is_queue,
        .offset_ns = lane->offset_ns,
        .min_ns = INT64_MAX,
        .max_ns = INT64_MIN,
    };
    int rc = importer_set_text(&copy.name, lane->name, diag);

    if (rc == 0)
        rc = importer_set_text(&copy.device, lane->device, diag);
    if (rc == 0 && array_push(&importer->lanes, copy) < 0)
        rc = no_memory(diag);
    if (rc < 0) {
        free(copy.name);
        free(copy.device);
        return rc;
    }
    *out_lane = (uint32_t)importer->lanes.count - 1;
    return 0;
}

uint32_t importer_find_op(const struct importer *importer, struct place_key identity)
{
    return place_map_find(&importer->ops, identity);
}

int importer_put_op_at(struct importer *importer, uint32_t op, struct store_op *row,
                       struct diag *diag)
{
    row->op_id = importer->first.op_id + 1 + op;
    row->session_id = importer->first.session_id + 1;
    row->model_id = importer->model_id;
    return store_put_op(importer->store, row, diag);
}

int importer_name_op(struct importer *importer, struct place_key identity, uint32_t *out_op,
                     struct diag *diag)
{
    if (place_map_set(&importer->ops, identity, importer->op_count) < 0)
        return no_memory(diag);
    *out_op = importer->op_count++;
    return 0;
}

int importer_put_op(struct importer *importer, struct place_key identity, struct store_op *row,
                    uint32_t *out_op, struct diag *diag)
{
    int rc;

    row->client_op = (int64_t)importer->op_count + 1;
    rc = importer_put_op_at(importer, importer->op_count, row, diag);
    return rc < 0 ? rc : importer_name_op(importer, identity, out_op, diag);
}

int importer_put_model(struct importer *importer, struct store_model *row, struct diag *diag)
{
    int rc;

    row->model_id = importer->first.model_id + 1;
    row->session_id = importer->first.session_id + 1;
    row->client_model = 1;
    rc = store_put_model(importer->store, row, diag);
    if (rc == 0)
        importer->model_id = row->model_id;
    return rc;
}

/* --- Rows. --- */

/* What a row says without numbers that depend on the order. */
static int add_row(struct importer *importer, struct import_row row, struct diag *diag)
{
    const int64_t said[] = {(int64_t)row.kind, row.start_ns, row.end_ns, row.bytes};
    struct place_key key = {0};

    place_key_add(&key, said, sizeof(said));
    importer->digest += key.low;
    return row_sorter_add(&importer->sorter, row, diag);
}

static void reach(struct importer *importer, uint32_t lane_place, int64_t from_ns, int64_t until_ns)
{
    struct importer_lane *lane = &importer->lanes.items[lane_place];

    lane->is_used = true;
    if (from_ns < lane->min_ns)
        lane->min_ns = from_ns;
    if (until_ns > lane->max_ns)
        lane->max_ns = until_ns;
}

/* Where a host span launched something: the launched belongs to the run of that moment. */
static int note_launch(struct importer *importer, const struct import_span *span, struct diag *diag)
{
    uint32_t place = (uint32_t)importer->launch_ns.count;

    if (array_push(&importer->launch_ns, span->start_ns) < 0 ||
        number_map_set(&importer->launches, (uint64_t)span->correlation, place) < 0)
        return no_memory(diag);
    return 0;
}

int importer_span(struct importer *importer, const struct import_span *span, struct diag *diag)
{
    bool is_device = importer->lanes.items[span->lane].is_device;
    bool is_finished = span->dur_ns != STORE_NULL;
    struct import_row row = {
        .kind = ROW_SPAN,
        .start_ns = span->start_ns,
        .end_ns = is_finished ? span->start_ns + span->dur_ns : INT64_MAX,
        .kern_ns = span->kern_ns,
        .correlation = span->correlation,
        .bytes = span->bytes,
        .lane = span->lane,
        .op = span->op,
        .depth = span->depth < UINT16_MAX ? span->depth : UINT16_MAX,
    };

    if (span->external > 0 && span->kern_ns == STORE_NULL) {
        row.kern_ns = span->external;
        row.is_external = true;
    }
    if (span->correlation != STORE_NULL) {
        importer->has_correlation |= is_device;
        if (!is_device && !importer->is_one_run && note_launch(importer, span, diag) < 0)
            return -ENOMEM;
    }
    reach(importer, span->lane, span->start_ns, is_finished ? row.end_ns : span->start_ns);
    importer->span_count++;
    return add_row(importer, row, diag);
}

int importer_memory(struct importer *importer, const struct import_memory *memory,
                    struct diag *diag)
{
    struct import_row row = {
        .kind = ROW_MEMORY,
        .start_ns = memory->time_ns,
        .end_ns = memory->time_ns,
        .kern_ns = memory->address,
        .correlation = memory->device,
        .bytes = memory->bytes,
        .lane = memory->lane,
        .op = memory->op,
    };

    reach(importer, memory->device, memory->time_ns, memory->time_ns);
    importer->memory_count++;
    return add_row(importer, row, diag);
}

int importer_counter(struct importer *importer, uint32_t lane, uint32_t op, int64_t time_ns,
                     double value, struct diag *diag)
{
    struct import_row row = {
        .kind = ROW_COUNTER,
        .start_ns = time_ns,
        .end_ns = time_ns,
        .value = value,
        .lane = lane,
        .op = op,
    };

    reach(importer, lane, time_ns, time_ns);
    importer->counter_count++;
    return add_row(importer, row, diag);
}

int importer_flow(struct importer *importer, uint32_t lane, int64_t time_ns, int64_t correlation,
                  struct diag *diag)
{
    struct import_row row = {
        .kind = ROW_FLOW,
        .start_ns = time_ns,
        .end_ns = time_ns,
        .correlation = correlation,
        .lane = lane,
        .op = IMPORT_NONE,
    };
    struct import_span launch = {.start_ns = time_ns, .correlation = correlation};

    if (importer->has_correlation)
        return 0;
    if (!importer->lanes.items[lane].is_device && note_launch(importer, &launch, diag) < 0)
        return -ENOMEM;
    return add_row(importer, row, diag);
}

int importer_launch_bytes(struct importer *importer, int64_t correlation, int64_t bytes,
                          struct diag *diag)
{
    uint32_t place = (uint32_t)importer->launch_bytes.count;

    if (array_push(&importer->launch_bytes, bytes) < 0 ||
        number_map_set(&importer->sized_launches, (uint64_t)correlation, place) < 0)
        return no_memory(diag);
    return 0;
}

int importer_run(struct importer *importer, const struct importer_run *run, struct diag *diag)
{
    importer->lanes.items[run->lane].is_used = true;
    return array_push(&importer->runs, *run) < 0 ? no_memory(diag) : 0;
}

int importer_loss(struct importer *importer, const struct importer_loss *loss, struct diag *diag)
{
    if (loss->lane != IMPORT_NONE)
        importer->lanes.items[loss->lane].is_used = true;
    if (array_push(&importer->losses, *loss) == 0)
        return 0;
    free(loss->reason);
    return no_memory(diag);
}

void importer_deinit(struct importer *importer)
{
    if (importer->in_transaction)
        store_rollback(importer->store);
    for (size_t i = 0; i < importer->lanes.count; i++) {
        free(importer->lanes.items[i].name);
        free(importer->lanes.items[i].device);
    }
    array_deinit(&importer->lanes);
    array_deinit(&importer->runs);
    for (size_t i = 0; i < importer->losses.count; i++)
        free(importer->losses.items[i].reason);
    array_deinit(&importer->losses);
    array_deinit(&importer->launch_ns);
    array_deinit(&importer->launch_bytes);
    place_map_deinit(&importer->ops);
    number_map_deinit(&importer->launches);
    number_map_deinit(&importer->sized_launches);
    row_sorter_deinit(&importer->sorter);
    *importer = (struct importer){0};
}
