/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow: a call of a function, or of a session, is a run; what is computed eagerly is an op with
 * the shapes that its C interface tells; kernels inside of runs are what its own profiler is told of
 * each, by a C++ symbol that one of its libraries calls another's by. The level from which on they
 * tell is set, and what is told ends here: nothing is kept for a profile that nobody has asked for.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/op_flop.h"
#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/nodes.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"
#include "client/inject/tensorflow_result.h"

#define RECORD     _ZN3tsl8profiler15TraceMeRecorder6RecordEONS1_5EventE
#define START      _ZN3tsl8profiler15TraceMeRecorder5StartEim
#define START_OLD  _ZN3tsl8profiler15TraceMeRecorder5StartEi
#define STOP       _ZN3tsl8profiler15TraceMeRecorder4StopEv
#define TEXT_(x)   #x
#define TEXT_OF(x) TEXT_(x)

enum {
    LEVEL_OFF = -1,
    LEVEL_SHAPES = 3,
    TEXT_MAX = 900,
    INPUTS_MAX = 8,
    DIMS_MAX = 8,
    KEY_KERNEL = 106,
    KEY_EAGER = 107,
};

/* TraceMeRecorder::Event: a std::string, and ns since 1970. */
struct event {
    const char *text;
    size_t length;
    char inside[16];
    int64_t start, end; /* one of them is not above 0 where it is told in halves */
};

struct shape {
    int32_t dtype; /* enum optrace_dtype */
    int32_t rank;  /* -1: not known */
    int64_t dims[DIMS_MAX];
};

struct eager_key {
    uint32_t kind, input_count;
    char type[64];
    struct shape inputs[INPUTS_MAX];
    struct shape output; /* rank -1: not looked at */
};

typedef void execute_type(void *op, void **results, int *result_count, void *status);
typedef void session_run_type(void *session, const void *options, const void *inputs,
                              void *const *input_values, int input_count, const void *outputs,
                              void **output_values, int output_count, const void *const *targets,
                              int target_count, void *metadata, void *status);
typedef void record_type(struct event *event);
typedef bool start_type(int level, uint64_t filter);
typedef void *stop_type(void *out_events);

OT_HOOK execute_type TFE_Execute;
OT_HOOK session_run_type TF_SessionRun;
OT_HOOK record_type RECORD;
OT_HOOK start_type START, START_OLD;
OT_HOOK stop_type STOP;

#define REAL(name)                                                                                 \
    {                                                                                              \
        TEXT_OF(name), (void (*)(void))name,                                                       \
        {                                                                                          \
            NULL                                                                                   \
        }                                                                                          \
    }
static struct real execute_real = REAL(TFE_Execute), session_run_real = REAL(TF_SessionRun),
                   record_real = REAL(RECORD), start_real = REAL(START),
                   start_old_real = REAL(START_OLD), stop_real = REAL(STOP);
#define FUNCTION(type, real) ((type *)real_find(&(real), __builtin_return_address(0)))

/* Of the library that runs are begun in; all but the level may be missing. */
static struct {
    int *level;
    const char *(*name)(const void *op, void *status);
    int (*input_count)(const void *op, void *status);
    void *(*input)(const void *op, int place, void *status);
    int (*dim_count)(void *handle, void *status);
    int64_t (*dim)(void *handle, int place, void *status);
    int (*dtype)(void *handle);
    int (*code)(void *status);
} library;

static pthread_once_t asked = PTHREAD_ONCE_INIT, found = PTHREAD_ONCE_INIT;
static bool is_wanted;
static bool is_theirs; /* the program has a profile of its own under way */
static bool is_told;   /* the level is ours */
static const void *place_of_library;

/* Runs that are open, and the number of the latest: kernels run on threads that know of none. */
static uint32_t open_runs, open_number;
static uint32_t telling_runs; /* those of them whose kernels are recorded */
static struct nodes_place place_of_runs;
static OT_TLS uint32_t depth;

static void ask(void)
{
    is_wanted = recorder_wants("tensorflow");
}

static bool wants(void)
{
    pthread_once(&asked, ask);
    return is_wanted && recorder_is_on();
}

