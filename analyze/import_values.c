/* SPDX-License-Identifier: Apache-2.0 */
/* What importers of JSON share. */
#include "analyze/import_values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/dtype.h"

enum { SHAPE_DEPTH_MAX = 6 };

static void write_shapes(struct json_writer *json, struct json_slice value, int depth)
{
    struct json_walk walk = json_walk_over(value);
    struct json_slice key, item;
    int64_t number;

    if (value.kind == JSON_ARRAY && depth < SHAPE_DEPTH_MAX) {
        json_begin_array(json);
        while (json_walk_next(&walk, &key, &item) == 1)
            write_shapes(json, item, depth + 1);
        json_end_array(json);
    } else if (json_whole(value, &number)) {
        json_int(json, number);
    } else {
        json_null(json);
    }
}

void import_write_shapes(struct json_writer *json, struct json_slice value)
{
    write_shapes(json, value, 0);
}

void import_write_text(struct json_writer *json, struct json_slice value)
{
    char *text = json_take_text(value);

    if (!text)
        json->error = -ENOMEM;
    json_string(json, text);
    free(text);
}

void import_write_texts(struct json_writer *json, struct json_slice value, bool are_dtypes)
{
    struct json_walk walk = json_walk_over(value);
    struct json_slice key, item;

    json_begin_array(json);
    while (json_walk_next(&walk, &key, &item) == 1) {
        char *text = json_take_text(item);

        if (!text)
            json->error = -ENOMEM;
        json_string(json, !are_dtypes ? text : text && *text ? dtype_short(text) : NULL);
        free(text);
    }
    json_end_array(json);
}

char *import_take(struct json_writer *json)
{
    char *text = json_finish(json) == 0 ? json_take(json, NULL) : NULL;

    json_deinit(json);
    if (text)
        text[strcspn(text, "\n")] = '\0';
    return text;
}

char *import_shapes_text(struct json_slice value)
{
    struct json_writer json;

    if (value.kind != JSON_ARRAY)
        return NULL;
    json_init_memory(&json);
    import_write_shapes(&json, value);
    return import_take(&json);
}

char *import_dtypes_text(struct json_slice value)
{
    struct json_writer json;

    if (value.kind != JSON_ARRAY)
        return NULL;
    json_init_memory(&json);
    import_write_texts(&json, value, true);
    return import_take(&json);
}

void import_place_of_frame(char *frame)
{
    char *open = strrchr(frame, '('), *end = open ? strstr(open, "): ") : NULL;

    if (end && end > open + 1) {
        *open = ':';
        *end = '\0';
    }
}

int import_each(struct import_loop *loop, struct diag *diag)
{
    struct diag damage = {0};
    struct json_item item;
    int rc;

    while ((rc = json_stream_next(loop->stream, &item, &damage)) == 1 &&
           (rc = loop->add(loop->context, &item, &damage)) == 0)
        continue;
    if (rc == -EUCLEAN && loop->options && loop->options->lenient)
        snprintf(loop->damage, sizeof(loop->damage), "%s", damage.text);
    else if (rc < 0)
        return diag_set_at(diag, rc, damage.offset, "%s", damage.text);
    return 0;
}

void import_note_count(char *note, size_t note_bytes, uint64_t count, const char *what)
{
    size_t used = strlen(note);

    if (count)
        snprintf(note + used, note_bytes - used, "; %" PRIu64 " %s", count, what);
}

void import_note_end(char *note, size_t note_bytes, const struct import_loop *loop)
{
    size_t used = strlen(note);

    if (loop->damage[0])
        snprintf(note + used, note_bytes - used, "; " IMPORT_DAMAGE ": %s", loop->damage);
    else if (json_stream_is_unclosed(loop->stream))
        snprintf(note + used, note_bytes - used,
                 "; the file was never closed: its writer was probably killed");
}
