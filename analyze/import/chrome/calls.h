/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of ops, labels and functions of Python thread by thread, and the call stack that each
 * op and label has by them: stacks.h has the rules. */
#ifndef OPTRACE_ANALYZE_IMPORT_CHROME_CALLS_H
#define OPTRACE_ANALYZE_IMPORT_CHROME_CALLS_H

#include "analyze/import/chrome/stacks.h"

struct chrome_call {
    int64_t start_ns, end_ns;
    uint64_t row;
    uint32_t lane, op;
    uint32_t stack;      /* place of its text, or PLACE_NONE */
    uint32_t backward;   /* place of the call that it lies in or is, or PLACE_NONE */
    bool is_in_backward; /* the same when `backward` is done with */
};

struct chrome_calls {
    const struct chrome_stacks *stacks; /* input; of its templates `text` is filled in */
    int64_t rounding_ns;                /* input: as the importer's */
    ARRAY_OF(struct chrome_call) calls; /* by lane and start, outer ones first */
    uint64_t dropped_count;
    /* inside */
    struct place_map texts_by_content, nodes_by_key;
    ARRAY_OF(char *) texts;
    struct {
        struct chrome_node {
            uint32_t parent, name; /* place of a node, of a text; PLACE_NONE: the outermost */
            uint32_t text;         /* of the whole stack, once it is asked for */
        } * items;
        size_t count, capacity;
    } nodes;
    uint64_t stack_bytes;
};

/** Returns 0 or a negative errno; chrome_calls_deinit() is right after either. */
int chrome_calls_make(struct chrome_calls *calls, struct importer *importer, struct diag *diag);

/** The text of a stack, or NULL. */
const char *chrome_calls_text(const struct chrome_calls *calls, uint32_t stack);

void chrome_calls_deinit(struct chrome_calls *calls);

#endif
