/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which layout each operator computes, where it may in several: row-major or channels-last. A
 * choice of --layout-transform, as text in the metadata of a model, and by node of a graph.
 *
 * The text, under FORMAT_KEY in an ONNX file's metadata_props:
 *
 *     optrace-layout 1
 *     channels-last conv1
 *     row-major pool1
 *
 * One line for each node, by its name after optimisation. Names that the graph does not have, and
 * layouts that an operator cannot compute in, do no harm: what is not said is chosen by rule.
 */
#ifndef OPTRACE_RUNTIME_EXEC_LAYOUT_FORMAT_H
#define OPTRACE_RUNTIME_EXEC_LAYOUT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/layout.h"

#define FORMAT_KEY "optrace.layout"

enum format {
    FORMAT_BY_RULE,
    FORMAT_ROW_MAJOR,
    FORMAT_CHANNELS_LAST,
    FORMATS,
};

/** "row-major", "channels-last"; "" for FORMAT_BY_RULE. */
const char *format_name(enum format format);

struct layout format_layout(enum format format, int rank);

/**
 * Which layouts a node's tensors have when it computes in a format: of its inputs (as many), and of
 * output 0. is_prepared: a convolution whose kernel prepares its weights.
 *
 * Returns false when it cannot; the layouts are not written then.
 */
bool format_layouts(const struct node *node, enum format format, bool is_prepared,
                    struct layout *out_inputs, struct layout *out_y);

/** The same of a convolution on a device, whose weights lie as its images do. */
bool format_device_layouts(const struct node *node, enum format format, struct layout *out_inputs,
                           struct layout *out_y);

/**
 * Read the text of a model. formats has graph->node_count entries, all of which are written.
 *
 * Returns 0, or -EINVAL with a sentence that names the line.
 */
int format_parse(const char *text, const struct graph *graph, uint8_t *out_formats,
                 struct diag *diag);

/** -EINVAL with a sentence when this is no such text. */
int format_check(const char *text, struct diag *diag);

/** The text of these formats; names with control characters are left out. The caller frees it; NULL
 *  without memory. */
char *format_text(const struct graph *graph, const uint8_t *formats);

#endif
