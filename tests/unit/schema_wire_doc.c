/* SPDX-License-Identifier: Apache-2.0 */
/* schema/wire/wire.md says what wire.h and records.def say: every field with its offset, size and
 * type, every number, every word. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "schema/wire/wire.h"
#include "tests/support/check.h"
#include "tests/support/doc_rows.h"
#include "tests/support/wire_words.h"

/* --- Tables of structs --- */

static size_t struct_size(const char *tag)
{
    for (size_t i = 0; i < wire_struct_count; i++) {
        if (strcmp(wire_structs[i].tag + strlen("struct "), tag) == 0)
            return wire_structs[i].size;
    }
    fail_msg("wire.md has a table of %s, which does not exist", tag);
    return 0;
}

static const struct wire_field *find_field(const char *tag, const char *name)
{
    for (size_t i = 0; i < wire_field_count; i++) {
        if (strcmp(wire_fields[i].tag, tag) == 0 && strcmp(wire_fields[i].name, name) == 0)
            return &wire_fields[i];
    }
    fail_msg("wire.md: %s has no field %s", tag, name);
    return NULL;
}

/* The version that brought the struct, or the field in place of a reserved one. */
static const char *since(const char *tag, const char *name)
{
    static const char *const newer[][2] = {
        {"ot_wire_schedule", "1.1"},   {"ot_wire_plan", "1.1"},    {"ot_wire_visit", "1.1"},
        {"ot_wire_select", "1.1"},     {"ot_wire_ask", "1.1"},     {"ot_wire_status", "1.1"},
        {"ot_wire_session", "1.1"},    {"ot_wire_refusal", "1.1"}, {"ot_wire_answer", "1.1"},
        {"ot_wire_hello_more", "1.2"}, {"ot_wire_save", "1.2"},    {"ot_wire_saved", "1.2"},
        {"ot_wire_refused", "1.2"},    {"ot_wire_health", "1.2"},  {"ot_wire_usage", "1.3"},
        {"ot_wire_pace", "1.3"},
    };

    if (strcmp(tag, "ot_wire_status") == 0 && strcmp(name, "hidden_count") == 0)
        return "1.2";
    for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
        if (strcmp(newer[i][0], tag) == 0)
            return newer[i][1];
    }
    return "1.0";
}

static void check_field(const char *tag, const char *name, const struct doc_row *row)
{
    const struct wire_field *field = find_field(tag, name);
    char type[32];

    if (field->count)
        snprintf(type, sizeof(type), "%s[%zu]", field->type, field->count);
    else
        snprintf(type, sizeof(type), "%s", field->type);
    if (strtoul(row->cells[0], NULL, 10) != field->offset ||
        strtoul(row->cells[1], NULL, 10) != field->size || strcmp(row->cells[2], type) != 0)
        fail_msg("%s.%s is at %zu, %zu bytes, %s; wire.md says at %s, %s bytes, %s", tag, name,
                 field->offset, field->size, type, row->cells[0], row->cells[1], row->cells[2]);
    assert_string_equal(row->cells[6], since(tag, name));
}

/* The rows behind a table's headline: the fixed ones lie one behind the other and fill the struct,
 * those without size come after. */
static void check_struct_table(const char **at, const char *tag)
{
    char line[DOC_LINE_BYTES];
    struct doc_row row;
    size_t end = 0;

    assert_true(doc_next_line(at, line)); /* |---| */
    while (doc_next_line(at, line) && doc_read_row(line, &row)) {
        char *name;

        CHECK_U64(row.count, 7);
        if (row.cells[1][0] == 0) {
            CHECK_U64(end, struct_size(tag));
            continue;
        }
        name = doc_code(row.cells[3]);
        assert_non_null(name);
        check_field(tag, name, &row);
        if (strtoul(row.cells[0], NULL, 10) != end)
            fail_msg("%s.%s: wire.md leaves out what is before it", tag, name);
        end += strtoul(row.cells[1], NULL, 10);
    }
    if (end != struct_size(tag))
        fail_msg("%s has %zu bytes, its table %zu", tag, struct_size(tag), end);
}

