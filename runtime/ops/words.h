/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators on the inside of texts have in common: letters in lower and upper case, parts of a
 * text, numbers as texts. Any thread. */
#ifndef OPTRACE_RUNTIME_OPS_WORDS_H
#define OPTRACE_RUNTIME_OPS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "runtime/graph/graph.h"

/** The longest text that an operator makes; elements of a text that a model brings may be longer. */
enum { WORDS_BYTES_MAX = 1 << 24 };

/** A character in lower or upper case, where that is one character too: by the C library's C.UTF-8; without
 *  it, letters of ASCII. What depends on a language, as the Turkish i, is not known. Below, texts are
 *  numbers of runtime/graph/texts.h. */
uint32_t words_lower(uint32_t code);
uint32_t words_upper(uint32_t code);

/** What a StringNormalizer does with words. */
struct word_normaliser {
    uint32_t (*change)(uint32_t code); /* of words that are kept; NULL: none */
    uint32_t (*common)(uint32_t code); /* before words are compared; NULL: as they are */
    int64_t *stops;                    /* words that are not kept; the caller frees them */
    size_t stop_count;
};

/** Returns 0, -EINVAL, -ENOTSUP (locales with other letters), -ENOMEM, -E2BIG. */
int words_normaliser_read(const struct node *node, struct word_normaliser *out_normaliser,
                          struct diag *diag);

/** Returns the number of the word as it is kept, -ENOENT where it is not, -ENOMEM or -E2BIG. */
int64_t words_normalise(const struct word_normaliser *normaliser, int64_t text);

/** A part of a text. */
struct word {
    const char *bytes;
    size_t length;
};

/** How a text is parted: NULL or nothing in `delimiter`: by white space of ASCII, any number of it as one, and
 *  none in front or behind; most: so many times, below 0 any. */
struct word_splitter {
    const char *delimiter;
    size_t length;
    int64_t most;
};

/** The next part of *rest, and what is behind it; false at the end. parts: how many were taken before; *rest
 *  begins as the whole text, and has NULL when it was its end. */
bool words_next(const struct word_splitter *splitter, int64_t parts, struct word *rest,
                struct word *out_part);

/** The parts of a text. */
int64_t words_count(const struct word_splitter *splitter, int64_t text);

enum { WORDS_NUMBER_BYTES = 32 };

/** Element i as ONNX Runtime writes it: integers in decimal, bools 1 and 0, floating ones with 8 digits, NaN,
 *  INF and -INF. */
void words_write_number(const void *data, enum dtype dtype, int64_t i,
                        char out[WORDS_NUMBER_BYTES]);

/** The number at the beginning of a text, behind white space, as element i: of an integer the lowest bits. What
 *  is behind it does not count. False: there is none, or one that is too large for 64 bits. */
bool words_read_number(int64_t text, void *data, enum dtype dtype, int64_t i);

#endif
