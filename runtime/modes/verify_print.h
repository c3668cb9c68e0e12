/* SPDX-License-Identifier: Apache-2.0 */
/* What --verify prints: a line per output, or one JSON document. Part of verify.c. */
#ifndef OPTRACE_RUNTIME_MODES_VERIFY_PRINT_H
#define OPTRACE_RUNTIME_MODES_VERIFY_PRINT_H

#include <stdio.h>

#include "base/json.h"
#include "runtime/graph/compare.h"
#include "runtime/modes/verify_tolerance.h"

struct verify_printer {
    FILE *out;
    bool is_json;
    struct json_writer json; /* into memory, so that nothing is shown after a failure */
    const char *set;         /* the one at work */
    unsigned set_count, failed_count;
    bool set_failed;
};

/** Order: begin, then per data set: set, output for each, set_end; at last end, deinit. */
void verify_print_begin(struct verify_printer *printer, FILE *out, bool is_json);
void verify_print_set(struct verify_printer *printer, const char *name);
void verify_print_output(struct verify_printer *printer, const char *name,
                         const struct tensor_view *got, const struct tensor_view *expected,
                         const struct comparison *comparison);
void verify_print_set_end(struct verify_printer *printer);

/** With what outputs were allowed to differ by. Returns 0 or the error of writing. */
int verify_print_end(struct verify_printer *printer, bool passed,
                     const struct verify_tolerance *tolerance);
void verify_print_deinit(struct verify_printer *printer);

#endif
