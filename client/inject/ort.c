/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX Runtime, as C, Node and what else reaches it through OrtGetApiBase(): each session with its
 * model, each run, and of some runs the nodes, told to a provider that takes none. OrtApi is a table of functions that only grows at its end, so that numbers of
 * slots are the same in every release; the program gets a copy of it in which some are ours.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/nodes.h"
#include "client/inject/ort.h"
#include "client/inject/ort_profile.h"
#include "client/inject/ort_provider.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"

enum {
    CREATE_SESSION = 7,
    CREATE_SESSION_FROM_ARRAY = 8,
    RUN = 9,
    CREATE_SESSION_OPTIONS = 10,
    CLONE_SESSION_OPTIONS = 12,
    ENABLE_PROFILING = 14,
    GET_ALLOCATOR = 78,
    RELEASE_STATUS = 93,
    RELEASE_SESSION = 95,
    RELEASE_SESSION_OPTIONS = 100,
    END_PROFILING = 110,
    RUN_WITH_BINDING = 133,
    GET_PROFILE_START = 146,
    CREATE_SESSION_PREPACKED = 168,
    CREATE_SESSION_FROM_ARRAY_PREPACKED = 169,
    GET_DEVICES = 303,
    SET_POLICY = 305,
    SET_POLICY_DELEGATE = 306,
    ASK_PROFILE = 415,
};
enum { PROFILE_SINCE = 4 }; /* release 1.4 says when its profiles begin */
enum { SLOTS_MAX = 1024, COPIES_MAX = 4, SESSIONS_MAX = 128, DEVICES_MAX = 64 };

typedef ort_function function;

/* A library in the process, of which there may be several. */
struct copy {
    const struct ort_base *theirs;
    const function *api; /* their table; NULL: it was not asked for yet */
    struct ort_base ours;
    struct ort_provider *provider; /* NULL: it tells of no nodes */
    bool is_left_alone; /* the program makes profiles of its own, or has providers chosen for it */
    const void *devices[DEVICES_MAX]; /* without ours */
    function table[SLOTS_MAX];
};

static struct copy copies[COPIES_MAX];
static size_t copy_count;

/* Sessions that are open, with their models. */
static struct session {
    const void *session; /* NULL: the place is free */
    uint32_t model;
    bool has_nodes; /* the provider is in it */
    struct nodes_place place;
    struct copy *copy;
    struct ort_profile *profile; /* of a release that tells of no nodes; NULL: there is none */
} sessions[SESSIONS_MAX];

/* --- Sessions --- */

/* A session on its way. */
struct loading {
    struct copy *copy;
    struct optrace_span span;
    uint32_t model;
    const void *options; /* the program's */
    void *own; /* the same with the provider, or with a profile; NULL: they are the program's */
    struct ort_profile *profile; /* that `own` asks for */
};

static struct session *find_session(const void *session)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (__atomic_load_n(&sessions[i].session, __ATOMIC_ACQUIRE) == session)
            return &sessions[i];
    }
    return NULL;
}

static void forget_session(const void *session)
{
    recorder_lock(RECORDER_LOCK_ORT);
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (sessions[i].session == session)
            __atomic_store_n(&sessions[i].session, NULL, __ATOMIC_RELEASE);
    }
    recorder_unlock(RECORDER_LOCK_ORT);
}

static void keep_session(const void *session, const struct loading *loading)
{
    forget_session(session); /* one that was at this address */
    recorder_lock(RECORDER_LOCK_ORT);
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (sessions[i].session)
            continue;
        __atomic_store_n(&sessions[i].model, loading->model, __ATOMIC_RELAXED);
        sessions[i].place = (struct nodes_place){0};
        sessions[i].copy = loading->copy;
        sessions[i].profile = loading->profile;
        __atomic_store_n(&sessions[i].has_nodes, loading->own && !loading->profile,
                         __ATOMIC_RELAXED);
        __atomic_store_n(&sessions[i].session, session, __ATOMIC_RELEASE);
        recorder_unlock(RECORDER_LOCK_ORT);
        return;
    }
    recorder_unlock(RECORDER_LOCK_ORT);
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
uint32_t ort_model(const char *path)
{
    struct {
        uint64_t kind; /* tells these keys from others */
        char path[NAMES_KEY_BYTES - 8];
    } key = {.kind = 102};
    const size_t length = strnlen(path, sizeof(key.path) - 1);

    memcpy(key.path, path, length);
    return (uint32_t)names_find(&key, sizeof(key.kind) + length, define_model, key.path);
}