static void find_library(void)
{
    Dl_info place;
    void *handle;

    if (dladdr(place_of_library, &place) == 0)
        return;
    handle = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return;
    *(void **)&library.level = dlsym(handle, "_ZN3tsl8profiler8internal13g_trace_levelE");
    *(void **)&library.name = dlsym(handle, "TFE_OpGetName");
    *(void **)&library.input_count = dlsym(handle, "TFE_OpGetFlatInputCount");
    *(void **)&library.input = dlsym(handle, "TFE_OpGetFlatInput");
    *(void **)&library.dim_count = dlsym(handle, "TFE_TensorHandleNumDims");
    *(void **)&library.dim = dlsym(handle, "TFE_TensorHandleDim");
    *(void **)&library.dtype = dlsym(handle, "TFE_TensorHandleDataType");
    *(void **)&library.code = dlsym(handle, "TF_GetCode");
    tensorflow_result_open(handle);
    dlclose(handle);
}

static void open_library(const void *function)
{
    __atomic_store_n(&place_of_library, function, __ATOMIC_RELAXED);
    pthread_once(&found, find_library);
}

/* Have kernels told, or not, unless the program says so itself. */
static void tell(bool on)
{
    const int level = on ? LEVEL_SHAPES : LEVEL_OFF;

    if (!library.level || __atomic_load_n(&is_theirs, __ATOMIC_RELAXED) ||
        __atomic_load_n(&is_told, __ATOMIC_RELAXED) == on)
        return;
    __atomic_store_n(&is_told, on, __ATOMIC_RELAXED);
    __atomic_store_n(library.level, level, __ATOMIC_RELEASE);
}

/* --- Texts of kernels: "NODE:TYPE#shape=(float[64,256];float[256])#" --- */

static const struct {
    const char *name;
    uint32_t dtype;
    int32_t number; /* TF_DataType */
} dtypes[] = {
    {"float", OPTRACE_DTYPE_F32, 1},        {"double", OPTRACE_DTYPE_F64, 2},
    {"int32", OPTRACE_DTYPE_I32, 3},        {"uint8", OPTRACE_DTYPE_U8, 4},
    {"int16", OPTRACE_DTYPE_I16, 5},        {"int8", OPTRACE_DTYPE_I8, 6},
    {"string", OPTRACE_DTYPE_STRING, 7},    {"complex64", OPTRACE_DTYPE_C64, 8},
    {"int64", OPTRACE_DTYPE_I64, 9},        {"bool", OPTRACE_DTYPE_BOOL, 10},
    {"bfloat16", OPTRACE_DTYPE_BF16, 14},   {"uint16", OPTRACE_DTYPE_U16, 17},
    {"complex128", OPTRACE_DTYPE_C128, 18}, {"half", OPTRACE_DTYPE_F16, 19},
    {"uint32", OPTRACE_DTYPE_U32, 22},      {"uint64", OPTRACE_DTYPE_U64, 23},
};

/* "float[64,256]"; returns what follows, NULL where it is nothing of this kind. */
static const char *read_shape(const char *text, struct shape *out_shape)
{
    const size_t length = strcspn(text, "[");
    char *end;

    if (text[length] != '[')
        return NULL;
    out_shape->dtype = OPTRACE_DTYPE_UNKNOWN;
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        if (strlen(dtypes[i].name) == length && strncmp(dtypes[i].name, text, length) == 0)
            out_shape->dtype = (int32_t)dtypes[i].dtype;
    }
    out_shape->rank = 0;
    for (text += length + 1; *text != ']'; text += *text == ',') {
        const long long dim = strtoll(text, &end, 10);

        if (end == text || (*end != ',' && *end != ']') || out_shape->rank == DIMS_MAX)
            return NULL;
        out_shape->dims[out_shape->rank++] = dim;
        text = end;
    }
    return text + 1;
}

static uint32_t read_shapes(const char *text, struct shape out[INPUTS_MAX])
{
    uint32_t count = 0;

    text = strstr(text, "shape=(");
    if (!text)
        return 0;
    for (text += 7; count < INPUTS_MAX && *text && *text != ')'; text += *text == ';') {
        const char *next = read_shape(text, &out[count]);

        if (!next) { /* "?", or a value of another kind */
            out[count] = (struct shape){.rank = -1};
            next = text + strcspn(text, ";)");
        }
        count++;
        text = next;
    }
    return count;
}

