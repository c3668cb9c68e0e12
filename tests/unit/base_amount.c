/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and durations with their units. */
#include <math.h>

#include "base/amount.h"

#include "tests/support/check.h"

static void sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        {"none", 0},
        {"1B", 1},
        {"64KiB", 65536},
        {"2Ki", 2048},
        {"512MiB", INT64_C(536870912)},
        {"2GiB", INT64_C(2147483648)},
        {"1.5GiB", INT64_C(1610612736)},
        {"20GB", INT64_C(20000000000)},
        {"20G", INT64_C(20000000000)},
        {"1TiB", INT64_C(1099511627776)},
        {"3TB", INT64_C(3000000000000)},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag diag = {0};
        int64_t bytes = -1;

        CHECK_OK(amount_parse_bytes("--size", cases[i].text, &bytes, &diag));
        CHECK_U64(bytes, cases[i].bytes);
    }
}

static void durations_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        {"none", 0},   {"1s", 1},      {"3000ms", 3},  {"3000000us", 3}, {"3000000µs", 3},
        {"90m", 5400}, {"12h", 43200}, {"1.5h", 5400}, {"7d", 604800},   {"52w", 31449600},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag diag = {0};
        int64_t ns = -1;

        CHECK_OK(amount_parse_duration("--keep", cases[i].text, &ns, &diag));
        CHECK_U64(ns, cases[i].seconds * INT64_C(1000000000));
    }
}

/* Nothing is written then. */
static void anything_else_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "7",
        "0B",
        "0s",
        "-1s",
        "+1GiB",
        " 1GiB",
        "1 GiB",
        "1GIB",
        "nan",
        "inf",
        "1e9B",
        "0x1B",
        "1.GiB",
        ".5GiB",
        "1..5GiB",
        "None",
        "7days",
        "99999999999999999999999999999999999999TiB",
        "9999999TiB",
        "0.1B",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct diag diag = {0}, other = {0};
        int64_t value = -1;

        assert_int_equal(amount_parse_bytes("--size", texts[i], &value, &diag), -EINVAL);
        CHECK_CONTAINS(diag.text,
                       "--size takes a size with its unit, such as 512MiB, or none, not");
        assert_int_equal(amount_parse_duration("--keep", texts[i], &value, &other), -EINVAL);
        CHECK_CONTAINS(other.text, "--keep takes a time with its unit");
        CHECK_U64(value, -1);
    }
}

static void sizes_are_written(void **state)
{
    char text[32];

    assert_string_equal(amount_format_bytes(text, sizeof(text), 1), "1 B");
    assert_string_equal(amount_format_bytes(text, sizeof(text), 0), "0 B");
    assert_string_equal(amount_format_bytes(text, sizeof(text), 12.5), "12.50 B");
    assert_string_equal(amount_format_bytes(text, sizeof(text), -1536), "-1.50 KiB");
    assert_string_equal(amount_format_bytes(text, sizeof(text), 1023), "1023 B");
    assert_string_equal(amount_format_bytes(text, sizeof(text), (1 << 20) - 1), "1.00 MiB");
    assert_string_equal(amount_format_bytes(text, sizeof(text), 0x1p70), "1048576 PiB");
    assert_string_equal(amount_format_bytes(text, sizeof(text), NAN), "nan B");
    assert_string_equal(amount_format_bytes(text, sizeof(text), 8 << 20), "8 MiB");
    assert_string_equal(amount_format_bytes(text, sizeof(text), 1610612736.0), "1.50 GiB");
    assert_string_equal(amount_format_bytes(text, sizeof(text), 2e10), "18.63 GiB");
}

static void durations_are_written(void **state)
{
    static const struct {
        double ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},          {0.25, "0.25 ns"},     {999, "999 ns"},      {999.96, "1 µs"},
        {1234.5, "1.234 µs"}, {-12345, "-12.35 µs"}, {5e6, "5 ms"},        {59e9, "59 s"},
        {90e9, "1.5 min"},    {3600e9, "1 h"},       {86400e11, "2400 h"}, {NAN, "nan ns"},
    };
    char text[AMOUNT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(amount_format_duration(text, sizeof(text), cases[i].ns), cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),           cmocka_unit_test(durations_are_read),
        cmocka_unit_test(anything_else_is_refused), cmocka_unit_test(sizes_are_written),
        cmocka_unit_test(durations_are_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
