/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with the real ONNX Runtime, and without us, which asks its library for OrtGetApiBase():
 *
 *     inject_ort_real LIBRARY MODEL RUNS [options|threads|devices|chooser|profile PREFIX]
 *
 * MODEL has an input x of f32 [2, 3, 32, 32] and an output y of [2, 10]. It prints a hash of all
 * results.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);

struct base {
    const function *(*get_api)(uint32_t version);
    const char *(*version)(void);
};

enum { INPUTS = 2 * 3 * 32 * 32, OUTPUTS = 2 * 10 };

static const function *api;
static void *session, *memory, *shared_options;
static int run_count;

#define CALL(slot, types, ...) ((void *(*)types)api[slot])(__VA_ARGS__)

static void check(void *status, const char *what)
{
    if (!status)
        return;
    printf("%s: %s\n", what, (const char *)CALL(2, (void *), status));
    exit(1);
}

static uint64_t run(void *options, uint64_t hash)
{
    const char *const input = "x", *const output = "y";
    const int64_t dims[] = {2, 3, 32, 32};
    static float values[INPUTS];
    const unsigned char *bytes;
    void *x = NULL, *y = NULL, *data = NULL;

    check(CALL(49, (void *, void *, size_t, const int64_t *, size_t, int, void **), memory, values,
               sizeof(values), dims, 4, 1, &x),
          "CreateTensor");
    check(CALL(9,
               (void *, void *, const char *const *, void *const *, size_t, const char *const *,
                size_t, void **),
               session, options, &input, &x, 1, &output, 1, &y),
          "Run");
    check(CALL(51, (void *, void **), y, &data), "GetTensorMutableData");
    bytes = data;
    for (size_t i = 0; i < OUTPUTS * sizeof(float); i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    CALL(96, (void *), x);
    CALL(96, (void *), y);
    return hash;
}

static void *run_often(void *context)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int i = 0; i < run_count; i++)
        hash = run(shared_options, hash);
    *(uint64_t *)context = hash;
    return NULL;
}

static void show_devices(void *env)
{
    void *const *devices = NULL;
    size_t count = 0;

    check(CALL(303, (void *, void *const **, size_t *), env, &devices, &count), "GetEpDevices");
    for (size_t i = 0; i < count; i++)
        printf("%s\n", ((const char *(*)(void *))api[312])(devices[i]));
}

/* Of a session more, whose devices the program chooses itself. */
static void *choose(void *const *devices, size_t count, const void *model, const void *runtime,
                    void **out_chosen, size_t room, size_t *out_count, void *context)
{
    for (size_t i = 0; i < count; i++)
        printf("%s among %s\n", (const char *)context,
               ((const char *(*)(void *))api[312])(devices[i]));
    *out_count = 0;
    if (count > 0 && room > 0)
        out_chosen[(*out_count)++] = devices[0];
    (void)model, (void)runtime;
    return NULL;
}

static void show_choice(void *env, const char *path)
{
    void *options, *other,
        *(*const chooser)(void *const *, size_t, const void *, const void *, void **, size_t,
                          size_t *, void *) = choose;

    for (int i = 0; i < 2; i++) {
        check(CALL(10, (void **), &options), "CreateSessionOptions");
        check(CALL(306, (void *, function, const char *), options, (function)chooser,
                   i ? "second" : "first"),
              "SessionOptionsSetEpSelectionPolicyDelegate");
        check(CALL(7, (void *, const char *, void *, void **), env, path, options, &other),
              "CreateSession");
        CALL(95, (void *), other);
        CALL(100, (void *), options);
    }
}

int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    const struct base *(*get_base)(void) = NULL;
    const char *how = argc > 4 ? argv[4] : "";
    uint64_t hashes[4];
    pthread_t threads[4];
    int thread_count = strcmp(how, "threads") == 0 ? 4 : 1;
    void *env, *options;

    if (!library) {
        printf("%s\n", dlerror());
        return 2;
    }
    *(void **)&get_base = dlsym(library, "OrtGetApiBase");
    api = get_base()->get_api(17);
    run_count = atoi(argv[3]);
    check(CALL(3, (int, const char *, void **), 3, "program", &env), "CreateEnv");
    check(CALL(10, (void **), &options), "CreateSessionOptions");
    if (strcmp(how, "profile") == 0)
        check(CALL(14, (void *, const char *), options, argv[5]), "EnableProfiling");
    check(CALL(7, (void *, const char *, void *, void **), env, argv[2], options, &session),
          "CreateSession");
    check(CALL(69, (int, int, void **), 1, 0, &memory), "CreateCpuMemoryInfo");
    if (strcmp(how, "options") == 0 || thread_count > 1)
        check(CALL(39, (void **), &shared_options), "CreateRunOptions");
    for (int i = 0; i < thread_count; i++)
        pthread_create(&threads[i], NULL, run_often, &hashes[i]);
    for (int i = 0; i < thread_count; i++) {
        pthread_join(threads[i], NULL);
        printf("%016llx\n", (unsigned long long)hashes[i]);
    }
    if (strcmp(how, "devices") == 0)
        show_devices(env);
    if (strcmp(how, "chooser") == 0)
        show_choice(env, argv[2]);
    if (shared_options)
        CALL(97, (void *), shared_options);
    CALL(95, (void *), session);
    CALL(100, (void *), options);
    CALL(92, (void *), env);
    return 0;
}
