/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and limits that all contracts share. */
#ifndef OPTRACE_KERNELS_DTYPE_H
#define OPTRACE_KERNELS_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a device computes, too: its compiler is told before. */
#if !defined(KERNEL_SHARED)
#define KERNEL_SHARED static inline
#endif

/** Declares the versions that are compiled once per instruction set. */
#if defined(__x86_64__)
#define KERNEL_VERSIONS(type, name) type name##_portable, name##_avx2, name##_avx512
#else
#define KERNEL_VERSIONS(type, name) type name##_portable
#endif

/** The list that a family's header ends with declares by this: KERNEL(name, versions) is an entry of
 *  struct kernel_table with functions of type name_fn, the reference and beside it versions REF (no
 *  others), PORTABLE (one more) or EACH (one per instruction set). The same list makes the entry
 *  (kernels.h) and fills it (table.c). */
#define KERNEL_DECLARE(name, versions) name##_fn name##_ref KERNEL_DECLARE_##versions(name)
#define KERNEL_DECLARE_REF(name)
#define KERNEL_DECLARE_PORTABLE(name) , name##_portable
#define KERNEL_DECLARE_EACH(name)                                                                  \
    ;                                                                                              \
    KERNEL_VERSIONS(name##_fn, name)

enum {
    KERNEL_MAX_RANK = 8,  /* of a tensor */
    KERNEL_MAX_AXES = 16, /* of a copy: Tile needs two for each of the tensor's */
    KERNEL_SPATIAL = 3,   /* depth, height, width */
};

enum kernel_dtype {
    KERNEL_F32,
    KERNEL_F64,
    KERNEL_F16,  /* IEEE half, as uint16_t */
    KERNEL_BF16, /* the upper half of a float, as uint16_t */
    KERNEL_I8,
    KERNEL_I16,
    KERNEL_I32,
    KERNEL_I64,
    KERNEL_U8,
    KERNEL_U16,
    KERNEL_U32,
    KERNEL_BOOL, /* one byte, 0 or 1 */
    KERNEL_U64,
    KERNEL_DTYPES,

    /* Stored only, a byte for each element: see small.h. */
    KERNEL_F8E4M3FN = KERNEL_DTYPES,
    KERNEL_F8E4M3FNUZ,
    KERNEL_F8E5M2,
    KERNEL_F8E5M2FNUZ,
    KERNEL_F4E2M1,
    KERNEL_F8E8M0,
    KERNEL_I4,
    KERNEL_U4,
    KERNEL_I2,
    KERNEL_U2,
    KERNEL_STORED_DTYPES,
};

/** Bytes of one element. */
size_t kernel_dtype_bytes(enum kernel_dtype dtype);

/** True for f32, f64, f16 and bf16. */
bool kernel_dtype_is_real(enum kernel_dtype dtype);

/** Of a plan that packs weights: how they are stored, and what it may read and write as it is. A field
 *  that is left out is f32. */
struct kernel_plan_types {
    enum kernel_dtype weights; /* f32, f16 or bf16 */
    enum kernel_dtype x, y;    /* f32, or bf16 where weights are bf16 */
    bool keeps_x;              /* x is not rounded to the type of the weights */
};

#endif
