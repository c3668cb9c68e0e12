/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of products: cuBLASLt where it is there and takes them, else product.cu and any.cu. */
#include "kernels/cuda/product.h"

#include <string.h>

enum {
    GRID_MAX = 65535,
    RUNS_MAX = 16, /* products of one call that cuBLASLt is called for; more take the own kernel */
    ALIGNMENT_MAX = 256, /* that it asks for */
};

/* A call of either contract. */
struct request {
    enum kernel_dtype dtype, y_type;
    int64_t m, n, k, a_line, b_line, y_line, c_row_stride, c_col_stride;
    bool trans_a, trans_b;
    double alpha, beta;
    enum kernel_unary behind; /* taken back where cuBLASLt has no product with it */
    const void *a, *b, *c;
    void *y;
    int rank; /* of the batch */
    int64_t dims[KERNEL_MAX_RANK];
    int64_t a_stride[KERNEL_MAX_RANK], b_stride[KERNEL_MAX_RANK], y_stride[KERNEL_MAX_RANK];
};

/* Axes of one are left out, and those that lie behind each other everywhere are one. */
static void join_axes(struct request *r)
{
    struct request given = *r;
    int rank = 0;

    for (int i = 0; i < given.rank; i++) {
        int64_t count = given.dims[i];

        if (count == 1)
            continue;
        if (rank > 0 && r->a_stride[rank - 1] == count * given.a_stride[i] &&
            r->b_stride[rank - 1] == count * given.b_stride[i] &&
            r->y_stride[rank - 1] == count * given.y_stride[i]) {
            r->dims[--rank] *= count;
        } else {
            r->dims[rank] = count;
        }
        r->a_stride[rank] = given.a_stride[i];
        r->b_stride[rank] = given.b_stride[i];
        r->y_stride[rank++] = given.y_stride[i];
    }
    r->rank = rank;
}

/* Many products by the same b whose rows follow each other are one of more rows. */
static void join_rows(struct request *r)
{
    int last = r->rank - 1;

    while (last >= 0 && !r->trans_a && r->b_stride[last] == 0 && r->a_line == r->k &&
           r->a_stride[last] == r->m * r->a_line && r->y_stride[last] == r->m * r->y_line &&
           (!r->c || r->c_row_stride == 0)) {
        r->m *= r->dims[last];
        r->rank = last--;
    }
}

static uint32_t alignment_of(const void *address, int64_t stride_bytes)
{
    uint64_t bits = (uint64_t)(uintptr_t)address | (uint64_t)stride_bytes | ALIGNMENT_MAX;

    return (uint32_t)(bits & -bits);
}

static bool takes_bias(const struct request *r)
{
    return r->c_row_stride == 0 && r->c_col_stride == 1 && r->beta == 1.0 && r->dtype != KERNEL_F64;
}

static enum product_addend addend_of(const struct request *r)
{
    if (!r->c || r->beta == 0.0)
        return ADDEND_NONE;
    if (takes_bias(r))
        return ADDEND_BIAS;
    if (r->rank == 0 && r->c_col_stride == 1 && r->c_row_stride >= r->n)
        return ADDEND_FULL;
    return ADDEND_Y;
}

/* The addend, broadcast to where the result will be. */
static void spread(const struct request *r)
{
    struct kernel_copy copy = {.element_bytes = kernel_dtype_bytes(r->y_type)};

    for (int i = 0; i < r->rank; i++) {
        copy.dims[i] = r->dims[i];
        copy.y_stride[i] = r->y_stride[i];
    }
    copy.rank = r->rank + 2;
    copy.dims[r->rank] = r->m;
    copy.y_stride[r->rank] = r->y_line;
    copy.x_stride[r->rank] = r->c_row_stride;
    copy.dims[r->rank + 1] = r->n;
    copy.y_stride[r->rank + 1] = 1;
    copy.x_stride[r->rank + 1] = r->c_col_stride;
    cuda_copy(r->y, r->c, &copy);
}

static struct product_shape shape_of(const struct request *r, enum product_addend addend)
{
    int last = r->rank - 1;
    int64_t bytes = (int64_t)kernel_dtype_bytes(r->dtype), y_bytes;
    int64_t a_bits = 0, b_bits = 0, y_bits = 0;
    struct product_shape shape;

