/* SPDX-License-Identifier: Apache-2.0 */
/* Walking over JSON in place: members, exact decimals, texts. */
#include "analyze/json/text.h"
#include "tests/support/check.h"

static struct json_slice slice_of(const char *text)
{
    return json_value(text, strlen(text));
}

static void walks_objects_and_arrays(void **state)
{
    struct json_walk walk =
        json_walk_over(slice_of("{ \"a\" : [1, {\"b\":2}] ,\"c\":\"x\\\"y\",\"d\":null}"));
    struct json_slice key, value;

    assert_int_equal(json_walk_next(&walk, &key, &value), 1);
    assert_true(json_is(key, "a"));
    assert_int_equal(value.kind, JSON_ARRAY);
    assert_int_equal(json_walk_next(&walk, &key, &value), 1);
    assert_true(json_is(key, "c") && json_is(value, "x\\\"y"));
    assert_int_equal(json_walk_next(&walk, &key, &value), 1);
    assert_int_equal(value.kind, JSON_NULL);
    assert_int_equal(json_walk_next(&walk, &key, &value), 0);
    assert_int_equal(json_walk_next(&walk, &key, &value), 0);

    walk = json_walk_over(slice_of("7"));
    assert_int_equal(json_walk_next(&walk, &key, &value), 0);
    assert_true(json_is(json_member(slice_of("{\"x\":{},\"y\":12}"), "y"), "12"));
    assert_int_equal(json_member(slice_of("[1]"), "y").kind, JSON_NONE);
}

static void says_what_is_wrong(void **state)
{
    static const char *const damages[][2] = {
        {"{\"a\":1 \"b\":2}", "a comma is missing"},
        {"{\"a\" 1}", "a colon is missing"},
        {"{a:1}", "a key is missing"},
        {"{\"a\":}", "a value is missing"},
        {"[1,]", "behind a comma"},
        {"[nope]", "no JSON value"},
        {"[,]", "a value is missing"},
    };

    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct json_walk walk = json_walk_over(slice_of(damages[i][0]));
        struct json_slice key, value;
        int rc;

        while ((rc = json_walk_next(&walk, &key, &value)) == 1)
            continue;
        assert_int_equal(rc, -EUCLEAN);
        CHECK_CONTAINS(walk.problem, damages[i][1]);
        assert_true(walk.at >= damages[i][0] && walk.at <= damages[i][0] + strlen(damages[i][0]));
    }
}

/* Where a value ends, found one byte at a time; 0: nowhere. */
static size_t find_end(const char *text, size_t length)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < length; i++) {
        if (in_string) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                in_string = false;
            continue;
        }
        in_string = text[i] == '"';
        depth += text[i] == '{' || text[i] == '[';
        depth -= text[i] == '}' || text[i] == ']';
        if (!depth)
            return i + 1;
    }
    return 0;
}

/* Objects full of brackets and quotes in strings, at all places of a block of 64 bytes, whole and
 * in two parts. */
static void finds_the_end_of_any_value(void **state)
{
    static const char *const pieces[] = {"\"a\":{\"b\":[1,2,{}]},", "\"]}{[\":\"\\\"]\",",
                                         "\"\\\\\":[[[]]],", "\"long\": 0.123456789012345678,",
                                         "\"deep\":[[{\"x\":[\"}\"]}]],"};
    unsigned seed = 1;

    for (int round = 0; round < 2000; round++) {
        char text[1000] = "{";
        size_t done = 0, length, cut;
        struct json_scan scan = {0};

        for (int i = 0; i < round % 17; i++) {
            seed = seed * 1103515245 + 12345;
            strcat(text, pieces[seed >> 16 & 3]);
            if (seed & 0x100000)
                strcat(text, pieces[4]);
        }
        strcat(text, "\"e\":0} , ]}");
        length = strlen(text);
        cut = (size_t)round * 7 % (length - 9);
        assert_int_equal(json_scan(&scan, text, cut, &done), 0);
        assert_int_equal(done, cut);
        assert_int_equal(json_scan(&scan, text, length, &done), 1);
        if (done != find_end(text, length))
            fail_msg("%zu is not the end of %s", done, text);
    }
}

struct decimal {
    const char *text;
    int shift;
    bool is_valid;
    int64_t value;
};

