/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of time and ranges of runs, as texts. */
#include <time.h>

#include "analyze/query/selection.h"
#include "tests/support/check.h"

#define S INT64_C(1000000000)

static void check_window(const char *text, int64_t from_ns, int64_t until_ns)
{
    struct selection_window window;
    struct diag diag = {0};
    int64_t from, until;

    if (selection_parse_window(text, &window, &diag) < 0)
        fail_msg("\"%s\": %s", text, diag.text);
    selection_resolve_window(&window, 1000 * S, 1100 * S, &from, &until);
    if (from != from_ns || until != until_ns)
        fail_msg("\"%s\" is %lld..%lld, not %lld..%lld", text, (long long)from, (long long)until,
                 (long long)from_ns, (long long)until_ns);
}

static void windows_are_read(void **state)
{
    check_window("1s..2s", 1001 * S, 1002 * S);
    check_window("1..2.5", 1001 * S, 1002 * S + S / 2);
    check_window("20ms..", 1000 * S + S / 50, INT64_MAX);
    check_window("..300us", INT64_MIN, 1000 * S + 300000);
    check_window("10ns..1m", 1000 * S + 10, 1060 * S);
    check_window("-10s..", 1090 * S, INT64_MAX);
    check_window("-1h..-1s", 1100 * S - 3600 * S, 1099 * S);
    check_window("..", INT64_MIN, INT64_MAX);
    check_window("@1700000000.123456789..@1700000001", 1700000000123456789, 1700000001 * S);
    check_window("2023-11-14T22:13:20Z..2023-11-14T22:13:20.5Z", 1700000000 * S,
                 1700000000 * S + S / 2);
}

static void local_time_is_local(void **state)
{
    setenv("TZ", "UTC-3", 1); /* three hours east */
    tzset();
    check_window("2023-11-15T01:13:20..", 1700000000 * S, INT64_MAX);
    unsetenv("TZ");
    tzset();
}

static void wrong_windows_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "1s",
        "1s.2s",
        "x..2s",
        "1s..2x",
        "1e3..",
        "0x10..",
        "1.2.3..",
        "@..",
        "@1x..",
        "2023-13-01T00:00:00..",
        "1s..2s..3s",
        "--1s..",
        "..-",
        "@1.5.5..",
        "2023-11-14..",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct selection_window window;
        struct diag diag = {0};

        if (selection_parse_window(texts[i], &window, &diag) != -EINVAL)
            fail_msg("\"%s\" was accepted", texts[i]);
        assert_true(diag.text[0]);
    }
}

static void huge_offsets_do_not_overflow(void **state)
{
    struct selection_window window;
    int64_t from, until;

    CHECK_OK(selection_parse_window("99999999999999999h..@9999999999", &window, NULL));
    selection_resolve_window(&window, INT64_MAX - 5, INT64_MAX, &from, &until);
    assert_true(from == INT64_MAX);
}

static void runs_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t first, last;
    } good[] = {
        {"1..3", 1, 3}, {"7", 7, 7}, {"4..", 4, INT64_MAX}, {"..9", 1, 9}, {"..", 1, INT64_MAX}};
    static const char *const bad[] = {"",     "0",  "3..1",  "a",
                                      "1..b", "-1", "1...3", "99999999999999999"};
    int64_t first, last;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        CHECK_OK(selection_parse_runs(good[i].text, &first, &last, NULL));
        CHECK_U64((uint64_t)first, (uint64_t)good[i].first);
        CHECK_U64((uint64_t)last, (uint64_t)good[i].last);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct diag diag = {0};

        if (selection_parse_runs(bad[i], &first, &last, &diag) != -EINVAL)
            fail_msg("\"%s\" was accepted", bad[i]);
        CHECK_CONTAINS(diag.text, "A..B");
    }
}

static void since_is_a_moment(void **state)
{
    const int64_t day = INT64_C(86400000000000), hour = day / 24;
    const int64_t now = 20000 * day + 10 * hour; /* 2024-10-04 10:00 */
    static const char *const nonsense[] = {"",
                                           "7",
                                           "tomorrow",
                                           "2024",
                                           "-1h",
                                           "1x",
                                           "h",
                                           "w",
                                           "2024-13-01",
                                           "2023-02-29",
                                           "2024-10-04T08:00:00.5e300",
                                           "2024-10-04T08:00:00."};
    const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"today", now - 10 * hour},
        {"yesterday", now - 34 * hour},
        {"2h", now - 2 * hour},
        {"1.5d", now - 36 * hour},
        {"1w", now - 7 * day},
        {"99999w", 0},
        {"99999999999h", 0},
        {"2024-10-03", now - 34 * hour},
        {"2024-10-03T08:30", now - 34 * hour + 8 * hour + hour / 2},
        {"2024-10-04T00:00:01Z", now - 10 * hour + 1000000000},
        {"2024-02-29", now - 10 * hour - 218 * day},
        {"2024-10-04T00:00:00.25Z", now - 10 * hour + 250000000},
        {"1960-01-01", 0},
        {"9999-12-31", INT64_MAX / 2},
        {"9999-12-31T23:59:59Z", INT64_MAX / 2},
        {"@1", 1000000000},
    };
    int64_t ns;

    setenv("TZ", "UTC", 1);
    tzset();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag diag = {0};

        if (selection_parse_since(cases[i].text, now, &ns, &diag) != 0 || ns != cases[i].ns)
            fail_msg("%s: %lld, not %lld", cases[i].text, (long long)ns, (long long)cases[i].ns);
    }
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        struct diag diag = {0};

        if (selection_parse_since(nonsense[i], now, &ns, &diag) != -EINVAL)
            fail_msg("\"%s\" was taken", nonsense[i]);
        CHECK_CONTAINS(diag.text, "--since takes today");
    }
}

/* Clocks are set forward at midnight of 29 March and back, from 1:00 to 0:00, on 25 October. */
static void clocks_are_set_forward_and_back(void **state)
{
    const struct {
        const char *text;
        int64_t now_s, s;
    } cases[] = {
        {"2026-03-29", 0, 1774735200}, /* begins at 1:00, at 22:00 UTC of the day before */
        {"today", 1774735200 + 7200, 1774735200},
        {"2026-03-29T01:30", 0, 1774735200 + 1800},
        {"2026-10-25T00:30", 0, 1792877400}, /* the first one */
        {"2026-10-25T01:30", 0, 1792877400 + 7200},
        {"2026-07-01", 0, 1782853200},
        {"2026-12-01", 0, 1796076000},
    };

    (void)state;
    setenv("TZ", "EET-2EEST,M3.5.0/0,M10.5.0/1", 1);
    tzset();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns = 0;

        if (selection_parse_since(cases[i].text, cases[i].now_s * 1000000000, &ns, NULL) != 0 ||
            ns != cases[i].s * 1000000000)
            fail_msg("%s: %lld, not %lld", cases[i].text, (long long)(ns / 1000000000),
                     (long long)cases[i].s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(since_is_a_moment),
        cmocka_unit_test(clocks_are_set_forward_and_back),
        cmocka_unit_test(windows_are_read),
        cmocka_unit_test(local_time_is_local),
        cmocka_unit_test(wrong_windows_are_refused),
        cmocka_unit_test(huge_offsets_do_not_overflow),
        cmocka_unit_test(runs_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
