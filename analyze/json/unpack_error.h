/* SPDX-License-Identifier: Apache-2.0 */
/* What zlib says of a file that it cannot unpack. */
#ifndef OPTRACE_ANALYZE_JSON_UNPACK_ERROR_H
#define OPTRACE_ANALYZE_JSON_UNPACK_ERROR_H

#include <string.h>
#include <zlib.h>

/** The words for an error of reading, and its code. zlib puts the file's name before them, or the
 *  number of its descriptor, which mean nothing to a reader. */
static inline const char *unpack_error(gzFile file, int *out_code)
{
    const char *text = gzerror(file, out_code), *next;

    if (*out_code == Z_BUF_ERROR)
        return "the file ends too early";
    while ((next = strstr(text, ": ")))
        text = next + 2;
    return text;
}

#endif
