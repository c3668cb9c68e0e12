/* SPDX-License-Identifier: Apache-2.0 */
/* --range and --check-var-value: conditions on what operators make, held after each step. */
#ifndef OPTRACE_RUNTIME_MODES_CHECKERS_H
#define OPTRACE_RUNTIME_MODES_CHECKERS_H

#include <stdio.h>

#include "runtime/session/steps.h"

/**
 * Every element x of a floating output must satisfy |x| < limit; NaN and infinities fail. The first
 * that does not ends the run with -ERANGE and a sentence that names operator, position and value.
 */
struct range_checker {
    double limit;
};
struct step_tool range_checker_tool(struct range_checker *checker);

/**
 * Whether the same input gives the same output, bit for bit: the first run keeps every output, each
 * later run compares one of them, in the order of execution from number `start` on, and moves to
 * the next after `every` runs; behind the last it says so on `out` and begins again. A difference
 * ends the run with -EBADE and a sentence.
 */
struct value_checker {
    uint64_t every, start;
    FILE *out;

    /* inside */
    ARRAY_OF(struct tensor_view) kept; /* by order of execution */
    bool is_filled;                    /* the first run is over */
    uint64_t current;                  /* which one is compared */
    uint64_t runs;                     /* with it */
    uint64_t index;                    /* of the next output of this run */
};

/** Read "N" or "N:START". -EINVAL with a sentence. */
int value_checker_parse(const char *text, struct value_checker *out_checker, struct diag *diag);
struct step_tool value_checker_tool(struct value_checker *checker);
void value_checker_deinit(struct value_checker *checker);

#endif
