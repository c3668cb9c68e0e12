/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small library in place of ONNX Runtime: OrtGetApiBase() with a table of functions of API ORT_API,
 * as the real one lays it out. A run doubles a number and adds ORT_API; a model whose path holds
 * "broken" cannot be loaded. Where that API has providers, a run has nodes (nodes.h).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/ort/nodes.h"
#include "tests/support/ort/profile.h"

/* As many slots as that API had, about. */
#define SLOTS (ORT_API < 20 ? 280 : ORT_API < 25 ? 320 : 420)

static char error[] = "an error";

static void *create(const void *env, const char *path, const void *options, void **session)
{
    if (strstr(path, "broken"))
        return error;
    *session = calloc(1, sizeof(struct session));
    nodes_join(*session, options);
    ((struct session *)*session)->loses_ends = strstr(path, "endless") != NULL;
    if (ORT_API < 25)
        profile_begin(*session, options);
    return NULL;
}

static void *create_from(const void *env, const void *bytes, size_t count, const void *options,
                         void **session)
{
    *session = calloc(1, sizeof(struct session));
    nodes_join(*session, options);
    if (ORT_API < 25)
        profile_begin(*session, options);
    return NULL;
}

static void *run(void *session, const void *options, const char *const *input_names,
                 const void *const *inputs, size_t input_count, const char *const *output_names,
                 size_t output_count, void **outputs)
{
    if (input_count != 1 || output_count != 1 || strcmp(input_names[0], "x") != 0 ||
        strcmp(output_names[0], "y") != 0)
        return error;
    nodes_run(session, options);
    profile_run(session);
    *(double *)outputs[0] = 2 * *(const double *)inputs[0] + ORT_API;
    return NULL;
}

static void *run_with_binding(void *session, const void *options, const void *binding)
{
    if (binding)
        nodes_run(session, options);
    if (binding)
        profile_run(session);
    return binding ? NULL : error;
}

static void release(void *session)
{
    nodes_leave(session);
    profile_end(session);
    free(session);
}

static void *other(void)
{
    return error;
}

static function table[420] = {
    [0] = (function)other,         [7] = (function)create,   [8] = (function)create_from,
    [9] = (function)run,           [95] = (function)release, [133] = (function)run_with_binding,
    [SLOTS - 1] = (function)other,
};

static const function *get_api(uint32_t version)
{
    return version <= ORT_API ? table : NULL;
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

static const char *version(void)
{
    return "1." TEXT(ORT_API) ".0";
}

__attribute__((visibility("default"))) const struct base *OrtGetApiBase(void);

const struct base *OrtGetApiBase(void)
{
    static const struct base base = {get_api, version};

    if (ORT_API >= 25)
        nodes_fill(table, &base);
    else
        profile_fill(table);
    return &base;
}
