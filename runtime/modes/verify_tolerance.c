/* SPDX-License-Identifier: Apache-2.0 */
/* What --verify allows outputs to differ by, and why. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "runtime/modes/verify_tolerance.h"

#define DEFAULT_RTOL 1e-3
#define DEFAULT_ATOL 1e-7

/* Where a document has the number. */
static void take_number(const cJSON *root, const char *key, double *out_number,
                        enum tolerance_source *out_source)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);

    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0))
        return;
    *out_number = item->valuedouble;
    *out_source = TOLERANCE_DATA_JSON;
}

static void take_option(double given, double *out_number, enum tolerance_source *out_source)
{
    if (given < 0)
        return;
    *out_number = given;
    *out_source = TOLERANCE_OPTION;
}

int verify_tolerance_read(const struct verify_config *config,
                          struct verify_tolerance *out_tolerance, struct diag *diag)
{
    struct verify_tolerance read = {
        .rtol = DEFAULT_RTOL, .atol = DEFAULT_ATOL, .rms = config->rms_tol};
    struct diag ignored = {0};
    char *copy = strdup(config->model_path);
    char *path = NULL;
    char *bytes = NULL;
    size_t size;
    cJSON *root = NULL;
    int rc = 0;

    if (!copy || asprintf(&path, "%s/data.json", dirname(copy)) < 0) {
        path = NULL;
        rc = diag_set(diag, -ENOMEM, "out of memory");
    } else if (file_read(path, 1 << 20, &bytes, &size, &ignored) == 0) {
        root = cJSON_ParseWithLength(bytes, size);
        if (!cJSON_IsObject(root))
            rc = diag_set(diag, -EINVAL, "'%s' is malformed JSON", path);
        take_number(root, "rtol", &read.rtol, &read.rtol_source);
        take_number(root, "atol", &read.atol, &read.atol_source);
    }
    take_option(config->rtol, &read.rtol, &read.rtol_source);
    take_option(config->atol, &read.atol, &read.atol_source);
    if (rc == 0)
        *out_tolerance = read;
    cJSON_Delete(root);
    free(bytes);
    free(path);
    free(copy);
    return rc;
}

/* To what a type can hold, which is not said by options. */
static void widen_to(struct verify_tolerance *tolerance, enum dtype type,
                     enum tolerance_source source)
{
    struct storage_tolerance storage = compare_storage_tolerance(type);

    if (tolerance->rtol_source != TOLERANCE_OPTION && storage.rtol > tolerance->rtol) {
        tolerance->rtol = storage.rtol;
        tolerance->rtol_source = source;
    }
    if (tolerance->atol_source != TOLERANCE_OPTION && storage.atol_share > tolerance->atol_share) {
        tolerance->atol_share = storage.atol_share;
        tolerance->share_source = source;
    }
}

void verify_tolerance_widen(struct verify_tolerance *tolerance, enum dtype stored, bool is_chosen)
{
    tolerance->stored = stored;
    if (tolerance->atol_source != TOLERANCE_OPTION) {
        tolerance->atol_share = is_chosen ? COMPARE_ATOL_SHARE : 0;
        tolerance->share_source = TOLERANCE_CHOICE;
    }
    widen_to(tolerance, stored, TOLERANCE_STORAGE);
}

void verify_tolerance_allow_tf32(struct verify_tolerance *tolerance)
{
    widen_to(tolerance, DTYPE_F16, TOLERANCE_TF32);
}

struct tolerance verify_tolerance_of(const struct verify_tolerance *tolerance,
                                     const struct tensor_view *expected)
{
    bool is_half = tolerance->stored == DTYPE_F16 || tolerance->stored == DTYPE_BF16;
    struct tolerance result = {.rtol = tolerance->rtol,
                               .atol = tolerance->atol,
                               .quanta = is_half ? 1 : 0,
                               .rms = tolerance->rms};
    double share;

    if (tolerance->atol_share == 0)
        return result;
    share = tolerance->atol_share * compare_largest(expected);
    if (share > result.atol)
        result.atol = share;
    return result;
}

/* One of the numbers, and where it comes from. */
struct part {
    const char *before, *behind;
    double number;
    enum tolerance_source source;
    const char *option;
};

static void print_source(const struct part *part, enum dtype stored, FILE *out)
{
    switch (part->source) {
    case TOLERANCE_DEFAULT:
        fputs(" (default)", out);
        break;
    case TOLERANCE_DATA_JSON:
        fputs(" (data.json)", out);
        break;
    case TOLERANCE_OPTION:
        text_print(out, " (%s)", part->option);
        break;
    case TOLERANCE_CHOICE:
        fputs(" (kernels are chosen)", out);
        break;
    case TOLERANCE_TF32:
        fputs(" (products by TF32)", out);
        break;
    case TOLERANCE_STORAGE:
        text_print(out, " (tensors are stored in %s)", dtype_name(stored));
        break;
    }
}

void verify_tolerance_print(const struct verify_tolerance *tolerance, FILE *out)
{
    bool has_share = tolerance->atol_share > 0;
    struct part parts[3] = {{"rtol ", "", tolerance->rtol, tolerance->rtol_source, "--rtol"}};
    unsigned count = 1;

    if (tolerance->rms > 0) {
        text_print(out, "a root mean square of %g of the largest number (--rms-tol)",
                   tolerance->rms);
        return;
    }
    /* The default is nothing beside a share, and data.json's may be more. */
    if (!has_share || tolerance->atol_source != TOLERANCE_DEFAULT)
        parts[count++] =
            (struct part){" and atol ", "", tolerance->atol, tolerance->atol_source, "--atol"};
    if (has_share)
        parts[count] = (struct part){count == 1 ? " and atol " : " or ", " of the largest number",
                                     tolerance->atol_share, tolerance->share_source, NULL};
    count += has_share;
    for (unsigned i = 0; i < count; i++) {
        text_print(out, "%s%g%s", parts[i].before, parts[i].number, parts[i].behind);
        if (i + 1 == count || parts[i].source != parts[i + 1].source ||
            parts[i].source == TOLERANCE_OPTION)
            print_source(&parts[i], tolerance->stored, out);
    }
}

static const char *source_name(enum tolerance_source source)
{
    static const char *const names[] = {
        [TOLERANCE_DEFAULT] = "default", [TOLERANCE_DATA_JSON] = "data.json",
        [TOLERANCE_OPTION] = "option",   [TOLERANCE_CHOICE] = "choice",
        [TOLERANCE_STORAGE] = "storage", [TOLERANCE_TF32] = "tf32",
    };

    return names[source];
}

void verify_tolerance_write(const struct verify_tolerance *tolerance, struct json_writer *json)
{
    json_key(json, "rtol");
    json_double(json, tolerance->rtol);
    json_key(json, "rtol_from");
    json_string(json, source_name(tolerance->rtol_source));
    json_key(json, "atol");
    json_double(json, tolerance->atol);
    json_key(json, "atol_from");
    json_string(json, source_name(tolerance->atol_source));
    json_key(json, "rms_tol");
    if (tolerance->rms > 0)
        json_double(json, tolerance->rms);
    else
        json_null(json);
    json_key(json, "atol_of_largest");
    json_double(json, tolerance->atol_share);
    json_key(json, "atol_of_largest_from");
    if (tolerance->atol_share > 0)
        json_string(json, source_name(tolerance->share_source));
    else
        json_null(json);
    json_key(json, "stored");
    if (tolerance->stored != DTYPE_NONE)
        json_string(json, dtype_name(tolerance->stored));
    else
        json_null(json);
}
