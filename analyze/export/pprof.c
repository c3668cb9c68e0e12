/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof: a gzip-compressed protobuf message of type Profile. Field numbers are those of the
 * published format; tests/support/pprof.proto names them. A frame is an op's name: a function with
 * one location.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyze/export/call_tree.h"
#include "base/text_buffer.h"

enum profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
};

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

struct writer {
    const struct export *export;
    struct call_tree tree;
    struct text_buffer
        message;              /* the whole profile: it grows with distinct stacks, not with time */
    ARRAY_OF(char *) strings; /* string_table behind its first, which is empty */
};

/* --- Protobuf. --- */

static void add_varint(struct text_buffer *buffer, uint64_t value)
{
    char bytes[10];
    size_t length = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (char)(value | 0x80);
    bytes[length++] = (char)value;
    text_buffer_add(buffer, bytes, length);
}

static void add_number(struct text_buffer *buffer, unsigned field, int64_t value)
{
    if (!value)
        return; /* the default */
    add_varint(buffer, field << 3 | WIRE_VARINT);
    add_varint(buffer, (uint64_t)value);
}

static void add_bytes(struct text_buffer *buffer, unsigned field, const char *bytes, size_t length)
{
    add_varint(buffer, field << 3 | WIRE_BYTES);
    add_varint(buffer, length);
    text_buffer_add(buffer, bytes, length);
}

/* Adds a message or a packed list that was put together, and empties it. */
static void add_part(struct writer *writer, struct text_buffer *into, unsigned field,
                     struct text_buffer *part)
{
    writer->message.failed |= part->failed;
    add_bytes(into, field, text_buffer_text(part), part->length);
    part->length = 0;
}

/* The place of a new text in the string table; 0 is "". */
static int64_t add_string(struct writer *writer, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (!text || !*text) {
        free(copy);
        return 0;
    }
    if (copy)
        export_clean(copy);
    if (!copy || array_push(&writer->strings, copy) < 0) {
        free(copy);
        writer->message.failed = true;
        return 0;
    }
    return (int64_t)writer->strings.count;
}

/* --- The parts of a profile. --- */

/* The order of values in a sample: pprof shows the last, or the default type, first. */
static const struct {
    enum export_weight weight;
    const char *type, *unit;
} sample_types[] = {
    {WEIGHT_CALLS, "calls", "count"},
    {WEIGHT_TIME, "host_time", "nanoseconds"},
    {WEIGHT_DEVICE, "device_time", "nanoseconds"},
    {WEIGHT_BYTES, "moved", "bytes"},
    {WEIGHT_ALLOC, "allocated", "bytes"},
};
enum { SAMPLE_TYPES = sizeof(sample_types) / sizeof(sample_types[0]) };

static bool has_values(const struct call_node *node)
{
    for (int i = 0; i < WEIGHTS; i++) {
        if (node->values[i])
            return true;
    }
    return false;
}

/* Time on the device is what is asked for first, where there is any. */
static enum export_weight default_weight(const struct writer *writer)
{
    for (size_t i = 0; i < writer->tree.nodes.count; i++) {
        if (writer->tree.nodes.items[i].values[WEIGHT_DEVICE])
            return WEIGHT_DEVICE;
    }
    return WEIGHT_TIME;
}

static void write_types(struct writer *writer)
{
    enum export_weight wanted = default_weight(writer);
    struct text_buffer type = {0};
    int64_t default_type = 0;

    for (int i = 0; i < SAMPLE_TYPES; i++) {
        int64_t name = add_string(writer, sample_types[i].type);

        if (sample_types[i].weight == wanted)
            default_type = name;
        add_number(&type, 1, name);
        add_number(&type, 2, add_string(writer, sample_types[i].unit));
        add_part(writer, &writer->message, PROFILE_SAMPLE_TYPE, &type);
    }
    add_number(&writer->message, PROFILE_DEFAULT_TYPE, default_type);
    text_buffer_deinit(&type);
}

