/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of MegEngine's load_and_run --profile: graph and costs of the ops of one run, and when
 * each ran on its thread and its device. The format has one entry per op and lane, so that of
 * several executions in the run the last one is written, as MegEngine does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"
#include "analyze/export/megengine/private.h"

/* --- What is written. --- */

/* Of the runs selected the last one that ended, or else the last. */
static uint32_t choose_run(const struct spans_answer *spans)
{
    uint32_t chosen = SPAN_NONE;
    bool ended = false;

    for (size_t i = 0; i < spans->runs.count; i++) {
        const struct run_row *run = &spans->runs.items[i];

        if (!run->selected || (ended && run->end_ns == STORE_NULL))
            continue;
        chosen = (uint32_t)i;
        ended |= run->end_ns != STORE_NULL;
    }
    return chosen;
}

static bool is_written(const struct megengine_writer *writer, const struct packed_span *span)
{
    return span->is_shown && writer->spans->op_kinds[span->op] == SPAN_OP &&
           (writer->run == SPAN_NONE || span->run == writer->run);
}

/* The number that an op has in its model, or -1. */
static int64_t number_of(const struct op_row *op)
{
    char *end;
    long long number = op->node_id ? strtoll(op->node_id, &end, 10) : -1;
    bool is_number = op->node_id && *op->node_id && *end == '\0';

    return is_number && number >= 0 && number < INT64_MAX / 4 ? number : -1;
}

/* Gives the number of its node to each op that computes something, or to each that does not, unless
 * it is taken; *above is the highest one so far. */
static int choose_ids_of(struct megengine_writer *writer, bool computes, struct place_map *taken,
                         int64_t *above)
{
    int rc = 0;

    for (size_t i = 0; i < writer->sequence_count && rc == 0; i++) {
        const struct op_row *op = &writer->spans->ops.items[writer->sequence[i]];
        int64_t id = number_of(op);
        struct place_key key = {.low = (uint64_t)id};

        if ((op->computation_flop > 0) != computes)
            continue;
        if (id < 0 || place_map_find(taken, key) != PLACE_NONE)
            id = ++*above;
        else
            rc = place_map_set(taken, key, (uint32_t)i);
        writer->ids[writer->sequence[i]] = id;
    }
    return rc;
}

/* Of ops that share a node, such as a convolution and the change of layout before it, the one that
 * computes is the node's own; the others get ids above all of them. */
static int choose_ids(struct megengine_writer *writer)
{
    const struct op_row_array *ops = &writer->spans->ops;
    struct place_map taken = {0};
    int64_t above = -1;
    int rc;

    for (size_t i = 0; i < ops->count; i++)
        above = number_of(&ops->items[i]) > above ? number_of(&ops->items[i]) : above;
    rc = choose_ids_of(writer, true, &taken, &above);
    if (rc == 0)
        rc = choose_ids_of(writer, false, &taken, &above);
    writer->next_var = above + 1;
    place_map_deinit(&taken);
    return rc;
}

struct first_start {
    int64_t start_ns;
    uint32_t op;
};

static int compare_starts(const void *a, const void *b)
{
    const struct first_start *left = a, *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left->op > right->op) - (left->op < right->op);
}

/* Of all lanes in order; `take` returns 0 or -ENOMEM. */
static int each_span(const struct megengine_writer *writer,
                     int (*take)(void *user, const struct packed_span *span), void *user)
{
    int rc = 0, read_rc;

    for (size_t i = 0; i < writer->spans->lanes.count && rc == 0; i++) {
        struct packed_reader reader;

        packed_read(writer->export->packed, i, &reader);
        while (rc == 0 && packed_next(&reader))
            rc = take(user, &reader.span);
        read_rc = packed_reader_deinit(&reader);
        rc = rc < 0 ? rc : read_rc;
    }
    return rc;
}

struct sequencing {
    const struct megengine_writer *writer;
    struct first_start *starts; /* beside ops, as has_host is */
    bool *has_host;
};

/* Host and device have clocks of their own in an imported profile: an op that the host dispatched
 * stands where that was. */
static int take_start(void *user, const struct packed_span *span)
{
    struct sequencing *sequencing = user;
    struct first_start *start = &sequencing->starts[span->op];
    bool *has_host = &sequencing->has_host[span->op], is_host = !span->is_device;

    if (!is_written(sequencing->writer, span) || (*has_host && !is_host))
        return 0;
    if (span->start_ns < start->start_ns || (is_host && !*has_host))
        start->start_ns = span->start_ns;
    *has_host |= is_host;
    return 0;
}

