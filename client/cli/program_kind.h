/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a library can get into a program that nobody changed. Inside client/cli only. */
#ifndef OPTRACE_CLIENT_CLI_PROGRAM_KIND_H
#define OPTRACE_CLIENT_CLI_PROGRAM_KIND_H

/** Why no library gets into the program of this path, as "is a static program", or NULL: one does,
 *  as far as the file tells. Of a script it is the interpreter that counts. */
const char *program_kind_closed(const char *path);

#endif
