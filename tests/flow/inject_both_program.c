/* SPDX-License-Identifier: Apache-2.0 */
/* A program that calls liboptrace, and has NVTX in it. */
#include "client/optrace.h"
#include "tests/support/nvtx_unit.h"

int main(void)
{
    uint32_t op;

    optrace_start(NULL);
    op = optrace_label("by hand");
    for (int i = 0; i < 3; i++) {
        struct optrace_run run = optrace_run_begin(0, 0);
        struct optrace_span span = optrace_begin(op);

        nvtx_push("by nvtx");
        nvtx_pop();
        optrace_end(span);
        optrace_run_end(run);
    }
    optrace_stop();
    return 0;
}
