/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file may be written to: it is not what is read, and no store that is there. */
#ifndef OPTRACE_ANALYZE_OUTPUT_CHECK_H
#define OPTRACE_ANALYZE_OUTPUT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

/**
 * Compare a file that is to be written with those that are read, by what they are, not by their
 * names: links lead to the same file. What belongs to a store (its log, its lock) counts as it, and is
 * refused beside any other store, too: a process may be writing that.
 *
 * path    of the file; nothing need be there
 * inputs  paths, of which NULL and those where nothing is are passed over
 *
 * Returns 0, or -EINVAL with a sentence.
 */
int output_check_inputs(const char *path, const char *const *inputs, size_t count,
                        struct diag *diag);

/**
 * Whether a database stands there, which only `force` lets go, and nothing while a process writes
 * to it.
 *
 * Returns 0, or -EINVAL with a sentence.
 */
int output_check_store(const char *path, bool force, struct diag *diag);

#endif
