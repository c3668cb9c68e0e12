/* SPDX-License-Identifier: Apache-2.0 */
/* One row times weights that are stored in half precision: read once. Where the processor does not widen them as it
 * reads, some lines at a time are widened into the cache and multiplied from there. A few rows are multiplied where it does. */
#include "kernels/cpu/gemm_row.h"

enum { TILE = 1 << 16, FEW = 12 }; /* numbers of b; rows */

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

bool gemm_row_takes(const struct kernel_gemm *shape)
{
    return shape->m == 1 ||
           (shape->m <= FEW && !shape->trans_b && shape->types.weights == KERNEL_F16 &&
            kernel_best_level() >= KERNEL_LEVEL_AVX512);
}

void gemm_row_init(struct gemm_row *row, const struct kernel_gemm *shape,
                   const struct kernel_activation *activation)
{
    int64_t line = shape->trans_b ? shape->k : shape->n;
    struct kernel_table table;

    kernel_table_init(&table, kernel_best_level());
    *row = (struct gemm_row){
        .shape = {.m = shape->m,
                  .n = shape->n,
                  .k = shape->k,
                  .trans_b = shape->trans_b,
                  .alpha = 1.0f,
                  .types = shape->types},
        .activation = *activation,
        .multiply = table.gemm_f32.fn,
        .version = table.gemm_f32.version,
        .add = table.binary[KERNEL_ADD][KERNEL_F32].fn,
        .cast = table.cast.fn,
        .lines = TILE / line + 1,
    };
    if (activation->kind != KERNEL_IDENTITY)
        row->activate = activation->kind == KERNEL_GELU_TANH ? gelu_tanh_f32_ref
                                                             : table.unary_f32[activation->kind].fn;
    row->is_direct = table.level >= KERNEL_LEVEL_AVX2;
    if (row->is_direct)
        return;
    row->tile_bytes = round_up((size_t)(row->lines * line) * sizeof(float));
    row->workspace_bytes = row->tile_bytes + round_up((size_t)shape->n * sizeof(float));
}

static void add(const struct gemm_row *row, float *y, const float *x)
{
    struct kernel_broadcast flat = {
        .rank = 1, .dims = {row->shape.n}, .a_stride = {1}, .b_stride = {1}};

    row->add(y, y, x, &flat);
}

static void run_by_tiles(const struct gemm_row *row, float *y, const float *a, const void *b,
                         const float *bias, void *workspace)
{
    const struct kernel_gemm *s = &row->shape;
    int64_t line = s->trans_b ? s->k : s->n, all = s->trans_b ? s->n : s->k;
    size_t line_bytes = (size_t)line * kernel_dtype_bytes(s->types.weights);
    float *tile = workspace, *part = (float *)(void *)((char *)workspace + row->tile_bytes);

    for (int64_t at = 0; at < all; at += row->lines) {
        struct kernel_gemm some = *s;
        int64_t count = all - at < row->lines ? all - at : row->lines;

        row->cast(tile, KERNEL_F32, (const char *)b + (size_t)at * line_bytes, s->types.weights,
                  (size_t)(count * line));
        if (s->trans_b) { /* each line makes a column of y */
            some.n = count;
            row->multiply(y + at, a, tile, NULL, &some);
            continue;
        }
        some.k = count; /* each adds to all of y */
        row->multiply(at == 0 ? y : part, a + at, tile, NULL, &some);
        if (at > 0)
            add(row, y, part);
    }
    if (bias)
        add(row, y, bias);
}

void gemm_row_run(const struct gemm_row *row, float *y, const float *a, const void *b,
                  const float *bias, void *workspace)
{
#if defined(__x86_64__)
    if (row->is_direct)
        gemm_row_half(row, y, a, b, bias);
    else
#endif
        run_by_tiles(row, y, a, b, bias, workspace);
    if (row->activate)
        row->activate(y, y, (size_t)(row->shape.m * row->shape.n), row->activation.a,
                      row->activation.b);
}
