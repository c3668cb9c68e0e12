/* SPDX-License-Identifier: Apache-2.0 */
/* What a regular expression becomes: steps, and the ranges of their classes. */
#ifndef OPTRACE_RUNTIME_OPS_REGEX_PROGRAM_H
#define OPTRACE_RUNTIME_OPS_REGEX_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum step_kind {
    STEP_CLASS, /* a character that is in its ranges, or in none of them */
    STEP_SPLIT, /* to a and to b, counted from here */
    STEP_JUMP,  /* to a */
    STEP_TEXT_BEGIN,
    STEP_TEXT_END,
    STEP_LINE_BEGIN,
    STEP_LINE_END,
    STEP_EDGE, /* of a word */
    STEP_NO_EDGE,
    STEP_DONE,
};

struct step {
    uint8_t kind;
    bool is_negated, folds; /* of a class */
    int32_t a, b;           /* of a class: its first range, and how many */
};

struct range {
    uint32_t first, last;
};

struct regex {
    uint32_t step_count, range_count;
    struct step steps[];
    /* the ranges follow */
};

static inline const struct range *ranges_of(const struct regex *regex)
{
    return (const struct range *)(regex->steps + regex->step_count);
}

#endif
