/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome traces: from events to rows. */
#include "analyze/import/chrome/chrome.h"
#include "analyze/import/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/chrome/private.h"
#include "analyze/import/values.h"

/* Times are in microseconds, with as many digits behind the point as the writer likes. */
static bool read_time(struct chrome *chrome, const struct chrome_event *event, int64_t *out_ns)
{
    if (!json_decimal(event->time, 3, out_ns) || !is_import_time(*out_ns, 0))
        return false;
    chrome->has_fractions |= *out_ns % 1000 != 0;
    return true;
}

/* --- Spans. --- */

/* -1 stands for a span that never ended; other negative durations come from clocks that disagree.
 */
static int64_t read_duration(struct chrome *chrome, const struct chrome_event *event)
{
    int64_t dur_ns;

    if (!json_decimal(event->duration, 3, &dur_ns) || dur_ns == -1000)
        return STORE_NULL;
    if (dur_ns < 0) {
        chrome->clipped_count++;
        return 0;
    }
    return dur_ns;
}

/* A whole number, or STORE_NULL. */
static int64_t number_of(struct json_slice value)
{
    int64_t number;

    return json_whole(value, &number) ? number : STORE_NULL;
}

/* The call that a span came from; of a wait for an event, the one that recorded it: what holds the
 * stream or the thread up is known by that alone. */
static int64_t correlation_of(const struct chrome_event *event, enum chrome_kind kind)
{
    int64_t record = STORE_NULL;

    if (kind == KIND_SYNC &&
        (json_is(event->name, "Stream Wait Event") || json_is(event->name, "Event Sync")))
        record = number_of(event->arg[ARG_WAIT_RECORD]);
    return record > 0 ? record : number_of(event->arg[ARG_CORRELATION]);
}

/* What moves or fills memory. */
static bool is_copy(enum chrome_kind kind)
{
    return kind == KIND_COPY || kind == KIND_MEMSET;
}

/* Of what moves or fills memory; a number below 0 says nothing. */
static int64_t bytes_of(const struct chrome_event *event, enum chrome_kind kind)
{
    int64_t bytes = number_of(event->arg[ARG_BYTES]);

    return (is_copy(kind) || chrome_is_own(event)) && bytes >= 0 ? bytes : STORE_NULL;
}

static int add_span(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                    int64_t start_ns, struct diag *diag)
{
    enum chrome_kind kind = chrome_kind_of(event);
    struct import_span span = {
        .lane = lane,
        .start_ns = start_ns,
        .dur_ns = read_duration(chrome, event),
        .kern_ns = STORE_NULL,
        .bytes = STORE_NULL,
    };
    int rc = 0;

    if (!is_import_time(span.start_ns, span.dur_ns)) {
        chrome->bad_count++;
        return 0;
    }
    if (chrome_is_device(kind))
        rc = chrome_mark_device(chrome, event, lane, diag);
    if (kind == KIND_RUNTIME)
        rc = chrome_note_size(chrome, event, diag);
    if (rc == 0)
        rc = chrome_op(chrome, event, kind, lane, NULL, &span.op, diag);
    if (rc < 0)
        return rc;
    if (!json_decimal(event->arg[ARG_KERN], 3, &span.kern_ns) || span.kern_ns < 0 ||
        span.kern_ns > span.dur_ns)
        span.kern_ns = STORE_NULL;
    span.correlation = correlation_of(event, kind);
    span.external = number_of(event->arg[ARG_EXTERNAL]);
    span.bytes = bytes_of(event, kind);
    if (kind == KIND_OP)
        rc = chrome_stacks_note(&chrome->stacks, &chrome->importer, event->name.text,
                                event->name.length, number_of(event->arg[ARG_SEQUENCE]),
                                number_of(event->arg[ARG_FORWARD_THREAD]), diag);
    if (rc == 0 && kind == KIND_LABEL && !chrome_is_own(event) && chrome_is_step(event) &&
        span.dur_ns != STORE_NULL)
        rc = importer_run(
            &chrome->importer,
            &(struct importer_run){start_ns, start_ns + span.dur_ns, lane, false, false}, diag);
    return rc < 0 ? rc : importer_span(&chrome->importer, &span, diag);
}

