/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ITT, by which oneDNN, OpenVINO, TBB and others tell tools what they do: tasks, marks, frames,
 * events, domains, names of threads.
 *
 * Each library with ITT in it looks at INTEL_LIBITTNOTIFY64 at its first call, loads this library
 * and calls __itt_api_init() with its list of functions, which are matched by name: lists differ.
 * Structs are those of that interface; `extra2` of domains and texts is the tool's.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/openvino.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"
#include "client/inject/scopes.h"

/* --- The other side's interface --- */

struct api {
    const char *name;
    void (**place)(void);
    void *init, *null;
    int group;
};

struct library {
    unsigned char magic[8];
    unsigned long major, minor, build;
    volatile long api_initialized, mutex_initialized, atomic_counter;
    pthread_mutex_t mutex;
    void *lib, *error_handler;
    const char **dll_path;
    struct api *apis; /* ends with a name of NULL */
};

struct domain {
    volatile int flags; /* 0: the library does not call for it */
    const char *name;
    void *wide_name;
    int extra1; /* the tool's: an enum role */
    void *extra2;
    struct domain *next;
};

struct handle {
    const char *text;
    void *wide_text;
    int extra1;
    void *extra2; /* a struct op_of: the latest domain that it was used in */
    struct handle *next;
};

struct id {
    unsigned long long words[3];
};

/* --- Objects --- */

enum { TEXT_BYTES = NAMES_KEY_BYTES / 2 };

struct text_key {
    uint64_t kind;
    const void *domain;
    char text[TEXT_BYTES];
};

enum { KEY_DOMAIN = 3, KEY_HANDLE, KEY_EVENT, KEY_OP, KEY_OTHERS }; /* NVTX has lower ones */

/* Returns the key's length. */
static size_t fill_key(struct text_key *key, uint64_t kind, const void *domain, const char *text)
{
    const size_t length = strnlen(text, TEXT_BYTES - 1);

    key->kind = kind;
    key->domain = domain;
    memcpy(key->text, text, length);
    key->text[length] = '\0';
    return offsetof(struct text_key, text) + length;
}

/* --- OpenVINO, on processors: a run, in it a layer by its class, in that by its name --- */

enum role {
    ROLE_UNKNOWN, /* not asked yet */
    ROLE_NONE,
    ROLE_RUN,
    ROLE_CLASS,
    ROLE_LAYER,
    ROLE_PRIMITIVE,      /* of oneDNN, that runs, */
    ROLE_PRIMITIVE_MADE, /* that is made */
    ROLE_ONEDNN,         /* what else it tells */
};

/* Layers are told by name: their classes are no tasks by themselves then. */
static bool has_layers;

static OT_TLS uint32_t classes;         /* that the thread is in */
static OT_TLS uint32_t pushed_classes;  /* the outermost of them: they have a place in scopes */
static OT_TLS const char *latest_class; /* "Convolution::execute" */
static OT_TLS const char *run_name;     /* "SyncInferenceCPU::infer::Model1"; NULL: in no run */
static OT_TLS uint32_t run_layers;      /* that have begun in it */

static enum role role_of(const char *name)
{
    static const struct {
        const char *name;
        enum role role;
    } roles[] = {{"ov::phases::cpu::inference", ROLE_RUN},
                 {"ov::op::cpu::exec", ROLE_CLASS},
                 {"ov::Op::exec", ROLE_CLASS}, /* up to 2025.4, with nothing around or inside */
                 {"ov::op::cpu::details", ROLE_LAYER},
                 {"dnnl::primitive::execute", ROLE_PRIMITIVE},
                 {"dnnl::primitive::create", ROLE_PRIMITIVE_MADE}};

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (strcmp(roles[i].name, name) == 0)
            return roles[i].role;
    }
    return strncmp(name, "dnnl", 4) == 0 ? ROLE_ONEDNN : ROLE_NONE;
}

static int make_role(const char *name)
{
    const enum role role = role_of(name);

    if (role == ROLE_LAYER)
        __atomic_store_n(&has_layers, true, __ATOMIC_RELAXED);
    return (int)role;
}

