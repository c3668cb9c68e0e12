/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program for the control scenarios: begins a run every 2 ms, with a span of the op "work" in it,
 * RUNS times, or until it is killed.
 *
 *     control_program NAME [RUNS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "client/optrace.h"

int main(int argc, char **argv)
{
    const struct optrace_config config = {.program = argc > 1 ? argv[1] : "control"};
    const long runs = argc > 2 ? strtol(argv[2], NULL, 10) : -1;
    char text[300];
    uint32_t op;

    if (optrace_start(&config) < 0) {
        optrace_status(text, sizeof(text));
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    op = optrace_label("work");
    puts("running");
    fflush(stdout);
    for (long i = 0; i != runs; i++) {
        struct optrace_run run = optrace_run_begin(0, 0);
        struct optrace_span span = optrace_begin(op);

        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        optrace_end(span);
        optrace_run_end(run);
    }
    optrace_stop();
    return 0;
}
