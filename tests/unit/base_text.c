/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 checks, terminal columns, "did you mean". */
#include "base/text.h"

#include "tests/support/check.h"

#define IS_UTF8(bytes) text_is_utf8(bytes, sizeof(bytes) - 1)
#define COLUMNS(text)  text_columns(text, sizeof(text) - 1)

static void well_formed_utf8_is_accepted(void **state)
{
    assert_true(IS_UTF8(""));
    assert_true(IS_UTF8("conv2d"));
    assert_true(IS_UTF8("\x7f"));
    assert_true(IS_UTF8("\xc2\x80\xdf\xbf")); /* 2 bytes: both ends */
    assert_true(IS_UTF8("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf")); /* 3 bytes */
    assert_true(IS_UTF8("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));                 /* 4 bytes */
}

static void ill_formed_utf8_is_refused(void **state)
{
    assert_false(IS_UTF8("a\0b"));
    assert_false(IS_UTF8("\x80"));
    assert_false(IS_UTF8("\xbf"));
    assert_false(IS_UTF8("\xc0\x80")); /* overlong */
    assert_false(IS_UTF8("\xc1\xbf"));
    assert_false(IS_UTF8("\xe0\x9f\xbf"));
    assert_false(IS_UTF8("\xf0\x8f\xbf\xbf"));
    assert_false(IS_UTF8("\xed\xa0\x80")); /* surrogates */
    assert_false(IS_UTF8("\xed\xbf\xbf"));
    assert_false(IS_UTF8("\xf4\x90\x80\x80")); /* behind U+10FFFF */
    assert_false(IS_UTF8("\xf5\x80\x80\x80"));
    assert_false(IS_UTF8("\xff"));
    assert_false(IS_UTF8("\xc3")); /* cut off */
    assert_false(IS_UTF8("\xe2\x82"));
    assert_false(IS_UTF8("\xf0\x9f\x98"));
    assert_false(IS_UTF8("\xe2\x28\xa1")); /* no continuation */
    assert_false(IS_UTF8("\xe2\x82x"));
}

static void columns_follow_the_terminal(void **state)
{
    CHECK_U64(COLUMNS(""), 0);
    CHECK_U64(COLUMNS("Conv_12"), 7);
    CHECK_U64(COLUMNS("\xc3\xa9"), 1);                 /* é */
    CHECK_U64(COLUMNS("e\xcc\x81"), 1);                /* e and a combining acute */
    CHECK_U64(COLUMNS("\xe2\x94\x82\xc2\xb5s"), 3);    /* box drawing, micro sign */
    CHECK_U64(COLUMNS("\xe5\x8d\xb7\xe7\xa7\xaf"), 4); /* two ideographs */
    CHECK_U64(COLUMNS("\xef\xbc\xa1"), 2);             /* full-width A */
    CHECK_U64(COLUMNS("\xf0\x9f\x98\x80"), 2);         /* an emoji */
    CHECK_U64(COLUMNS("\xe2\x80\x8b"), 0);             /* zero-width space */
    CHECK_U64(COLUMNS("\xff\xfe"
                      "a"),
              3); /* no UTF-8: a column a byte */
    CHECK_U64(COLUMNS("\xe5\x8d"), 2);
}

static void distance_counts_slips(void **state)
{
    CHECK_U64(text_distance("", ""), 0);
    CHECK_U64(text_distance("abc", ""), 3);
    CHECK_U64(text_distance("", "abc"), 3);
    CHECK_U64(text_distance("kitten", "sitting"), 3);
    CHECK_U64(text_distance("Memory", "mEMORY"), 0);
    CHECK_U64(text_distance("order-by", "oder-by"), 1);
    CHECK_U64(text_distance("sunday", "saturday"), text_distance("saturday", "sunday"));
}

static void long_texts_are_cut(void **state)
{
    char a[200], b[200];

    memset(a, 'a', sizeof(a) - 1);
    memset(b, 'a', sizeof(b) - 1);
    a[199] = b[199] = '\0';
    b[100] = 'x';
    CHECK_U64(text_distance(a, b), 0);
    b[62] = 'x';
    CHECK_U64(text_distance(a, b), 1);
}

static void nearest_is_what_was_meant(void **state)
{
    static const char *const words[] = {"order-by", "aggregate", "aggregate-by", "top", "type"};
    const size_t count = sizeof(words) / sizeof(words[0]);

    assert_string_equal(text_nearest("oderby", words, count), "order-by");
    assert_string_equal(text_nearest("agregate", words, count), "aggregate");
    assert_string_equal(text_nearest("TYPE", words, count), "type");
    assert_string_equal(text_nearest("tpo", words, count), "top");
    assert_string_equal(text_nearest("agg", words, count), "aggregate");
    assert_null(text_nearest("memory", words, count));
    assert_null(text_nearest("x", words, count));
    assert_null(text_nearest("", words, count));
    assert_null(text_nearest("top", words, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_formed_utf8_is_accepted),
        cmocka_unit_test(ill_formed_utf8_is_refused),
        cmocka_unit_test(columns_follow_the_terminal),
        cmocka_unit_test(distance_counts_slips),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(nearest_is_what_was_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
