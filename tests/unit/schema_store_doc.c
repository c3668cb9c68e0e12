/* SPDX-License-Identifier: Apache-2.0 */
/* schema/store/store.md says what store.sql and views.sql say, and each of its queries answers. */
#include <stdbool.h>

#include "tests/support/check.h"
#include "tests/support/golden.h"
#include "tests/support/place.h"
#include "tests/support/store_sample.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

static char *page; /* the whole of store.md */

static int read_page(void **state)
{
    char *path = place_source("schema/store/store.md");

    page = temp_read(path, NULL);
    free(path);
    return 0;
}

static int free_page(void **state)
{
    free(page);
    return 0;
}

/* The next line, without its end; NULL after the last. */
static char *next_line(const char **at)
{
    size_t length = strcspn(*at, "\n");
    char *line;

    if (!**at)
        return NULL;
    line = strndup(*at, length);
    *at += length + ((*at)[length] == '\n');
    return line;
}

/* Cell `number` of a table's row, from 0, without blanks and backquotes. The caller frees it. */
static char *cell_of(const char *row, int number)
{
    char *cell;
    size_t length;

    for (; number >= 0; number--) {
        row = strchr(row, '|');
        if (!row)
            return strdup("");
        row++;
    }
    row += strspn(row, " `");
    length = strcspn(row, "|");
    while (length > 0 && strchr(" `", row[length - 1]))
        length--;
    cell = strndup(row, length);
    return cell;
}

/* What the page says about columns, in the form of columns_of_store(): "table.column type", one per
 * line. The type is empty in the tables of views, which have three columns. */
static char *columns_of_page(void)
{
    const char *at = page;
    char *name = strdup("");
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *out = open_memstream(&text, &text_bytes);
    bool has_types = false;

    for (char *line = next_line(&at); line; free(line), line = next_line(&at)) {
        if (strncmp(line, "##", 2) == 0) {
            free(name);
            name = strncmp(line, "### `", 5) == 0 ? strndup(line + 5, strcspn(line + 5, "`"))
                                                  : strdup("");
        }
        if (strncmp(line, "| column", 8) == 0)
            has_types = strncmp(line, "| column | type", 15) == 0;
        if (name[0] && strncmp(line, "| `", 3) == 0) {
            char *column = cell_of(line, 0);
            char *type = cell_of(line, 1);

            fprintf(out, "%s.%s %s\n", name, column, has_types ? type : "");
            free(type);
            free(column);
        }
    }
    free(name);
    fclose(out);
    return text;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Tables in the order of their names, columns in their own order. */
static char *sort_by_table(char *text)
{
    char *lines[1000], *sorted = NULL;
    size_t count = 0, sorted_bytes;
    FILE *out = open_memstream(&sorted, &sorted_bytes);
    const char *at = text;

    /* The number keeps the order of columns; it goes again below. */
    for (char *line = next_line(&at); line; free(line), line = next_line(&at)) {
        size_t name = strcspn(line, ".");

        assert_in_range(count, 0, 999);
        assert_true(asprintf(&lines[count], "%.*s %04zu%s", (int)name, line, count, line) > 0);
        count++;
    }
    qsort(lines, count, sizeof(lines[0]), compare_lines);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s\n", strchr(lines[i], ' ') + 5);
        free(lines[i]);
    }
    fclose(out);
    free(text);
    return sorted;
}

static void every_column_is_documented(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    char *wanted = store_support_text(
        store, "SELECT m.name || '.' || c.name || ' ' || iif(m.type = 'table', c.type, '')"
               " FROM sqlite_master m JOIN pragma_table_info(m.name) c"
               " WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite%'"
               " ORDER BY m.name, c.cid");
    char *got = sort_by_table(columns_of_page());
    const char *wanted_at = wanted, *got_at = got;

    for (;;) {
        char *wanted_line = next_line(&wanted_at);
        char *got_line = next_line(&got_at);

        if (!wanted_line && !got_line)
            break;
        assert_string_equal(got_line ? got_line : "(end of store.md)",
                            wanted_line ? wanted_line : "(end of store.sql)");
        free(wanted_line);
        free(got_line);
    }
    free(got);
    free(wanted);
    store_close(&store);
}

/* The bins as the page describes them are those of the code; 1/16 and 1/32 too. */
static void the_bins_are_as_described(void **state)
{
    for (uint32_t bin = 32; bin < STORE_BIN_COUNT; bin++) {
        uint32_t e = bin / 16 - 1;
        int64_t low, high;

        store_bin_range(bin, &low, &high);
        CHECK_U64(low, (uint64_t)(16 + bin % 16) << e);
        CHECK_U64(high - low, ((uint64_t)1 << e) - 1);
        assert_true(high - low + 1 <= low / 16);
    }
    CHECK_CONTAINS(page, "960 in all");
}

/* Calls visit(title, sql, context) for each query of the last section. Returns their count. */
static int for_each_query(void (*visit)(const char *title, const char *sql, void *context),
                          void *context)
{
    const char *at = strstr(page, "## 11. Twenty questions");
    char *title = NULL;
    int count = 0;

    assert_non_null(at);
    for (char *line = next_line(&at); line; free(line), line = next_line(&at)) {
        if (strncmp(line, "### ", 4) == 0) {
            free(title);
            title = strdup(line + 4);
            assert_int_equal(atoi(title), ++count);
        }
        if (strcmp(line, "```sql") == 0) {
            char *sql = strndup(at, (size_t)(strstr(at, "\n```") - at));

            assert_non_null(title);
            visit(title, sql, context);
            free(sql);
        }
    }
    free(title);
    return count;
}

struct answers {
    struct store *store;
    FILE *out;
    int count;
};

static void answer(const char *title, const char *sql, void *context)
{
    struct answers *answers = context;
    char *text = store_support_text(answers->store, sql);

    fprintf(answers->out, "%s\n%s\n\n", title, text);
    answers->count++;
    free(text);
}

/* The answers, which tests/support/store_sample.h lets one work out, stand in a golden file. */
static void every_query_answers(void **state)
{
    char *dir = temp_create();
    char *path = temp_path(dir, "store.db");
    struct answers answers = {.store = store_support_open(path, STORE_WRITE)};
    char *text = NULL;
    size_t text_bytes;

    store_sample_fill(answers.store);
    store_support_check_accounts(answers.store);
    store_close(&answers.store);
    answers.store = store_support_open(path, STORE_READ);
    answers.out = open_memstream(&text, &text_bytes);
    assert_int_equal(for_each_query(answer, &answers), 20);
    fclose(answers.out);
    assert_int_equal(answers.count, 20);
    golden_check("store_queries.txt", text, text_bytes);
    store_close(&answers.store);
    free(text);
    free(path);
    temp_destroy(&dir);
}

static void no_query_fails_on_an_empty_store(void **state)
{
    char *text = NULL;
    size_t text_bytes;
    struct answers answers = {.store = store_support_open(NULL, STORE_MEMORY),
                              .out = open_memstream(&text, &text_bytes)};

    for_each_query(answer, &answers);
    fclose(answers.out);
    store_close(&answers.store);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_is_documented),
        cmocka_unit_test(the_bins_are_as_described),
        cmocka_unit_test(every_query_answers),
        cmocka_unit_test(no_query_fails_on_an_empty_store),
    };

    return cmocka_run_group_tests(tests, read_page, free_page);
}
