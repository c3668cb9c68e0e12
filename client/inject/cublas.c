/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of cuBLAS and cuBLASLt: each call as an op with its sizes and types. What it
 * computes is said of the kernel that it launches, where CUPTI tells of that (--gpu), else of the
 * call. One that calls another is one product.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "client/inject/cupti/work.h"
#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"

enum { KEY_PRODUCT = 125, OPERATION_N = 0 };

/* Attributes of cuBLASLt's layouts and descriptions, the same in all versions. */
enum {
    LAYOUT_TYPE = 0,
    LAYOUT_ROWS = 2,
    LAYOUT_COLUMNS = 3,
    LAYOUT_BATCHES = 5,
    MATMUL_A_OPERATION = 3,
    MATMUL_B_OPERATION = 4,
};

struct product {
    uint64_t kind; /* tells these keys from others */
    int64_t m, n, k, batches;
    int32_t a_type, b_type, c_type; /* cudaDataType */
    char a, b;                      /* N, T or C */
    char pad[2];
};

OT_TLS uint32_t cupti_work_nesting;
OT_TLS struct cupti_work cupti_work_now;
uint32_t cupti_is_recording;

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool is_wanted;

static void ask(void)
{
    is_wanted = recorder_wants("cublas");
}

/* --- What a product is --- */

static const struct {
    int32_t type;
    uint32_t dtype;
    int32_t bytes;
    const char *name;
} types[] = {
    {0, OPTRACE_DTYPE_F32, 4, "f32"},        {1, OPTRACE_DTYPE_F64, 8, "f64"},
    {2, OPTRACE_DTYPE_F16, 2, "f16"},        {3, OPTRACE_DTYPE_I8, 1, "i8"},
    {4, OPTRACE_DTYPE_C64, 8, "c64"},        {5, OPTRACE_DTYPE_C128, 16, "c128"},
    {8, OPTRACE_DTYPE_U8, 1, "u8"},          {10, OPTRACE_DTYPE_I32, 4, "i32"},
    {14, OPTRACE_DTYPE_BF16, 2, "bf16"},     {28, OPTRACE_DTYPE_F8E4M3FN, 1, "f8e4m3"},
    {29, OPTRACE_DTYPE_F8E5M2, 1, "f8e5m2"},
};

static size_t place_of(int32_t type)
{
    size_t i = 0;

    while (i < sizeof(types) / sizeof(types[0]) && types[i].type != type)
        i++;
    return i;
}

static uint32_t dtype_of(int32_t type)
{
    const size_t i = place_of(type);

    return i < sizeof(types) / sizeof(types[0]) ? types[i].dtype : OPTRACE_DTYPE_UNKNOWN;
}

/* -1: not known. */
static int64_t bytes_of(int32_t type)
{
    const size_t i = place_of(type);

    return i < sizeof(types) / sizeof(types[0]) ? types[i].bytes : -1;
}

/* A product of complex numbers is four products and two sums, adding it two more. */
static int64_t flop_of(const struct product *product)
{
    const int64_t each = product->a_type == 4 || product->a_type == 5 ? 8 : 2;
    int64_t flop;

    if (__builtin_mul_overflow(product->m, product->n, &flop) ||
        __builtin_mul_overflow(flop, product->k, &flop) ||
        __builtin_mul_overflow(flop, product->batches, &flop) ||
        __builtin_mul_overflow(flop, each, &flop))
        return -1;
    return flop;
}

static int64_t traffic_of(const struct product *product)
{
    const int64_t m = product->m, n = product->n, k = product->k;
    const int64_t a = bytes_of(product->a_type), b = bytes_of(product->b_type),
                  c = bytes_of(product->c_type);
    int64_t bytes;

    if (a < 0 || b < 0 || c < 0 || m > INT32_MAX || n > INT32_MAX || k > INT32_MAX ||
        m * k > INT64_MAX / 64 || k * n > INT64_MAX / 64 || m * n > INT64_MAX / 64 ||
        __builtin_mul_overflow(m * k * a + k * n * b + m * n * c, product->batches, &bytes))
        return -1;
    return bytes;
}

