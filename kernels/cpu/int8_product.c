/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of 8-bit integers: MatMulInteger, QLinearMatMul. */
#include <string.h>

#include "kernels/cpu/int8.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

enum {
    BLOCK_ROWS = 16 * INT8_MAX_ROWS,
    GRAIN = 1 << 18, /* products that are worth a second thread */
    MANY = 4,        /* matrices for each thread: one more or less does not matter */
};

static bool is_byte(enum kernel_dtype dtype)
{
    return dtype == KERNEL_U8 || dtype == KERNEL_I8;
}

static int64_t batch_count(const struct kernel_product *s)
{
    int64_t count = 1;

    for (int i = 0; i < s->batch_rank; i++)
        count *= s->batch_dims[i];
    return count;
}

/* Whether all products have the same b. */
static bool has_one_b(const struct kernel_product *s)
{
    for (int i = 0; i < s->batch_rank; i++)
        if (s->b_batch_stride[i] != 0 && s->batch_dims[i] > 1)
            return false;
    return true;
}

bool kernel_product_int8_fits(const struct kernel_product *shape)
{
    return is_byte(shape->a_type) && is_byte(shape->b_type) &&
           (is_byte(shape->y_type) || shape->y_type == KERNEL_I32) && !shape->trans_a &&
           shape->alpha == 1.0 && shape->k >= 1 && shape->k <= INT8_MAX_K;
}

/* In how many shares threads do whole matrices; 1: they share each of them, since these are few. */
static int64_t slot_count(const struct kernel_product *s)
{
    int64_t count = batch_count(s), threads = kernel_threads();

    return count >= MANY * threads || (count > 0 && count % threads == 0) ? threads : 1;
}

/* b is packed as what a is not. */
static uint8_t flip_of(const struct kernel_product *s)
{
    return (s->a_type == KERNEL_U8) == (s->b_type == KERNEL_U8) ? 0x80 : 0;
}

/* How far the zero point of b moves when it is packed. */
static int32_t shift_of(const struct kernel_product *s)
{
    return flip_of(s) == 0 ? 0 : s->b_type == KERNEL_U8 ? -128 : 128;
}

/* A packed b has the sums of its columns behind it. */
static int64_t packed_bytes(const struct kernel_product *s)
{
    return int8_packed_bytes(s->n, s->k) + int8_round_up(s->n * (int64_t)sizeof(int32_t));
}

/* Behind that one that stays is what was taken off it, where it is multiplied by unsigned bytes. */
static int64_t list_bytes(const struct kernel_product *s)
{
    return s->a_type == KERNEL_U8 ? int8_columns_bytes(s->n, s->k) : 0;
}

size_t kernel_product_int8_packed(const struct kernel_product *shape)
{
    return has_one_b(shape) ? (size_t)(packed_bytes(shape) + list_bytes(shape)) : 0;
}

static void pack(void *packed, const void *b, const struct kernel_product *shape)
{
    int64_t bytes = int8_packed_bytes(shape->n, shape->k);
    void *sums = (uint8_t *)packed + bytes;

    int8_pack(packed, b, shape->n, shape->k, shape->trans_b, flip_of(shape));
    int8_column_sums(sums, packed, shape->n, shape->k, shape->a_type == KERNEL_U8);
}

void kernel_pack_int8(void *packed, const void *b, const struct kernel_product *shape)
{
    pack(packed, b, shape);
    if (list_bytes(shape) > 0)
        int8_columns_pack((uint8_t *)packed + packed_bytes(shape), packed, shape->n, shape->k);
}

/* What of the workspace holds what: of each row a sum, a zero point, one of y and a scale; of each
 * column a zero point and a scale; rows that are widened; a packed b. */
struct room {
    int32_t *a_sums, *a_zero, *y_zero, *b_zero;
    double *row_scale, *column_scale;
    void *wide;
    uint8_t *packed;
};

static int64_t make_room(const struct kernel_product *s, bool is_packed, void *workspace,
                         struct room *out_room)
{
    uint8_t *start = workspace, *at = start;
    int64_t m = int8_round_up(s->m * 8), n = int8_round_up(s->n * 8);

    out_room->row_scale = (void *)at;
    out_room->column_scale = (void *)(at += m);
    out_room->a_sums = (void *)(at += n);
    out_room->a_zero = (void *)(at += m);
    out_room->y_zero = (void *)(at += m);
    out_room->b_zero = (void *)(at += m);
    out_room->wide = at += n;
    out_room->packed = at += int8_round_up(int8_run_room(s->m, s->k));
    return int8_round_up(at - start + (is_packed ? 0 : packed_bytes(s)));
}

size_t kernel_product_int8_room(const struct kernel_product *shape, bool is_packed)
{
    static uint8_t nothing[64];
    struct room room;

    return (size_t)(slot_count(shape) * make_room(shape, is_packed, nothing, &room));
}

static int32_t zero_at(const void *zeros, enum kernel_dtype dtype, int64_t at)
{
    return dtype == KERNEL_U8 ? ((const uint8_t *)zeros)[at] : ((const int8_t *)zeros)[at];
}

/* Lines of zero points as numbers; returns whether one of them is not 0. */
static bool widen_zeros(int32_t *out, const void *zeros, enum kernel_dtype dtype,
                        const struct kernel_lines *lines, int64_t matrix, int64_t count,
                        int32_t shift)
{
    int64_t first = matrix * lines->matrix_stride;
    int32_t any = 0;

    if (!zeros || lines->line_stride == 0) {
        any = shift + (zeros ? zero_at(zeros, dtype, first) : 0);
        for (int64_t i = 0; i < count; i++)
            out[i] = any;
        return any != 0;
    }
    for (int64_t i = 0; i < count; i++) {
        out[i] = shift + zero_at(zeros, dtype, first + i * lines->line_stride);
        any |= out[i];
    }
    return any != 0;
}

