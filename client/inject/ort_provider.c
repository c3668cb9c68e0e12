/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables as release 1.25 lays them out, which later ones know; numbers of slots are the same in every
 * release. ONNX Runtime loads a provider by its path: ours is this very library, which is there.
 */
#include "client/inject/ort_provider.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/found.h"
#include "client/inject/ort_node.h"
#include "client/inject/recorder.h"

enum { API = ORT_PROVIDER_SINCE, COPIES_MAX = 8, DEPTH_MAX = 64, GIVEN_MAX = 256 };

/* Slots of OrtApi, */
enum {
    CREATE_SESSION_OPTIONS = 10,
    CLONE_SESSION_OPTIONS = 12,
    CREATE_RUN_OPTIONS = 39,
    GET_VERBOSITY = 43,
    RELEASE_STATUS = 93,
    RELEASE_SESSION_OPTIONS = 100,
    REGISTER_PROVIDER = 301,
    GET_DEVICES = 303,
    APPEND_PROVIDER = 304,
    DEVICE_TYPE = 307,
    DEVICE_PROVIDER = 312,
    GET_PROVIDER_API = 317,
    ASK_PROFILE = 415,
    ASK_NO_PROFILE = 416,
};
/* of OrtEpApi, */
enum { CREATE_DEVICE = 0, EVENT_CATEGORY = 67, EVENT_NAME = 68, EVENT_ARGUMENT = 71 };
/* and what an event is. */
enum { CATEGORY_NODE = 1 };

/* OrtEpFactory, OrtEp and OrtEpProfilerImpl: a version, then functions that get it first. */
struct table {
    uintptr_t version;
    ort_function functions[24];
};

struct ort_provider {
    struct table factory; /* first: it is what the functions of a factory get */
    const struct ort_base *base;
    const ort_function *api, *provider_api;
    void *run_options;
    bool has_tried_options;
};

/* OrtEp of a session. */
struct session {
    struct table table;
    const struct ort_provider *provider;
    uint32_t model;
};

/* Of a run, or of a session, whose events are not for us. */
struct profiler {
    struct table table;
    const struct ort_provider *provider;
    uint32_t run, model;
};

static struct ort_provider providers[COPIES_MAX];
static size_t provider_count;

struct ort_provider_given {
    void *options; /* NULL: the place is free */
    uint32_t run_count;
    bool is_on; /* a profile is asked for */
};
static struct ort_provider_given given[GIVEN_MAX];

static OT_TLS uint32_t run_now, model_now, loading;
static OT_TLS bool is_inside;               /* of a run that is recorded already */
static OT_TLS struct optrace_run run_apart; /* of one that is not */
static OT_TLS struct ort_provider *registered;
static OT_TLS uint64_t begun[DEPTH_MAX];
static OT_TLS uint32_t depth, depth_at_enter;
static uint32_t endless_count; /* events that began and never ended, or ended and never began */

#define CALL(api, slot, type) ((type)(api)[slot])

static void say_endless(void);

/* --- Nodes --- */

static void *start_profiling(void *profiler, int64_t offset)
{
    return NULL;
}

static void *end_profiling(void *profiler, void *events)
{
    return NULL;
}

static void *start_event(void *profiler, uint64_t number)
{
    if (depth < DEPTH_MAX)
        begun[depth] = recorder.ticks();
    depth++;
    return NULL;
}

static const char *argument(const ort_function *api, const void *event, const char *name)
{
    const char *value = NULL;
    void *status = CALL(api, EVENT_ARGUMENT,
                        void *(*)(const void *, const char *, const char **))(event, name, &value);

    return status ? NULL : value;
}

