/* SPDX-License-Identifier: Apache-2.0 */
/* Which variable brings which source, and what is there already. */
#include "client/cli/run_settings.h"

#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "client/cli/siblings.h"

#define LIBRARY "liboptrace_inject.so"
#define PRELOAD "LD_PRELOAD"
#define CUDA    "CUDA_INJECTION64_PATH"
/* By which the code that torch.compile makes for processors begins and ends an op for each kernel. */
#define INDUCTOR "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"

static const struct {
    const char *source, *variable;
} ways[] = {
    {"nvtx", "NVTX_INJECTION64_PATH"},
    {"itt", "INTEL_LIBITTNOTIFY64"},
    {"blas", PRELOAD},
    {"onednn", PRELOAD},
    {"ort", PRELOAD},
    {"ggml", PRELOAD},
    {"torch", PRELOAD},
    {"tensorflow", PRELOAD},
    {"ctranslate2", PRELOAD},
    {"cublas", PRELOAD},
    {"cudnn", PRELOAD},
    {"cuda", CUDA},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]), LABEL_BYTES = 100 };

/* NVIDIA's libraries name their calls by NVTX only where these say so. cuBLASLt names no more at 2
 * than at 1. */
static const struct {
    const char *name, *value;
} nvtx_levels[] = {
    {"CUBLAS_NVTX_LEVEL", "2"},   {"CUBLASLT_NVTX_LEVEL", "1"},   {"CUDNN_NVTX_LEVEL", "2"},
    {"CUSPARSE_NVTX_LEVEL", "2"}, {"CUSOLVERDN_NVTX_LEVEL", "2"},
};

static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (; *list; list += strcspn(list, ","), list += *list == ',') {
        if (strcspn(list, ",") == length && strncmp(list, word, length) == 0)
            return true;
    }
    return false;
}

const char *run_settings_source(size_t place, const char **out_variable)
{
    if (place >= WAYS)
        return NULL;
    *out_variable = ways[place].variable;
    return ways[place].source;
}

static int check_sources(const char *list, struct diag *diag)
{
    const char *word = list;

    do {
        const size_t length = strcspn(word, ",");
        bool is_known = false;

        for (size_t i = 0; i < WAYS; i++)
            is_known |=
                strlen(ways[i].source) == length && strncmp(word, ways[i].source, length) == 0;
        if (!is_known)
            return diag_set(diag, -EINVAL,
                            "--sources takes a list of nvtx, itt, blas, onednn, ort, ggml, torch, "
                            "tensorflow, ctranslate2, cublas, cudnn and cuda, not '%.*s'",
                            (int)(length < 40 ? length : 40), word);
        word += length;
    } while (*word++ == ',');
    return 0;
}

static int check_nodes(const char *text, struct diag *diag)
{
    const size_t digits = strncmp(text, "1/", 2) == 0 ? strspn(text + 2, "0123456789") : 0;

    if (strcmp(text, "off") == 0 || strcmp(text, "all") == 0 ||
        (digits > 0 && digits < 10 && !text[2 + digits] && text[2] != '0'))
        return 0;
    return diag_set(diag, -EINVAL,
                    "--nodes takes off, all, or 1/N, as in 1/20 for one run in twenty, not '%.40s'",
                    text);
}

/* As the library reads it, without the sign. */
static int check_cost(const char *text, char out_percent[16], struct diag *diag)
{
    char *end;
    const double percent = strtod(text, &end);

    if (end != text && percent > 0 && percent <= 100 && (!*end || strcmp(end, "%") == 0)) {
        snprintf(out_percent, 16, "%.6g", percent);
        return 0;
    }
    return diag_set(
        diag, -EINVAL,
        "--max-cost takes a share of the runs' time, as in 2%%, above 0 and to 100, not "
        "'%.40s'; --nodes off records none",
        text);
}

static int check_label(const char *text, struct diag *diag)
{
    const char *at = text;

    while ((unsigned char)*at >= ' ')
        at++;
    if (text[0] && !*at && strlen(text) <= LABEL_BYTES)
        return 0;
    return diag_set(diag, -EINVAL, "--label takes a text of one line, of at most %d bytes",
                    (int)LABEL_BYTES);
}

static int check_expression(const char *text, struct diag *diag)
{
    char why[120];
    regex_t expression;
    const int rc = regcomp(&expression, text, REG_EXTENDED | REG_NOSUB);

    if (rc == 0) {
        regfree(&expression);
        return 0;
    }
    regerror(rc, &expression, why, sizeof(why));
    return diag_set(diag, -EINVAL, "--runs-by takes a regular expression, not '%.60s': %s", text,
                    why);
}

static int add(struct run_settings *settings, const char *name, const char *value,
               struct diag *diag)
{
    size_t count = 0;

    while (settings->items[count])
        count++;
    if (count == RUN_SETTINGS_MAX || asprintf(&settings->items[count], "%s=%s", name, value) < 0)
        return diag_set(diag, -ENOMEM, "out of memory");
    return 0;
}

static bool is_set(const struct run_settings *settings, const char *name)
{
    const size_t length = strlen(name);

    for (size_t i = 0; settings->items[i]; i++) {
        if (strncmp(settings->items[i], name, length) == 0 && settings->items[i][length] == '=')
            return true;
    }
    return false;
}

/* Another tool's: one may be there at a time. */
static int note_taken(struct run_settings *settings, const char *name, const char *value,
                      struct diag *diag)
{
    char *longer;

