/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of a few bits in blocks, each with a scale of its own: those of products become numbers
 * once, of tables only the rows that are gathered. Bits lie in a byte from the lowest on, but for
 * MatMulBnb4, whose first number of two is in the upper half. */
#include <errno.h>
#include <string.h>

#include "kernels/blocks.h"
#include "runtime/graph/element.h"
#include "runtime/ops/lower/rules.h"

static int64_t quantum_at(const uint8_t *bytes, int64_t bits, int64_t i)
{
    return bytes[i * bits >> 3] >> (i * bits & 7) & ((1 << bits) - 1);
}

static int64_t packed_bytes(int64_t count, int64_t bits)
{
    return (count * bits + 7) / 8;
}

static bool is_constant(const struct value *value, enum dtype dtype, int64_t count)
{
    return value && value->data && value->dtype == dtype && shape_elements(&value->shape) == count;
}

static void finish_product(struct lower *l, struct value *weights, struct value *bias)
{
    struct value *y = lower_two(l, "MatMul", lower_input(l, 0), weights);

    lower_done(l, 0, bias ? lower_two(l, "Add", y, bias) : y);
}

/* --- MatMulNBits --- */

struct blocks {
    int64_t rows, columns, bits, size, count; /* count: of a row */
    int size_bits;                            /* of a block, a power of two */
    const uint8_t *quanta;
    const struct value *scales;
    const struct value
        *zeros;           /* packed as quanta are, or numbers as scales are; NULL: the middle */
    const int32_t *order; /* which block's scale a column has; NULL: its own */
};

static float zero_of(const struct blocks *b, int64_t row, int64_t block)
{
    if (!b->zeros)
        return (float)((int64_t)1 << (b->bits - 1));
    if (b->zeros->dtype == DTYPE_U8)
        return (float)quantum_at((const uint8_t *)b->zeros->data +
                                     row * packed_bytes(b->count, b->bits),
                                 b->bits, block);
    return (float)element_get(b->zeros->data, b->zeros->dtype, row * b->count + block);
}

/* Columns [begin, end) of a row. */
static void widen_row(float *y, const struct blocks *b, int64_t row, int64_t begin, int64_t end)
{
    const uint8_t *quanta = b->quanta + row * b->count * (b->size * b->bits / 8);
    float scale = 0.0f, zero = 0.0f;
    int64_t last = -1;

    for (int64_t i = begin; i < end; i++) {
        int64_t block = b->order ? b->order[i] : i >> b->size_bits;

        if (block != last) {
            scale = (float)element_get(b->scales->data, b->scales->dtype, row * b->count + block);
            zero = zero_of(b, row, block);
            last = block;
        }
        y[i - begin] = scale * ((float)quantum_at(quanta, b->bits, i) - zero);
    }
}

/* Of what is turned at once, so that what is read and what is written stays in the caches. */
enum { SIDE = 16 };

/* A block of four bits of SIDE rows, as columns. */
static void widen_fours(float *y, const struct blocks *b, int64_t row, int64_t block)
{
    int64_t begin = block * b->size, end = begin + b->size, stride = b->count * b->size / 2;
    const uint8_t *quanta = b->quanta + row * stride;
    float scales[SIDE], zeros[SIDE], columns[2][SIDE];

    for (int r = 0; r < SIDE; r++) {
        scales[r] =
            (float)element_get(b->scales->data, b->scales->dtype, (row + r) * b->count + block);
        zeros[r] = zero_of(b, row + r, block);
    }
    end = end < b->columns ? end : b->columns;
    for (int64_t i = begin; i < end; i += 2) {
        uint8_t pairs[SIDE];

        for (int r = 0; r < SIDE; r++)
            pairs[r] = quanta[r * stride + i / 2];
        for (int r = 0; r < SIDE; r++) {
            columns[0][r] = scales[r] * ((float)(pairs[r] & 15) - zeros[r]);
            columns[1][r] = scales[r] * ((float)(pairs[r] >> 4) - zeros[r]);
        }
        memcpy(y + i * b->rows + row, columns[0], sizeof(columns[0]));
        if (i + 1 < end)
            memcpy(y + (i + 1) * b->rows + row, columns[1], sizeof(columns[1]));
    }
}