    memset(&shape, 0, sizeof(shape));
    shape.m = r->m;
    shape.n = r->n;
    shape.k = r->k;
    shape.a_line = r->a_line;
    shape.b_line = r->b_line;
    shape.y_line = r->y_line;
    shape.c_line = addend == ADDEND_FULL ? r->c_row_stride : r->y_line;
    shape.batches = last >= 0 ? r->dims[last] : 1;
    shape.a_stride = last >= 0 ? r->a_stride[last] : 0;
    shape.b_stride = last >= 0 ? r->b_stride[last] : 0;
    shape.y_stride = last >= 0 ? r->y_stride[last] : 0;
    shape.dtype = (int16_t)r->dtype;
    shape.y_type = (int16_t)r->y_type;
    shape.trans_a = r->trans_a;
    shape.trans_b = r->trans_b;
    shape.addend = (int32_t)addend;
    shape.behind = (int32_t)r->behind;
    for (int i = 0; i <= last; i++) {
        a_bits |= r->a_stride[i];
        b_bits |= r->b_stride[i];
        y_bits |= r->y_stride[i];
    }
    y_bytes = (int64_t)kernel_dtype_bytes(r->y_type);
    shape.a_alignment = alignment_of(r->a, a_bits * bytes);
    shape.b_alignment = alignment_of(r->b, b_bits * bytes);
    shape.y_alignment = alignment_of(r->y, y_bits * y_bytes);
    shape.c_alignment = addend == ADDEND_FULL ? alignment_of(r->c, 0) : shape.y_alignment;
    return shape;
}

/* The innermost axis is cuBLASLt's batch; a run for each index of the others. Returns how many, 0:
 * too many. */
static int make_runs(const struct request *r, enum product_addend addend, struct product_run *runs)
{
    int last = r->rank - 1;
    int64_t outer = cuda_product(r->dims, last > 0 ? last : 0);
    int64_t bytes = (int64_t)kernel_dtype_bytes(r->dtype);
    int64_t y_bytes = (int64_t)kernel_dtype_bytes(r->y_type);

    if (outer > RUNS_MAX || (last >= 0 && r->dims[last] > INT32_MAX))
        return 0;
    for (int64_t index = 0; index < outer; index++) {
        int64_t a = 0, b = 0, y = 0, rest = index;

        for (int i = last - 1; i >= 0; i--) {
            int64_t at = rest % r->dims[i];

            rest /= r->dims[i];
            a += at * r->a_stride[i];
            b += at * r->b_stride[i];
            y += at * r->y_stride[i];
        }
        runs[index] = (struct product_run){
            .shape = shape_of(r, addend),
            .a = (const char *)r->a + a * bytes,
            .b = (const char *)r->b + b * bytes,
            .c = r->c,
            .y = (char *)r->y + y * y_bytes,
            .alpha = r->alpha,
            .beta = addend == ADDEND_FULL || addend == ADDEND_Y ? r->beta : 0.0,
        };
    }
    return (int)outer;
}

/* Rows that do not overlap, as cuBLASLt wants them. */
static bool has_lines(const struct request *r)
{
    return r->a_line >= (r->trans_a ? r->m : r->k) && r->b_line >= (r->trans_b ? r->k : r->n) &&
           r->y_line >= r->n;
}

/* Whether cuBLASLt has a plan for it: with what r has behind the product, else without. */
static bool is_planned(struct kernel_cuda *cuda, struct request *r, enum product_addend addend,
                       struct product_call *product)
{
    bool is_planned;

    product->count = make_runs(r, addend, product->runs);
    is_planned = product_is_planned(cuda, product);
    if (is_planned || r->behind == KERNEL_IDENTITY || !product->is_refused)
        return is_planned;
    r->behind = KERNEL_IDENTITY;
    product->count = make_runs(r, addend, product->runs);
    return product_is_planned(cuda, product);
}

/* Returns whether the library computes it. */
static bool compute(struct request *r, product_own_fn *own, const void *call)
{
    struct kernel_cuda *cuda = cuda_current();
    struct product_run runs[RUNS_MAX];
    struct product_call product = {.runs = runs, .own = own, .call = call};
    enum product_addend addend;

    if (r->m <= 0 || r->n <= 0 || cuda_product(r->dims, r->rank) <= 0)
        return false;
    join_axes(r);
    join_rows(r);
    addend = addend_of(r);
    if (r->k <= 0 || !has_lines(r) ? !product_is_planned(cuda, &product)
                                   : !is_planned(cuda, r, addend, &product)) {
        own(call);
        return false;
    }
    if (addend == ADDEND_Y)
        spread(r);
    product_run(cuda, &product);
    return true;
}