static void reads_decimals_exactly(void **state)
{
    static const struct decimal decimals[] = {
        {"4458676522690.655", 3, true, 4458676522690655},
        {"1711964646000000000", 0, true, 1711964646000000000},
        {"1695835543008415", 3, true, 1695835543008415000},
        {"0.1", 3, true, 100},
        {"0.0004", 3, true, 0},
        {"0.0005", 3, true, 1},
        {"-0.0005", 3, true, -1},
        {"-12.5", 0, true, -13},
        {"1.5e3", 3, true, 1500000},
        {"15E-1", 0, true, 2},
        {"\"42\"", 0, true, 42},
        {"9223372036854775807", 0, true, INT64_MAX},
        {"9223372036854775808", 0, false, 0},
        {"1e30", 0, false, 0},
        {"0e99", 0, true, 0},
        {"1e-99", 3, true, 0},
        {"123456789012345678901.5", 0, false, 0},
        {"0.12345678901234567890123", 3, true, 123},
        {"1.2.3", 0, false, 0},
        {"-", 0, false, 0},
        {"\"\"", 0, false, 0},
        {"\"0x1\"", 0, false, 0},
        {"1e", 0, false, 0},
        {"null", 0, false, 0},
        {"[1]", 0, false, 0},
    };

    for (size_t i = 0; i < sizeof(decimals) / sizeof(decimals[0]); i++) {
        int64_t value = -77;
        bool is_valid = json_decimal(slice_of(decimals[i].text), decimals[i].shift, &value);

        if (is_valid != decimals[i].is_valid || (is_valid && value != decimals[i].value))
            fail_msg("%s: %d, %lld", decimals[i].text, is_valid, (long long)value);
    }
}

static void tells_whole_numbers_from_others(void **state)
{
    int64_t value;
    double real;

    assert_true(json_whole(slice_of("12"), &value) && value == 12);
    assert_true(json_whole(slice_of("12.0"), &value) && value == 12);
    assert_true(json_whole(slice_of("-1e2"), &value) && value == -100);
    assert_false(json_whole(slice_of("12.5"), &value));
    assert_true(json_real(slice_of("12.5"), &real) && real == 12.5);
    assert_true(json_real(slice_of("\"1e3\""), &real) && real == 1000);
    assert_false(json_real(slice_of("1e999"), &real));
    assert_false(json_real(slice_of("\"x\""), &real));
    assert_false(json_real(slice_of("true"), &real));
}

static void decodes_texts(void **state)
{
    static const char *const texts[][2] = {
        {"\"plain\"", "plain"},
        {"\"a\\\"b\\\\c\\/d\\n\\t\"", "a\"b\\c/d\n\t"},
        {"\"\\u00e9\\u20ac\\ud83d\\ude00\"", "é€😀"},
        {"\"\\ud83d x \\udc00 \\u0000\"", "\xef\xbf\xbd x \xef\xbf\xbd \xef\xbf\xbd"},
        {"\"\\u12g4\"", "\xef\xbf\xbd"
                        "12g4"},
        {"\"bad \xff byte\"", "bad \xef\xbf\xbd byte"},
        {"12.5", "12.5"},
        {"{\"a\":\"\\n\"}", "{\"a\":\"\\n\"}"},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *text = json_take_text(slice_of(texts[i][0]));

        assert_string_equal(text, texts[i][1]);
        free(text);
    }
}

/* The end of a value is found however the text is cut into parts. */
static void scans_in_parts(void **state)
{
    static const char text[] = "{\"a\\\\\":[\"\\\"]\",{\"b\":[]}],\"c\":-1}  rest";
    size_t wanted = strlen(text) - 6;

    for (size_t cut = 1; cut < wanted; cut++) {
        struct json_scan scan = {0};
        size_t done = 0;

        assert_int_equal(json_scan(&scan, text, cut, &done), 0);
        assert_int_equal(json_scan(&scan, text, sizeof(text) - 1, &done), 1);
        assert_int_equal(done, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_end_of_any_value),
        cmocka_unit_test(walks_objects_and_arrays),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(reads_decimals_exactly),
        cmocka_unit_test(tells_whole_numbers_from_others),
        cmocka_unit_test(decodes_texts),
        cmocka_unit_test(scans_in_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