static int begin_span(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                      int64_t time_ns, struct diag *diag)
{
    enum chrome_kind kind = chrome_kind_of(event);
    struct chrome_edge edge = {
        .time_ns = time_ns,
        .phase = 'B',
        .lane = lane,
        .correlation = correlation_of(event, kind),
        .external = number_of(event->arg[ARG_EXTERNAL]),
        .bytes = bytes_of(event, kind),
    };
    int rc = 0;

    if (chrome_is_device(kind))
        rc = chrome_mark_device(chrome, event, lane, diag);
    if (rc == 0)
        rc = chrome_op(chrome, event, kind, lane, NULL, &edge.op, diag);
    return rc < 0 ? rc : chrome_keep_edge(chrome, &edge, diag);
}

static int end_span(struct chrome *chrome, uint32_t lane, int64_t time_ns, struct diag *diag)
{
    struct chrome_edge edge = {.time_ns = time_ns, .phase = 'E', .lane = lane};

    return chrome_keep_edge(chrome, &edge, diag);
}

/* --- Metadata. --- */

static int note_metadata(struct chrome *chrome, const struct chrome_event *event, struct diag *diag)
{
    char *name = json_take_text(event->arg[ARG_NAME]);
    uint32_t lane;
    int rc = name ? 0 : diag_set(diag, -ENOMEM, "no memory for the trace");

    if (rc == 0 && json_is(event->name, "thread_name") &&
        event->arg[ARG_LANE].kind == JSON_OBJECT) {
        chrome->has_fractions = true; /* times are exact */
        rc = chrome_own_lane(chrome, event, name, diag);
    } else if (rc == 0 && json_is(event->name, "thread_name") && *name) {
        name[chrome_thread_length(name, strlen(name))] = '\0';
        rc = chrome_lane(chrome, event, &lane, diag);
        if (rc == 0)
            rc = importer_set_text(&chrome->importer.lanes.items[lane].name, name, diag);
    } else if (rc == 0 && json_is(event->name, "process_name") && !chrome->program) {
        rc = importer_set_text(&chrome->program, name, diag);
        if (!json_whole(event->process, &chrome->pid))
            chrome->pid = STORE_NULL;
    }
    free(name);
    return rc;
}

static int note_zero(struct chrome *chrome, const struct json_item *item, struct json_slice value,
                     struct diag *diag)
{
    int64_t zero_ns;

    if (!json_whole(value, &zero_ns) || zero_ns < 0 || zero_ns > IMPORT_TIME_MAX)
        return json_stream_damage(chrome->stream, item->offset,
                                  "baseTimeNanoseconds is no time since 1970", diag);
    chrome->offset_ns = zero_ns;
    return 0;
}

/* --- Events. --- */

static int add_point(struct chrome *chrome, const struct chrome_event *event, char phase,
                     struct diag *diag)
{
    int64_t time_ns;
    uint32_t lane;
    int rc;

    if (!read_time(chrome, event, &time_ns)) {
        chrome->bad_count++;
        return 0;
    }
    if (chrome_is_extra(event))
        return chrome_add_own(chrome, event, time_ns, diag);
    if (strchr("bneSTpFND", phase))
        return chrome_add_async(chrome, event, phase, time_ns, diag);
    if (chrome_is_of_profiler(event)) {
        skipped_add(&chrome->skipped, "events of the profiler itself", 29);
        return 0;
    }
    rc = chrome_lane(chrome, event, &lane, diag);
    if (rc < 0)
        return rc;
    if (chrome_is_profiler_range(event))
        return chrome_add_profiler_range(chrome, event, lane, time_ns, diag);
    switch (phase) {
    case 'X':
        return add_span(chrome, event, lane, time_ns, diag);
    case 'B':
        return begin_span(chrome, event, lane, time_ns, diag);
    case 'E':
        return end_span(chrome, lane, time_ns, diag);
    case 'C':
        return chrome_add_counters(chrome, event, lane, time_ns, diag);
    case 's':
    case 't':
    case 'f':
        return chrome_add_flow(chrome, event, lane, time_ns, diag);
    default:
        return chrome_add_instant(chrome, event, lane, time_ns, diag);
    }
}

