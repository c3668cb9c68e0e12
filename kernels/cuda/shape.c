/* SPDX-License-Identifier: Apache-2.0 */
/* What launchers work out of shapes. */
#include "kernels/cuda/launch.h"

int64_t cuda_product(const int64_t *dims, int rank)
{
    int64_t product = 1;

    for (int i = 0; i < rank; i++)
        product *= dims[i];
    return product;
}

struct cuda_groups cuda_groups_of(const int64_t *dims, const bool *is_reduced, int rank)
{
    struct cuda_groups groups = {.group_count = 1, .group_size = 1};
    int64_t strides[KERNEL_MAX_RANK], stride = 1;

    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i];
    }
    for (int i = 0; i < rank; i++) {
        if (is_reduced[i]) {
            groups.dims[groups.reduced] = dims[i];
            groups.stride[groups.reduced++] = strides[i];
            groups.group_size *= dims[i];
        } else {
            groups.kept_dims[groups.kept] = dims[i];
            groups.kept_stride[groups.kept++] = strides[i];
            groups.group_count *= dims[i];
        }
    }
    return groups;
}

bool cuda_are_aligned(const void *const *pointers, int count)
{
    uintptr_t bits = 0;

    for (int i = 0; i < count; i++)
        bits |= (uintptr_t)pointers[i];
    return bits % 16 == 0;
}

bool cuda_is_dense(const int64_t *dims, const int64_t *strides, int rank)
{
    int64_t stride = 1;

    for (int i = rank - 1; i >= 0; i--) {
        if (dims[i] != 1 && strides[i] != stride)
            return false;
        stride *= dims[i];
    }
    return true;
}
