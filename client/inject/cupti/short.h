/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of chosen fields, as CUPTI has them from 13.3 on by functions of their own: own
 * declarations, checked as those of records.h are.
 *
 * Inside client/inject/cupti and of its tests.
 */
#ifndef OPTRACE_CLIENT_INJECT_CUPTI_SHORT_H
#define OPTRACE_CLIENT_INJECT_CUPTI_SHORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/cupti/records.h"

enum { CUPTI_SHORT_FROM = 130300, CUPTI_CHOSEN_FIELDS = 11, CUPTI_FIELDS = 64 };

/* Each begins with its own size. */
struct cupti_field_layout {
    size_t bytes;
    int id;
    size_t offset, size, alignment;
};

struct cupti_layout {
    size_t bytes;
    struct cupti_field_layout *fields;
    size_t count, record_bytes;
};

struct cupti_config {
    size_t bytes; /* without what comes after 13.3 */
    struct {
        size_t bytes, count;
        int *ids;
    } selection;
};

struct cupti_subscriber {
    size_t bytes;
    const char *name;
    char *holder; /* who has it, where the answer is that somebody has */
    size_t holder_bytes;
    uint8_t allow_others, pad[7];
};

struct cupti_complete_info {
    size_t bytes;
    uint64_t thread;
    struct cupti_layout **layouts; /* by kind */
    size_t count;
};

typedef void cupti_request_v2(uint8_t **out_buffer, size_t *out_bytes, size_t *out_record_limit,
                              void *info);
typedef void cupti_complete_v2(uint8_t *buffer, size_t bytes, size_t valid,
                               const struct cupti_complete_info *info);

#endif
