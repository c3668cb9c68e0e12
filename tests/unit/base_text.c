/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 checks, terminal columns, lines of words, "did you mean". */
#include "base/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text_buffer.h"
#include "tests/support/check.h"

#define IS_UTF8(bytes) text_is_utf8(bytes, sizeof(bytes) - 1)
#define COLUMNS(text)  text_columns(text, sizeof(text) - 1)

static void characters_come_back(void **state)
{
    static const uint32_t codes[] = {0,      'a',    0x7f,   0x80,    0x7ff,   0x800,
                                     0xd7ff, 0xe000, 0xffff, 0x10000, 0x1f600, 0x10ffff};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char bytes[4];
        size_t size = text_encode(bytes, codes[i]);
        uint32_t code;

        CHECK_U64(text_decode(bytes, size, &code), size);
        CHECK_U64(code, codes[i]);
    }
}

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

static void what_steers_terminals_is_written_out(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"conv/1 \u5c42\U0001f600e\u0301", "conv/1 \u5c42\U0001f600e\u0301"},
        {"\x1b[31m", "\\x1b[31m"},
        {"a\nb\tc\rd\x7f", "a\\x0ab\\x09c\\x0dd\\x7f"},
        {"\xc2\x80\xc2\x9b"
         "2J\u00a0",
         "\\u0080\\u009b2J\u00a0"},
        {"\u202egpj.\u2066\u200f\u061c\u2028", "\\u202egpj.\\u2066\\u200f\\u061c\\u2028"},
        {"\xff\xc3", "\\xff\\xc3"},
    };
    char shown[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const size_t length = text_show(cases[i].text, strlen(cases[i].text), shown, sizeof(shown));

        assert_string_equal(shown, cases[i].shown);
        assert_int_equal(length, strlen(shown));
    }
    /* Cut between characters, never within a number. */
    assert_int_equal(text_show("ab\x1b", 3, shown, 6), 2);
    assert_string_equal(shown, "ab");
    assert_int_equal(text_show("ab\x1b", 3, shown, 7), 6);
    assert_int_equal(text_show("a\u5c42", 4, shown, 4), 1);
    assert_int_equal(text_show("a", 1, shown, 0), 0);
    assert_int_equal(text_show("a\0b", 3, shown, sizeof(shown)), 6);
    assert_string_equal(shown, "a\\x00b");
}

/* What both print is the same, where nothing has to be written out. */
#define CHECK_LIKE_PRINTF(...)                                                                     \
    do {                                                                                           \
        char *text = NULL, *expected;                                                              \
        size_t size;                                                                               \
        FILE *out = open_memstream(&text, &size);                                                  \
                                                                                                   \
        assert_int_equal(text_print(out, __VA_ARGS__), 0);                                         \
        fclose(out);                                                                               \
        assert_true(asprintf(&expected, __VA_ARGS__) >= 0);                                        \
        assert_string_equal(text, expected);                                                       \
        free(text);                                                                                \
        free(expected);                                                                            \
    } while (0)

static void numbers_are_printed_as_printf_does(void **state)
{
    CHECK_LIKE_PRINTF("%s", "");
    CHECK_LIKE_PRINTF("no conversion at all\n");
    CHECK_LIKE_PRINTF("%d %i %u %x %X %o %c %%|%5d|%-5d|%05d|%+d|% d|%#x\n", -1, 2, 3u, 255u, 255u,
                      8u, 'c', 42, 42, 42, 42, 42, 255u);
    CHECK_LIKE_PRINTF("%ld %lld %zu %jd %td %hd %hhu", -1L, -2LL, (size_t)-1, INTMAX_MIN,
                      (ptrdiff_t)-5, (short)-7, (unsigned char)200);
    CHECK_LIKE_PRINTF("%" PRIu64 " %" PRId64 " %016" PRIx64, UINT64_MAX, INT64_MIN, UINT64_MAX / 3);
    CHECK_LIKE_PRINTF("%f %.3f %10.2f|%-10.1f|%g %.9Lg %e %a", 1.5, 2.25, 3.125, 4.0625, 1e-7,
                      (long double)1 / 3, 12345.678, 0.1);
    CHECK_LIKE_PRINTF("%*d|%-*d|%.*f|%*.*f|%*d|%.*f", 6, 1, 6, 2, 2, 3.14159, 9, 3, 2.71828, -6, 5,
                      -1, 1.25);
    CHECK_LIKE_PRINTF("%p %d", (void *)&state, 7);
    CHECK_LIKE_PRINTF("%s|%8s|%-8s|%.2s|%6.3s|%*s|%-*s|%.*s|%%s %s", "abc", "abc", "abc", "abc",
                      "abcdef", 5, "ab", 5, "cd", 1, "xyz", "end");
}

