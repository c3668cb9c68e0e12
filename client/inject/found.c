/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that say what was found, and at the end why the rest of what was asked for was not. */
#include "client/inject/found.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[FOUND_COUNT] = {"nvtx",        "itt",    "blas",  "onednn",
                                               "ort",         "ggml",   "torch", "tensorflow",
                                               "ctranslate2", "cublas", "cuda",  "cudnn"};

uint32_t found_said;
static const char *limits[FOUND_COUNT], *reasons[FOUND_COUNT];

/* Texts are ours or versions: nothing in them needs an escape, but who knows. */
static void put(char *out, size_t room, const char *key, const char *text)
{
    size_t length = strlen(out);

    if (!text || !text[0] || length + strlen(key) + strlen(text) + 8 > room)
        return;
    length += (size_t)snprintf(out + length, room - length, "%c\"%s\":\"", length ? ',' : '{', key);
    for (; *text; text++)
        out[length++] = *text == '"' || *text == '\\' || *text < ' ' ? '\'' : *text;
    out[length++] = '"';
    out[length] = '\0';
}

static void define(const char *name, const char *version, const char *limit, const char *absent)
{
    struct optrace_op_info info = OPTRACE_OP_INFO(name, "source");
    char params[400] = "";
    uint32_t op;

    put(params, sizeof(params) - 1, "version", version);
    put(params, sizeof(params) - 1, "limit", limit);
    put(params, sizeof(params) - 1, "absent", absent);
    if (params[0])
        strcat(params, "}");
    info.params = params[0] ? params : NULL;
    recorder.op_define(&info, &op);
}

void found_say_version(enum found_source source, const char *version)
{
    const uint32_t bit = UINT32_C(1) << source;

    if (!(__atomic_fetch_or(&found_said, bit, __ATOMIC_SEQ_CST) & bit))
        define(names[source], version, __atomic_load_n(&limits[source], __ATOMIC_SEQ_CST), NULL);
}

void found_limit(enum found_source source, const char *why)
{
    const char *none = NULL;

    if (__atomic_compare_exchange_n(&limits[source], &none, why, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST) &&
        __atomic_load_n(&found_said, __ATOMIC_SEQ_CST) >> source & 1)
        define(names[source], NULL, why, NULL);
}

void found_absent(enum found_source source, const char *why)
{
    __atomic_store_n(&reasons[source], why, __ATOMIC_RELAXED);
}

void found_note(const char *what, const char *text)
{
    define(what, NULL, text, NULL);
}

/* --- Why not --- */

/* Libraries that are known to have one of these inside of themselves. */
static const struct {
    const char *library; /* how its name begins */
    uint32_t sources;
} holders[] = {
    {"libtorch_cpu.", 1u << FOUND_BLAS | 1u << FOUND_ONEDNN},
    {"libctranslate2", 1u << FOUND_BLAS | 1u << FOUND_ONEDNN},
    {"libopenvino_intel_cpu_plugin.", 1u << FOUND_ONEDNN},
    {"libtensorflow_cc.", 1u << FOUND_ONEDNN},
};

/* As they are called where they are shared: then the program does not call them. */
static const struct {
    const char *library;
    enum found_source source;
} shared[] = {
    {"libdnnl.", FOUND_ONEDNN},  {"libblas.", FOUND_BLAS},   {"libcblas.", FOUND_BLAS},
    {"libopenblas", FOUND_BLAS}, {"libmkl_rt.", FOUND_BLAS}, {"libblis.", FOUND_BLAS},
};

struct place {
    enum found_source source;
    bool is_shared;
    char library[80];
};

static int look(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct place *place = context;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)bytes;
    name = name ? name + 1 : "";
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        if (shared[i].source == place->source &&
            strncmp(name, shared[i].library, strlen(shared[i].library)) == 0)
            place->is_shared = true;
    }
    for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
        if (holders[i].sources >> place->source & 1 &&
            strncmp(name, holders[i].library, strlen(holders[i].library)) == 0)
            snprintf(place->library, sizeof(place->library), "%s", name);
    }
    return 0;
}

static void say_why(enum found_source source)
{
    struct place place = {.source = source};
    char text[120];

    dl_iterate_phdr(look, &place);
    if (reasons[source])
        define(names[source], NULL, NULL, reasons[source]);
    else if (place.library[0] && !place.is_shared) {
        snprintf(text, sizeof(text), "static in %s", place.library);
        define(names[source], NULL, NULL, text);
    }
}

static void at_end(void)
{
    for (int i = 0; i < FOUND_COUNT; i++) {
        if (recorder_wants(names[i]) && !(__atomic_load_n(&found_said, __ATOMIC_RELAXED) >> i & 1))
            say_why((enum found_source)i);
    }
}

void found_open(void)
{
    const char *list = secure_getenv("OPTRACE_SOURCES");

    if (list && list[0])
        atexit(at_end);
}
