/* SPDX-License-Identifier: Apache-2.0 */
/* Names that must fit a column: whatever they are made of they fit, and stay apart. */
#include <stdlib.h>
#include <string.h>

#include "analyze/out/private.h"
#include "base/text.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

enum { ROUNDS = 4000, NAMES_MAX = 40, CHARACTERS_MAX = 120, COLUMNS_MAX = 130 };

static uint64_t seed = DRAW_SEED;

static uint32_t random_below(uint32_t limit)
{
    return (uint32_t)(draw_u64(&seed) >> 11) % limit;
}

/* Of one, two, three and four bytes; of no column, one and two; dots and numbers as a name gets
 * them. */
static const char *const pieces[] = {"a",      "/",   "é",  "▁", "层", "😀",
                                     "\u0301", "...", "~2", ".", " ",  "conv"};
enum { PIECES = sizeof(pieces) / sizeof(pieces[0]) };

static char *make_odd(void)
{
    const uint32_t count = random_below(CHARACTERS_MAX), kinds = 1 + random_below(PIECES);
    char *text = calloc(CHARACTERS_MAX + 1, 4);

    assert_non_null(text);
    for (uint32_t i = 0; i < count; i++)
        strcat(text, pieces[(random_below(kinds) + random_below(2) * kinds) % PIECES]);
    return text;
}

/* A path as models have them: few differ, and in one place or two. */
static char *make_path(void)
{
    static const char *const leaves[] = {"Conv", "Relu", "MatMul", "Add", "LayerNormalization"};
    char *text;

    assert_true(asprintf(&text, "%s/model/layers/layers.%u/%s/c%u/%s",
                         random_below(4) ? "" : "/backbone", random_below(30),
                         random_below(2) ? "self_attention" : "feed_forward", random_below(4),
                         leaves[random_below(5)]) > 0);
    return text;
}

/* Functions that differ in their namespaces, their arguments, what they take or return. */
static char *make_kernel(void)
{
    static const char *const scopes[] = {"", "at::native::", "cub::", "(anonymous namespace)::"};
    static const char *const takes[] = {"", "(int, float*)", "(Params<int>)", "(int)"};
    char *text;

    assert_true(asprintf(&text, "%s%s%s<%u, %sFunctor<%s> >%s", random_below(2) ? "void " : "",
                         scopes[random_below(4)],
                         random_below(2) ? "elementwise_kernel" : "reduce_kernel", random_below(3),
                         scopes[random_below(4)], random_below(2) ? "float" : "c10::Half",
                         takes[random_below(4)]) > 0);
    return text;
}

static void kernels_fit_and_stay_apart(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        const size_t columns = 8 + random_below(COLUMNS_MAX), count = 1 + random_below(NAMES_MAX);
        char *names[NAMES_MAX], *shown[NAMES_MAX];

        for (size_t k = 0; k < count; k++)
            shown[k] = strdup(names[k] = make_kernel());
        assert_int_equal(out_shorten(shown, count, columns), 0);
        for (size_t k = 0; k < count; k++) {
            assert_true(text_columns(shown[k], strlen(shown[k])) <= columns);
            if (text_columns(names[k], strlen(names[k])) <= columns)
                assert_string_equal(names[k], shown[k]);
            for (size_t n = 0; n < k; n++)
                assert_int_equal(strcmp(names[k], names[n]) == 0, strcmp(shown[k], shown[n]) == 0);
        }
        for (size_t k = 0; k < count; k++) {
            free(names[k]);
            free(shown[k]);
        }
    }
}

static char **make_names(size_t count)
{
    const bool odd = random_below(2);
    char **names = calloc(count + 1, sizeof(*names));

    assert_non_null(names);
    for (size_t i = 0; i < count; i++)
        names[i] = i && random_below(8) == 0 ? strdup(names[random_below((uint32_t)i)])
                   : odd                     ? make_odd()
                                             : make_path();
    return names;
}

