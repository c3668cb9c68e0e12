/* SPDX-License-Identifier: Apache-2.0 */
/* Names that lose their middle, whatever they are made of. */
#include <stdlib.h>
#include <string.h>

#include "analyze/out_private.h"
#include "base/text.h"
#include "tests/support/check.h"

enum { ROUNDS = 20000, CHARACTERS_MAX = 120, COLUMNS_MAX = 130 };

static uint64_t seed = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 11) % limit;
}

/* Of one, two, three and four bytes; of no column, one and two; what is no UTF-8; ends of lines. */
static const char *const pieces[] = {"a", "/", "é", "▁", "层", "😀", "\u0301", "\xff", "\n"};
enum { PIECES = sizeof(pieces) / sizeof(pieces[0]) };

static void make_text(char *text)
{
    const uint32_t count = random_below(CHARACTERS_MAX), kinds = 1 + random_below(PIECES);

    *text = '\0';
    for (uint32_t i = 0; i < count; i++)
        strcat(text, pieces[(random_below(kinds) + random_below(2) * kinds) % PIECES]);
}

/* A line is as it was, or its beginning, three dots and its end, in so many columns. */
static void check_line(const char *before, size_t length, const char *after, size_t kept,
                       size_t columns)
{
    const size_t all = text_columns(before, length);
    const char *dots = memmem(after, kept, "...", 3);
    size_t head, tail;

    if (columns < 8 || all <= columns) {
        assert_int_equal(kept, length);
        assert_memory_equal(before, after, length);
        return;
    }
    assert_non_null(dots);
    head = (size_t)(dots - after);
    tail = kept - head - 3;
    assert_true(head + tail <= length);
    assert_memory_equal(before, after, head);
    assert_memory_equal(before + length - tail, dots + 3, tail);
    assert_true(text_columns(after, kept) <= columns);
    /* What is left out is no more than the dots need, and a wide character at each side. */
    assert_true(text_columns(after, kept) + 2 >= columns);
    /* No character is cut, and no mark stands behind the dots without what it belongs to. */
    assert_int_equal(text_columns(before, head) + text_columns(before + head, length - head), all);
    assert_true(tail == 0 || ((unsigned char)dots[3] & 0xc0) != 0x80);
    assert_true(tail < 2 || memcmp(dots + 3, "\u0301", 2) != 0);
}

static void names_fit_and_keep_both_ends(void **state)
{
    char before[CHARACTERS_MAX * 4 + 1], after[sizeof(before)];

    for (int i = 0; i < ROUNDS; i++) {
        const size_t columns = random_below(COLUMNS_MAX);
        const char *from = before, *to = after;

        make_text(before);
        strcpy(after, before);
        out_shorten(after, columns);
        for (;;) {
            const size_t length = strcspn(from, "\n"), kept = strcspn(to, "\n");

            check_line(from, length, to, kept, columns);
            assert_int_equal(from[length], to[kept]);
            if (!from[length])
                break;
            from += length + 1;
            to += kept + 1;
        }
    }
}

/* In a time that grows with the name, not with its square. */
static void long_names_take_no_longer(void **state)
{
    const size_t count = 4000000;
    char *text = malloc(count * 3 + 1);

    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + 3 * i, "▁", 3);
    text[3 * count] = '\0';
    out_shorten(text, 1000001);
    assert_int_equal(text_columns(text, strlen(text)), 1000001);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_fit_and_keep_both_ends),
        cmocka_unit_test(long_names_take_no_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
