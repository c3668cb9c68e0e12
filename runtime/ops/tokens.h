/* SPDX-License-Identifier: Apache-2.0 */
/* What com.microsoft.Tokenizer makes of texts: their parts that one pattern says, those between parts that
 * separators say, or their characters. Any thread. */
#ifndef OPTRACE_RUNTIME_OPS_TOKENS_H
#define OPTRACE_RUNTIME_OPS_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "runtime/graph/graph.h"

enum { TOKENS_SEPARATORS_MAX = 256 };

/** How a node parts texts: one block of memory, which may be copied as it is. */
struct tokens;

/** Called with each token, in order; below 0 ends it. */
typedef int tokens_put_fn(void *context, const char *bytes, size_t length);

/** Returns 0 with *out_tokens for the caller to free(); -EINVAL, -ENOTSUP (more than
 *  TOKENS_SEPARATORS_MAX separators, or what regex.h does not understand), -E2BIG, -ENOMEM. */
int tokens_read(const struct node *node, struct tokens **out_tokens, struct diag *diag);

size_t tokens_bytes(const struct tokens *tokens);

/** Bytes that tokens_each() needs beside it, aligned for uint32_t. */
size_t tokens_room(const struct tokens *tokens);

/** Returns 0, -EILSEQ where the text is not UTF-8, -ENOTSUP where a separator is found that is nothing, or
 *  what `put` returned below 0. */
int tokens_each(const struct tokens *tokens, const char *text, size_t length, void *room,
                tokens_put_fn *put, void *context);

/** Whether a text of the characters 2 and 3 stands before and behind each text's tokens. */
bool tokens_have_marks(const struct tokens *tokens);

#endif