static double scale_at(const void *scales, enum kernel_dtype dtype,
                       const struct kernel_lines *lines, int64_t matrix, int64_t i)
{
    int64_t at = matrix * lines->matrix_stride + i * lines->line_stride;
    double number;

    if (dtype == KERNEL_F32)
        return (double)((const float *)scales)[at];
    cast_ref(&number, KERNEL_F64, (const char *)scales + at * (int64_t)kernel_dtype_bytes(dtype),
             dtype, 1);
    return number;
}

/* Everything about one pair of matrices but what they are. */
static void describe(const struct kernel_product_data *d, const struct kernel_product *s,
                     int64_t a_number, int64_t b_number, int64_t y_number, const struct room *room,
                     struct int8_product *p)
{
    bool has_a, has_b;

    has_a = widen_zeros(room->a_zero, d->a_zero, s->a_type, &s->a_lines, a_number, s->m, 0);
    has_b =
        widen_zeros(room->b_zero, d->b_zero, s->b_type, &s->b_lines, b_number, s->n, shift_of(s));
    p->a_zero = has_a ? room->a_zero : NULL;
    p->a_zero_step = s->a_lines.line_stride != 0;
    p->b_zero = has_b ? room->b_zero : NULL;
    p->b_zero_step = s->b_lines.line_stride != 0;
    p->a_sums = NULL;
    if (has_b) {
        int8_row_sums(room->a_sums, p->a, s->m, s->k, p->a_line, p->a_is_signed);
        p->a_sums = room->a_sums;
    }
    if (!d->y_scale)
        return;
    p->is_quantised = true;
    p->column_bias = d->c;
    p->row_scale = room->row_scale;
    p->column_scale = room->column_scale;
    p->row_scale_step = p->column_scale_step = p->y_zero_step = 1;
    widen_zeros(room->y_zero, d->y_zero, s->y_type, &s->y_lines, y_number, s->m, 0);
    p->y_zero = room->y_zero;
    for (int64_t i = 0; i < s->m; i++)
        room->row_scale[i] = scale_at(d->a_scale, s->scale_type, &s->a_lines, a_number, i) /
                             scale_at(d->y_scale, s->scale_type, &s->y_lines, y_number, i);
    for (int64_t i = 0; i < s->n; i++)
        room->column_scale[i] = scale_at(d->b_scale, s->scale_type, &s->b_lines, b_number, i);
}

struct matrices {
    const struct kernel_product_data *data;
    const void *packed;
    const struct kernel_product *shape;
    uint8_t *workspace;
    struct int8_steps steps;
    int64_t slots;
};

/* Matrices [begin, end) of a batch. */
static void multiply_some(const struct matrices *q, struct room *room, int64_t begin, int64_t end)
{
    const struct kernel_product *s = q->shape;
    int64_t packed_from = -1;
    struct int8_columns columns;
    bool is_narrow =
        q->packed && list_bytes(s) > 0 &&
        int8_columns_of(&columns, (const uint8_t *)q->packed + packed_bytes(s), s->n, s->k);

    for (int64_t index = begin; index < end; index++) {
        int64_t a = 0, b = 0, rest = index;
        const uint8_t *b_packed = q->packed ? q->packed : room->packed;
        struct int8_product p = {
            .m = s->m, .n = s->n, .k = s->k, .a_line = s->k, .y_line = s->n, .y_type = s->y_type};

        for (int i = s->batch_rank - 1; i >= 0; i--) {
            a += rest % s->batch_dims[i] * s->a_batch_stride[i];
            b += rest % s->batch_dims[i] * s->b_batch_stride[i];
            rest /= s->batch_dims[i];
        }
        if (!q->packed && packed_from != b) {
            pack(room->packed, (const uint8_t *)q->data->b + b, s);
            packed_from = b;
        }
        p.a = (const uint8_t *)q->data->a + a;
        p.a_is_signed = s->a_type == KERNEL_I8;
        p.b = b_packed;
        p.columns = is_narrow ? &columns : NULL;
        p.b_sums = (const void *)(b_packed + int8_packed_bytes(s->n, s->k));
        p.y = (char *)q->data->y + index * s->m * s->n * (int64_t)kernel_dtype_bytes(s->y_type);
        describe(q->data, s, a / (s->m * s->k), b / (s->k * s->n), index, room, &p);
        int8_run(&p, &q->steps, BLOCK_ROWS, room->wide);
    }
}

/* Each slot has a room and a share of the batch. */
static void do_slots(void *argument, int64_t begin, int64_t end)
{
    const struct matrices *q = argument;
    int64_t count = batch_count(q->shape);

    for (int64_t slot = begin; slot < end; slot++) {
        struct room room;
        int64_t bytes = make_room(q->shape, q->packed != NULL, q->workspace, &room);

        make_room(q->shape, q->packed != NULL, q->workspace + slot * bytes, &room);
        multiply_some(q, &room, count * slot / q->slots, count * (slot + 1) / q->slots);
    }
}

static void multiply(struct matrices q)
{
    const struct kernel_product *s = q.shape;

    if (s->m == 0 || s->n == 0)
        return;
    q.slots = slot_count(s);
    team_for(q.slots, GRAIN * q.slots / (batch_count(s) * s->m * s->n * s->k + 1) + 1, do_slots,
             &q);
}

#define PRODUCT(isa)                                                                               \
    void product_int8_##isa(const struct kernel_product_data *data, const void *packed,            \
                            const struct kernel_product *shape, void *workspace)                   \
    {                                                                                              \
        multiply((struct matrices){data, packed, shape, workspace, INT8_STEPS(isa), 1});           \
    }

ISA_VERSIONS(PRODUCT)
