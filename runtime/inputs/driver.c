/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs as MIGraphX's driver takes them: --dim-param, --dyn-input-dim, --load-arg, --fill0, --fill1. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/inputs/input.h"

/* "@NAME REST": a copy of the name, and where the rest begins. */
static int split_name(const char *option, const char *text, char **out_name, const char **out_rest,
                      struct diag *diag)
{
    const char *from = text[0] == '@' ? text + 1 : text;
    size_t length = strcspn(from, " \t");

    *out_rest = from + length + strspn(from + length, " \t");
    if (length == 0 || **out_rest == '\0')
        return diag_set(diag, -EINVAL, "%s takes a name and what belongs to it, not \"%.60s\"",
                        option, text);
    *out_name = strndup(from, length);
    return *out_name ? 0 : diag_set(diag, -ENOMEM, "no memory for %s", option);
}

static bool read_size(const char **text, int64_t *out_size)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *out_size = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

int input_parse_param(const char *text, struct input_list *list, struct diag *diag)
{
    struct tensor_view view = {.shape = {.rank = 1}};
    const char *rest = NULL;
    char *name = NULL;
    int rc = split_name("--dim-param", text, &name, &rest, diag);

    if (rc == 0 && (!read_size(&rest, &view.shape.dims[0]) || *rest != '\0'))
        rc = diag_set(diag, -EINVAL, "--dim-param: \"%.60s\" has no size of a dimension", text);
    if (rc == 0)
        rc = input_append_kind(list, INPUT_DIM, name, &view, diag);
    free(name);
    return rc;
}

int input_parse_load(const char *text, struct input_list *list, struct diag *diag)
{
    const char *rest = NULL;
    char *name = NULL, *item = NULL;
    int rc = split_name("--load-arg", text, &name, &rest, diag);

    if (rc == 0 && asprintf(&item, "%s:%s", name, rest) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for --load-arg");
    if (rc == 0)
        rc = input_parse(item, list, diag);
    free(item);
    free(name);
    return rc;
}

int input_append_fill(const char *name, int64_t number, struct input_list *list, struct diag *diag)
{
    const struct tensor_view view = {.shape = {.rank = 1, .dims = {number}}};

    return input_append_kind(list, INPUT_FILL, name[0] == '@' ? name + 1 : name, &view, diag);
}

/* Dynamic dimensions */

struct range {
    int64_t min, max;
    bool is_open; /* else both are the size */
};

static void skip(const char **text, const char *what)
{
    while (**text != '\0' && strchr(what, **text))
        (*text)++;
}

/* {min:1, max:64, optimals:[1, 2]}, with quotation marks around its words or none. */
static bool read_range(const char **text, struct range *range)
{
    int64_t ignored;

    *range = (struct range){.min = -1, .max = -1, .is_open = true};
    skip(text, "{ \t");
    while (**text != '}') {
        const char *word;
        size_t length;

        skip(text, "\" \t");
        word = *text;
        while (isalpha((unsigned char)**text))
            (*text)++;
        length = (size_t)(*text - word);
        skip(text, "\" \t");
        if (length == 0 || **text != ':')
            return false;
        skip(text, ": \t");
        if (length == 3 && strncmp(word, "min", 3) == 0) {
            if (!read_size(text, &range->min))
                return false;
        } else if (length == 3 && strncmp(word, "max", 3) == 0) {
            if (!read_size(text, &range->max))
                return false;
        } else if (length == 8 && strncmp(word, "optimals", 8) == 0 && **text == '[') {
            for (skip(text, "[ \t"); **text != ']'; skip(text, ", \t"))
                if (!read_size(text, &ignored))
                    return false;
            (*text)++;
        } else {
            return false;
        }
        skip(text, ", \t");
    }
    (*text)++;
    return range->min >= 0 && range->max >= range->min;
}

/* "[{min:1, max:4}, 3, 224, 224]" */
static bool read_ranges(const char *text, struct range *ranges, int *out_rank)
{
    int rank = 0;

    skip(&text, " \t");
    if (*text != '[')
        return false;
    for (skip(&text, "[ \t"); *text != ']'; skip(&text, ", \t")) {
        struct range *range = &ranges[rank];

        if (rank++ == SHAPE_MAX_RANK)
            return false;
        *range = (struct range){0};
        if (*text == '{' ? !read_range(&text, range) : !read_size(&text, &range->min))
            return false;
        if (!range->is_open)
            range->max = range->min;
    }
    *out_rank = rank;
    skip(&text, "] \t");
    return *text == '\0';
}

int input_parse_dynamic(const char *text, int64_t batch, struct input_list *list, struct diag *diag)
{
    struct range ranges[SHAPE_MAX_RANK];
    struct tensor_view view = {.dtype = DTYPE_NONE};
    const char *rest = NULL;
    char *name = NULL;
    int rc = split_name("--dyn-input-dim", text, &name, &rest, diag);

    if (rc == 0 && !read_ranges(rest, ranges, &view.shape.rank))
        rc = diag_set(diag, -EINVAL,
                      "--dyn-input-dim takes NAME and \"[{min:1, max:4}, 3, 224, 224]\", not "
                      "\"%.100s\"",
                      text);
    for (int i = 0; rc == 0 && i < view.shape.rank; i++) {
        view.shape.dims[i] = ranges[i].is_open ? batch : ranges[i].min;
        if (ranges[i].is_open && (batch < ranges[i].min || batch > ranges[i].max))
            rc = diag_set(diag, -EINVAL,
                          "--dyn-input-dim: dimension %d of '%.60s' is %lld to %lld, and --batch "
                          "%lld is not among these",
                          i, name, (long long)ranges[i].min, (long long)ranges[i].max,
                          (long long)batch);
    }
    if (rc == 0)
        rc = input_append_kind(list, INPUT_SHAPE, name, &view, diag);
    free(name);
    return rc;
}
