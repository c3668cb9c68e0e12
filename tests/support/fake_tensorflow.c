/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small library in place of TensorFlow: functions and sessions that run some kernels, each of which
 * is told to the recorder of its profiler while a level is set, by a symbol as the real one does, and
 * described before by another.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT      __attribute__((visibility("default")))
#define NAMED(name) __asm__(name)

struct handle {
    int64_t rank, dims[4];
};

struct op {
    const char *name;
    struct handle inputs[2];
    int input_count;
};

struct event {
    const char *text;
    size_t length;
    char inside[16];
    int64_t start, end;
};

struct string {
    const char *text;
    size_t length;
};

struct view {
    size_t length;
    const char *text;
};

/* A tensor begins with its shape. */
struct tensor {
    int64_t dims[4];
};

/* Of a kernel that runs. */
struct context {
    struct tensor *output; /* NULL: it has none of this name */
};

EXPORT void TFE_Execute(struct op *op, void **results, int *result_count, int *status);
EXPORT const char *TFE_OpGetName(const struct op *op, int *status);
EXPORT int TFE_OpGetFlatInputCount(const struct op *op, int *status);
EXPORT void *TFE_OpGetFlatInput(struct op *op, int place, int *status);
EXPORT int TF_GetCode(const int *status);
EXPORT int TFE_TensorHandleNumDims(const struct handle *handle, int *status);
EXPORT int64_t TFE_TensorHandleDim(const struct handle *handle, int place, int *status);
EXPORT int TFE_TensorHandleDataType(void *handle);
EXPORT void TF_SessionRun(void *session, const void *options, const void *inputs,
                          void *const *input_values, int input_count, const void *outputs,
                          void **output_values, int output_count, const void *const *targets,
                          int target_count, void *metadata, int *status);
EXPORT void record(struct event *event)
    NAMED("_ZN3tsl8profiler15TraceMeRecorder6RecordEONS1_5EventE");
EXPORT bool start(int level, uint64_t filter) NAMED("_ZN3tsl8profiler15TraceMeRecorder5StartEim");
EXPORT void *stop(void *out_events) NAMED("_ZN3tsl8profiler15TraceMeRecorder4StopEv");
EXPORT struct string *trace_string(struct string *out_string, const char *kernel,
                                   const struct context *context, bool is_long)
    NAMED("_ZNK10tensorflow8OpKernel11TraceStringB5cxx11ERKNS_15OpKernelContextEb");
EXPORT uint64_t *mutable_output(uint64_t *out_status, const struct context *context,
                                struct view name, struct tensor **out_tensor)
    NAMED("_ZN10tensorflow15OpKernelContext14mutable_outputESt17basic_string_viewIcSt11char_"
          "traitsIcEEPPNS_6TensorE");
EXPORT int64_t dim_size(const struct tensor *tensor, int place)
    NAMED("_ZNK10tensorflow15TensorShapeBaseINS_11TensorShapeEE8dim_sizeEi");
EXPORT int level NAMED("_ZN3tsl8profiler8internal13g_trace_levelE");
EXPORT uint64_t fake_tensorflow_kept;

int level = -1;
uint64_t fake_tensorflow_kept;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whoever asked for a profile would find it here. */
void record(struct event *event)
{
    fake_tensorflow_kept += event->length > 0;
}

