/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions a text means. */
#include "analyze/choose_sessions.h"
#include "tests/support/check.h"

static struct session_row rows[] = {
    {.session_id = 2}, {.session_id = 5}, {.session_id = 6}, {.session_id = 9}};
static const struct session_rows sessions = {.rows = {rows, 4, 4}};

static void check(const char *text, const char *wanted)
{
    struct diag diag = {0};
    int64_t ids[4];
    char found[64] = "";
    size_t count;

    CHECK_OK(choose_sessions(text, &sessions, ids, &count, &diag));
    for (size_t i = 0; i < count; i++)
        snprintf(found + strlen(found), sizeof(found) - strlen(found), " %d", (int)ids[i]);
    assert_string_equal(found, wanted);
}

static void texts_mean_sessions(void **state)
{
    check(NULL, " 9");
    check("last", " 9");
    check("all", " 2 5 6 9");
    check("5", " 5");
    check("9,2,2", " 2 9");
    check("3..6", " 5 6");
    check("1..2,6..100", " 2 6 9");
}

static void mistakes_are_told(void **state)
{
    const char *const nonsense[] = {"", "x", "5,", ",5", "6..5", "5..", "-1", "5 6", "5.6"};
    struct diag diag = {0};
    int64_t ids[4];
    size_t count;

    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        assert_false(is_choice_of_sessions(nonsense[i]));
        assert_int_equal(choose_sessions(nonsense[i], &sessions, ids, &count, &diag), -EINVAL);
    }
    diag = (struct diag){0};
    assert_int_equal(choose_sessions("2,3,5", &sessions, ids, &count, &diag), 1);
    CHECK_CONTAINS(diag.text, "no session 3:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_mean_sessions),
        cmocka_unit_test(mistakes_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
