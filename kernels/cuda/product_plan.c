/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What computes a product: an algorithm that cuBLASLt proposes for it, or the own kernel. It is
 * decided once for each shape, by cuBLASLt's first proposal, or by the time of all that it has.
 */
#include "kernels/cuda/library.h"
#include "kernels/cuda/product.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROPOSALS = 8 };

/* What NVIDIA advises for its newest; more is not faster. */
static const uint64_t WORKSPACE_BYTES = 32 << 20;

struct product_plan {
    struct product_shape shape;
    bool is_own, is_refused;       /* cuBLASLt proposes nothing */
    void *product, *a, *b, *c, *y; /* cuBLASLt's; c may be y's */
    const void *bias;              /* that it was told of */
    struct lt_algorithm algorithm;
    size_t workspace_bytes;
    char version[24];
};

struct cuda_products {
    const struct lt_library *library; /* NULL: own kernels compute */
    void *handle;
    struct product_plan **plans; /* their versions stay where they are */
    size_t count, room;
    char name[32];
    char problem[KERNEL_CUDA_TEXT_BYTES]; /* the first */
    uint32_t timed;                       /* proposals and own kernels */
    uint32_t recalled;
};

/* --- Opening --- */

/* What a function answers, kept where it is the first that fails. */
static bool is_well(struct cuda_products *products, int status, const char *function)
{
    if (status != 0 && products->problem[0] == '\0')
        snprintf(products->problem, sizeof(products->problem), "%s answers %s", function,
                 products->library->cublasLtGetStatusName(status));
    return status == 0;
}

static void open_library(struct cuda_products *products)
{
    size_t version;

    products->library = lt_library_open(products->problem, sizeof(products->problem));
    if (!products->library)
        return;
    if (!is_well(products, products->library->cublasLtCreate(&products->handle),
                 "cublasLtCreate()")) {
        products->handle = NULL;
        products->library = NULL;
        return;
    }
    version = products->library->cublasLtGetVersion();
    if (version < 120000) /* 13.0 is 130000, and 12.0 120000 */
        snprintf(products->name, sizeof(products->name), "cuBLASLt");
    else
        snprintf(products->name, sizeof(products->name), "cuBLASLt %zu.%zu", version / 10000,
                 version / 100 % 100);
}

static struct cuda_products *products_of(struct kernel_cuda *cuda)
{
    if (!cuda->products && !cuda->is_capturing) {
        cuda->products = calloc(1, sizeof(*cuda->products));
        if (cuda->products)
            open_library(cuda->products);
    }
    return cuda->products;
}

/* --- What cuBLASLt is told --- */

static const struct {
    enum kernel_dtype dtype, y_dtype;
    int type, y_type, compute;
} types[] = {
    {KERNEL_F32, KERNEL_F32, LT_R_32F, LT_R_32F, LT_COMPUTE_32F},
    {KERNEL_F64, KERNEL_F64, LT_R_64F, LT_R_64F, LT_COMPUTE_64F},
    {KERNEL_F16, KERNEL_F16, LT_R_16F, LT_R_16F, LT_COMPUTE_32F},
    {KERNEL_F16, KERNEL_F32, LT_R_16F, LT_R_32F, LT_COMPUTE_32F},
    {KERNEL_BF16, KERNEL_BF16, LT_R_16BF, LT_R_16BF, LT_COMPUTE_32F},
    {KERNEL_BF16, KERNEL_F32, LT_R_16BF, LT_R_32F, LT_COMPUTE_32F},
    {KERNEL_I8, KERNEL_I32, LT_R_8I, LT_R_32I, LT_COMPUTE_32I},
};

static size_t place_of(const struct product_shape *shape)
{
    size_t i = 0;

    while ((int16_t)types[i].dtype != shape->dtype || (int16_t)types[i].y_dtype != shape->y_type)
        i++;
    return i;
}