/* --- A profile of a release that tells of no nodes --- */

static bool is_done(const struct copy *copy, void *status)
{
    if (status)
        ((void (*)(void *))copy->api[RELEASE_STATUS])(status);
    return !status;
}

static bool has_profiles(const struct copy *copy)
{
    const char *const dot = strchr(copy->theirs->version(), '.');

    return !copy->provider && ort_profile_is_wanted() && dot &&
           strtol(dot + 1, NULL, 10) >= PROFILE_SINCE &&
           !__atomic_load_n(&copy->is_left_alone, __ATOMIC_RELAXED);
}

static void ask_for_profile(struct loading *loading)
{
    const function *const api = loading->copy->api;
    void *own = NULL, *status;

    loading->profile = ort_profile_create(loading->model);
    if (!loading->profile)
        return;
    status =
        loading->options
            ? ((void *(*)(const void *, void **))api[CLONE_SESSION_OPTIONS])(loading->options, &own)
            : ((void *(*)(void **))api[CREATE_SESSION_OPTIONS])(&own);
    if (is_done(loading->copy, status)) {
        status =
            ((void *(*)(void *, const char *))api[ENABLE_PROFILING])(own, loading->profile->prefix);
        if (is_done(loading->copy, status)) {
            loading->own = own;
            return;
        }
        ((void (*)(void *))api[RELEASE_SESSION_OPTIONS])(own);
    }
    ort_profile_finish(&loading->profile);
}

static void note_start(const struct loading *loading, const void *session)
{
    uint64_t start_ns = 0;
    void *status = ((void *(*)(const void *, uint64_t *))loading->copy->api[GET_PROFILE_START])(
        session, &start_ns);

    if (is_done(loading->copy, status))
        ort_profile_begin(loading->profile, (int64_t)start_ns);
}

/* The session's profile, which is nobody else's from here on. */
static struct ort_profile *take_profile(const void *session)
{
    struct ort_profile *profile = NULL;

    recorder_lock(RECORDER_LOCK_ORT);
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (sessions[i].session != session || !sessions[i].profile)
            continue;
        profile = sessions[i].profile;
        sessions[i].profile = NULL;
    }
    recorder_unlock(RECORDER_LOCK_ORT);
    return profile;
}

/* Of sessions that nobody has released. */
static void finish_profiles(void)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        const void *session = __atomic_load_n(&sessions[i].session, __ATOMIC_ACQUIRE);
        struct ort_profile *profile = session ? take_profile(session) : NULL;
        const function *api;
        void *allocator = NULL;
        char *name = NULL;

        if (!profile)
            continue;
        api = sessions[i].copy->api;
        if (profile->forks == recorder_forks &&
            is_done(sessions[i].copy, ((void *(*)(void **))api[GET_ALLOCATOR])(&allocator)))
            is_done(sessions[i].copy,
                    ((void *(*)(const void *, void *, char **))api[END_PROFILING])(
                        session, allocator, &name));
        ort_profile_finish(&profile);
    }
}

static void finish_at_exit(void)
{
    static bool is_registered;

    if (!__atomic_exchange_n(&is_registered, true, __ATOMIC_RELAXED))
        atexit(finish_profiles);
}

/* --- Loading --- */