static struct op_flop_shape flop_shape(const struct shape *shape)
{
    struct op_flop_shape out = {.rank = shape->rank};

    for (int i = 0; i < shape->rank; i++)
        out.dims[i] = shape->dims[i];
    return out;
}

static int64_t flop_of(const char *type, const struct shape *inputs, uint32_t count,
                       const struct shape *output)
{
    struct op_flop_call call = {.name = type, .input_count = count, .output = flop_shape(output)};

    for (uint32_t i = 0; i < count; i++)
        call.inputs[i] = flop_shape(&inputs[i]);
    return op_flop_tensorflow(&call);
}

static struct optrace_tensor tensor_of(const struct shape *shape)
{
    return (struct optrace_tensor){NULL, shape->dims, shape->rank > 0 ? (uint32_t)shape->rank : 0,
                                   (uint32_t)shape->dtype};
}

static uint32_t define_op(const char *name, const char *type, const struct shape *inputs,
                          uint32_t count, const struct shape *output)
{
    struct optrace_tensor tensors[INPUTS_MAX], result = tensor_of(output);
    struct optrace_op_info info = OPTRACE_OP_INFO(name, type);
    uint32_t op = 0;

    for (uint32_t i = 0; i < count; i++)
        tensors[i] = tensor_of(&inputs[i]);
    info.outputs = &result;
    info.output_count = output->rank >= 0;
    info.inputs = tensors;
    info.input_count = count;
    info.computation_flop = flop_of(type, inputs, count, output);
    found_say(FOUND_TENSORFLOW);
    if (recorder.op_define(&info, &op) < 0)
        return 0;
    runs_note(op, name);
    return op;
}

/* Behind the text stand the sizes of the result, where they are known: nodes of two functions may have
 * a name, and sizes of what they take, but not these. */
struct kernel_key {
    uint32_t kind, separator; /* where the type begins */
    char text[TEXT_MAX + 1 + DIMS_MAX * sizeof(int64_t)];
};

struct kernel {
    struct kernel_key key;
    char type[64];
    struct shape output;
};

static uint64_t define_kernel(const void *context)
{
    const struct kernel *kernel = context;
    struct shape inputs[INPUTS_MAX];
    char name[TEXT_MAX + 1];

    memcpy(name, kernel->key.text, kernel->key.separator);
    name[kernel->key.separator - 1] = '\0';
    return define_op(name, kernel->type, inputs, read_shapes(kernel->key.text, inputs),
                     &kernel->output);
}

/* Where the type of a kernel begins; 0: the text is of something else ("ExecutorState::Process"). */
static uint32_t find_type(const char *text, size_t length)
{
    uint32_t found_at = 0;

    for (uint32_t i = 0; i < length && text[i] != '#'; i++) {
        if (text[i] == ' ')
            return 0;
        if (text[i] != ':')
            continue;
        if (i == 0 || text[i - 1] == ':' || i + 1 == length || text[i + 1] == ':')
            return 0;
        found_at = i + 1;
    }
    return found_at;
}

/* As many dims as the first input, the first of them the same: a batch, or where the second is of
 * sizes, as a gradient's of weights is, none of that. */
static void find_result(struct kernel *kernel, size_t length)
{
    struct shape inputs[INPUTS_MAX], result = {.rank = -1};
    const uint32_t count = read_shapes(kernel->key.text, inputs);

    if (count < 2 || inputs[0].rank < 3)
        return;
    result.rank = inputs[0].rank;
    result.dtype = inputs[0].dtype;
    if (!tensorflow_result(kernel->key.text, length, result.rank, result.dims))
        return;
    if (inputs[1].rank == result.rank && result.dims[0] != inputs[0].dims[0])
        return;
    for (int i = 0; i < result.rank; i++) {
        if (result.dims[i] < 0)
            return;
    }
    kernel->output = result;
}