static char **copy_names(char *const *names, size_t count)
{
    char **copies = calloc(count + 1, sizeof(*copies));

    assert_non_null(copies);
    for (size_t i = 0; i < count; i++)
        copies[i] = strdup(names[i]);
    return copies;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* What is shown between dots stands in the name, in that order, and no character is cut. */
static void check_pieces(const char *name, const char *shown)
{
    const char *number = strrchr(shown, '~'), *at = shown, *in_name = name;
    const size_t length =
        number && !strstr(name, number) ? (size_t)(number - shown) : strlen(shown);

    while (at < shown + length) {
        const char *dots = memmem(at, length - (size_t)(at - shown), "...", 3);
        const size_t bytes = dots ? (size_t)(dots - at) : length - (size_t)(at - shown);
        const char *found = bytes ? memmem(in_name, strlen(in_name), at, bytes) : in_name;

        if (!found)
            fail_msg("%.*s of %s is not in %s", (int)bytes, at, shown, name);
        assert_true(((unsigned char)*at & 0xc0) != 0x80);
        in_name = found + bytes;
        at += bytes + (dots ? 3 : 0);
    }
}

static void check_names(char *const *names, char *const *shown, size_t count, size_t columns)
{
    for (size_t i = 0; i < count; i++) {
        const size_t width = text_columns(names[i], strlen(names[i]));

        if (columns < 8 || width <= columns) {
            assert_string_equal(shown[i], names[i]);
        } else if (!strstr(names[i], "...") && !strstr(shown[i], "....")) {
            check_pieces(names[i], shown[i]);
        }
        if (columns >= 8 && text_columns(shown[i], strlen(shown[i])) > columns)
            fail_msg("%zu columns for %s: %s", columns, names[i], shown[i]);
        for (size_t k = 0; k < i; k++) {
            if ((strcmp(names[i], names[k]) == 0) != (strcmp(shown[i], shown[k]) == 0))
                fail_msg("%zu columns: %s is %s, %s is %s", columns, names[i], shown[i], names[k],
                         shown[k]);
        }
    }
}

static void names_fit_and_stay_apart(void **state)
{
    for (int i = 0; i < ROUNDS; i++) {
        const size_t columns = random_below(COLUMNS_MAX), count = 1 + random_below(NAMES_MAX);
        char **names = make_names(count), **shown = copy_names(names, count);

        assert_int_equal(out_shorten(shown, count, columns), 0);
        check_names(names, shown, count, columns);
        free_names(names, count);
        free_names(shown, count);
    }
}

static void check_shown(const char *const *names, const char *const *wanted, size_t count,
                        size_t columns)
{
    char **shown = copy_names((char *const *)names, count);

    assert_int_equal(out_shorten(shown, count, columns), 0);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(shown[i], wanted[i]);
    free_names(shown, count);
}

static void names_lose_what_they_have_in_common(void **state)
{
    static const char *const layers[] = {"/layers/layers.0/c1/Conv", "/layers/layers.1/c1/Conv",
                                         "/layers/layers.10/c1/Conv", "/layers/layers.2/c1/Conv"};
    static const char *const short_layers[] = {"...ers.0/c1/Conv", "...ers.1/c1/Conv",
                                               "...rs.10/c1/Conv", "...ers.2/c1/Conv"};
    static const char *const one[] = {"abcdefghijklmnopqrstuvwxyz"};
    static const char *const short_one[] = {"abcdef...tuvwxyz"};
    static const char *const tree[] = {"        aten::convolution_overrideable",
                                       "        aten::convolution_transposed_"};
    static const char *const short_tree[] = {"     ...overr...", "     ...trans..."};

    static const char *const kernels[] = {
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int)",
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"};
    static const char *const short_kernels[] = {
        "vectorized_elementwise_kernel<4, FillFunctor<float> >",
        "vectorized_elementwise_kernel<4, AddFunctor<float> >",
        "ncclKernel_AllReduce_RING_LL_Sum_float"};

    check_shown(kernels, short_kernels, 3, 55);
    check_shown(layers, short_layers, 4, 16);
    check_shown(one, short_one, 1, 16);
    check_shown(tree, short_tree, 2, 16);
    check_shown(layers, layers, 4, 25);
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
    assert_int_equal(out_shorten(&text, 1, 1000001), 0);
    assert_int_equal(text_columns(text, strlen(text)), 1000001);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_fit_and_stay_apart),
        cmocka_unit_test(kernels_fit_and_stay_apart),
        cmocka_unit_test(names_lose_what_they_have_in_common),
        cmocka_unit_test(long_names_take_no_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