static struct loading begin_loading(struct copy *copy, void *env, const char *path, size_t bytes,
                                    const void *options)
{
    struct loading loading = {.copy = copy, .options = options};
    char text[64];

    if (!recorder_is_on())
        return loading;
    snprintf(text, sizeof(text), "model of %zu bytes", bytes);
    if (!copy->provider)
        found_limit(FOUND_ORT, ORT_TELLS_NO_NODES);
    found_say_version(FOUND_ORT, copy->theirs->version());
    loading.model = ort_model(path ? path : text);
    loading.span = recorder.begin(recorder.name(OPTRACE_LABEL, "load model"));
    if (copy->provider && nodes_every() && !__atomic_load_n(&copy->is_left_alone, __ATOMIC_RELAXED))
        loading.own = ort_provider_options(copy->provider, env, options);
    else if (has_profiles(copy) && (!path || access(path, R_OK) == 0)) /* else a line is logged */
        ask_for_profile(&loading);
    ort_provider_set_loading(loading.model);
    return loading;
}

static const void *options_of(const struct loading *loading)
{
    return loading->own ? loading->own : loading->options;
}

static void release_options(struct loading *loading)
{
    if (loading->own)
        ((void (*)(void *))loading->copy->api[RELEASE_SESSION_OPTIONS])(loading->own);
    loading->own = NULL;
}

/* Whether to try without what is ours: what the program then gets is what it would have got. */
static bool is_refused(struct loading *loading, void *status)
{
    if (!status || !loading->own)
        return false;
    ((void (*)(void *))loading->copy->api[RELEASE_STATUS])(status);
    release_options(loading);
    ort_profile_finish(&loading->profile);
    return true;
}

static void end_loading(struct loading *loading, void *status, void **session)
{
    if (loading->span.id)
        recorder.end(loading->span);
    if (!status && session && *session) {
        if (loading->profile) {
            note_start(loading, *session);
            finish_at_exit();
        }
        keep_session(*session, loading);
    }
    release_options(loading);
}

/* --- What a copy's table has in place of theirs --- */

static void *create(struct copy *copy, void *env, const char *path, const void *options,
                    void **session)
{
    void *(*const theirs)(void *, const char *, const void *, void **) =
        (void *(*)(void *, const char *, const void *, void **))copy->api[CREATE_SESSION];
    struct loading loading = begin_loading(copy, env, path, 0, options);
    void *status;

    do
        status = theirs(env, path, options_of(&loading), session);
    while (is_refused(&loading, status));
    end_loading(&loading, status, session);
    return status;
}

static void *create_prepacked(struct copy *copy, void *env, const char *path, const void *options,
                              void *container, void **session)
{
    void *(*const theirs)(void *, const char *, const void *, void *, void **) =
        (void *(*)(void *, const char *, const void *, void *,
                   void **))copy->api[CREATE_SESSION_PREPACKED];
    struct loading loading = begin_loading(copy, env, path, 0, options);
    void *status;

    do
        status = theirs(env, path, options_of(&loading), container, session);
    while (is_refused(&loading, status));
    end_loading(&loading, status, session);
    return status;
}

static void *create_from(struct copy *copy, void *env, const void *bytes, size_t count,
                         const void *options, void **session)
{
    void *(*const theirs)(void *, const void *, size_t, const void *, void **) =
        (void *(*)(void *, const void *, size_t, const void *,
                   void **))copy->api[CREATE_SESSION_FROM_ARRAY];
    struct loading loading = begin_loading(copy, env, NULL, count, options);
    void *status;

    do
        status = theirs(env, bytes, count, options_of(&loading), session);
    while (is_refused(&loading, status));
    end_loading(&loading, status, session);
    return status;
}

static void *create_from_prepacked(struct copy *copy, void *env, const void *bytes, size_t count,
                                   const void *options, void *container, void **session)
{
    void *(*const theirs)(void *, const void *, size_t, const void *, void *, void **) =
        (void *(*)(void *, const void *, size_t, const void *, void *,
                   void **))copy->api[CREATE_SESSION_FROM_ARRAY_PREPACKED];
    struct loading loading = begin_loading(copy, env, NULL, count, options);
    void *status;

    do
        status = theirs(env, bytes, count, options_of(&loading), container, session);
    while (is_refused(&loading, status));
    end_loading(&loading, status, session);
    return status;
}

/* --- Runs --- */

