/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX Runtime, as C, Node and what else reaches it through OrtGetApiBase(): each session with its
 * model, each run. OrtApi is a table of functions that only grows at its end, so that numbers of
 * slots are the same in every release; the program gets a copy of it in which some are ours.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/names.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"

enum {
    CREATE_SESSION = 7,
    CREATE_SESSION_FROM_ARRAY = 8,
    RUN = 9,
    RELEASE_SESSION = 95,
    RUN_WITH_BINDING = 133,
    CREATE_SESSION_PREPACKED = 168,
    CREATE_SESSION_FROM_ARRAY_PREPACKED = 169,
};
enum { SLOTS_MAX = 1024, COPIES_MAX = 4, SESSIONS_MAX = 128 };

typedef void (*function)(void);

struct base {
    const function *(*get_api)(uint32_t version);
    const char *(*version)(void);
};

/* A library in the process, of which there may be several. */
struct copy {
    const struct base *theirs;
    const function *api; /* their table; NULL: it was not asked for yet */
    struct base ours;
    function table[SLOTS_MAX];
};

static struct copy copies[COPIES_MAX];
static size_t copy_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Sessions that are open, with their models. */
static struct session {
    const void *session; /* NULL: the place is free */
    uint32_t model;
} sessions[SESSIONS_MAX];

/* --- Sessions --- */

static uint32_t model_of(const void *session)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (__atomic_load_n(&sessions[i].session, __ATOMIC_ACQUIRE) == session)
            return __atomic_load_n(&sessions[i].model, __ATOMIC_RELAXED);
    }
    return 0;
}

static void forget_session(const void *session)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (sessions[i].session == session)
            __atomic_store_n(&sessions[i].session, NULL, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

static void keep_session(const void *session, uint32_t model)
{
    forget_session(session); /* one that was at this address */
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (sessions[i].session)
            continue;
        __atomic_store_n(&sessions[i].model, model, __ATOMIC_RELAXED);
        __atomic_store_n(&sessions[i].session, session, __ATOMIC_RELEASE);
        break;
    }
    pthread_mutex_unlock(&lock);
}

static uint64_t define_model(const void *context)
{
    const char *path = context, *slash = strrchr(path, '/');
    const struct optrace_model_info info = {.name = slash && slash[1] ? slash + 1 : path,
                                            .path = slash ? path : NULL,
                                            .format = "onnx",
                                            .producer = NULL,
                                            .parameter_bytes = -1};
    uint32_t model = 0;

    return recorder.model_define(&info, &model) == 0 ? model : 0;
}

/* A model is its path; what came from memory has its size for a name. */
static uint32_t model_of_path(const char *path)
{
    struct {
        uint64_t kind; /* tells these keys from others */
        char path[NAMES_KEY_BYTES - 8];
    } key = {.kind = 102};
    const size_t length = strnlen(path, sizeof(key.path) - 1);

    memcpy(key.path, path, length);
    return (uint32_t)names_find(&key, sizeof(key.kind) + length, define_model, key.path);
}

static struct optrace_span begin_loading(uint32_t *out_model, const char *path, size_t bytes)
{
    char text[64];

    *out_model = 0;
    if (!recorder_is_on())
        return (struct optrace_span){0, 0};
    snprintf(text, sizeof(text), "model of %zu bytes", bytes);
    *out_model = model_of_path(path ? path : text);
    return recorder.begin(recorder.name(OPTRACE_LABEL, "load model"));
}

static void end_loading(struct optrace_span span, void *status, void **session, uint32_t model)
{
    if (span.id)
        recorder.end(span);
    if (!status && session && *session)
        keep_session(*session, model);
}

/* --- What a copy's table has in place of theirs --- */

static void *create(const struct copy *copy, const void *env, const char *path, const void *options,
                    void **session)
{
    uint32_t model;
    const struct optrace_span span = begin_loading(&model, path, 0);
    void *status = ((void *(*)(const void *, const char *, const void *,
                               void **))copy->api[CREATE_SESSION])(env, path, options, session);

    end_loading(span, status, session, model);
    return status;
}