static struct optrace_tensor tensor_of(const struct op_flop_shape *shape)
{
    return (struct optrace_tensor){NULL, shape->dims, shape->rank > 0 ? (uint32_t)shape->rank : 0,
                                   OPTRACE_DTYPE_UNKNOWN};
}

static void put_shapes(const struct openvino_layer *layer, struct optrace_tensor *tensors,
                       struct optrace_op_info *info)
{
    struct op_flop_call call = {
        .name = info->type, .input_count = layer->input_count, .output = layer->output};

    for (uint32_t i = 0; i < layer->input_count; i++) {
        tensors[1 + i] = tensor_of(&layer->inputs[i]);
        call.inputs[i] = layer->inputs[i];
    }
    tensors[0] = tensor_of(&layer->output);
    info->inputs = &tensors[1];
    info->input_count = layer->input_count;
    info->outputs = tensors;
    info->output_count = 1;
    info->computation_flop = op_flop_openvino(&call);
}

static uint32_t define_layer(const char *name)
{
    const struct openvino_layer *layer = openvino_layer_find(name);
    struct optrace_op_info info = OPTRACE_OP_INFO(name, "layer");
    struct optrace_tensor tensors[1 + OPENVINO_INPUTS_MAX];
    char type[64] = "";
    uint32_t op = 0;

    if (latest_class) {
        const char *end = strstr(latest_class, "::execute");
        const size_t length = end ? (size_t)(end - latest_class) : strlen(latest_class);

        memcpy(type, latest_class, length < sizeof(type) ? length : sizeof(type) - 1);
    }
    if (type[0] && !__atomic_load_n(&openvino_repeats_name, __ATOMIC_RELAXED))
        info.type = type; /* that is the first one's, too */
    if (layer)
        put_shapes(layer, tensors, &info);
    if (recorder.op_define(&info, &op) < 0)
        return 0;
    runs_note(op, name);
    return op;
}

static uint64_t make_domain(const void *context)
{
    struct domain *made = calloc(1, sizeof(*made));

    if (made) {
        made->extra1 = make_role(context);
        made->flags = 1;
        made->name = strdup(context);
    }
    return (uintptr_t)made;
}

static struct domain *on_domain_create(const char *name)
{
    struct text_key key;
    const size_t bytes = fill_key(&key, KEY_DOMAIN, NULL, name ? name : "");

    return (struct domain *)(uintptr_t)names_find(&key, bytes, make_domain, key.text);
}

static uint64_t make_handle(const void *context)
{
    struct handle *made = calloc(1, sizeof(*made));

    if (made)
        made->text = strdup(context);
    return (uintptr_t)made;
}

/* Some programs ask anew for each task. */
static struct handle *on_string_handle_create(const char *text)
{
    struct text_key key;
    const size_t bytes = fill_key(&key, KEY_HANDLE, NULL, text ? text : "");

    return (struct handle *)(uintptr_t)names_find(&key, bytes, make_handle, key.text);
}

/* --- Ops --- */

struct op_of {
    const struct domain *domain;
    uint32_t type, op, generation;
};

struct wanted {
    const struct domain *domain;
    const char *text;
    uint32_t type, generation;
};

/* Of layers: the same name may become that of different ones. */
static uint32_t generation_of(const struct domain *domain)
{
    return UNLIKELY(domain && domain->extra1 == ROLE_LAYER)
               ? __atomic_load_n(&openvino_generation, __ATOMIC_RELAXED)
               : 0;
}

static uint64_t make_op(const void *context)
{
    const struct wanted *wanted = context;
    const struct names_text text = {wanted->text, wanted->domain ? wanted->domain->name : NULL,
                                    NULL, wanted->type};
    const int role = wanted->domain ? wanted->domain->extra1 : ROLE_NONE;
    struct op_of *made = calloc(1, sizeof(*made));

    if (!made)
        return 0;
    *made = (struct op_of){wanted->domain, wanted->type, 0, wanted->generation};
    found_say(FOUND_ITT);
    made->op = role == ROLE_LAYER ? define_layer(wanted->text) : names_define(&text);
    if (role == ROLE_RUN)
        runs_always(made->op);
    return (uintptr_t)made;
}

