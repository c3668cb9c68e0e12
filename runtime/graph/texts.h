/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts that tensors of strings hold. An element is the number of a text, an int64: equal texts
 * have one number, so that what moves and compares numbers moves and compares texts.
 *
 * The texts are the process's, and stay until it ends: a number means the same in every graph and
 * tensor. Any thread may call these at any time.
 */
#ifndef OPTRACE_RUNTIME_GRAPH_TEXTS_H
#define OPTRACE_RUNTIME_GRAPH_TEXTS_H

#include <stddef.h>
#include <stdint.h>

enum { TEXTS_MAX = 1 << 28 };

/**
 * The number of a text; that of the empty one is 0.
 *
 * bytes  may hold NULs, and be no UTF-8; copied
 *
 * Returns it; -ENOMEM, or -E2BIG beyond TEXTS_MAX.
 */
int64_t texts_number(const char *bytes, size_t length);

/** The text of a number, with a NUL behind it; "" for one that no text has. Never freed. */
const char *texts_get(int64_t number, size_t *out_length);

/** Free all texts: no tensor may hold the number of one any more. For tests. */
void texts_forget(void);

#endif
