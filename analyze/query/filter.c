/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of the command line on one op. */
#include "analyze/query/filter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <cjson/cJSON.h>
#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/dtype.h"

int filter_set_pattern(struct filter *filter, enum filter_pattern which, const char *pattern,
                       struct diag *diag)
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
    filter->patterns[which] = code;
    return 0;
}

void filter_deinit(struct filter *filter)
{
    for (int i = 0; i < FILTER_PATTERNS; i++) {
        pcre2_code_free(filter->patterns[i]);
        filter->patterns[i] = NULL;
    }
    array_deinit(&filter->op_ids);
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

int filter_set_ops(struct filter *filter, const int64_t *op_ids, size_t count)
{
    filter->has_op_ids = true;
    for (size_t i = 0; i < count; i++) {
        if (array_push(&filter->op_ids, op_ids[i]) < 0)
            return -ENOMEM;
    }
    if (count)
        qsort(filter->op_ids.items, count, sizeof(*op_ids), compare_ids);
    return 0;
}

static bool has_op(const struct filter *filter, int64_t op_id)
{
    return filter->op_ids.count && bsearch(&op_id, filter->op_ids.items, filter->op_ids.count,
                                           sizeof(op_id), compare_ids) != NULL;
}

bool filter_passes_name(struct filter *filter, enum filter_pattern which, const char *name)
{
    const pcre2_code *code = filter->patterns[which];
    pcre2_match_data *data;
    int rc;

    if (!code)
        return true;
    data = pcre2_match_data_create_from_pattern(code, NULL);
    rc = !data ? PCRE2_ERROR_NOMEMORY
               : pcre2_match(code, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0, data, NULL);
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

static int parse_dim(const char **text, int64_t *out_dim)
{
    char *end;

    if (**text == '*') {
        *out_dim = -1;
        (*text)++;
        return 0;
    }
    if (**text < '0' || **text > '9')
        return -EINVAL;
    errno = 0;
    *out_dim = strtoll(*text, &end, 10);
    *text = end;
    return errno ? -EINVAL : 0;
}

int filter_set_input_shape(struct filter *filter, const char *text, struct diag *diag)
{
    const char *at = text;
    int rc = 0;

    filter->has_input_shape = true;
    filter->input_rank = 0;
    if (strcmp(text, "scalar") == 0)
        return 0;
    do {
        rc = filter->input_rank == FILTER_RANK_MAX
                 ? -EINVAL
                 : parse_dim(&at, &filter->input_dims[filter->input_rank++]);
    } while (rc == 0 && *at == 'x' && *++at);
    if (rc < 0 || *at || at[-1] == 'x')
        return diag_set(diag, -EINVAL,
                        "the shape \"%s\" is not understood: give at most %d sizes as in "
                        "1x64x56x56, with * for any, or scalar",
                        text, FILTER_RANK_MAX);
    return 0;
}

static bool is_shape(const struct filter *filter, const cJSON *dims)
{
    const cJSON *dim;
    int place = 0;

    if (!cJSON_IsArray(dims) || cJSON_GetArraySize(dims) != filter->input_rank)
        return false;
    cJSON_ArrayForEach(dim, dims)
    {
        int64_t wanted = filter->input_dims[place++];

        if (wanted >= 0 && !(cJSON_IsNumber(dim) && dim->valuedouble == (double)wanted))
            return false;
    }
    return true;
}

static bool has_input_shape(const struct filter *filter, const char *shapes)
{
    cJSON *list = shapes ? cJSON_Parse(shapes) : NULL;
    const cJSON *item;
    bool found = false;

    cJSON_ArrayForEach(item, list) found |= is_shape(filter, item);
    cJSON_Delete(list);
    return found;
}

bool filter_passes_op(struct filter *filter, const struct op_row *op)
{
    return has_type(filter, op->type) && filter_passes_name(filter, FILTER_OP, op->name) &&
           (!filter->input_dtype || has_input_dtype(op->input_dtypes, filter->input_dtype)) &&
           (!filter->has_input_shape || has_input_shape(filter, op->input_shapes)) &&
           (!filter->has_op_ids || has_op(filter, op->op_id));
}

bool filter_is_within(const struct filter *filter, double time_ns)
{
    return (!filter->has_min || time_ns >= filter->min_ns) &&
           (!filter->has_max || time_ns <= filter->max_ns);
}

bool filter_passes(struct filter *filter, const struct op_row *op, double time_ns)
{
    return filter_is_within(filter, time_ns) && filter_passes_op(filter, op);
}

/* "cuda:0" is meant by itself and by "cuda". */
static bool is_device(const char *device, const char *wanted)
{
    size_t length = strlen(wanted);

    return device && strncasecmp(device, wanted, length) == 0 &&
           (device[length] == '\0' || device[length] == ':');
}

bool filter_passes_lane(struct filter *filter, const struct lane_row *lane, const struct op_row *op)
{
    if (!filter_passes_name(filter, FILTER_LANE, lane->name))
        return false;
    if (!filter->device)
        return true;
    if (lane->device || lane->side == OP_DEVICE)
        return is_device(lane->device ? lane->device : op->device, filter->device);
    return is_device("host", filter->device);
}

bool filter_needs_spans(const struct filter *filter)
{
    return filter->device || filter->patterns[FILTER_LABEL] || filter->patterns[FILTER_LANE];
}
