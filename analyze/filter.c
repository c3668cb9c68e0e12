/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of the command line on one op. */
#include "analyze/filter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <cjson/cJSON.h>
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/dtype.h"

int filter_set_pattern(struct filter *filter, const char *pattern, struct diag *diag)
{
    PCRE2_SIZE offset;
    pcre2_code *code;
    int error;

    code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                      PCRE2_ANCHORED | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &error, &offset, NULL);
    if (!code) {
        PCRE2_UCHAR message[160];

        pcre2_get_error_message(error, message, sizeof(message));
        return diag_set_at(diag, -EINVAL, (int64_t)offset,
                           "\"%s\" is no regular expression: %s at character %zu", pattern,
                           (const char *)message, (size_t)offset);
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* only faster */
    filter->name_pattern = code;
    return 0;
}

void filter_deinit(struct filter *filter)
{
    pcre2_code_free(filter->name_pattern);
    filter->name_pattern = NULL;
}

static bool matches_name(struct filter *filter, const char *name)
{
    pcre2_match_data *data;
    int rc;

    if (!filter->name_pattern)
        return true;
    data = pcre2_match_data_create_from_pattern(filter->name_pattern, NULL);
    rc = !data ? PCRE2_ERROR_NOMEMORY
               : pcre2_match(filter->name_pattern, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0,
                             data, NULL);
    pcre2_match_data_free(data);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        filter->gave_up = true;
    return rc >= 0;
}

static bool has_type(const struct filter *filter, const char *type)
{
    for (size_t i = 0; i < filter->type_count; i++) {
        if (strcmp(filter->types[i], type) == 0)
            return true;
    }
    return filter->type_count == 0;
}

static bool has_input_dtype(const char *dtypes, const char *wanted)
{
    cJSON *list = dtypes ? cJSON_Parse(dtypes) : NULL;
    const cJSON *item;
    bool found = false;

    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) &&
            strcasecmp(dtype_short(item->valuestring), dtype_short(wanted)) == 0)
            found = true;
    }
    cJSON_Delete(list);
    return found;
}

bool filter_passes(struct filter *filter, const struct op_row *op, double time_ns)
{
    /* A bound leaves out ops whose time is not known. */
    if (filter->has_min && !(time_ns >= filter->min_ns))
        return false;
    if (filter->has_max && !(time_ns <= filter->max_ns))
        return false;
    return has_type(filter, op->type) && matches_name(filter, op->name) &&
           (!filter->input_dtype || has_input_dtype(op->input_dtypes, filter->input_dtype));
}
