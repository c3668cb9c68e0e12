/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a library can get into a program that nobody changed. Inside client/cli only. */
#ifndef OPTRACE_CLIENT_CLI_PROGRAM_KIND_H
#define OPTRACE_CLIENT_CLI_PROGRAM_KIND_H

#include <stdbool.h>

/** Why no library gets into the program of this path, as "is a static program", or NULL: one does,
 *  as far as the file tells. Of a script it is the interpreter that counts. */
const char *program_kind_closed(const char *path);

/** Whether the program of this path has a library of this source, as "ggml", in its own file, where
 *  no hook gets in between. Of sources that are not told so by a file: false. */
bool program_kind_holds(const char *path, const char *source);

#endif
