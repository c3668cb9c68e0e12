/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of a ggml library, and where its tensors keep sizes and sources: found by tensors
 * made for it, since there is no function for either.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_GGML_LAYOUT_H
#define OPTRACE_CLIENT_INJECT_GGML_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { GGML_DIMS = 4, GGML_SOURCES = 3 };

typedef bool ggml_callback(void *tensor, bool asks, void *context);

struct ggml_library {
    const void *compute; /* a function of it, by which it is known */
    void (*set_callback)(void *scheduler, ggml_callback *callback, void *context);
    const char *(*name)(const void *tensor);
    const char *(*kind)(const void *tensor);
    int64_t (*element_count)(const void *tensor);
    int (*node_count)(void *graph); /* NULL, or both: older ones have neither */
    void *(*node)(void *graph, int place);
    bool has_layout; /* the rest is known */
    bool has_types;  /* its type is its first word */
    uint32_t dims_at, sources_at;
};

/** That of a function; borrowed. NULL: it lacks a function that it must have. */
const struct ggml_library *ggml_library_find(const void *compute);

/** Sizes, the quickest dim first. Only with a layout. */
static inline void ggml_dims(const struct ggml_library *library, const void *tensor,
                             int64_t out_dims[GGML_DIMS])
{
    memcpy(out_dims, (const char *)tensor + library->dims_at, GGML_DIMS * sizeof(out_dims[0]));
}

/** What it is computed from; NULL where there is none. Only with a layout. */
static inline const void *ggml_source(const struct ggml_library *library, const void *tensor,
                                      int place)
{
    const void *source;

    memcpy(&source, (const char *)tensor + library->sources_at + (size_t)place * sizeof(source),
           sizeof(source));
    return source;
}

#endif
