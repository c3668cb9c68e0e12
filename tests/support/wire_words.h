/* SPDX-License-Identifier: Apache-2.0 */
/* What the headers of schema/wire/ say: every field, every struct's size, every number. */
#ifndef OPTRACE_TESTS_SUPPORT_WIRE_WORDS_H
#define OPTRACE_TESTS_SUPPORT_WIRE_WORDS_H

#include <stddef.h>
#include <stdint.h>

struct wire_field {
    const char *tag, *name, *type;
    size_t offset, size, count; /* count 0: not an array */
};

struct wire_struct {
    const char *tag; /* "struct ot_wire_hello" */
    size_t size;
};

struct wire_number {
    const char *name, *word, *meaning; /* NULL: only the document has them */
    uint64_t value;
};

extern const struct wire_field wire_fields[]; /* in each struct's order */
extern const size_t wire_field_count;
extern const struct wire_struct wire_structs[];
extern const size_t wire_struct_count;
extern const struct wire_number wire_numbers[];
extern const size_t wire_number_count;

#endif