static uint32_t kernel_op(const struct event *event, uint32_t separator)
{
    struct kernel kernel;
    size_t type_length = strcspn(event->text + separator, "#");
    size_t bytes = offsetof(struct kernel_key, text) + event->length + 1;

    kernel.key.kind = KEY_KERNEL;
    kernel.key.separator = separator;
    memcpy(kernel.key.text, event->text, event->length);
    kernel.key.text[event->length] = '\0';
    kernel.output.rank = -1;
    if (type_length > sizeof(kernel.type) - 1)
        type_length = sizeof(kernel.type) - 1;
    memcpy(kernel.type, event->text + separator, type_length);
    kernel.type[type_length] = '\0';
    if (op_flop_tensorflow_needs_result(kernel.type))
        find_result(&kernel, event->length);
    if (kernel.output.rank > 0) {
        const size_t room = (size_t)kernel.output.rank * sizeof(kernel.output.dims[0]);

        memcpy((char *)&kernel.key + bytes, kernel.output.dims, room);
        bytes += room;
    }
    return (uint32_t)names_find(&kernel.key, bytes, define_kernel, &kernel);
}

static void record_kernel(const struct event *event)
{
    struct optrace_event done = {.flags = OPTRACE_EVENT_REALTIME};
    uint32_t separator;

    if (event->start <= 0 || event->end < event->start || event->length > TEXT_MAX)
        return;
    separator = find_type(event->text, event->length);
    if (!separator)
        return;
    done.op = kernel_op(event, separator);
    if (__atomic_load_n(&open_runs, __ATOMIC_RELAXED) == 1)
        done.run = __atomic_load_n(&open_number, __ATOMIC_RELAXED);
    done.start = (uint64_t)event->start;
    done.end = (uint64_t)event->end;
    if (done.op)
        recorder.record(&done);
}

void RECORD(struct event *event)
{
    if (__atomic_load_n(&telling_runs, __ATOMIC_RELAXED) > 0 && recorder_is_on())
        record_kernel(event);
    if (__atomic_load_n(&is_theirs, __ATOMIC_ACQUIRE)) {
        record_type *const theirs =
            (record_type *)real_try(&record_real, __builtin_return_address(0));

        if (theirs)
            theirs(event);
    }
}

/* --- The program's own profiles, which need the level at off to begin --- */

static bool start(start_type *theirs, int level, uint64_t filter)
{
    bool has_begun;

    __atomic_store_n(&is_theirs, true, __ATOMIC_RELEASE);
    if (library.level && __atomic_exchange_n(&is_told, false, __ATOMIC_RELAXED))
        __atomic_store_n(library.level, LEVEL_OFF, __ATOMIC_RELEASE);
    has_begun = theirs(level, filter);
    if (!has_begun)
        __atomic_store_n(&is_theirs, false, __ATOMIC_RELEASE);
    return has_begun;
}

bool START(int level, uint64_t filter)
{
    return start(FUNCTION(start_type, start_real), level, filter);
}

bool START_OLD(int level, uint64_t filter)
{
    return start(FUNCTION(start_type, start_old_real), level, filter);
}

void *STOP(void *out_events)
{
    stop_type *const theirs = FUNCTION(stop_type, stop_real);
    void *const events = theirs(out_events);

    __atomic_store_n(&is_theirs, false, __ATOMIC_RELEASE);
    return events;
}

/* --- Runs, and what is computed eagerly --- */

struct run {
    struct optrace_run run;
    bool tells;
    uint64_t start;
};

static struct run begin_run(void)
{
    struct run run = {.tells = nodes_turn(&place_of_runs) && library.level};

    found_say(FOUND_TENSORFLOW);
    run.run = recorder.run_begin(0, run.tells ? 0 : OPTRACE_WITHOUT_OPS);
    __atomic_store_n(&open_number, run.run.number, __ATOMIC_RELAXED);
    __atomic_add_fetch(&open_runs, 1, __ATOMIC_RELAXED);
    if (run.tells && __atomic_add_fetch(&telling_runs, 1, __ATOMIC_RELAXED) == 1)
        tell(true);
    run.start = nodes_start();
    return run;
}