static struct op_of *find_op(const struct domain *domain, const char *text, uint32_t type)
{
    const uint32_t generation = generation_of(domain);
    const struct wanted others = {domain, "(further names)", type, generation};
    struct text_key key;
    const size_t bytes =
        fill_key(&key, (uint64_t)generation << 32 | (uint64_t)type << 8 | KEY_OP, domain, text);
    const struct wanted wanted = {domain, key.text, type, generation};
    struct op_of *found = (struct op_of *)(uintptr_t)names_find(&key, bytes, make_op, &wanted);

    if (LIKELY(found))
        return found;
    key.kind = (uint64_t)type << 8 | KEY_OTHERS;
    return (struct op_of *)(uintptr_t)names_find_always(&key, offsetof(struct text_key, text),
                                                        make_op, &others);
}

static uint32_t op_of_text(const struct domain *domain, const char *text, uint32_t type)
{
    const struct op_of *found;

    if (!text || !recorder_is_on())
        return 0;
    found = find_op(domain, text, type);
    return found ? found->op : 0;
}

static NOINLINE uint32_t find_op_of_handle(const struct domain *domain, struct handle *handle,
                                           uint32_t type)
{
    struct op_of *found;

    if (!handle->text)
        return 0;
    found = find_op(domain, handle->text, type);
    __atomic_store_n((struct op_of **)&handle->extra2, found, __ATOMIC_RELEASE);
    return found ? found->op : 0;
}

static inline uint32_t op_of_handle(const struct domain *domain, struct handle *handle,
                                    uint32_t type)
{
    const struct op_of *found;

    if (!recorder_is_on() || UNLIKELY(!handle))
        return 0;
    found = __atomic_load_n((struct op_of **)&handle->extra2, __ATOMIC_ACQUIRE);
    if (LIKELY(found && found->domain == domain && found->type == type &&
               found->generation == generation_of(domain)))
        return found->op;
    return find_op_of_handle(domain, handle, type);
}

/* --- Handlers --- */

/* A primitive that is recorded as an op tells the same by ITT; one that is made bears the name of
 * one that runs. */
static bool is_told_otherwise(int role)
{
    if (role < ROLE_PRIMITIVE)
        return false;
    if (classes > 0) /* a part of a layer, whose kind is not always the one that is told */
        return true;
    return role == ROLE_PRIMITIVE_MADE ||
           (role == ROLE_PRIMITIVE && __atomic_load_n(&recorder_primitives, __ATOMIC_RELAXED) > 0);
}

/* Where layers are told by name, it has no place in scopes. */
static NOINLINE void begin_class(const struct domain *domain, struct handle *name)
{
    if (UNLIKELY(!__atomic_load_n(&has_layers, __ATOMIC_RELAXED))) {
        scopes_put(domain, op_of_handle(domain, name, OPTRACE_LABEL));
        pushed_classes++;
    }
    classes++;
    latest_class = name ? name->text : NULL;
}

static NOINLINE void end_class(const struct domain *domain)
{
    const bool is_pushed = pushed_classes > 0 && pushed_classes == classes;

    classes -= classes > 0;
    pushed_classes -= is_pushed;
    if (is_pushed)
        scopes_pop(domain);
}

/* Of one of before there was a tool: it has not been made by us. */
static __attribute__((noinline, cold)) int ask_role(const struct domain *domain)
{
    const int role = make_role(domain->name ? domain->name : "");

    __atomic_store_n((int *)&domain->extra1, role, __ATOMIC_RELAXED);
    return role;
}

static inline int role_of_domain(const struct domain *domain)
{
    int role = ROLE_NONE;

    if (LIKELY(domain))
        role = __atomic_load_n(&domain->extra1, __ATOMIC_RELAXED);
    return LIKELY(role != ROLE_UNKNOWN) ? role : ask_role(domain);
}

/* Names are the first layer's: what tells them apart is their order. */
static uint32_t op_of_place(const struct domain *domain)
{
    const char *colon = strrchr(run_name, ':');
    char text[TEXT_BYTES];

    snprintf(text, sizeof(text), "layer %u of %s", ++run_layers, colon ? colon + 1 : run_name);
    return op_of_text(domain, text, OPTRACE_LABEL);
}

