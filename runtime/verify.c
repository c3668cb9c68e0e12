/* SPDX-License-Identifier: Apache-2.0 */
/* --verify: run ONNX test data sets and compare the outputs. */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/compare.h"
#include "runtime/onnx_tensor.h"
#include "runtime/session.h"
#include "runtime/verify.h"
#include "runtime/verify_print.h"

/* One data set at work. */
struct data_set {
    const struct verify_config *config;
    const char *folder;
    struct tolerance tolerance;
    struct session *session;
    struct input_list inputs;
    struct verify_printer *printer;
    struct diag *diag;
};

/* "FOLDER/input_3.pb"; the caller frees it. */
static char *file_path(const char *folder, const char *role, uint32_t index)
{
    char *path;

    return asprintf(&path, "%s/%s_%u.pb", folder, role, index) < 0 ? NULL : path;
}

static bool has_file(const char *folder, const char *role, uint32_t index)
{
    char *path = file_path(folder, role, index);
    bool there = path != NULL && access(path, F_OK) == 0;

    free(path);
    return there;
}

/* As many files as the model has inputs (or outputs), no fewer and no more. */
static int check_count(const struct data_set *set, const char *role, uint32_t wanted)
{
    uint32_t count = 0;

    while (has_file(set->folder, role, count))
        count++;
    if (count != wanted)
        return diag_set(set->diag, -EINVAL, "'%s' holds %u %s files for a model with %u %ss",
                        set->folder, count, role, wanted, role);
    return 0;
}

static int load_file(const struct data_set *set, const char *role, uint32_t index,
                     struct tensor_view *out)
{
    char *path = file_path(set->folder, role, index);
    int rc = path == NULL ? -ENOMEM : onnx_tensor_load(path, out, NULL, set->diag);

    free(path);
    return rc;
}

static int load_inputs(struct data_set *set)
{
    const struct graph *graph = set->session->graph;
    int rc = check_count(set, "input", graph->input_count);

    for (uint32_t i = 0; rc == 0 && i < graph->input_count; i++) {
        struct tensor_view view;

        rc = load_file(set, "input", i, &view);
        if (rc == 0)
            rc = input_append(&set->inputs, graph->inputs[i]->name, &view, set->diag);
    }
    return rc;
}

/* Returns 1 when all outputs agree, 0 when one does not. */
static int compare_outputs(struct data_set *set)
{
    const struct graph *graph = set->session->graph;
    int passed = 1;
    int rc = check_count(set, "output", graph->output_count);

    for (uint32_t i = 0; rc == 0 && i < graph->output_count; i++) {
        struct tensor_view got, expected;
        struct comparison comparison;

        rc = exec_output(set->session->exec, i, &got);
        if (rc == 0)
            rc = load_file(set, "output", i, &expected);
        if (rc < 0)
            return rc;
        comparison = compare_tensors(&got, &expected, &set->tolerance);
        verify_print_output(set->printer, graph->outputs[i]->name, &got, &expected, &comparison);
        passed &= comparison_passed(&comparison);
        free(expected.data);
    }
    return rc < 0 ? rc : passed;
}

static int run_once(struct data_set *set)
{
    struct trace *trace = NULL;
    int rc = 0;

    if (set->config->trace)
        rc = trace_open(set->session, 0, set->config->trace_detail, &trace, set->diag);
    if (rc == 0) {
        trace_run_begin(trace, false);
        rc = session_run(set->session, NULL, set->diag);
        trace_run_end(trace);
    }
    if (rc == 0)
        rc = compare_outputs(set);
    trace_close(&trace);
    return rc;
}

static int verify_set(struct data_set *set)
{
    struct session_config config = {
        .inputs = &set->inputs, .exec = set->config->exec, .passes = set->config->passes};
    int rc = session_load(set->config->model_path, &set->session, set->diag);

    if (rc == 0)
        rc = load_inputs(set);
    if (rc == 0)
        rc = session_prepare(set->session, &config, set->diag);
    if (rc == 0)
        rc = run_once(set);
    session_destroy(&set->session);
    input_list_deinit(&set->inputs);
    return rc == -ENOMEM ? diag_set(set->diag, rc, "out of memory") : rc;
}

