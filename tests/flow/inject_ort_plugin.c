/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider that a program brings itself, "second", on the CPU: it takes no node. Numbers of slots are
 * those of ONNX Runtime's tables from 1.25 on.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { API = 25, DEVICE_TYPE = 307, GET_PROVIDER_API = 317, CREATE_DEVICE = 0 };

typedef void (*function)(void);

struct table {
    uintptr_t version;
    function functions[24];
};

struct base {
    const function *(*get_api)(uint32_t version);
};

#define EXPORT __attribute__((visibility("default")))
EXPORT void *CreateEpFactories(const char *name, const struct base *base, const void *logger,
                               void **out_factories, size_t room, size_t *out_count);
EXPORT void *ReleaseEpFactory(void *factory);

static const function *api;

static const char *name_of(const void *table)
{
    (void)table;
    return "second";
}

static const char *version_of(const void *table)
{
    (void)table;
    return "1.0.0";
}

static uint32_t vendor_of(const void *table)
{
    (void)table;
    return 0;
}

static void *take_no_node(void *session, const void *graph, void *info)
{
    (void)session, (void)graph, (void)info;
    return NULL;
}

static void *create_session(void *factory, const void *devices, const void *metadata, size_t count,
                            const void *options, const void *logger, void **out_session)
{
    struct table *session = calloc(1, sizeof(*session));

    (void)factory, (void)devices, (void)metadata, (void)count, (void)options, (void)logger;
    if (session)
        *session = (struct table){API, {[0] = (function)name_of, [1] = (function)take_no_node}};
    *out_session = session;
    return NULL;
}

static void release_session(void *factory, void *session)
{
    (void)factory;
    free(session);
}

static void *find_devices(void *factory, void *const *devices, size_t count, void **out_devices,
                          size_t room, size_t *out_count)
{
    const function *provider_api = ((const function *(*)(void))api[GET_PROVIDER_API])();

    *out_count = 0;
    for (size_t i = 0; i < count && room && !*out_count; i++) {
        if (((int (*)(const void *))api[DEVICE_TYPE])(devices[i]) == 0)
            *out_count = !((void *(*)(void *, const void *, const void *, const void *,
                                      void **))provider_api[CREATE_DEVICE])(
                factory, devices[i], NULL, NULL, out_devices);
    }
    return NULL;
}

static void *create_no_allocator(void *factory, const void *memory, const void *options, void **out)
{
    (void)factory, (void)memory, (void)options;
    *out = NULL;
    return NULL;
}

static void *create_no_transfer(void *factory, void **out)
{
    (void)factory;
    *out = NULL;
    return NULL;
}

static void release_nothing(void *factory, void *allocator)
{
    (void)factory, (void)allocator;
}

static bool is_no_stream(const void *factory)
{
    (void)factory;
    return false;
}

static const struct table factory = {API,
                                     {(function)name_of, (function)name_of, (function)find_devices,
                                      (function)create_session, (function)release_session,
                                      (function)vendor_of, (function)version_of, NULL,
                                      (function)create_no_allocator, (function)release_nothing,
                                      (function)create_no_transfer, (function)is_no_stream}};

void *CreateEpFactories(const char *name, const struct base *base, const void *logger,
                        void **out_factories, size_t room, size_t *out_count)
{
    (void)name, (void)logger;
    api = base->get_api(API);
    *out_count = api && room;
    if (*out_count)
        out_factories[0] = (void *)&factory;
    return NULL;
}

void *ReleaseEpFactory(void *of)
{
    (void)of;
    return NULL;
}