bool start(int wanted, uint64_t filter)
{
    int off = -1;

    return __atomic_compare_exchange_n(&level, &off, wanted, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

void *stop(void *out_events)
{
    level = -1;
    memcpy(out_events, &fake_tensorflow_kept, sizeof(fake_tensorflow_kept));
    return out_events;
}

static void tell(const char *text)
{
    struct event event = {.text = text, .length = strlen(text), .start = now_ns()};

    if (__atomic_load_n(&level, __ATOMIC_ACQUIRE) < 3)
        return;
    event.end = now_ns();
    record(&event);
}

struct string *trace_string(struct string *out_string, const char *kernel,
                            const struct context *context, bool is_long)
{
    *out_string = (struct string){is_long && context ? kernel : "", is_long ? strlen(kernel) : 0};
    return out_string;
}

uint64_t *mutable_output(uint64_t *out_status, const struct context *context, struct view name,
                         struct tensor **out_tensor)
{
    const bool is_there =
        context->output && name.length == 6 && memcmp(name.text, "output", 6) == 0;

    *out_status = is_there ? 0 : 5;
    *out_tensor = is_there ? context->output : *out_tensor;
    return out_status;
}

int64_t dim_size(const struct tensor *tensor, int place)
{
    return tensor->dims[place];
}

/* A kernel: described, if it is, before it runs, and what belongs to it gone after that. */
static void run_kernel(const char *text, struct tensor *output)
{
    struct context *context = malloc(sizeof(*context));
    struct string description;

    if (!context)
        abort();
    context->output = output;
    if (__atomic_load_n(&level, __ATOMIC_ACQUIRE) >= 3)
        trace_string(&description, text, context, true);
    tell(text);
    memset(context, 0xff, sizeof(*context));
    free(context);
}

/* Two functions have a node of one name. */
static void *compute(void *context)
{
    struct tensor wide = {{1, 6, 6, 4}}, narrow = {{1, 3, 3, 4}}, other = {{2, 3, 3, 4}};

    tell("ExecutorState::Process#id=17,iter_num=0#");
    run_kernel("dense/MatMul:_MklMatMul#shape=(float[64,256];float[256,10])#", NULL);
    run_kernel("dense/Relu:Relu#shape=(bfloat16[64,10])#", NULL);
    run_kernel("conv/Conv2D:_FusedConv2D#shape=(float[1,6,6,3];float[3,3,3,4];float[4])#",
               context ? &wide : &narrow);
    tell("conv/Conv2D:_FusedConv2D#shape=(float[1,6,6,3];float[3,3,3,4];float[4])#");
    run_kernel("odd/Conv2D:Conv2D#shape=(float[1,6,6,3];float[3,3,3,4])#", &other);
    run_kernel("up:Conv2DBackpropInput#shape=(int32[4];float[3,3,2,5];float[1,4,4,5])#", NULL);
    tell("FunctionRun#id=17#");
    return NULL;
}

/* On a thread of the library's own. */
static void run_kernels(bool is_session)
{
    pthread_t thread;

    pthread_create(&thread, NULL, compute, is_session ? &thread : NULL);
    pthread_join(thread, NULL);
}

void TFE_Execute(struct op *op, void **results, int *result_count, int *status)
{
    static struct handle image = {4, {1, 3, 3, 4}};

    *status = 0;
    *result_count = 1;
    if (strcmp(op->name, "Conv2D") == 0)
        results[0] = &image;
    if (strncmp(op->name, "__inference", 11) == 0)
        run_kernels(false);
}

const char *TFE_OpGetName(const struct op *op, int *status)
{
    *status = 3; /* overwritten by what follows */
    return op->name;
}

int TFE_OpGetFlatInputCount(const struct op *op, int *status)
{
    return op->input_count;
}

void *TFE_OpGetFlatInput(struct op *op, int place, int *status)
{
    return &op->inputs[place];
}

int TF_GetCode(const int *status)
{
    return *status;
}

int TFE_TensorHandleNumDims(const struct handle *handle, int *status)
{
    *status = 0;
    return (int)handle->rank;
}

int64_t TFE_TensorHandleDim(const struct handle *handle, int place, int *status)
{
    return handle->dims[place];
}

int TFE_TensorHandleDataType(void *handle)
{
    return 1;
}

void TF_SessionRun(void *session, const void *options, const void *inputs,
                   void *const *input_values, int input_count, const void *outputs,
                   void **output_values, int output_count, const void *const *targets,
                   int target_count, void *metadata, int *status)
{
    *status = input_count + output_count + target_count;
    run_kernels(true);
}
