/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources the programs of a command had, in a sentence. Inside client/cli only. */
#ifndef OPTRACE_CLIENT_CLI_RUN_SOURCES_H
#define OPTRACE_CLIENT_CLI_RUN_SOURCES_H

#include <stddef.h>

#include "client/cli/run_summary.h"

/** The query whose rows are sentences, one for each program, or for all that say the same; NULL: out
 *  of memory. For free(). */
char *run_sources_query(const struct run_summary *summary);

/** The rows of an answer in CSV as one text: the first few, and how many there are besides; "" for
 *  none, NULL: out of memory. For free(). */
char *run_sources_text(const char *answer);

/** Which of the sources that are wanted the program has in its own file, as "ggml, blas"; "" for
 *  none. */
void run_sources_held(const struct run_summary *summary, char *out_text, size_t bytes);

#endif
