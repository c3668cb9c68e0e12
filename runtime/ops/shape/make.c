/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: operators that make elements, or split and rearrange them. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/graph/element.h"
#include "runtime/ops/shape/infer.h"

/* max(ceil((limit - start) / delta), 0) elements. */
int shape_arange(struct infer *infer)
{
    struct shape out = {.rank = 1};
    long double numbers[3], count;

    for (uint32_t i = 0; i < 3; i++) {
        const void *data;
        int rc = infer_same_dtype(infer, 0, i);

        if (rc == 0 && shape_elements(infer_shape(infer, i)) != 1)
            rc = infer_fail(infer, "input %u is not one number", i);
        if (rc == 0)
            rc = infer_content(infer, i, &data);
        if (rc < 0)
            return rc;
        numbers[i] = element_get(data, infer_dtype(infer, i), 0);
    }
    count = ceill((numbers[1] - numbers[0]) / numbers[2]);
    if (!isfinite(count) || count > (long double)TENSOR_MAX_BYTES)
        return infer_fail(infer, "it has no end");
    out.dims[0] = count > 0 ? (int64_t)count : 0;
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_eye(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    int64_t to = node_int(infer->node, "dtype", infer_dtype(infer, 0));

    if (x->rank != 2)
        return infer_fail(infer, "its input has %d dimensions instead of 2", x->rank);
    if (to <= 0 || to >= DTYPE_END || dtype_bytes((enum dtype)to) == 0)
        return infer_unsupported(infer, "its output is of type %" PRId64, to);
    return infer_output(infer, 0, (enum dtype)to, x);
}

int shape_size(struct infer *infer)
{
    struct shape scalar = {.rank = 0};

    return infer_output(infer, 0, DTYPE_I64, &scalar);
}

/* The sizes that are asked for: attribute split before operator set 13 (in 1 also an input), input 1 since;
 * else equal parts, of which only the last may be smaller (since 18). */
static int split_sizes(struct infer *infer, int64_t dim, int64_t *sizes)
{
    uint32_t parts = infer->node->output_count;
    int64_t since = infer->opset == 1 && infer_has(infer, 1) ? 1 : 13;
    int64_t *given = NULL;
    size_t count = 0;
    int64_t sum = 0, part;
    int rc = infer_list(infer, "split", 1, since, &given, &count);

    if (rc < 0)
        return rc;
    part = (dim + parts - 1) / parts;
    if (!given && infer->opset < 18 && dim % parts != 0)
        rc = infer_fail(infer, "%" PRId64 " cannot be split into %u equal parts", dim, parts);
    if (given && count != parts)
        rc = infer_fail(infer, "it has %zu sizes for %u outputs", count, parts);
    for (uint32_t i = 0; rc == 0 && i < parts; i++) {
        sizes[i] = given ? given[i] : dim - sum < part ? dim - sum : part;
        sum += sizes[i];
        if (sizes[i] < 0 || sizes[i] > dim)
            rc = infer_fail(infer, "a part has the size %" PRId64, sizes[i]);
    }
    if (rc == 0 && sum != dim)
        rc = infer_fail(infer, "its parts have %" PRId64 " of %" PRId64 " elements", sum, dim);
    free(given);
    return rc;
}

int shape_split(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    uint32_t parts = infer->node->output_count;
    int64_t *sizes;
    int axis;
    int rc = infer_axis(infer, node_int(infer->node, "axis", 0), out.rank, &axis);

    if (rc == 0 && node_int(infer->node, "num_outputs", parts) != parts)
        rc = infer_fail(infer, "attribute num_outputs contradicts its %u outputs", parts);
    if (rc < 0)
        return rc;
    sizes = calloc(parts, sizeof(*sizes));
    if (!sizes)
        return -ENOMEM;
    rc = split_sizes(infer, out.dims[axis], sizes);
    for (uint32_t i = 0; rc == 0 && i < parts; i++) {
        out.dims[axis] = sizes[i];
        rc = infer_output(infer, i, infer_dtype(infer, 0), &out);
    }
    free(sizes);
    return rc;
}

static int block_size(struct infer *infer, int64_t *out_size)
{
    *out_size = node_int(infer->node, "blocksize", 0);
    if (infer_shape(infer, 0)->rank != 4)
        return infer_fail(infer, "its input has %d dimensions instead of 4",
                          infer_shape(infer, 0)->rank);
    if (*out_size < 1 || *out_size > 1 << 15)
        return infer_fail(infer, "its blocks have the size %" PRId64, *out_size);
    return 0;
}

int shape_depth_to_space(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    int64_t block;
    int rc = block_size(infer, &block);

    if (rc == 0 && out.dims[1] % (block * block) != 0)
        rc =
            infer_fail(infer, "%" PRId64 " channels are no blocks of %" PRId64, out.dims[1], block);
    if (rc < 0)
        return rc;
    out.dims[1] /= block * block;
    out.dims[2] *= block;
    out.dims[3] *= block;
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_space_to_depth(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    int64_t block;
    int rc = block_size(infer, &block);

    if (rc == 0 && (out.dims[2] % block != 0 || out.dims[3] % block != 0))
        rc = infer_fail(infer, "its input is no multiple of %" PRId64, block);
    if (rc < 0)
        return rc;
    out.dims[1] *= block * block;
    out.dims[2] /= block;
    out.dims[3] /= block;
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

/* Input 1: the new size of each axis that attribute axes names, or of all. */
int shape_center(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    int64_t *sizes = NULL;
    size_t count, named;
    const int64_t *axes = node_ints(infer->node, "axes", &named);
    int rc = infer_ints(infer, 1, &sizes, &count);

    if (rc == 0 && count != (axes ? named : (size_t)out.rank))
        rc = infer_fail(infer, "it has %zu sizes for its axes", count);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        int axis;

        rc = infer_axis(infer, axes ? axes[i] : (int64_t)i, out.rank, &axis);
        if (rc == 0 && sizes[i] < 0)
            rc = infer_fail(infer, "it asks for the dimension %" PRId64, sizes[i]);
        if (rc == 0)
            out.dims[axis] = sizes[i];
    }
    free(sizes);
    return rc < 0 ? rc : infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

int shape_constant_of_shape(struct infer *infer)
{
    const struct attribute *value = node_attribute(infer->node, "value");
    enum dtype dtype = DTYPE_F32;
    struct shape out;
    int64_t *dims;
    size_t count;
    int rc = infer_ints(infer, 0, &dims, &count);

    if (rc < 0)
        return rc;
    if (value && (value->type != ATTRIBUTE_TENSOR || shape_elements(&value->tensor.shape) != 1)) {
        rc = infer_fail(infer, "attribute value is not one element");
        goto out;
    }
    if (value)
        dtype = value->tensor.dtype;
    if (count > SHAPE_MAX_RANK) {
        rc = infer_unsupported(infer, "its output has %zu dimensions", count);
        goto out;
    }
    out.rank = (int)count;
    for (size_t i = 0; i < count; i++) {
        if (dims[i] < 0)
            rc = infer_fail(infer, "it asks for the dimension %" PRId64, dims[i]);
        out.dims[i] = dims[i];
    }
out:
    free(dims);
    return rc < 0 ? rc : infer_output(infer, 0, dtype, &out);
}
