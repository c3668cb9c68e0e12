/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions a text means. */
#include "analyze/query/choose_sessions.h"
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
    check("-1", " 9");
    check("-4", " 2");
}

static void mistakes_are_told(void **state)
{
    const char *const nonsense[] = {"",   "x", "5,",  ",5",  "6..5", "5..",
                                    "-0", "-", "-1x", "5 6", "5.6"};
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
    diag = (struct diag){0};
    assert_int_equal(choose_sessions("-5", &sessions, ids, &count, &diag), 1);
    CHECK_CONTAINS(diag.text, "fewer than 5 sessions");
}

static void check_limited(const char *text, const char *program, int64_t since_ns,
                          const char *wanted)
{
    static struct session_row several[] = {
        {.session_id = 1, .start_ns = 100, .program = "/usr/bin/serve"},
        {.session_id = 2, .start_ns = 200, .program = "train"},
        {.session_id = 3, .start_ns = 300, .program = "serve"},
        {.session_id = 4, .start_ns = 400, .is_calibration = true, .program = "load_and_run"},
        {.session_id = 5, .start_ns = 500},
    };
    const struct session_rows all = {.rows = {several, 5, 5}};
    const struct session_limits limits = {.program = program, .since_ns = since_ns};
    struct diag diag = {0};
    char found[64] = "";
    int64_t ids[5];
    size_t count;

    if (choose_limited_sessions(text, &limits, &all, ids, &count, &diag) != 0)
        snprintf(found, sizeof(found), " none");
    for (size_t i = 0; i < count; i++)
        snprintf(found + strlen(found), sizeof(found) - strlen(found), " %d", (int)ids[i]);
    if (strcmp(found, " none") == 0)
        assert_true(diag.text[0]);
    assert_string_equal(found, wanted);
}

static void programs_and_times_limit_them(void **state)
{
    check_limited(NULL, NULL, 0, " 5");
    check_limited(NULL, "serve", 0, " 3");
    check_limited("all", "serve", 0, " 1 3");
    check_limited("-2", "serve", 0, " 1");
    check_limited("-3", "serve", 0, " none");
    check_limited("2", "serve", 0, " none");
    check_limited(NULL, "serv", 0, " none");
    check_limited(NULL, NULL, 200, " 2 3 4 5");
    check_limited("last", NULL, 200, " 5");
    check_limited(NULL, "serve", 101, " 3");
    check_limited(NULL, NULL, 501, " none");
    check_limited(NULL, "load_and_run", 0, " 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_mean_sessions),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(programs_and_times_limit_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
