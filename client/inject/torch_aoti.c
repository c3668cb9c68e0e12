/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model that PyTorch has compiled beforehand (AOTInductor), or with the C++ wrapper, leaves to
 * libtorch: it calls functions of C, which begin behind the dispatcher, so that no callback hears of
 * them. Each is an op by the name that ATen has for it.
 *
 * Hooks pass on all words that the called one may have, whatever of them it has.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/torch.h"
#include "client/inject/torch_layout.h"

#if defined(__x86_64__) && defined(__linux__) /* as torch.c */

enum { WORDS = 18, NUMBERS = 8, NOWHERE = -1, INPUTS = 3, TRANSPOSED = 6, VALUES = 7 };

/* Six words and eight numbers are in registers, the others where the caller has left them. */
#define WORD_PARAMETERS                                                                            \
    void *w0, void *w1, void *w2, void *w3, void *w4, void *w5, double n0, double n1, double n2,   \
        double n3, double n4, double n5, double n6, double n7, void *w6, void *w7, void *w8,       \
        void *w9, void *w10, void *w11, void *w12, void *w13, void *w14, void *w15, void *w16,     \
        void *w17

struct words {
    void *words[WORDS];
    double numbers[NUMBERS];
};

typedef int call_type(WORD_PARAMETERS);

/* Places among the words: of tensors; of one that may be none, and of the result of a call that makes
 * it, there is the address of what has the tensor. */
struct function {
    const char *name; /* ATen's */
    signed char inputs[INPUTS];
    signed char maybe;      /* NOWHERE: none; comes last */
    signed char out, made;  /* the result; one of both is NOWHERE */
    signed char transposed; /* a truth value */
};

/* In the order of ATen's arguments, as they are from 2.6 to 2.15. */
#define FUNCTIONS(X)                                                                               \
    X(addmm_out, "aten::addmm", 1, 2, 3, NOWHERE, 0, NOWHERE, NOWHERE)                             \
    X(baddbmm_out, "aten::baddbmm", 1, 2, 3, NOWHERE, 0, NOWHERE, NOWHERE)                         \
    X(bmm_out, "aten::bmm", 1, 2, NOWHERE, NOWHERE, 0, NOWHERE, NOWHERE)                           \
    X(mm_out, "aten::mm", 1, 2, NOWHERE, NOWHERE, 0, NOWHERE, NOWHERE)                             \
    X(_addmm_activation, "aten::_addmm_activation", 0, 1, 2, NOWHERE, NOWHERE, 4, NOWHERE)         \
    X(convolution, "aten::convolution", 0, 1, NOWHERE, 2, NOWHERE, 13, 9)                          \
    X(_scaled_dot_product_flash_attention_for_cpu,                                                 \
      "aten::_scaled_dot_product_flash_attention_for_cpu", 0, 1, 2, NOWHERE, NOWHERE, 6, NOWHERE)  \
    X(mkldnn__convolution_pointwise, "mkldnn::_convolution_pointwise", 0, 1, NOWHERE, 2, NOWHERE,  \
      14, NOWHERE)                                                                                 \
    X(_linear_pointwise, "mkldnn::_linear_pointwise", 0, 1, NOWHERE, 2, NOWHERE, 7, NOWHERE)       \
    X(_mkl_linear, "mkl::_mkl_linear", 0, 2, NOWHERE, 3, NOWHERE, 5, NOWHERE)

#define PLACE(symbol, ...) AT_##symbol,
enum { FUNCTIONS(PLACE) FUNCTION_COUNT };

#define ROW(symbol, op, first, second, third, maybe, out, made, transposed)                        \
    {op, {first, second, third}, maybe, out, made, transposed},
static const struct function functions[FUNCTION_COUNT] = {FUNCTIONS(ROW)};

#define DECLARATION(symbol, ...) OT_HOOK call_type aoti_torch_cpu_##symbol;
FUNCTIONS(DECLARATION)

#define REAL(symbol, ...)                                                                          \
    {"aoti_torch_cpu_" #symbol, (void (*)(void))aoti_torch_cpu_##symbol, {NULL}},
static struct real reals[FUNCTION_COUNT] = {FUNCTIONS(REAL)};

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool is_wanted;

static void ask(void)
{
    is_wanted = recorder_wants("torch");
}

static int pass_on(call_type *theirs, const struct words *all)
{
    void *const *w = all->words;
    const double *n = all->numbers;

    return theirs(w[0], w[1], w[2], w[3], w[4], w[5], n[0], n[1], n[2], n[3], n[4], n[5], n[6],
                  n[7], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15], w[16],
                  w[17]);
}

#define NONE ((struct torch_value){NULL, TORCH_TAG_NONE, 0})

/* A handle is the address of a Tensor, which is the address of its object. */
static struct torch_value value_of(void *handle)
{
    struct torch_value value = NONE;

    if (handle) {
        memcpy(&value.payload, handle, sizeof(value.payload));
        value.tag = TORCH_TAG_TENSOR;
    }
    return value;
}

static size_t fill_inputs(const struct function *function, const struct words *all,
                          struct torch_value values[VALUES])
{
    size_t count = 0;

    for (int i = 0; i < INPUTS && function->inputs[i] != NOWHERE; i++)
        values[count++] = value_of(all->words[(int)function->inputs[i]]);
    if (function->maybe != NOWHERE) {
        void **const place = all->words[(int)function->maybe];

        values[count++] = place ? value_of(*place) : NONE;
    }
    if (function->transposed != NOWHERE) {
        while (count < TRANSPOSED)
            values[count++] = NONE;
        values[count++] =
            (struct torch_value){all->words[(int)function->transposed], TORCH_TAG_TRUTH, 0};
    }
    return count;
}

static struct torch_value result_of(const struct function *function, const struct words *all)
{
    void **made;

    if (function->out != NOWHERE)
        return value_of(all->words[(int)function->out]);
    made = all->words[(int)function->made];
    return made ? value_of(*made) : NONE;
}

static int call(int which, const struct words *all, const void *caller)
{
    const struct function *const function = &functions[which];
    struct torch_value inputs[VALUES], output = NONE;
    call_type *theirs = (call_type *)real_try(&reals[which], caller);
    bool has_begun;
    int status;

    if (!theirs)
        theirs = (call_type *)torch_function(reals[which].name);
    if (UNLIKELY(!theirs)) /* what was called is nowhere: so says the other one, too */
        return 1;
    pthread_once(&asked, ask);
    if (!is_wanted || !recorder_is_on())
        return pass_on(theirs, all);
    has_begun = torch_call_begin(all, function->name,
                                 (struct torch_values){inputs, fill_inputs(function, all, inputs)});
    status = pass_on(theirs, all);
    if (status == 0)
        output = result_of(function, all);
    if (has_begun)
        torch_call_end(all, (struct torch_values){&output, status == 0});
    return status;
}

#define HOOK(symbol, ...)                                                                          \
    int aoti_torch_cpu_##symbol(WORD_PARAMETERS)                                                   \
    {                                                                                              \
        const struct words all = {                                                                 \
            {w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, w16, w17},      \
            {n0, n1, n2, n3, n4, n5, n6, n7}};                                                     \
                                                                                                   \
        return call(AT_##symbol, &all, __builtin_return_address(0));                               \
    }
FUNCTIONS(HOOK)

#endif
