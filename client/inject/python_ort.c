/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX Runtime's Python wheel, which holds the library inside its extension: methods of its
 * InferenceSession are put behind functions of ours, which leave no frame in tracebacks, as soon as
 * the module is made; nodes come by the provider, which joins sessions by its name.
 */
#include "client/inject/python_ort.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client/inject/found.h"
#include "client/inject/nodes.h"
#include "client/inject/ort.h"
#include "client/inject/ort_profile.h"
#include "client/inject/ort_provider.h"
#include "client/inject/python.h"
#include "client/inject/recorder.h"

enum { SESSIONS_MAX = 256, SLOTS_MAX = 32, PROBE = 0x5eed };

static object *module, *options_type;
static struct ort_provider *provider; /* NULL: not there */
static object *own_options;           /* that ask for a profile; NULL: there are none */
static bool is_attached;              /* that was tried */

static struct session {
    const object *self; /* NULL: the place is free */
    uint32_t model;
    bool has_nodes, may_join;
    struct nodes_place place;
    struct ort_profile *profile; /* of a release that tells of no nodes; NULL: there is none */
    object *alive;               /* a weak reference to `self`; owned */
} sessions[SESSIONS_MAX];

/* --- Sessions --- */

static struct session *find_session(const object *self)
{
    static struct session nobody;

    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        if (sessions[i].self == self)
            return &sessions[i];
    }
    nobody = (struct session){.self = self};
    return &nobody;
}

/* --- A profile of a release that tells of no nodes --- */

/* It is whole when the session has ended, or is made so. */
static void finish_profile(struct session *session)
{
    object *self = session->profile && session->alive
                       ? python.PyObject_CallObject(session->alive, NULL)
                       : NULL;

    if (self && self != python.none && session->profile->forks == recorder_forks)
        python_drop(python.PyObject_CallMethod(self, "end_profiling", NULL));
    python_drop(self);
    python_drop(session->alive);
    session->alive = NULL;
    python.PyErr_Clear();
    ort_profile_finish(&session->profile);
}

static object *finish_profiles(object *theirs, object *arguments, object *words)
{
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        finish_profile(&sessions[i]);
    python.Py_IncRef(python.none);
    return python.none;
}

static void finish_at_exit(void)
{
    static struct python_method method = {"finish_profiles", finish_profiles, PYTHON_WITH_WORDS,
                                          NULL};
    static bool is_registered;
    object *exits, *function;

    if (is_registered)
        return;
    is_registered = true;
    exits = python.PyImport_ImportModule("atexit");
    function = python.PyCFunction_NewEx(&method, NULL, NULL);
    if (exits && function)
        python_drop(python.PyObject_CallMethod(exits, "register", "O", function));
    python_drop(exits);
    python_drop(function);
    python.PyErr_Clear();
}

/* An error of theirs stays. */
static void restore(object *options, object *prefix, object *no)
{
    object *type = NULL, *value = NULL, *trace = NULL;

    python.PyErr_Fetch(&type, &value, &trace);
    if (prefix)
        python.PyObject_SetAttrString(options, "profile_file_prefix", prefix);
    if (no)
        python.PyObject_SetAttrString(options, "enable_profiling", no);
    python.PyErr_Restore(type, value, trace);
}

/* The program's own options, while the session is made. */
static object *construct_with_profile(object *theirs, object *arguments, object *words,
                                      struct session *session)
{
    object *self = python.PyTuple_GetItem(arguments, 0);
    object *options = python.PyTuple_GetItem(arguments, 1), *result, *start;
    object *before = python.PyObject_GetAttrString(options, "profile_file_prefix");
    object *yes = python.PyLong_FromLong(1), *no = python.PyLong_FromLong(0), *prefix;
    struct ort_profile *profile = ort_profile_create(session->model);

