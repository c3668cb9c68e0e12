/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Primitives of oneDNN, where it is a shared library: kind, implementation, shapes, FLOP. They are
 * told apart by what they are, never by their address: programs make and destroy them all the time.
 * Numbers and structs are those of oneDNN's C interface, which has descriptors that are read from 2.x
 * to before 3.0, and such that are asked from 3.0 on.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"

enum {
    QUERY_KIND = 2,
    QUERY_IMPLEMENTATION = 8,
    QUERY_SRC = 129,
    QUERY_WEIGHTS = 131,
    QUERY_DST = 133,
    QUERY_RANK = 256, /* of a descriptor, from 3.0 on */
    QUERY_DIMS = 257,
    QUERY_TYPE = 258,
};
enum { DIMS_MAX = 12, TENSORS = 3, LIBRARIES_MAX = 4 };

/* A memory descriptor of 2.x; more follows. */
struct descriptor {
    int rank;
    int64_t dims[DIMS_MAX];
    int type;
};

struct version {
    int major, minor, patch;
};

typedef int execute_type(const void *primitive, void *stream, int count, const void *arguments);

/* What a copy of the library is asked with. */
struct library {
    execute_type *execute;
    int (*get_description)(const void *primitive, const void **out_description);
    int (*query)(const void *description, int what, int index, void *out);
    const void *(*query_tensor)(const void *description, int what, int index);
    int (*query_descriptor)(const void *descriptor, int what, void *out); /* from 3.0 on */
    const char *(*kind_name)(int kind);
    int major;
};

struct tensor {
    int64_t dims[DIMS_MAX];
    int32_t rank, type;
};

/* As the table of names holds it. */
struct key {
    uint64_t kind; /* tells these keys from others */
    const char *implementation;
    const char *name; /* of the kind; a text of the library's that stays */
    struct tensor tensors[TENSORS];
};

enum { KEY_PRIMITIVE = 101 };

OT_HOOK execute_type dnnl_primitive_execute;

static struct real execute_real = {
    "dnnl_primitive_execute", (void (*)(void))dnnl_primitive_execute, {NULL}};
static struct library libraries[LIBRARIES_MAX];
static size_t library_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool is_wanted;

static void ask(void)
{
    is_wanted = recorder_wants("onednn");
}

/* --- Copies of the library --- */

static bool fill_library(struct library *library, execute_type *execute)
{
    const struct version *(*version)(void);
    Dl_info place;
    void *handle;

    if (dladdr((void *)execute, &place) == 0)
        return false;
    handle = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return false;
    *(void **)&library->get_description = dlsym(handle, "dnnl_primitive_get_primitive_desc");
    *(void **)&library->query = dlsym(handle, "dnnl_primitive_desc_query");
    *(void **)&library->query_tensor = dlsym(handle, "dnnl_primitive_desc_query_md");
    *(void **)&library->query_descriptor = dlsym(handle, "dnnl_memory_desc_query");
    *(void **)&library->kind_name = dlsym(handle, "dnnl_prim_kind2str");
    *(void **)&version = dlsym(handle, "dnnl_version");
    library->major = version ? version()->major : 0;
    dlclose(handle);
    library->execute = execute;
    return library->get_description && library->query && library->query_tensor &&
           library->kind_name && library->major >= 2;
}