static void note_unknown(struct chrome *chrome, struct json_slice phase)
{
    char name[SKIPPED_NAME_BYTES];

    snprintf(name, sizeof(name), "events of kind %.*s", (int)(phase.length < 8 ? phase.length : 8),
             phase.length ? phase.text : "");
    skipped_add(&chrome->skipped, name, strlen(name));
}

static int add_event(struct chrome *chrome, const struct json_item *item, struct diag *diag)
{
    struct chrome_event event;
    const char *problem, *place;
    char phase;

    if (item->text[0] != '{')
        return json_stream_damage(chrome->stream, item->offset, "an event is no object", diag);
    if (chrome_read_event(json_value(item->text, item->length), &event, &chrome->skipped, &problem,
                          &place) < 0)
        return json_stream_damage(chrome->stream, item->offset + (uint64_t)(place - item->text),
                                  problem, diag);
    chrome->event_count++;
    phase = event.phase.length == 1 ? *event.phase.text : '\0';
    if (phase && strchr("XBECiIRstfbneSTpFND", phase))
        return add_point(chrome, &event, phase, diag);
    if (phase == 'M' && json_is(event.name, "baseTimeNanoseconds"))
        return note_zero(chrome, item, event.arg[ARG_VALUE], diag);
    if (phase == 'M')
        return note_metadata(chrome, &event, diag);
    note_unknown(chrome, event.phase);
    return 0;
}

static int add_item(void *context, const struct json_item *item, struct diag *diag)
{
    struct chrome *chrome = context;
    struct json_slice value = json_value(item->text, item->length);

    if (!item->key || strcmp(item->key, "traceEvents") == 0)
        return add_event(chrome, item, diag);
    if (strcmp(item->key, "baseTimeNanoseconds") == 0)
        return note_zero(chrome, item, value, diag);
    if (strcmp(item->key, "deviceProperties") == 0 && !chrome->gpu) {
        chrome->gpu = json_take_text(json_member(value, "name"));
        return chrome->gpu ? 0 : diag_set(diag, -ENOMEM, "no memory for the trace");
    }
    if (strcmp(item->key, "distributedInfo") == 0) {
        chrome->rank = number_of(json_member(value, "rank"));
        chrome->rank_count = number_of(json_member(value, "world_size"));
    }
    return 0;
}

/* --- All of it. --- */

/* For session.environment, or NULL; the caller frees it. */
static char *environment_of(const struct chrome *chrome)
{
    struct json_writer json;

    bool has_gpu = chrome->gpu && *chrome->gpu;

    if (!has_gpu && chrome->rank == STORE_NULL && chrome->rank_count == STORE_NULL)
        return NULL;
    json_init_memory(&json);
    json_begin_object(&json);
    if (has_gpu) {
        json_key(&json, "gpus");
        json_begin_array(&json);
        json_string(&json, chrome->gpu);
        json_end_array(&json);
    }
    if (chrome->rank != STORE_NULL) {
        json_key(&json, "rank");
        json_int(&json, chrome->rank);
    }
    if (chrome->rank_count != STORE_NULL) {
        json_key(&json, "world_size");
        json_int(&json, chrome->rank_count);
    }
    json_end_object(&json);
    return import_take(&json);
}