    prefix = profile ? python.PyUnicode_FromString(profile->prefix) : NULL;
    if (!before || !prefix || !yes || !no ||
        python.PyObject_SetAttrString(options, "profile_file_prefix", prefix) < 0 ||
        python.PyObject_SetAttrString(options, "enable_profiling", yes) < 0)
        ort_profile_finish(&profile);
    python.PyErr_Clear();
    result = python.PyObject_Call(theirs, arguments, words);
    if (profile && result) {
        start = python.PyObject_GetAttrString(self, "get_profiling_start_time_ns");
        if (start)
            ort_profile_begin(profile, python.PyLong_AsLong(start));
        python_drop(start);
        session->alive = python.PyWeakref_NewRef(self, NULL);
        session->profile = profile;
        finish_at_exit();
        python.PyErr_Clear();
    }
    restore(options, before, no);
    python_drop(before);
    python_drop(prefix);
    python_drop(yes);
    python_drop(no);
    if (!result)
        ort_profile_finish(&profile);
    return result;
}

/* One at this address is gone; with many, so is the oldest. */
static struct session *take_session(const object *self)
{
    static size_t next;
    struct session *place = &sessions[next % SESSIONS_MAX];
    size_t i = 0;

    while (i < SESSIONS_MAX && sessions[i].self != self)
        i++;
    if (i < SESSIONS_MAX)
        place = &sessions[i];
    else
        next++;
    finish_profile(place);
    *place = (struct session){.self = self};
    return place;
}

/* pybind11 keeps the value's address behind the head. */
static void *value_of(const object *of)
{
    return *(void *const *)((const char *)of + python.head_bytes);
}

/* Whether that is so: what Python sets must be what the library reads. Without risk: an address that
 * is none is no more than an error. */
static bool is_value_there(object *options)
{
    object *probe = python.PyLong_FromLong(PROBE), *zero = python.PyLong_FromLong(0);
    bool is_there = false;
    uint64_t word;

    if (probe && zero &&
        python.PyObject_SetAttrString(options, "log_verbosity_level", probe) == 0) {
        struct iovec to = {&word, sizeof(word)}, from = {value_of(options), sizeof(word)};

        is_there = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof(word) &&
                   ort_provider_verbosity(provider, from.iov_base) == PROBE;
        is_there &= python.PyObject_SetAttrString(options, "log_verbosity_level", zero) == 0;
    }
    python.PyErr_Clear();
    python_drop(probe);
    python_drop(zero);
    return is_there;
}

/* Of the library in the extension. */
static bool is_recent(void)
{
    static bool is_asked, answer;
    object *version;
    const char *text, *dot;

    if (is_asked)
        return answer;
    is_asked = true;
    version = python.PyObject_CallMethod(module, "get_version_string", NULL);
    text = version ? python.PyUnicode_AsUTF8(version) : NULL;
    dot = text ? strchr(text, '.') : NULL;
    answer = dot && strtol(dot + 1, NULL, 10) >= ORT_PROVIDER_SINCE;
    if (!answer)
        found_limit(FOUND_ORT, ORT_TELLS_NO_NODES);
    found_say_version(FOUND_ORT, text);
    python.PyErr_Clear();
    python_drop(version);
    return answer;
}

/* With the first session, not with the import. */
static void attach(void)
{
    Dl_info place;
    object *done;

    if (is_attached)
        return;
    is_attached = true;
    if (!is_recent() || !nodes_every() || dladdr((void *)attach, &place) == 0)
        return;
    done = python.PyObject_CallMethod(module, "register_execution_provider_library", "ss",
                                      ORT_PROVIDER_NAME, place.dli_fname);
    provider = done ? ort_provider_registered() : NULL;
    python_drop(done);
    if (!provider)
        return;
    own_options = python.PyObject_CallObject(options_type, NULL);
    if (!own_options || !is_value_there(own_options) ||
        !ort_provider_ask(provider, value_of(own_options), true)) {
        python.PyErr_Clear();
        own_options = NULL; /* its memory stays: who knows what it is */
    }
}

