/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions as RE2 has them, parts of texts, numbers as texts. */
#include "tests/support/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/texts.h"
#include "runtime/ops/regex.h"
#include "runtime/ops/words.h"

static int matches(const char *pattern, size_t pattern_length, const char *text, size_t length)
{
    struct regex *regex = NULL;
    struct diag diag = {0};
    int rc = regex_compile(pattern, pattern_length, &regex, &diag);
    void *room;

    if (rc < 0) {
        assert_true(diag.text[0] != '\0' && !regex);
        return rc;
    }
    room = malloc(regex_room(regex));
    assert_non_null(room);
    rc = regex_matches(regex, text, length, room);
    free(room);
    free(regex);
    return rc;
}

/* What ONNX Runtime 1.32, which has RE2, gives; or that it is refused. */
static const struct {
    const char *pattern, *text;
    int expected;
} patterns[] = {
    {"", "", 1},
    {"", "a", 0},
    {"a.c", "abc", 1},
    {"a.c", "a\nc", 0},
    {"a.c",
     "a\xc3\xa9"
     "c",
     1},
    {"a.c",
     "a\xc3"
     "c",
     0},
    {"(?s)a.c", "a\nc", 1},
    {"^a$", "a\n", 0},
    {"(?m)a$\n^b", "a\nb", 1},
    {"a$\n^b", "a\nb", 0},
    {"\\w+", "ab_1", 1},
    {"\\w+", "a\xc3\xa9", 0},
    {"[^\\d\\s]+", "ab-", 1},
    {"[^\\d\\s]+", "a b", 0},
    {"(?i)\xc3\x89", "\xc3\xa9", 1},
    {"(?i:A)b", "ab", 1},
    {"(?i:A)b", "aB", 0},
    {"[[:alpha:]]+", "abZ", 1},
    {"[[:^alpha:]]+", "abZ", 0},
    {"[]a-]+", "a]-", 1},
    {"[a-c\\-x]+", "b-x", 1},
    {"a{2}", "aa", 1},
    {"a{2}", "aaa", 0},
    {"a{2,}", "aaaa", 1},
    {"(ab){1,2}?", "abab", 1},
    {"(ab|a)*?c{0}", "abaab", 1},
    {"a{,2}", "a{,2}", 1},
    {"(a|b|cd|)e", "cde", 1},
    {"(a|b|cd|)e", "e", 1},
    {"(a*)*", "aaaa", 1},
    {"(?P<x>a)(?<y>b)(?:c)", "abc", 1},
    {"\\Qa.b\\E+", "a.bbb", 1},
    {"\\Qa.b\\E+", "axb", 0},
    {"a\\b b", "a b", 1},
    {"a\\Bb", "ab", 1},
    {"\\Aab\\z", "ab", 1},
    {"\\x41\\x{e9}\\101",
     "A\xc3\xa9"
     "A",
     1},
    {"(|a)+", "aa", 1},
    {"(.+)@(.+)[.]com", "www.x@y.com", 1},
    {"[", "a", -EINVAL},
    {"(", "a", -EINVAL},
    {")", "a", -EINVAL},
    {"*", "a", -EINVAL},
    {"a**", "a", -EINVAL},
    {"a{2}{3}", "a", -EINVAL},
    {"a{2,1}", "a", -EINVAL},
    {"a{1001}", "a", -EINVAL},
    {"(?=a)", "a", -EINVAL},
    {"(?<=a)b", "a", -EINVAL},
    {"(?P<x", "a", -EINVAL},
    {"[b-a]", "a", -EINVAL},
    {"[[:nope:]]", "a", -EINVAL},
    {"\\1", "a", -EINVAL},
    {"\\y", "a", -EINVAL},
    {"\\", "a", -EINVAL},
    {"\\x{110000}", "a", -EINVAL},
    {"\xff", "a", -EINVAL},
    {"\\pL", "a", -ENOTSUP},
    {"\\C", "a", -ENOTSUP},
    {"((a{100}){100}){100}", "a", -E2BIG},
};