static void printed_texts_are_harmless(void **state)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    text_print(out, "\x1b[1m%s|%6s|%-6s|%.1s\n%s\n", "a\nb", "\xc2\x9b", "\u5c42x", "\xff\xfe",
               "\u202e\x7f");
    text_put("c\x1b[2J\n", out);
    text_put_page("one\ntwo\n", out);
    fclose(out);
    assert_string_equal(text, "\x1b[1ma\\x0ab|\\u009b|\u5c42x   |\\xff\n\\u202e\\x7f\n"
                              "c\\x1b[2J\\x0aone\ntwo\n");
    free(text);
    out = fopen("/dev/full", "w");
    setvbuf(out, NULL, _IONBF, 0);
    assert_int_equal(text_print(out, "a"), EOF);
    assert_int_equal(text_print(out, "%s", "a"), EOF);
    assert_int_equal(text_print(out, "%d", 1), EOF);
    assert_int_equal(text_print(out, "%9s", ""), EOF);
    assert_int_equal(text_put_page("a", out), EOF);
    fclose(out);
}

/* Whatever stands where in a text, each character comes out as it is shown alone. */
static void texts_are_put_as_their_characters_are_shown(void **state)
{
    static const char *const pieces[] = {"a",          "conv2d ", "\x1b",     "\n",
                                         "\x7f",       "\xff",    "\xe2\x82", "\u20ac",
                                         "\U0001f600", "\u202e",  "\xc2\x9b", "~"};
    enum { COUNT = sizeof(pieces) / sizeof(pieces[0]), LENGTH = 6 };
    unsigned number = 7;

    for (int i = 0; i < 2000; i++) {
        char from[LENGTH * 8] = "", shown[LENGTH * 8 * TEXT_SHOWN_BYTES], *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        for (int k = 0; k < LENGTH; k++) {
            number = number * 1664525 + 1013904223;
            strcat(from, pieces[(number >> 16) % COUNT]);
        }
        text_show(from, strlen(from), shown, sizeof(shown));
        assert_int_equal(text_put(from, out), 0);
        assert_int_equal(text_print(out, "%s", from), 0);
        fclose(out);
        CHECK_U64(size, 2 * strlen(shown));
        assert_memory_equal(text, shown, size / 2);
        assert_string_equal(text + size / 2, shown);
        free(text);
    }
}

