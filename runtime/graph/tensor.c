/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and shapes: sizes, names, comparison, text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/graph/graph.h"

static const struct {
    const char *name;
    uint8_t bytes;
} dtypes[] = {
    [DTYPE_NONE] = {"undefined", 0},
    [DTYPE_F32] = {"float32", 4},
    [DTYPE_U8] = {"uint8", 1},
    [DTYPE_I8] = {"int8", 1},
    [DTYPE_U16] = {"uint16", 2},
    [DTYPE_I16] = {"int16", 2},
    [DTYPE_I32] = {"int32", 4},
    [DTYPE_I64] = {"int64", 8},
    [DTYPE_STRING] = {"string", 8},
    [DTYPE_BOOL] = {"bool", 1},
    [DTYPE_F16] = {"float16", 2},
    [DTYPE_F64] = {"float64", 8},
    [DTYPE_U32] = {"uint32", 4},
    [DTYPE_U64] = {"uint64", 8},
    [DTYPE_BF16] = {"bfloat16", 2},
    [DTYPE_F8E4M3FN] = {"float8e4m3fn", 1},
    [DTYPE_F8E4M3FNUZ] = {"float8e4m3fnuz", 1},
    [DTYPE_F8E5M2] = {"float8e5m2", 1},
    [DTYPE_F8E5M2FNUZ] = {"float8e5m2fnuz", 1},
    [DTYPE_U4] = {"uint4", 1},
    [DTYPE_I4] = {"int4", 1},
    [DTYPE_F4E2M1] = {"float4e2m1", 1},
    [DTYPE_F8E8M0] = {"float8e8m0", 1},
    [DTYPE_U2] = {"uint2", 1},
    [DTYPE_I2] = {"int2", 1},
};

size_t dtype_bytes(enum dtype dtype)
{
    return (size_t)dtype < sizeof(dtypes) / sizeof(dtypes[0]) ? dtypes[dtype].bytes : 0;
}

size_t dtype_file_bits(enum dtype dtype)
{
    if (dtype == DTYPE_U4 || dtype == DTYPE_I4 || dtype == DTYPE_F4E2M1)
        return 4;
    return dtype == DTYPE_U2 || dtype == DTYPE_I2 ? 2 : 8 * dtype_bytes(dtype);
}

const char *dtype_name(enum dtype dtype)
{
    const char *name =
        (size_t)dtype < sizeof(dtypes) / sizeof(dtypes[0]) ? dtypes[dtype].name : NULL;

    return name ? name : "unknown";
}

bool shape_is_known(const struct shape *shape)
{
    if (shape->rank < 0)
        return false;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0)
            return false;
    }
    return true;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i])
            return false;
    }
    return true;
}

int64_t shape_elements(const struct shape *shape)
{
    int64_t count = 1;
    bool is_empty = false;

    if (!shape_is_known(shape))
        return -1;
    /* Beside a length of 0 the others are bounded too: strides are products of some of them. */
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] > TENSOR_MAX_BYTES / count)
            return -1;
        is_empty = is_empty || shape->dims[i] == 0;
        count *= shape->dims[i] > 0 ? shape->dims[i] : 1;
    }
    return is_empty ? 0 : count;
}

int64_t shape_bytes(const struct shape *shape, enum dtype dtype)
{
    int64_t count = shape_elements(shape);
    int64_t bytes = (int64_t)dtype_bytes(dtype);

    if (count < 0 || bytes == 0 || count > TENSOR_MAX_BYTES / bytes)
        return -1;
    return count * bytes;
}

const char *shape_text(const struct shape *shape, char out[SHAPE_TEXT_BYTES])
{
    size_t used = 0;

    if (shape->rank < 0)
        return strcpy(out, "?");
    out[used++] = '{';
    for (int i = 0; i < shape->rank; i++) {
        if (i > 0)
            out[used++] = ',';
        if (shape->dims[i] < 0)
            out[used++] = '?';
        else
            used += (size_t)sprintf(out + used, "%" PRId64, shape->dims[i]);
    }
    out[used++] = '}';
    out[used] = '\0';
    return out;
}
