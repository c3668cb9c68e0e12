/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format is that of https://protobuf.dev/programming-guides/encoding/. */
#include "tests/fuzz/protobuf_mutator.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 12, FIELDS_MAX = 512, VARINT_BYTES = 10, WORD_BYTES_MAX = 64 };
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* Offsets are of the whole input. */
struct field {
    size_t start, length_at, payload, end;
    enum wire wire;
};

struct mutation {
    const uint8_t *data;
    uint32_t state;
    protobuf_word_fn *word;
    struct field path[DEPTH_MAX]; /* the messages around the field */
    int depth;
    struct field fields[FIELDS_MAX]; /* of the innermost of them */
    size_t count;
};

static uint32_t draw(struct mutation *m, uint32_t below)
{
    m->state = m->state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(m->state >> 1) * below) >> 31);
}

static bool read_varint(const uint8_t *data, size_t end, size_t *at, uint64_t *out_number)
{
    *out_number = 0;
    for (int i = 0; i < VARINT_BYTES && *at < end; i++) {
        uint8_t byte = data[(*at)++];

        *out_number |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static size_t write_varint(uint8_t *out, uint64_t number)
{
    size_t size = 0;

    do {
        out[size++] = (uint8_t)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        number >>= 7;
    } while (number > 0);
    return size;
}

static bool read_field(const uint8_t *data, size_t at, size_t end, struct field *out_field)
{
    uint64_t tag, number;

    out_field->start = at;
    if (!read_varint(data, end, &at, &tag) || tag >> 3 == 0 || tag >> 3 > 1000)
        return false;
    out_field->wire = (enum wire)(tag & 7);
    out_field->length_at = out_field->payload = at;
    if (out_field->wire == WIRE_VARINT) {
        if (!read_varint(data, end, &at, &number))
            return false;
        out_field->end = at;
        return true;
    }
    number = out_field->wire == WIRE_FIXED64 ? 8 : 4;
    if (out_field->wire == WIRE_BYTES) {
        if (!read_varint(data, end, &at, &number))
            return false;
        out_field->payload = at;
    } else if (out_field->wire != WIRE_FIXED64 && out_field->wire != WIRE_FIXED32) {
        return false;
    }
    out_field->end = at + number;
    return number <= end - at;
}

/* The fields from `at` to `end`, the last ones left out where there are too many; 0: no message. */
static size_t read_fields(const uint8_t *data, size_t at, size_t end, struct field *fields)
{
    struct field field;
    size_t count = 0;

    while (at < end) {
        if (!read_field(data, at, end, &field))
            return 0;
        if (count < FIELDS_MAX)
            fields[count++] = field;
        at = field.end;
    }
    return count;
}

/* Goes down from the outermost message to a field. Words can look like messages: half the time
 * they are left words. */
static const struct field *choose_field(struct mutation *m, size_t size)
{
    static struct field inner[FIELDS_MAX];

    m->count = read_fields(m->data, 0, size, m->fields);
    while (m->count > 0) {
        const struct field *field = &m->fields[draw(m, (uint32_t)m->count)];
        size_t count = field->wire == WIRE_BYTES && m->depth < DEPTH_MAX
                           ? read_fields(m->data, field->payload, field->end, inner)
                           : 0;

        if (count == 0 || draw(m, 8) == 0)
            return field;
        m->path[m->depth++] = *field;
        memcpy(m->fields, inner, count * sizeof(*inner));
        m->count = count;
    }
    return NULL;
}

/* What stands for the field */

static size_t put(uint8_t *out, size_t at, size_t max, const void *bytes, size_t size)
{
    if (size > max || at > max - size)
        return SIZE_MAX;
    if (size > 0)
        memcpy(out + at, bytes, size);
    return at + size;
}

static size_t put_number(struct mutation *m, const struct field *field, uint8_t *out)
{
    static const int64_t numbers[] = {0,  1,       -1,        2,         3,         4,
                                      7,  8,       16,        255,       256,       -2,
                                      -3, 1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    int64_t number = numbers[draw(m, sizeof(numbers) / sizeof(numbers[0]))];
    size_t head = field->payload - field->start;

    memcpy(out, m->data + field->start, head);
    if (field->wire == WIRE_VARINT)
        return head + write_varint(out + head, (uint64_t)number);
    memcpy(out + head, &number, field->end - field->payload);
    return field->end - field->start;
}

static size_t put_bytes(const struct mutation *m, const struct field *field, const void *bytes,
                        size_t size, uint8_t *out, size_t max)
{
    size_t head = field->length_at - field->start;

    if (head + VARINT_BYTES > max)
        return SIZE_MAX;
    memcpy(out, m->data + field->start, head);
    head += write_varint(out + head, size);
    return put(out, head, max, bytes, size);
}

/* With the content of a brother, or what is drawn. */
static size_t put_other(struct mutation *m, const struct field *field, uint8_t *out, size_t max)
{
    const struct field *brother = &m->fields[draw(m, (uint32_t)m->count)];
    const char *text;

    if (field->wire != WIRE_BYTES)
        return put_number(m, field, out);
    if (draw(m, 2) == 0 && field->end - field->payload <= WORD_BYTES_MAX) {
        text = m->word(draw(m, 1u << 30));
        return put_bytes(m, field, text, strlen(text), out, max);
    }
    if (brother->wire == WIRE_BYTES && brother != field)
        return put_bytes(m, field, m->data + brother->payload, brother->end - brother->payload, out,
                         max);
    return put_bytes(m, field, NULL, 0, out, max);
}

/* Returns SIZE_MAX where there is no room. */
static size_t put_changed(struct mutation *m, const struct field *field, uint8_t *out, size_t max)
{
    const uint8_t *bytes = m->data + field->start;
    size_t size = field->end - field->start;
    const struct field *brother;

    switch (draw(m, 6)) {
    case 0:
        return 0;
    case 1:
        return put(out, put(out, 0, max, bytes, size), max, bytes, size);
    case 2: /* brothers in another order, or one in place of two */
        brother = &m->fields[draw(m, (uint32_t)m->count)];
        return put(out, 0, max, m->data + brother->start, brother->end - brother->start);
    case 3:
        return field->wire == WIRE_BYTES ? put_bytes(m, field, NULL, 0, out, max)
                                         : put_number(m, field, out);
    default:
        return put_other(m, field, out, max);
    }
}

/* `from[0..*size)` in place of the field, with the message around it. */
static uint8_t *wrap(const struct mutation *m, const struct field *message,
                     const struct field *field, const uint8_t *from, size_t *size)
{
    size_t before = field->start - message->payload, after = message->end - field->end;
    size_t head = message->length_at - message->start, content = before + *size + after;
    uint8_t *out = malloc(head + VARINT_BYTES + content);
    size_t at = head;

    if (!out)
        abort();
    memcpy(out, m->data + message->start, head);
    if (message->payload > message->length_at) /* the outermost has no length */
        at += write_varint(out + head, content);
    memcpy(out + at, m->data + message->payload, before);
    memcpy(out + at + before, from, *size);
    memcpy(out + at + before + *size, m->data + field->end, after);
    *size = at + content;
    return out;
}

size_t protobuf_mutate(uint8_t *data, size_t size, size_t max, unsigned int seed,
                       protobuf_word_fn *word)
{
    static struct mutation m;
    struct field whole = {0, 0, 0, size, WIRE_BYTES};
    const struct field *field;
    uint8_t *bytes, *outer;
    size_t length;

    m = (struct mutation){.data = data, .state = seed, .word = word};
    field = choose_field(&m, size);
    if (!field)
        return 0;
    bytes = malloc(max + WORD_BYTES_MAX + 4 * VARINT_BYTES);
    if (!bytes)
        abort();
    length = put_changed(&m, field, bytes, max);
    for (int i = m.depth; length != SIZE_MAX && i >= 0; i--) {
        const struct field *message = i > 0 ? &m.path[i - 1] : &whole;

        outer = wrap(&m, message, field, bytes, &length);
        free(bytes);
        bytes = outer;
        field = message;
    }
    if (length > max || length == 0)
        length = 0; /* SIZE_MAX too */
    memcpy(data, bytes, length);
    free(bytes);
    return length;
}
