/* SPDX-License-Identifier: Apache-2.0 */
/* Operators against answers that were worked out by hand: one node, and what its result must be. */
#ifndef OPTRACE_TESTS_SUPPORT_EXAMPLE_H
#define OPTRACE_TESTS_SUPPORT_EXAMPLE_H

#include <stddef.h>
#include <stdint.h>

enum { EXAMPLE_ELEMENTS = 8 };

/** One node of one operator set. Inputs are constants; text as build_node() takes it. */
struct example {
    const char *op_type;
    int64_t opset;
    const char *inputs, *attributes;
    const char *type;              /* of the result, as build_type_text() */
    double want[EXAMPLE_ELEMENTS]; /* its first elements */
    uint32_t output;               /* which of its results; those before it are made too */
};

/** Infer shapes and compute with the reference kernels; fails the test on a difference. */
void example_check(const struct example *examples, size_t count);

/** A cmocka test NAME_operators of the array NAME. */
#define EXAMPLES(name)                                                                             \
    static void name##_operators(void **state)                                                     \
    {                                                                                              \
        example_check(name, sizeof(name) / sizeof(name[0]));                                       \
    }

#endif