static int find_sequence(struct megengine_writer *writer)
{
    size_t count = writer->spans->ops.count;
    struct sequencing sequencing = {writer, malloc((count + 1) * sizeof(*sequencing.starts)),
                                    calloc(count + 1, sizeof(*sequencing.has_host))};
    struct first_start *starts = sequencing.starts;
    int rc = starts && sequencing.has_host ? 0 : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < count; i++)
        starts[i] = (struct first_start){INT64_MAX, (uint32_t)i};
    if (rc == 0)
        rc = each_span(writer, take_start, &sequencing);
    if (rc == 0)
        qsort(starts, count, sizeof(*starts), compare_starts);
    for (size_t i = 0; rc == 0 && i < count && starts[i].start_ns != INT64_MAX; i++)
        writer->sequence[writer->sequence_count++] = starts[i].op;
    free(sequencing.has_host);
    free(starts);
    return rc;
}

/* --- Lanes. --- */

/* How many lanes before this one are of the same device. */
static int stream_of(const struct spans_answer *spans, size_t lane)
{
    const char *device = spans->lanes.items[lane].device;
    int stream = 0;

    for (size_t i = 0; i < lane; i++) {
        const struct lane_row *other = &spans->lanes.items[i];

        stream += other->side == OP_DEVICE && device && other->device &&
                  strcmp(device, other->device) == 0;
    }
    return stream;
}

/* "cuda:1" is CompNode("gpu1:0" from "gpu1:0"), its second stream gpu1:1. The first device of a
 * kind is the one that goes without a number: CompNode("cpu0:0" from "cpux:0"). */
static int name_device_lane(const struct spans_answer *spans, size_t place, char **out_name)
{
    const struct lane_row *lane = &spans->lanes.items[place];
    const char *device = lane->device ? lane->device : "cpu:0";
    int letters = (int)strcspn(device, ":0123456789"), stream = stream_of(spans, place), rc;
    const char *kind = strncmp(device, "cuda:", 5) == 0 ? "gpu" : device;
    const char *number = device + letters + 1;

    if (strncmp(lane->name, "CompNode(", 9) == 0)
        rc = asprintf(out_name, "%s", lane->name);
    else if (device[letters] != ':' || !*number || number[strspn(number, "0123456789")])
        rc = asprintf(out_name, "CompNode(\"%s\" from \"%s\")", device, device);
    else
        rc = asprintf(out_name, "CompNode(\"%.*s%s:%d\" from \"%.*s%s:%d\")",
                      kind == device ? letters : 3, kind, number, stream,
                      kind == device ? letters : 3, kind, strcmp(number, "0") == 0 ? "x" : number,
                      stream);
    return rc < 0 ? -ENOMEM : 0;
}

/* A thread whose name another one has, too, gets its number. */
static int name_host_lane(const struct spans_answer *spans, size_t place, char **out_name)
{
    const struct lane_row *lane = &spans->lanes.items[place];

    for (size_t i = 0; i < place; i++) {
        const struct lane_row *other = &spans->lanes.items[i];

        if (other->side == OP_HOST && strcmp(other->name, lane->name) == 0)
            return asprintf(out_name, "%s(%" PRId64 ")", lane->name, lane->lane_id) < 0 ? -ENOMEM
                                                                                        : 0;
    }
    return (*out_name = strdup(lane->name)) ? 0 : -ENOMEM;
}

static int name_lanes(struct megengine_writer *writer)
{
    const struct spans_answer *spans = writer->spans;
    int rc = 0;

    for (size_t i = 0; i < spans->lanes.count && rc == 0; i++)
        rc = spans->lanes.items[i].side == OP_DEVICE
                 ? name_device_lane(spans, i, &writer->lane_names[i])
                 : name_host_lane(spans, i, &writer->lane_names[i]);
    return rc;
}

/* --- profiler. --- */

static int take_earliest(void *user, const struct packed_span *span)
{
    int64_t *first_ns = user;

    if (span->is_device && span->start_ns < *first_ns)
        *first_ns = span->start_ns;
    return 0;
}

/* Host times count from the beginning of the session, those of devices from the first thing that
 * one did; an imported profile has both zeros already. */
static int find_zero(const struct megengine_writer *writer, enum op_side side, int64_t *out_ns)
{
    const struct report *report = writer->export->report;

    *out_ns = 0;
    if (writer->spans->basis.is_flat)
        return 0;
    *out_ns = INT64_MAX;
    if (side == OP_DEVICE)
        return each_span(writer, take_earliest, out_ns);
    *out_ns = export_session(writer->export, report->session_ids[0])->start_ns;
    return 0;
}

/* For each op and lane the last span. */
struct last_span {
    uint32_t op, lane;
    int64_t start_ns, kern_ns, dur_ns;
};

static int compare_last(const void *a, const void *b)
{
    const struct last_span *left = a, *right = b;

    if (left->op != right->op)
        return left->op < right->op ? -1 : 1;
    return (left->lane > right->lane) - (left->lane < right->lane);
}

static void write_mark(struct megengine_writer *writer, const struct last_span *span,
                       int64_t zero_ns)
{
    struct json_writer *json = &writer->json;

    json_key(json, writer->lane_names[span->lane]);
    json_begin_object(json);
    json_key(json, "start");
    json_double(json, (double)(span->start_ns - zero_ns) * 1e-9);
    json_key(json, "kern"); /* -1: no kernel was issued */
    json_double(json, span->kern_ns == STORE_NULL
                          ? -1
                          : (double)(span->start_ns + span->kern_ns - zero_ns) * 1e-9);
    json_key(json, "end");
    json_double(json, (double)(span->start_ns + span->dur_ns - zero_ns) * 1e-9);
    json_end_object(json);
}

