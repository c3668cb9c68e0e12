/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and durations as people write them: "512MiB", "7d", "none". */
#ifndef OPTRACE_BASE_AMOUNT_H
#define OPTRACE_BASE_AMOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum { AMOUNT_BYTES = 32 }; /* are enough for what is written here */

/** "2GiB", "500M", "1.5TB": B, K, M, G, T of 1000, Ki, Mi, Gi, Ti of 1024, with or without a B at
 *  the end; "none" is 0. Returns 0, or -EINVAL for anything else, also for 0, with a sentence that
 *  begins with `name`. */
int amount_parse_bytes(const char *name, const char *text, int64_t *out_bytes, struct diag *diag);

/** "7d", "12h", "90m", "30s", "250ms", "10us" or "10µs", "2w", also with a fraction; "none" is 0.
 * Returns as above.
 */
int amount_parse_duration(const char *name, const char *text, int64_t *out_ns, struct diag *diag);

/** "500 B", "2 GiB", "1.50 MiB", "-3.67 KiB": how bytes are spelt, in all that people
 * read. Returns text. */
const char *amount_format_bytes(char *text, size_t text_bytes, double bytes);

/** The same in two pieces: the number of the unit that is returned, "MiB". */
const char *amount_scale_bytes(double bytes, double *out_number);

/** "250 ns", "12.5 µs", "3 s", "2.5 min", "4 h": how durations are spelt in sentences, with four
 * figures. Returns text. */
const char *amount_format_duration(char *text, size_t text_bytes, double ns);

#endif
