/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that were seen, each with what was found out of it once. */
#include "client/inject/ggml_layout.h"

#include <dlfcn.h>

#include "client/inject/recorder.h"

enum {
    LIBRARIES_MAX = 8,
    ARENA_BYTES = 16384,
    TENSOR_MAX = 4096,
    TYPE_F32 = 0,
    TYPE_F16 = 1,
};

/* ggml_init_params */
struct arena {
    size_t bytes;
    void *buffer;
    bool has_no_data;
};

static struct ggml_library libraries[LIBRARIES_MAX];
static uint32_t library_count; /* released; what is below it does not change */

static bool find_dims(const char *tensor, size_t bytes, struct ggml_library *library)
{
    static const int64_t dims[GGML_DIMS] = {5, 7, 1, 1};

    for (size_t at = 0; at + sizeof(dims) <= bytes; at += sizeof(dims[0])) {
        if (memcmp(tensor + at, dims, sizeof(dims)) == 0) {
            library->dims_at = (uint32_t)at;
            return library->element_count(tensor) == 35;
        }
    }
    return false;
}

static bool find_sources(const char *tensor, size_t bytes, const void *const sources[2],
                         struct ggml_library *library)
{
    const size_t pair = 2 * sizeof(sources[0]);

    for (size_t at = 0; at + pair + sizeof(sources[0]) <= bytes; at += sizeof(sources[0])) {
        if (memcmp(tensor + at, sources, pair) == 0) {
            library->sources_at = (uint32_t)at;
            return !ggml_source(library, tensor, 2);
        }
    }
    return false;
}

static bool has_type(const void *tensor, int32_t type)
{
    return memcmp(tensor, &type, sizeof(type)) == 0;
}

/* A product of two tensors has sizes of its own and two sources; its name lies inside of it. */
static void find_layout(void *handle, struct ggml_library *library)
{
    void *(*open)(struct arena arena), *(*make)(void *arena, int type, int64_t a, int64_t b);
    void *(*multiply)(void *arena, void *a, void *b), (*close)(void *arena);
    const void *sources[2];
    void *arena, *product;
    long bytes;

    *(void **)&open = dlsym(handle, "ggml_init");
    *(void **)&make = dlsym(handle, "ggml_new_tensor_2d");
    *(void **)&multiply = dlsym(handle, "ggml_mul_mat");
    *(void **)&close = dlsym(handle, "ggml_free");
    if (!open || !make || !multiply || !close)
        return;
    arena = open((struct arena){ARENA_BYTES, NULL, true});
    if (!arena)
        return;
    sources[0] = make(arena, TYPE_F16, 32, 5);
    sources[1] = make(arena, TYPE_F32, 32, 7);
    product =
        sources[0] && sources[1] ? multiply(arena, (void *)sources[0], (void *)sources[1]) : NULL;
    bytes = product ? library->name(product) - (const char *)product : 0;
    library->has_layout = bytes > 0 && bytes <= TENSOR_MAX &&
                          find_dims(product, (size_t)bytes, library) &&
                          find_sources(product, (size_t)bytes, sources, library);
    library->has_types =
        library->has_layout && has_type(sources[0], TYPE_F16) && has_type(sources[1], TYPE_F32);
    close(arena);
}

static bool fill(struct ggml_library *library, const void *compute)
{
    Dl_info place;
    void *handle;

    if (dladdr(compute, &place) == 0)
        return false;
    handle = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return false;
    *library = (struct ggml_library){.compute = compute};
    *(void **)&library->set_callback = dlsym(handle, "ggml_backend_sched_set_eval_callback");
    *(void **)&library->name = dlsym(handle, "ggml_get_name");
    *(void **)&library->kind = dlsym(handle, "ggml_op_desc");
    *(void **)&library->element_count = dlsym(handle, "ggml_nelements");
    *(void **)&library->node_count = dlsym(handle, "ggml_graph_n_nodes");
    *(void **)&library->node = dlsym(handle, "ggml_graph_node");
    if (!library->node_count || !library->node)
        library->node_count = NULL;
    if (library->set_callback && library->name && library->kind && library->element_count)
        find_layout(handle, library);
    dlclose(handle);
    return library->set_callback && library->name && library->kind && library->element_count;
}

static const struct ggml_library *find_known(const void *compute)
{
    const uint32_t count = __atomic_load_n(&library_count, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < count; i++) {
        if (libraries[i].compute == compute)
            return &libraries[i];
    }
    return NULL;
}

const struct ggml_library *ggml_library_find(const void *compute)
{
    const struct ggml_library *found = find_known(compute);

    if (found)
        return found;
    recorder_lock(RECORDER_LOCK_GGML);
    found = find_known(compute);
    if (!found && library_count < LIBRARIES_MAX && fill(&libraries[library_count], compute)) {
        found = &libraries[library_count];
        __atomic_store_n(&library_count, library_count + 1, __ATOMIC_RELEASE);
    }
    recorder_unlock(RECORDER_LOCK_GGML);
    return found;
}