static void record(const struct profiler *profiler, const void *event, const char *name,
                   uint64_t start, uint64_t end)
{
    static const char suffix[] = "_kernel_time";
    const ort_function *const api = profiler->provider->provider_api;
    size_t length = strlen(name);
    char text[512];
    const struct ort_node node = {
        .model = profiler->model,
        .name = text,
        .type = argument(api, event, "op_name"),
        .index = argument(api, event, "node_index"),
        .provider = argument(api, event, "provider"),
        .inputs = argument(api, event, "input_type_shape"),
        .outputs = argument(api, event, "output_type_shape"),
        .sizes = {argument(api, event, "activation_size"), argument(api, event, "parameter_size"),
                  argument(api, event, "output_size")},
    };
    struct optrace_event span = {
        .kind = OPTRACE_KIND_SPAN, .run = profiler->run, .start = start, .end = end};

    if (length < sizeof(suffix) || strcmp(name + length + 1 - sizeof(suffix), suffix) != 0)
        return; /* what is around a node's kernel */
    length -= sizeof(suffix) - 1;
    length = length < sizeof(text) ? length : sizeof(text) - 1;
    memcpy(text, name, length);
    text[length] = '\0';
    span.op = ort_node_op(&node);
    if (span.op)
        recorder.record(&span);
}

static void *stop_event(const struct profiler *profiler, uint64_t number, const void *event)
{
    const ort_function *const api = profiler->provider->provider_api;
    const uint64_t end = recorder.ticks();
    const char *name = NULL;
    int category = 0;

    if (UNLIKELY(depth == 0)) {
        say_endless();
        return NULL;
    }
    depth--;
    if (profiler->run == 0 || depth >= DEPTH_MAX)
        return NULL;
    CALL(api, EVENT_CATEGORY, void *(*)(const void *, int *))(event, &category);
    if (category == CATEGORY_NODE)
        CALL(api, EVENT_NAME, void *(*)(const void *, const char **))(event, &name);
    if (name)
        record(profiler, event, name, begun[depth], end);
    return NULL;
}

/* --- The provider --- */

static const char *name_of(const void *table)
{
    return ORT_PROVIDER_NAME;
}

static const char *version_of(const void *factory)
{
    return "1.0.0";
}

static uint32_t vendor_of(const void *factory)
{
    return 0;
}

static void *take_no_node(void *session, const void *graph, void *info)
{
    return NULL;
}

/* Once with the session, and once with each run that asks for a profile, on its thread. */
static void *create_profiler(const struct session *session, void **out_profiler)
{
    struct profiler *profiler = malloc(sizeof(*profiler));

    *out_profiler = profiler;
    if (profiler)
        *profiler = (struct profiler){
            {API,
             {(ort_function)free, (ort_function)start_profiling, (ort_function)start_event,
              (ort_function)stop_event, (ort_function)end_profiling}},
            session->provider,
            run_now,
            model_now};
    return NULL;
}

/* Runs that begin on threads of ONNX Runtime's, which RunAsync() has handed them to. */
static void *on_run_start(const struct session *session, const void *options)
{
    if (is_inside || run_apart.number || !recorder_is_on())
        return NULL;
    run_apart = recorder.run_begin(session->model, OPTRACE_WITHOUT_OPS);
    return NULL;
}

static void *on_run_end(const struct session *session, const void *options, bool waits)
{
    if (is_inside || !run_apart.number)
        return NULL;
    recorder.run_end(run_apart);
    run_apart = (struct optrace_run){{0, 0}, 0, 0};
    return NULL;
}

static void *create_session(void *factory, const void *devices, const void *metadata, size_t count,
                            const void *options, const void *logger, void **out_session)
{
    struct session *session = malloc(sizeof(*session));

    *out_session = session;
    if (session)
        *session = (struct session){{API,
                                     {[0] = (ort_function)name_of,
                                      [1] = (ort_function)take_no_node,
                                      [7] = (ort_function)on_run_start,
                                      [8] = (ort_function)on_run_end,
                                      [15] = (ort_function)create_profiler}},
                                    factory,
                                    loading};
    return NULL;
}

static void release_session(void *factory, void *session)
{
    free(session);
}

static void *find_devices(void *factory, void *const *devices, size_t count, void **out_devices,
                          size_t room, size_t *out_count)
{
    const struct ort_provider *provider = factory;

    *out_count = 0;
    for (size_t i = 0; i < count && room && !*out_count; i++) {
        const int type = CALL(provider->api, DEVICE_TYPE, int (*)(const void *))(devices[i]);

        if (type == 0) /* the CPU */
            *out_count = !CALL(provider->provider_api, CREATE_DEVICE,
                               void *(*)(void *, const void *, const void *, const void *,
                                         void **))(factory, devices[i], NULL, NULL, out_devices);
    }
    return NULL;
}

static void *create_no_allocator(void *factory, const void *memory, const void *options, void **out)
{
    *out = NULL;
    return NULL;
}

