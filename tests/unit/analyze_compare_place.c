/* SPDX-License-Identifier: Apache-2.0 */
/* What names a file, what sessions, what both. */
#include <unistd.h>

#include "analyze/reports/compare/place.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

static void check(const char *text, const char *path, const char *sessions)
{
    struct compare_place place;

    CHECK_OK(compare_place_read(text, &place));
    assert_string_equal(place.path ? place.path : "(none)", path ? path : "(none)");
    assert_string_equal(place.sessions ? place.sessions : "(none)", sessions ? sessions : "(none)");
    compare_place_deinit(&place);
}

static void files_and_sessions_are_told_apart(void **state)
{
    char *dir = temp_create();

    assert_int_equal(chdir(dir), 0);
    check("a.db", "a.db", NULL);
    check("a.db:3", "a.db", "3");
    check("a.db:all", "a.db", "all");
    check("x/a.db:1,4..6", "x/a.db", "1,4..6");
    check("3", NULL, "3");
    check("last", NULL, "last");
    check("a.db:", "a.db:", NULL);
    check("a.db:x", "a.db:x", NULL);
    /* a file of such a name is this file */
    free(temp_write(dir, "3", "", 0));
    free(temp_write(dir, "a.db:3", "", 0));
    check("3", "3", NULL);
    check("a.db:3", "a.db:3", NULL);
    assert_int_equal(chdir("/"), 0);
    temp_destroy(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_and_sessions_are_told_apart)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
