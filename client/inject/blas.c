/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of BLAS: ?gemm_ of Fortran and cblas_?gemm, with integers of 32 and 64 bits, and
 * the names that the libraries of NumPy's and SciPy's wheels have. A call from within another, as
 * of Fortran's function by that of C, is the same product.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"

struct product {
    uint64_t kind; /* tells these keys from others */
    int64_t rows, columns, depth;
    char precision; /* s d c z */
    char a, b;      /* N, T or C: transposed, conjugate */
    char order;     /* R, C: rows or columns one after the other */
    char pad[4];
};

enum { KEY_PRODUCT = 100 };

static OT_TLS uint32_t nesting;

/* The latest of this thread: most call for the same sizes again and again. */
static OT_TLS struct product latest;
static OT_TLS uint32_t latest_op;

enum { NOT_ASKED, WANTED, NOT_WANTED };

static bool is_wanted(void)
{
    static uint32_t answer; /* as each thread would find it */
    uint32_t found = __atomic_load_n(&answer, __ATOMIC_RELAXED);

    if (UNLIKELY(found == NOT_ASKED)) {
        found = recorder_wants("blas") ? WANTED : NOT_WANTED;
        __atomic_store_n(&answer, found, __ATOMIC_RELAXED);
    }
    return found == WANTED;
}

static uint32_t dtype_of(char precision)
{
    return precision == 's'   ? OPTRACE_DTYPE_F32
           : precision == 'd' ? OPTRACE_DTYPE_F64
           : precision == 'c' ? OPTRACE_DTYPE_C64
                              : OPTRACE_DTYPE_C128;
}

static int64_t bytes_of(char precision)
{
    return precision == 's' ? 4 : precision == 'z' ? 16 : 8;
}

/* A product of complex numbers is four products and two sums, adding it two more. */
static int64_t flop_of(const struct product *product)
{
    const int64_t each = product->precision == 's' || product->precision == 'd' ? 2 : 8;
    int64_t flop;

    if (__builtin_mul_overflow(product->rows, product->columns, &flop) ||
        __builtin_mul_overflow(flop, product->depth, &flop) ||
        __builtin_mul_overflow(flop, each, &flop))
        return -1;
    return flop;
}

static int64_t traffic_of(const struct product *product)
{
    const int64_t m = product->rows, n = product->columns, k = product->depth;

    if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX)
        return -1;
    return (m * k + k * n + m * n) * bytes_of(product->precision);
}

static uint64_t define(const void *context)
{
    const struct product *product = context;
    const int64_t a[] = {product->rows, product->depth}, b[] = {product->depth, product->columns},
                  c[] = {product->rows, product->columns};
    const uint32_t dtype = dtype_of(product->precision);
    const struct optrace_tensor inputs[] = {{"A", a, 2, dtype}, {"B", b, 2, dtype}},
                                output = {"C", c, 2, dtype};
    struct optrace_op_info info = OPTRACE_OP_INFO(NULL, "MatMul");
    char name[96], params[96];
    uint32_t op = 0;

    snprintf(name, sizeof(name), "%cgemm %lldx%lldx%lld", product->precision,
             (long long)product->rows, (long long)product->columns, (long long)product->depth);
    snprintf(params, sizeof(params), "{\"a\":\"%c\",\"b\":\"%c\",\"order\":\"%s\"}", product->a,
             product->b, product->order == 'R' ? "rows" : "columns");
    info.name = name;
    info.device = "cpu:0";
    info.params = params;
    info.inputs = inputs;
    info.input_count = 2;
    info.outputs = &output;
    info.output_count = 1;
    info.computation_flop = flop_of(product);
    info.memory_bytes = traffic_of(product);
    if (recorder.op_define(&info, &op) < 0)
        return 0;
    runs_note(op, name);
    return op;
}