/* Rows of ours are its columns. */
static void *make_layout(struct cuda_products *products, int type, int64_t rows,
                         int64_t line_length, int64_t line, int64_t stride, int64_t batches)
{
    const struct lt_library *library = products->library;
    int32_t count = (int32_t)batches;
    void *layout = NULL;
    bool is_made = is_well(products,
                           library->cublasLtMatrixLayoutCreate(&layout, type, (uint64_t)line_length,
                                                               (uint64_t)rows, line),
                           "cublasLtMatrixLayoutCreate()");

    if (is_made && batches > 1)
        is_made = is_well(products,
                          library->cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_BATCHES,
                                                                    &count, sizeof(count)),
                          "cublasLtMatrixLayoutSetAttribute()") &&
                  is_well(products,
                          library->cublasLtMatrixLayoutSetAttribute(layout, LT_LAYOUT_BATCH_STRIDE,
                                                                    &stride, sizeof(stride)),
                          "cublasLtMatrixLayoutSetAttribute()");
    if (is_made)
        return layout;
    if (layout)
        (void)library->cublasLtMatrixLayoutDestroy(layout);
    return NULL;
}

static bool make_layouts(struct cuda_products *products, struct product_plan *plan)
{
    const struct product_shape *s = &plan->shape;
    int type = types[place_of(s)].type, y_type = types[place_of(s)].y_type;

    plan->a = make_layout(products, type, s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k,
                          s->a_line, s->a_stride, s->batches);
    if (plan->a)
        plan->b = make_layout(products, type, s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n,
                              s->b_line, s->b_stride, s->batches);
    if (plan->b)
        plan->y = make_layout(products, y_type, s->m, s->n, s->y_line, s->y_stride, s->batches);
    plan->c = plan->y;
    if (plan->y && s->addend == ADDEND_FULL && s->c_line != s->y_line)
        plan->c = make_layout(products, y_type, s->m, s->n, s->c_line, 0, 1);
    return plan->c != NULL;
}

static bool tell_product(struct cuda_products *products, void *product, int attribute,
                         const void *value, size_t bytes)
{
    return is_well(
        products,
        products->library->cublasLtMatmulDescSetAttribute(product, attribute, value, bytes),
        "cublasLtMatmulDescSetAttribute()");
}

static bool tell_bias(struct cuda_products *products, struct product_plan *plan, const void *bias)
{
    if (plan->bias == bias)
        return true;
    plan->bias = bias;
    return tell_product(products, plan->product, LT_PRODUCT_BIAS, &bias, sizeof(bias));
}

/* The transposed y is the product of the transposed b and a, in this order. */
static bool make_product(const struct kernel_cuda *cuda, struct product_plan *plan,
                         const void *bias)
{
    struct cuda_products *products = cuda->products;
    const struct product_shape *s = &plan->shape;
    int compute = types[place_of(s)].compute, operation = LT_TRANSPOSED;
    int epilogue = (s->addend == ADDEND_BIAS ? LT_EPILOGUE_BIAS : 0) |
                   (s->behind == KERNEL_RELU        ? LT_EPILOGUE_RELU
                    : s->behind == KERNEL_GELU_TANH ? LT_EPILOGUE_GELU
                                                    : 0);
    int scale = compute == LT_COMPUTE_64F   ? LT_R_64F
                : compute == LT_COMPUTE_32I ? LT_R_32I
                                            : LT_R_32F;

    if (s->dtype == KERNEL_F32 && cuda->choice.allows_tf32)
        compute = LT_COMPUTE_TF32;
    if (!is_well(products,
                 products->library->cublasLtMatmulDescCreate(&plan->product, compute, scale),
                 "cublasLtMatmulDescCreate()")) {
        plan->product = NULL;
        return false;
    }
    if (s->trans_b && !tell_product(products, plan->product, LT_PRODUCT_A_OPERATION, &operation,
                                    sizeof(operation)))
        return false;
    if (s->trans_a && !tell_product(products, plan->product, LT_PRODUCT_B_OPERATION, &operation,
                                    sizeof(operation)))
        return false;
    if (epilogue != 0 &&
        !tell_product(products, plan->product, LT_PRODUCT_EPILOGUE, &epilogue, sizeof(epilogue)))
        return false;
    return s->addend != ADDEND_BIAS || tell_bias(products, plan, bias);
}

