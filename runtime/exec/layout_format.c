/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of operators: what a node's tensors look like in one, and a model's choice as text. */
#include "runtime/exec/layout_format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/fused_ops.h"
#include "runtime/ops/call/call.h"

#define HEADER "optrace-layout 1"

const char *format_name(enum format format)
{
    static const char *const names[FORMATS] = {"", "row-major", "channels-last"};

    return names[format];
}

struct layout format_layout(enum format format, int rank)
{
    return format == FORMAT_CHANNELS_LAST ? layout_channels_last(rank) : layout_row_major(rank);
}

/* Whether an operand goes along with y: constants are row-major, others have their own rank. */
static bool follows(const struct value *x, int rank)
{
    return x && !x->data && x->shape.rank == rank;
}

bool format_layouts(const struct node *node, enum format format, bool is_prepared,
                    struct layout *out_inputs, struct layout *out_y)
{
    const struct value *x = node_input(node, 0), *y = node_output(node, 0);
    enum layout_need need = call_layout_need(node);
    int residual = node->fused.residual_input;
    /* It makes an image of something that is none yet. */
    bool is_preprocess = strcmp(node->op_type, PREPROCESS_OP_TYPE) == 0;

    if (format == FORMAT_BY_RULE || !x || !y || y->shape.rank < 3 ||
        (!is_prepared &&
         (need == LAYOUT_ROW_MAJOR || need == LAYOUT_QUANTA || call_is_view(node))) ||
        (is_prepared && strcmp(node->op_type, "Conv") != 0) ||
        ((is_prepared || need != LAYOUT_ANY) && x->shape.rank != y->shape.rank))
        return false;
    *out_y = format_layout(format, y->shape.rank);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct value *input = node->inputs[i];
        bool is_along = follows(input, y->shape.rank) && !is_preprocess &&
                        (is_prepared ? i == 0 || (int)i == residual : i == 0 || need == LAYOUT_ANY);

        out_inputs[i] = is_along ? *out_y : layout_row_major(input ? input->shape.rank : 0);
    }
    return true;
}

/* Types of a device's own convolutions that compute in either layout. */
static bool is_image_type(const struct value *value)
{
    return value &&
           (value->dtype == DTYPE_F32 || value->dtype == DTYPE_F16 || value->dtype == DTYPE_BF16);
}

bool format_device_layouts(const struct node *node, enum format format, struct layout *out_inputs,
                           struct layout *out_y)
{
    const struct value *w = node_input(node, 1), *y = node_output(node, 0);
    const int residual = node->fused.residual_input;

    if (node->domain[0] != '\0' || !is_image_type(node_input(node, 0)) || !is_image_type(w) ||
        !is_image_type(y) || w->shape.rank != y->shape.rank ||
        !format_layouts(node, format, true, out_inputs, out_y))
        return false;
    out_inputs[1] = *out_y;
    if (residual >= 0 && node_input(node, (uint32_t)residual) &&
        node->inputs[residual]->shape.rank == y->shape.rank)
        out_inputs[residual] = *out_y;
    return true;
}

/* Text */

static int damaged(uint32_t line, struct diag *diag)
{
    return diag_set(diag, -EINVAL,
                    "its choice of layouts (metadata " FORMAT_KEY ") is damaged: line %" PRIu32
                    "; --layout-transform with --layout-transform-dump makes another",
                    line);
}

/* "channels-last NAME" */
static enum format line_format(const char *line, size_t length, const char **out_name,
                               size_t *out_name_length)
{
    for (int i = FORMAT_ROW_MAJOR; i < FORMATS; i++) {
        size_t size = strlen(format_name((enum format)i));

        if (length > size + 1 && strncmp(line, format_name((enum format)i), size) == 0 &&
            line[size] == ' ') {
            *out_name = line + size + 1;
            *out_name_length = length - size - 1;
            return (enum format)i;
        }
    }
    return FORMAT_BY_RULE;
}

/* Node names in order, so that each line is found quickly. */
static int compare_nodes(const void *a, const void *b)
{
    const struct node *left = *(const struct node *const *)a,
                      *right = *(const struct node *const *)b;

    return strcmp(left->name, right->name);
}

static void set_format(struct node *const *sorted, uint32_t count, const char *name, size_t length,
                       enum format format, uint8_t *formats)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *other = sorted[middle]->name;
        int order = strncmp(other, name, length);

        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && strncmp(sorted[low]->name, name, length) == 0 &&
           sorted[low]->name[length] == '\0';
         low++)
        formats[sorted[low]->index] = (uint8_t)format;
}

static int read_text(const char *text, struct node *const *sorted, uint32_t count, uint8_t *formats,
                     struct diag *diag)
{
    const size_t header = strlen(HEADER);
    uint32_t line = 1;

    if (strncmp(text, HEADER, header) != 0 || (text[header] != '\n' && text[header] != '\0'))
        return damaged(line, diag);
    text += header + (text[header] == '\n');
    while (*text != '\0') {
        size_t length = strcspn(text, "\n"), name_length;
        const char *name;
        enum format format = line_format(text, length, &name, &name_length);

        line++;
        if (format == FORMAT_BY_RULE)
            return damaged(line, diag);
        set_format(sorted, count, name, name_length, format, formats);
        text += length + (text[length] == '\n');
    }
    return 0;
}

int format_parse(const char *text, const struct graph *graph, uint8_t *out_formats,
                 struct diag *diag)
{
    struct node **sorted = calloc((size_t)graph->node_count + 1, sizeof(*sorted));
    int rc;

    if (!sorted)
        return diag_set(diag, -ENOMEM, "out of memory");
    memset(out_formats, FORMAT_BY_RULE, graph->node_count);
    if (graph->node_count > 0)
        memcpy(sorted, graph->nodes, graph->node_count * sizeof(struct node *));
    qsort(sorted, graph->node_count, sizeof(*sorted), compare_nodes);
    rc = read_text(text, sorted, graph->node_count, out_formats, diag);
    free(sorted);
    return rc;
}

int format_check(const char *text, struct diag *diag)
{
    return read_text(text, NULL, 0, NULL, diag);
}

static bool is_plain(const char *name)
{
    for (; *name != '\0'; name++)
        if ((unsigned char)*name < ' ')
            return false;
    return true;
}

char *format_text(const struct graph *graph, const uint8_t *formats)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "%s\n", HEADER);
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (formats[i] != FORMAT_BY_RULE && is_plain(graph->nodes[i]->name))
            fprintf(out, "%s %s\n", format_name((enum format)formats[i]), graph->nodes[i]->name);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
