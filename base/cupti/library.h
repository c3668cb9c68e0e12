/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcupti that this machine has: finding it, its functions, how long its records are, and going
 * from one to the next. Nothing of it is needed to build.
 *
 * Order of calls: cupti_open() once a libcuda is in the process, then what it filled in.
 */
#ifndef OPTRACE_BASE_CUPTI_LIBRARY_H
#define OPTRACE_BASE_CUPTI_LIBRARY_H

#include <stdbool.h>
#include <string.h>

#include "base/cupti/records.h"
#include "base/hints.h"

/* Required, but for get_node_id. */
struct cupti {
    int (*get_version)(uint32_t *out_version);
    int (*subscribe)(void **out_subscriber, cupti_callback *callback, void *user);
    int (*enable_callback)(uint32_t is_on, void *subscriber, uint32_t domain, uint32_t id);
    int (*enable_domain)(uint32_t is_on, void *subscriber, uint32_t domain);
    int (*register_callbacks)(cupti_request *request, cupti_complete *complete);
    int (*enable)(uint32_t kind);
    int (*disable)(uint32_t kind);
    int (*next_record)(uint8_t *buffer, size_t valid, void **record);
    int (*dropped)(void *context, uint32_t stream, size_t *out_count);
    int (*flush)(uint32_t flags);
    int (*set_attribute)(uint32_t attribute, size_t *bytes, void *value);
    int (*get_node_id)(void *node,
                       uint64_t *out_id); /* NULL: nodes of graphs cannot be told apart */
    int (*unsubscribe)(void *subscriber);
    void *subscriber; /* the caller's */
    void *handle;
    bool is_short; /* the caller's: records have chosen fields alone */
    uint32_t version;
    uint16_t record_bytes[CUPTI_KINDS]; /* 0: this library has no such kind */
};

/** dlsym(), or what is used in its place. */
typedef void *cupti_look_up_fn(void *handle, const char *name);

/** Find it and fill in what is known of it: the one that $OPTRACE_CUPTI names, one that is mapped
 *  already, one beside the runtime, one that the loader finds. No function of it is called before a
 *  libcuda is in the process, which some versions do not survive. It is never closed. Returns NULL, or
 *  why there is none: a text that stays. One thread at a time. */
const char *cupti_open(struct cupti *out_cupti, cupti_look_up_fn *look_up);

/** What it means that the library refuses to be subscribed to, or to record. */
const char *cupti_meaning(int result);

/** Functions that launch, copy and wait, by domain; NULL, and none, of others. Numbers are the same in
 *  all toolkits; libraries that are older than a function refuse its number. */
const uint16_t *cupti_calls(uint32_t domain, size_t *out_count);

/** Whether it is one of those that launch a kernel. */
bool cupti_launches(uint32_t domain, uint32_t id);

/** Whether a function of the driver copies from or to the host, or on the device: the plain ones. */
static inline bool cupti_copies(uint32_t id)
{
    return id >= 276 && id <= 281; /* cuMemcpyHtoD_v2 to cuMemcpyDtoDAsync_v2 */
}

/** Whether the library fills a field of its records that ends at `end`. */
static inline bool cupti_record_has(const struct cupti *cupti, uint32_t kind, size_t end)
{
    return cupti->record_bytes[kind] >= end;
}

#define CUPTI_HAS(cupti, kind, record, field)                                                      \
    cupti_record_has(cupti, kind,                                                                  \
                     offsetof(struct record, field) + sizeof(((struct record *)0)->field))

static inline uint32_t cupti_kind_of(const void *record)
{
    uint32_t kind;

    memcpy(&kind, record, sizeof(kind));
    return kind;
}

/** How long a whole record is, of those that end before `end`; 0: this is for CUPTI to say. */
static inline size_t cupti_known_bytes(const struct cupti *cupti, const uint8_t *at,
                                       const uint8_t *end)
{
    uint32_t kind;
    size_t bytes;

    if (UNLIKELY((size_t)(end - at) < sizeof(uint64_t)))
        return 0;
    kind = cupti_kind_of(at);
    bytes = kind < CUPTI_KINDS ? cupti->record_bytes[kind] : 0;
    return bytes <= (size_t)(end - at) ? bytes : 0;
}

/** Two times of 0 mean that CUPTI could not tell; an end before its start is what it says when it has
 *  lost the thread (30 million kernels of graphs). None of these is a time. */
static inline bool cupti_are_times(uint64_t start, uint64_t end)
{
    return (int64_t)start > 0 && (int64_t)end >= (int64_t)start;
}

enum { CUPTI_ELSEWHERE = -1 };

/**
 * The record after *record, NULL: the first one. It has a kind at least, and may be cut off.
 *
 * Returns 0; what CUPTI answers, at the end CUPTI_END_OF_BUFFER; CUPTI_ELSEWHERE where it finds one
 * that is not behind the last or not in the buffer.
 */
int cupti_next(const struct cupti *cupti, uint8_t *buffer, size_t valid, void **record);

#endif