static bool is_true(object *answer)
{
    const bool truth = answer && python.PyObject_IsTrue(answer) == 1;

    python.PyErr_Clear();
    python_drop(answer);
    return truth;
}

static uint32_t model_of(object *model, bool is_path)
{
    char text[64];

    if (is_path) {
        const char *path = python.PyUnicode_AsUTF8(model);

        python.PyErr_Clear();
        return path ? ort_model(path) : 0;
    }
    snprintf(text, sizeof(text), "model of %td bytes", python.PyBytes_Size(model));
    python.PyErr_Clear();
    return ort_model(text);
}

/* Of a model that is not there, a session with a profile logs a line more. */
static bool is_readable(object *arguments)
{
    const char *path;

    if (python.PyObject_IsTrue(python.PyTuple_GetItem(arguments, 3)) != 1)
        return true;
    path = python.PyUnicode_AsUTF8(python.PyTuple_GetItem(arguments, 2));
    python.PyErr_Clear();
    return path && access(path, R_OK) == 0;
}

/* InferenceSession(options, model, is_path, ...): the model is read. */
static object *construct(object *theirs, object *arguments, object *words)
{
    struct session *session;
    object *options, *result;
    struct optrace_span span = {0, 0};

    if (!recorder_is_on() || python.PyTuple_Size(arguments) < 4)
        return python.PyObject_Call(theirs, arguments, words);
    attach();
    options = python.PyTuple_GetItem(arguments, 1);
    session = take_session(python.PyTuple_GetItem(arguments, 0));
    session->model = model_of(python.PyTuple_GetItem(arguments, 2),
                              python.PyObject_IsTrue(python.PyTuple_GetItem(arguments, 3)) == 1);
    /* A profile of the program's own is the only one; devices that it chose stay these. */
    session->may_join = own_options &&
                        !is_true(python.PyObject_GetAttrString(options, "enable_profiling")) &&
                        !is_true(python.PyObject_CallMethod(options, "has_providers", NULL));
    span = recorder.begin(recorder.name(OPTRACE_LABEL, "load model"));
    if (!is_recent() && ort_profile_is_wanted() && is_readable(arguments) &&
        !is_true(python.PyObject_GetAttrString(options, "enable_profiling")))
        result = construct_with_profile(theirs, arguments, words, session);
    else
        result = python.PyObject_Call(theirs, arguments, words);
    recorder.end(span);
    return result;
}

/* initialize_session(names, options, ...): ours is before the names, and takes nothing. */
static object *initialize(object *theirs, object *arguments, object *words)
{
    const ptrdiff_t count = python.PyTuple_Size(arguments);
    struct session *session = find_session(python.PyTuple_GetItem(arguments, 0));
    object *names = NULL, *options = NULL, *name = NULL, *none = NULL, *result = NULL;

    if (!session->may_join || count < 3 || (words && python.PyDict_Size(words)))
        return python.PyObject_Call(theirs, arguments, words);
    names = python.PySequence_List(python.PyTuple_GetItem(arguments, 1));
    options = python.PySequence_List(python.PyTuple_GetItem(arguments, 2));
    name = python.PyUnicode_FromString(ORT_PROVIDER_NAME);
    none = python.PyDict_New();
    if (names && options && name && none && python.PyList_Insert(names, 0, name) == 0 &&
        (python.PyList_Size(options) == 0 || python.PyList_Insert(options, 0, none) == 0)) {
        ort_provider_set_loading(session->model);
        result = python_call_with(theirs, arguments, 1, names, 2, options);
        session->has_nodes = result != NULL;
    } else {
        python.PyErr_Clear();
        result = python.PyObject_Call(theirs, arguments, words);
    }
    for (int i = 0; i < 4; i++) {
        object *made = (object *const[]){names, options, name, none}[i];

        if (made)
            python.Py_DecRef(made); /* an error of theirs stays */
    }
    return result;
}

/* --- Runs --- */

