/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenVINO has no function of C for the layers of a model that runs, and no header of its C++ is
 * used: symbols of its library are called as the compiler of C++ calls them, results of class type go
 * where the first argument points to. Those of an old std::string have other symbols, and no shapes.
 */
#include "client/inject/openvino.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/names.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"

#define CREATE     _ZN2ov13CompiledModel20create_infer_requestEv
#define TEXT_(x)   #x
#define TEXT_OF(x) TEXT_(x)

enum { KEY_LAYER = 109, MODELS_MAX = 256, NAME_MAX_BYTES = NAMES_KEY_BYTES - 8 };

/* std::string, std::shared_ptr and std::vector of these, as libstdc++ has them since C++11. */
struct text {
    char *bytes;
    size_t length;
    char inside[16];
};

struct control {
    void (**functions)(struct control *control); /* 2: drop the object, 3: drop this */
    int32_t uses, weak_uses;
};

struct pointer {
    void *object;
    struct control *control;
};

struct pointers {
    struct pointer *begin, *end, *limit;
};

typedef void *create_type(void *result, void *compiled);
OT_HOOK create_type CREATE;
static struct real create_real = {TEXT_OF(CREATE), (void (*)(void))CREATE, {NULL}};

struct library {
    int (*runtime_model)(const void *compiled, void **out_model);
    void (*free_model)(void *model);
    void *(*ordered)(struct pointers *result, const void *model);
    const struct text *(*name)(const void *node);
    size_t (*input_count)(const void *node);
    size_t (*output_count)(const void *node);
    const void *(*input)(const void *node, size_t place);
    const void *(*output)(const void *node, size_t place);
    void *(*to_text)(struct text *result, const void *shape);
};

struct layer {
    struct openvino_layer is;
    bool is_ambiguous;
};

struct layer_key {
    uint64_t kind;
    char name[NAME_MAX_BYTES];
};

uint32_t openvino_generation;
bool openvino_repeats_name;

static const void *models[MODELS_MAX]; /* that were read */
static uint32_t model_count;

/* --- Layers by name --- */

static uint64_t make_layer(const void *context)
{
    struct layer *made = calloc(1, sizeof(*made));

    if (made)
        made->is = *(const struct openvino_layer *)context;
    return (uintptr_t)made;
}

static size_t fill_key(struct layer_key *key, const char *name)
{
    const size_t length = strnlen(name, NAME_MAX_BYTES - 1);

    key->kind = KEY_LAYER;
    memcpy(key->name, name, length);
    key->name[length] = '\0';
    return offsetof(struct layer_key, name) + length + 1;
}

const struct openvino_layer *openvino_layer_find(const char *name)
{
    struct layer_key key;
    const size_t bytes = fill_key(&key, name);
    const struct layer *found = (struct layer *)(uintptr_t)names_known(&key, bytes);

    return found && !__atomic_load_n(&found->is_ambiguous, __ATOMIC_RELAXED) ? &found->is : NULL;
}

static void put_layer(const char *name, const struct openvino_layer *layer)
{
    struct layer_key key;
    const size_t bytes = fill_key(&key, name);
    struct layer *known = (struct layer *)(uintptr_t)names_find(&key, bytes, make_layer, layer);

    if (!known || memcmp(&known->is, layer, sizeof(*layer)) == 0 ||
        __atomic_exchange_n(&known->is_ambiguous, true, __ATOMIC_RELAXED))
        return;
    __atomic_add_fetch(&openvino_generation, 1, __ATOMIC_RELAXED);
}

/* --- A model --- */

/* "[1,3,224,224]"; one with a size that is not fixed is not known. */
static struct op_flop_shape read_shape(const char *text)
{
    struct op_flop_shape shape = {.rank = 0}, unknown = {.rank = -1};

    if (*text++ != '[')
        return unknown;
    while (*text != ']') {
        char *end;
        const long long dim = strtoll(text, &end, 10);

        if (end == text || (*end != ',' && *end != ']') || shape.rank == OP_FLOP_RANK_MAX)
            return unknown;
        shape.dims[shape.rank++] = dim;
        text = end + (*end == ',');
    }
    return shape;
}

static struct op_flop_shape shape_of(const struct library *library, const void *partial_shape)
{
    struct op_flop_shape shape;
    struct text text;

    library->to_text(&text, partial_shape);
    shape = read_shape(text.bytes);
    if (text.bytes != text.inside)
        free(text.bytes);
    return shape;
}

static void read_node(const struct library *library, const void *node)
{
    struct openvino_layer layer = {.output.rank = -1};
    const size_t inputs = library->input_count(node);

    if (inputs == 0 || library->output_count(node) == 0)
        return;
    for (; layer.input_count < inputs && layer.input_count < OPENVINO_INPUTS_MAX;
         layer.input_count++)
        layer.inputs[layer.input_count] =
            shape_of(library, library->input(node, layer.input_count));
    layer.output = shape_of(library, library->output(node, 0));
    put_layer(library->name(node)->bytes, &layer);
}