static void forget(const struct lt_library *library, struct product_plan *plan)
{
    if (plan->c && plan->c != plan->y)
        (void)library->cublasLtMatrixLayoutDestroy(plan->c);
    if (plan->y)
        (void)library->cublasLtMatrixLayoutDestroy(plan->y);
    if (plan->b)
        (void)library->cublasLtMatrixLayoutDestroy(plan->b);
    if (plan->a)
        (void)library->cublasLtMatrixLayoutDestroy(plan->a);
    if (plan->product)
        (void)library->cublasLtMatmulDescDestroy(plan->product);
    plan->a = plan->b = plan->c = plan->y = plan->product = NULL;
}

static bool tell_preference(struct cuda_products *products, void *preference, uint64_t limit,
                            const struct product_shape *s)
{
    const uint32_t alignments[] = {s->b_alignment, s->a_alignment, s->c_alignment, s->y_alignment};
    const uint32_t reductions = LT_REDUCTION_COMPUTE;
    const bool is_half = s->y_type == KERNEL_F16 || s->y_type == KERNEL_BF16;
    const struct lt_library *library = products->library;
    bool is_told = is_well(products,
                           library->cublasLtMatmulPreferenceSetAttribute(
                               preference, LT_PREFERENCE_WORKSPACE, &limit, sizeof(limit)),
                           "cublasLtMatmulPreferenceSetAttribute()");

    if (is_told && is_half) /* parts of a sum are not rounded */
        is_told =
            is_well(products,
                    library->cublasLtMatmulPreferenceSetAttribute(
                        preference, LT_PREFERENCE_REDUCTIONS, &reductions, sizeof(reductions)),
                    "cublasLtMatmulPreferenceSetAttribute()");
    for (int i = 0; is_told && i < 4; i++)
        is_told = is_well(
            products,
            library->cublasLtMatmulPreferenceSetAttribute(preference, LT_PREFERENCE_ALIGNMENT + i,
                                                          &alignments[i], sizeof(alignments[i])),
            "cublasLtMatmulPreferenceSetAttribute()");
    return is_told;
}

/* Returns how many it proposes; that it has none is no failure. */
static int ask(struct cuda_products *products, const struct product_plan *plan, uint64_t limit,
               int wanted, struct lt_proposal *out_proposals)
{
    const struct lt_library *library = products->library;
    void *preference = NULL;
    int count = 0, status;

    if (!is_well(products, library->cublasLtMatmulPreferenceCreate(&preference),
                 "cublasLtMatmulPreferenceCreate()"))
        return 0;
    if (tell_preference(products, preference, limit, &plan->shape)) {
        status = library->cublasLtMatmulAlgoGetHeuristic(products->handle, plan->product, plan->b,
                                                         plan->a, plan->c, plan->y, preference,
                                                         wanted, out_proposals, &count);
        if (status != 0)
            count = 0;
        if (status != LT_NOT_SUPPORTED)
            (void)is_well(products, status, "cublasLtMatmulAlgoGetHeuristic()");
    }
    (void)library->cublasLtMatmulPreferenceDestroy(preference);
    return count;
}

/* --- Running --- */

/* Returns cuBLASLt's status. */
static int run_one(struct kernel_cuda *cuda, struct product_plan *plan,
                   const struct lt_algorithm *algorithm, size_t workspace_bytes,
                   const struct product_run *run)
{
    struct cuda_products *products = cuda->products;
    const float alpha = (float)run->alpha, beta = (float)run->beta;
    const int whole_alpha = (int)run->alpha, whole_beta = (int)run->beta;
    const bool is_double = plan->shape.dtype == KERNEL_F64,
               is_int8 = plan->shape.dtype == KERNEL_I8;
    void *workspace = workspace_bytes ? cuda_workspace(cuda) : NULL;

    return products->library->cublasLtMatmul(products->handle, plan->product,
                                             is_double ? (const void *)&run->alpha
                                             : is_int8 ? (const void *)&whole_alpha
                                                       : &alpha,
                                             run->b, plan->b, run->a, plan->a,
                                             is_double ? (const void *)&run->beta
                                             : is_int8 ? (const void *)&whole_beta
                                                       : &beta,
                                             plan->shape.addend == ADDEND_FULL ? run->c : run->y,
                                             plan->c, run->y, plan->y, algorithm, workspace,
                                             workspace_bytes, cuda->stream);
}

