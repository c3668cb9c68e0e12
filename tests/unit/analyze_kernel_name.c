/* SPDX-License-Identifier: Apache-2.0 */
/* What names of functions lose when there is no room, and what is no name of a function. */
#include <stdlib.h>
#include <string.h>

#include "analyze/out/kernel_name.h"
#include "tests/support/check.h"

static void check(bool (*strip)(char *name), const char *name, const char *expected)
{
    char *text = strdup(name);

    assert_non_null(text);
    assert_int_equal(strip(text), strcmp(name, expected) != 0);
    assert_string_equal(text, expected);
    free(text);
}

static void signatures_are_taken_off(void **state)
{
    static const char *const cases[][2] = {
        {"void f<int>(int)", "f<int>"},
        {"void f(void (*)(int), int)", "f"},
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
         "ncclKernel_AllReduce_RING_LL_Sum_float"},
        {"void f<g(anonymous namespace)::h>(h const&)", "f<g(anonymous namespace)::h>"},
    };
    static const char *const others[] = {
        "",
        "void",
        "void ",
        "void ()",
        "void (((",
        "void )))",
        ")",
        "()",
        "(int*)",
        "conv1",
        "aten::mm",
        "torch/optim/adam.py(81)",
        "Linear.forward (torch/nn/modules/linear.py:134*)",
        "H2D(data)",
        "RELU(conv)[53]",
        "FUSE_ADD(conv1,bias)",
        "thread (16603): MainThread",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(kernel_name_strip_signature, cases[i][0], cases[i][1]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        check(kernel_name_strip_signature, others[i], others[i]);
}

static void scopes_are_taken_off(void **state)
{
    static const char *const cases[][2] = {
        {"at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
         "at::detail::Array<char*, 1> >",
         "vectorized_elementwise_kernel<4, FillFunctor<float>, Array<char*, 1> >"},
        {"at::native::(anonymous namespace)::k<a::b>", "k<b>"},
        {"a::b<c>::d", "b<c>::d"},
        {"f<g(anonymous namespace)::h>", "f<g(anonymous namespace)::h>"},
    };
    static const char *const others[] = {"",       "aten::mm",  "a::b::c",       "<",
                                         "a::<b>", "conv::",    "gloo:f<x:y>",   "f<int>",
                                         "<a::b>", "-> a::b<c", "::f<int>(::g)", "f<a::>"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(kernel_name_strip_scopes, cases[i][0], cases[i][1]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char *text = strdup(others[i]);

        assert_non_null(text);
        kernel_name_strip_scopes(text);
        assert_true(strlen(text) <= strlen(others[i]));
        free(text);
    }
}

static void heads_tell_most_of_functions(void **state)
{
    (void)state;
    assert_true(kernel_name_is_head_first("f<int, float>"));
    assert_true(kernel_name_is_head_first("<built-in method conv2d of type object at 0x7f>"));
    assert_false(kernel_name_is_head_first("<frozen importlib._bootstrap>:241"));
    assert_false(kernel_name_is_head_first("/model/layers.10/c1/Conv"));
    assert_false(kernel_name_is_head_first(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_taken_off),
        cmocka_unit_test(scopes_are_taken_off),
        cmocka_unit_test(heads_tell_most_of_functions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
