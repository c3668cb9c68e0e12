/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcublasLt.so.13 over the emulated device: products by the elements of the reference kernels. It
 * refuses what the real one refuses: sizes that do not fit together, lines that overlap, an algorithm
 * that was proposed for something else, a workspace that is too small, is not there, or is another
 * stream's, addresses of less alignment than was said.
 *
 * Algorithms: 0 needs no workspace; 1 leaves half of each sum there before it adds the rest; 2 needs a
 * little, and addresses that are multiples of 16; 3 is 1, but for rounding that half to the type of the
 * result, where it may. Kernels are called cublasLt_0 and so on.
 *
 * Environment:
 *   CUBLASLT_DOUBLE_PROPOSALS  "1,0,2": which it proposes, in this order; "none": none
 *   CUBLASLT_DOUBLE_TILES      "3,7": the tile of each of them, in this order; 0
 *   CUBLASLT_DOUBLE_NO_RELU    it has nothing for products with an activation
 * CUDA_DOUBLE_FAIL and CUDA_DOUBLE_KERNELS as for the device; what is not given back is counted there.
 */
#include "kernels/cuda/cublaslt.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/ref/number.h"
#include "tests/support/cuda/workspace.h"

enum {
    NOT_INITIALIZED = 1,
    INVALID_VALUE = 7,
    MAGIC = 0x6c740013,
    SMALL_WORKSPACE = 1024,
    ALGORITHMS = 4
};

/* tests/support/cuda/emulated/libcuda.cc */
int cuDoubleBefore(const char *function);
void cuDoubleCount(const char *what, int change);
int cuDoubleIsDevice(const void *memory, size_t bytes);
int cuDoubleIsReadable(const void *memory);
int cuDoubleWork(void *stream, const char *name, void (*work)(const void *), const void *argument,
                 size_t bytes);

size_t cublasLtGetVersion(void);
const char *cublasLtGetStatusName(int status);
#define DECLARE(name, arguments) int name arguments;
LT_FUNCTIONS(DECLARE)
#undef DECLARE

struct handle {
    int magic;
};

struct layout {
    int type;
    int32_t batches;
    uint64_t rows, columns;
    int64_t line, stride;
};

struct product {
    int compute, scale_type;
    int32_t a_operation, b_operation, epilogue;
    const void *bias;
};

struct preference {
    uint64_t workspace_bytes;
    uint32_t alignment[4], reductions;
};

/* An algorithm's data: what it is, and what for. */
struct proposed {
    uint32_t magic, id, tile;
    uint64_t workspace_bytes, problem;
    uint32_t alignment[4];
};
_Static_assert(sizeof(struct proposed) <= sizeof(struct lt_algorithm), "it does not fit");

static int before(const char *function)
{
    return cuDoubleBefore(function);
}

size_t cublasLtGetVersion(void)
{
    return 130205;
}

