/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the kernel's context from its description on, and with it how the description begins: a
 * context whose kernel has ended is not there any more. */
#include "client/inject/tensorflow_result.h"

#include <dlfcn.h>
#include <string.h>

#include "client/inject/real.h"
#include "client/inject/recorder.h"

#define TRACE_STRING _ZNK10tensorflow8OpKernel11TraceStringB5cxx11ERKNS_15OpKernelContextEb
#define TEXT_(x)     #x
#define TEXT_OF(x)   TEXT_(x)
#define MUTABLE_OUTPUT                                                                             \
    "_ZN10tensorflow15OpKernelContext14mutable_outputESt17basic_string_viewIcSt11char_"            \
    "traitsIcEEPPNS_6TensorE"
#define DIM_SIZE "_ZNK10tensorflow15TensorShapeBaseINS_11TensorShapeEE8dim_sizeEi"

enum { BEGINNING = 64 };

/* std::string, as it begins, and std::string_view */
struct string {
    const char *text;
    size_t length;
};
struct view {
    size_t length;
    const char *text;
};

typedef void *trace_string_type(struct string *out_string, const void *kernel, const void *context,
                                bool is_long);

OT_HOOK trace_string_type TRACE_STRING;

static struct real trace_string_real = {
    TEXT_OF(TRACE_STRING), (void (*)(void))TRACE_STRING, {NULL}};

/* An absl::Status is returned by its address; a tensor begins with its shape. */
static void *(*mutable_output)(uint64_t *out_status, const void *context, struct view name,
                               void **out_tensor);
static int64_t (*dim_size)(const void *shape, int place);

static bool is_refused; /* one was asked for that is not there: each time costs a status */

static OT_TLS struct {
    const void *context;
    size_t length;
    char beginning[BEGINNING];
} described;

void tensorflow_result_open(void *handle)
{
    *(void **)&dim_size = dlsym(handle, DIM_SIZE);
    if (dim_size)
        *(void **)&mutable_output = dlsym(handle, MUTABLE_OUTPUT);
}

static size_t beginning_of(size_t length)
{
    return length < BEGINNING ? length : BEGINNING;
}

void *TRACE_STRING(struct string *out_string, const void *kernel, const void *context, bool is_long)
{
    trace_string_type *const theirs =
        (trace_string_type *)real_find(&trace_string_real, __builtin_return_address(0));

    theirs(out_string, kernel, context, is_long);
    described.context = context;
    described.length = out_string->length;
    memcpy(described.beginning, out_string->text, beginning_of(out_string->length));
    return out_string;
}

bool tensorflow_result(const char *text, size_t length, int rank, int64_t *out_dims)
{
    const void *const context = described.context;
    uint64_t status = 0;
    void *tensor = NULL;

    described.context = NULL;
    if (!context || !mutable_output || __atomic_load_n(&is_refused, __ATOMIC_RELAXED) ||
        length != described.length || memcmp(text, described.beginning, beginning_of(length)) != 0)
        return false;
    mutable_output(&status, context, (struct view){6, "output"}, &tensor);
    if (!tensor) {
        __atomic_store_n(&is_refused, true, __ATOMIC_RELAXED);
        return false;
    }
    for (int i = 0; i < rank; i++)
        out_dims[i] = dim_size(tensor, i);
    return true;
}
