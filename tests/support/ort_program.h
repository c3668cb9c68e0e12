/* SPDX-License-Identifier: Apache-2.0 */
/* What programs with ONNX Runtime do, over the small library of tests/support/ort. */
#ifndef OPTRACE_TESTS_SUPPORT_ORT_PROGRAM_H
#define OPTRACE_TESTS_SUPPORT_ORT_PROGRAM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*ort_function)(void);

struct ort_base {
    const ort_function *(*get_api)(uint32_t version);
    const char *(*version)(void);
};

const struct ort_base *OrtGetApiBase(void);

static const ort_function *ort_api;

static inline void *ort_create(const char *path, void **session)
{
    return ((void *(*)(const void *, const char *, const void *, void **))ort_api[7])(
        NULL, path, NULL, session);
}

static inline void *ort_create_from(const void *bytes, size_t count, void **session)
{
    return ((void *(*)(const void *, const void *, size_t, const void *, void **))ort_api[8])(
        NULL, bytes, count, NULL, session);
}

static inline double ort_run_with(void *session, const void *options, double x)
{
    const char *const input = "x", *const output = "y";
    const void *const inputs[] = {&x};
    double y = 0;
    void *outputs[] = {&y};
    void *status = ((void *(*)(void *, const void *, const char *const *, const void *const *,
                               size_t, const char *const *, size_t, void **))ort_api[9])(
        session, options, &input, inputs, 1, &output, 1, outputs);

    return status ? -1 : y;
}

static inline double ort_run(void *session, double x)
{
    return ort_run_with(session, NULL, x);
}

static inline void *ort_run_with_binding(void *session, void *binding)
{
    return ((void *(*)(void *, const void *, const void *))ort_api[133])(session, NULL, binding);
}

static inline void ort_release(void *session)
{
    ((void (*)(void *))ort_api[95])(session);
}

#endif
