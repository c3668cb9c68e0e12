/* SPDX-License-Identifier: Apache-2.0 */
/* Types and names that profilers use. */
#include "analyze/query/op_class.h"

#include <string.h>
#include <strings.h>

/* Types that tell the sort of an event, and say nothing else of it. */
static const struct sort {
    const char *type;
    enum op_class class;
} sorts[] = {
    {"cpu_op", OP_CLASS_WORK},       {"kernel", OP_CLASS_WORK},
    {"label", OP_CLASS_WORK},        {"phase", OP_CLASS_WORK},
    {"mark", OP_CLASS_WORK},         {"counter", OP_CLASS_WORK},
    {"copy", OP_CLASS_COPY},         {"memset", OP_CLASS_FILL},
    {"cuda_runtime", OP_CLASS_CALL}, {"cuda_driver", OP_CLASS_CALL},
    {"os_runtime", OP_CLASS_CALL},   {"collective", OP_CLASS_COMMUNICATION},
};

static const struct sort *sort_of(const struct op_row *op)
{
    for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
        if (strcmp(sorts[i].type, op->type) == 0)
            return &sorts[i];
    }
    return NULL;
}

/* What NCCL and its kin run on devices is known by its name alone. */
static bool is_collective_kernel(const struct op_row *op)
{
    static const char *const collectives[] = {"nccl", "rccl", "hccl", "xccl"};

    if (strcmp(op->type, "kernel") != 0)
        return false;
    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++) {
        if (strncasecmp(op->name, collectives[i], 4) == 0)
            return true;
    }
    return false;
}

static enum op_class find_class(const struct op_row *op)
{
    const struct sort *sort = sort_of(op);

    if (is_collective_kernel(op))
        return OP_CLASS_COMMUNICATION;
    if (sort)
        return sort->class;
    /* MegEngine's type; Paddle's events are named so. */
    return strcmp(op->type, "Copy") == 0 || strncmp(op->type, "GpuMemcpy", 9) == 0 ? OP_CLASS_COPY
                                                                                   : OP_CLASS_WORK;
}

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
                    : find_class(op);
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
    return strcmp(op->type, "cpu_op") == 0 &&
           (strncmp(op->name, "c10d::", 6) == 0 || strcmp(op->name, "record_param_comms") == 0);
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

void op_class_note(struct op_row *op)
{
    unsigned sort = SORT_KNOWN | (unsigned)find_class(op) << SORT_CLASS_SHIFT;

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
    return *op->type && !sort_of(op);
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