/* place  of the run options among the arguments */
static object *run_at(object *theirs, object *arguments, object *words, ptrdiff_t place)
{
    const ptrdiff_t count = python.PyTuple_Size(arguments);
    struct session *session;
    object *given = python.none, *result;
    struct ort_provider_given *watched = NULL;
    struct ort_profile *profile;
    struct optrace_run run;
    uint32_t model;
    uint64_t start;
    int64_t start_ns;
    bool has_nodes, may_have_nodes;

    if (!recorder_is_on() || count < 1)
        return python.PyObject_Call(theirs, arguments, words);
    session = find_session(python.PyTuple_GetItem(arguments, 0));
    model = session->model;
    may_have_nodes = session->has_nodes && count >= place && !(words && python.PyDict_Size(words));
    has_nodes = may_have_nodes;
    if (has_nodes) {
        has_nodes = nodes_turn(&session->place);
        given = count > place ? python.PyTuple_GetItem(arguments, place) : python.none;
        if (given != python.none && python.PyObject_IsInstance(given, options_type) == 1)
            watched = ort_provider_take(provider, value_of(given), &has_nodes);
        else
            has_nodes &= given == python.none;
    }
    profile =
        session->profile && session->profile->forks == recorder_forks ? session->profile : NULL;
    start_ns = profile ? ort_profile_now() : 0;
    run = recorder.run_begin(model, has_nodes || profile ? 0 : OPTRACE_WITHOUT_OPS);
    ort_provider_enter(has_nodes ? run.number : 0, model);
    start = nodes_start();
    if (has_nodes && given == python.none)
        result = python_call_with(theirs, arguments, place, own_options, -1, NULL);
    else
        result = python.PyObject_Call(theirs, arguments, words);
    if (may_have_nodes)
        nodes_end(&session->place, has_nodes, start);
    ort_provider_leave();
    recorder.run_end(run);
    if (profile)
        ort_profile_run(profile, run.number, start_ns, ort_profile_now());
    if (watched)
        ort_provider_give_back(provider, watched);
    return result;
}

static object *run(object *theirs, object *arguments, object *words)
{
    return run_at(theirs, arguments, words, 4 - 1);
}

static object *run_binding(object *theirs, object *arguments, object *words)
{
    return run_at(theirs, arguments, words, 2);
}

static object *run_vector(object *theirs, object *arguments, object *words)
{
    return run_at(theirs, arguments, words, 1);
}

/* --- What the program sees --- */

/* A name, or a device. */
static bool is_ours(object *item)
{
    object *name = python.PyObject_GetAttrString(item, "ep_name");
    const char *text;
    bool answer;

    python.PyErr_Clear();
    text = python.PyUnicode_AsUTF8(name ? name : item);
    answer = text && strcmp(text, ORT_PROVIDER_NAME) == 0;
    python.PyErr_Clear();
    if (name)
        python.Py_DecRef(name);
    return answer;
}

/* Providers and devices, without ours. */
static object *without_us(object *theirs, object *arguments, object *words)
{
    object *result = python.PyObject_Call(theirs, arguments, words), *list;

    if (!result || !provider)
        return result;
    if (python.PyObject_IsInstance(result, python.dict_type) == 1) {
        python.PyDict_DelItemString(result, ORT_PROVIDER_NAME);
        python.PyErr_Clear();
        return result;
    }
    list = python.PySequence_List(result);
    python.Py_DecRef(result);
    for (ptrdiff_t i = list ? python.PyList_Size(list) : 0; i-- > 0;) {
        if (is_ours(python.PyList_GetItem(list, i)))
            python.PyList_SetSlice(list, i, i + 1, NULL);
    }
    return list;
}

/* What the program's own function chooses among; it is `theirs`. */
static object *choose_without_us(object *theirs, object *arguments, object *words)
{
    object *list = python.PySequence_List(python.PyTuple_GetItem(arguments, 0)), *result;

