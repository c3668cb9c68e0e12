/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small library in place of TensorFlow: functions and sessions that run two kernels, each of which
 * is told to the recorder of its profiler while a level is set, by a symbol as the real one does.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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

static void *compute(void *context)
{
    (void)context;
    tell("ExecutorState::Process#id=17,iter_num=0#");
    tell("dense/MatMul:_MklMatMul#shape=(float[64,256];float[256,10])#");
    tell("dense/Relu:Relu#shape=(bfloat16[64,10])#");
    tell("FunctionRun#id=17#");
    return NULL;
}

/* On a thread of the library's own. */
static void run_kernels(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, compute, NULL);
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
        run_kernels();
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
    run_kernels();
}
