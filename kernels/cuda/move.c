/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of move.cu. */
#include "kernels/cuda.h"
#include "kernels/cuda/launch.h"

#include <string.h>

enum { GRID_MAX = 65535 };

/* Axes of one are left out, and those that lie behind each other on both sides are one. */
static void simplify(struct kernel_copy *copy)
{
    struct kernel_copy given = *copy;
    int rank = 0;

    for (int i = 0; i < given.rank; i++) {
        if (given.dims[i] == 1)
            continue;
        if (rank > 0 && copy->y_stride[rank - 1] == given.dims[i] * given.y_stride[i] &&
            copy->x_stride[rank - 1] == given.dims[i] * given.x_stride[i]) {
            copy->dims[rank - 1] *= given.dims[i];
            copy->y_stride[rank - 1] = given.y_stride[i];
            copy->x_stride[rank - 1] = given.x_stride[i];
            continue;
        }
        copy->dims[rank] = given.dims[i];
        copy->y_stride[rank] = given.y_stride[i];
        copy->x_stride[rank++] = given.x_stride[i];
    }
    copy->rank = rank;
}

static unsigned tiles_of(int64_t lines)
{
    return (unsigned)((lines + CUDA_TURNED_TILE - 1) / CUDA_TURNED_TILE);
}

/* Dense matrices whose rows become columns; *out_matrices of them. */
static bool is_transpose(const struct kernel_copy *copy, int64_t *out_matrices)
{
    int r = copy->rank;
    int64_t rows, cols;

    if (copy->element_bytes != 4 || r < 2 || r > 3)
        return false;
    rows = copy->dims[r - 1]; /* of x */
    cols = copy->dims[r - 2];
    *out_matrices = r == 3 ? copy->dims[0] : 1;
    return copy->y_stride[r - 1] == 1 && copy->y_stride[r - 2] == rows &&
           copy->x_stride[r - 1] == cols && copy->x_stride[r - 2] == 1 &&
           (r == 2 || (copy->y_stride[0] == rows * cols && copy->x_stride[0] == rows * cols)) &&
           tiles_of(rows) <= GRID_MAX;
}

/* Sixteen bytes at once, where pieces of a line lie together on both sides. */
static bool are_quads(const struct kernel_copy *copy, const void *y, const void *x)
{
    const int64_t each = 16 / (int64_t)copy->element_bytes;
    const int last = copy->rank - 1;

    if (last < 0 || copy->y_stride[last] != 1 || copy->x_stride[last] != 1 ||
        copy->dims[last] % each != 0)
        return false;
    for (int i = 0; i < last; i++)
        if (copy->y_stride[i] % each != 0 || copy->x_stride[i] % each != 0)
            return false;
    return cuda_are_aligned((const void *const[]){y, x}, 2);
}

static void copy_quads(void *y, const void *x, struct kernel_copy copy)
{
    const int64_t each = 16 / (int64_t)copy.element_bytes;
    const int last = copy.rank - 1;
    int64_t count;

    copy.dims[last] /= each;
    for (int i = 0; i < last; i++) {
        copy.y_stride[i] /= each;
        copy.x_stride[i] /= each;
    }
    count = cuda_product(copy.dims, copy.rank);
    cuda_launch_elements(CUDA_KERNEL_copy_16, count, (void *[]){&y, &x, &count, &copy});
}

void cuda_copy(void *y, const void *x, const struct kernel_copy *shape)
{
    enum cuda_kernel kernel = shape->element_bytes == 1   ? CUDA_KERNEL_copy_1
                              : shape->element_bytes == 2 ? CUDA_KERNEL_copy_2
                              : shape->element_bytes == 4 ? CUDA_KERNEL_copy_4
                                                          : CUDA_KERNEL_copy_8;
    struct kernel_copy copy = *shape;
    int64_t count = cuda_product(shape->dims, shape->rank), matrices;

    if (count == 0)
        return;
    simplify(&copy);
    if (is_transpose(&copy, &matrices)) {
        int64_t rows = copy.dims[copy.rank - 1], cols = copy.dims[copy.rank - 2];
        struct cuda_size grid = {tiles_of(cols), tiles_of(rows),
                                 (unsigned)(matrices < GRID_MAX ? matrices : GRID_MAX)};

        cuda_launch(CUDA_KERNEL_transpose_4, grid, (struct cuda_size){32, CUDA_TILE_ROWS, 1},
                    (void *[]){&y, &x, &matrices, &rows, &cols});
        return;
    }
    if (are_quads(&copy, y, x))
        copy_quads(y, x, copy);
    else
        cuda_launch_elements(kernel, count, (void *[]){&y, &x, &count, &copy});
}

