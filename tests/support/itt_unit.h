/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program has that is linked with the static part of ITT: a list of functions, each NULL until
 * there is a tool. Of that list what measures need; tests/flow/inject_itt_program.c has more of it.
 */
#ifndef OPTRACE_TESTS_SUPPORT_ITT_UNIT_H
#define OPTRACE_TESTS_SUPPORT_ITT_UNIT_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct itt_id {
    unsigned long long words[3];
};
static const struct itt_id itt_no_id;

struct itt_domain;
struct itt_handle;

static struct itt_domain *(*itt_domain_create)(const char *);
static struct itt_handle *(*itt_handle_create)(const char *);
static void (*itt_task_begin)(const struct itt_domain *, struct itt_id, struct itt_id,
                              struct itt_handle *);
static void (*itt_task_end)(const struct itt_domain *);

/* Whether there is a tool; the functions are there then. */
static bool itt_look_for_tool(void)
{
    static struct itt_api {
        const char *name;
        void **place;
        void *init, *null;
        int group;
    } apis[] = {
        {"__itt_domain_create", (void **)&itt_domain_create, NULL, NULL, 0},
        {"__itt_string_handle_create", (void **)&itt_handle_create, NULL, NULL, 0},
        {"__itt_task_begin", (void **)&itt_task_begin, NULL, NULL, 0},
        {"__itt_task_end", (void **)&itt_task_end, NULL, NULL, 0},
        {NULL, NULL, NULL, NULL, 0},
    };
    static struct {
        unsigned char magic[8];
        unsigned long major, minor, build;
        volatile long api_initialized, mutex_initialized, atomic_counter;
        pthread_mutex_t mutex;
        void *lib, *error_handler;
        const char **dll_path;
        struct itt_api *apis;
    } library = {.major = 3, .minor = 24, .apis = apis};
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
    void (*init)(void *, int);

    *(void **)&init = tool ? dlsym(tool, "__itt_api_init") : NULL;
    if (init)
        init(&library, 0);
    return itt_task_begin != NULL;
}

#endif
