/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of operators (copr.h): loading them, and finding the operator of a node. */
#include "runtime/ops/extern_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *const extern_library_extras[EXTERN_LIBRARY_EXTRAS] = {
    "copr_param_device_ptr_malloc",
    "copr_param_device_ptr_free",
    "copr_param_device_ptr_h2d",
};

enum { OUTPUTS_MAX = 1 << 10 };

/* A node's descriptor. Nodes that agree in all of this do the same. */
struct made {
    char *type, *data;
    size_t data_bytes, input_count;
    struct copr_desc *desc;
};

static struct {
    pthread_mutex_t lock; /* of `made`; the rest does not change while models are there */
    void *handle;
    ARRAY_OF(const struct copr_loader *) loaders;
    ARRAY_OF(struct made) made;
    int asked_version; /* 0: not asked yet */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What libraries call */

static size_t find_loader(const char *name)
{
    size_t i = 0;

    while (i < state.loaders.count && strcmp(state.loaders.items[i]->name, name) != 0)
        i++;
    return i;
}

static int register_loader(const struct copr_loader *loader)
{
    if (!loader || !loader->name || !loader->create_desc ||
        find_loader(loader->name) < state.loaders.count)
        return 0;
    return array_push(&state.loaders, loader) == 0;
}

static int unregister_loader(const char *name)
{
    size_t place = find_loader(name);

    if (place == state.loaders.count)
        return 0;
    state.loaders.items[place] = state.loaders.items[--state.loaders.count];
    return 1;
}

static const struct copr_api *get_api(int version)
{
    static const struct copr_api api = {register_loader, unregister_loader};

    state.asked_version = version;
    return version == COPR_VERSION ? &api : NULL;
}

/* Libraries */

typedef void init_fn(copr_get_api_fn *get_api);

static int run_init(const char *path, const char *interface, struct diag *diag)
{
    void *symbol = dlsym(state.handle, interface);
    init_fn *init;

    if (!symbol)
        return diag_set(diag, -EINVAL,
                        "%s has no function %s: --c-opr-init-interface says what it is called",
                        path, interface);
    memcpy(&init, &symbol, sizeof(init)); /* ISO C knows no cast from data to functions */
    init(get_api);
    if (state.asked_version != 0 && state.asked_version != COPR_VERSION)
        return diag_set(diag, -EPROTO,
                        "%s was built for version 0x%x of the interface of C operators, and this "
                        "is 0x%x: build it anew",
                        path, (unsigned)state.asked_version, COPR_VERSION);
    if (state.loaders.count == 0)
        return diag_set(diag, -EINVAL, "%s has registered no operator in %s()", path, interface);
    return 0;
}

int extern_library_open(const char *path, const char *interface, uint32_t *out_extras,
                        struct diag *diag)
{
    uint32_t extras = 0;
    int rc;

    state.asked_version = 0;
    state.handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!state.handle)
        return diag_set(diag, -ENOENT, "cannot load the C opr library: %s", dlerror());
    rc = run_init(path, interface, diag);
    if (rc < 0) {
        extern_library_close();
        return rc;
    }
    for (int i = 0; i < EXTERN_LIBRARY_EXTRAS; i++)
        extras |= (uint32_t)(dlsym(state.handle, extern_library_extras[i]) != NULL) << i;
    *out_extras = extras;
    return 0;
}

static void free_made(struct made *made)
{
    if (made->desc && made->desc->release)
        made->desc->release(made->desc);
    free(made->type);
    free(made->data);
}

void extern_library_close(void)
{
    for (size_t i = 0; i < state.made.count; i++)
        free_made(&state.made.items[i]);
    array_deinit(&state.made);
    array_deinit(&state.loaders);
    if (state.handle)
        dlclose(state.handle);
    state.handle = NULL;
}

/* Descriptors */

bool extern_op_is(const struct node *node)
{
    return strcmp(node->domain, COPR_DOMAIN) == 0;
}

