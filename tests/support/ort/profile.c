/* SPDX-License-Identifier: Apache-2.0 */
/* A file as release 1.20 writes it: whole when the session is released or its profile ended. */
#include "tests/support/ort/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int allocator;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *create_options(struct options **out_options)
{
    *out_options = calloc(1, sizeof(**out_options));
    return NULL;
}

static void *clone_options(const struct options *options, struct options **out_options)
{
    *out_options = malloc(sizeof(**out_options));
    **out_options = *options;
    return NULL;
}

static void *enable_profiling(struct options *options, const char *prefix)
{
    snprintf(options->prefix, sizeof(options->prefix), "%s", prefix);
    options->has_profile = true;
    return NULL;
}

static void *get_allocator(void **out_allocator)
{
    *out_allocator = &allocator;
    return NULL;
}

static void *end_profiling(struct session *session, const void *of, char **out_name)
{
    static char name[] = "name";

    profile_end(session);
    *out_name = name;
    return of == &allocator ? NULL : name;
}

static void *get_start(const struct session *session, uint64_t *out_ns)
{
    *out_ns = (uint64_t)session->profile_start_ns;
    return NULL;
}

void profile_begin(struct session *session, const struct options *options)
{
    char path[300];

    if (!options || !options->has_profile)
        return;
    snprintf(path, sizeof(path), "%s_2026-11-26_10-00-00.json", options->prefix);
    session->profile = fopen(path, "w");
    if (!session->profile)
        abort();
    setvbuf(session->profile, NULL, _IONBF, 0); /* nothing twice after a fork() */
    session->profile_start_ns = now_ns();
    fprintf(session->profile,
            "[\n{\"cat\" : \"Session\",\"pid\" :1,\"tid\" :1,\"dur\" :554,\"ts\" :7,\"ph\" : "
            "\"X\",\"name\" :\"model_loading_uri\",\"args\" : {}},\n");
}

/* As long as a real one prepares its inputs, and more than what is cut off times. */
static void prepare(void)
{
    const int64_t start = now_ns();

    while (now_ns() < start + 3000)
        ;
}

void profile_run(const struct session *session)
{
    static const char *const nodes[] = {"conv", "relu", "scale"}, *const types[] = {"Conv", "Relu",
                                                                                    "Mul"};

    if (session->profile)
        prepare();
    for (int i = 0; session->profile && i < 3; i++) {
        const long tid = syscall(SYS_gettid);
        const long long us = (now_ns() - session->profile_start_ns) / 1000;

        fprintf(session->profile,
                "{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :%ld,\"dur\" :0,\"ts\" :%lld,\"ph\" : "
                "\"X\",\"name\" :\"%s_fence_before\",\"args\" : {\"op_name\" : \"%s\"}},\n",
                tid, us, nodes[i], types[i]);
        fprintf(session->profile,
                "{\"cat\" : \"Node\",\"pid\" :1,\"tid\" :%ld,\"dur\" :0,\"ts\" :%lld,\"ph\" : "
                "\"X\",\"name\" :\"%s_kernel_time\",\"args\" : {\"thread_scheduling_stats\" : "
                "{\"main_thread\": {\"block_size\": [1]}},\"output_type_shape\" : "
                "[{\"float\":[1,4,8,8]}],\"output_size\" : \"3\",\"parameter_size\" : \"20\","
                "\"activation_size\" : \"100\",\"node_index\" : \"%d\",\"input_type_shape\" : "
                "[{\"float\":[1,3,8,8]},{\"float\":[4,3,3,3]}],\"provider\" : "
                "\"CPUExecutionProvider\",\"op_name\" : \"%s\"}},\n",
                tid, us, nodes[i], i, types[i]);
    }
}

void profile_end(struct session *session)
{
    if (!session->profile)
        return;
    fprintf(session->profile, "]\n");
    fclose(session->profile);
    session->profile = NULL;
}

void profile_fill(function *table)
{
    table[10] = (function)create_options;
    table[12] = (function)clone_options;
    table[14] = (function)enable_profiling;
    table[78] = (function)get_allocator;
    table[100] = (function)free;
    table[110] = (function)end_profiling;
    table[146] = (function)get_start;
}
