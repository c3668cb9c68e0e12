/* SPDX-License-Identifier: Apache-2.0 */
/* What attention of every type asks: which keys a query sees, and what is kept of keys and values. Inside kernels/cpu
 * only. */
#ifndef OPTRACE_KERNELS_CPU_ATTENTION_ROWS_H
#define OPTRACE_KERNELS_CPU_ATTENTION_ROWS_H

#include <string.h>

#include "kernels/kernels.h"

/* A query step of a head; the keys [first, end) are in its reach. */
struct row {
    int64_t b, h, s;
    int64_t first, end;
};

static inline void find_reach(const struct kernel_attention_data *d,
                              const struct kernel_attention *s, struct row *row)
{
    int64_t total = s->past_steps + s->kv_steps, own = row->s + s->past_steps;
    int64_t seen = d->seen_steps ? attention_seen(d->seen_steps, row->b) : total;

    if (d->seen_steps && !d->past_k)
        own = row->s - s->q_steps + seen;
    row->first = s->is_limited[0] && own - s->reach[0] > 0 ? own - s->reach[0] : 0;
    row->end = seen < total ? seen : total;
    if (d->mask && s->mask_steps < row->end)
        row->end = s->mask_steps;
    if (s->is_causal && own + 1 < row->end)
        row->end = own + 1;
    if (s->is_limited[1] && own + s->reach[1] + 1 < row->end)
        row->end = own + s->reach[1] + 1;
    if (row->end < row->first)
        row->end = row->first = 0;
}

/* present [batch, kv_heads, steps, channels]: the past, then this call's. NULL: nothing is kept. */
static inline void keep_present(void *present, const void *past, const void *now,
                                const struct kernel_heads *heads, int64_t channels,
                                const struct kernel_attention *s)
{
    size_t size = kernel_dtype_bytes(s->dtype), bytes = (size_t)channels * size;
    size_t past_bytes = bytes * (size_t)s->past_steps;
    char *to = present;

    for (int64_t i = 0; present && i < s->batch * s->kv_heads; i++) {
        int64_t at = i / s->kv_heads * heads->batch_stride + i % s->kv_heads * heads->head_stride;
        const char *from = (const char *)now + at * (int64_t)size;

        if (past_bytes > 0)
            memcpy(to, (const char *)past + (size_t)i * past_bytes, past_bytes);
        to += past_bytes;
        for (int64_t t = 0; t < s->kv_steps; t++, to += bytes)
            memcpy(to, from + t * heads->step_stride * (int64_t)size, bytes);
    }
}

#endif