static void fill_cuda(void *y, const void *value, size_t element_bytes, size_t size)
{
    int64_t count = (int64_t)size;
    int bytes = (int)element_bytes;
    uint64_t bits = 0;

    memcpy(&bits, value, element_bytes);
    cuda_launch_elements(CUDA_KERNEL_fill_any, count, (void *[]){&y, &bits, &bytes, &count});
}

static void pad_cuda(void *y, const void *x, const void *value, const struct kernel_pad *shape)
{
    struct cuda_scalar scalar = {NULL, 0};
    struct kernel_pad given = *shape;
    int64_t count = cuda_product(shape->y_dims, shape->rank);

    if (shape->mode == KERNEL_PAD_CONSTANT)
        scalar = cuda_scalar_of(value, shape->element_bytes);
    cuda_launch_elements(CUDA_KERNEL_pad_any, count, (void *[]){&y, &x, &scalar, &count, &given});
}

static int gather_cuda(void *y, const void *x, const int64_t *indices,
                       const struct kernel_gather *shape)
{
    size_t bytes = shape->inner_bytes;
    int unit = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
    int64_t outer = (int64_t)shape->outer, axis = (int64_t)shape->axis;
    int64_t index_count = (int64_t)shape->index_count, inner;
    struct cuda_fault fault = cuda_fault_place();

    /* Of rows that do not begin at a multiple of it. */
    while (((uintptr_t)x | (uintptr_t)y) % (uintptr_t)unit != 0)
        unit /= 2;
    inner = (int64_t)(bytes / (size_t)unit);
    cuda_launch_elements(
        CUDA_KERNEL_gather_any, inner ? outer * index_count * inner : index_count,
        (void *[]){&y, &x, &indices, &unit, &outer, &axis, &index_count, &inner, &fault});
    return cuda_fault_result();
}

static int gather_elements_cuda(void *y, const void *x, const void *indices,
                                const struct kernel_elements *shape)
{
    struct kernel_elements given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int64_t count = cuda_product(shape->dims, shape->rank);
    int bytes = (int)kernel_dtype_bytes(shape->dtype);

    cuda_launch_elements(CUDA_KERNEL_gather_elements_any, count,
                         (void *[]){&y, &x, &indices, &bytes, &count, &given, &fault});
    return cuda_fault_result();
}

static int gather_nd_cuda(void *y, const void *x, const void *indices,
                          const struct kernel_tuples *shape)
{
    struct kernel_tuples given = *shape;
    struct cuda_fault fault = cuda_fault_place();
    int64_t count = shape->batch * shape->tuples * shape->slice;
    int bytes = (int)kernel_dtype_bytes(shape->dtype);

    cuda_launch_elements(CUDA_KERNEL_gather_nd_any, count,
                         (void *[]){&y, &x, &indices, &bytes, &count, &given, &fault});
    return cuda_fault_result();
}

static void one_hot_cuda(void *y, const void *indices, const void *values,
                         const struct kernel_one_hot *shape)
{
    struct kernel_one_hot given = *shape;
    int64_t count = shape->outer * shape->depth * shape->inner;

    cuda_launch_elements(CUDA_KERNEL_one_hot_any, count,
                         (void *[]){&y, &indices, &values, &count, &given});
}

static void eye_cuda(void *y, enum kernel_dtype dtype, int64_t rows, int64_t cols, int64_t k)
{
    int type = (int)dtype;

    cuda_launch_elements(CUDA_KERNEL_eye_any, rows * cols, (void *[]){&y, &type, &rows, &cols, &k});
}

static void resample_cuda(void *y, const void *x, const struct kernel_resample *shape)
{
    struct kernel_resample given = *shape;
    int64_t count = cuda_product(shape->y_dims, shape->rank);

    cuda_launch_elements(CUDA_KERNEL_resample_any, count, (void *[]){&y, &x, &count, &given});
}

static void range_cuda(void *y, const void *start, const void *step, enum kernel_dtype dtype,
                       int64_t count)
{
    int type = (int)dtype;

    cuda_launch_elements(CUDA_KERNEL_range_any, count,
                         (void *[]){&y, &start, &step, &type, &count});
}

void cuda_table_move(struct kernel_table *table)
{
    CUDA_USE(copy, cuda_copy);
    CUDA_USE(fill, fill_cuda);
    CUDA_USE(pad, pad_cuda);
    CUDA_USE(gather, gather_cuda);
    CUDA_USE(gather_elements, gather_elements_cuda);
    CUDA_USE(gather_nd, gather_nd_cuda);
    CUDA_USE(one_hot, one_hot_cuda);
    CUDA_USE(eye, eye_cuda);
    CUDA_USE(range, range_cuda);
    CUDA_USE(resample, resample_cuda);
}
