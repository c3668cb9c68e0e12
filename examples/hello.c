/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest traced program. Start optraced, run this, ask profile_analyze. */
#include <stdio.h>

#include "client/optrace.h"

enum { N = 128 };
static float a[N * N], b[N * N], c[N * N];

static void fill(void)
{
    OPTRACE_SCOPE("fill"); /* a label: from here to the end of the block */
    for (int i = 0; i < N * N; i++)
        a[i] = b[i] = (float)(i % 7);
}

static void matmul(void)
{
    for (int i = 0; i < N * N * N; i++)
        c[i / N / N * N + i % N] += a[i / N] * b[i % (N * N)];
}

int main(void)
{
    struct optrace_op_info info = OPTRACE_OP_INFO("matmul1", "MatMul");
    char status[256];
    uint32_t op;

    optrace_start(NULL);
    info.computation_flop = 2 * N * N * N;
    optrace_op_define(&info, &op); /* once: what is constant about it */
    for (int i = 0; i < 10; i++) {
        struct optrace_run run = optrace_run_begin(0, 0);

        fill();
        struct optrace_span span = optrace_begin(op);
        matmul();
        optrace_end(span);
        optrace_run_end(run);
    }
    optrace_status(status, sizeof(status));
    printf("c[1] = %g; %s\n", (double)c[1], status);
    optrace_stop();
    return 0;
}
