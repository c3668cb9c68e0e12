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

/* --- Regular expressions. --- */

static int make_pattern(const char *pattern, void **out_made, struct diag *diag)
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
    *out_made = code;
    return 0;
}

static void destroy_pattern(void *made)
{
    pcre2_code_free(made);
}

static bool matches(struct filter *filter, const struct filter_value *value, const char *name)
{
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(value->made, NULL);
    int rc =
        !data ? PCRE2_ERROR_NOMEMORY
              : pcre2_match(value->made, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0, data, NULL);

    pcre2_match_data_free(data);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        filter->gave_up = filter_kinds[value - filter->given].option;
    return rc >= 0;
}

/* Of a label, too. */
static bool has_op_name(struct filter *filter, const struct filter_value *value,
                        const struct op_row *op, const struct lane_row *lane)
{
    (void)lane;
    return matches(filter, value, op->name);
}

static bool has_lane_name(struct filter *filter, const struct filter_value *value,
                          const struct op_row *op, const struct lane_row *lane)
{
    (void)op;
    return matches(filter, value, lane->name);
}

/* --- What an op is. --- */

static bool has_type(struct filter *filter, const struct filter_value *value,
                     const struct op_row *op, const struct lane_row *lane)
{
    (void)filter;
    (void)lane;
    for (size_t i = 0; i < value->count; i++) {
        if (strcmp(value->words[i], op->type) == 0)
            return true;
    }
    return false;
}

static bool has_input_dtype(struct filter *filter, const struct filter_value *value,
                            const struct op_row *op, const struct lane_row *lane)
{
    cJSON *list = op->input_dtypes ? cJSON_Parse(op->input_dtypes) : NULL;
    const char *wanted = dtype_short(value->words[0]);
    const cJSON *item;
    bool found = false;

    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && strcasecmp(dtype_short(item->valuestring), wanted) == 0)
            found = true;
    }
    cJSON_Delete(list);
    (void)filter;
    (void)lane;
    return found;
}

/* --- Shapes: sizes with an x between them, outermost first, * for any; scalar has none. --- */

enum { RANK_MAX = 16 };

struct shape {
    int rank;
    int64_t dims[RANK_MAX]; /* -1: any size */
};

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

static int parse_shape(const char *text, struct shape *out_shape)
{
    int rc;

    *out_shape = (struct shape){0};
    if (strcmp(text, "scalar") == 0)
        return 0;
    do {
        rc = out_shape->rank == RANK_MAX ? -EINVAL
                                         : parse_dim(&text, &out_shape->dims[out_shape->rank++]);
    } while (rc == 0 && *text == 'x' && *++text);
    return rc < 0 || *text || text[-1] == 'x' ? -EINVAL : 0;
}

static int make_shape(const char *text, void **out_made, struct diag *diag)
{
    struct shape *shape = malloc(sizeof(*shape));

    if (!shape)
        return diag_set(diag, -ENOMEM, "no memory for the shape");
    if (parse_shape(text, shape) < 0) {
        free(shape);
        return diag_set(diag, -EINVAL,
                        "the shape \"%s\" is not understood: give at most %d sizes as in "
                        "1x64x56x56, with * for any, or scalar",
                        text, RANK_MAX);
    }
    *out_made = shape;
    return 0;
}

static bool is_shape(const struct shape *shape, const cJSON *dims)
{
    const cJSON *dim;
    int place = 0;

    if (!cJSON_IsArray(dims) || cJSON_GetArraySize(dims) != shape->rank)
        return false;
    cJSON_ArrayForEach(dim, dims)
    {
        int64_t wanted = shape->dims[place++];

        if (wanted >= 0 && !(cJSON_IsNumber(dim) && dim->valuedouble == (double)wanted))
            return false;
    }
    return true;
}

static bool has_input_shape(struct filter *filter, const struct filter_value *value,
                            const struct op_row *op, const struct lane_row *lane)
{
    cJSON *list = op->input_shapes ? cJSON_Parse(op->input_shapes) : NULL;
    const cJSON *item;
    bool found = false;

    cJSON_ArrayForEach(item, list) found |= is_shape(value->made, item);
    cJSON_Delete(list);
    (void)filter;
    (void)lane;
    return found;
}

/* --- Where it ran. --- */