static void *create_prepacked(const struct copy *copy, const void *env, const char *path,
                              const void *options, void *container, void **session)
{
    uint32_t model;
    const struct optrace_span span = begin_loading(&model, path, 0);
    void *status = ((void *(*)(const void *, const char *, const void *, void *,
                               void **))copy->api[CREATE_SESSION_PREPACKED])(env, path, options,
                                                                             container, session);

    end_loading(span, status, session, model);
    return status;
}

static void *create_from(const struct copy *copy, const void *env, const void *bytes, size_t count,
                         const void *options, void **session)
{
    uint32_t model;
    const struct optrace_span span = begin_loading(&model, NULL, count);
    void *status = ((void *(*)(const void *, const void *, size_t, const void *,
                               void **))copy->api[CREATE_SESSION_FROM_ARRAY])(env, bytes, count,
                                                                              options, session);

    end_loading(span, status, session, model);
    return status;
}

static void *create_from_prepacked(const struct copy *copy, const void *env, const void *bytes,
                                   size_t count, const void *options, void *container,
                                   void **session)
{
    uint32_t model;
    const struct optrace_span span = begin_loading(&model, NULL, count);
    void *status = ((void *(*)(const void *, const void *, size_t, const void *, void *,
                               void **))copy->api[CREATE_SESSION_FROM_ARRAY_PREPACKED])(
        env, bytes, count, options, container, session);

    end_loading(span, status, session, model);
    return status;
}

typedef void *run_type(void *, const void *, const char *const *, const void *const *, size_t,
                       const char *const *, size_t, void **);

static void *run_session(const struct copy *copy, void *session, const void *options,
                         const char *const *input_names, const void *const *inputs,
                         size_t input_count, const char *const *output_names, size_t output_count,
                         void **outputs)
{
    run_type *const theirs = (run_type *)copy->api[RUN];
    struct optrace_run run;
    void *status;

    if (!recorder_is_on())
        return theirs(session, options, input_names, inputs, input_count, output_names,
                      output_count, outputs);
    run = recorder.run_begin(model_of(session), 0);
    status = theirs(session, options, input_names, inputs, input_count, output_names, output_count,
                    outputs);
    recorder.run_end(run);
    return status;
}

static void *run_binding(const struct copy *copy, void *session, const void *options,
                         const void *binding)
{
    void *(*const theirs)(void *, const void *, const void *) =
        (void *(*)(void *, const void *, const void *))copy->api[RUN_WITH_BINDING];
    struct optrace_run run;
    void *status;

    if (!recorder_is_on())
        return theirs(session, options, binding);
    run = recorder.run_begin(model_of(session), 0);
    status = theirs(session, options, binding);
    recorder.run_end(run);
    return status;
}

static void release(const struct copy *copy, void *session)
{
    forget_session(session);
    ((void (*)(void *))copy->api[RELEASE_SESSION])(session);
}

/* --- Tables --- */

/* Slots up to the end of the part of the file that the table lies in: its own length it does not
 * tell, and what lies behind is never used. */
static int count_slots(struct dl_phdr_info *info, size_t size, void *context)
{
    struct {
        uintptr_t table;
        size_t slots;
    } *wanted = context;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
                        end = start + info->dlpi_phdr[i].p_memsz;

        if (info->dlpi_phdr[i].p_type == PT_LOAD && wanted->table >= start && wanted->table < end) {
            wanted->slots = (end - wanted->table) / sizeof(function);
            return 1;
        }
    }
    return 0;
}

static const function *replace(struct copy *copy, uint32_t version,
                               const function replacements[SLOTS_MAX])
{
    const function *theirs = copy->theirs->get_api(version);
    struct {
        uintptr_t table;
        size_t slots;
    } wanted = {(uintptr_t)theirs, 0};

    if (!theirs)
        return NULL;
    pthread_mutex_lock(&lock);
    if (!copy->api) {
        dl_iterate_phdr(count_slots, &wanted);
        if (wanted.slots > SLOTS_MAX)
            wanted.slots = SLOTS_MAX;
        memcpy(copy->table, theirs, wanted.slots * sizeof(function));
        for (size_t i = 0; i < wanted.slots; i++) {
            if (replacements[i] && theirs[i])
                copy->table[i] = replacements[i];
        }
        if (wanted.slots > RELEASE_SESSION)
            copy->api = theirs;
    }
    pthread_mutex_unlock(&lock);
    return copy->api == theirs ? copy->table : theirs;
}

