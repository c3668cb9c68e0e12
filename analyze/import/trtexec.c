/* SPDX-License-Identifier: Apache-2.0 */
/* Files of trtexec: a run for each row of times, or a span for each layer of a profile.
 * docs/sources.md says what becomes of each field. */
#include "analyze/import/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/skipped.h"
#include "analyze/import/values.h"

struct trtexec {
    struct importer importer;
    struct json_stream *stream;
    uint32_t host, device; /* lanes */
    int64_t layer_ns;      /* where the next layer begins */
    int64_t iterations;    /* of a profile; STORE_NULL: not said */
    uint64_t run_count, layer_count, bad_count;
    struct skipped skipped;
};

/* Milliseconds; false where they are no time. */
static bool read_ms(struct json_slice value, int64_t *out_ns)
{
    return value.kind == JSON_NUMBER && json_decimal(value, 6, out_ns) &&
           is_import_time(*out_ns, 0);
}

static int add_span(struct trtexec *trtexec, struct json_slice name, const char *type,
                    struct import_span *span, struct diag *diag)
{
    struct place_key identity = {0};
    struct store_op row = {
        .type = type,
        .device = span->lane == trtexec->device ? "cuda:0" : NULL,
        .computation_flop = STORE_NULL,
        .memory_bytes = STORE_NULL,
        .workspace_bytes = STORE_NULL,
    };
    char *text;
    int rc = 0;

    place_key_add(&identity, type, strlen(type));
    place_key_add(&identity, name.text, name.length);
    span->op = importer_find_op(&trtexec->importer, identity);
    if (span->op == PLACE_NONE) {
        text = json_take_text(name);
        row.name = text;
        rc = text ? importer_put_op(&trtexec->importer, identity, &row, &span->op, diag)
                  : diag_set(diag, -ENOMEM, "no memory for the profile");
        free(text);
    }
    return rc < 0 ? rc : importer_span(&trtexec->importer, span, diag);
}

/* --- Times. --- */

enum { PART_ENQUEUE, PART_H2D, PART_COMPUTE, PART_D2H, PARTS };
static const struct {
    const char *name, *type, *start, *end;
} parts[PARTS] = {
    {"enqueue", "enqueue", "startEnqMs", "endEnqMs"},
    {"Memcpy HtoD", "copy", "startH2dMs", "endH2dMs"},
    {"compute", "compute", "startComputeMs", "endComputeMs"},
    {"Memcpy DtoH", "copy", "startD2hMs", "endD2hMs"},
};

/* A run: from the start of its enqueueing to the end of its copy back. */
static int add_times(struct trtexec *trtexec, struct json_slice row, struct diag *diag)
{
    int64_t start_ns[PARTS], end_ns[PARTS];
    struct importer_run run = {.lane = trtexec->host};
    int rc = 0;

    for (int i = 0; i < PARTS; i++) {
        if (!read_ms(json_member(row, parts[i].start), &start_ns[i]) ||
            !read_ms(json_member(row, parts[i].end), &end_ns[i]) || end_ns[i] < start_ns[i]) {
            trtexec->bad_count++;
            return 0;
        }
    }
    run.start_ns = start_ns[PART_ENQUEUE];
    run.end_ns = end_ns[PART_D2H] > run.start_ns ? end_ns[PART_D2H] : end_ns[PART_ENQUEUE];
    rc = importer_run(&trtexec->importer, &run, diag);
    trtexec->run_count++;
    for (int i = 0; i < PARTS && rc == 0; i++) {
        struct json_slice name = {parts[i].name, strlen(parts[i].name), JSON_STRING};
        struct import_span span = {
            .lane = i == PART_ENQUEUE ? trtexec->host : trtexec->device,
            .start_ns = start_ns[i],
            .dur_ns = end_ns[i] - start_ns[i],
            .kern_ns = STORE_NULL,
            .correlation = (int64_t)trtexec->run_count,
            .bytes = STORE_NULL,
        };

        rc = add_span(trtexec, name, parts[i].type, &span, diag);
    }
    return rc;
}

/* --- Layers. --- */

