/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: Fourier transforms, bands of frequencies, random numbers. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "runtime/graph/element.h"
#include "runtime/ops/shape/infer.h"

/* Input i as one whole number of at least `least`; `fallback` where it is left out. */
static int one_number(struct infer *infer, uint32_t i, int64_t least, int64_t fallback,
                      int64_t *out_number)
{
    int64_t *ints, number = fallback;
    size_t count;
    int rc = 0;

    if (infer_has(infer, i)) {
        rc = infer_ints(infer, i, &ints, &count);
        if (rc < 0)
            return rc;
        if (count != 1)
            rc = infer_fail(infer, "input %u is not one number", i);
        number = count == 1 ? ints[0] : least;
        free(ints);
    }
    if (rc == 0 && (number < least || number > TENSOR_MAX_BYTES))
        rc = infer_fail(infer, "input %u is %" PRId64, i, number);
    if (rc == 0)
        *out_number = number;
    return rc;
}

int shape_dft(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    bool is_inverse = node_int(infer->node, "inverse", 0) != 0;
    bool is_half = node_int(infer->node, "onesided", 0) != 0;
    int64_t axis = infer->opset < 20 ? node_int(infer->node, "axis", 1) : -2, length;
    int rc = infer_float(infer, 0), at;

    if (rc == 0 && infer->opset >= 20)
        rc = one_number(infer, 2, -SHAPE_MAX_RANK, axis, &axis);
    if (rc == 0)
        rc = infer_axis(infer, axis, out.rank, &at);
    if (rc < 0)
        return rc;
    if (at == out.rank - 1 || (out.dims[out.rank - 1] != 1 && out.dims[out.rank - 1] != 2))
        return infer_fail(infer, "its last dimension is not that of one or two parts of a number");
    if (is_half && !is_inverse && out.dims[out.rank - 1] != 1)
        return infer_fail(infer, "one side of what comes of complex numbers is not all of it");
    length = is_half && is_inverse ? 2 * (out.dims[at] - 1) : out.dims[at];
    rc = one_number(infer, 1, 1, length, &length);
    if (rc < 0)
        return rc;
    out.dims[at] = is_half && !is_inverse ? length / 2 + 1 : length;
    out.dims[out.rank - 1] = is_half && is_inverse ? 1 : 2;
    return infer_output(infer, 0, infer_dtype(infer, 0), &out);
}

static int number_type(struct infer *infer, const char *name, int64_t fallback, bool is_real,
                       enum dtype *out_dtype)
{
    int64_t to = node_int(infer->node, name, fallback);

    *out_dtype = DTYPE_F32;
    if (to <= 0 || to > DTYPE_BF16 || dtype_bytes((enum dtype)to) == 0 ||
        (is_real && !element_is_float((enum dtype)to)))
        return infer_unsupported(infer, "its output is of type %" PRId64, to);
    *out_dtype = (enum dtype)to;
    return 0;
}

int shape_mel(struct infer *infer)
{
    struct shape out = {.rank = 2};
    enum dtype dtype;
    int64_t length;
    int rc = number_type(infer, "output_datatype", DTYPE_F32, false, &dtype);

    if (rc == 0)
        rc = one_number(infer, 0, 0, 0, &out.dims[1]);
    if (rc == 0)
        rc = one_number(infer, 1, 1, 0, &length);
    for (uint32_t i = 2; rc == 0 && i < 5; i++)
        if (shape_elements(infer_shape(infer, i)) != 1)
            rc = infer_fail(infer, "input %u is not one number", i);
    if (rc < 0)
        return rc;
    out.dims[0] = length / 2 + 1;
    return infer_output(infer, 0, dtype, &out);
}

/* RandomNormal, RandomUniform: attribute shape. */
int shape_random(struct infer *infer)
{
    size_t rank;
    const int64_t *dims = node_ints(infer->node, "shape", &rank);
    struct shape out = {.rank = (int)rank};
    enum dtype dtype;
    int rc = number_type(infer, "dtype", DTYPE_F32, true, &dtype);

    if (rc < 0)
        return rc;
    if (!node_attribute(infer->node, "shape") || rank > SHAPE_MAX_RANK)
        return infer_fail(infer, "attribute shape has not up to %d dimensions", SHAPE_MAX_RANK);
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return infer_fail(infer, "it asks for the dimension %" PRId64, dims[i]);
        out.dims[i] = dims[i];
    }
    return infer_output(infer, 0, dtype, &out);
}

/* RandomNormalLike, RandomUniformLike. */
int shape_random_like(struct infer *infer)
{
    enum dtype dtype;
    int rc = number_type(infer, "dtype", infer_dtype(infer, 0), true, &dtype);

    return rc < 0 ? rc : infer_output(infer, 0, dtype, infer_shape(infer, 0));
}