/* The functions of a table are not told whose they are: a set for each copy. */
#define SET(n)                                                                                     \
    static void *create_##n(const void *env, const char *path, const void *options,                \
                            void **session)                                                        \
    {                                                                                              \
        return create(&copies[n], env, path, options, session);                                    \
    }                                                                                              \
    static void *create_prepacked_##n(const void *env, const char *path, const void *options,      \
                                      void *container, void **session)                             \
    {                                                                                              \
        return create_prepacked(&copies[n], env, path, options, container, session);               \
    }                                                                                              \
    static void *create_from_##n(const void *env, const void *bytes, size_t count,                 \
                                 const void *options, void **session)                              \
    {                                                                                              \
        return create_from(&copies[n], env, bytes, count, options, session);                       \
    }                                                                                              \
    static void *create_from_prepacked_##n(const void *env, const void *bytes, size_t count,       \
                                           const void *options, void *container, void **session)   \
    {                                                                                              \
        return create_from_prepacked(&copies[n], env, bytes, count, options, container, session);  \
    }                                                                                              \
    static void *run_##n(void *session, const void *options, const char *const *input_names,       \
                         const void *const *inputs, size_t input_count,                            \
                         const char *const *output_names, size_t output_count, void **outputs)     \
    {                                                                                              \
        return run_session(&copies[n], session, options, input_names, inputs, input_count,         \
                           output_names, output_count, outputs);                                   \
    }                                                                                              \
    static void *run_binding_##n(void *session, const void *options, const void *binding)          \
    {                                                                                              \
        return run_binding(&copies[n], session, options, binding);                                 \
    }                                                                                              \
    static void release_##n(void *session)                                                         \
    {                                                                                              \
        release(&copies[n], session);                                                              \
    }                                                                                              \
    static const function *get_api_##n(uint32_t version)                                           \
    {                                                                                              \
        static const function replacements[SLOTS_MAX] = {                                          \
            [CREATE_SESSION] = (function)create_##n,                                               \
            [CREATE_SESSION_FROM_ARRAY] = (function)create_from_##n,                               \
            [RUN] = (function)run_##n,                                                             \
            [RELEASE_SESSION] = (function)release_##n,                                             \
            [RUN_WITH_BINDING] = (function)run_binding_##n,                                        \
            [CREATE_SESSION_PREPACKED] = (function)create_prepacked_##n,                           \
            [CREATE_SESSION_FROM_ARRAY_PREPACKED] = (function)create_from_prepacked_##n,           \
        };                                                                                         \
                                                                                                   \
        return replace(&copies[n], version, replacements);                                         \
    }

SET(0)
SET(1)
SET(2)
SET(3)

OT_HOOK const struct base *OrtGetApiBase(void);

static struct real base_real = {"OrtGetApiBase", (function)OrtGetApiBase, {NULL}};

static const struct base *ours_of(const struct base *theirs)
{
    static const function *(*const get_api[COPIES_MAX])(uint32_t) = {get_api_0, get_api_1,
                                                                     get_api_2, get_api_3};
    const struct base *found = NULL;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < copy_count && !found; i++)
        found = copies[i].theirs == theirs ? &copies[i].ours : NULL;
    if (!found && copy_count < COPIES_MAX) {
        copies[copy_count].theirs = theirs;
        copies[copy_count].ours = (struct base){get_api[copy_count], theirs->version};
        found = &copies[copy_count++].ours;
    }
    pthread_mutex_unlock(&lock);
    return found ? found : theirs;
}

const struct base *OrtGetApiBase(void)
{
    const function found = real_try(&base_real, __builtin_return_address(0));
    const struct base *theirs = found ? ((const struct base *(*)(void))found)() : NULL;

    return theirs && recorder_wants("ort") ? ours_of(theirs) : theirs;
}
