/* SPDX-License-Identifier: Apache-2.0 */
/* Types and names that profilers use. */
#include "base/op_sort.h"

#include <stddef.h>
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

static const struct sort *sort_of(const char *type)
{
    for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
        if (strcmp(sorts[i].type, type) == 0)
            return &sorts[i];
    }
    return NULL;
}

/* What NCCL and its kin run on devices is known by its name alone. */
static bool is_collective_kernel(const char *type, const char *name)
{
    static const char *const collectives[] = {"nccl", "rccl", "hccl", "xccl"};

    if (strcmp(type, "kernel") != 0)
        return false;
    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++) {
        if (strncasecmp(name, collectives[i], 4) == 0)
            return true;
    }
    return false;
}

enum op_class op_sort_class(const char *type, const char *name)
{
    const struct sort *sort = sort_of(type);

    if (is_collective_kernel(type, name))
        return OP_CLASS_COMMUNICATION;
    if (sort)
        return sort->class;
    /* MegEngine's type; Paddle's events are named so. */
    return strcmp(type, "Copy") == 0 || strncmp(type, "GpuMemcpy", 9) == 0 ? OP_CLASS_COPY
                                                                           : OP_CLASS_WORK;
}

bool op_sort_is_known(const char *type)
{
    return sort_of(type) != NULL;
}

bool op_sort_asks(const char *type, const char *name)
{
    return strcmp(type, "cpu_op") == 0 &&
           (strncmp(name, "c10d::", 6) == 0 || strcmp(name, "record_param_comms") == 0);
}

unsigned op_sort_bits(const char *type, const char *name)
{
    if (strcmp(type, "label") == 0)
        return OP_SORT_LABEL;
    if (strcmp(type, "mark") == 0 || strcmp(type, "counter") == 0)
        return OP_SORT_MARK;
    if (strcmp(type, "phase") == 0 || op_sort_asks(type, name))
        return OP_SORT_OTHER;
    switch (op_sort_class(type, name)) {
    case OP_CLASS_WORK:
        return OP_SORT_COMPUTES;
    case OP_CLASS_COPY:
    case OP_CLASS_FILL:
        return OP_SORT_COPIES;
    case OP_CLASS_CALL:
        return 0;
    case OP_CLASS_COMMUNICATION:
        break;
    }
    return OP_SORT_OTHER;
}
