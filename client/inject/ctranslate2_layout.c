/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of three types are made in memory of ours, one of them is given sizes that occur nowhere
 * else. The words where these are, and the one that differs as the types do, are what is looked for.
 */
#include "client/inject/ctranslate2_layout.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum { WORDS = 64, RANK = 3, TYPES = 3, TYPE_MAX = 31 };

/* A std::vector of sizes. */
struct sizes {
    const int64_t *begin, *end, *room;
};

typedef void construct_type(void *tensor, int dtype, int device);
typedef void *view_type(void *tensor, void *data, struct sizes *shape);
typedef int64_t dim_type(const void *tensor, int64_t place);

#define UNKNOWN SIZE_MAX

static size_t sizes_at = UNKNOWN, dtype_at = UNKNOWN; /* bytes */

/* The only vector of the sizes that the tensor was given; -1: there is none, or more than one. */
static int find_sizes(const uint64_t words[WORDS], const int64_t sizes[RANK])
{
    int found = -1;

    for (int i = 0; i + 1 < WORDS; i++) {
        const int64_t *place;

        if (!words[i] || words[i + 1] - words[i] != RANK * sizeof(sizes[0]) || words[i] % 8 != 0)
            continue;
        memcpy(&place, &words[i], sizeof(place));
        if (memcmp(place, sizes, RANK * sizeof(sizes[0])) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

static size_t find_dtype(construct_type *construct)
{
    static const uint32_t types[TYPES] = {0, 3, 1};
    static _Alignas(16) uint32_t tensors[TYPES][2 * WORDS]; /* they stay: what they have may, too */
    size_t found = UNKNOWN;

    for (int k = 0; k < TYPES; k++)
        construct(tensors[k], (int)types[k], 0);
    for (size_t i = 0; i < 2 * (size_t)WORDS; i++) {
        if (tensors[0][i] != types[0] || tensors[1][i] != types[1] || tensors[2][i] != types[2])
            continue;
        if (found != UNKNOWN)
            return UNKNOWN;
        found = i * sizeof(tensors[0][0]);
    }
    return found;
}

bool ctranslate2_layout_find(void *library)
{
    static const int64_t given[RANK] = {3, 11, 7};
    static _Alignas(16) uint64_t tensor[WORDS];
    static int64_t own[RANK];
    static float data[3 * 11 * 7];
    struct sizes shape = {own, own + RANK, own + RANK};
    construct_type *construct;
    view_type *view;
    dim_type *dim;
    int found;

    *(void **)&construct =
        dlsym(library, "_ZN11ctranslate211StorageViewC1ENS_8DataTypeENS_6DeviceE");
    *(void **)&view = dlsym(library, "_ZN11ctranslate211StorageView4viewEPvSt6vectorIlSaIlEE");
    *(void **)&dim = dlsym(library, "_ZNK11ctranslate211StorageView3dimEl");
    if (!construct || !view || !dim)
        return false;
    memcpy(own, given, sizeof(own));
    construct(tensor, 0, 0);
    view(tensor, data, &shape);
    found = find_sizes(tensor, given);
    if (found < 0)
        return false;
    for (int i = 0; i < RANK; i++) {
        if (dim(tensor, i) != given[i])
            return false;
    }
    sizes_at = (size_t)found * sizeof(tensor[0]);
    dtype_at = find_dtype(construct);
    return true;
}

bool ctranslate2_layout_read(const void *tensor, struct ctranslate2_tensor *out_tensor)
{
    struct sizes sizes;
    size_t bytes;

    memset(out_tensor, 0, sizeof(*out_tensor));
    out_tensor->rank = out_tensor->dtype = -1;
    if (sizes_at == UNKNOWN || !tensor)
        return true;
    memcpy(&sizes, (const char *)tensor + sizes_at, sizeof(sizes));
    bytes = (size_t)((uintptr_t)sizes.end - (uintptr_t)sizes.begin);
    if ((uintptr_t)sizes.begin % sizeof(int64_t) != 0 || bytes % sizeof(int64_t) != 0 ||
        (uintptr_t)sizes.end > (uintptr_t)sizes.room || bytes > 64 * sizeof(int64_t))
        return false;
    if (dtype_at != UNKNOWN)
        memcpy(&out_tensor->dtype, (const char *)tensor + dtype_at, sizeof(out_tensor->dtype));
    if (out_tensor->dtype < -1 || out_tensor->dtype > TYPE_MAX)
        return false;
    if (bytes > sizeof(out_tensor->dims))
        return true;
    out_tensor->rank = (int32_t)(bytes / sizeof(int64_t));
    for (int i = 0; i < out_tensor->rank; i++) {
        out_tensor->dims[i] = sizes.begin[i];
        if (sizes.begin[i] < 0)
            return false;
    }
    return true;
}