static double read_number(const cJSON *root, const char *key, double fallback)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);

    return cJSON_IsNumber(item) && item->valuedouble >= 0 ? item->valuedouble : fallback;
}

/* The case's own tolerance beside the model, if there is one. */
static int read_tolerance(const struct verify_config *config, struct tolerance *out,
                          struct diag *diag)
{
    struct diag ignored = {0};
    char *copy = strdup(config->model_path);
    char *path = NULL;
    char *bytes = NULL;
    size_t size;
    cJSON *root = NULL;
    int rc = 0;

    *out = (struct tolerance){1e-3, 1e-7};
    if (copy == NULL || asprintf(&path, "%s/data.json", dirname(copy)) < 0) {
        path = NULL;
        rc = diag_set(diag, -ENOMEM, "out of memory");
    } else if (file_read(path, 1 << 20, &bytes, &size, &ignored) == 0) {
        root = cJSON_ParseWithLength(bytes, size);
        if (!cJSON_IsObject(root))
            rc = diag_set(diag, -EINVAL, "'%s' is malformed JSON", path);
        out->rtol = read_number(root, "rtol", out->rtol);
        out->atol = read_number(root, "atol", out->atol);
    }
    if (config->rtol >= 0)
        out->rtol = config->rtol;
    if (config->atol >= 0)
        out->atol = config->atol;
    cJSON_Delete(root);
    free(bytes);
    free(path);
    free(copy);
    return rc;
}

static int is_data_set(const struct dirent *entry)
{
    return strncmp(entry->d_name, "test_data_set_", 14) == 0;
}

/* Runs one set. *all_passed turns false with the first difference. */
static int run_set(struct data_set *set, const char *folder, const char *name, bool *all_passed)
{
    int rc;

    set->folder = folder;
    verify_print_set(set->printer, name);
    rc = verify_set(set);
    verify_print_set_end(set->printer);
    *all_passed &= rc == 1;
    return rc;
}

static int run_sets(struct data_set *set, struct dirent **entries, int count, bool *all_passed)
{
    int rc = 0;

    for (int i = 0; rc >= 0 && i < count; i++) {
        char *path;

        if (asprintf(&path, "%s/%s", set->config->folder, entries[i]->d_name) < 0)
            return diag_set(set->diag, -ENOMEM, "out of memory");
        rc = run_set(set, path, entries[i]->d_name, all_passed);
        free(path);
    }
    return rc;
}

static int run_folder(struct data_set *set, bool *all_passed)
{
    const char *folder = set->config->folder;
    struct dirent **entries;
    int count, rc;

    if (has_file(folder, "output", 0))
        return run_set(set, folder, folder, all_passed);
    count = scandir(folder, &entries, is_data_set, versionsort);
    if (count < 0)
        return diag_set(set->diag, -errno, "cannot read '%s': %s", folder, strerror(errno));
    if (count == 0)
        rc = diag_set(set->diag, -ENOENT, "'%s' holds neither output_0.pb nor a test_data_set_0",
                      folder);
    else
        rc = run_sets(set, entries, count, all_passed);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return rc;
}

int verify(const struct verify_config *config, FILE *out, struct diag *diag)
{
    struct verify_printer printer;
    struct data_set set = {.config = config, .printer = &printer, .diag = diag};
    bool all_passed = true;
    int rc = read_tolerance(config, &set.tolerance, diag);

    if (rc < 0)
        return rc;
    verify_print_begin(&printer, out, config->json, &set.tolerance);
    rc = run_folder(&set, &all_passed);
    /* A document that broke off is not shown: the sentence on stderr is the answer. */
    if (rc >= 0 && verify_print_end(&printer, all_passed) < 0)
        rc = diag_set(diag, -EIO, "cannot write the result");
    verify_print_deinit(&printer);
    return rc < 0 ? rc : all_passed;
}
