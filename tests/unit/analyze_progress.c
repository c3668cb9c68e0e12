/* SPDX-License-Identifier: Apache-2.0 */
/* The line that says how far reading is: when it comes, how often, what it says. */
#include "analyze/progress.h"
#include "tests/support/check.h"

#define MS UINT64_C(1000000)

static void comes_after_a_second_ten_times_a_second(void **state)
{
    char *text = NULL;
    size_t size;
    struct progress progress = {.out = open_memstream(&text, &size), .is_shown = true};

    progress_update_at(&progress, 5000 * MS, 0, 4 << 20);
    progress_update_at(&progress, 5999 * MS, 900 << 10, 4 << 20);
    fflush(progress.out);
    assert_int_equal(size, 0);
    progress_update_at(&progress, 6000 * MS, 1 << 20, 4 << 20);
    progress_update_at(&progress, 6099 * MS, 1100 << 10, 4 << 20); /* too soon after the last */
    progress_update_at(&progress, 7000 * MS, 2 << 20, 0);
    progress_end(&progress);
    fclose(progress.out);
    assert_string_equal(text, "\r\033[Kreading: 1 MiB of 4 MiB, 3 s left, 1 MiB/s"
                              "\r\033[Kreading: 2 MiB, 1 MiB/s\r\033[K");
    free(text);
}

static void says_nothing_unless_shown(void **state)
{
    char *text = NULL;
    size_t size;
    struct progress progress = {.out = open_memstream(&text, &size)};

    progress_update_at(&progress, 5000 * MS, 0, 10);
    progress_update_at(&progress, 9000 * MS, 5, 10);
    progress_end(&progress);
    fclose(progress.out);
    assert_int_equal(size, 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_after_a_second_ten_times_a_second),
        cmocka_unit_test(says_nothing_unless_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