static void drop(struct pointer pointer)
{
    struct control *control = pointer.control;

    if (!control || __atomic_fetch_sub(&control->uses, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    control->functions[2](control);
    if (__atomic_fetch_sub(&control->weak_uses, 1, __ATOMIC_ACQ_REL) == 1)
        control->functions[3](control);
}

static void read_model(const struct library *library, void *compiled)
{
    /* what its C interface has for a compiled model; nothing counts its uses */
    const struct pointer handle = {compiled, NULL};
    struct pointers nodes = {NULL, NULL, NULL};
    void *model = NULL;

    if (library->runtime_model(&handle, &model) != 0 || !model)
        return;
    library->ordered(&nodes, ((struct pointer *)model)->object);
    for (struct pointer *node = nodes.begin; node < nodes.end; node++) {
        read_node(library, node->object);
        drop(*node);
    }
    free(nodes.begin);
    library->free_model(model);
}

/* --- Its library --- */

static bool find_core(void *handle, struct library *out_library)
{
    *(void **)&out_library->ordered = dlsym(handle, "_ZNK2ov5Model15get_ordered_opsEv");
    *(void **)&out_library->name = dlsym(handle, "_ZNK2ov4Node17get_friendly_nameB5cxx11Ev");
    *(void **)&out_library->input_count = dlsym(handle, "_ZNK2ov4Node14get_input_sizeEv");
    *(void **)&out_library->output_count = dlsym(handle, "_ZNK2ov4Node15get_output_sizeEv");
    *(void **)&out_library->input = dlsym(handle, "_ZNK2ov4Node23get_input_partial_shapeEm");
    *(void **)&out_library->output = dlsym(handle, "_ZNK2ov4Node24get_output_partial_shapeEm");
    *(void **)&out_library->to_text = dlsym(handle, "_ZNK2ov12PartialShape9to_stringB5cxx11Ev");
    return out_library->ordered && out_library->name && out_library->input_count &&
           out_library->output_count && out_library->input && out_library->output &&
           out_library->to_text;
}

/* Its C interface lies beside it, and catches what is thrown. */
static void *open_beside(const char *path)
{
    static const char base[] = "libopenvino.so";
    const char *name = strstr(path, base);
    char beside[4096];

    if (!name ||
        (size_t)snprintf(beside, sizeof(beside), "%.*slibopenvino_c.so%s", (int)(name - path), path,
                         name + sizeof(base) - 1) >= sizeof(beside))
        return NULL;
    return dlopen(beside, RTLD_NOW | RTLD_LOCAL);
}

/* Up to 2026.2 each layer is told by the name of the first: it would have its shapes, too. */
static bool tells_names(void *c)
{
    struct {
        const char *build, *description;
    } version = {NULL, NULL};
    int (*get)(void *out_version);
    void (*release)(void *version);
    int year = 0, release_number = 0;

    *(void **)&get = dlsym(c, "ov_get_openvino_version");
    *(void **)&release = dlsym(c, "ov_version_free");
    if (!get || !release || get(&version) != 0)
        return false;
    if (!version.build || sscanf(version.build, "%d.%d", &year, &release_number) != 2)
        year = 0;
    release(&version);
    if (year == 2026 && release_number <= 2)
        __atomic_store_n(&openvino_repeats_name, true, __ATOMIC_RELAXED);
    return year > 2026 || (year == 2026 && release_number > 2);
}

static bool find_library(const void *function, struct library *out_library)
{
    Dl_info place;
    void *handle = NULL, *c = NULL;
    bool is_found;

    if (dladdr(function, &place) != 0)
        handle = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    is_found = handle && find_core(handle, out_library);
    if (is_found)
        c = open_beside(place.dli_fname); /* stays open: it has made what the program may keep */
    if (c && tells_names(c)) {
        *(void **)&out_library->runtime_model = dlsym(c, "ov_compiled_model_get_runtime_model");
        *(void **)&out_library->free_model = dlsym(c, "ov_model_free");
    }
    if (handle)
        dlclose(handle);
    return c && out_library->runtime_model && out_library->free_model;
}

/* Needs the lock. */
static bool is_new(const void *model)
{
    for (uint32_t i = 0; i < model_count; i++) {
        if (models[i] == model)
            return false;
    }
    if (model_count == MODELS_MAX)
        return false;
    models[model_count++] = model;
    return true;
}

static __attribute__((noinline)) void look_at(const void *function, void *compiled)
{
    static struct library library;
    static bool is_asked, is_found;
    static OT_TLS bool is_reading;

    if (is_reading) /* what reading a model asks for itself */
        return;
    is_reading = true;
    recorder_lock(RECORDER_LOCK_OPENVINO);
    if (!is_asked)
        is_found = find_library(function, &library);
    is_asked = true;
    if (is_found && is_new(*(void **)compiled))
        read_model(&library, compiled);
    recorder_unlock(RECORDER_LOCK_OPENVINO);
    is_reading = false;
}

void *CREATE(void *result, void *compiled)
{
    create_type *const theirs = (create_type *)real_find(&create_real, __builtin_return_address(0));

    if (recorder_wants("itt") && recorder_is_on())
        look_at((const void *)theirs, compiled);
    return theirs(result, compiled);
}