static void fail(struct kernel_cuda *cuda, int status)
{
    if (status == 0 || cuda->failure != 0)
        return;
    cuda->failure = -EIO;
    snprintf(cuda->problem, sizeof(cuda->problem), "the GPU failed at cublasLtMatmul(): %s",
             cuda->products->library->cublasLtGetStatusName(status));
}

void product_run(struct kernel_cuda *cuda, const struct product_call *call)
{
    struct product_plan *plan = call->plan;

    if (cuda->is_rehearsing)
        return;
    if (cuda->failure == 0 && !cuda_workspaces_take(cuda, plan->workspace_bytes) &&
        cuda->failure == 0) {
        cuda->failure = -ENOMEM;
        snprintf(cuda->problem, sizeof(cuda->problem),
                 "the GPU has no room for cuBLASLt's workspace of %zu bytes",
                 plan->workspace_bytes);
    }
    for (int i = 0; cuda->failure == 0 && i < call->count; i++) {
        if (plan->shape.addend == ADDEND_BIAS &&
            !tell_bias(cuda->products, plan, call->runs[i].c)) {
            cuda->failure = -EIO;
            snprintf(cuda->problem, sizeof(cuda->problem), "%s", cuda->products->problem);
            return;
        }
        fail(cuda, run_one(cuda, plan, &plan->algorithm, plan->workspace_bytes, &call->runs[i]));
    }
}

/* --- Choosing --- */

struct timed {
    const struct product_call *call;
    struct product_plan *plan;
    const struct lt_proposal *proposal; /* NULL: the own kernel */
};

static int hand_over(struct kernel_cuda *cuda, void *context)
{
    const struct timed *timed = context;
    const struct product_call *call = timed->call;
    const struct lt_proposal *proposal = timed->proposal;
    int status = 0;

    if (!proposal)
        call->own(call->call);
    for (int i = 0; proposal && status == 0 && i < call->count; i++)
        status = run_one(cuda, timed->plan, &proposal->algorithm, proposal->workspace_bytes,
                         &call->runs[i]);
    return status;
}

static bool time_one(struct kernel_cuda *cuda, const struct product_call *call,
                     struct product_plan *plan, const struct lt_proposal *proposal, float *out_ms)
{
    struct timed timed = {call, plan, proposal};
    bool is_timed = cuda_time(cuda, "timing products", hand_over, &timed, out_ms);

    cuda->products->timed += is_timed;
    return is_timed;
}

static int first_usable(struct kernel_cuda *cuda, const struct lt_proposal *proposals, int count)
{
    for (int i = 0; i < count; i++)
        if (proposals[i].status == 0 && cuda_workspaces_take(cuda, proposals[i].workspace_bytes))
            return i;
    return -1;
}

/* A line of all that a choice hangs on. */
static void write_task(const struct kernel_cuda *cuda, const struct product_shape *s, char *out)
{
    snprintf(
        out, CUDA_TASK_BYTES,
        "%s product of %d to %d%s, %lldx%lldx%lld%s%s, lines %lld %lld %lld %lld, %lld by %lld "
        "%lld %lld, at %u %u %u %u, addend %d%s",
        cuda->products->name, s->dtype, s->y_type,
        s->dtype == KERNEL_F32 && cuda->choice.allows_tf32 ? " by TF32" : "", (long long)s->m,
        (long long)s->n, (long long)s->k, s->trans_a ? " a turned" : "",
        s->trans_b ? " b turned" : "", (long long)s->a_line, (long long)s->b_line,
        (long long)s->c_line, (long long)s->y_line, (long long)s->batches, (long long)s->a_stride,
        (long long)s->b_stride, (long long)s->y_stride, s->a_alignment, s->b_alignment,
        s->c_alignment, s->y_alignment, s->addend,
        s->behind == KERNEL_RELU        ? ", Relu"
        : s->behind == KERNEL_GELU_TANH ? ", Gelu"
                                        : "");
}

