/* SPDX-License-Identifier: Apache-2.0 */
/* Reading whole files: contents, limits, each way to fail. */
#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/temp.h"

static int make_dir(void **state)
{
    *state = temp_create();
    return 0;
}

static int remove_dir(void **state)
{
    temp_destroy((char **)state);
    return 0;
}

/* Write `size` bytes, read them with a limit; returns what file_read() returned. */
static int read_back(const char *dir, size_t size, size_t limit)
{
    char *written = calloc(1, size + 1);
    char *bytes = NULL;
    size_t got = 0;
    char *path;
    int rc;

    for (size_t i = 0; i < size; i++)
        written[i] = (char)(i * 7);
    path = temp_write(dir, "file", written, size);
    rc = file_read(path, limit, &bytes, &got, NULL);
    if (rc == 0) {
        CHECK_U64(got, size);
        assert_memory_equal(bytes, written, size);
        assert_int_equal(bytes[size], '\0');
    } else {
        assert_null(bytes);
    }
    free(bytes);
    free(path);
    free(written);
    return rc;
}

static void sizes_up_to_the_limit_are_read(void **state)
{
    CHECK_OK(read_back(*state, 0, 0));
    CHECK_OK(read_back(*state, 0, 10));
    CHECK_OK(read_back(*state, 1, 1));
    CHECK_OK(read_back(*state, 65536, 65536));
    CHECK_OK(read_back(*state, 1000003, SIZE_MAX));
    assert_int_equal(read_back(*state, 1, 0), -EFBIG);
    assert_int_equal(read_back(*state, 65537, 65536), -EFBIG);
}

static void pipes_are_read_to_their_end(void **state)
{
    char block[1000];
    char path[64];
    struct diag diag = {0};
    char *bytes;
    size_t size;
    int fds[2];

    memset(block, 'x', sizeof(block));
    CHECK_OK(pipe(fds));
    for (int i = 0; i < 60; i++)
        assert_int_equal(write(fds[1], block, sizeof(block)), sizeof(block));
    close(fds[1]);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
    assert_int_equal(file_read(path, 100000, &bytes, &size, &diag), 0);
    CHECK_U64(size, 60000);
    free(bytes);
    close(fds[0]);
}

static void endless_input_stops_at_the_limit(void **state)
{
    struct diag diag = {0};
    char *bytes;
    size_t size;

    assert_int_equal(file_read("/dev/zero", 200000, &bytes, &size, &diag), -EFBIG);
    assert_string_equal(diag.text, "'/dev/zero' is larger than the limit of 200000 bytes");
}

static void failures_name_the_path(void **state)
{
    char *missing = temp_path(*state, "missing");
    struct diag diag = {0};
    char expected[400];
    char *bytes;
    size_t size;

    assert_int_equal(file_read(missing, 10, &bytes, &size, &diag), -ENOENT);
    snprintf(expected, sizeof(expected), "cannot read '%s': No such file or directory", missing);
    assert_string_equal(diag.text, expected);
    diag = (struct diag){0};
    assert_int_equal(file_read(*state, 10, &bytes, &size, &diag), -EISDIR);
    snprintf(expected, sizeof(expected), "'%s' is a directory", (char *)*state);
    assert_string_equal(diag.text, expected);
    free(missing);
}

static void forbidden_file_is_refused(void **state)
{
    char *path = temp_write(*state, "file", "x", 1);
    struct diag diag = {0};
    char *bytes;
    size_t size;

    chmod(path, 0);
    if (access(path, R_OK) == 0) {
        free(path);
        CHECK_SKIP("root may read every file");
    }
    assert_int_equal(file_read(path, 10, &bytes, &size, &diag), -EACCES);
    CHECK_CONTAINS(diag.text, "Permission denied");
    free(path);
}

static void files_are_replaced_as_a_whole(void **state)
{
    const struct file_part parts[] = {{"old", 3}, {"", 0}, {" new", 4}};
    char *path = temp_path(*state, "replaced"), *bytes;
    struct diag diag = {0};
    size_t size;

    CHECK_OK(file_replace(path, parts, 1, &diag));
    CHECK_OK(file_replace(path, parts, 3, &diag));
    bytes = temp_read(path, &size);
    assert_string_equal(bytes, "old new");
    free(bytes);
    free(path);
    assert_int_equal(file_replace("/nonexistent/file", parts, 1, &diag), -ENOENT);
    assert_string_equal(diag.text, "cannot write /nonexistent/file: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_up_to_the_limit_are_read),
        cmocka_unit_test(pipes_are_read_to_their_end),
        cmocka_unit_test(endless_input_stops_at_the_limit),
        cmocka_unit_test(failures_name_the_path),
        cmocka_unit_test(forbidden_file_is_refused),
        cmocka_unit_test(files_are_replaced_as_a_whole),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