/* Up to SIDE rows as columns. */
static void widen_rows(float *y, const struct blocks *b, int64_t row, int64_t rows)
{
    float part[SIDE][SIDE];

    for (int64_t begin = 0; begin < b->columns; begin += SIDE) {
        int64_t end = begin + SIDE < b->columns ? begin + SIDE : b->columns;

        for (int64_t r = 0; r < rows; r++)
            widen_row(part[r], b, row + r, begin, end);
        for (int64_t i = begin; i < end; i++)
            for (int64_t r = 0; r < rows; r++)
                y[i * b->rows + row + r] = part[r][i - begin];
    }
}

/* All rows as columns, as a product wants them. */
static void widen_turned(float *y, const struct blocks *b)
{
    bool is_fours = b->bits == 4 && !b->order;
    int64_t row = 0;

    for (; is_fours && row + SIDE <= b->rows; row += SIDE)
        for (int64_t block = 0; block < b->count; block++)
            widen_fours(y, b, row, block);
    for (; row < b->rows; row += SIDE)
        widen_rows(y, b, row, b->rows - row < SIDE ? b->rows - row : SIDE);
}

static bool read_sizes(struct lower *l, struct blocks *b)
{
    b->columns = node_int(l->node, "K", 0);
    b->rows = node_int(l->node, "N", 0);
    b->bits = node_int(l->node, "bits", 4);
    b->size = node_int(l->node, "block_size", 0);
    if (b->columns < 1 || b->rows < 1 || (b->bits != 2 && b->bits != 4 && b->bits != 8) ||
        b->size < 16 || b->columns >= TENSOR_MAX_BYTES / 8 / b->rows ||
        b->size > TENSOR_MAX_BYTES || (b->size & (b->size - 1)) != 0)
        return false;
    b->count = (b->columns + b->size - 1) / b->size;
    b->size_bits = __builtin_ctzll((unsigned long long)b->size);
    return true;
}

static bool read_order(struct lower *l, struct blocks *b)
{
    const struct value *order = lower_input(l, 4);

    if (!order)
        return true;
    if (!order->data || order->dtype != DTYPE_I32 || shape_elements(&order->shape) < b->columns)
        return false;
    b->order = order->data;
    for (int64_t i = 0; i < b->columns; i++)
        if (b->order[i] < 0 || b->order[i] >= b->count)
            return false;
    return true;
}

static bool read_blocks(struct lower *l, struct blocks *b)
{
    const struct value *quanta = lower_input(l, 1);

    if (!read_sizes(l, b) || !read_order(l, b))
        return false;
    b->scales = lower_input(l, 2);
    b->zeros = lower_input(l, 3);
    if (!is_constant(quanta, DTYPE_U8, b->rows * b->count * (b->size * b->bits / 8)) ||
        !b->scales || !element_is_float(b->scales->dtype) || b->scales->dtype == DTYPE_F64 ||
        !is_constant(b->scales, b->scales->dtype, b->rows * b->count))
        return false;
    if (b->zeros && !is_constant(b->zeros, DTYPE_U8, b->rows * packed_bytes(b->count, b->bits)) &&
        !is_constant(b->zeros, b->scales->dtype, b->rows * b->count))
        return false;
    b->quanta = quanta->data;
    return true;
}

enum { EIGHT_BITS = 4 }; /* the accuracy_level that lets activations be rounded to 8 bits */

static bool may_round(const struct node *node)
{
    return node_int(node, "accuracy_level", 0) == EIGHT_BITS;
}

bool lower_is_slower_than(const struct node *node, enum dtype half)
{
    return half == DTYPE_BF16 && !may_round(node) && kernel_blocks_yield_to_bf16();
}

/* Whether a kernel takes them as they are, and is faster than one of float32. */
static bool are_kept(const struct lower *l, const struct blocks *b)
{
    enum { LARGEST = 256 };

    return (may_round(l->node) ||
            (kernel_blocks_pay() && b->rows * b->columns >= KERNEL_BLOCKS_WORTH)) &&
           b->bits == 4 && b->size <= LARGEST && !b->order && b->scales->dtype == DTYPE_F32 &&
           (!b->zeros || b->zeros->dtype == DTYPE_U8);
}

/* The weights stay as they are. */
static void keep_bits(struct lower *l, const struct blocks *b)
{
    struct value *inputs[] = {lower_input(l, 0), lower_input(l, 1), lower_input(l, 2),
                              lower_input(l, 3), lower_input(l, 5)};
    struct value *y = lower_op(l, "optrace.BlockMatMul", inputs, 5);

    lower_int(l, "K", b->columns);
    lower_int(l, "N", b->rows);
    lower_int(l, "block_size", b->size);
    lower_int(l, "accuracy_level", node_int(l->node, "accuracy_level", 0));
    lower_done(l, 0, y);
}

