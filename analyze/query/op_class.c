/* SPDX-License-Identifier: Apache-2.0 */
/* Types and names that profilers use. */
#include "analyze/query/op_class.h"

#include <string.h>
#include <strings.h>

/* Of op->sort: what is known, and the class. */
enum {
    SORT_KNOWN = 1,
    SORT_COPY = 2,
    SORT_FILL = 4,
    SORT_CLASS_SHIFT = 3,
    SORT_CLASS_MAX = 7,
    SORT_ASKS = 64,
    SORT_RUNTIME = 128,
    SORT_PYTHON = 256,
};

enum op_class op_class_of(const struct op_row *op)
{
    return op->sort ? (enum op_class)(op->sort >> SORT_CLASS_SHIFT & SORT_CLASS_MAX)
                    : op_sort_class(op->type, op->name);
}

bool op_has_copy_type(const struct op_row *op)
{
    return op->sort ? (op->sort & SORT_COPY) != 0 : strcasecmp(op->type, "copy") == 0;
}

bool op_has_fill_type(const struct op_row *op)
{
    return op->sort ? (op->sort & SORT_FILL) != 0 : strcasecmp(op->type, "memset") == 0;
}

bool op_asks_for_collective(const struct op_row *op)
{
    if (op->sort)
        return (op->sort & SORT_ASKS) != 0;
    return op_sort_asks(op->type, op->name);
}

bool op_is_runtime_call(const struct op_row *op)
{
    const char *end;

    if (op->sort)
        return (op->sort & SORT_RUNTIME) != 0;
    end = strrchr(op->type, '_');
    return end && strcmp(op->type, "os_runtime") != 0 &&
           (strcmp(end, "_runtime") == 0 || strcmp(end, "_driver") == 0);
}

bool op_is_python(const struct op_row *op)
{
    return op->sort ? (op->sort & SORT_PYTHON) != 0 : strcmp(op->type, "python_function") == 0;
}

bool op_is_launched(const struct op_row *op)
{
    return strcmp(op->type, "kernel") == 0 || strcmp(op->type, "copy") == 0 ||
           strcmp(op->type, "memset") == 0;
}

void op_class_note(struct op_row *op)
{
    unsigned sort = SORT_KNOWN | (unsigned)op_sort_class(op->type, op->name) << SORT_CLASS_SHIFT;

    op->sort = 0;
    sort |= op_has_copy_type(op) ? SORT_COPY : 0;
    sort |= op_has_fill_type(op) ? SORT_FILL : 0;
    sort |= op_asks_for_collective(op) ? SORT_ASKS : 0;
    sort |= op_is_runtime_call(op) ? SORT_RUNTIME : 0;
    sort |= op_is_python(op) ? SORT_PYTHON : 0;
    op->sort = (uint16_t)sort;
}

bool op_is_grouped_by_type(const struct op_row *op)
{
    return *op->type && !op_sort_is_known(op->type);
}

const char *op_group_name(const struct op_row *op)
{
    return op_is_grouped_by_type(op) ? op->type : op->name;
}

/* Paddle's events carry their name as the type. */
static bool says(const struct op_row *copy, const char *word)
{
    return strstr(copy->name, word) || strstr(copy->type, word);
}

enum copy_direction copy_direction_of(const struct op_row *copy)
{
    static const struct {
        const char *word;
        enum copy_direction direction;
    } words[] = {
        {"HtoD", COPY_TO_DEVICE},
        {"DtoH", COPY_TO_HOST},
        {"DtoD", COPY_ON_DEVICE},
        {"PtoP", COPY_ON_DEVICE},
        {"HtoH", COPY_ON_HOST},
        {"CPU->GPU", COPY_TO_DEVICE},
        {"CUDAPinned->GPU", COPY_TO_DEVICE},
        {"GPU->CPU", COPY_TO_HOST},
        {"GPU->CUDAPinned", COPY_TO_HOST},
        {"GPU->GPU", COPY_ON_DEVICE},
        {"CPU->CPU", COPY_ON_HOST},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (says(copy, words[i].word))
            return words[i].direction;
    }
    return COPY_DIRECTION_UNKNOWN;
}

enum copy_mode copy_mode_of(const struct op_row *copy, const struct op_row *launch)
{
    if (says(copy, "Async"))
        return COPY_ASYNC;
    if (says(copy, "Sync"))
        return COPY_SYNC;
    if (!launch || (!strstr(launch->name, "emcpy") && !strstr(launch->name, "emset")))
        return COPY_MODE_UNKNOWN;
    return strstr(launch->name, "Async") ? COPY_ASYNC : COPY_SYNC;
}
