/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one untrusted frame from front to back: the fixed part against a table of ranges, then the
 * variable parts, each within what is left. Used by schema/wire/decode.c only.
 *
 * Order: begin; text, list and padding as the frame has them; end. Functions return 0, or -EPROTO
 * with the reason and the offset within the frame in the diag given to begin.
 */
#ifndef OPTRACE_SCHEMA_WIRE_READER_H
#define OPTRACE_SCHEMA_WIRE_READER_H

#include "schema/wire/wire.h"

/** A field and what it may hold. With min > max both are signed: from (int64_t)min to max. */
struct ot_rule {
    const char *name;
    uint64_t min, max;
    uint32_t offset, size; /* within its struct */
};

#define OT_RULE(type, field, min, max)                                                             \
    {                                                                                              \
#field, (uint64_t)(min), (uint64_t)(max), offsetof(struct type, field),                    \
            sizeof(((struct type *)0)->field)                                                      \
    }

struct ot_reader {
    const uint8_t *bytes;
    size_t length;
    size_t at;
    const char *name; /* of the frame */
    struct diag *diag;
};

/** A little-endian number of `size` <= 8 bytes. */
static inline uint64_t ot_load(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, bytes, size);
    return value;
}

/** What a decoder gets and gives: the frame, its type and the size of its fixed part. */
struct ot_fixed_part {
    const struct ot_rule *rules;
    size_t rule_count;
    void *out; /* written when all rules hold */
    size_t size;
};

/** Checks type, length and rules. */
int ot_reader_begin(struct ot_reader *reader, const void *frame, size_t length,
                    enum ot_frame_type type, const struct ot_fixed_part *fixed, struct diag *diag);

/** The next `size` bytes as a text: UTF-8 without NUL. */
int ot_reader_text(struct ot_reader *reader, const char *what, size_t size,
                   struct ot_text *out_text);

/** The next `count` structs of `size` bytes, each against the rules. *out_first points at them. */
int ot_reader_list(struct ot_reader *reader, const char *what, size_t count, size_t size,
                   const struct ot_rule *rules, size_t rule_count, const uint8_t **out_first);

/** Zeros up to a multiple of 8. */
int ot_reader_padding(struct ot_reader *reader);

/** Nothing is left. */
int ot_reader_end(const struct ot_reader *reader);

#endif