static uint32_t op_of_task(const struct domain *domain, struct handle *name, int role)
{
    if (LIKELY(role == ROLE_NONE))
        return op_of_handle(domain, name, OPTRACE_LABEL);
    if (is_told_otherwise(role))
        return 0;
    if (role == ROLE_RUN) {
        run_name = name ? name->text : NULL;
        run_layers = 0;
    }
    if (role == ROLE_LAYER && run_name && __atomic_load_n(&openvino_repeats_name, __ATOMIC_RELAXED))
        return op_of_place(domain);
    return op_of_handle(domain, name, OPTRACE_LABEL);
}

static NOINLINE void begin_task(const struct domain *domain, struct handle *name)
{
    const int role = role_of_domain(domain);

    if (UNLIKELY(role == ROLE_CLASS))
        begin_class(domain, name);
    else
        scopes_put(domain, op_of_task(domain, name, role));
}

/* The name of a class is that of layers that begin when somebody listens. */
static void on_task_begin(const struct domain *domain, struct id task, struct id parent,
                          struct handle *name)
{
    if (!domain || domain->extra1 == ROLE_CLASS || !scopes_are_quiet())
        begin_task(domain, name);
}

/* A function in place of a name has none that could be shown. */
static void on_task_begin_fn(const struct domain *domain, struct id task, struct id parent,
                             void *called)
{
    scopes_put(domain, op_of_text(domain, "(function)", OPTRACE_LABEL));
}

static NOINLINE void end_task(const struct domain *domain)
{
    const int role = role_of_domain(domain);

    if (UNLIKELY(role == ROLE_RUN))
        run_name = NULL;
    if (UNLIKELY(role == ROLE_CLASS))
        end_class(domain);
    else
        scopes_pop(domain);
}

static void on_task_end(const struct domain *domain)
{
    if (!scopes_are_empty() || classes > 0)
        end_task(domain);
}

/* With a time of the program's own clock it is not recorded: what that counts is not known. */
static void on_task_begin_ex(const struct domain *domain, void *clock, unsigned long long time,
                             struct id task, struct id parent, struct handle *name)
{
    scopes_put(domain, clock || time ? 0 : op_of_handle(domain, name, OPTRACE_LABEL));
}

static void on_task_end_ex(const struct domain *domain, void *clock, unsigned long long time)
{
    scopes_pop(domain);
}

static struct scopes_id id_of(const void *owner, struct id id)
{
    return (struct scopes_id){owner, {id.words[0], id.words[1], id.words[2]}};
}

static void on_task_begin_overlapped(const struct domain *domain, struct id task, struct id parent,
                                     struct handle *name)
{
    const struct scopes_id id = id_of(domain, task);

    scopes_begin(&id, op_of_handle(domain, name, OPTRACE_LABEL));
}

static void on_task_end_overlapped(const struct domain *domain, struct id task)
{
    const struct scopes_id id = id_of(domain, task);

    scopes_end_id(&id);
}

static void on_marker(const struct domain *domain, struct id marker, struct handle *name, int scope)
{
    const uint32_t op = op_of_handle(domain, name, OPTRACE_MARK);

    if (op)
        recorder.mark(op);
}

/* A frame bears the name of its domain. */
static void on_frame_begin(const struct domain *domain, const struct id *frame)
{
    const struct scopes_id id = id_of(domain, frame ? *frame : (struct id){{0}});

    scopes_begin(&id, op_of_text(domain, "frame", OPTRACE_LABEL));
}

static void on_frame_end(const struct domain *domain, const struct id *frame)
{
    const struct scopes_id id = id_of(domain, frame ? *frame : (struct id){{0}});

    scopes_end_id(&id);
}

/* Events are numbers, of which each has a name; a thread's own may overlap. */
enum { EVENTS_MAX = 4096 };
static const char *event_names[EVENTS_MAX];
static uint32_t event_count;

static uint64_t make_event(const void *context)
{
    const uint32_t number = __atomic_load_n(&event_count, __ATOMIC_RELAXED);
    char *name = number + 1 < EVENTS_MAX ? strdup(context) : NULL;

    if (!name)
        return 0;
    event_names[number + 1] = name;
    __atomic_store_n(&event_count, number + 1, __ATOMIC_RELEASE);
    return number + 1;
}