static bool is_made_for(const struct made *made, const struct made *wanted)
{
    return strcmp(made->type, wanted->type) == 0 && made->input_count == wanted->input_count &&
           made->data_bytes == wanted->data_bytes &&
           (made->data_bytes == 0 || memcmp(made->data, wanted->data, made->data_bytes) == 0);
}

static int check_desc(const struct copr_desc *desc, const struct node *node, struct diag *diag)
{
    if (!desc)
        return diag_set(diag, -EINVAL,
                        "its library refuses the node's %u inputs or its attribute "
                        "'" COPR_ATTRIBUTE "'",
                        node->input_count);
    if (desc->size != sizeof(*desc))
        return diag_set(diag, -EINVAL,
                        "its library's descriptor has %u bytes, not %zu: it was built for another "
                        "interface",
                        desc->size, sizeof(*desc));
    if (!desc->release || !desc->execute || !desc->infer_shape)
        return diag_set(diag, -EINVAL, "its library's descriptor lacks a function");
    if (desc->output_count < node->output_count || desc->output_count > OUTPUTS_MAX)
        return diag_set(diag, -EINVAL, "it has %u outputs, and its library computes %u",
                        node->output_count, desc->output_count);
    return 0;
}

/* wanted: texts borrowed; copied where it is kept. */
static int make(const struct node *node, const struct made *wanted, struct diag *diag)
{
    size_t place = find_loader(node->op_type);
    struct made made = *wanted;
    int rc;

    if (place == state.loaders.count)
        return diag_set(diag, -ENOTSUP,
                        state.handle
                            ? "the library of --c-opr-lib registers no operator '%.60s'"
                            : "it needs a library that registers '%.60s': --c-opr-lib FILE",
                        node->op_type);
    made.type = strdup(wanted->type);
    made.data = malloc(wanted->data_bytes + 1);
    if (!made.type || !made.data) {
        free_made(&made);
        return diag_set(diag, -ENOMEM, "out of memory");
    }
    memcpy(made.data, wanted->data ? wanted->data : "", wanted->data_bytes);
    made.desc =
        state.loaders.items[place]->create_desc(made.input_count, made.data, made.data_bytes);
    rc = check_desc(made.desc, node, diag);
    if (made.desc && made.desc->size != sizeof(*made.desc))
        made.desc = NULL; /* where its release() would be is not known */
    if (rc == 0 && array_push(&state.made, made) < 0)
        rc = diag_set(diag, -ENOMEM, "out of memory");
    if (rc < 0)
        free_made(&made);
    return rc;
}

int extern_op_find(const struct node *node, const struct copr_desc **out_desc, struct diag *diag)
{
    const struct attribute *data = node_attribute(node, COPR_ATTRIBUTE);
    struct made wanted = {.type = node->op_type, .input_count = node->input_count};
    size_t i = 0;
    int rc = 0;

    if (data && data->type != ATTRIBUTE_STRING)
        return diag_set(diag, -EINVAL, "its attribute '" COPR_ATTRIBUTE "' is not a string");
    if (data) {
        wanted.data = data->s;
        wanted.data_bytes = data->s_bytes;
    }
    pthread_mutex_lock(&state.lock);
    while (i < state.made.count && !is_made_for(&state.made.items[i], &wanted))
        i++;
    if (i == state.made.count)
        rc = make(node, &wanted, diag);
    if (rc == 0)
        *out_desc = state.made.items[i].desc;
    pthread_mutex_unlock(&state.lock);
    return rc == 0 ? check_desc(*out_desc, node, diag) : rc;
}

/* Shapes */

static const enum dtype dtypes[] = {
    [COPR_FLOAT32] = DTYPE_F32, [COPR_INT32] = DTYPE_I32, [COPR_UINT8] = DTYPE_U8,
    [COPR_FLOAT16] = DTYPE_F16, [COPR_INT16] = DTYPE_I16,
};
enum { DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

enum dtype extern_op_dtype(uint32_t dtype)
{
    return dtype < DTYPES ? dtypes[dtype] : DTYPE_NONE;
}

static uint32_t number_of(enum dtype dtype)
{
    uint32_t i = 0;

    while (i < DTYPES && dtypes[i] != dtype)
        i++;
    return i;
}

struct copr_layout extern_op_layout(const struct tensor_view *view)
{
    struct copr_layout layout = {number_of(view->dtype), {1, {1}}};