    if (asprintf(&longer, "%s%s%s is %s", settings->taken ? settings->taken : "",
                 settings->taken ? ", " : "", name, value) < 0)
        return diag_set(diag, -ENOMEM, "out of memory");
    free(settings->taken);
    settings->taken = longer;
    return 0;
}

static int find_library(char out_path[PATH_MAX], struct diag *diag)
{
    char path[PATH_MAX];

    if (siblings_find(LIBRARY, "../inject", path) < 0 &&
        siblings_find(LIBRARY, OPTRACE_LIBRARY_FOLDER, path) < 0)
        return diag_set(diag, -ENOENT, "%s is missing: it is installed with this program", LIBRARY);
    if (!realpath(path, out_path))
        return diag_set(diag, -errno, "cannot find %s: %s", path, strerror(errno));
    return 0;
}

/* What others want loaded stays, and comes first. */
static int add_preload(struct run_settings *settings, const char *library, struct diag *diag)
{
    const char *value = getenv(PRELOAD);
    char *longer;
    int rc;

    if (strpbrk(library, " :"))
        return diag_set(diag, -EINVAL,
                        "the loader takes no path with a space or a colon, as %s has: install it "
                        "elsewhere, or give --sources nvtx,itt",
                        library);
    if (!value || !value[0])
        return add(settings, PRELOAD, library, diag);
    if (strstr(value, library))
        return 0;
    if (asprintf(&longer, "%s:%s", value, library) < 0)
        return diag_set(diag, -ENOMEM, "out of memory");
    rc = add(settings, PRELOAD, longer, diag);
    free(longer);
    return rc;
}

/* One that is set stays as it is, 0 included. */
static int add_nvtx_levels(struct run_settings *settings, struct diag *diag)
{
    int rc = 0;

    if (!is_set(settings, ways[0].variable))
        return 0;
    for (size_t i = 0; rc == 0 && i < sizeof(nvtx_levels) / sizeof(nvtx_levels[0]); i++) {
        if (!getenv(nvtx_levels[i].name))
            rc = add(settings, nvtx_levels[i].name, nvtx_levels[i].value, diag);
    }
    return rc;
}

/* The program's own word counts: what it has compiled goes by it. */
static int add_inductor(struct run_settings *settings, struct diag *diag)
{
    const char *value = getenv(INDUCTOR);

    if (!value || !value[0])
        return add(settings, INDUCTOR, "1", diag);
    return strcmp(value, "1") == 0 ? 0 : note_taken(settings, INDUCTOR, value, diag);
}

int run_settings_fill(const struct run_wishes *wishes, const char *socket,
                      struct run_settings *out_settings, struct diag *diag)
{
    const char *const sources = wishes->sources;
    char library[PATH_MAX], percent[16];
    int rc = sources ? check_sources(sources, diag) : 0;

    if (rc == 0 && wishes->nodes)
        rc = check_nodes(wishes->nodes, diag);
    if (rc == 0 && wishes->runs_by)
        rc = check_expression(wishes->runs_by, diag);
    if (rc == 0 && wishes->label)
        rc = check_label(wishes->label, diag);
    if (rc == 0 && wishes->max_cost)
        rc = check_cost(wishes->max_cost, percent, diag);

    *out_settings = (struct run_settings){{NULL}, NULL};
    if (rc == 0)
        rc = find_library(library, diag);
    if (rc == 0 && socket)
        rc = add(out_settings, "OPTRACE_SOCKET", socket, diag);
    if (rc == 0 && sources)
        rc = add(out_settings, "OPTRACE_SOURCES", sources, diag);
    if (rc == 0 && wishes->nodes)
        rc = add(out_settings, "OPTRACE_NODES", wishes->nodes, diag);
    if (rc == 0 && wishes->runs_by)
        rc = add(out_settings, "OPTRACE_RUNS_BY", wishes->runs_by, diag);
    if (rc == 0 && wishes->label)
        rc = add(out_settings, "OPTRACE_LABEL", wishes->label, diag);
    if (rc == 0 && wishes->max_cost)
        rc = add(out_settings, "OPTRACE_MAX_COST", percent, diag);
    if (rc == 0 && wishes->gpu)
        rc = add(out_settings, "OPTRACE_GPU", wishes->gpu, diag);
    for (size_t i = 0; rc == 0 && i < WAYS; i++) {
        const char *value = getenv(ways[i].variable);

        if (sources && !is_listed(sources, ways[i].source))
            continue;
        if (is_set(out_settings, ways[i].variable))
            continue;
        if (strcmp(ways[i].variable, CUDA) == 0 && !wishes->gpu)
            continue;
        if (strcmp(ways[i].variable, PRELOAD) == 0)
            rc = add_preload(out_settings, library, diag);
        else if (!value || !value[0])
            rc = add(out_settings, ways[i].variable, library, diag);
        else if (strcmp(value, library) != 0)
            rc = note_taken(out_settings, ways[i].variable, value, diag);
    }
    if (rc == 0)
        rc = add_nvtx_levels(out_settings, diag);
    if (rc == 0 && wishes->inductor_kernels)
        rc = add_inductor(out_settings, diag);
    return rc;
}

void run_settings_deinit(struct run_settings *settings)
{
    for (size_t i = 0; settings->items[i]; i++)
        free(settings->items[i]);
    free(settings->taken);
    *settings = (struct run_settings){{NULL}, NULL};
}

void run_settings_print(const struct run_settings *settings)
{
    for (size_t i = 0; settings->items[i]; i++)
        text_print(stdout, "%s\n", settings->items[i]);
}