/* Locations and functions have the numbers of names, from 1. */
static void write_functions(struct writer *writer)
{
    struct text_buffer part = {0}, line = {0};

    for (size_t i = 0; i < writer->tree.names.count; i++) {
        const struct call_name *name = &writer->tree.names.items[i];
        const struct op_row *op = &writer->export->spans->ops.items[name->op];
        int64_t number = (int64_t)i + 1, source_line, text = add_string(writer, name->text);
        char *file = export_source(op->source, &source_line);

        add_number(&part, 1, number);
        add_number(&part, 2, text);
        add_number(&part, 3, text);
        add_number(&part, 4, add_string(writer, file));
        add_number(&part, 5, source_line);
        add_part(writer, &writer->message, PROFILE_FUNCTION, &part);
        add_number(&line, 1, number);
        add_number(&line, 2, source_line);
        add_number(&part, 1, number);
        add_part(writer, &part, 4, &line);
        add_part(writer, &writer->message, PROFILE_LOCATION, &part);
        free(file);
    }
    text_buffer_deinit(&part);
    text_buffer_deinit(&line);
}

static void write_samples(struct writer *writer)
{
    const struct call_node *nodes = writer->tree.nodes.items;
    struct text_buffer sample = {0}, list = {0};

    for (size_t i = 0; i < writer->tree.nodes.count; i++) {
        if (!has_values(&nodes[i]))
            continue;
        for (uint32_t at = (uint32_t)i; at != SPAN_NONE; at = nodes[at].parent)
            add_varint(&list, nodes[at].name + UINT64_C(1)); /* the innermost first */
        add_part(writer, &sample, 1, &list);
        for (int k = 0; k < SAMPLE_TYPES; k++)
            add_varint(&list, (uint64_t)nodes[i].values[sample_types[k].weight]);
        add_part(writer, &sample, 2, &list);
        add_part(writer, &writer->message, PROFILE_SAMPLE, &sample);
    }
    text_buffer_deinit(&sample);
    text_buffer_deinit(&list);
}

static void write_rest(struct writer *writer)
{
    const struct spans_answer *spans = writer->export->spans;

    add_number(&writer->message, PROFILE_TIME, spans->start_ns);
    add_number(&writer->message, PROFILE_DURATION, spans->end_ns - spans->start_ns);
    add_number(&writer->message, PROFILE_COMMENT,
               add_string(writer, writer->export->report->source->name));
    add_bytes(&writer->message, PROFILE_STRING, "", 0);
    for (size_t i = 0; i < writer->strings.count; i++)
        add_bytes(&writer->message, PROFILE_STRING, writer->strings.items[i],
                  strlen(writer->strings.items[i]));
}

/* --- The file. --- */

static int write_gzip(FILE *stream, const struct text_buffer *message)
{
    z_stream zip = {0};
    uLong bound;
    Bytef *bytes;
    int rc = 0;

    /* 16 more bits ask for gzip's header. */
    if (deflateInit2(&zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return -ENOMEM;
    bound = deflateBound(&zip, message->length);
    bytes = malloc(bound);
    zip.next_in = (Bytef *)message->text;
    zip.avail_in = (uInt)message->length;
    zip.next_out = bytes;
    zip.avail_out = (uInt)bound;
    if (!bytes || deflate(&zip, Z_FINISH) != Z_STREAM_END)
        rc = -ENOMEM;
    else
        fwrite(bytes, 1, zip.total_out, stream); /* the stream keeps its error */
    deflateEnd(&zip);
    free(bytes);
    return rc;
}

static int run(const struct export *export, struct diag *diag)
{
    struct writer writer = {.export = export};
    int rc = call_tree_init(&writer.tree, export);

    if (rc == 0) {
        write_types(&writer);
        write_functions(&writer);
        write_samples(&writer);
        write_rest(&writer);
        rc = writer.message.failed || writer.message.length > UINT32_MAX / 2
                 ? -ENOMEM
                 : write_gzip(export->stream, &writer.message);
    }
    for (size_t i = 0; i < writer.strings.count; i++)
        free(writer.strings.items[i]);
    array_deinit(&writer.strings);
    text_buffer_deinit(&writer.message);
    call_tree_deinit(&writer.tree);
    return rc < 0 ? diag_set(diag, rc, "no memory for the profile") : 0;
}

const struct export_kind export_pprof = {
    .name = "pprof",
    .about = "pprof, for `go tool pprof` and its kin: stacks of spans with calls, host time, "
             "device time, bytes moved and bytes allocated.",
    .suffix = ".pb.gz",
    .run = run,
    .is_binary = true,
};