static void patterns_are_those_of_re2(void **state)
{
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        int got = matches(patterns[i].pattern, strlen(patterns[i].pattern), patterns[i].text,
                          strlen(patterns[i].text));

        if (got != patterns[i].expected)
            fail_msg("'%s' over '%s': %d instead of %d", patterns[i].pattern, patterns[i].text, got,
                     patterns[i].expected);
    }
    assert_int_equal(matches("a\0b", 3, "a\0b", 3), 1);
    assert_int_equal(matches("a.b", 3, "a\0b", 3), 1);
}

static void deep_and_long_patterns_are_refused(void **state)
{
    enum { LENGTH = 1 << 17 };
    char *pattern = malloc(LENGTH);

    assert_non_null(pattern);
    memset(pattern, '(', LENGTH);
    assert_int_equal(matches(pattern, LENGTH, "", 0), -E2BIG);
    memset(pattern, 'a', LENGTH);
    assert_int_equal(matches(pattern, LENGTH, "", 0), -E2BIG);
    memset(pattern, '|', LENGTH);
    assert_int_equal(matches(pattern, LENGTH, "", 0), -E2BIG);
    memset(pattern, '|', 30000);
    assert_int_equal(matches(pattern, 30000, "", 0), 1);
    free(pattern);
}

/* All bytes, in pieces of patterns that bite: never beyond the pattern. */
static void random_patterns_end(void **state)
{
    static const char *const pieces[] = {
        "(", ")", "[", "]", "*",   "+",   "?",   "{", "2",  ",", "}",    "|",    "\\", "a",
        "-", "^", "$", ".", "\\Q", "\\E", "(?i", ":", "[:", "x", "\xc3", "\xa9", "P<", ">"};
    uint64_t seed = 7;

    for (int turn = 0; turn < 20000; turn++) {
        char pattern[64];
        size_t length = 0;
        char *exact;

        for (int i = 0; i < 12; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const char *piece = pieces[(seed >> 33) % (sizeof(pieces) / sizeof(pieces[0]))];

            memcpy(pattern + length, piece, strlen(piece));
            length += strlen(piece);
        }
        exact = malloc(length); /* so that a sanitizer sees what is read behind it */
        assert_non_null(exact);
        memcpy(exact, pattern, length);
        matches(exact, length, "a-x2aa", 6);
        free(exact);
    }
}

/* By trying each part of the text, the first and then the longest first. */
static bool find_slowly(const char *pattern, const char *text, size_t length, size_t from,
                        size_t *out_begin, size_t *out_end)
{
    for (*out_begin = from; *out_begin <= length; ++*out_begin)
        for (*out_end = length; *out_end + 1 > *out_begin; --*out_end) {
            if (matches(pattern, strlen(pattern), text + *out_begin, *out_end - *out_begin) == 1)
                return true;
            if (*out_end == 0)
                break;
        }
    return false;
}

/* Patterns without anchors, in texts of three letters. */
static void parts_that_are_found_are_the_first_and_longest(void **state)
{
    static const char *const pieces[] = {"a",   "b",      ".",    "ab",     "a*",
                                         "b+?", "(a|ab)", "[^a]", "(ba?)*", "a{2}"};
    uint64_t seed = 3;
    int found_count = 0;

    for (int turn = 0; turn < 3000; turn++) {
        char pattern[64] = "", text[8];
        struct regex *regex = NULL;
        struct diag diag = {0};
        size_t begin = 0, end = 0, slow_begin = 0, slow_end = 0, from;
        void *room;
        bool found;

        for (int i = 0; i < 3; i++, seed = seed * 6364136223846793005u + 1442695040888963407u) {
            strcat(pattern, pieces[(seed >> 33) % (sizeof(pieces) / sizeof(pieces[0]))]);
            if (i == 1 && (seed >> 50) % 3 == 0)
                strcat(pattern, "|");
        }
        for (size_t i = 0; i < sizeof(text); i++)
            text[i] = "abc"[(seed >> (20 + 2 * i)) % 3];
        from = (seed >> 40) % 4;
        assert_int_equal(regex_compile(pattern, strlen(pattern), &regex, &diag), 0);
        room = malloc(regex_room(regex));
        assert_non_null(room);
        found = regex_find(regex, text, sizeof(text), from, room, &begin, &end);
        if (found != find_slowly(pattern, text, sizeof(text), from, &slow_begin, &slow_end) ||
            (found && (begin != slow_begin || end != slow_end)))
            fail_msg("'%s' in '%.8s' from %zu: %zu to %zu instead of %zu to %zu", pattern, text,
                     from, begin, end, slow_begin, slow_end);
        found_count += found && end > begin;
        free(room);
        free(regex);
    }
    assert_true(found_count > 1000);
}

