/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that the runtime knows, as facts for docs/operators.md. Any thread. */
#ifndef OPTRACE_RUNTIME_OPS_OPERATORS_H
#define OPTRACE_RUNTIME_OPS_OPERATORS_H

#include <stddef.h>
#include <stdint.h>

/** inputs_max and outputs_max of an operator that takes any number. */
enum { OPERATOR_ANY = 1 << 16 };

/** The texts live as long as the program. */
struct operator_facts {
    const char *op_type;
    uint32_t since; /* the first operator set of which a form is supported */
    uint32_t inputs_min, inputs_max, outputs_max;
    const char *kernels; /* entries of struct kernel_table */
    const char *types;   /* of the first input */
};

/** For tests. */
size_t operators_count(void);

/** In the order of their names; index below operators_count(). For tests. */
void operators_get(size_t index, struct operator_facts *out_facts);

#endif
