/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test program includes: cmocka with the headers that it needs, and a few checks that
 * print both values. A test program is a list of cases:
 *
 *     static void reads_an_empty_file(void **state) { ... }
 *     int main(void)
 *     {
 *         const struct CMUnitTest tests[] = {cmocka_unit_test(reads_an_empty_file)};
 *         return cmocka_run_group_tests(tests, NULL, NULL);
 *     }
 *
 * A case that cannot run here calls CHECK_SKIP("why"); a program none of whose cases can run
 * returns CHECK_SKIP_ALL("why") from main(), which Meson counts as skipped.
 */
#ifndef OPTRACE_TESTS_SUPPORT_CHECK_H
#define OPTRACE_TESTS_SUPPORT_CHECK_H

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** The call returns 0. */
#define CHECK_OK(call) assert_int_equal((call), 0)

/** `text` contains `part`; prints both. */
#define CHECK_CONTAINS(text, part)                                                                 \
    do {                                                                                           \
        const char *check_text = (text);                                                           \
        const char *check_part = (part);                                                           \
                                                                                                   \
        if (!check_text || !strstr(check_text, check_part))                                        \
            fail_msg("no \"%s\" in \"%s\"", check_part, check_text ? check_text : "(null)");       \
    } while (0)

/** `text` does not contain `part`; prints both. */
#define CHECK_LACKS(text, part)                                                                    \
    do {                                                                                           \
        const char *check_text = (text);                                                           \
        const char *check_part = (part);                                                           \
                                                                                                   \
        if (check_text && strstr(check_text, check_part))                                          \
            fail_msg("unwanted \"%s\" in \"%s\"", check_part, check_text);                         \
    } while (0)

/** Two unsigned 64-bit numbers are equal; prints both in decimal. */
#define CHECK_U64(got, want)                                                                       \
    do {                                                                                           \
        unsigned long long check_got = (got);                                                      \
        unsigned long long check_want = (want);                                                    \
                                                                                                   \
        if (check_got != check_want)                                                               \
            fail_msg("%s is %llu, not %llu", #got, check_got, check_want);                         \
    } while (0)

/** |got - want| <= tolerance; prints all three. NaN fails. */
#define CHECK_NEAR(got, want, tolerance)                                                           \
    do {                                                                                           \
        double check_got = (got);                                                                  \
        double check_want = (want);                                                                \
        double check_tolerance = (tolerance);                                                      \
        double check_off =                                                                         \
            check_got < check_want ? check_want - check_got : check_got - check_want;              \
                                                                                                   \
        if (!(check_off <= check_tolerance))                                                       \
            fail_msg("%s is %.17g, not %.17g (+-%g)", #got, check_got, check_want,                 \
                     check_tolerance);                                                             \
    } while (0)

/** Leave this case as skipped, saying why. */
#define CHECK_SKIP(why)                                                                            \
    do {                                                                                           \
        fprintf(stderr, "skipped: %s\n", (why));                                                   \
        skip();                                                                                    \
    } while (0)

/** The exit status by which a whole program is skipped; says why. */
#define CHECK_SKIP_ALL(why) (fprintf(stderr, "skipped: %s\n", (why)), 77)

#endif