struct last_spans ARRAY_FIELDS(struct last_span);

struct finding {
    const struct megengine_writer *writer;
    enum op_side side;
    struct last_spans *found;
    size_t *of_op; /* beside ops: place of the op's last span so far, where it is of this lane */
};

static int take_last(void *user, const struct packed_span *span)
{
    struct finding *finding = user;
    const struct last_span last = {span->op, span->lane, span->start_ns, span->kern_ns,
                                   span->dur_ns};
    size_t place = finding->of_op[span->op];

    if (!is_written(finding->writer, span) || span->is_device != (finding->side == OP_DEVICE))
        return 0;
    if (place < finding->found->count && finding->found->items[place].op == span->op &&
        finding->found->items[place].lane == span->lane) {
        finding->found->items[place] = last;
        return 0;
    }
    finding->of_op[span->op] = finding->found->count;
    return array_push(finding->found, last);
}

static int write_side(struct megengine_writer *writer, const char *key, enum op_side side)
{
    struct json_writer *json = &writer->json;
    struct last_spans found = {0};
    struct finding finding = {writer, side, &found,
                              calloc(writer->spans->ops.count + 1, sizeof(*finding.of_op))};
    int64_t zero_ns = 0;
    int rc = finding.of_op ? find_zero(writer, side, &zero_ns) : -ENOMEM;

    if (rc == 0)
        rc = each_span(writer, take_last, &finding);
    if (found.count)
        qsort(found.items, found.count, sizeof(*found.items), compare_last);
    json_key(json, key);
    json_begin_object(json);
    for (size_t i = 0; i < found.count && rc == 0;) {
        uint32_t op = found.items[i].op;

        megengine_write_id_key(json, writer->ids[op]);
        json_begin_object(json);
        for (; i < found.count && found.items[i].op == op; i++)
            write_mark(writer, &found.items[i], zero_ns);
        json_end_object(json);
    }
    json_end_object(json);
    array_deinit(&found);
    free(finding.of_op);
    return rc;
}

static int write_profiler(struct megengine_writer *writer)
{
    struct json_writer *json = &writer->json;
    int rc;

    json_key(json, "profiler");
    json_begin_object(json);
    rc = write_side(writer, "device", OP_DEVICE);
    if (rc == 0)
        rc = write_side(writer, "host", OP_HOST);
    megengine_write_op_costs(writer);
    json_key(json, "opr_internal_pf");
    json_begin_object(json);
    json_end_object(json);
    json_end_object(json);
    return rc;
}

/* --- All of it. --- */

static int prepare(struct megengine_writer *writer)
{
    const struct spans_answer *spans = writer->spans;
    int rc;

    writer->run = choose_run(spans);
    writer->ids = calloc(spans->ops.count + 1, sizeof(*writer->ids));
    writer->lane_names = calloc(spans->lanes.count + 1, sizeof(*writer->lane_names));
    writer->sequence = calloc(spans->ops.count + 1, sizeof(*writer->sequence));
    if (!writer->ids || !writer->lane_names || !writer->sequence)
        return -ENOMEM;
    rc = find_sequence(writer);
    if (rc == 0)
        rc = choose_ids(writer);
    return rc ? rc : name_lanes(writer);
}

static int write_all(struct megengine_writer *writer)
{
    int rc;

    json_init_file(&writer->json, writer->export->stream);
    json_begin_object(&writer->json);
    megengine_write_graph(writer);
    rc = write_profiler(writer);
    json_end_object(&writer->json);
    return rc < 0 ? rc : json_finish(&writer->json);
}

static int run(const struct export *export, struct diag *diag)
{
    struct megengine_writer writer = {.export = export, .spans = export->spans};
    int rc;

    if (export->report->session_count != 1)
        return diag_set(diag, -EINVAL,
                        "--export megengine writes one session: choose it with "
                        "--session");
    rc = prepare(&writer);
    if (rc == 0 && !writer.sequence_count) {
        diag_set(diag, 0, "no op ran in what is asked for");
        rc = REPORT_NOTHING;
    }
    if (rc == 0)
        rc = write_all(&writer);
    for (size_t i = 0; writer.lane_names && i < export->spans->lanes.count; i++)
        free(writer.lane_names[i]);
    free(writer.lane_names);
    free(writer.sequence);
    free(writer.ids);
    if (rc == -ENOMEM)
        return diag_set(diag, rc, "no memory for the profile");
    return rc > 0 ? rc : 0; /* the stream's errors are told when it is closed */
}

const struct export_kind export_megengine = {
    .name = "megengine",
    .about = "the profile of MegEngine's load_and_run --profile, of the last run selected.",
    .suffix = ".json",
    .run = run,
};
