/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis: the first text wins, the place is kept. */
#include "base/diag.h"

#include "tests/support/check.h"

static void set_fills_and_returns_the_error(void **state)
{
    struct diag diag = {.offset = 5, .line = 7};

    assert_int_equal(diag_set(&diag, -EINVAL, "%s has %d rows", "x", 3), -EINVAL);
    assert_string_equal(diag.text, "x has 3 rows");
    assert_int_equal(diag.offset, -1);
    assert_int_equal(diag.line, 0);
}

static void set_at_keeps_the_offset(void **state)
{
    struct diag diag = {0};

    assert_int_equal(diag_set_at(&diag, -EPROTO, 1234, "cut off"), -EPROTO);
    assert_string_equal(diag.text, "cut off");
    assert_int_equal(diag.offset, 1234);
}

static void first_text_wins(void **state)
{
    struct diag diag = {0};

    diag_set_at(&diag, -EIO, 8, "the cause");
    assert_int_equal(diag_set(&diag, -EINVAL, "the consequence"), -EINVAL);
    assert_int_equal(diag_set_at(&diag, -EINVAL, 9, "the consequence"), -EINVAL);
    assert_string_equal(diag.text, "the cause");
    assert_int_equal(diag.offset, 8);
}

static void null_is_allowed(void **state)
{
    assert_int_equal(diag_set(NULL, -ENOMEM, "unseen"), -ENOMEM);
    assert_int_equal(diag_set_at(NULL, -ENOMEM, 1, "unseen"), -ENOMEM);
}

static void long_text_is_cut(void **state)
{
    struct diag diag = {0};

    diag_set(&diag, -EINVAL, "%0600d", 1);
    CHECK_U64(strlen(diag.text), sizeof(diag.text) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_and_returns_the_error),
        cmocka_unit_test(set_at_keeps_the_offset),
        cmocka_unit_test(first_text_wins),
        cmocka_unit_test(null_is_allowed),
        cmocka_unit_test(long_text_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