static int finish(struct chrome *chrome, const char *name, const struct import_loop *loop,
                  struct diag *diag)
{
    char *environment = environment_of(chrome), note[3000], rank[64] = "";
    struct store_session session = {
        .program = chrome->program,
        .pid = chrome->program ? chrome->pid : STORE_NULL,
        .uid = STORE_NULL,
        .note = note,
        .environment = environment,
    };
    int rc = chrome_pair_edges(chrome, diag);

    if (chrome->rank != STORE_NULL && chrome->rank_count != STORE_NULL)
        snprintf(rank, sizeof(rank), ", rank %" PRId64 " of %" PRId64, chrome->rank,
                 chrome->rank_count);
    snprintf(note, sizeof(note), "%.400s: %" PRIu64 " events of a Chrome trace%s%.100s%s", name,
             chrome->event_count, chrome->gpu && *chrome->gpu ? ", recorded on " : "",
             chrome->gpu ? chrome->gpu : "", rank);
    import_note_count(note, sizeof(note), chrome->clipped_count,
                      "ended before they began: taken as 0");
    import_note_count(note, sizeof(note), chrome->bad_count,
                      "without a usable time or id: left out");
    import_note_count(note, sizeof(note), chrome->unmatched_count,
                      "ends without a beginning: left out");
    import_note_count(note, sizeof(note), chrome->relation_count,
                      "flows between ops, such as from forward to backward ones: left out");
    skipped_note(&chrome->skipped, note, sizeof(note));
    chrome->importer.rounding_ns = chrome->has_fractions ? 0 : 1000;
    if (rc == 0)
        rc = chrome_stacks_finish(&chrome->stacks, &chrome->importer, diag);
    import_note_count(note, sizeof(note), chrome->stacks.dropped_count,
                      "call stacks too long or too many: cut or left out");
    import_note_end(note, sizeof(note), loop);
    session.damage_count = (int64_t)loop->damage_count;
    if (rc == 0)
        rc = importer_finish(&chrome->importer, &session, chrome->offset_ns, diag);
    free(environment);
    return rc;
}

static void chrome_deinit(struct chrome *chrome)
{
    importer_deinit(&chrome->importer);
    place_map_deinit(&chrome->lanes);
    for (size_t i = 0; i < chrome->lane_states.count; i++)
        array_deinit(&chrome->lane_states.items[i].open);
    array_deinit(&chrome->lane_states);
    chrome_drop_asyncs(chrome);
    row_sorter_deinit(&chrome->edges);
    chrome_stacks_deinit(&chrome->stacks);
    free(chrome->program);
    free(chrome->gpu);
}

int import_chrome(struct json_stream *stream, const char *name, struct store *store,
                  const struct import_options *options, struct diag *diag)
{
    struct chrome chrome = {.stream = stream, .rank = STORE_NULL, .rank_count = STORE_NULL};
    struct import_loop loop = {
        .stream = stream, .options = options, .add = add_item, .context = &chrome};
    int rc = importer_begin(&chrome.importer, store, "chrome", diag);

    if (rc == 0)
        rc = import_each(&loop, diag);
    if (rc == 0)
        rc = finish(&chrome, name, &loop, diag);
    chrome_deinit(&chrome);
    return rc;
}

static const char *const parts[] = {"traceEvents[]", NULL};

static bool detects_piece(const struct json_item *piece)
{
    if (piece->key)
        return strcmp(piece->key, "traceEvents") == 0;
    return json_member(json_value(piece->text, piece->length), "ph").kind == JSON_STRING;
}

static int read_json(struct json_stream *stream, const char *name, struct store *store,
                     const struct import_options *options, const struct import_format **format,
                     struct diag *diag)
{
    (void)format;
    return import_chrome(stream, name, store, options, diag);
}

const struct import_format import_chrome_format = {
    .name = "chrome",
    .about = "Chrome traces such as those of PyTorch's profiler (Kineto), also compressed by gzip",
    .parts = parts,
    .marks = parts,
    .detects_piece = detects_piece,
    .read_json = read_json,
};
