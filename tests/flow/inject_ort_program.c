/* SPDX-License-Identifier: Apache-2.0 */
/* A program with ONNX Runtime, and without us: inject_ort_program SCENE [LIBRARY] */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/ort_program.h"

static void sessions(void)
{
    void *first, *second, *none = NULL;
    double sum = 0;

    printf("%p\n", (const void *)OrtGetApiBase()->get_api(99));
    printf("%s %d\n", OrtGetApiBase()->version(), OrtGetApiBase()->get_api(17) == ort_api);
    printf("%s\n", (const char *)ort_create("/models/broken.onnx", &none));
    ort_create("/models/first.onnx", &first);
    ort_create_from("bytes", 5, &second);
    for (int i = 0; i < 5; i++)
        sum += ort_run(first, i);
    for (int i = 0; i < 3; i++)
        sum += ort_run(second, i);
    printf("%g %p %s\n", sum, ort_run_with_binding(first, first),
           (const char *)ort_run_with_binding(first, NULL));
    printf("%s\n", ((const char *(*)(void))ort_api[0])());
    ort_release(first);
    ort_release(second);
    ort_create("/models/third.onnx", &first); /* at one of these addresses, most likely */
    ort_run(first, 1);
    ort_release(first);
}

static void *run_often(void *session)
{
    for (int i = 0; i < 250; i++)
        ort_run(session, i);
    return NULL;
}

static void threads(void)
{
    pthread_t ids[4];
    void *session;

    ort_create("/proc/self/exe", &session); /* which is there */
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, run_often, session);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    ort_release(session);
}

/* One object of run options for all runs, as Node's addon has it. */
static bool *shared_options;

static void *run_with_options(void *session)
{
    for (int i = 0; i < 250; i++)
        ort_run_with(session, shared_options, i);
    return NULL;
}

static void options(bool by_threads)
{
    pthread_t ids[4];
    void *session;

    ort_create("/models/options.onnx", &session);
    ((void *(*)(bool **))ort_api[39])(&shared_options);
    if (!by_threads)
        run_with_options(session);
    for (int i = 0; i < 4 && by_threads; i++)
        pthread_create(&ids[i], NULL, run_with_options, session);
    for (int i = 0; i < 4 && by_threads; i++)
        pthread_join(ids[i], NULL);
    printf("%d\n", *shared_options); /* as it was */
    ((void (*)(void *))ort_api[97])(shared_options);
    ort_release(session);
}

/* What it asks for, or sees, of providers and profiles. */
static void profile(void)
{
    const void *const *devices;
    void *session, *session_options;
    size_t count;

    ((void *(*)(const void *, const void *const **, size_t *))ort_api[303])(NULL, &devices, &count);
    ort_create("/models/first.onnx", &session);
    ort_run(session, 1);
    ((void *(*)(const void *, const void *const **, size_t *))ort_api[303])(NULL, &devices, &count);
    printf("%zu %s\n", count, ((const char *(*)(const void *))ort_api[312])(devices[0]));
    ((void *(*)(void **))ort_api[10])(&session_options);
    ((void *(*)(void *, const char *))ort_api[14])(session_options, "own");
    for (int i = 0; i < 5; i++)
        ort_run(session, i);
    ((void (*)(void *))ort_api[100])(session_options);
    ort_release(session);
}

/* Some forget to release what they have. */
static void unreleased(bool forks)
{
    static void *session; /* where it is no leak */
    pid_t child;

    ort_create("/proc/self/exe", &session);
    for (int i = 0; i < 5; i++)
        ort_run(session, i);
    child = forks ? fork() : -1;
    for (int i = 0; child == 0 && i < 3; i++)
        ort_run(session, i);
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void endless(void)
{
    void *session;

    ort_create("/models/endless.onnx", &session);
    for (int i = 0; i < 5; i++)
        ort_run(session, i);
    ort_release(session);
    ort_create("/models/first.onnx", &session);
    for (int i = 0; i < 5; i++)
        ort_run(session, i);
    ort_release(session);
}

static void killed(void)
{
    void *session;

    ort_create("/models/killed.onnx", &session);
    for (int i = 0; i < 100; i++)
        ort_run(session, i);
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    const struct ort_base *(*find)(void) = OrtGetApiBase;

    if (argc > 2)
        *(void **)&find = dlsym(dlopen(argv[2], RTLD_NOW | RTLD_LOCAL), "OrtGetApiBase");
    ort_api = find()->get_api(17);
    if (!ort_api)
        return 1;
    if (strcmp(argv[1], "sessions") == 0)
        sessions();
    else if (strcmp(argv[1], "threads") == 0)
        threads();
    else if (strcmp(argv[1], "options") == 0)
        options(false);
    else if (strcmp(argv[1], "shared") == 0)
        options(true);
    else if (strcmp(argv[1], "endless") == 0)
        endless();
    else if (strcmp(argv[1], "unreleased") == 0)
        unreleased(false);
    else if (strcmp(argv[1], "forked") == 0)
        unreleased(true);
    else if (strcmp(argv[1], "profile") == 0)
        profile();
    else
        killed();
    return 0;
}