/* What several programs say on one terminal does not mix. */
static void unbuffered_lines_are_one_write(void **state)
{
    char got[256];
    int ends[2];
    FILE *out;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    out = fdopen(ends[0], "w");
    setvbuf(out, NULL, _IONBF, 0);
    for (int i = 0; i < 2; i++) { /* the first time it has no buffer at all */
        assert_int_equal(text_print(out, "%s: line %d of '%s'\n", "program", 7, "a\nb"), 0);
        assert_int_equal(recv(ends[1], got, sizeof(got), 0), 28);
        got[28] = '\0';
        assert_string_equal(got, "program: line 7 of 'a\\x0ab'\n");
    }
    fclose(out);
    close(ends[1]);
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

static void words_flow_on_lines_that_fit(void **state)
{
    struct text_buffer buffer = {0};

    assert_int_equal(text_buffer_flow(&buffer, "one two three four", 10, 0, 2), 3);
    assert_string_equal(text_buffer_text(&buffer), "one two\n  three\n  four");
    text_buffer_deinit(&buffer);
    /* The first line has five columns before it; what is too long stands alone. */
    assert_int_equal(text_buffer_flow(&buffer, "ab cd incomprehensible \xe5\x8d\xb7 e", 10, 5, 0),
                     3);
    assert_string_equal(text_buffer_text(&buffer), "ab cd\nincomprehensible\n\xe5\x8d\xb7 e");
    text_buffer_deinit(&buffer);
    assert_int_equal(text_buffer_flow(&buffer, "a  b", 0, 0, 4), 1);
    assert_string_equal(text_buffer_text(&buffer), "a  b");
    text_buffer_deinit(&buffer);
    assert_int_equal(text_buffer_flow(&buffer, "", 10, 0, 0), 1);
    assert_string_equal(text_buffer_text(&buffer), "");
}

static void numbers_are_as_printf_has_them(void **state)
{
    static const int64_t numbers[] = {0, 1, -1, 9, 10, -10, 1234567890123, INT64_MAX, INT64_MIN};
    char text[TEXT_INT_BYTES], expected[32];

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        snprintf(expected, sizeof(expected), "%lld", (long long)numbers[i]);
        CHECK_U64(text_format_int(text, numbers[i]), strlen(expected));
        assert_string_equal(text, expected);
        snprintf(expected, sizeof(expected), "%llu", (unsigned long long)numbers[i]);
        CHECK_U64(text_format_uint(text, (uint64_t)numbers[i]), strlen(expected));
        assert_string_equal(text, expected);
    }
}

/* On a terminal of 40 columns no line is longer; what steers one does not reach it. */
static void complaints_fit_the_terminal(void **state)
{
    static const char sentence[] =
        "cannot read the session that is asked for, as it has \x1b[31m no "
        "event: choose another one";
    const struct winsize size = {.ws_row = 24, .ws_col = 40};
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
    char text[1024];
    ssize_t length;
    FILE *stream;

    (void)state;
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0 && ioctl(slave, TIOCSWINSZ, &size) == 0);
    stream = fdopen(slave, "w");
    text_complain(stream, "program", sentence);
    fflush(stream);
    /* What was written comes by the piece. */
    for (size_t used = 0; used == 0 || !strstr(text, "one\r\n"); used += (size_t)length) {
        length = read(master, text + used, sizeof(text) - 1 - used);
        assert_true(length > 0);
        text[used + (size_t)length] = '\0';
    }
    assert_null(strchr(text, '\x1b'));
    CHECK_CONTAINS(text, "program: cannot read the session that is\r\n  asked for,");
    for (char *line = strtok(text, "\r\n"); line; line = strtok(NULL, "\r\n"))
        assert_true(strlen(line) <= 40 + 8); /* shown escapes are longer than they are */
    fclose(stream);
    close(master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_as_printf_has_them),
        cmocka_unit_test(complaints_fit_the_terminal),
        cmocka_unit_test(characters_come_back),
        cmocka_unit_test(well_formed_utf8_is_accepted),
        cmocka_unit_test(ill_formed_utf8_is_refused),
        cmocka_unit_test(columns_follow_the_terminal),
        cmocka_unit_test(distance_counts_slips),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(what_steers_terminals_is_written_out),
        cmocka_unit_test(numbers_are_printed_as_printf_does),
        cmocka_unit_test(printed_texts_are_harmless),
        cmocka_unit_test(texts_are_put_as_their_characters_are_shown),
        cmocka_unit_test(unbuffered_lines_are_one_write),
        cmocka_unit_test(nearest_is_what_was_meant),
        cmocka_unit_test(words_flow_on_lines_that_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