static int32_t id_of(const struct cuda_products *products, const struct lt_algorithm *algorithm)
{
    int32_t id = -1;
    size_t written = 0;

    return products->library->cublasLtMatmulAlgoConfigGetAttribute(algorithm, LT_ALGORITHM_ID, &id,
                                                                   sizeof(id), &written) == 0
               ? id
               : -1;
}

/* Which way of an algorithm it is, wherever it is proposed. What an older version does not know of it
 * is always the same there. */
static void name_way(const struct cuda_products *products, const struct lt_proposal *proposal,
                     char *out)
{
    uint64_t key = CUDA_KEY_BEGIN;

    for (int i = LT_ALGORITHM_TILE; i <= LT_ALGORITHM_CLUSTER; i++) {
        const size_t bytes = i < LT_ALGORITHM_INNER_SHAPE ? sizeof(uint32_t) : sizeof(uint16_t);
        uint32_t value = 0;
        size_t written = 0;
        int status = products->library->cublasLtMatmulAlgoConfigGetAttribute(
            &proposal->algorithm, i, &value, bytes, &written);

        key = cuda_key_of(key, status == 0 ? value : UINT64_MAX);
    }
    snprintf(out, KERNEL_CUDA_WAY_BYTES, "cublasLt:%d key %016llx",
             (int)id_of(products, &proposal->algorithm), (unsigned long long)key);
}

/* The proposal that was the fastest when they were timed; -1: the own kernel was; -2: it is not known,
 * or not proposed any more. */
static int recalled(struct kernel_cuda *cuda, const char *task, const struct lt_proposal *proposals,
                    int count)
{
    struct kernel_cuda_way way;
    char name[KERNEL_CUDA_WAY_BYTES];

    if (!cuda_ways_recall(cuda, task, &way))
        return -2;
    if (strcmp(way.name, CUDA_OWN_WAY) == 0)
        return -1;
    for (int i = 0; i < count; i++) {
        name_way(cuda->products, &proposals[i], name);
        if (strcmp(name, way.name) == 0 && proposals[i].status == 0 &&
            proposals[i].workspace_bytes == way.workspace_bytes &&
            cuda_workspaces_take(cuda, proposals[i].workspace_bytes))
            return i;
    }
    return -2;
}

/* The own kernel is among them. Returns -1 where it is the fastest, -2 where nothing can be had. */
static int fastest(struct kernel_cuda *cuda, const struct product_call *call,
                   struct product_plan *plan, const struct lt_proposal *proposals, int count)
{
    char task[CUDA_TASK_BYTES], name[KERNEL_CUDA_WAY_BYTES];
    struct cuda_ways ways = {.count = 0};
    float least = 0.0f, ms;
    int best;
    bool has_time;

    write_task(cuda, &plan->shape, task);
    best = recalled(cuda, task, proposals, count);
    cuda->products->recalled += best >= -1;
    if (best >= -1)
        return best;
    if (!cuda->choice.times) {
        best = first_usable(cuda, proposals, count);
        return best < 0 ? -2 : best;
    }
    best = -1;
    has_time = time_one(cuda, call, plan, NULL, &least);
    if (has_time)
        cuda_ways_add(&ways, CUDA_OWN_WAY, least, 0);
    for (int i = 0; i < count; i++) {
        if (proposals[i].status != 0 || !cuda_workspaces_take(cuda, proposals[i].workspace_bytes) ||
            !time_one(cuda, call, plan, &proposals[i], &ms))
            continue;
        name_way(cuda->products, &proposals[i], name);
        cuda_ways_add(&ways, name, ms, proposals[i].workspace_bytes);
        if (has_time && ms >= least)
            continue;
        least = ms;
        has_time = true;
        best = i;
    }
    if (cuda->failure == 0)
        cuda_ways_keep(cuda, task, &ways);
    return best;
}

static void name_version(struct cuda_products *products, struct product_plan *plan)
{
    int32_t id = id_of(products, &plan->algorithm);

    if (id >= 0)
        snprintf(plan->version, sizeof(plan->version), "cublasLt:%d", (int)id);
    else
        snprintf(plan->version, sizeof(plan->version), "cublasLt");
}