static void every_struct_has_its_table(void **state)
{
    char *text = doc_read("schema/wire/wire.md");
    const char *at = text;
    size_t tables = 0;
    char line[DOC_LINE_BYTES];
    struct doc_row row;

    while (doc_next_line(&at, line)) {
        if (!doc_read_row(line, &row) || row.count < 4 || strcmp(row.cells[0], "offset") != 0)
            continue;
        check_struct_table(&at, doc_code(row.cells[3]));
        tables++;
    }
    /* No two tables are of one struct: none could be missing then. */
    CHECK_U64(tables, wire_struct_count);
    for (size_t i = 0; i < wire_struct_count; i++) {
        char heading[64];

        snprintf(heading, sizeof(heading), "| type | `%s` |",
                 wire_structs[i].tag + strlen("struct "));
        CHECK_CONTAINS(text, heading);
    }
    free(text);
}

/* --- Numbers --- */

static const struct wire_number *find_number(const char *name)
{
    for (size_t i = 0; i < wire_number_count; i++) {
        if (strcmp(wire_numbers[i].name, name) == 0)
            return &wire_numbers[i];
    }
    fail_msg("wire.md says %s, which this test does not know", name);
    return NULL;
}

static void check_number(const struct doc_row *row, const char *name)
{
    const struct wire_number *number = find_number(name);

    if (strtoull(row->cells[0], NULL, 10) != number->value)
        fail_msg("%s is %llu, wire.md says %s", name, (unsigned long long)number->value,
                 row->cells[0]);
    if (number->word)
        assert_string_equal(row->cells[2], number->word);
    if (number->meaning)
        assert_string_equal(row->cells[3], number->meaning);
}

static void every_number_is_right(void **state)
{
    char *text = doc_read("schema/wire/wire.md");
    const char *at = text;
    size_t found = 0;
    char line[DOC_LINE_BYTES];
    struct doc_row row;

    while (doc_next_line(&at, line)) {
        char *name;

        if (!doc_read_row(line, &row) || row.count < 3 || !isdigit((unsigned char)row.cells[0][0]))
            continue;
        name = doc_code(row.cells[1]);
        if (!name)
            continue;
        check_number(&row, name);
        found++;
    }
    CHECK_U64(found, wire_number_count);
    free(text);
}

/* Whatever gets a number in the header has it in the document too. */
static void check_header(const char *path, size_t min_count)
{
    char *header = doc_read(path);
    char *text = doc_read("schema/wire/wire.md");
    size_t found = 0;

    for (const char *at = header; (at = strstr(at, "OT_"));) {
        size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        char name[80];

        snprintf(name, sizeof(name), "`%.*s`", (int)length, at);
        at += length;
        if (strncmp(at, " = ", 3) != 0)
            continue;
        found++;
        /* Places and constants of the ring's header, which stand in tables. */
        if (!strstr(name, "_OFFSET`") && !strstr(name, "_MAGIC`") && !strstr(name, "_VERSION`"))
            CHECK_CONTAINS(text, name);
    }
    assert_in_range(found, min_count, 200);
    free(text);
    free(header);
}

static void header_has_no_number_that_the_document_lacks(void **state)
{
    check_header("schema/wire/wire.h", 30);
    check_header("schema/wire/control.h", 20);
}

/* --- Frames --- */

static void check_frame_section(const char *text, const char *name, const char *from, int id,
                                const char *meaning)
{
    const bool both = strcmp(from, "BOTH") == 0;
    char heading[80], start[160];
    const char *found;
    size_t length;

    snprintf(heading, sizeof(heading), "\n### Frame %d %s, from %s\n\n", id, name,
             both                          ? "both"
             : strcmp(from, "CLIENT") == 0 ? "the client"
                                           : "the daemon");
    found = strstr(text, heading);
    if (!found)
        fail_msg("wire.md has no section \"%s\"", heading + 1);
    found += strlen(heading);
    length = (size_t)snprintf(start, sizeof(start), "%s %s", name, meaning);
    for (size_t i = 0; i < length; i++) {
        /* A line may end at each space. */
        if (found[i] != start[i] && !(found[i] == '\n' && start[i] == ' '))
            fail_msg("the section of %s starts with \"%.*s\", not \"%s\"", name, (int)length, found,
                     start);
    }
}

static void every_frame_has_its_section(void **state)
{
    char *text = doc_read("schema/wire/wire.md");

#define OT_FRAME(id, name, type, from, meaning)                                                    \
    check_frame_section(text, #name, #from, id, meaning);
#include "schema/wire/records.def"
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_struct_has_its_table),
        cmocka_unit_test(every_number_is_right),
        cmocka_unit_test(header_has_no_number_that_the_document_lacks),
        cmocka_unit_test(every_frame_has_its_section),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