/* A run under way. */
struct turn {
    struct optrace_run run;
    const void *options;              /* to run with */
    struct ort_provider_given *given; /* NULL: they are not watched */
    struct nodes_place *place;        /* NULL: it is none that may have nodes */
    bool has_nodes;
    uint64_t start;
    struct ort_profile *profile;
    int64_t start_ns;
};

/* A child has no part in its parent's. */
static struct ort_profile *profile_of(const struct session *session)
{
    struct ort_profile *profile = session->profile;

    return profile && profile->forks == recorder_forks ? profile : NULL;
}

static struct turn begin_run(struct copy *copy, const void *session, const void *options)
{
    struct session *known = find_session(session);
    struct turn turn = {.options = options};
    bool has_nodes =
        known && known->has_nodes && !__atomic_load_n(&copy->is_left_alone, __ATOMIC_RELAXED);

    if (has_nodes) {
        turn.place = &known->place;
        has_nodes = nodes_turn(turn.place);
        if (options)
            turn.given = ort_provider_take(copy->provider, (void *)options, &has_nodes);
        else if (has_nodes)
            turn.options = ort_provider_run_options(copy->provider);
        has_nodes = has_nodes && turn.options;
    }
    turn.profile = known ? profile_of(known) : NULL;
    turn.start_ns = turn.profile ? ort_profile_now() : 0;
    turn.run = recorder.run_begin(known ? known->model : 0,
                                  has_nodes || turn.profile ? 0 : OPTRACE_WITHOUT_OPS);
    ort_provider_enter(has_nodes ? turn.run.number : 0, known ? known->model : 0);
    turn.has_nodes = has_nodes;
    turn.start = turn.place ? nodes_start() : 0;
    return turn;
}

static void end_run(struct copy *copy, struct turn *turn)
{
    if (turn->place)
        nodes_end(turn->place, turn->has_nodes, turn->start);
    ort_provider_leave();
    recorder.run_end(turn->run);
    if (turn->profile)
        ort_profile_run(turn->profile, turn->run.number, turn->start_ns, ort_profile_now());
    if (turn->given)
        ort_provider_give_back(copy->provider, turn->given);
}

typedef void *run_type(void *, const void *, const char *const *, const void *const *, size_t,
                       const char *const *, size_t, void **);

static void *run_session(struct copy *copy, void *session, const void *options,
                         const char *const *input_names, const void *const *inputs,
                         size_t input_count, const char *const *output_names, size_t output_count,
                         void **outputs)
{
    run_type *const theirs = (run_type *)copy->api[RUN];
    struct turn turn;
    void *status;

    if (!recorder_is_on())
        return theirs(session, options, input_names, inputs, input_count, output_names,
                      output_count, outputs);
    turn = begin_run(copy, session, options);
    status = theirs(session, turn.options, input_names, inputs, input_count, output_names,
                    output_count, outputs);
    end_run(copy, &turn);
    return status;
}

static void *run_binding(struct copy *copy, void *session, const void *options, const void *binding)
{
    void *(*const theirs)(void *, const void *, const void *) =
        (void *(*)(void *, const void *, const void *))copy->api[RUN_WITH_BINDING];
    struct turn turn;
    void *status;

    if (!recorder_is_on())
        return theirs(session, options, binding);
    turn = begin_run(copy, session, options);
    status = theirs(session, turn.options, binding);
    end_run(copy, &turn);
    return status;
}

/* Devices as the program would see them without us. */
static void *get_devices(struct copy *copy, const void *env, const void *const **out_devices,
                         size_t *out_count)
{
    const void *const *devices = NULL;
    size_t count = 0, kept = 0;
    void *status = ((void *(*)(const void *, const void *const **,
                               size_t *))copy->api[GET_DEVICES])(env, &devices, &count);

    if (status)
        return status;
    recorder_lock(RECORDER_LOCK_ORT);
    for (size_t i = 0; i < count && kept < DEVICES_MAX; i++) {
        if (!copy->provider || !ort_provider_has(copy->provider, devices[i]))
            copy->devices[kept++] = devices[i];
    }
    recorder_unlock(RECORDER_LOCK_ORT);
    *out_devices = kept < DEVICES_MAX ? copy->devices : devices;
    *out_count = kept < DEVICES_MAX ? kept : count;
    return NULL;
}

