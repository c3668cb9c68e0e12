/* SPDX-License-Identifier: Apache-2.0 */
/* A report that is held back, in memory or in a temporary file, is written whole or not at all. */
#include "analyze/report_file.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/temp.h"

enum { HELD = 10000 };

/* Writes lines of ten bytes; whether they had all been in memory. */
static bool write_lines(const char *path, size_t line_count, bool keep)
{
    struct report_file file = {.held_bytes = HELD};
    struct diag diag = {0};
    bool is_spilled;

    CHECK_OK(report_file_open(&file, path, true, &diag));
    for (size_t i = 0; i < line_count; i++)
        fprintf(file.stream, "%09zu\n", i);
    assert_int_equal(fflush(file.stream), 0);
    is_spilled = file.spilled != NULL;
    assert_int_not_equal(access(path, F_OK), 0); /* nobody sees any of it */
    CHECK_OK(report_file_close(&file, keep, &diag));
    return is_spilled;
}

static void check_lines(const char *path, size_t line_count)
{
    FILE *file = fopen(path, "r");
    char line[32];

    assert_non_null(file);
    for (size_t i = 0; i < line_count; i++) {
        assert_non_null(fgets(line, sizeof(line), file));
        CHECK_U64(strtoull(line, NULL, 10), i);
        CHECK_U64(strlen(line), 10);
    }
    assert_null(fgets(line, sizeof(line), file));
    fclose(file);
}

static void all_of_it_is_written(void **state)
{
    static const size_t counts[] = {0, 1, HELD / 10, HELD / 10 + 1, 4 * HELD};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char *dir = temp_create(), *path = temp_path(dir, "a.txt");

        assert_int_equal(write_lines(path, counts[i], false), counts[i] * 10 > HELD);
        assert_int_not_equal(access(path, F_OK), 0);
        assert_int_equal(write_lines(path, counts[i], true), counts[i] * 10 > HELD);
        check_lines(path, counts[i]);
        free(path);
        temp_destroy(&dir);
    }
}

static void no_room_for_a_temporary_file(void **state)
{
    struct report_file file = {.held_bytes = HELD};
    struct diag diag = {0};
    char *dir = temp_create(), *path = temp_path(dir, "a.txt");

    (void)state;
    CHECK_OK(report_file_open(&file, path, true, &diag));
    file.spilled = fopen("/dev/full", "w"); /* as if it had been made there */
    assert_non_null(file.spilled);
    for (size_t i = 0; i < 4 * HELD; i++)
        fprintf(file.stream, "%09zu\n", i);
    assert_int_equal(report_file_close(&file, true, &diag), -ENOSPC);
    CHECK_CONTAINS(diag.text, "in /tmp: No space left");
    assert_int_not_equal(access(path, F_OK), 0);
    free(path);
    temp_destroy(&dir);
}

static void no_temporary_file(void **state)
{
    struct report_file file = {.held_bytes = HELD};
    struct diag diag = {0};
    struct rlimit limit, none;
    char *dir = temp_create(), *path = temp_path(dir, "a.txt");

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    CHECK_OK(report_file_open(&file, path, true, &diag));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (size_t i = 0; i < 4 * HELD; i++)
        fprintf(file.stream, "%09zu\n", i);
    assert_int_equal(fflush(file.stream), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_null(file.spilled);
    CHECK_OK(report_file_close(&file, true, &diag));
    check_lines(path, 4 * HELD);
    free(path);
    temp_destroy(&dir);
}

static void what_is_not_held_goes_straight_on(void **state)
{
    struct report_file file = {0}, none = {0};
    struct diag diag = {0};
    char *dir = temp_create(), *path = temp_path(dir, "a.txt");

    (void)state;
    CHECK_OK(report_file_open(&file, path, false, &diag));
    fputs("000000000\n", file.stream);
    CHECK_OK(report_file_close(&file, true, &diag));
    check_lines(path, 1);
    CHECK_OK(report_file_close(&none, true, &diag));
    free(path);
    temp_destroy(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_is_written),
        cmocka_unit_test(no_room_for_a_temporary_file),
        cmocka_unit_test(no_temporary_file),
        cmocka_unit_test(what_is_not_held_goes_straight_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