const char *cublasLtGetStatusName(int status)
{
    switch (status) {
    case NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case 3:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case 13:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case LT_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

/* --- Objects --- */

static int make(const char *function, const char *what, const void *content, size_t bytes,
                void **out_object)
{
    int status = before(function);

    if (status != 0)
        return status;
    *out_object = malloc(bytes);
    memcpy(*out_object, content, bytes);
    cuDoubleCount(what, 1);
    return 0;
}

static int give_back(const char *what, void *object)
{
    free(object);
    cuDoubleCount(what, -1);
    return 0;
}

int cublasLtCreate(void **out_handle)
{
    const struct handle handle = {MAGIC};

    return make(__func__, "cublasLt handles", &handle, sizeof(handle), out_handle);
}

int cublasLtDestroy(void *handle)
{
    return give_back("cublasLt handles", handle);
}

int cublasLtMatrixLayoutCreate(void **out_layout, int type, uint64_t rows, uint64_t columns,
                               int64_t line)
{
    const struct layout layout = {type, 1, rows, columns, line, 0};

    if (line < (int64_t)rows || rows == 0 || columns == 0)
        return INVALID_VALUE;
    return make(__func__, "cublasLt layouts", &layout, sizeof(layout), out_layout);
}

int cublasLtMatrixLayoutDestroy(void *layout)
{
    return give_back("cublasLt layouts", layout);
}

static int take(void *to, const void *value, size_t wanted, size_t bytes)
{
    if (bytes != wanted)
        return INVALID_VALUE;
    memcpy(to, value, bytes);
    return 0;
}

int cublasLtMatrixLayoutSetAttribute(void *object, int attribute, const void *value, size_t bytes)
{
    struct layout *layout = object;
    int status = before(__func__);

    if (status != 0)
        return status;
    switch (attribute) {
    case LT_LAYOUT_BATCHES:
        return take(&layout->batches, value, sizeof(layout->batches), bytes);
    case LT_LAYOUT_BATCH_STRIDE:
        return take(&layout->stride, value, sizeof(layout->stride), bytes);
    default:
        return INVALID_VALUE;
    }
}

int cublasLtMatmulDescCreate(void **out_product, int compute, int scale_type)
{
    const struct product product = {.compute = compute, .scale_type = scale_type, .epilogue = 1};

    return make(__func__, "cublasLt products", &product, sizeof(product), out_product);
}

int cublasLtMatmulDescDestroy(void *product)
{
    return give_back("cublasLt products", product);
}

int cublasLtMatmulDescSetAttribute(void *object, int attribute, const void *value, size_t bytes)
{
    struct product *product = object;
    int status = before(__func__);

    if (status != 0)
        return status;
    switch (attribute) {
    case LT_PRODUCT_A_OPERATION:
        return take(&product->a_operation, value, sizeof(product->a_operation), bytes);
    case LT_PRODUCT_B_OPERATION:
        return take(&product->b_operation, value, sizeof(product->b_operation), bytes);
    case LT_PRODUCT_EPILOGUE:
        return take(&product->epilogue, value, sizeof(product->epilogue), bytes);
    case LT_PRODUCT_BIAS:
        return take(&product->bias, value, sizeof(product->bias), bytes);
    default:
        return INVALID_VALUE;
    }
}

int cublasLtMatmulPreferenceCreate(void **out_preference)
{
    const struct preference preference = {0, {256, 256, 256, 256}, 7};

    return make(__func__, "cublasLt preferences", &preference, sizeof(preference), out_preference);
}

int cublasLtMatmulPreferenceDestroy(void *preference)
{
    return give_back("cublasLt preferences", preference);
}

int cublasLtMatmulPreferenceSetAttribute(void *object, int attribute, const void *value,
                                         size_t bytes)
{
    struct preference *preference = object;
    int status = before(__func__);

    if (status != 0)
        return status;
    if (attribute == LT_PREFERENCE_WORKSPACE)
        return take(&preference->workspace_bytes, value, sizeof(preference->workspace_bytes),
                    bytes);
    if (attribute == LT_PREFERENCE_REDUCTIONS)
        return take(&preference->reductions, value, sizeof(preference->reductions), bytes);
    if (attribute >= LT_PREFERENCE_ALIGNMENT && attribute < LT_PREFERENCE_ALIGNMENT + 4)
        return take(&preference->alignment[attribute - LT_PREFERENCE_ALIGNMENT], value,
                    sizeof(preference->alignment[0]), bytes);
    return INVALID_VALUE;
}

/* --- Problems --- */

static const struct {
    int type, result, compute, scale_type;
    enum kernel_dtype dtype, y_dtype;
} kinds[] = {
    {LT_R_32F, LT_R_32F, LT_COMPUTE_32F, LT_R_32F, KERNEL_F32, KERNEL_F32},
    {LT_R_32F, LT_R_32F, LT_COMPUTE_TF32, LT_R_32F, KERNEL_F32, KERNEL_F32},
    {LT_R_64F, LT_R_64F, LT_COMPUTE_64F, LT_R_64F, KERNEL_F64, KERNEL_F64},
    {LT_R_16F, LT_R_16F, LT_COMPUTE_32F, LT_R_32F, KERNEL_F16, KERNEL_F16},
    {LT_R_16F, LT_R_32F, LT_COMPUTE_32F, LT_R_32F, KERNEL_F16, KERNEL_F32},
    {LT_R_16BF, LT_R_16BF, LT_COMPUTE_32F, LT_R_32F, KERNEL_BF16, KERNEL_BF16},
    {LT_R_16BF, LT_R_32F, LT_COMPUTE_32F, LT_R_32F, KERNEL_BF16, KERNEL_F32},
    {LT_R_8I, LT_R_32I, LT_COMPUTE_32I, LT_R_32I, KERNEL_I8, KERNEL_I32},
};

static bool has_bias(const struct product *product)
{
    return product->epilogue & LT_EPILOGUE_BIAS;
}

static bool takes_epilogue(const struct product *product)
{
    return product->epilogue == 1 || product->epilogue == LT_EPILOGUE_BIAS ||
           product->epilogue == LT_EPILOGUE_RELU || product->epilogue == LT_EPILOGUE_RELU_BIAS ||
           product->epilogue == LT_EPILOGUE_GELU || product->epilogue == LT_EPILOGUE_GELU_BIAS;
}

/* One product as the device is handed it. */
struct work {
    struct product product;
    struct layout a, b, c, d;
    enum kernel_dtype dtype, y_dtype;
    const void *a_data, *b_data, *c_data;
    void *d_data;
    double alpha, beta;
    double *partial; /* in the workspace: half of each sum; NULL: there is none */
    bool is_second, rounds_parts;
};

/* Whether it fits together. */
static bool fill_work(struct work *work, const struct product *product, const struct layout *a,
                      const struct layout *b, const struct layout *c, const struct layout *d)
{
    const uint64_t m = product->a_operation ? a->columns : a->rows;
    const uint64_t k = product->a_operation ? a->rows : a->columns;
    const uint64_t b_k = product->b_operation ? b->columns : b->rows;
    const uint64_t n = product->b_operation ? b->rows : b->columns;
    size_t i = 0;

    memset(work, 0, sizeof(*work));
    while (i < sizeof(kinds) / sizeof(kinds[0]) &&
           (kinds[i].type != a->type || kinds[i].type != b->type || kinds[i].result != d->type ||
            kinds[i].compute != product->compute || kinds[i].scale_type != product->scale_type))
        i++;
    if (i == sizeof(kinds) / sizeof(kinds[0]) || m != d->rows || n != d->columns || k != b_k ||
        c->type != d->type || c->rows != d->rows || c->columns != d->columns ||
        a->batches != d->batches || b->batches != d->batches || c->batches != d->batches ||
        !takes_epilogue(product))
        return false;
    work->product = *product;
    work->a = *a;
    work->b = *b;
    work->c = *c;
    work->d = *d;
    work->dtype = kinds[i].dtype;
    work->y_dtype = kinds[i].y_dtype;
    return true;
}

/* FNV-1a of all but the bias' address. */
static uint64_t problem_of(const struct work *work)
{
    struct work copy = *work;
    const unsigned char *bytes = (const unsigned char *)&copy;
    uint64_t hash = 1469598103934665603u;

    copy.product.bias = NULL;
    for (size_t i = 0; i < offsetof(struct work, a_data); i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static uint64_t workspace_of(uint32_t id, const struct work *work)
{
    return id % 2 == 1 ? work->d.rows * work->d.columns * (uint64_t)work->d.batches * sizeof(double)
           : id == 2   ? SMALL_WORKSPACE
                       : 0;
}

static bool can(uint32_t id, const struct work *work, const struct preference *preference)
{
    for (int i = 0; id == 2 && i < 4; i++)
        if (preference->alignment[i] < 16)
            return false;
    return workspace_of(id, work) <= preference->workspace_bytes &&
           (id != 3 || (preference->reductions & LT_REDUCTION_OUTPUT));
}

/* Of a list with commas. */
static uint32_t number_at(const char *list, int place)
{
    for (; list && place > 0; place--) {
        list = strchr(list, ',');
        list += list != NULL;
    }
    return list ? (uint32_t)strtoul(list, NULL, 10) : 0;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *product, void *a, void *b, void *c, void *d,
                                   void *object, int wanted, struct lt_proposal *out_proposals,
                                   int *out_count)
{
    const char *order = getenv("CUBLASLT_DOUBLE_PROPOSALS"),
               *tiles = getenv("CUBLASLT_DOUBLE_TILES");
    const struct preference *preference = object;
    int status = before(__func__), count = 0, place = 0;
    struct work work;

    if (status != 0)
        return status;
    if (((struct handle *)handle)->magic != MAGIC || wanted < 1 ||
        !fill_work(&work, product, a, b, c, d))
        return INVALID_VALUE;
    if ((work.product.epilogue & (LT_EPILOGUE_RELU | LT_EPILOGUE_GELU)) &&
        getenv("CUBLASLT_DOUBLE_NO_RELU"))
        return LT_NOT_SUPPORTED;
    if (work.dtype == KERNEL_I8 &&
        (work.d.rows % 4 != 0 || work.a.line % 4 != 0 || work.b.line % 4 != 0))
        return LT_NOT_SUPPORTED;
    for (order = order ? order : "1,0,2"; *order && count < wanted; order++) {
        struct proposed proposed = {.magic = MAGIC,
                                    .id = (uint32_t)(*order - '0'),
                                    .tile = tiles ? number_at(tiles, place) : 0};
        struct lt_proposal *proposal = &out_proposals[count];

        place += proposed.id < ALGORITHMS;
        if (proposed.id >= ALGORITHMS || !can(proposed.id, &work, preference))
            continue;
        proposed.workspace_bytes = workspace_of(proposed.id, &work);
        proposed.problem = problem_of(&work);
        memcpy(proposed.alignment, preference->alignment, sizeof(proposed.alignment));
        *proposal =
            (struct lt_proposal){.workspace_bytes = proposed.workspace_bytes, .waves = 1.0f};
        memcpy(&proposal->algorithm, &proposed, sizeof(proposed));
        count++;
    }
    *out_count = count;
    return count > 0 ? 0 : LT_NOT_SUPPORTED;
}

int cublasLtMatmulAlgoConfigGetAttribute(const struct lt_algorithm *algorithm, int attribute,
                                         void *value, size_t bytes, size_t *out_written)
{
    struct proposed proposed;
    int status = before(__func__);

    if (status != 0)
        return status;
    memcpy(&proposed, algorithm, sizeof(proposed));
    *out_written = attribute < LT_ALGORITHM_INNER_SHAPE ? sizeof(uint32_t) : sizeof(uint16_t);
    if (proposed.magic != MAGIC || attribute < LT_ALGORITHM_ID ||
        attribute > LT_ALGORITHM_CLUSTER || bytes != *out_written)
        return INVALID_VALUE;
    memset(value, 0, bytes);
    if (attribute <= LT_ALGORITHM_TILE)
        memcpy(value, attribute == LT_ALGORITHM_ID ? &proposed.id : &proposed.tile, bytes);
    return 0;
}

/* --- Products --- */

/* To ten bits behind the point, halves to even. */
static double round_tf32(double given)
{
    float value = (float)given;
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~(uint32_t)0x1fff;
    memcpy(&value, &bits, sizeof(value));
    return isfinite(given) ? (double)value : given;
}

static double element(const struct work *w, const void *data, int64_t at)
{
    double value = ref_get_f64(data, w->dtype, at);

    return w->product.compute == LT_COMPUTE_TF32 ? round_tf32(value) : value;
}

static double sum_of(const struct work *w, int64_t batch, int64_t i, int64_t j, int64_t from,
                     int64_t to)
{
    const bool a_turned = w->product.a_operation != 0, b_turned = w->product.b_operation != 0;
    double sum = 0.0;

    for (int64_t p = from; p < to; p++) {
        int64_t a = batch * w->a.stride + (a_turned ? p + i * w->a.line : i + p * w->a.line);
        int64_t b = batch * w->b.stride + (b_turned ? j + p * w->b.line : p + j * w->b.line);

        sum += w->dtype == KERNEL_I8 ? (double)(ref_get_i64(w->a_data, KERNEL_I8, a) *
                                                ref_get_i64(w->b_data, KERNEL_I8, b))
                                     : element(w, w->a_data, a) * element(w, w->b_data, b);
    }
    return sum;
}

static void store(const struct work *w, int64_t batch, int64_t i, int64_t j, double sum)
{
    int64_t c = batch * w->c.stride + i + j * w->c.line,
            d = batch * w->d.stride + i + j * w->d.line;

    sum *= w->alpha;
    if (w->beta != 0.0)
        sum += w->beta * ref_get_f64(w->c_data, w->y_dtype, c);
    if (has_bias(&w->product))
        sum += ref_get_f64(w->product.bias, w->y_dtype, i);
    if (w->product.epilogue & LT_EPILOGUE_RELU)
        sum = sum < 0.0 ? 0.0 : sum;
    if (w->product.epilogue & LT_EPILOGUE_GELU)
        sum = 0.5 * sum * (1.0 + tanh(0.79788456080286535588 * (sum + 0.044715 * sum * sum * sum)));
    if (w->y_dtype == KERNEL_I32)
        ((int32_t *)w->d_data)[d] = (int32_t)(int64_t)sum;
    else
        ref_set_f64(w->d_data, w->y_dtype, d, sum);
}

static double part_of(const struct work *w, double sum)
{
    double rounded[1];

    if (!w->rounds_parts || w->y_dtype == KERNEL_I32)
        return sum;
    ref_set_f64(rounded, w->y_dtype, 0, sum);
    return ref_get_f64(rounded, w->y_dtype, 0);
}

static void compute(const void *argument)
{
    const struct work *w = argument;
    const int64_t k = (int64_t)(w->product.a_operation ? w->a.rows : w->a.columns);
    double *partial = w->partial;

    for (int64_t batch = 0; batch < w->d.batches; batch++)
        for (int64_t j = 0; j < (int64_t)w->d.columns; j++)
            for (int64_t i = 0; i < (int64_t)w->d.rows; i++) {
                if (!partial)
                    store(w, batch, i, j, sum_of(w, batch, i, j, 0, k));
                else if (!w->is_second)
                    *partial++ = part_of(w, sum_of(w, batch, i, j, 0, k / 2));
                else
                    store(w, batch, i, j, *partial++ + sum_of(w, batch, i, j, k / 2, k));
            }
}

struct cleared {
    void *memory;
    size_t bytes;
};

static void spoil(const void *argument)
{
    const struct cleared *cleared = argument;

    memset(cleared->memory, 0xdd, cleared->bytes);
}

static double scalar_of(const void *value, int type)
{
    return type == LT_R_64F   ? *(const double *)value
           : type == LT_R_32I ? (double)*(const int32_t *)value
                              : (double)*(const float *)value;
}

static bool is_aligned(const struct work *work, const struct proposed *proposed)
{
    const void *addresses[] = {work->a_data, work->b_data, work->c_data, work->d_data};

    for (int i = 0; i < 4; i++)
        if ((uintptr_t)addresses[i] % proposed->alignment[i] != 0)
            return false;
    return true;
}

static int hand_over(struct work *work, uint32_t id, void *workspace, size_t bytes, void *stream)
{
    static const char *const names[] = {"cublasLt_0", "cublasLt_1", "cublasLt_2", "cublasLt_3"};
    const struct cleared cleared = {workspace, bytes};
    int status = 0;

    if (bytes > 0)
        status = cuDoubleWork(stream, "cublasLt_spoil", spoil, &cleared, sizeof(cleared));
    if (id % 2 == 1 && status == 0) {
        work->partial = workspace;
        work->rounds_parts = id == 3;
        status = cuDoubleWork(stream, names[id], compute, work, sizeof(*work));
        work->is_second = true;
    }
    return status != 0 ? status : cuDoubleWork(stream, names[id], compute, work, sizeof(*work));
}

int cublasLtMatmul(void *handle, void *product, const void *alpha, const void *a, void *a_layout,
                   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                   void *d, void *d_layout, const struct lt_algorithm *algorithm, void *workspace,
                   size_t workspace_bytes, void *stream)
{
    struct proposed proposed;
    struct work work;
    int status = before(__func__);

    if (status != 0)
        return status;
    memcpy(&proposed, algorithm, sizeof(proposed));
    if (((struct handle *)handle)->magic != MAGIC || proposed.magic != MAGIC ||
        !fill_work(&work, product, a_layout, b_layout, c_layout, d_layout) ||
        proposed.problem != problem_of(&work))
        return INVALID_VALUE;
    if (proposed.workspace_bytes > workspace_bytes ||
        (proposed.workspace_bytes > 0 &&
         (!cuDoubleIsDevice(workspace, workspace_bytes) || (uintptr_t)workspace % 16 != 0 ||
          !workspace_is_own(workspace, stream))))
        return INVALID_VALUE;
    work.alpha = scalar_of(alpha, work.product.scale_type);
    work.beta = scalar_of(beta, work.product.scale_type);
    work.a_data = a;
    work.b_data = b;
    work.c_data = c;
    work.d_data = d;
    if (!is_aligned(&work, &proposed) || !cuDoubleIsReadable(a) || !cuDoubleIsReadable(b) ||
        !cuDoubleIsReadable(d) || (work.beta != 0.0 && !cuDoubleIsReadable(c)) ||
        (has_bias(&work.product) && !cuDoubleIsReadable(work.product.bias)))
        return INVALID_VALUE;
    return hand_over(&work, proposed.id, workspace, (size_t)proposed.workspace_bytes, stream);
}