static void decide(struct kernel_cuda *cuda, struct product_call *call, struct product_plan *plan)
{
    struct cuda_products *products = cuda->products;
    struct lt_proposal proposals[PROPOSALS];
    uint64_t limit = cuda->choice.workspace_limit < WORKSPACE_BYTES ? cuda->choice.workspace_limit
                                                                    : WORKSPACE_BYTES;
    const bool knows = cuda->choice.times || cuda->choice.memory;
    int chosen = -1;

    plan->is_own = true;
    if (!make_product(cuda, plan, call->runs[0].c) || !make_layouts(products, plan))
        return;
    for (int attempt = 0; attempt < 2 && chosen < 0; attempt++) {
        int count = ask(products, plan, limit, knows ? PROPOSALS : 1, proposals);

        plan->is_refused = count == 0;
        if (knows && count > 0) {
            chosen = fastest(cuda, call, plan, proposals, count);
            if (chosen != -2)
                break;
        } else {
            chosen = first_usable(cuda, proposals, count);
        }
        if (count == 0 || limit == 0)
            break;
        limit = 0; /* where there is no room for a workspace */
    }
    if (chosen < 0)
        return;
    plan->is_own = false;
    plan->algorithm = proposals[chosen].algorithm;
    plan->workspace_bytes = proposals[chosen].workspace_bytes;
    name_version(products, plan);
}

static struct product_plan *find(const struct cuda_products *products,
                                 const struct product_shape *shape)
{
    for (size_t i = 0; i < products->count; i++)
        if (memcmp(&products->plans[i]->shape, shape, sizeof(*shape)) == 0)
            return products->plans[i];
    return NULL;
}

static struct product_plan *make(struct kernel_cuda *cuda, struct product_call *call)
{
    struct cuda_products *products = cuda->products;
    struct product_plan *plan;

    if (products->count == products->room) {
        size_t room = products->room ? 2 * products->room : 16;
        struct product_plan **plans =
            realloc(products->plans, room * sizeof(struct product_plan *));

        if (!plans)
            return NULL;
        products->plans = plans;
        products->room = room;
    }
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return NULL;
    products->plans[products->count++] = plan;
    plan->shape = call->runs[0].shape;
    decide(cuda, call, plan);
    if (plan->is_own)
        forget(products->library, plan);
    return plan;
}

bool product_is_planned(struct kernel_cuda *cuda, struct product_call *call)
{
    struct cuda_products *products;
    struct product_plan *plan = NULL;

    cuda->chosen = (struct kernel_cuda_chosen){.task = KERNEL_CUDA_PRODUCT};
    if (cuda->failure != 0 || call->count == 0)
        return false;
    products = products_of(cuda);
    if (!products || !products->library)
        return false;
    plan = find(products, &call->runs[0].shape);
    if (!plan && !cuda->is_capturing)
        plan = make(cuda, call);
    call->is_refused = plan && plan->is_refused;
    if (!plan || plan->is_own)
        return false;
    cuda->chosen.version = plan->version;
    call->plan = plan;
    return true;
}

size_t product_workspace(const struct kernel_cuda *cuda)
{
    size_t most = 0;

    for (size_t i = 0; cuda->products && i < cuda->products->count; i++) {
        const struct product_plan *plan = cuda->products->plans[i];

        if (!plan->is_own && plan->workspace_bytes > most)
            most = plan->workspace_bytes;
    }
    return most;
}

struct kernel_cuda_library product_library(const struct kernel_cuda *cuda)
{
    const struct cuda_products *products = cuda->products;

    if (!products)
        return (struct kernel_cuda_library){.problem = ""};
    return (struct kernel_cuda_library){
        .is_asked = true,
        .name = products->library ? products->name : NULL,
        .problem = products->problem,
        .timed = products->timed,
        .recalled = products->recalled,
    };
}

void product_plans_destroy(struct kernel_cuda *cuda)
{
    struct cuda_products *products = cuda->products;

    cuda->products = NULL;
    if (!products)
        return;
    for (size_t i = 0; i < products->count; i++) {
        forget(products->library, products->plans[i]);
        free(products->plans[i]);
    }
    if (products->handle)
        (void)products->library->cublasLtDestroy(products->handle);
    free(products->plans);
    free(products);
}