static void *create_no_transfer(void *factory, void **out)
{
    *out = NULL;
    return NULL;
}

static void release_nothing(void *factory, void *allocator)
{
}

static bool is_no_stream(const void *factory)
{
    return false;
}

static void fill(struct ort_provider *provider, const struct ort_base *base)
{
    provider->base = base;
    provider->factory =
        (struct table){API,
                       {(ort_function)name_of, (ort_function)name_of, (ort_function)find_devices,
                        (ort_function)create_session, (ort_function)release_session,
                        (ort_function)vendor_of, (ort_function)version_of, NULL,
                        (ort_function)create_no_allocator, (ort_function)release_nothing,
                        (ort_function)create_no_transfer, (ort_function)is_no_stream}};
    provider->provider_api = CALL(provider->api, GET_PROVIDER_API, const ort_function *(*)(void))();
}

/* Asked for what it has not, get_api() prints a line. */
static bool is_recent(const struct ort_base *base)
{
    const char *const dot = strchr(base->version(), '.');

    return dot && strtol(dot + 1, NULL, 10) >= API;
}

struct ort_provider *ort_provider_open(const struct ort_base *base)
{
    struct ort_provider *found = NULL;

    if (!is_recent(base))
        return NULL;
    recorder_lock(RECORDER_LOCK_ORT_PROVIDER);
    for (size_t i = 0; i < provider_count && !found; i++)
        found = providers[i].base == base ? &providers[i] : NULL;
    if (!found && provider_count < COPIES_MAX) {
        providers[provider_count].api = base->get_api(API);
        if (providers[provider_count].api) {
            found = &providers[provider_count++];
            fill(found, base);
        }
    }
    recorder_unlock(RECORDER_LOCK_ORT_PROVIDER);
    return found;
}

OT_HOOK void *CreateEpFactories(const char *name, const struct ort_base *base, const void *logger,
                                void **out_factories, size_t room, size_t *out_count);
OT_HOOK void *ReleaseEpFactory(void *factory);

void *CreateEpFactories(const char *name, const struct ort_base *base, const void *logger,
                        void **out_factories, size_t room, size_t *out_count)
{
    struct ort_provider *provider = room ? ort_provider_open(base) : NULL;

    *out_count = provider != NULL;
    registered = provider;
    if (provider)
        out_factories[0] = &provider->factory;
    return NULL;
}

void *ReleaseEpFactory(void *factory)
{
    return NULL;
}

/* --- Sessions and runs --- */

/* True: it went well. An error is nobody's business but ours. */
static bool is_done(const struct ort_provider *provider, void *status)
{
    if (status)
        CALL(provider->api, RELEASE_STATUS, void (*)(void *))(status);
    return !status;
}

bool ort_provider_has(const struct ort_provider *provider, const void *device)
{
    const char *name = CALL(provider->api, DEVICE_PROVIDER, const char *(*)(const void *))(device);

    return name && strcmp(name, ORT_PROVIDER_NAME) == 0;
}

static const void *find_device(const struct ort_provider *provider, void *env)
{
    const void *const *devices = NULL;
    size_t count = 0;

    if (!is_done(provider, CALL(provider->api, GET_DEVICES,
                                void *(*)(const void *, const void *const **, size_t *))(
                               env, &devices, &count)))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (ort_provider_has(provider, devices[i]))
            return devices[i];
    }
    return NULL;
}

/* An environment that is made again knows of us no more. */
static const void *find_or_register(const struct ort_provider *provider, void *env)
{
    const void *device = find_device(provider, env);
    Dl_info place;

    if (device || dladdr((void *)CreateEpFactories, &place) == 0)
        return device;
    if (!is_done(provider, CALL(provider->api, REGISTER_PROVIDER,
                                void *(*)(void *, const char *, const char *))(
                               env, ORT_PROVIDER_NAME, place.dli_fname)))
        return NULL;
    return find_device(provider, env);
}