/* What stands before a part counts for anchors; a byte that is not UTF-8 is in no part. */
static void parts_are_found_where_they_stand(void **state)
{
    static const struct {
        const char *pattern, *text;
        size_t from, begin, end; /* end 0: there is none */
    } cases[] = {
        {"^a", "aab", 1, 0, 0},
        {"\\bab", "xab ab", 0, 4, 6},
        {"a$", "aba", 0, 2, 3},
        {"(?m)^b", "a\nb", 0, 2, 3},
        {".+",
         "a\xff"
         "bc",
         0, 0, 1},
        {".+",
         "a\xff"
         "bc",
         1, 2, 4},
        {"x*", "ab", 0, 0, 0},
        {"b", "aaa", 0, 0, 0},
        {"a.c", "aabcabcc", 0, 1, 4},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct regex *regex = NULL;
        struct diag diag = {0};
        size_t begin = 0, end = 0;
        void *room;

        assert_int_equal(regex_compile(cases[i].pattern, strlen(cases[i].pattern), &regex, &diag),
                         0);
        room = malloc(regex_room(regex));
        assert_non_null(room);
        regex_find(regex, cases[i].text, strlen(cases[i].text), cases[i].from, room, &begin, &end);
        if (begin != cases[i].begin || end != cases[i].end)
            fail_msg("'%s' in '%s': %zu to %zu", cases[i].pattern, cases[i].text, begin, end);
        free(room);
        free(regex);
    }
}

static int64_t number_of(const char *text)
{
    return texts_number(text, strlen(text));
}