/* One profile at a time: whoever makes one of its own has no other. A policy chooses among devices. */
static void *leave_alone(struct copy *copy, size_t slot, void *options, const void *a,
                         const void *b)
{
    __atomic_store_n(&copy->is_left_alone, true, __ATOMIC_RELAXED);
    return ((void *(*)(void *, const void *, const void *))copy->api[slot])(options, a, b);
}

typedef void *choose_type(const void *const *devices, size_t count, const void *model,
                          const void *runtime, const void **out_chosen, size_t room,
                          size_t *out_count, void *context);

/* A function of the program's that chooses among devices; it may be called as long as options are
 * there that have it, so that it stays. */
struct chooser {
    struct copy *copy;
    choose_type *theirs;
    void *context;
    struct chooser *next;
};

static void *choose_among_theirs(const void *const *devices, size_t count, const void *model,
                                 const void *runtime, const void **out_chosen, size_t room,
                                 size_t *out_count, void *context)
{
    const struct chooser *chooser = context;
    const void *kept[DEVICES_MAX];
    size_t kept_count = 0;

    for (size_t i = 0; i < count && count <= DEVICES_MAX; i++) {
        if (!chooser->copy->provider || !ort_provider_has(chooser->copy->provider, devices[i]))
            kept[kept_count++] = devices[i];
    }
    return chooser->theirs(count <= DEVICES_MAX ? kept : devices,
                           count <= DEVICES_MAX ? kept_count : count, model, runtime, out_chosen,
                           room, out_count, chooser->context);
}

static void *set_delegate(struct copy *copy, void *options, const void *delegate,
                          const void *context)
{
    static struct chooser *choosers;
    const struct chooser wanted = {copy, (choose_type *)delegate, (void *)context, NULL};
    choose_type *const ours = choose_among_theirs;
    struct chooser *chooser;

    recorder_lock(RECORDER_LOCK_ORT);
    for (chooser = choosers; chooser; chooser = chooser->next) {
        if (chooser->copy == copy && chooser->theirs == wanted.theirs &&
            chooser->context == wanted.context)
            break;
    }
    if (!chooser && delegate) {
        chooser = malloc(sizeof(*chooser));
        if (chooser) {
            *chooser = wanted;
            chooser->next = choosers;
            choosers = chooser;
        }
    }
    recorder_unlock(RECORDER_LOCK_ORT);
    return leave_alone(copy, SET_POLICY_DELEGATE, options, chooser ? (const void *)ours : delegate,
                       chooser ? chooser : context);
}

static void release(struct copy *copy, void *session)
{
    struct ort_profile *profile = take_profile(session);

    forget_session(session);
    ((void (*)(void *))copy->api[RELEASE_SESSION])(session);
    ort_profile_finish(&profile);
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
    recorder_lock(RECORDER_LOCK_ORT);
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
        if (copy->api)
            copy->provider = ort_provider_open(copy->theirs);
    }
    recorder_unlock(RECORDER_LOCK_ORT);
    return copy->api == theirs ? copy->table : theirs;
}

