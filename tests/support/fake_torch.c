/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small library in place of libtorch_cpu, by the names that its C++ functions have: callbacks, and
 * accessors of objects that lie as TORCH_LAYOUT says:
 *
 *     0  as in 1.13: no accessors of tensors      3  arguments that cannot be found
 *     1  as in 2.15                               4  as 1, with values that cannot be
 *     2  as in no release: all is elsewhere       5  tensors that cannot be found
 */
#include "tests/support/fake_torch.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT      __attribute__((visibility("default")))
#define NAMED(name) __asm__(name)

#if TORCH_LAYOUT == 2
enum { INPUTS = 120, OUTPUTS = 312, SIZES = 104, DTYPE = 216, OWN = 233, OWN_BIT = 0x40 };
enum { COUNT = 380, WISH = 375 };
#else
enum { INPUTS = 208, OUTPUTS = 280, SIZES = 64, DTYPE = 160, OWN = 166, OWN_BIT = 8 };
enum { COUNT = 16, WISH = 98 };
#endif
enum { NAME = 0, INDEX = 40, FUNCTION_BYTES = 400, CALLBACKS = 8, VALUES = 8 };

struct callback {
    void *(*start)(void **out_context, const void *function);
    void (*end)(const void *function, void *context);
    double probability;
    bool scopes[10], needs_inputs, needs_outputs, needs_ids;
    char padding[3];
};

struct value {
    const void *payload;
    uint32_t tag, padding;
};