static uint64_t define(const void *context)
{
    const struct product *product = context;
    const int64_t a[] = {product->batches, product->m, product->k},
                  b[] = {product->batches, product->k, product->n},
                  c[] = {product->batches, product->m, product->n};
    const uint32_t first = product->batches == 1;
    const struct optrace_tensor inputs[] = {{"A", a + first, 3 - first, dtype_of(product->a_type)},
                                            {"B", b + first, 3 - first, dtype_of(product->b_type)}},
                                output = {"C", c + first, 3 - first, dtype_of(product->c_type)};
    const size_t place = place_of(product->a_type);
    struct optrace_op_info info = OPTRACE_OP_INFO(NULL, "MatMul");
    char name[128], batches[32] = "", params[64];
    uint32_t op = 0;

    if (!first)
        snprintf(batches, sizeof(batches), "%lldx", (long long)product->batches);
    snprintf(name, sizeof(name), "cublas %s %s%lldx%lldx%lld",
             place < sizeof(types) / sizeof(types[0]) ? types[place].name : "gemm", batches,
             (long long)product->m, (long long)product->n, (long long)product->k);
    snprintf(params, sizeof(params), "{\"a\":\"%c\",\"b\":\"%c\"}", product->a, product->b);
    info.name = name;
    info.params = params;
    info.device = "cuda"; /* its own time is that of the launch */
    info.inputs = inputs;
    info.input_count = 2;
    info.outputs = &output;
    info.output_count = 1;
    if (!__atomic_load_n(&cupti_is_recording, __ATOMIC_RELAXED)) {
        info.computation_flop = flop_of(product);
        info.memory_bytes = traffic_of(product);
    }
    if (recorder.op_define(&info, &op) < 0)
        return 0;
    runs_note(op, name);
    return op;
}

/* All whose sizes are too many to keep. */
static uint64_t define_others(const void *context)
{
    struct optrace_op_info info = OPTRACE_OP_INFO("(further products of cuBLAS)", "MatMul");
    uint32_t op = 0;

    (void)context;
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

/* --- Calls --- */

/* Whether this call is a product to be recorded; to be ended by leave() then. */
static inline bool enter(void)
{
    if (cupti_work_nesting > 0)
        return false;
    pthread_once(&asked, ask);
    if (!is_wanted || !recorder_is_on())
        return false;
    found_say(FOUND_CUBLAS);
    cupti_work_nesting = 1;
    return true;
}

static struct optrace_span begin(const struct product *product)
{
    const struct product others = {.kind = KEY_PRODUCT};
    uint32_t op = (uint32_t)names_find(product, sizeof(*product), define, product);

    if (op == 0)
        op = (uint32_t)names_find_always(&others, sizeof(others), define_others, NULL);
    cupti_work_now = (struct cupti_work){flop_of(product), traffic_of(product)};
    return op ? op_begin(op) : (struct optrace_span){0, 0};
}

static inline void leave(struct optrace_span span)
{
    cupti_work_now = (struct cupti_work){0, 0};
    if (span.id)
        op_end(span);
    cupti_work_nesting = 0;
}

static char letter_of(int operation)
{
    return operation == OPERATION_N ? 'N' : operation == 1 ? 'T' : 'C';
}

#define PRODUCT(m, n, k, batches, a_type, b_type, c_type, a, b)                                    \
    (&(struct product){                                                                            \
        KEY_PRODUCT, m, n, k, batches, a_type, b_type, c_type, letter_of(a), letter_of(b), {0}})
#define FUNCTION(symbol) ((symbol##_type *)real_find(&symbol##_real, __builtin_return_address(0)))
#define REAL(symbol)                                                                               \
    OT_HOOK symbol##_type symbol;                                                                  \
    static struct real symbol##_real = {#symbol, (void (*)(void))symbol, {NULL}};

/* op(A) op(B) of one type. `scalar` and pointers are passed on as they come. */
#define PLAIN(symbol, number, type)                                                                \
    typedef int symbol##_type(void *, int, int, number, number, number, const void *,              \
                              const void *, number, const void *, number, const void *, void *,    \
                              number);                                                             \
    REAL(symbol)                                                                                   \
    int symbol(void *handle, int a_op, int b_op, number m, number n, number k, const void *alpha,  \
               const void *a, number lda, const void *b, number ldb, const void *beta, void *c,    \
               number ldc)                                                                         \
    {                                                                                              \
        symbol##_type *const real = FUNCTION(symbol);                                              \
        struct optrace_span span;                                                                  \
        int status;                                                                                \
                                                                                                   \
        if (!enter())                                                                              \
            return real(handle, a_op, b_op, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);         \
        span = begin(PRODUCT(m, n, k, 1, type, type, type, a_op, b_op));                           \
        status = real(handle, a_op, b_op, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);           \
        leave(span);                                                                               \
        return status;                                                                             \
    }

