/* SPDX-License-Identifier: Apache-2.0 */
/* Files of other tools that are not read here, told by their first bytes, and what to do instead.
 */
#ifndef OPTRACE_ANALYZE_SOURCE_FOREIGN_FILE_H
#define OPTRACE_ANALYZE_SOURCE_FOREIGN_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { FOREIGN_FILE_BYTES = 4096 }; /* of a file, unpacked, that are looked at */

/** "a profile of speedscope: ...", to stand behind "NAME is "; NULL: it looks like none of them. */
const char *foreign_file_hint(const char *head, size_t length);

#endif
