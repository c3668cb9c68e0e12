/* SPDX-License-Identifier: Apache-2.0 */
/* A character as UTF-8. A header alone, for libraries that have no more of base/. Any thread. */
#ifndef OPTRACE_BASE_TEXT_ENCODE_H
#define OPTRACE_BASE_TEXT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

/** Write a character, up to U+10FFFF, as UTF-8. Returns its bytes, 4 at most. */
static inline size_t text_encode(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (code >> 18 & 7));
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

#endif