#define STRIDED(symbol, number, type)                                                              \
    typedef int symbol##_type(void *, int, int, number, number, number, const void *,              \
                              const void *, number, long long, const void *, number, long long,    \
                              const void *, void *, number, long long, number);                    \
    REAL(symbol)                                                                                   \
    int symbol(void *handle, int a_op, int b_op, number m, number n, number k, const void *alpha,  \
               const void *a, number lda, long long a_stride, const void *b, number ldb,           \
               long long b_stride, const void *beta, void *c, number ldc, long long c_stride,      \
               number batches)                                                                     \
    {                                                                                              \
        symbol##_type *const real = FUNCTION(symbol);                                              \
        struct optrace_span span;                                                                  \
        int status;                                                                                \
                                                                                                   \
        if (!enter())                                                                              \
            return real(handle, a_op, b_op, m, n, k, alpha, a, lda, a_stride, b, ldb, b_stride,    \
                        beta, c, ldc, c_stride, batches);                                          \
        span = begin(PRODUCT(m, n, k, batches, type, type, type, a_op, b_op));                     \
        status = real(handle, a_op, b_op, m, n, k, alpha, a, lda, a_stride, b, ldb, b_stride,      \
                      beta, c, ldc, c_stride, batches);                                            \
        leave(span);                                                                               \
        return status;                                                                             \
    }

PLAIN(cublasSgemm_v2, int, 0)
PLAIN(cublasDgemm_v2, int, 1)
PLAIN(cublasHgemm, int, 2)
PLAIN(cublasCgemm_v2, int, 4)
PLAIN(cublasZgemm_v2, int, 5)
PLAIN(cublasSgemm_v2_64, int64_t, 0)
PLAIN(cublasDgemm_v2_64, int64_t, 1)
PLAIN(cublasHgemm_64, int64_t, 2)
STRIDED(cublasSgemmStridedBatched, int, 0)
STRIDED(cublasDgemmStridedBatched, int, 1)
STRIDED(cublasHgemmStridedBatched, int, 2)

typedef int cublasGemmEx_type(void *, int, int, int, int, int, const void *, const void *, int, int,
                              const void *, int, int, const void *, void *, int, int, int, int);
REAL(cublasGemmEx)
int cublasGemmEx(void *handle, int a_op, int b_op, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    cublasGemmEx_type *const real = FUNCTION(cublasGemmEx);
    struct optrace_span span;
    int status;

    if (!enter())
        return real(handle, a_op, b_op, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,
                    c_type, ldc, compute, algorithm);
    span = begin(PRODUCT(m, n, k, 1, a_type, b_type, c_type, a_op, b_op));
    status = real(handle, a_op, b_op, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,
                  c_type, ldc, compute, algorithm);
    leave(span);
    return status;
}

typedef int cublasGemmStridedBatchedEx_type(void *, int, int, int, int, int, const void *,
                                            const void *, int, int, long long, const void *, int,
                                            int, long long, const void *, void *, int, int,
                                            long long, int, int, int);
REAL(cublasGemmStridedBatchedEx)
int cublasGemmStridedBatchedEx(void *handle, int a_op, int b_op, int m, int n, int k,
                               const void *alpha, const void *a, int a_type, int lda,
                               long long a_stride, const void *b, int b_type, int ldb,
                               long long b_stride, const void *beta, void *c, int c_type, int ldc,
                               long long c_stride, int batches, int compute, int algorithm)
{
    cublasGemmStridedBatchedEx_type *const real = FUNCTION(cublasGemmStridedBatchedEx);
    struct optrace_span span;
    int status;

    if (!enter())
        return real(handle, a_op, b_op, m, n, k, alpha, a, a_type, lda, a_stride, b, b_type, ldb,
                    b_stride, beta, c, c_type, ldc, c_stride, batches, compute, algorithm);
    span = begin(PRODUCT(m, n, k, batches, a_type, b_type, c_type, a_op, b_op));
    status = real(handle, a_op, b_op, m, n, k, alpha, a, a_type, lda, a_stride, b, b_type, ldb,
                  b_stride, beta, c, c_type, ldc, c_stride, batches, compute, algorithm);
    leave(span);
    return status;
}