/* All whose sizes are too many to keep. */
static uint64_t define_others(const void *context)
{
    struct optrace_op_info info = OPTRACE_OP_INFO("(further products)", "MatMul");
    uint32_t op = 0;

    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

/* Member by member: they were written so just now, and loads of several at once would wait for that. */
static inline bool is_same(const struct product *a, const struct product *b)
{
    return a->rows == b->rows && a->columns == b->columns && a->depth == b->depth &&
           a->precision == b->precision && a->a == b->a && a->b == b->b && a->order == b->order;
}

static struct optrace_span begin(const struct product *product)
{
    const struct product others = {.kind = KEY_PRODUCT};
    uint32_t op = latest_op;

    if (UNLIKELY(op == 0 || !is_same(product, &latest))) {
        op = (uint32_t)names_find(product, sizeof(*product), define, product);
        if (op == 0)
            op = (uint32_t)names_find_always(&others, sizeof(others), define_others, NULL);
        latest = *product;
        latest_op = op;
    }
    return op ? op_begin(op) : (struct optrace_span){0, 0};
}

/* Whether this call is a product to be recorded; to be ended by leave() then. */
static inline bool enter(void (*real)(void))
{
    if (nesting > 0 || recorder_is_counted((uintptr_t)real))
        return false;
    if (!is_wanted() || !recorder_is_on())
        return false;
    found_say(FOUND_BLAS);
    nesting = 1;
    return true;
}

static inline void leave(struct optrace_span span)
{
    if (span.id)
        op_end(span);
    nesting = 0;
}

static char letter_of(char letter)
{
    switch (letter) {
    case 't':
    case 'T':
        return 'T';
    case 'c':
    case 'C':
        return 'C';
    default:
        return 'N';
    }
}

/* 111, 112, 113 of cblas.h */
static char letter_of_number(int number)
{
    return number == 112 ? 'T' : number == 113 ? 'C' : 'N';
}

#define FUNCTION(type, real) ((type *)real_find(&real, __builtin_return_address(0)))

/* Lengths of the two letters come last, where the caller is Fortran; another leaves there what is
 * never looked at. */
#define FORTRAN(symbol, letter, number)                                                            \
    typedef void symbol##_type(const char *, const char *, const number *, const number *,         \
                               const number *, const void *, const void *, const number *,         \
                               const void *, const number *, const void *, void *, const number *, \
                               size_t, size_t);                                                    \
    OT_HOOK symbol##_type symbol;                                                                  \
    static struct real symbol##_real = {#symbol, (void (*)(void))symbol, {NULL}};                  \
    void symbol(const char *a_letter, const char *b_letter, const number *m, const number *n,      \
                const number *k, const void *alpha, const void *a, const number *lda,              \
                const void *b, const number *ldb, const void *beta, void *c, const number *ldc,    \
                size_t a_length, size_t b_length)                                                  \
    {                                                                                              \
        symbol##_type *const real = FUNCTION(symbol##_type, symbol##_real);                        \
        struct optrace_span span;                                                                  \
                                                                                                   \
        if (!enter((void (*)(void))real)) {                                                        \
            real(a_letter, b_letter, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, a_length,       \
                 b_length);                                                                        \
            return;                                                                                \
        }                                                                                          \
        span = begin(&(struct product){KEY_PRODUCT,                                                \
                                       *m,                                                         \
                                       *n,                                                         \
                                       *k,                                                         \
                                       letter,                                                     \
                                       letter_of(*a_letter),                                       \
                                       letter_of(*b_letter),                                       \
                                       'C',                                                        \
                                       {0}});                                                      \
        real(a_letter, b_letter, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, a_length,           \
             b_length);                                                                            \
        leave(span);                                                                               \
    }

#define CBLAS(symbol, letter, number, scalar)                                                      \
    typedef void symbol##_type(int, int, int, number, number, number, scalar, const void *,        \
                               number, const void *, number, scalar, void *, number);              \
    OT_HOOK symbol##_type symbol;                                                                  \
    static struct real symbol##_real = {#symbol, (void (*)(void))symbol, {NULL}};                  \
    void symbol(int order, int a_number, int b_number, number m, number n, number k, scalar alpha, \
                const void *a, number lda, const void *b, number ldb, scalar beta, void *c,        \
                number ldc)                                                                        \
    {                                                                                              \
        symbol##_type *const real = FUNCTION(symbol##_type, symbol##_real);                        \
        struct optrace_span span;                                                                  \
                                                                                                   \
        if (!enter((void (*)(void))real)) {                                                        \
            real(order, a_number, b_number, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);         \
            return;                                                                                \
        }                                                                                          \
        span = begin(&(struct product){KEY_PRODUCT,                                                \
                                       m,                                                          \
                                       n,                                                          \
                                       k,                                                          \
                                       letter,                                                     \
                                       letter_of_number(a_number),                                 \
                                       letter_of_number(b_number),                                 \
                                       order == 101 ? 'R' : 'C',                                   \
                                       {0}});                                                      \
        real(order, a_number, b_number, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);             \
        leave(span);                                                                               \
    }

#define ALL(x, letter, scalar)                                                                     \
    FORTRAN(x##gemm_, letter, int)                                                                 \
    FORTRAN(x##gemm_64_, letter, int64_t)                                                          \
    FORTRAN(scipy_##x##gemm_, letter, int)                                                         \
    FORTRAN(scipy_##x##gemm_64_, letter, int64_t)                                                  \
    CBLAS(cblas_##x##gemm, letter, int, scalar)                                                    \
    CBLAS(cblas_##x##gemm64_, letter, int64_t, scalar)                                             \
    CBLAS(scipy_cblas_##x##gemm, letter, int, scalar)                                              \
    CBLAS(scipy_cblas_##x##gemm64_, letter, int64_t, scalar)

ALL(s, 's', float)
ALL(d, 'd', double)
ALL(c, 'c', const void *)
ALL(z, 'z', const void *)
