/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that a plan packs for a kernel of f32, and keeps in half precision: each run widens its own into
 * scratch that is still in the cache when they are multiplied. */
#include "kernels/cpu/plan_half.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static struct kernel_table table_of_processor(void)
{
    struct kernel_table table;

    kernel_table_init(&table, kernel_best_level());
    return table;
}

static cast_fn *cast_of_processor(void)
{
    return table_of_processor().cast.fn;
}

narrow_fn *plan_half_narrow(void)
{
    return table_of_processor().narrow.fn;
}

float *plan_half_copy(const void *w, enum kernel_dtype dtype, size_t count)
{
    float *copy = aligned_alloc(64, round_up(count * sizeof(*copy) + 1));

    if (copy)
        cast_of_processor()(copy, KERNEL_F32, w, dtype, count);
    return copy;
}

static void init(struct plan_half *half, enum kernel_dtype dtype, size_t w_bytes,
                 size_t *workspace_bytes)
{
    size_t count = w_bytes / sizeof(float);

    *half = (struct plan_half){
        .dtype = dtype,
        .count = count,
        .offset = round_up(*workspace_bytes),
        .bias_offset = round_up(count * kernel_dtype_bytes(dtype)),
        .cast = cast_of_processor(),
    };
    *workspace_bytes = half->offset + w_bytes;
}

/* The end of the weights, which a kernel may leave out, is 0. */
static void *alloc(const struct plan_half *half, size_t bias_bytes)
{
    char *stored = aligned_alloc(64, round_up(half->bias_offset + bias_bytes));

    if (stored && half->bias_offset > 0)
        memset(stored + half->bias_offset - 64, 0, 64);
    return stored;
}

char *plan_half_place(struct plan_half *half, enum kernel_dtype stored, size_t w_bytes,
                      size_t bias_bytes, size_t *workspace_bytes, void **out_weights,
                      size_t *out_bytes)
{
    size_t bias_offset = w_bytes;

    if (stored != KERNEL_F32) {
        init(half, stored, w_bytes, workspace_bytes);
        bias_offset = half->bias_offset;
        *out_weights = alloc(half, bias_bytes);
    } else {
        *out_weights = aligned_alloc(64, w_bytes + round_up(bias_bytes));
    }
    *out_bytes = bias_offset + round_up(bias_bytes);
    return *out_weights ? (char *)*out_weights + bias_offset : NULL;
}

int plan_half_store(struct plan_half *half, enum kernel_dtype dtype, void **memory, size_t *bytes,
                    size_t w_bytes, size_t *workspace_bytes)
{
    size_t bias_bytes = *bytes - w_bytes, workspace = *workspace_bytes;
    struct plan_half made;
    char *stored;

    init(&made, dtype, w_bytes, &workspace);
    stored = alloc(&made, bias_bytes);
    if (!stored)
        return -ENOMEM;
    made.cast(stored, dtype, *memory, KERNEL_F32, made.count);
    memcpy(stored + made.bias_offset, (char *)*memory + w_bytes, bias_bytes);
    free(*memory);
    *half = made;
    *memory = stored;
    *bytes = made.bias_offset + bias_bytes;
    *workspace_bytes = workspace;
    return 0;
}

float *plan_half_widen(const struct plan_half *half, const void *memory, void *workspace)
{
    float *wide = (float *)(void *)((char *)workspace + half->offset);

    half->cast(wide, KERNEL_F32, memory, half->dtype, half->count);
    return wide;
}