/* They have no times of their own: their means stand one behind the other. */
static int add_layer(struct trtexec *trtexec, struct json_slice row, struct diag *diag)
{
    struct json_slice name = json_member(row, "name");
    struct import_span span = {
        .lane = trtexec->device,
        .start_ns = trtexec->layer_ns,
        .kern_ns = STORE_NULL,
        .correlation = STORE_NULL,
        .bytes = STORE_NULL,
    };

    if (name.kind != JSON_STRING || !read_ms(json_member(row, "averageMs"), &span.dur_ns) ||
        !is_import_time(span.start_ns, span.dur_ns)) {
        trtexec->bad_count++;
        return 0;
    }
    trtexec->layer_ns += span.dur_ns;
    trtexec->layer_count++;
    skipped_add(&trtexec->skipped, "timeMs, medianMs and percentage", 31);
    return add_span(trtexec, name, "layer", &span, diag);
}

static int add_item(void *context, const struct json_item *item, struct diag *diag)
{
    struct trtexec *trtexec = context;
    struct json_slice row = json_value(item->text, item->length);

    if (row.kind != JSON_OBJECT)
        return json_stream_damage(trtexec->stream, item->offset, "a row is no object", diag);
    if (json_member(row, "count").kind == JSON_NUMBER) {
        trtexec->iterations = import_count(json_member(row, "count"));
        return 0;
    }
    return json_member(row, "startComputeMs").kind != JSON_NONE ? add_times(trtexec, row, diag)
                                                                : add_layer(trtexec, row, diag);
}

/* --- The file. --- */

static int make_lanes(struct trtexec *trtexec, struct diag *diag)
{
    struct importer_lane host = {.name = "enqueue", .native_id = STORE_NULL};
    struct importer_lane device = {
        .name = "device", .device = "cuda:0", .native_id = STORE_NULL, .is_device = true};
    int rc = importer_lane(&trtexec->importer, &host, &trtexec->host, diag);

    return rc < 0 ? rc : importer_lane(&trtexec->importer, &device, &trtexec->device, diag);
}

static int finish(struct trtexec *trtexec, const char *name, const struct import_loop *loop,
                  struct diag *diag)
{
    char note[1500];
    struct store_session session = {
        .program = "trtexec", .pid = STORE_NULL, .uid = STORE_NULL, .note = note};
    struct importer_run run = {0, trtexec->layer_ns, trtexec->device, false};
    int rc = 0;

    if (trtexec->layer_count) {
        rc = importer_run(&trtexec->importer, &run, diag);
        snprintf(note, sizeof(note),
                 "%.400s: %" PRIu64 " layers of trtexec, means of %" PRId64 " runs", name,
                 trtexec->layer_count, trtexec->iterations == STORE_NULL ? 0 : trtexec->iterations);
    } else {
        snprintf(note, sizeof(note), "%.400s: %" PRIu64 " runs of trtexec", name,
                 trtexec->run_count);
    }
    import_note_count(note, sizeof(note), trtexec->bad_count,
                      "rows without usable times: left out");
    skipped_note(&trtexec->skipped, note, sizeof(note));
    import_note_end(note, sizeof(note), loop);
    session.damage_count = (int64_t)loop->damage_count;
    return rc < 0 ? rc : importer_finish(&trtexec->importer, &session, 0, diag);
}

static int read_json(struct json_stream *stream, const char *name, struct store *store,
                     const struct import_options *options, const struct import_format **format,
                     struct diag *diag)
{
    struct trtexec trtexec = {.stream = stream, .iterations = STORE_NULL};
    struct import_loop loop = {
        .stream = stream, .options = options, .add = add_item, .context = &trtexec};
    int rc = importer_begin(&trtexec.importer, store, "trtexec", diag);

    (void)format;
    if (rc == 0)
        rc = make_lanes(&trtexec, diag);
    if (rc == 0)
        rc = import_each(&loop, diag);
    if (rc == 0)
        rc = finish(&trtexec, name, &loop, diag);
    importer_deinit(&trtexec.importer);
    return rc;
}

/* A profile begins {"count":N}. */
static bool detects_piece(const struct json_item *piece)
{
    struct json_slice value = json_value(piece->text, piece->length);

    return !piece->key && (json_member(value, "startComputeMs").kind == JSON_NUMBER ||
                           json_member(value, "averageMs").kind == JSON_NUMBER ||
                           (json_member(value, "ph").kind != JSON_STRING &&
                            json_member(value, "count").kind == JSON_NUMBER));
}

const struct import_format import_trtexec_format = {
    .name = "trtexec",
    .about = "what TensorRT's trtexec exports: times and profiles",
    .detects_piece = detects_piece,
    .read_json = read_json,
};