/* "cuda:0" is meant by itself and by "cuda". */
static bool is_device(const char *device, const char *wanted)
{
    size_t length = strlen(wanted);

    return device && strncasecmp(device, wanted, length) == 0 &&
           (device[length] == '\0' || device[length] == ':');
}

static bool is_on_device(struct filter *filter, const struct filter_value *value,
                         const struct op_row *op, const struct lane_row *lane)
{
    (void)filter;
    if (lane->device || lane->side == OP_DEVICE)
        return is_device(lane->device ? lane->device : op->device, value->words[0]);
    return is_device("host", value->words[0]);
}

/* --- All of them. --- */

const struct filter_kind filter_kinds[FILTERS] = {
#define FILTER(id, kind, name, value_name, help, ...) [FILTER_##id] = {.option = name, __VA_ARGS__},
#include "analyze/query/filters.def"
#undef FILTER
};

int filter_set(struct filter *filter, enum filter_id id, const char *const *words, size_t count,
               struct diag *diag)
{
    const struct filter_kind *kind = &filter_kinds[id];
    struct filter_value value = {.words = words, .count = count};
    int rc = kind->make && count ? kind->make(words[0], &value.made, diag) : 0;

    if (rc < 0)
        return rc;
    if (kind->destroy)
        kind->destroy(filter->given[id].made);
    filter->given[id] = value;
    return 0;
}

void filter_deinit(struct filter *filter)
{
    for (int i = 0; i < FILTERS; i++) {
        if (filter_kinds[i].destroy)
            filter_kinds[i].destroy(filter->given[i].made);
        filter->given[i] = (struct filter_value){0};
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
    return filter->op_ids.count &&
           bsearch(&op_id, filter->op_ids.items, filter->op_ids.count, sizeof(op_id), compare_ids);
}

bool filter_is_of(const struct filter *filter, enum filter_subject subject)
{
    for (int i = 0; i < FILTERS; i++) {
        if (filter->given[i].count && filter_kinds[i].subject == subject)
            return true;
    }
    return false;
}

bool filter_wants_ids(const struct filter *filter, enum filter_subject subject)
{
    for (int i = 0; i < FILTERS; i++) {
        if (filter->given[i].count && filter_kinds[i].subject == subject && !filter_kinds[i].sql)
            return true;
    }
    return subject == FILTER_OF_OPS && filter->has_op_ids;
}

/* of_ids: only what SQL has no words for. */
static bool passes(struct filter *filter, enum filter_subject subject, bool of_ids,
                   const struct op_row *op, const struct lane_row *lane)
{
    for (int i = 0; i < FILTERS; i++) {
        const struct filter_kind *kind = &filter_kinds[i];

        if (filter->given[i].count && kind->subject == subject && !(of_ids && kind->sql) &&
            !kind->passes(filter, &filter->given[i], op, lane))
            return false;
    }
    return true;
}

bool filter_passes_op(struct filter *filter, const struct op_row *op)
{
    return passes(filter, FILTER_OF_OPS, false, op, NULL) &&
           (!filter->has_op_ids || has_op(filter, op->op_id));
}

bool filter_passes_label(struct filter *filter, const struct op_row *label)
{
    return passes(filter, FILTER_OF_LABELS, false, label, NULL);
}

bool filter_passes_lane(struct filter *filter, const struct lane_row *lane, const struct op_row *op)
{
    return passes(filter, FILTER_OF_LANES, false, op, lane);
}

bool filter_passes_id(struct filter *filter, const struct op_row *op, const struct lane_row *lane)
{
    if (lane)
        return passes(filter, FILTER_OF_LANES, true, op, lane);
    return passes(filter, FILTER_OF_OPS, true, op, NULL) &&
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

bool filter_needs_spans(const struct filter *filter)
{
    return filter_is_of(filter, FILTER_OF_LABELS) || filter_is_of(filter, FILTER_OF_LANES);
}

int filter_complain(const struct filter *filter, struct diag *diag)
{
    for (int i = 0; i < FILTERS; i++) {
        if (filter->gave_up == filter_kinds[i].option)
            return diag_set(diag, -EINVAL, "--%s \"%s\" takes too many steps on some name",
                            filter->gave_up, filter->given[i].words[0]);
    }
    return -EINVAL;
}
