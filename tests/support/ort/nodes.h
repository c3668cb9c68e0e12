/* SPDX-License-Identifier: Apache-2.0 */
/* What the small library has of ONNX Runtime's providers and profiles, from API 25 on. */
#ifndef OPTRACE_TESTS_SUPPORT_ORT_NODES_H
#define OPTRACE_TESTS_SUPPORT_ORT_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef void (*function)(void);

struct base {
    const function *(*get_api)(uint32_t version);
    const char *(*version)(void);
};

struct options {
    bool has_provider, has_profile;
    char prefix[256]; /* of the profile */
};

struct session {
    void *provider; /* its OrtEp */
    double value;
    bool loses_ends; /* of its nodes, of one in each run */
    FILE *profile;   /* NULL: it has none */
    int64_t profile_start_ns;
};

/** Put the functions of slots that belong here into a table. */
void nodes_fill(function *table, const struct base *base);

/** A session's part of it. */
void nodes_join(struct session *session, const struct options *options);

/** The session ends. */
void nodes_leave(struct session *session);

/** What a node, 1 to 3, computes. Of the program, if it has one: it exports its symbols then. */
extern void nodes_compute(uint64_t node) __attribute__((weak, visibility("default")));

/** Three nodes, told to the provider where the options ask for a profile. */
void nodes_run(const struct session *session, const void *run_options);

#endif