static const struct library *find_library(execute_type *execute)
{
    const size_t count = __atomic_load_n(&library_count, __ATOMIC_ACQUIRE);
    const struct library *found = NULL;

    for (size_t i = 0; i < count; i++) {
        if (libraries[i].execute == execute)
            return &libraries[i];
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < library_count && !found; i++)
        found = libraries[i].execute == execute ? &libraries[i] : NULL;
    if (!found && library_count < LIBRARIES_MAX &&
        fill_library(&libraries[library_count], execute)) {
        found = &libraries[library_count];
        __atomic_store_n(&library_count, library_count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* --- Primitives --- */

static void fill_tensor(const struct library *library, const void *description, int what,
                        struct tensor *out_tensor)
{
    const void *found = library->query_tensor(description, what, 0);
    const struct descriptor *descriptor = found;
    const int64_t *dims = descriptor ? descriptor->dims : NULL;
    int rank = 0, type = 0;

    if (!found)
        return;
    if (library->major == 2) {
        rank = descriptor->rank;
        type = descriptor->type;
    } else if (!library->query_descriptor ||
               library->query_descriptor(found, QUERY_RANK, &rank) != 0 ||
               library->query_descriptor(found, QUERY_DIMS, &dims) != 0 ||
               library->query_descriptor(found, QUERY_TYPE, &type) != 0) {
        return;
    }
    if (rank <= 0 || rank > DIMS_MAX || !dims)
        return;
    out_tensor->rank = rank;
    out_tensor->type = type;
    memcpy(out_tensor->dims, dims, (size_t)rank * sizeof(dims[0]));
}

static bool fill_key(const struct library *library, const void *primitive, struct key *out_key)
{
    static const int which[TENSORS] = {QUERY_SRC, QUERY_WEIGHTS, QUERY_DST};
    const void *description;
    int kind;

    memset(out_key, 0, sizeof(*out_key));
    out_key->kind = KEY_PRIMITIVE;
    if (library->get_description(primitive, &description) != 0 ||
        library->query(description, QUERY_KIND, 0, &kind) != 0 ||
        library->query(description, QUERY_IMPLEMENTATION, 0, &out_key->implementation) != 0)
        return false;
    out_key->name = library->kind_name(kind);
    for (int i = 0; i < TENSORS; i++)
        fill_tensor(library, description, which[i], &out_key->tensors[i]);
    return out_key->name != NULL;
}

static uint32_t dtype_of(int type)
{
    static const uint8_t types[] = {
        OPTRACE_DTYPE_UNKNOWN, OPTRACE_DTYPE_F16, OPTRACE_DTYPE_BF16,
        OPTRACE_DTYPE_F32,     OPTRACE_DTYPE_I32, OPTRACE_DTYPE_I8,
        OPTRACE_DTYPE_U8,      OPTRACE_DTYPE_F64, OPTRACE_DTYPE_BOOL,
    };

    return type > 0 && (size_t)type < sizeof(types) ? types[type] : OPTRACE_DTYPE_UNKNOWN;
}

static int64_t bytes_of(int type)
{
    static const uint8_t bytes[] = {0, 2, 2, 4, 4, 1, 1, 8, 1};

    return type > 0 && (size_t)type < sizeof(bytes) ? bytes[type] : 0;
}

/* -1: not known, as where a size is only known when it runs. */
static int64_t count_of(const struct tensor *tensor)
{
    int64_t count = 1;

    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0 || __builtin_mul_overflow(count, tensor->dims[i], &count))
            return -1;
    }
    return tensor->rank > 0 ? count : -1;
}

/* A multiplication and an addition for each element of the result and each weight of its channel. */
static int64_t flop_of(const struct key *key)
{
    const struct tensor *src = &key->tensors[0], *weights = &key->tensors[1],
                        *dst = &key->tensors[2];
    const int64_t results = count_of(dst), all_weights = count_of(weights);
    int64_t each = 0, flop;

    if (results < 0 || all_weights < 0)
        return -1;
    if (strcmp(key->name, "matmul") == 0 && src->rank > 0)
        each = src->dims[src->rank - 1];
    else if ((strcmp(key->name, "convolution") == 0 || strcmp(key->name, "inner_product") == 0) &&
             dst->rank > 1 && dst->dims[1] > 0)
        each = all_weights / dst->dims[1];
    if (each <= 0 || __builtin_mul_overflow(results, 2 * each, &flop))
        return -1;
    return flop;
}

static int64_t traffic_of(const struct key *key)
{
    int64_t bytes = 0;

    for (int i = 0; i < TENSORS; i++) {
        const int64_t count = count_of(&key->tensors[i]);

        if (count > 0)
            bytes += count * bytes_of(key->tensors[i].type);
    }
    return bytes > 0 ? bytes : -1;
}

/* The words that other tools have for these. */
static const char *type_of(const char *name)
{
    if (strcmp(name, "convolution") == 0)
        return "Conv";
    return strcmp(name, "matmul") == 0 || strcmp(name, "inner_product") == 0 ? "MatMul" : name;
}

/* "convolution 1x64x56x56" */
static void put_name(const struct key *key, char *out, size_t room)
{
    const struct tensor *dst = &key->tensors[2];
    size_t length = (size_t)snprintf(out, room, "%s", key->name);

    for (int i = 0; i < dst->rank && length < room; i++)
        length += (size_t)snprintf(out + length, room - length, "%c%lld", i ? 'x' : ' ',
                                   (long long)dst->dims[i]);
}

static uint64_t define(const void *context)
{
    static const char *const names[TENSORS] = {"src", "weights", "dst"};
    const struct key *key = context;
    struct optrace_tensor tensors[TENSORS];
    struct optrace_op_info info = OPTRACE_OP_INFO(NULL, type_of(key->name));
    char name[200], params[200];
    uint32_t inputs = 0, op = 0;

    for (int i = 0; i < TENSORS; i++) {
        const struct tensor *tensor = &key->tensors[i];
        const bool is_output = i == TENSORS - 1;

        if (tensor->rank == 0)
            continue;
        tensors[is_output ? TENSORS - 1 : inputs] = (struct optrace_tensor){
            names[i], tensor->dims, (uint32_t)tensor->rank, dtype_of(tensor->type)};
        inputs += !is_output;
    }
    put_name(key, name, sizeof(name));
    snprintf(params, sizeof(params), "{\"implementation\":\"%.100s\"}",
             key->implementation ? key->implementation : "");
    info.name = name;
    info.params = params;
    info.device = "cpu:0";
    info.inputs = tensors;
    info.input_count = inputs;
    info.outputs = &tensors[TENSORS - 1];
    info.output_count = key->tensors[2].rank > 0;
    info.computation_flop = flop_of(key);
    info.memory_bytes = traffic_of(key);
    if (recorder.op_define(&info, &op) < 0)
        return 0;
    runs_note(op, name);
    return op;
}

/* All whose sizes are too many to keep. */
static uint64_t define_others(const void *context)
{
    struct optrace_op_info info = OPTRACE_OP_INFO("(further primitives)", "primitive");
    uint32_t op = 0;

    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

static struct optrace_span begin(execute_type *execute, const void *primitive)
{
    static const uint64_t others = KEY_PRIMITIVE;
    const struct library *library = find_library(execute);
    struct key key;
    uint32_t op;

    if (!library || !fill_key(library, primitive, &key))
        return (struct optrace_span){0, 0};
    op = (uint32_t)names_find(&key, sizeof(key), define, &key);
    if (op == 0)
        op = (uint32_t)names_find_always(&others, sizeof(others), define_others, NULL);
    return op ? op_begin(op) : (struct optrace_span){0, 0};
}

int dnnl_primitive_execute(const void *primitive, void *stream, int count, const void *arguments)
{
    execute_type *const execute =
        (execute_type *)real_find(&execute_real, __builtin_return_address(0));
    struct optrace_span span;
    int status;

    pthread_once(&asked, ask);
    if (!is_wanted || !recorder_is_on())
        return execute(primitive, stream, count, arguments);
    span = begin(execute, primitive);
    found_say(FOUND_ONEDNN);
    if (span.id)
        __atomic_add_fetch(&recorder_primitives, 1, __ATOMIC_RELAXED);
    status = execute(primitive, stream, count, arguments);
    if (span.id) {
        __atomic_sub_fetch(&recorder_primitives, 1, __ATOMIC_RELAXED);
        op_end(span);
    }
    return status;
}
