/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one untrusted frame. */
#include "schema/wire/reader.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"

/* `part` is where the struct of the rule starts, within the frame. */
static int check_rule(const struct ot_reader *reader, const struct ot_rule *rule,
                      const uint8_t *part)
{
    const uint8_t *field = part + rule->offset;
    const int64_t offset = field - reader->bytes;
    const uint64_t value = ot_load(field, rule->size);

    /* One comparison for signed and unsigned ranges: counted from min, modulo 2^64. */
    if (value - rule->min <= rule->max - rule->min)
        return 0;
    if (rule->min > rule->max)
        return diag_set_at(reader->diag, -EPROTO, offset,
                           "%s: %s %" PRId64 " is not within %" PRId64 " to %" PRId64, reader->name,
                           rule->name, (int64_t)value, (int64_t)rule->min, (int64_t)rule->max);
    return diag_set_at(reader->diag, -EPROTO, offset,
                       "%s: %s %" PRIu64 " is not within %" PRIu64 " to %" PRIu64, reader->name,
                       rule->name, value, rule->min, rule->max);
}

static int check_rules(const struct ot_reader *reader, const struct ot_rule *rules, size_t count,
                       const uint8_t *part)
{
    for (size_t i = 0; i < count; i++) {
        int rc = check_rule(reader, &rules[i], part);

        if (rc < 0)
            return rc;
    }
    return 0;
}

int ot_reader_begin(struct ot_reader *reader, const void *frame, size_t length,
                    enum ot_frame_type type, const struct ot_fixed_part *fixed, struct diag *diag)
{
    struct ot_wire_header header;
    int rc;

    *reader = (struct ot_reader){frame, length, fixed->size, ot_wire_frame_name(type), diag};
    if (length < fixed->size)
        return diag_set_at(diag, -EPROTO, 0, "%s: %zu bytes are too few, it has at least %zu",
                           reader->name, length, fixed->size);
    memcpy(&header, frame, sizeof(header));
    if (header.type != type)
        return diag_set_at(diag, -EPROTO, offsetof(struct ot_wire_header, type),
                           "%s: the frame is of type %u (%s)", reader->name, header.type,
                           ot_wire_frame_name(header.type));
    if (header.length != length)
        return diag_set_at(diag, -EPROTO, 0, "%s: its length says %" PRIu32 ", not %zu",
                           reader->name, header.length, length);
    rc = check_rules(reader, fixed->rules, fixed->rule_count, frame);
    if (rc == 0)
        memcpy(fixed->out, frame, fixed->size);
    return rc;
}

/* The next `size` bytes; NULL, with the diag set, when fewer are left. */
static const uint8_t *take(struct ot_reader *reader, const char *what, size_t size)
{
    const uint8_t *bytes = reader->bytes + reader->at;
    const size_t left = reader->length - reader->at;

    if (size > left) {
        diag_set_at(reader->diag, -EPROTO, (int64_t)reader->at,
                    "%s: its %s takes %zu bytes, but %zu are left", reader->name, what, size, left);
        return NULL;
    }
    reader->at += size;
    return bytes;
}

int ot_reader_text(struct ot_reader *reader, const char *what, size_t size,
                   struct ot_text *out_text)
{
    const char *bytes = (const char *)take(reader, what, size);

    if (!bytes)
        return -EPROTO;
    if (!text_is_utf8(bytes, size))
        return diag_set_at(reader->diag, -EPROTO, (int64_t)(reader->at - size),
                           "%s: its %s is not UTF-8 without NUL", reader->name, what);
    *out_text = (struct ot_text){bytes, size};
    return 0;
}

int ot_reader_list(struct ot_reader *reader, const char *what, size_t count, size_t size,
                   const struct ot_rule *rules, size_t rule_count, const uint8_t **out_first)
{
    /* No overflow: counts and sizes come from 16-bit fields or from checked ones. */
    const uint8_t *first = take(reader, what, count * size);

    if (!first)
        return -EPROTO;
    for (size_t i = 0; i < count; i++) {
        int rc = check_rules(reader, rules, rule_count, first + i * size);

        if (rc < 0)
            return rc;
    }
    *out_first = first;
    return 0;
}

int ot_reader_padding(struct ot_reader *reader)
{
    while (reader->at % 8 != 0) {
        const uint8_t *byte = take(reader, "padding", 1);

        if (!byte)
            return -EPROTO;
        if (*byte != 0)
            return diag_set_at(reader->diag, -EPROTO, (int64_t)reader->at - 1,
                               "%s: its padding is not 0", reader->name);
    }
    return 0;
}

int ot_reader_end(const struct ot_reader *reader)
{
    if (reader->at == reader->length)
        return 0;
    return diag_set_at(reader->diag, -EPROTO, (int64_t)reader->at, "%s: %zu bytes too many",
                       reader->name, reader->length - reader->at);
}