static void end_run(const struct run *run)
{
    nodes_end(&place_of_runs, run->tells, run->start);
    if (run->tells && __atomic_sub_fetch(&telling_runs, 1, __ATOMIC_RELAXED) == 0)
        tell(false);
    __atomic_sub_fetch(&open_runs, 1, __ATOMIC_RELAXED);
    recorder.run_end(run->run);
}

static bool is_function(const char *name)
{
    static const char *const beginnings[] = {"__inference_", "__forward_", "__backward_",
                                             "PartitionedCall", "StatefulPartitionedCall"};

    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    }
    return false;
}

static void fill_input(void *handle, void *status, struct shape *out_shape)
{
    const int rank = library.dim_count(handle, status);
    const int dtype = library.dtype(handle);

    out_shape->rank = rank >= 0 && rank <= DIMS_MAX ? rank : -1;
    for (int i = 0; i < out_shape->rank; i++)
        out_shape->dims[i] = library.dim(handle, i, status);
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        if (dtypes[i].number == dtype)
            out_shape->dtype = (int32_t)dtypes[i].dtype;
    }
}

static uint64_t define_eager(const void *context)
{
    const struct eager_key *key = context;

    return define_op(key->type, key->type, key->inputs, key->input_count, &key->output);
}

static bool has_handles(void)
{
    return library.input_count && library.input && library.dim_count && library.dim &&
           library.dtype && nodes_every() != 0;
}

/* `status` is written by the call that follows. */
static uint32_t eager_op(const void *op, const char *name, void *status, struct eager_key *out_key)
{
    const int count = has_handles() ? library.input_count(op, status) : 0;

    memset(out_key, 0, sizeof(*out_key));
    out_key->kind = KEY_EAGER;
    out_key->output.rank = -1;
    snprintf(out_key->type, sizeof(out_key->type), "%s", name);
    for (int i = 0; i < count && i < INPUTS_MAX; i++) {
        void *handle = library.input(op, i, status);

        out_key->inputs[i].rank = -1;
        if (handle)
            fill_input(handle, status, &out_key->inputs[i]);
        out_key->input_count++;
    }
    return (uint32_t)names_find(out_key, sizeof(*out_key), define_eager, out_key);
}

/* What some compute follows from their result. Its status stays as it is. */
static void end_eager(struct optrace_span span, struct eager_key *key, void *const *results,
                      int result_count, void *status)
{
    uint32_t op = 0;

    if (op_flop_tensorflow_needs_result(key->type) && library.code && result_count == 1 &&
        results && results[0] && library.code(status) == 0) {
        fill_input(results[0], status, &key->output);
        op = (uint32_t)names_find(key, sizeof(*key), define_eager, key);
    }
    if (op)
        recorder.span_op(span, op);
    op_end(span);
}

void TFE_Execute(void *op, void **results, int *result_count, void *status)
{
    execute_type *const theirs = FUNCTION(execute_type, execute_real);
    const char *name;
    struct run run = {.tells = false};
    struct optrace_span span = {0, 0};
    struct eager_key key;
    const bool is_on = wants();

    if (is_on)
        open_library((const void *)theirs);
    name = is_on && library.name ? library.name(op, status) : NULL;
    if (!name || depth > 0) {
        theirs(op, results, result_count, status);
        return;
    }
    depth = 1;
    if (is_function(name))
        run = begin_run();
    else
        span = op_begin(eager_op(op, name, status, &key));
    theirs(op, results, result_count, status);
    if (run.run.number)
        end_run(&run);
    else if (span.id)
        end_eager(span, &key, results, *result_count, status);
    depth = 0;
}

void TF_SessionRun(void *session, const void *options, const void *inputs,
                   void *const *input_values, int input_count, const void *outputs,
                   void **output_values, int output_count, const void *const *targets,
                   int target_count, void *metadata, void *status)
{
    session_run_type *const theirs = FUNCTION(session_run_type, session_run_real);
    struct run run = {.tells = false};
    const bool is_on = wants();

    if (is_on)
        open_library((const void *)theirs);
    if (is_on && depth == 0)
        run = begin_run();
    theirs(session, options, inputs, input_values, input_count, outputs, output_values,
           output_count, targets, target_count, metadata, status);
    if (run.run.number)
        end_run(&run);
}
