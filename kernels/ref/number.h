/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of any type as f64 or int64, for the reference kernels. Inside kernels/ref only.
 */
#ifndef OPTRACE_KERNELS_REF_NUMBER_H
#define OPTRACE_KERNELS_REF_NUMBER_H

#include "kernels/dtype.h"

double ref_half_to_f64(uint16_t half);
double ref_brain_to_f64(uint16_t brain);
/** Of a uint64 the same bits. */
static inline int64_t ref_get_i64(const void *x, enum kernel_dtype dtype, int64_t i)
{
    switch (dtype) {
    case KERNEL_I8:
    case KERNEL_I4:
    case KERNEL_I2:
        return ((const int8_t *)x)[i];
    case KERNEL_I16:
        return ((const int16_t *)x)[i];
    case KERNEL_I32:
        return ((const int32_t *)x)[i];
    case KERNEL_I64:
    case KERNEL_U64:
        return ((const int64_t *)x)[i];
    case KERNEL_U16:
        return ((const uint16_t *)x)[i];
    case KERNEL_U32:
        return ((const uint32_t *)x)[i];
    default:
        return ((const uint8_t *)x)[i];
    }
}

/** Of a small float; see small.h. */
double ref_small_to_f64(uint8_t code, enum kernel_dtype dtype);

static inline double ref_get_f64(const void *x, enum kernel_dtype dtype, int64_t i)
{
    switch (dtype) {
    case KERNEL_F32:
        return (double)((const float *)x)[i];
    case KERNEL_F64:
        return ((const double *)x)[i];
    case KERNEL_F16:
        return ref_half_to_f64(((const uint16_t *)x)[i]);
    case KERNEL_BF16:
        return ref_brain_to_f64(((const uint16_t *)x)[i]);
    case KERNEL_U64:
        return (double)((const uint64_t *)x)[i];
    case KERNEL_F8E4M3FN:
    case KERNEL_F8E4M3FNUZ:
    case KERNEL_F8E5M2:
    case KERNEL_F8E5M2FNUZ:
    case KERNEL_F4E2M1:
    case KERNEL_F8E8M0:
        return ref_small_to_f64(((const uint8_t *)x)[i], dtype);
    default:
        return (double)ref_get_i64(x, dtype, i);
    }
}

/** A whole number that is ordered as the type orders it: of a uint64 its distance to the middle. */
static inline int64_t ref_order(int64_t number, enum kernel_dtype dtype)
{
    return dtype == KERNEL_U64 ? (int64_t)((uint64_t)number ^ (uint64_t)INT64_MIN) : number;
}

static inline int64_t ref_get_order(const void *x, enum kernel_dtype dtype, int64_t i)
{
    return ref_order(ref_get_i64(x, dtype, i), dtype);
}

/** Keeps the low bits. */
static inline void ref_set_i64(void *y, enum kernel_dtype dtype, int64_t i, int64_t number)
{
    switch (dtype) {
    case KERNEL_I16:
    case KERNEL_U16:
        ((uint16_t *)y)[i] = (uint16_t)number;
        break;
    case KERNEL_I32:
    case KERNEL_U32:
        ((uint32_t *)y)[i] = (uint32_t)number;
        break;
    case KERNEL_I64:
    case KERNEL_U64:
        ((int64_t *)y)[i] = number;
        break;
    default:
        ((uint8_t *)y)[i] = (uint8_t)number;
        break;
    }
}

/** Real types round; integer types cut off and saturate (NaN is 0); bool is != 0. */
void ref_set_f64(void *y, enum kernel_dtype dtype, int64_t i, double number);

/** The limits of an integer type, bool being 0 and 1; of uint64 as ref_get_i64() gives them. */
int64_t ref_lowest(enum kernel_dtype dtype);
int64_t ref_highest(enum kernel_dtype dtype);

/** Step an odometer over dims, the last axis fastest. False when it has come round to all zero. */
static inline bool ref_step(int64_t *at, const int64_t *dims, int rank)
{
    for (int i = rank - 1; i >= 0; i--) {
        if (++at[i] < dims[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static inline int64_t ref_product(const int64_t *dims, int rank)
{
    int64_t product = 1;

    for (int i = 0; i < rank; i++)
        product *= dims[i];
    return product;
}

static inline int64_t ref_offset(const int64_t *at, const int64_t *strides, int rank)
{
    int64_t offset = 0;

    for (int i = 0; i < rank; i++)
        offset += at[i] * strides[i];
    return offset;
}

#endif