/* --- Of float32 --- */

struct gemm_call {
    float *y;
    const float *a, *b, *c;
    const struct kernel_gemm *shape;
};

/* The addresses of the arguments of a kernel that goes by tiles. */
struct tiles {
    void *y, *a, *b, *c, *shape;
};

static void launch_tiles(enum cuda_kernel kernel, const struct kernel_gemm *shape, int64_t batch,
                         const struct tiles *tiles)
{
    int64_t rows = (shape->m + CUDA_TILE - 1) / CUDA_TILE;
    int64_t cols = (shape->n + CUDA_TILE - 1) / CUDA_TILE;

    /* A grid has fewer rows of blocks than a matrix may have of tiles. */
    for (int64_t first = 0; first < rows; first += GRID_MAX) {
        int64_t now = rows - first < GRID_MAX ? rows - first : GRID_MAX;
        struct cuda_size grid = {(unsigned)cols, (unsigned)now,
                                 (unsigned)(batch < GRID_MAX ? batch : GRID_MAX)};

        cuda_launch(
            kernel, grid, (struct cuda_size){CUDA_TILE, CUDA_TILE_ROWS, 1},
            (void *[]){tiles->y, tiles->a, tiles->b, tiles->c, &batch, &first, tiles->shape});
    }
}

static void own_gemm(const void *given)
{
    struct gemm_call call = *(const struct gemm_call *)given;
    struct kernel_gemm shape = *call.shape;
    int64_t batch = cuda_product(shape.batch_dims, shape.batch_rank);

    launch_tiles(CUDA_KERNEL_gemm_f32, &shape, batch,
                 &(struct tiles){&call.y, &call.a, &call.b, &call.c, &shape});
}

static struct request request_of(const struct kernel_gemm *shape)
{
    struct request r = {
        .m = shape->m,
        .n = shape->n,
        .k = shape->k,
        .a_line = kernel_gemm_a_line(shape),
        .b_line = kernel_gemm_b_line(shape),
        .y_line = kernel_gemm_y_line(shape),
        .c_row_stride = shape->c_row_stride,
        .c_col_stride = shape->c_col_stride,
        .trans_a = shape->trans_a,
        .trans_b = shape->trans_b,
        .alpha = (double)shape->alpha,
        .beta = (double)shape->beta,
        .rank = shape->batch_rank,
    };
    int64_t dense = shape->m * shape->n;

    for (int i = shape->batch_rank - 1; i >= 0; i--) {
        r.dims[i] = shape->batch_dims[i];
        r.a_stride[i] = shape->a_batch_stride[i];
        r.b_stride[i] = shape->b_batch_stride[i];
        r.y_stride[i] = shape->y_line ? shape->y_batch_stride[i] : dense;
        dense *= shape->batch_dims[i];
    }
    return r;
}

static void gemm_f32_cuda(float *y, const float *a, const float *b, const float *c,
                          const struct kernel_gemm *shape)
{
    struct gemm_call call = {y, a, b, c, shape};
    struct request r = request_of(shape);

    r.dtype = r.y_type = KERNEL_F32;
    r.a = a;
    r.b = b;
    r.c = shape->beta == 0.0f ? NULL : c;
    r.y = y;
    (void)compute(&r, own_gemm, &call);
}

/* --- In half precision, or with an activation --- */

struct gemm_half_call {
    void *y;
    const void *a, *b, *c;
    const struct kernel_gemm_half *shape;
};

static void own_gemm_half(const void *given)
{
    struct gemm_half_call call = *(const struct gemm_half_call *)given;
    struct kernel_gemm_half shape = *call.shape;
    int64_t batch = cuda_product(shape.gemm.batch_dims, shape.gemm.batch_rank);

    launch_tiles(CUDA_KERNEL_gemm_half, &shape.gemm, batch,
                 &(struct tiles){&call.y, &call.a, &call.b, &call.c, &shape});
}

static bool has_epilogue(enum kernel_unary kind)
{
    return kind == KERNEL_RELU || kind == KERNEL_GELU_TANH;
}