/* --- cuBLASLt: sizes stand in objects that its own functions read --- */

typedef int get_attribute_type(const void *object, int attribute, void *value, size_t bytes,
                               size_t *written);

struct reader {
    get_attribute_type *layout, *matmul;
};

/* Of the library that computes. */
static bool find_reader(void (*function)(void), struct reader *out_reader)
{
    Dl_info place;
    void *handle = NULL;

    if (dladdr((void *)function, &place) != 0)
        handle = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
        return false;
    *(void **)&out_reader->layout = dlsym(handle, "cublasLtMatrixLayoutGetAttribute");
    *(void **)&out_reader->matmul = dlsym(handle, "cublasLtMatmulDescGetAttribute");
    dlclose(handle);
    return out_reader->layout && out_reader->matmul;
}

/* False where something cannot be read. */
static bool read_product(const struct reader *reader, const void *description, const void *a,
                         const void *b, const void *d, struct product *out_product)
{
    uint64_t m = 0, n = 0, rows = 0, columns = 0;
    int32_t batches = 1, a_op = 0, b_op = 0;
    size_t written;
    const struct {
        const void *layout;
        int attribute;
        void *value;
        size_t bytes;
    } wanted[] = {
        {d, LAYOUT_ROWS, &m, sizeof(m)},
        {d, LAYOUT_COLUMNS, &n, sizeof(n)},
        {a, LAYOUT_ROWS, &rows, sizeof(rows)},
        {a, LAYOUT_COLUMNS, &columns, sizeof(columns)},
        {d, LAYOUT_BATCHES, &batches, sizeof(batches)},
        {a, LAYOUT_TYPE, &out_product->a_type, sizeof(out_product->a_type)},
        {b, LAYOUT_TYPE, &out_product->b_type, sizeof(out_product->b_type)},
        {d, LAYOUT_TYPE, &out_product->c_type, sizeof(out_product->c_type)},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (reader->layout(wanted[i].layout, wanted[i].attribute, wanted[i].value, wanted[i].bytes,
                           &written) != 0)
            return false;
    }
    if (reader->matmul(description, MATMUL_A_OPERATION, &a_op, sizeof(a_op), &written) != 0 ||
        reader->matmul(description, MATMUL_B_OPERATION, &b_op, sizeof(b_op), &written) != 0)
        return false;
    out_product->m = (int64_t)m;
    out_product->n = (int64_t)n;
    out_product->k = (int64_t)(a_op == OPERATION_N ? columns : rows);
    out_product->batches = batches;
    out_product->a = letter_of(a_op);
    out_product->b = letter_of(b_op);
    return true;
}

typedef int cublasLtMatmul_type(void *, void *, const void *, const void *, void *, const void *,
                                void *, const void *, const void *, void *, void *, void *,
                                const void *, void *, size_t, void *);
REAL(cublasLtMatmul)
int cublasLtMatmul(void *handle, void *description, const void *alpha, const void *a,
                   void *a_layout, const void *b, void *b_layout, const void *beta, const void *c,
                   void *c_layout, void *d, void *d_layout, const void *algorithm, void *workspace,
                   size_t workspace_bytes, void *stream)
{
    cublasLtMatmul_type *const real = FUNCTION(cublasLtMatmul);
    struct product product = {.kind = KEY_PRODUCT};
    struct optrace_span span;
    struct reader reader;
    int status;

    if (!enter())
        return real(handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                    d_layout, algorithm, workspace, workspace_bytes, stream);
    if (!find_reader((void (*)(void))real, &reader) ||
        !read_product(&reader, description, a_layout, b_layout, d_layout, &product))
        product = (struct product){.kind = KEY_PRODUCT};
    span = begin(&product);
    status = real(handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                  d_layout, algorithm, workspace, workspace_bytes, stream);
    leave(span);
    return status;
}
