/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: what an operation is, and a machine, as lines of text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/graph/text.h"
#include "runtime/tune/private.h"

/* In a key, and in what stands for the part of it that is too long. */
enum { KEY_BYTES = POLICY_LINE_BYTES - 200 };

static void write_tensor(const struct tensor_view *view, const struct layout *layout,
                         bool has_shared_batch, int64_t leading, FILE *out)
{
    if (view->dtype == DTYPE_NONE) {
        fputs(" -", out);
        return;
    }
    text_print(out, " %s {", dtype_name(view->dtype));
    for (int i = 0; i < view->shape.rank; i++) {
        bool is_batch = i == 0 && has_shared_batch && !view->data &&
                        view->shape.dims[0] == leading && view->shape.rank > 1;

        fputs(i > 0 ? "," : "", out);
        if (is_batch)
            fputc('*', out);
        else
            fprintf(out, "%" PRId64, view->shape.dims[i]);
    }
    fputc('}', out);
    if (view->data)
        fputs("=const", out);
    /* Sizes and axes decide what is computed; weights do not. */
    if (view->data && (view->dtype == DTYPE_I64 || view->dtype == DTYPE_I32))
        graph_text_elements(view, out);
    if (!layout_is_row_major(layout, &view->shape))
        for (int i = 0; i < layout->rank; i++)
            fprintf(out, i == 0 ? "@%d" : ".%d", layout->order[i]);
}

static void write_key(const struct subject *subject, bool has_shared_batch, FILE *out)
{
    const struct node *node = subject->request.node;
    bool is_shared = has_shared_batch && subject->has_batch;
    int64_t leading = is_shared ? subject->outputs[0].shape.dims[0] : 0;

    text_print(out, "%s%s%s %" PRId64, node->domain, node->domain[0] != '\0' ? "." : "",
               node->op_type, graph_opset(subject->request.graph, node->domain));
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        fputc(' ', out);
        graph_text_attribute(&node->attributes[i], out);
    }
    if (node->fused.residual_input >= 0)
        fprintf(out, " + input %d", node->fused.residual_input);
    if (node->fused.activation != ACTIVATION_NONE) {
        fputs(" + ", out);
        graph_text_activation(&node->fused, out);
    }
    /* With one pixel the tensors do not tell. */
    if (subject->is_plan && !call_plan_is_channels_last(&subject->request))
        fputs(" row-major", out);
    fputs(" |", out);
    for (uint32_t i = 0; i < node->input_count; i++)
        write_tensor(&subject->inputs[i], &subject->input_layouts[i], is_shared, leading, out);
    fputs(" ->", out);
    for (uint32_t i = 0; i < node->output_count; i++)
        write_tensor(&subject->outputs[i], &subject->output_layouts[i], is_shared, leading, out);
}

/* A very long key ends in a number made of its rest. */
static void shorten(char *key, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    if (size <= KEY_BYTES)
        return;
    for (size_t i = KEY_BYTES - 32; i < size; i++)
        hash = (hash ^ (unsigned char)key[i]) * UINT64_C(0x100000001b3);
    snprintf(key + KEY_BYTES - 32, 32, " ... %016" PRIx64, hash);
}

char *tune_key(const struct subject *subject, bool has_shared_batch)
{
    char *key = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&key, &size);

    if (!out)
        return NULL;
    write_key(subject, has_shared_batch, out);
    if (fclose(out) != 0) {
        free(key);
        return NULL;
    }
    shorten(key, size);
    for (char *at = key; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = '?';
    return key;
}

uint64_t tune_mark(const char *machine, const char *key, int64_t batch, const char *kernel,
                   enum policy_verdict verdict)
{
    uint64_t hash = POLICY_HASH_START;
    char text[100];

    /* Counted up when comparing gets another meaning. */
    snprintf(text, sizeof(text), "|1|%" PRId64 "|%d|", batch, (int)verdict);
    hash = policy_hash(hash, machine, strlen(machine) + 1);
    hash = policy_hash(hash, key, strlen(key) + 1);
    hash = policy_hash(hash, kernel, strlen(kernel) + 1);
    return policy_hash(hash, text, strlen(text));
}

void tune_machine(char *out)
{
    char identity[KERNEL_IDENTITY_BYTES];

    kernel_identity(identity);
    snprintf(out, POLICY_LINE_BYTES - 200, "%s, %" PRIu32 " threads, optrace %s", identity,
             kernel_threads(), OPTRACE_VERSION);
}
