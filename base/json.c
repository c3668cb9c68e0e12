/* SPDX-License-Identifier: Apache-2.0 */
/* The streaming JSON writer. */
#include "base/json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

static void put(struct json_writer *json, const char *bytes, size_t size)
{
    if (json->error || size == 0)
        return;
    if (json->out) {
        errno = 0;
        if (fwrite(bytes, 1, size, json->out) != size)
            json->error = errno ? -errno : -EIO;
        return;
    }
    if (size >= json->capacity - json->size) {
        char *grown = array_grow(json->bytes, &json->capacity, json->size + size + 1, 1);

        if (!grown) {
            json->error = -ENOMEM;
            return;
        }
        json->bytes = grown;
    }
    memcpy(json->bytes + json->size, bytes, size);
    json->size += size;
    json->bytes[json->size] = '\0';
}

static void put_text(struct json_writer *json, const char *text)
{
    put(json, text, strlen(text));
}

static void put_line_break(struct json_writer *json)
{
    put(json, "\n", 1);
    for (unsigned i = 0; i < json->depth; i++)
        put(json, "  ", 2);
}

/* The comma and the space before an item of the innermost bracket. */
static void begin_item(struct json_writer *json)
{
    bool is_line = json->depth > 0 && json->depth <= json->indented;

    if (json->has_items[json->depth])
        put(json, ", ", is_line ? 1 : 2);
    if (is_line)
        put_line_break(json);
    json->has_items[json->depth] = true;
}

static void begin_value(struct json_writer *json)
{
    if (json->has_key) {
        json->has_key = false;
        return;
    }
    assert(!json->is_object[json->depth] && "a value of an object needs a key");
    begin_item(json);
}

static void begin_bracket(struct json_writer *json, bool is_object)
{
    begin_value(json);
    assert(json->depth < JSON_DEPTH_MAX);
    json->depth++;
    json->has_items[json->depth] = false;
    json->is_object[json->depth] = is_object;
    put(json, is_object ? "{" : "[", 1);
}

static void end_bracket(struct json_writer *json, bool is_object)
{
    bool is_line = json->depth <= json->indented && json->has_items[json->depth];

    assert(json->depth > 0 && json->is_object[json->depth] == is_object && !json->has_key);
    json->depth--;
    if (is_line)
        put_line_break(json);
    put(json, is_object ? "}" : "]", 1);
}

void json_init_file(struct json_writer *json, FILE *out)
{
    *json = (struct json_writer){.out = out};
}

void json_init_memory(struct json_writer *json)
{
    *json = (struct json_writer){0};
}

void json_set_indent(struct json_writer *json, unsigned depth)
{
    json->indented = depth;
}

void json_begin_object(struct json_writer *json)
{
    begin_bracket(json, true);
}

void json_end_object(struct json_writer *json)
{
    end_bracket(json, true);
}

void json_begin_array(struct json_writer *json)
{
    begin_bracket(json, false);
}

void json_end_array(struct json_writer *json)
{
    end_bracket(json, false);
}

/* How many bytes from here on stand for themselves. */
static size_t plain_length(const char *text, size_t length)
{
    size_t count = 0;

    while (count < length && (unsigned char)(text[count] - 0x20) < 0x5f && text[count] != '"' &&
           text[count] != '\\')
        count++;
    return count;
}

/* The escape of a character that must not stand for itself, or NULL. */
static const char *escape(uint32_t code, char buffer[8])
{
    switch (code) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        /* A document may be looked at in a terminal; who parses it gets the same. */
        if (!text_is_steering(code))
            return NULL;
        snprintf(buffer, 8, "\\u%04x", (unsigned)code);
        return buffer;
    }
}

static void put_quoted(struct json_writer *json, const char *text, size_t length)
{
    size_t plain = 0; /* where the run of characters begins that need no change */
    char buffer[8];
    uint32_t code;
    size_t size;

    put(json, "\"", 1);
    for (size_t i = plain_length(text, length); i < length; i += size ? size : 1) {
        const char *replacement;

        size = text_decode(text + i, length - i, &code);
        replacement = size == 0 ? "\xef\xbf\xbd" : escape(code, buffer);
        if (!replacement)
            continue;
        put(json, text + plain, i - plain);
        put_text(json, replacement);
        plain = i + (size ? size : 1);
    }
    put(json, text + plain, length - plain);
    put(json, "\"", 1);
}

void json_key_n(struct json_writer *json, const char *name, size_t length)
{
    assert(json->is_object[json->depth] && !json->has_key);
    begin_item(json);
    put_quoted(json, name, length);
    put(json, ": ", 2);
    json->has_key = true;
}

void json_key(struct json_writer *json, const char *name)
{
    json_key_n(json, name, strlen(name));
}

void json_string_n(struct json_writer *json, const char *text, size_t length)
{
    begin_value(json);
    put_quoted(json, text, length);
}

void json_string(struct json_writer *json, const char *text)
{
    if (text)
        json_string_n(json, text, strlen(text));
    else
        json_null(json);
}

void json_int(struct json_writer *json, int64_t value)
{
    char text[TEXT_INT_BYTES];
    size_t length = text_format_int(text, value);

    begin_value(json);
    put(json, text, length);
}

void json_uint(struct json_writer *json, uint64_t value)
{
    char text[TEXT_INT_BYTES];
    size_t length = text_format_uint(text, value);

    begin_value(json);
    put(json, text, length);
}

void json_double(struct json_writer *json, double value)
{
    char text[32];

    if (!isfinite(value)) {
        json_null(json);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    begin_value(json);
    put_text(json, text);
}

void json_bool(struct json_writer *json, bool value)
{
    begin_value(json);
    put_text(json, value ? "true" : "false");
}

void json_verbatim(struct json_writer *json, const char *bytes, size_t size)
{
    begin_value(json);
    put(json, bytes, size);
}

void json_null(struct json_writer *json)
{
    begin_value(json);
    put_text(json, "null");
}

int json_finish(struct json_writer *json)
{
    assert(json->depth == 0);
    put(json, "\n", 1);
    if (!json->error && json->out && fflush(json->out) != 0)
        json->error = errno ? -errno : -EIO;
    return json->error;
}

char *json_take(struct json_writer *json, size_t *out_size)
{
    char *bytes = json->bytes;

    if (out_size)
        *out_size = json->size;
    json_init_memory(json);
    return bytes;
}

void json_deinit(struct json_writer *json)
{
    free(json->bytes);
    json->bytes = NULL;
}
