/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with plans of cuDNN and without us: inject_cudnn_program. Built and destroyed as
 * frameworks do, so that addresses come again for other plans.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cuda/dnn.h"
#include "tests/support/cuda/double.h"

enum {
    CALLS = 50,
    ENGINE = 2,
    CONFIGURATION = 3,
    HEURISTICS = 4,
    PLAN = 5,
    CONV = 10,
    CONV_WEIGHTS = 11,
    POINTWISE = 13,
    GRAPH = 15,
    TENSOR = 17,
    MATMUL = 19,
    ATTENTION = 41,
    DATA_TYPE = 1,
    INT64 = 3,
    DESCRIPTOR = 15,
    FLOAT = 0,
    HALF = 2,
};

static void *made[64];
static int made_count;

#define DO(call)                                                                                   \
    do {                                                                                           \
        const int rc_ = (call);                                                                    \
                                                                                                   \
        if (rc_ != 0) {                                                                            \
            fprintf(stderr, "%s: error %d\n", #call, rc_);                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void *create(int type)
{
    DO(cudnnBackendCreateDescriptor(type, &made[made_count]));
    return made[made_count++];
}

static void give(void *descriptor, int name, void *other)
{
    DO(cudnnBackendSetAttribute(descriptor, name, DESCRIPTOR, 1, &other));
}

static void *tensor(int type, int rank, const int64_t *dims)
{
    void *tensor = create(TENSOR);

    DO(cudnnBackendSetAttribute(tensor, 901, DATA_TYPE, 1, &type));
    DO(cudnnBackendSetAttribute(tensor, 902, INT64, rank, dims));
    DO(cudnnBackendFinalize(tensor));
    return tensor;
}

/* The program's own choice of an engine, or what heuristics say. */
static void *plan_of(void *const *operations, int count, int by_heuristics)
{
    void *graph = create(GRAPH), *configuration = create(CONFIGURATION), *plan = create(PLAN);
    int64_t given = 0;

    DO(cudnnBackendSetAttribute(graph, 801, DESCRIPTOR, count, operations));
    DO(cudnnBackendFinalize(graph));
    if (by_heuristics) {
        void *heuristics = create(HEURISTICS);

        give(heuristics, 201, graph);
        DO(cudnnBackendFinalize(heuristics));
        DO(cudnnBackendGetAttribute(heuristics, 202, DESCRIPTOR, 1, &given, &configuration));
    } else {
        void *engine = create(ENGINE);

        give(engine, 1300, graph);
        DO(cudnnBackendFinalize(engine));
        give(configuration, 300, engine);
        DO(cudnnBackendFinalize(configuration));
    }
    give(plan, 401, configuration);
    DO(cudnnBackendFinalize(plan));
    return plan;
}

static void run(void *plan)
{
    for (int i = 0; i < CALLS; i++)
        DO(cudnnBackendExecute(NULL, plan, NULL));
    while (made_count > 0)
        DO(cudnnBackendDestroyDescriptor(made[--made_count]));
}

/* And adds and cuts off, in one. */
static void convolution(void)
{
    void *const x = tensor(HALF, 4, (const int64_t[]){8, 64, 56, 56}),
                *w = tensor(HALF, 4, (const int64_t[]){128, 32, 3, 3}),
                *y = tensor(HALF, 4, (const int64_t[]){8, 128, 56, 56});
    void *operations[] = {create(CONV), create(POINTWISE), create(POINTWISE)};

    give(operations[0], 704, x);
    give(operations[0], 703, w);
    give(operations[0], 705, y);
    give(operations[1], 751, y);
    run(plan_of(operations, 3, 1));
}

static void backward(void)
{
    void *const x = tensor(FLOAT, 4, (const int64_t[]){8, 64, 56, 56}),
                *dw = tensor(FLOAT, 4, (const int64_t[]){128, 64, 1, 1}),
                *dy = tensor(FLOAT, 4, (const int64_t[]){8, 128, 56, 56});
    void *operations[] = {create(CONV_WEIGHTS)};

    give(operations[0], 716, x);
    give(operations[0], 717, dy);
    give(operations[0], 715, dw);
    run(plan_of(operations, 1, 0));
}

static void product(void)
{
    void *const a = tensor(FLOAT, 3, (const int64_t[]){4, 32, 64}),
                *b = tensor(FLOAT, 3, (const int64_t[]){4, 64, 48}),
                *c = tensor(FLOAT, 3, (const int64_t[]){4, 32, 48});
    void *operations[] = {create(MATMUL)};

    give(operations[0], 1520, a);
    give(operations[0], 1521, b);
    give(operations[0], 1522, c);
    run(plan_of(operations, 1, 0));
}

static void attention(void)
{
    void *const q = tensor(HALF, 4, (const int64_t[]){2, 8, 128, 64}),
                *k = tensor(HALF, 4, (const int64_t[]){2, 8, 256, 64}),
                *v = tensor(HALF, 4, (const int64_t[]){2, 8, 256, 32}),
                *o = tensor(HALF, 4, (const int64_t[]){2, 8, 128, 32});
    void *operations[] = {create(ATTENTION)};

    give(operations[0], 2800, q);
    give(operations[0], 2801, k);
    give(operations[0], 2802, v);
    give(operations[0], 2803, o);
    run(plan_of(operations, 1, 1));
}

int main(void)
{
    void *operations[1];

    DO(cuInit(0)); /* as cudnnCreate() does */
    convolution();
    backward();
    product();
    attention();
    operations[0] = create(POINTWISE);
    run(plan_of(operations, 1, 0));
    DO(cuCtxSynchronize());
    printf("done\n");
    return 0;
}