    if (!list || !provider) {
        python_drop(list);
        return python.PyObject_Call(theirs, arguments, words);
    }
    for (ptrdiff_t i = python.PyList_Size(list); i-- > 0;) {
        if (is_ours(python.PyList_GetItem(list, i)))
            python.PyList_SetSlice(list, i, i + 1, NULL);
    }
    result = python_call_with(theirs, arguments, 0, list, -1, NULL);
    python.Py_DecRef(list);
    return result;
}

/* set_provider_selection_policy_delegate(function) */
static object *set_delegate(object *theirs, object *arguments, object *words)
{
    static struct python_method method = {"choose", choose_without_us, PYTHON_WITH_WORDS, NULL};
    object *function = NULL, *result;

    if (python.PyTuple_Size(arguments) == 2 && !(words && python.PyDict_Size(words)) &&
        python.PyCallable_Check(python.PyTuple_GetItem(arguments, 1)))
        function = python.PyCFunction_NewEx(&method, python.PyTuple_GetItem(arguments, 1), NULL);
    if (!function)
        return python.PyObject_Call(theirs, arguments, words);
    result = python_call_with(theirs, arguments, 1, function, -1, NULL);
    python.Py_DecRef(function);
    return result;
}

/* --- The module --- */

#define METHOD(name, call)                                                                         \
    {                                                                                              \
        name, call, PYTHON_WITH_WORDS, NULL                                                        \
    }
#define METHODS_END                                                                                \
    {                                                                                              \
        NULL, NULL, 0, NULL                                                                        \
    }

static struct python_method of_session[] = {METHOD("__init__", construct),
                                            METHOD("initialize_session", initialize),
                                            METHOD("run", run),
                                            METHOD("run_with_ort_values", run),
                                            METHOD("run_with_iobinding", run_binding),
                                            METHOD("run_with_ortvaluevector", run_vector),
                                            METHOD("get_providers", without_us),
                                            METHOD("get_provider_options", without_us),
                                            METHODS_END};
static struct python_method of_options[] = {
    METHOD("set_provider_selection_policy_delegate", set_delegate), METHODS_END};
static struct python_method of_module[] = {METHOD("get_ep_devices", without_us),
                                           METHOD("get_available_providers", without_us),
                                           METHODS_END};

/* The module has all that it will have. Never fails: the program must not notice. */
static int on_made(object *made)
{
    object *type = python.PyObject_GetAttrString(made, "InferenceSession");

    options_type = python.PyObject_GetAttrString(made, "RunOptions");
    python.PyErr_Clear();
    if (!type || !options_type || module)
        return 0;
    module = made;
    python.Py_IncRef(module);
    python_replace(type, of_session, true);
    type = python.PyObject_GetAttrString(made, "SessionOptions");
    if (type)
        python_replace(type, of_options, true);
    python.PyErr_Clear();
    python_replace(module, of_module, false);
    return 0;
}

static object *(*their_init)(void);

/* Of a module that is made in two phases ours comes behind theirs; of one phase it is made already. */
static object *init(void)
{
    static struct python_slot slots[SLOTS_MAX];
    object *made = their_init(), *type;
    struct python_slot **theirs;
    size_t count = 0;

    if (!made || !python_find())
        return made;
    type = python.PyObject_Type(made);
    python.Py_DecRef(type);
    if (type != python.module_def_type) {
        on_made(made);
        return made;
    }
    theirs = (struct python_slot **)((char *)made + python.head_bytes + PYTHON_SLOTS_OFFSET);
    if (!*theirs || *theirs == slots)
        return made;
    for (; count + 2 < SLOTS_MAX && (*theirs)[count].id; count++)
        slots[count] = (*theirs)[count];
    if ((*theirs)[count].id)
        return made; /* more than there is room for */
    slots[count] = (struct python_slot){PYTHON_EXEC, (void *)on_made};
    slots[count + 1] = (struct python_slot){0, NULL};
    *theirs = slots;
    return made;
}

void *python_ort_stand_in(void *theirs)
{
    if (!theirs || !recorder_wants("ort"))
        return theirs;
    *(void **)&their_init = theirs;
    return (void *)init;
}