EXPORT uint64_t add_callback(struct callback callback)
    NAMED("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
EXPORT void remove_callback(uint64_t handle) NAMED("_ZN2at14removeCallbackEm");
EXPORT const char *name_of(const void *function) NAMED("_ZNK2at14RecordFunction4nameEv");
EXPORT size_t count_inputs(const void *function) NAMED("_ZNK2at14RecordFunction10num_inputsEv");
EXPORT size_t count_outputs(const void *function) NAMED("_ZNK2at14RecordFunction11num_outputsEv");
EXPORT int aoti_torch_get_sizes(void *const *tensor, int64_t **out_sizes);
EXPORT int aoti_torch_get_dim(void *const *tensor, int64_t *out_dim);
EXPORT int aoti_torch_get_dtype(void *const *tensor, int32_t *out_code);
#if TORCH_LAYOUT != 0
struct steps { /* longer than a result that comes in registers */
    uint64_t count;
    bool wish;
    uint64_t more[4];
    struct steps *self; /* it knows where it is, and cannot be copied */
};
EXPORT struct steps *get_steps(struct steps *out_steps, uint8_t scope)
    NAMED("_ZN2at16getStepCallbacksENS_11RecordScopeE");
EXPORT void construct(unsigned char *function, struct steps *steps)
    NAMED("_ZN2at14RecordFunctionC1EONS_13StepCallbacksE");
EXPORT void destroy(unsigned char *function) NAMED("_ZN2at14RecordFunctionD1Ev");
#endif
EXPORT uint64_t fake_torch_undefined NAMED("_ZN3c1019UndefinedTensorImpl10_singletonE");
#if TORCH_LAYOUT != 0
EXPORT int aoti_torch_cpu_addmm_out(void *const *result, void *const *self, void *const *a,
                                    void *const *b, double beta, double alpha);
EXPORT int aoti_torch_cpu_convolution(void *const *x, void *const *w, void *const **bias,
                                      const int64_t *stride, int64_t stride_count,
                                      const int64_t *padding, int64_t padding_count,
                                      const int64_t *dilation, int64_t dilation_count,
                                      int32_t transposed, const int64_t *output_padding,
                                      int64_t output_padding_count, int64_t groups, void ***made);
#endif
#pragma GCC visibility push(default)
double fake_torch_addmm(struct fake_torch_tensor *result, struct fake_torch_tensor *a,
                        struct fake_torch_tensor *b);
double fake_torch_convolution(struct fake_torch_tensor *result, struct fake_torch_tensor *x,
                              struct fake_torch_tensor *w);
void fake_torch_tensor(struct fake_torch_tensor *out_tensor, int dtype, int rank,
                       const int64_t *dims, bool own);
void fake_torch_run(const struct fake_torch_op *op);
void fake_torch_product(void);
void sgemm_(const char *a_letter, const char *b_letter, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc);
uint64_t fake_torch_calls(void);
uint64_t fake_torch_asked(void);
uint64_t fake_torch_kept(void);
void fake_torch_observe(bool begin);
#pragma GCC visibility pop

uint64_t fake_torch_undefined;

static struct {
    struct callback callback;
    uint64_t handle; /* 0: none */
} callbacks[CALLBACKS];
static uint64_t last_handle, calls, asked, draws, kept, constructed;

static const void *const tensor_table[64];

static uint64_t word_at(const void *object, size_t offset)
{
    uint64_t word;

    memcpy(&word, (const char *)object + offset, sizeof(word));
    return word;
}

/* --- Callbacks --- */

uint64_t add_callback(struct callback callback)
{
    for (int i = 0; i < CALLBACKS; i++) {
        if (callbacks[i].handle)
            continue;
        callbacks[i].callback = callback;
        return callbacks[i].handle = ++last_handle;
    }
    return 0;
}

void remove_callback(uint64_t handle)
{
    for (int i = 0; i < CALLBACKS; i++) {
        if (callbacks[i].handle == handle)
            callbacks[i].handle = 0;
    }
}

const char *name_of(const void *function)
{
    return (const char *)(uintptr_t)word_at(function, NAME);
}

/* --- Accessors --- */

#if TORCH_LAYOUT != 0
size_t count_inputs(const void *function)
{
    if (word_at(function, INDEX) & 0xff) /* a schema, which says it */
        return 3;
#if TORCH_LAYOUT == 3
    return word_at(function, INPUTS + 8) | word_at(function, INPUTS + 40);
#else
    return word_at(function, INPUTS + 8);
#endif
}

size_t count_outputs(const void *function)
{
    if (word_at(function, INDEX) & 0xff)
        return 1;
    return (word_at(function, OUTPUTS + 8) - word_at(function, OUTPUTS)) / sizeof(struct value);
}

/* As a virtual function of an object does, where one of the program is asked. */
static bool ask_own(const unsigned char *object)
{
    const void *const *table;

    memcpy(&table, object, sizeof(table));
    if (table == tensor_table) {
        asked++;
        return false;
    }
    if (!(object[OWN] & OWN_BIT))
        return false;
    ((void (*)(void))(uintptr_t)table[12])();
    return true;
}

int aoti_torch_get_sizes(void *const *tensor, int64_t **out_sizes)
{
    unsigned char *object = *tensor;

    if (ask_own(object)) {
        *out_sizes = NULL;
        return 0;
    }
#if TORCH_LAYOUT == 5
    *out_sizes = (int64_t *)(void *)(object + SIZES + 8 * (word_at(object, SIZES - 8) & 1));
#else
    *out_sizes = word_at(object, SIZES - 8) > 5 ? (int64_t *)(uintptr_t)word_at(object, SIZES)
                                                : (int64_t *)(void *)(object + SIZES);
#endif
    return 0;
}

int aoti_torch_get_dim(void *const *tensor, int64_t *out_dim)
{
    if (!ask_own(*tensor))
        *out_dim = (int64_t)word_at(*tensor, SIZES - 8);
    return 0;
}

int aoti_torch_get_dtype(void *const *tensor, int32_t *out_code)
{
    ask_own(NULL != *tensor && word_at(*tensor, 0) == (uintptr_t)tensor_table ? *tensor
                                                                              : (void *)callbacks);
    *out_code = (int32_t)(word_at(*tensor, DTYPE) & 0xffff);
    return 0;
}
#endif

/* --- Programs --- */

void fake_torch_tensor(struct fake_torch_tensor *out_tensor, int dtype, int rank,
                       const int64_t *dims, bool own)
{
    const void *const *table = tensor_table;
    const int64_t *outside = out_tensor->outside, length = rank;

    memset(out_tensor, 0, sizeof(*out_tensor));
    memcpy(out_tensor->bytes, &table, sizeof(table));
    memcpy(out_tensor->bytes + SIZES - 8, &length, sizeof(length));
    if (rank > 5) {
        memcpy(out_tensor->outside, dims, (size_t)rank * sizeof(*dims));
        memcpy(out_tensor->bytes + SIZES, &outside, sizeof(outside));
    } else {
        memcpy(out_tensor->bytes + SIZES, dims, (size_t)rank * sizeof(*dims));
    }
    out_tensor->bytes[DTYPE] = (unsigned char)dtype;
    if (own) {
        memset(out_tensor->bytes + SIZES - 8, 0xee, 24); /* of no meaning then */
        out_tensor->bytes[OWN] = OWN_BIT;
    }
}

static bool is_due(const struct callback *callback, int scope)
{
    if (!callback->scopes[scope])
        return false;
    return callback->probability >= 1 ||
           __atomic_add_fetch(&draws, 1, __ATOMIC_RELAXED) % 1000 == 0;
}

/* Values are there for as long as the callbacks run that asked for them. */
static void put(unsigned char *function, size_t offset, const struct value *values, size_t count,
                bool is_vector)
{
    const uint64_t first = (uintptr_t)values;
    const uint64_t second = is_vector ? (uintptr_t)(values + count) : count;

    memcpy(function + offset, &first, sizeof(first));
    memcpy(function + offset + 8, &second, sizeof(second));
}

static size_t fill_inputs(const struct fake_torch_op *op, struct value values[VALUES])
{
    size_t count = op->input_count;

    for (size_t i = 0; i < count; i++)
        values[i] = (struct value){op->inputs[i] ? op->inputs[i] : (void *)&fake_torch_undefined,
                                   TORCH_LAYOUT == 4 ? 0xbeef : 1, 0};
    if (op->is_transposed) {
        for (; count < 6; count++)
            values[count] = (struct value){NULL, 0, 0};
        values[count++] = (struct value){(const void *)(uintptr_t)1, 7, 0};
    }
    return count;
}

/* Which callbacks it will call, and whether one of them wants the result. */
static void put_steps(unsigned char *function, uint32_t count, bool wish)
{
    memcpy(function + COUNT, &count, sizeof(count));
    function[WISH] = wish;
}

#if TORCH_LAYOUT != 0
struct steps *get_steps(struct steps *out_steps, uint8_t scope)
{
    *out_steps = (struct steps){.self = out_steps};
    for (int i = 0; i < CALLBACKS; i++) {
        if (!callbacks[i].handle || !callbacks[i].callback.scopes[scope])
            continue;
        out_steps->count++;
        out_steps->wish |= callbacks[i].callback.needs_outputs;
    }
    return out_steps;
}

void construct(unsigned char *function, struct steps *steps)
{
    if (steps->self != steps)
        abort();
    memset(function, 0, FUNCTION_BYTES);
    put_steps(function, (uint32_t)steps->count, steps->wish);
    memcpy(function + FUNCTION_BYTES - 8, &steps->count,
           8); /* contexts, of which there are as many */
    constructed++;
}

void destroy(unsigned char *function)
{
    memset(function, 0xdd, FUNCTION_BYTES);
    constructed--;
}
#endif

void fake_torch_run(const struct fake_torch_op *op)
{
    _Alignas(8) unsigned char function[FUNCTION_BYTES] = {0};
    struct callback due[CALLBACKS];
    struct value inputs[VALUES], output = {op->output, 1, 0};
    void *contexts[CALLBACKS];
    bool wish = false;
    int count = 0;

    memcpy(function + NAME, &op->name, sizeof(op->name));
    function[INDEX] = op->scope == 0;
    for (int i = 0; i < CALLBACKS; i++) {
        if (callbacks[i].handle && is_due(&callbacks[i].callback, op->scope))
            due[count++] = callbacks[i].callback;
    }
    for (int i = 0; i < count; i++)
        wish |= due[i].needs_outputs;
    put_steps(function, (uint32_t)count, wish);
    for (int i = 0; i < count; i++) {
        if (due[i].needs_inputs)
            put(function, INPUTS, inputs, fill_inputs(op, inputs), false);
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
        due[i].start(&contexts[i], function);
    }
    memset(function + INPUTS, 0xee, 16);
    if (op->body)
        op->body(op->context);
    __atomic_add_fetch(&kept, function[WISH] && op->output, __ATOMIC_RELAXED);
    for (int i = 0; i < count; i++) {
        if (function[WISH] && op->output)
            put(function, OUTPUTS, &output, 1, true);
        due[i].end(function, contexts[i]);
    }
}

/* --- Functions of C --- */

static double given; /* what they were given, in one number */

#if TORCH_LAYOUT != 0
/* What the op calls is told, itself is not; where another way leads to it, it is told as well. */
int aoti_torch_cpu_addmm_out(void *const *result, void *const *self, void *const *a, void *const *b,
                             double beta, double alpha)
{
    given = beta + 10 * alpha;
    fake_torch_run(&(struct fake_torch_op){
        .name = "aten::copy_", .inputs = {*self}, .input_count = 1, .output = *result});
    fake_torch_run(&(struct fake_torch_op){
        .name = "aten::addmm", .inputs = {*self, *a, *b}, .input_count = 3, .output = *result});
    return 0;
}

int aoti_torch_cpu_convolution(void *const *x, void *const *w, void *const **bias,
                               const int64_t *stride, int64_t stride_count, const int64_t *padding,
                               int64_t padding_count, const int64_t *dilation,
                               int64_t dilation_count, int32_t transposed,
                               const int64_t *output_padding, int64_t output_padding_count,
                               int64_t groups, void ***made)
{
    static void *made_last;

    (void)stride_count, (void)padding_count, (void)dilation_count;
    made_last = *(void **)made;
    *made = &made_last;
    given = (double)(*stride + 10 * *padding + 100 * *dilation + 1000 * transposed +
                     10000 * groups + 100000 * *output_padding + 1000000 * output_padding_count) +
            (bias ? 0.5 : 0);
    fake_torch_run(&(struct fake_torch_op){
        .name = "aten::_convolution", .inputs = {*x, *w}, .input_count = 2, .output = made_last});
    return 0;
}
#endif

double fake_torch_addmm(struct fake_torch_tensor *result, struct fake_torch_tensor *a,
                        struct fake_torch_tensor *b)
{
#if TORCH_LAYOUT != 0
    void *objects[] = {result->bytes, result->bytes, a->bytes, b->bytes};

    aoti_torch_cpu_addmm_out(&objects[0], &objects[1], &objects[2], &objects[3], 0.25, 0.5);
#else
    (void)result, (void)a, (void)b;
#endif
    return given;
}

double fake_torch_convolution(struct fake_torch_tensor *result, struct fake_torch_tensor *x,
                              struct fake_torch_tensor *w)
{
#if TORCH_LAYOUT != 0
    static const int64_t numbers[] = {1, 2, 3, 4};
    void *objects[] = {x->bytes, w->bytes}, **made = (void **)result->bytes;

    aoti_torch_cpu_convolution(&objects[0], &objects[1], NULL, &numbers[0], 1, &numbers[1], 1,
                               &numbers[2], 1, 1, &numbers[3], 5, 6, &made);
#else
    (void)result, (void)x, (void)w;
#endif
    return given;
}

void sgemm_(const char *a_letter, const char *b_letter, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc)
{
    c[0] = *alpha * a[0] * b[0] + *beta * c[0];
}

void fake_torch_product(void)
{
    const int one = 1;
    const float number = 1;
    float sum = 0;

    sgemm_("N", "N", &one, &one, &one, &number, &number, &one, &number, &one, &number, &sum, &one);
}

uint64_t fake_torch_calls(void)
{
    return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

uint64_t fake_torch_asked(void)
{
    return asked;
}

uint64_t fake_torch_kept(void)
{
    return __atomic_load_n(&kept, __ATOMIC_RELAXED) + 1000 * constructed;
}

/* --- An observer of the program's own, which wants results --- */

static void *start_own(void **out_context, const void *function)
{
    (void)function;
    return *out_context = NULL, out_context;
}

static void end_own(const void *function, void *context)
{
    (void)function, (void)context;
}

void fake_torch_observe(bool begin)
{
    static uint64_t handle;

    if (begin)
        handle =
            add_callback((struct callback){start_own, end_own, 1, {true}, false, true, false, ""});
    else
        remove_callback(handle);
}