static void multiply_widened(struct lower *l, const struct blocks *b, struct value *bias)
{
    struct value *weights;
    float *data = lower_data(l, DTYPE_F32, &(struct shape){2, {b->columns, b->rows}}, &weights);

    if (data)
        widen_turned(data, b);
    if (b->scales->dtype != DTYPE_F32)
        weights = lower_cast(l, weights, b->scales->dtype);
    finish_product(l, weights, bias);
}

static void lower_nbits(struct lower *l)
{
    struct blocks b = {0};

    if (node_int(l->node, "weight_prepacked", 0) != 0)
        lower_refuse(l, "its weights are laid out for a device");
    if (!read_blocks(l, &b))
        lower_refuse(l, "its weights are not constant blocks of 2, 4 or 8 bits with their scales");
    if (l->rc < 0)
        return;
    if (are_kept(l, &b))
        keep_bits(l, &b);
    else
        multiply_widened(l, &b, lower_input(l, 5));
}

/* What keep_bits() made, whose last inputs are the zero points and the bias. */
static void lower_kept(struct lower *l)
{
    struct blocks b = {0};
    struct value *bias = lower_input(l, 4);

    if (l->node->input_count > 4)
        l->rc = node_set_input(l->node, 4, NULL) < 0 ? -ENOMEM : l->rc;
    if (l->rc == 0 && !read_blocks(l, &b))
        lower_refuse(l, "its weights are not constant blocks of 4 bits with their scales");
    if (l->rc == 0)
        multiply_widened(l, &b, bias);
}

const struct lower_rule lower_kept_blocks = {
    {"optrace.BlockMatMul", "MatMul, Add"}, 3, 5, 1, "K N accuracy_level block_size", lower_kept};

/* --- MatMulBnb4 --- */

/* What the four bits mean, as bitsandbytes has them: a sign and three bits of floating point, or
 * quantiles of a normal distribution ("QLoRA", Dettmers and others 2023, appendix E). */
static const float bnb4_numbers[2][16] = {
    {0.0f, 5.208333333e-03f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f,
     -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
     -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
     0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
     0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f},
};

static void lower_bnb4(struct lower *l)
{
    static const int64_t swap[] = {1, 0};
    int64_t columns = node_int(l->node, "K", 0), rows = node_int(l->node, "N", 0);
    int64_t size = node_int(l->node, "block_size", 0), kind = node_int(l->node, "quant_type", -1);
    const struct value *quanta = lower_input(l, 1), *largest = lower_input(l, 2);
    struct value *weights;
    int64_t count;
    float *data;

    if (columns < 1 || rows < 1 || columns >= TENSOR_MAX_BYTES / 8 / rows || size < 1 ||
        (kind != 0 && kind != 1) || node_int(l->node, "transB", 1) != 1) {
        lower_refuse(l, "its attributes make no matrix of blocks");
        return;
    }
    count = rows * columns;
    if (!is_constant(quanta, DTYPE_U8, (count + 1) / 2) || !largest ||
        !element_is_float(largest->dtype) ||
        !is_constant(largest, largest->dtype, (count - 1) / size + 1)) {
        lower_refuse(l, "its weights are not constant blocks of 4 bits with their scales");
        return;
    }
    data = lower_data(l, DTYPE_F32, &(struct shape){2, {rows, columns}}, &weights);
    for (int64_t i = 0; data && i < count; i++) {
        int bits = ((const uint8_t *)quanta->data)[i / 2] >> (i % 2 ? 0 : 4) & 15;

        data[i] =
            bnb4_numbers[kind][bits] * (float)element_get(largest->data, largest->dtype, i / size);
    }
    if (largest->dtype != DTYPE_F32)
        weights = lower_cast(l, weights, largest->dtype);
    weights = lower_one(l, "Transpose", weights);
    lower_ints(l, "perm", swap, 2);
    finish_product(l, weights, NULL);
}

/* --- GatherBlockQuantized --- */

