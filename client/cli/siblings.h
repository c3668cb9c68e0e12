/* SPDX-License-Identifier: Apache-2.0 */
/* The other programs of this project, as they lie beside this one. Inside client/cli only. */
#ifndef OPTRACE_CLIENT_CLI_SIBLINGS_H
#define OPTRACE_CLIENT_CLI_SIBLINGS_H

#include <limits.h>

/**
 * Where a file of ours lies: in the folder of this program, else in `elsewhere`, a folder relative
 * to it.
 *
 * Returns 0, or -ENOENT when it is in neither; out_path is then its name alone, for the PATH.
 */
int siblings_find(const char *name, const char *elsewhere, char out_path[PATH_MAX]);

#endif
