/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment by which liboptrace_inject.so gets into a program: variables that libraries look
 * at, and the loader. One that is set is left as it is, and said.
 *
 * Inside client/cli only.
 */
#ifndef OPTRACE_CLIENT_CLI_RUN_SETTINGS_H
#define OPTRACE_CLIENT_CLI_RUN_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

enum { RUN_SETTINGS_MAX = 24 };

struct run_settings {
    char *items[RUN_SETTINGS_MAX + 1]; /* "NAME=VALUE", owned; ends in NULL */
    char *taken; /* "NVTX_INJECTION64_PATH (/opt/nsys/...)": whose they are; NULL: none is */
};

struct run_wishes {
    const char *sources;  /* list of names; NULL: all */
    const char *nodes;    /* "off", "all", "1/N"; NULL: as the library has it */
    const char *gpu;      /* "graph", ... of CUPTI; NULL: the host alone */
    const char *runs_by;  /* expression for the names of ops that begin runs; NULL: none */
    const char *label;    /* what sessions are called; NULL: by their programs */
    const char *max_cost; /* percent, as in "2%"; NULL: as the library has it */
    bool inductor_kernels;
};

/** socket  of the daemon; NULL: none is set. Returns 0, or a negative errno with a sentence: a name
 *  that there is not, an expression that is none, no library. run_settings_deinit() also after a failure. */
int run_settings_fill(const struct run_wishes *wishes, const char *socket,
                      struct run_settings *out_settings, struct diag *diag);
/** The variable by which a source gets in, and the name of each in turn; NULL: there are no more. */
const char *run_settings_source(size_t place, const char **out_variable);

void run_settings_deinit(struct run_settings *settings);

/** A line each, as files of variables have them, on standard output. */
void run_settings_print(const struct run_settings *settings);

#endif
