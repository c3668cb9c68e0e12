/* SPDX-License-Identifier: Apache-2.0 */
/* One plugin library, one device, and profiles that nobody writes down. Run options are read while a
 * run goes on, as the real ones are: who changes them then is caught by the thread sanitizer. */
#include "tests/support/ort/nodes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct table {
    uintptr_t version;
    function functions[24];
};

struct event {
    const char *name, *type, *inputs, *outputs, *index;
    int category;
};

static char error[] = "an error";
static struct table *factory;
static const struct base *own_base;
static int cpu, device;
static const void *devices[2] = {&cpu, &device};
static size_t device_count = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define CALL(table, slot, type) ((type)(table)->functions[slot])

/* --- Devices --- */

static void *create_device(void *of, const void *hardware, const void *metadata,
                           const void *options, void **out)
{
    *out = &device;
    return NULL;
}

static int type_of(const void *hardware)
{
    return 0;
}

static const char *provider_of(const void *which)
{
    return which == &cpu ? "CPUExecutionProvider"
                         : CALL(factory, 0, const char *(*)(const void *))(factory);
}

static void *get_devices(const void *env, const void *const **out_devices, size_t *out_count)
{
    *out_devices = devices;
    *out_count = device_count;
    return NULL;
}

static void *register_provider(void *env, const char *name, const char *path)
{
    void *library = dlopen(path, RTLD_NOW), *found[1];
    void *(*create)(const char *, const struct base *, const void *, void **, size_t, size_t *) =
        NULL;
    const void *hardware[] = {&cpu};
    size_t count = 0;
    void *made[1];

    if (!library)
        return error;
    *(void **)&create = dlsym(library, "CreateEpFactories");
    if (!create || create(name, own_base, NULL, found, 1, &count) || count != 1)
        return error;
    factory = found[0];
    if (factory->version < 22)
        return error;
    CALL(factory, 2, void *(*)(void *, const void *const *, size_t, void **, size_t, size_t *))
    (factory, hardware, 1, made, 1, &count);
    device_count = 1 + count;
    return NULL;
}

/* --- Options --- */

static void *create_options(struct options **out_options)
{
    *out_options = calloc(1, sizeof(**out_options));
    return NULL;
}

static void *clone_options(const struct options *options, struct options **out_options)
{
    *out_options = malloc(sizeof(**out_options));
    **out_options = *options;
    return NULL;
}

static void release_options(struct options *options)
{
    free(options);
}

static void *enable_profiling(struct options *options, const char *prefix)
{
    options->has_profile = true;
    return NULL;
}

static void *append_provider(struct options *options, void *env, const void *const *which,
                             size_t count, const char *const *keys, const char *const *values,
                             size_t value_count)
{
    if (count != 1 || which[0] != &device)
        return error;
    options->has_provider = true;
    return NULL;
}

static void *create_run_options(bool **out_value)
{
    *out_value = calloc(1, sizeof(**out_value));
    return NULL;
}

static void *ask_profile(bool *options, const char *prefix)
{
    *options = true;
    return NULL;
}

static void *ask_no_profile(bool *options)
{
    *options = false;
    return NULL;
}

static void release_status(void *status)
{
}

/* --- Events --- */

static void *category_of(const struct event *event, int *out)
{
    *out = event->category;
    return NULL;
}

static void *name_of(const struct event *event, const char **out)
{
    *out = event->name;
    return NULL;
}

static void *argument_of(const struct event *event, const char *name, const char **out)
{
    const char *provider = getenv("ORT_NODES_PROVIDER");
    const struct {
        const char *name, *value;
    } arguments[] = {
        {"op_name", event->type},
        {"input_type_shape", event->inputs},
        {"output_type_shape", event->outputs},
        {"node_index", event->index},
        {"provider", provider ? provider : "CPUExecutionProvider"},
        {"activation_size", "100"},
        {"parameter_size", "20"},
        {"output_size", "3"},
    };

    *out = NULL;
    for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
        if (strcmp(arguments[i].name, name) == 0)
            *out = arguments[i].value;
    }
    return NULL;
}

static const function *get_provider_api(void)
{
    static const function api[96] = {[0] = (function)create_device,
                                     [67] = (function)category_of,
                                     [68] = (function)name_of,
                                     [71] = (function)argument_of};

    return api;
}

static void tell(struct table *profiler, const struct event *event, uint64_t number)
{
    CALL(profiler, 3, void *(*)(void *, uint64_t, const void *))(profiler, number, event);
}

void nodes_run(const struct session *session, const void *run_options)
{
    static const struct event events[] = {
        {"model_run", "", "", "", "", 0},
        {"conv_kernel_time", "Conv", "[{\"float\":[1,3,8,8]},{\"float\":[4,3,3,3]}]",
         "[{\"float\":[1,4,8,8]}]", "0", 1},
        {"relu_kernel_time", "Relu", "[{\"float\":[1,4,8,8]}]", "[{\"float\":[1,4,8,8]}]", "1", 1},
        {"scale_kernel_time", "Mul", "[{\"float16\":[4]},{}]", "[{\"int64\":[]}]", "2", 1},
    };
    struct table *provider = session->provider, *profiler = NULL;
    const bool is_told = provider && run_options && *(const bool *)run_options;

    if (is_told) {
        CALL(provider, 15, void *(*)(void *, void **))(provider, (void **)&profiler);
        CALL(profiler, 2, void *(*)(void *, uint64_t))(profiler, 100); /* around all others */
    }
    for (uint64_t i = 1; i < sizeof(events) / sizeof(events[0]); i++) {
        if (is_told)
            CALL(profiler, 2, void *(*)(void *, uint64_t))(profiler, i);
        if (nodes_compute)
            nodes_compute(i);
        if (is_told)
            if (!session->loses_ends || i != 2)
                tell(profiler, &events[i], i);
    }
    if (is_told) {
        tell(profiler, &events[0], 100);
        CALL(profiler, 0, void (*)(void *))(profiler);
    }
}

void nodes_join(struct session *session, const struct options *options)
{
    if (options && options->has_provider)
        CALL(factory, 3,
             void *(*)(void *, const void *, const void *, size_t, const void *, const void *,
                       void **))
    (factory, NULL, NULL, 0, options, NULL, &session->provider);
}

void nodes_leave(struct session *session)
{
    if (session->provider)
        CALL(factory, 4, void (*)(void *, void *))(factory, session->provider);
}

void nodes_fill(function *table, const struct base *base)
{
    pthread_mutex_lock(&lock);
    own_base = base;
    table[10] = (function)create_options;
    table[12] = (function)clone_options;
    table[14] = (function)enable_profiling;
    table[39] = (function)create_run_options;
    table[93] = (function)release_status;
    table[97] = (function)free;
    table[100] = (function)release_options;
    table[301] = (function)register_provider;
    table[303] = (function)get_devices;
    table[304] = (function)append_provider;
    table[307] = (function)type_of;
    table[312] = (function)provider_of;
    table[317] = (function)get_provider_api;
    table[415] = (function)ask_profile;
    table[416] = (function)ask_no_profile;
    pthread_mutex_unlock(&lock);
}