static void parts_are_those_of_python(void **state)
{
    static const struct {
        const char *text, *delimiter;
        int64_t most;
        const char *parts; /* with a bar behind each */
    } cases[] = {
        {"a b  c ", NULL, -1, "a|b|c|"},
        {"a b  c ", "", 1, "a|b  c |"},
        {" \t\n", NULL, -1, ""},
        {"", NULL, -1, ""},
        {"", "-", -1, "|"},
        {"-", "-", -1, "||"},
        {"a-b--c", "-", 2, "a|b|-c|"},
        {"a-b", "-", 0, "a-b|"},
        {"aabab", "ab", -1, "a|||"},
        {"ab", "abc", -1, "ab|"},
        {"a\x0b"
         "b\x0c"
         "c\rd",
         NULL, -1, "a|b|c|d|"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct word_splitter splitter = {
            cases[i].delimiter, cases[i].delimiter ? strlen(cases[i].delimiter) : 0, cases[i].most};
        struct word rest = {cases[i].text, strlen(cases[i].text)}, part;
        char made[64] = "";
        int64_t count = 0;

        for (; words_next(&splitter, count, &rest, &part); count++) {
            strncat(made, part.bytes, part.length);
            strcat(made, "|");
        }
        assert_string_equal(made, cases[i].parts);
        assert_int_equal(words_count(&splitter, number_of(cases[i].text)), count);
    }
}

static void numbers_are_written_as_onnx_runtime_does(void **state)
{
    static const float floats[] = {0,         -0.0f, 1.5f,     1.0f / 3, 1e20f,
                                   123456792, NAN,   INFINITY, -INFINITY};
    static const char *const texts[] = {"0",   "-0",  "1.5", "0.33333334", "1e+20", "1.2345679e+08",
                                        "NaN", "INF", "-INF"};
    uint64_t large = UINT64_MAX;
    int64_t small = INT64_MIN;
    char out[WORDS_NUMBER_BYTES];

    for (int i = 0; i < 9; i++) {
        words_write_number(floats, DTYPE_F32, i, out);
        assert_string_equal(out, texts[i]);
    }
    words_write_number(&large, DTYPE_U64, 0, out);
    assert_string_equal(out, "18446744073709551615");
    words_write_number(&small, DTYPE_I64, 0, out);
    assert_string_equal(out, "-9223372036854775808");
    words_write_number(&(bool){true}, DTYPE_BOOL, 0, out);
    assert_string_equal(out, "1");
}

static void numbers_are_read_as_onnx_runtime_does(void **state)
{
    float f = 0;
    uint8_t byte = 0;
    bool truth = false;
    int64_t i = 0;
    uint16_t half = 0;

    assert_true(words_read_number(number_of(" 1.5x"), &f, DTYPE_F32, 0) && f == 1.5f);
    assert_true(words_read_number(number_of("1e50"), &f, DTYPE_F32, 0) && isinf(f));
    assert_true(words_read_number(number_of("nan"), &f, DTYPE_F32, 0) && isnan(f));
    assert_true(words_read_number(number_of("-1e9"), &half, DTYPE_F16, 0) && half == 0xfc00);
    assert_true(words_read_number(number_of("300"), &byte, DTYPE_U8, 0) && byte == 44);
    assert_true(words_read_number(number_of("256"), &truth, DTYPE_BOOL, 0) && truth);
    assert_true(words_read_number(number_of("-7.9"), &i, DTYPE_I64, 0) && i == -7);
    assert_false(words_read_number(number_of(""), &f, DTYPE_F32, 0));
    assert_false(words_read_number(number_of("1e400"), &f, DTYPE_F32, 0));
    assert_false(words_read_number(number_of("true"), &truth, DTYPE_BOOL, 0));
    assert_false(words_read_number(number_of("99999999999999999999"), &i, DTYPE_I64, 0));
}

static const char *normalised(const struct word_normaliser *n, const char *text)
{
    int64_t number = words_normalise(n, number_of(text));
    size_t length;

    return number == -ENOENT ? NULL : texts_get(number, &length);
}

static void words_are_changed_and_stopped(void **state)
{
    int64_t stops[] = {number_of("monday"), number_of("\xc3\xa9t\xc3\xa9")};
    struct word_normaliser n = {NULL, words_lower, stops, 2};

    assert_null(normalised(&n, "MONDAY"));
    assert_string_equal(normalised(&n, "Tuesday"), "Tuesday");
    if (words_lower(0xc9) == 0xe9) /* the C library has letters beyond ASCII */
        assert_null(normalised(&n, "\xc3\x89T\xc3\xa9"));
    n.change = words_upper;
    assert_string_equal(normalised(&n, "a\xff\xc3(b"),
                        "A\xff\xc3(B"); /* bytes that are no UTF-8 stay */
    n.common = NULL;
    assert_string_equal(normalised(&n, "Monday"), "MONDAY");
    assert_null(normalised(&n, "monday"));
}

static void texts_can_be_forgotten(void **state)
{
    size_t length;

    assert_true(number_of("kept") > 0);
    texts_forget();
    assert_string_equal(texts_get(1, &length), "");
    assert_int_equal(number_of("anew"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_those_of_re2),
        cmocka_unit_test(deep_and_long_patterns_are_refused),
        cmocka_unit_test(random_patterns_end),
        cmocka_unit_test(parts_that_are_found_are_the_first_and_longest),
        cmocka_unit_test(parts_are_found_where_they_stand),
        cmocka_unit_test(parts_are_those_of_python),
        cmocka_unit_test(numbers_are_written_as_onnx_runtime_does),
        cmocka_unit_test(numbers_are_read_as_onnx_runtime_does),
        cmocka_unit_test(words_are_changed_and_stopped),
        cmocka_unit_test(texts_can_be_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