void *ort_provider_options(struct ort_provider *provider, void *env, const void *options)
{
    const void *device;
    void *copy = NULL, *status;

    recorder_lock(RECORDER_LOCK_ORT_REGISTERING);
    device = find_or_register(provider, env);
    recorder_unlock(RECORDER_LOCK_ORT_REGISTERING);
    if (!device)
        return NULL;
    status = options ? CALL(provider->api, CLONE_SESSION_OPTIONS,
                            void *(*)(const void *, void **))(options, &copy)
                     : CALL(provider->api, CREATE_SESSION_OPTIONS, void *(*)(void **))(&copy);
    if (!is_done(provider, status))
        return NULL;
    if (is_done(provider,
                CALL(provider->api, APPEND_PROVIDER,
                     void *(*)(void *, void *, const void *const *, size_t, const char *const *,
                               const char *const *, size_t))(copy, env, &device, 1, NULL, NULL, 0)))
        return copy;
    CALL(provider->api, RELEASE_SESSION_OPTIONS, void (*)(void *))(copy);
    return NULL;
}

bool ort_provider_ask(struct ort_provider *provider, void *run_options, bool on)
{
    void *status = on ? CALL(provider->api, ASK_PROFILE,
                             void *(*)(void *, const char *))(run_options, "/dev/null/optrace")
                      : CALL(provider->api, ASK_NO_PROFILE, void *(*)(void *))(run_options);

    return is_done(provider, status);
}

const void *ort_provider_run_options(struct ort_provider *provider)
{
    void *options = NULL;

    recorder_lock(RECORDER_LOCK_ORT_PROVIDER);
    if (!provider->has_tried_options &&
        is_done(provider, CALL(provider->api, CREATE_RUN_OPTIONS, void *(*)(void **))(&options)) &&
        ort_provider_ask(provider, options, true))
        provider->run_options = options;
    provider->has_tried_options = true;
    options = provider->run_options;
    recorder_unlock(RECORDER_LOCK_ORT_PROVIDER);
    return options;
}

struct ort_provider_given *ort_provider_take(struct ort_provider *provider, void *run_options,
                                             bool *has_nodes)
{
    struct ort_provider_given *place = NULL;

    recorder_lock(RECORDER_LOCK_ORT_PROVIDER);
    for (size_t i = 0; i < GIVEN_MAX && (!place || place->options != run_options); i++) {
        if (given[i].options == run_options || (!given[i].options && !place))
            place = &given[i];
    }
    if (place) {
        place->options = run_options;
        if (place->run_count++ == 0)
            place->is_on = *has_nodes && ort_provider_ask(provider, run_options, true);
    }
    *has_nodes = *has_nodes && place && place->is_on;
    recorder_unlock(RECORDER_LOCK_ORT_PROVIDER);
    return place;
}

void ort_provider_give_back(struct ort_provider *provider, struct ort_provider_given *place)
{
    recorder_lock(RECORDER_LOCK_ORT_PROVIDER);
    if (--place->run_count == 0) {
        if (place->is_on)
            ort_provider_ask(provider, place->options, false);
        *place = (struct ort_provider_given){NULL, 0, false};
    }
    recorder_unlock(RECORDER_LOCK_ORT_PROVIDER);
}

void ort_provider_set_loading(uint32_t model)
{
    loading = model;
}

/* Once in a process, and how many at its end is in nobody's numbers: what is wrong is known. */
static __attribute__((noinline, cold)) void say_endless(void)
{
    static const char text[] =
        "ONNX Runtime: nodes began and never ended, or ended and never began";

    if (__atomic_fetch_add(&endless_count, 1, __ATOMIC_RELAXED) == 0) {
        recorder.mark(recorder.name(OPTRACE_MARK, text));
        found_limit(FOUND_ORT, "nodes began and never ended, or ended and never began");
    }
}

void ort_provider_enter(uint32_t number, uint32_t model)
{
    depth_at_enter = depth;
    is_inside = true;
    run_now = number;
    model_now = model;
}

void ort_provider_leave(void)
{
    if (UNLIKELY(depth != depth_at_enter)) { /* those of the next run are to be right again */
        depth = depth_at_enter;
        say_endless();
    }
    is_inside = false;
    run_now = 0;
}

struct ort_provider *ort_provider_registered(void)
{
    return registered;
}

int ort_provider_verbosity(const struct ort_provider *provider, const void *run_options)
{
    int level = -1;

    return is_done(provider, CALL(provider->api, GET_VERBOSITY,
                                  void *(*)(const void *, int *))(run_options, &level))
               ? level
               : -1;
}
