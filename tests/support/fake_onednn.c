/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small library in place of oneDNN 3: two primitives that compute nothing, with descriptors that
 * nobody can read, and that are asked for.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { KIND_CONVOLUTION = 3, KIND_MATMUL = 19 };

/* As unlike a descriptor of 2.x as can be. */
struct memory {
    const char *nothing;
    int type, rank;
    int64_t dims[12];
};

struct primitive {
    int kind;
    struct memory tensors[3]; /* src, weights, dst */
};

struct version {
    int major, minor, patch;
};

static struct primitive primitives[] = {
    {KIND_CONVOLUTION,
     {{"", 3, 4, {1, 8, 10, 10}}, {"", 3, 5, {2, 6, 4, 3, 3}}, {"", 3, 4, {1, 12, 10, 10}}}},
    {KIND_MATMUL, {{"", 2, 2, {16, 40}}, {"", 2, 2, {40, 24}}, {"", 8, 2, {16, 24}}}},
};

EXPORT int dnnl_primitive_execute(const void *primitive, void *stream, int count,
                                  const void *arguments);
EXPORT const void *fake_onednn_primitive(int place);
EXPORT int dnnl_primitive_get_primitive_desc(const void *primitive, const void **out_description);
EXPORT int dnnl_primitive_desc_query(const struct primitive *description, int what, int index,
                                     void *out);
EXPORT const void *dnnl_primitive_desc_query_md(const struct primitive *description, int what,
                                                int index);
EXPORT int dnnl_memory_desc_query(const struct memory *memory, int what, void *out);
EXPORT const char *dnnl_prim_kind2str(int kind);
EXPORT const struct version *dnnl_version(void);

int dnnl_primitive_execute(const void *primitive, void *stream, int count, const void *arguments)
{
    return count;
}

const void *fake_onednn_primitive(int place)
{
    return &primitives[place];
}

int dnnl_primitive_get_primitive_desc(const void *primitive, const void **out_description)
{
    *out_description = primitive;
    return 0;
}

int dnnl_primitive_desc_query(const struct primitive *description, int what, int index, void *out)
{
    if (what == 2)
        *(int *)out = description->kind;
    else if (what == 8)
        *(const char **)out = "jit:fake";
    return what == 2 || what == 8 ? 0 : 2;
}

const void *dnnl_primitive_desc_query_md(const struct primitive *description, int what, int index)
{
    return what == 129   ? &description->tensors[0]
           : what == 131 ? &description->tensors[1]
           : what == 133 ? &description->tensors[2]
                         : NULL;
}

int dnnl_memory_desc_query(const struct memory *memory, int what, void *out)
{
    if (what == 256)
        *(int *)out = memory->rank;
    else if (what == 257)
        *(const int64_t **)out = memory->dims;
    else if (what == 258)
        *(int *)out = memory->type;
    return what >= 256 && what <= 258 ? 0 : 2;
}

const char *dnnl_prim_kind2str(int kind)
{
    return kind == KIND_CONVOLUTION ? "convolution" : "matmul";
}

const struct version *dnnl_version(void)
{
    static const struct version version = {3, 9, 0};

    return &version;
}