/* The functions of a table are not told whose they are: a set for each copy. */
#define SET(n)                                                                                     \
    static void *create_##n(void *env, const char *path, const void *options, void **session)      \
    {                                                                                              \
        return create(&copies[n], env, path, options, session);                                    \
    }                                                                                              \
    static void *create_prepacked_##n(void *env, const char *path, const void *options,            \
                                      void *container, void **session)                             \
    {                                                                                              \
        return create_prepacked(&copies[n], env, path, options, container, session);               \
    }                                                                                              \
    static void *create_from_##n(void *env, const void *bytes, size_t count, const void *options,  \
                                 void **session)                                                   \
    {                                                                                              \
        return create_from(&copies[n], env, bytes, count, options, session);                       \
    }                                                                                              \
    static void *create_from_prepacked_##n(void *env, const void *bytes, size_t count,             \
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
    static void *get_devices_##n(const void *env, const void *const **devices, size_t *count)      \
    {                                                                                              \
        return get_devices(&copies[n], env, devices, count);                                       \
    }                                                                                              \
    static void *enable_profiling_##n(void *options, const void *prefix)                           \
    {                                                                                              \
        return leave_alone(&copies[n], ENABLE_PROFILING, options, prefix, NULL);                   \
    }                                                                                              \
    static void *ask_profile_##n(void *options, const void *prefix)                                \
    {                                                                                              \
        return leave_alone(&copies[n], ASK_PROFILE, options, prefix, NULL);                        \
    }                                                                                              \
    static void *set_policy_##n(void *options, const void *policy)                                 \
    {                                                                                              \
        return leave_alone(&copies[n], SET_POLICY, options, policy, NULL);                         \
    }                                                                                              \
    static void *set_delegate_##n(void *options, const void *delegate, const void *context)        \
    {                                                                                              \
        return set_delegate(&copies[n], options, delegate, context);                               \
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
            [ENABLE_PROFILING] = (function)enable_profiling_##n,                                   \
            [GET_DEVICES] = (function)get_devices_##n,                                             \
            [SET_POLICY] = (function)set_policy_##n,                                               \
            [SET_POLICY_DELEGATE] = (function)set_delegate_##n,                                    \
            [ASK_PROFILE] = (function)ask_profile_##n,                                             \
        };                                                                                         \
                                                                                                   \
        return replace(&copies[n], version, replacements);                                         \
    }

SET(0)
SET(1)
SET(2)
SET(3)

OT_HOOK const struct ort_base *OrtGetApiBase(void);

static struct real base_real = {"OrtGetApiBase", (function)OrtGetApiBase, {NULL}};

static const struct ort_base *ours_of(const struct ort_base *theirs)
{
    static const function *(*const get_api[COPIES_MAX])(uint32_t) = {get_api_0, get_api_1,
                                                                     get_api_2, get_api_3};
    const struct ort_base *found = NULL;

    recorder_lock(RECORDER_LOCK_ORT);
    for (size_t i = 0; i < copy_count && !found; i++)
        found = copies[i].theirs == theirs || &copies[i].ours == theirs ? &copies[i].ours : NULL;
    if (!found && copy_count < COPIES_MAX) {
        copies[copy_count].theirs = theirs;
        copies[copy_count].ours = (struct ort_base){get_api[copy_count], theirs->version};
        found = &copies[copy_count++].ours;
    }
    recorder_unlock(RECORDER_LOCK_ORT);
    return found ? found : theirs;
}

static const struct ort_base *answer(function found)
{
    const struct ort_base *theirs = found ? ((const struct ort_base *(*)(void))found)() : NULL;

    return theirs && recorder_wants("ort") ? ours_of(theirs) : theirs;
}

const struct ort_base *OrtGetApiBase(void)
{
    return answer(real_try(&base_real, __builtin_return_address(0)));
}

/* --- Found by dlsym() --- */

/* Their OrtGetApiBase(), each with a function that stands for it. */
static function found[COPIES_MAX];

#define FOUND(n)                                                                                   \
    static const struct ort_base *found_##n(void)                                                  \
    {                                                                                              \
        return answer(found[n]);                                                                   \
    }

FOUND(0)
FOUND(1)
FOUND(2)
FOUND(3)

void *ort_stand_in(void *theirs)
{
    static const struct ort_base *(*const ours[COPIES_MAX])(void) = {found_0, found_1, found_2,
                                                                     found_3};
    void *stand_in = theirs;
    function wanted;

    *(void **)&wanted = theirs;
    if (!theirs || wanted == (function)OrtGetApiBase || !recorder_wants("ort"))
        return theirs;
    recorder_lock(RECORDER_LOCK_ORT);
    for (size_t i = 0; i < COPIES_MAX && stand_in == theirs; i++) {
        if (found[i] && found[i] != wanted)
            continue;
        found[i] = wanted;
        stand_in = (void *)ours[i];
    }
    recorder_unlock(RECORDER_LOCK_ORT);
    return stand_in;
}
