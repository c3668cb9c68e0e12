/* SPDX-License-Identifier: Apache-2.0 */
/* The line that says how far something is: when it comes, how often, what it says. */
#include "base/progress.h"
#include "tests/support/check.h"

#define MS UINT64_C(1000000)

static void comes_after_a_second_ten_times_a_second(void **state)
{
    char *text = NULL;
    size_t size;
    struct progress progress = {.out = open_memstream(&text, &size), .is_shown = true};

    progress_say_at(&progress, 5000 * MS, NULL, 0, 4 << 20);
    progress_say_at(&progress, 5999 * MS, NULL, 900 << 10, 4 << 20);
    fflush(progress.out);
    assert_int_equal(size, 0);
    progress_say_at(&progress, 6000 * MS, NULL, 1 << 20, 4 << 20);
    progress_say_at(&progress, 6099 * MS, NULL, 1100 << 10, 4 << 20); /* too soon after the last */
    progress_say_at(&progress, 7000 * MS, NULL, 2 << 20, 0);
    progress_end(&progress);
    fclose(progress.out);
    assert_string_equal(text, "\r\033[Kreading: 1 MiB of 4 MiB, 3 s left, 1 MiB/s"
                              "\r\033[Kreading: 2 MiB, 1 MiB/s\r\033[K");
    free(text);
}

static void tells_the_share_of_anything(void **state)
{
    char *text = NULL;
    size_t size;
    struct progress progress = {.out = open_memstream(&text, &size), .is_shown = true};

    progress_say_at(&progress, 1000 * MS, "reading events", 0, 400);
    progress_say_at(&progress, 3000 * MS, "reading events", 100, 400);
    progress_say_at(&progress, 4000 * MS, "reading events", 500, 400); /* more than was thought */
    progress_say_at(&progress, 5000 * MS, "reading events", 0, 0);
    progress_end(&progress);
    progress_end(&progress); /* there is nothing to wipe */
    fclose(progress.out);
    assert_string_equal(text, "\r\033[Kreading events: 25 %, 6 s left"
                              "\r\033[Kreading events: 100 %, 0 s left"
                              "\r\033[Kreading events: 0 %\r\033[K");
    free(text);
}

/* However long ago it began. */
static void says_nothing_unless_shown(void **state)
{
    char *text = NULL;
    size_t size;
    struct progress progress = {.out = open_memstream(&text, &size), .start_ns = 1};

    progress_update(&progress, 5, 10);
    progress_share(&progress, "reading events", 5, 10);
    progress_end(&progress);
    fflush(progress.out);
    assert_int_equal(size, 0);
    progress.is_shown = true;
    progress.start_ns = 1;
    progress_share(&progress, "reading events", 5, 10);
    fclose(progress.out);
    assert_true(size > 0);
    progress_share(NULL, "reading events", 5, 10);
    progress_end(NULL);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_after_a_second_ten_times_a_second),
        cmocka_unit_test(tells_the_share_of_anything),
        cmocka_unit_test(says_nothing_unless_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
