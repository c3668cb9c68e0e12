/* SPDX-License-Identifier: Apache-2.0 */
/* What importers of JSON share. */
#include "analyze/import/values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"

enum { SHAPE_DEPTH_MAX = 6, VALUE_DEPTH_MAX = 16 };

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
    char *text;

    if (json_is_plain(value)) {
        json_string_n(json, value.text, value.length);
        return;
    }
    text = json_take_text(value);
    if (!text)
        json->error = -ENOMEM;
    json_string(json, text);
    free(text);
}

void import_write_texts(struct json_writer *json, struct json_slice value)
{
    struct json_walk walk = json_walk_over(value);
    struct json_slice key, item;

    json_begin_array(json);
    while (json_walk_next(&walk, &key, &item) == 1)
        import_write_text(json, item);
    json_end_array(json);
}

void import_write_dtype(struct json_writer *json, struct json_slice value)
{
    char *text = json_take_text(value);

    if (!text)
        json->error = -ENOMEM;
    json_string(json, text && *text ? dtype_short(text) : NULL);
    free(text);
}

void import_write_key(struct json_writer *json, struct json_slice key)
{
    char *text;

    if (json_is_plain(key)) {
        json_key_n(json, key.text, key.length);
        return;
    }
    text = json_take_text(key);
    if (!text)
        json->error = -ENOMEM;
    json_key(json, text ? text : "");
    free(text);
}

static void write_number(struct json_writer *json, struct json_slice value)
{
    int64_t whole;
    double real;

    if (json_whole(value, &whole))
        json_int(json, whole);
    else if (json_real(value, &real))
        json_double(json, real);
    else
        json_null(json);
}

static void write_value(struct json_writer *json, struct json_slice value, int depth)
{
    bool is_object = value.kind == JSON_OBJECT;
    struct json_walk walk = json_walk_over(value);
    struct json_slice key, item;

    if ((is_object || value.kind == JSON_ARRAY) && depth < VALUE_DEPTH_MAX) {
        is_object ? json_begin_object(json) : json_begin_array(json);
        while (json_walk_next(&walk, &key, &item) == 1) {
            if (is_object)
                import_write_key(json, key);
            write_value(json, item, depth + 1);
        }
        is_object ? json_end_object(json) : json_end_array(json);
    } else if (value.kind == JSON_STRING) {
        import_write_text(json, value);
    } else if (value.kind == JSON_BOOL) {
        json_bool(json, value.text[0] == 't');
    } else {
        write_number(json, value);
    }
}

void import_write_value(struct json_writer *json, struct json_slice value)
{
    write_value(json, value, 0);
}

int64_t import_count(struct json_slice value)
{
    int64_t count;

    if (value.kind != JSON_NUMBER || !json_decimal(value, 0, &count) || count < 0)
        return STORE_NULL;
    return count;
}

char *import_take(struct json_writer *json)
{
    char *text = json_finish(json) == 0 ? json_take(json, NULL) : NULL;

    json_deinit(json);
    if (text)
        text[strcspn(text, "\n")] = '\0';
    return text;
}

/* Most lists hold nothing but numbers of up to 18 digits: only their white space changes. NULL: it
 * is another one, or no memory. */
static char *plain_shapes_text(struct json_slice value)
{
    char *text = malloc(value.length * 2 + 1), *out = text;
    int depth = 0, digits = 0;

    for (size_t i = 0; text && i < value.length; i++) {
        char byte = value.text[i], last = out > text ? out[-1] : '[';
        bool is_digit = byte >= '0' && byte <= '9', follows = last == '[' || last == ' ';

        if (byte == ' ' && !digits)
            continue;
        digits = is_digit ? digits + 1 : 0;
        depth += (byte == '[') - (byte == ']');
        /* What may stand behind what: no number with a leading 0, no empty place. */
        if ((is_digit && (last == ']' || digits > 18 || (last == '0' && digits == 2))) ||
            (byte == '[' && (!follows || depth > SHAPE_DEPTH_MAX)) ||
            (byte == ',' && (follows || last == ',')) || (byte == ']' && last == ' ') ||
            !(is_digit || byte == '[' || byte == ']' || byte == ',')) {
            free(text);
            return NULL;
        }
        *out++ = byte;
        if (byte == ',')
            *out++ = ' ';
    }
    if (text)
        *out = '\0';
    return text;
}

char *import_shapes_text(struct json_slice value)
{
    struct json_writer json;
    char *plain = value.kind == JSON_ARRAY ? plain_shapes_text(value) : NULL;

    if (value.kind != JSON_ARRAY || plain)
        return plain;
    json_init_memory(&json);
    import_write_shapes(&json, value);
    return import_take(&json);
}

char *import_dtypes_text(struct json_slice value)
{
    struct json_walk walk = json_walk_over(value);
    struct json_slice key, item;
    struct json_writer json;

    if (value.kind != JSON_ARRAY)
        return NULL;
    json_init_memory(&json);
    json_begin_array(&json);
    while (json_walk_next(&walk, &key, &item) == 1)
        import_write_dtype(&json, item);
    json_end_array(&json);
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

static void note_damage(struct import_loop *loop, const struct diag *damage)
{
    if (!loop->damage[0])
        snprintf(loop->damage, sizeof(loop->damage), "%s", damage->text);
    loop->damage_count++;
}

/* Whether reading goes on after a failure of the stream. */
static bool survives(struct import_loop *loop, int rc, const struct diag *damage)
{
    struct diag other = {0};

    if (rc != -EUCLEAN && rc != -EFBIG)
        return false;
    note_damage(loop, damage);
    loop->is_cut = json_stream_resume(loop->stream, &other) != 1;
    return true;
}

int import_each(struct import_loop *loop, struct diag *diag)
{
    bool is_lenient = loop->options && loop->options->lenient;
    struct diag damage = {0};
    struct json_item item;
    int rc = 0;

    while (!loop->is_cut && (rc = json_stream_next(loop->stream, &item, &damage)) != 0) {
        if (rc < 0 && !(is_lenient && survives(loop, rc, &damage)))
            return diag_set_at(diag, rc, damage.offset, "%s", damage.text);
        if (rc < 0)
            continue;
        rc = loop->add(loop->context, &item, &damage);
        if (rc == -EUCLEAN && is_lenient)
            note_damage(loop, &damage);
        else if (rc < 0)
            return diag_set_at(diag, rc, damage.offset, "%s", damage.text);
    }
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

    if (loop->damage_count > 1 || (loop->damage_count && !loop->is_cut)) {
        snprintf(note + used, note_bytes - used,
                 "; " IMPORT_MALFORMED " %" PRIu64 " times%s, first: %s", loop->damage_count,
                 loop->is_cut ? ", then " IMPORT_DAMAGE : "", loop->damage);
    } else if (loop->damage_count) {
        snprintf(note + used, note_bytes - used, "; " IMPORT_DAMAGE ": %s", loop->damage);
    } else if (json_stream_is_unclosed(loop->stream)) {
        snprintf(note + used, note_bytes - used,
                 "; the file was never closed: its writer was probably killed");
    }
}