static int on_event_create(const char *name, int length)
{
    struct text_key key;
    char text[TEXT_BYTES];
    size_t bytes;

    if (!name || length < 0)
        return 0;
    bytes = (size_t)length < sizeof(text) - 1 ? (size_t)length : sizeof(text) - 1;
    memcpy(text, name, strnlen(name, bytes));
    text[strnlen(name, bytes)] = '\0';
    bytes = fill_key(&key, KEY_EVENT, NULL, text);
    return (int)names_find(&key, bytes, make_event, key.text);
}

static struct scopes_id id_of_event(int event)
{
    return (struct scopes_id){event_names, {(uint64_t)event, (uintptr_t)&recorder_idle, 0}};
}

static int on_event_start(int event)
{
    const struct scopes_id id = id_of_event(event);

    if (event <= 0 || (uint32_t)event > __atomic_load_n(&event_count, __ATOMIC_ACQUIRE))
        return -1;
    scopes_begin(&id, op_of_text(NULL, event_names[event], OPTRACE_LABEL));
    return 0;
}

static int on_event_end(int event)
{
    const struct scopes_id id = id_of_event(event);

    scopes_end_id(&id);
    return 0;
}

static void on_thread_set_name(const char *name)
{
    if (name)
        scopes_name_thread((uint32_t)syscall(SYS_gettid), name);
}

static int on_thread_set_name_old(const char *name, int length)
{
    char text[TEXT_BYTES];
    const size_t room = length > 0 && (size_t)length < sizeof(text) ? (size_t)length : 0;

    if (!name)
        return -1;
    memcpy(text, name, strnlen(name, room));
    text[strnlen(name, room)] = '\0';
    on_thread_set_name(room ? text : name);
    return 0;
}

/* --- The table --- */

#define HANDLER(name, function)                                                                    \
    {                                                                                              \
        name, (void (*)(void))(function)                                                           \
    }

static const struct {
    const char *name;
    void (*function)(void);
} handlers[] = {
    HANDLER("__itt_domain_create", on_domain_create),
    HANDLER("__itt_domain_createA", on_domain_create),
    HANDLER("__itt_string_handle_create", on_string_handle_create),
    HANDLER("__itt_string_handle_createA", on_string_handle_create),
    HANDLER("__itt_task_begin", on_task_begin),
    HANDLER("__itt_task_begin_fn", on_task_begin_fn),
    HANDLER("__itt_task_end", on_task_end),
    HANDLER("__itt_task_begin_ex", on_task_begin_ex),
    HANDLER("__itt_task_end_ex", on_task_end_ex),
    HANDLER("__itt_task_begin_overlapped", on_task_begin_overlapped),
    HANDLER("__itt_task_end_overlapped", on_task_end_overlapped),
    HANDLER("__itt_marker", on_marker),
    HANDLER("__itt_frame_begin_v3", on_frame_begin),
    HANDLER("__itt_frame_end_v3", on_frame_end),
    HANDLER("__itt_event_create", on_event_create),
    HANDLER("__itt_event_createA", on_event_create),
    HANDLER("__itt_event_start", on_event_start),
    HANDLER("__itt_event_end", on_event_end),
    HANDLER("__itt_thread_set_name", on_thread_set_name),
    HANDLER("__itt_thread_set_nameA", on_thread_set_name),
    HANDLER("__itt_thr_name_set", on_thread_set_name_old),
    HANDLER("__itt_thr_name_setA", on_thread_set_name_old),
};

OT_HOOK void __itt_api_init(struct library *library, int groups);
OT_HOOK void __itt_api_fini(struct library *library);

/* The rest does what it does with no tool there. */
void __itt_api_init(struct library *library, int groups)
{
    const bool is_wanted = recorder_wants("itt");

    for (struct api *api = library ? library->apis : NULL; api && api->name; api++) {
        if (!api->place)
            continue;
        *api->place = (void (*)(void))api->null;
        for (size_t i = 0; is_wanted && i < sizeof(handlers) / sizeof(handlers[0]); i++) {
            if (strcmp(api->name, handlers[i].name) == 0)
                *api->place = handlers[i].function;
        }
    }
}

/* Its domains and texts stay: other libraries may have the same. */
void __itt_api_fini(struct library *library)
{
}