/* Rows of packed bytes, each as `length` quanta. */
static struct value *unpack(struct lower *l, const struct value *packed, int64_t bits,
                            int64_t length)
{
    struct shape shape = packed->shape;
    int64_t bytes = shape.dims[shape.rank - 1], rows;
    struct value *y;
    uint8_t *data;

    shape.dims[shape.rank - 1] = length;
    data = lower_data(l, DTYPE_U8, &shape, &y);
    rows = bytes ? shape_elements(&packed->shape) / bytes : 0;
    for (int64_t row = 0; data && row < rows; row++)
        for (int64_t i = 0; i < length; i++)
            data[row * length + i] =
                (uint8_t)quantum_at((const uint8_t *)packed->data + row * bytes, bits, i);
    return y;
}

static struct value *middles(struct lower *l, const struct shape *shape, int64_t bits)
{
    struct value *y;
    uint8_t *data = lower_data(l, DTYPE_U8, shape, &y);

    if (data)
        memset(data, 1 << (bits - 1), (size_t)shape_elements(shape));
    return y;
}

/* Quanta and zero points of bytes that hold several; of other types they stay. */
static void unpack_table(struct lower *l, int64_t bits, struct value **quanta,
                         const struct value *scales, struct value **zeros)
{
    const struct value *packed = *quanta, *packed_zeros = *zeros;
    int64_t bytes = packed->shape.dims[packed->shape.rank - 1];
    int64_t blocks = scales->shape.dims[scales->shape.rank - 1];

    if (packed_zeros &&
        (!packed_zeros->data || packed_zeros->dtype != DTYPE_U8 ||
         packed_zeros->shape.rank != scales->shape.rank ||
         packed_zeros->shape.dims[scales->shape.rank - 1] != packed_bytes(blocks, bits))) {
        lower_refuse(l, "its zero points are not those of its scales");
        return;
    }
    *quanta = unpack(l, packed, bits, bytes * (8 / bits));
    *zeros =
        packed_zeros ? unpack(l, packed_zeros, bits, blocks) : middles(l, &scales->shape, bits);
}

static struct value *gather(struct lower *l, struct value *table, int64_t axis)
{
    struct value *y = lower_two(l, "Gather", table, lower_input(l, 1));

    lower_int(l, "axis", axis);
    return y;
}

static void lower_gather(struct lower *l)
{
    struct value *quanta = lower_input(l, 0), *scales = lower_input(l, 2);
    struct value *zeros = lower_input(l, 3), *inputs[3], *y;
    int64_t bits = node_int(l->node, "bits", 4), rank = quanta ? quanta->shape.rank : 0;
    int64_t axis = node_int(l->node, "gather_axis", 0), of_blocks;

    of_blocks = node_int(l->node, "quantize_axis", 1);
    axis += axis < 0 ? rank : 0;
    of_blocks += of_blocks < 0 ? rank : 0;
    if (!quanta || !quanta->data || !scales || !scales->data || rank < 2 ||
        scales->shape.rank != rank || axis < 0 || axis >= rank || of_blocks < 0 ||
        of_blocks >= rank || axis == of_blocks ||
        (quanta->dtype == DTYPE_U8 && bits != 2 && bits != 4 && bits != 8)) {
        lower_refuse(l, "it gathers from no constant table of blocks with scales");
        return;
    }
    if (quanta->dtype == DTYPE_U8)
        unpack_table(l, bits, &quanta, scales, &zeros);
    inputs[0] = gather(l, quanta, axis);
    inputs[1] = gather(l, scales, axis);
    inputs[2] = zeros ? gather(l, zeros, axis) : NULL;
    y = lower_op(l, "DequantizeLinear", inputs, 3);
    lower_int(l, "axis", of_blocks < axis ? of_blocks : of_blocks - rank);
    lower_int(l, "block_size", node_int(l->node, "block_size", 128));
    lower_done(l, 0, y);
}

const struct lower_rule lower_blocks[] = {
    {{"com.microsoft.GatherBlockQuantized", "Gather, DequantizeLinear"},
     3,
     4,
     1,
     "bits block_size gather_axis quantize_axis",
     lower_gather},
    {{"com.microsoft.MatMulBnb4", "MatMul"},
     3,
     3,
     1,
     "K N block_size quant_type training_mode transB",
     lower_bnb4},
    {{"com.microsoft.MatMulNBits", "MatMul, Add; or BlockMatMul"},
     3,
     6,
     1,
     "K N accuracy_level bits block_size weight_prepacked",
     lower_nbits},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