/* Sums of another type, and activations, are done by an own kernel behind the library's. */
static void gemm_half_cuda(void *y, const void *a, const void *b, const void *c,
                           const struct kernel_gemm_half *shape)
{
    struct gemm_half_call call = {y, a, b, c, shape};
    struct request r = request_of(&shape->gemm);
    struct kernel_gemm_half given = *shape;
    const void *added = shape->gemm.beta == 0.0f ? NULL : c;
    const bool is_limited = shape->saturates && shape->y_type == KERNEL_F16;
    const bool is_added_behind = added && shape->c_type != shape->y_type;
    int64_t count = cuda_product(shape->gemm.batch_dims, shape->gemm.batch_rank) * shape->gemm.m *
                    shape->gemm.n;

    r.dtype = shape->dtype;
    r.y_type = shape->y_type;
    if (!is_added_behind && has_epilogue(shape->activation.kind))
        r.behind = shape->activation.kind;
    r.a = a;
    r.b = b;
    r.c = is_added_behind ? NULL : added;
    r.y = y;
    if (!is_added_behind)
        added = NULL;
    if (!compute(&r, own_gemm_half, &call))
        return;
    if (r.behind != KERNEL_IDENTITY)
        given.activation.kind = KERNEL_IDENTITY;
    if (added || given.activation.kind != KERNEL_IDENTITY || (is_limited && shape->gemm.y_line))
        cuda_launch_elements(CUDA_KERNEL_gemm_end_half, count,
                             (void *[]){&y, &added, &count, &given});
    else if (is_limited)
        cuda_saturate_half(y, count);
}

/* --- Of every type --- */

struct product_any_call {
    const struct kernel_product_data *data;
    const struct kernel_product *shape;
};

static void own_product(const void *given)
{
    const struct product_any_call *call = given;
    struct kernel_product_data pointers = *call->data;
    struct kernel_product shape = *call->shape;
    int64_t count = cuda_product(shape.batch_dims, shape.batch_rank) * shape.m * shape.n;

    cuda_launch_elements(CUDA_KERNEL_product_any, count, (void *[]){&pointers, &shape, &count});
}

/* Numbers as they are, of types that cuBLASLt multiplies. */
static bool is_plain(const struct kernel_product_data *data, const struct kernel_product *shape)
{
    bool is_int8 = shape->a_type == KERNEL_I8 && shape->y_type == KERNEL_I32 && !data->c &&
                   shape->alpha == 1.0;
    bool is_real = kernel_dtype_is_real(shape->a_type) && shape->y_type == shape->a_type &&
                   (shape->a_type == KERNEL_F32 || shape->a_type == KERNEL_F64 ||
                    shape->a_type == KERNEL_F16 || shape->a_type == KERNEL_BF16);

    return shape->a_type == shape->b_type && (is_int8 || is_real) && !data->a_zero &&
           !data->b_zero && !data->y_zero && !data->y_scale;
}

static void product_cuda(const struct kernel_product_data *data, const struct kernel_product *shape)
{
    struct product_any_call call = {data, shape};
    struct request r = {
        .dtype = shape->a_type,
        .y_type = shape->y_type,
        .m = shape->m,
        .n = shape->n,
        .k = shape->k,
        .a_line = shape->trans_a ? shape->m : shape->k,
        .b_line = shape->trans_b ? shape->k : shape->n,
        .y_line = shape->n,
        .c_row_stride = shape->c_row_stride,
        .c_col_stride = shape->c_col_stride,
        .trans_a = shape->trans_a,
        .trans_b = shape->trans_b,
        .alpha = shape->alpha,
        .beta = shape->beta,
        .a = data->a,
        .b = data->b,
        .c = shape->beta == 0.0 ? NULL : data->c,
        .y = data->y,
        .rank = shape->batch_rank,
    };
    int64_t dense = shape->m * shape->n;

    if (!is_plain(data, shape)) {
        own_product(&call);
        return;
    }
    for (int i = shape->batch_rank - 1; i >= 0; i--) {
        r.dims[i] = shape->batch_dims[i];
        r.a_stride[i] = shape->a_batch_stride[i];
        r.b_stride[i] = shape->b_batch_stride[i];
        r.y_stride[i] = dense;
        dense *= shape->batch_dims[i];
    }
    (void)compute(&r, own_product, &call);
}

void cuda_table_product(struct kernel_table *table)
{
    CUDA_USE(gemm_f32, gemm_f32_cuda);
    CUDA_USE(gemm_half, gemm_half_cuda);
    CUDA_USE(product, product_cuda);
}