    if (view->shape.rank > 0)
        layout.shape.rank = (uint32_t)view->shape.rank;
    for (int i = 0; i < view->shape.rank; i++)
        layout.shape.dims[i] = (uint32_t)view->shape.dims[i];
    return layout;
}

static int check_inputs(const struct tensor_view *inputs, uint32_t count, struct diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        if (inputs[i].dtype == DTYPE_NONE)
            return diag_set(diag, -ENOTSUP, "input %u is left out, which C operators do not know",
                            i);
        if (number_of(inputs[i].dtype) == DTYPES)
            return diag_set(diag, -ENOTSUP,
                            "input %u is %s, and C operators know float32, int32, uint8, float16 "
                            "and int16",
                            i, dtype_name(inputs[i].dtype));
        for (int axis = 0; axis < inputs[i].shape.rank; axis++)
            if (inputs[i].shape.dims[axis] > UINT32_MAX)
                return diag_set(diag, -ENOTSUP, "input %u is too large for a C operator", i);
    }
    return 0;
}

static int infer_dtypes(const struct copr_desc *desc, const uint32_t *inputs, uint32_t input_count,
                        uint32_t *outputs, struct diag *diag)
{
    for (uint32_t i = 0; i < desc->output_count; i++)
        outputs[i] = UINT32_MAX;
    if (desc->infer_dtype)
        desc->infer_dtype(desc, inputs, outputs);
    for (uint32_t i = 0; !desc->infer_dtype && i < input_count; i++)
        if (inputs[i] != inputs[0])
            return diag_set(diag, -EINVAL,
                            "its inputs are of several dtypes, which its library does not take");
    for (uint32_t i = 0; i < desc->output_count; i++) {
        if (!desc->infer_dtype && input_count > 0)
            outputs[i] = inputs[0];
        if (extern_op_dtype(outputs[i]) == DTYPE_NONE)
            return diag_set(diag, -EINVAL,
                            "its library gives no dtype for output %u, so it does not take inputs "
                            "of these dtypes",
                            i);
    }
    return 0;
}

static int infer_shapes(const struct copr_desc *desc, const struct copr_shape *inputs,
                        struct copr_shape *outputs, struct diag *diag)
{
    memset(outputs, 0, desc->output_count * sizeof(*outputs));
    desc->infer_shape(desc, inputs, outputs);
    for (uint32_t i = 0; i < desc->output_count; i++)
        if (outputs[i].rank == 0 || outputs[i].rank > COPR_MAX_RANK)
            return diag_set(diag, -EINVAL,
                            "its library gives no shape for output %u, so it does not take inputs "
                            "of these shapes",
                            i);
    return 0;
}

int extern_op_infer(const struct copr_desc *desc, const struct tensor_view *inputs,
                    uint32_t input_count, struct copr_layout *outputs, struct diag *diag)
{
    size_t count = (size_t)input_count + desc->output_count + 1;
    struct copr_shape *shapes = calloc(count, sizeof(*shapes));
    uint32_t *numbers = calloc(count, sizeof(*numbers));
    int rc = shapes && numbers ? check_inputs(inputs, input_count, diag)
                               : diag_set(diag, -ENOMEM, "out of memory");

    for (uint32_t i = 0; rc == 0 && i < input_count; i++) {
        struct copr_layout layout = extern_op_layout(&inputs[i]);

        shapes[i] = layout.shape;
        numbers[i] = layout.dtype;
    }
    if (rc == 0)
        rc = infer_dtypes(desc, numbers, input_count, numbers + input_count, diag);
    if (rc == 0)
        rc = infer_shapes(desc, shapes, shapes + input_count, diag);
    for (uint32_t i = 0; rc == 0 && i < desc->output_count; i++)
        outputs[i] = (struct copr_layout){numbers[input_count + i], shapes[input_count + i]};
    free(shapes);
    free(numbers);
    return rc;
}
