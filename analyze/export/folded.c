/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, for flame graphs: a line per distinct stack, "outer;inner value". */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/export/call_tree.h"
#include "base/text.h"

/* The format gives ';' and the end of a line a meaning; what steers terminals is written out. */
static void write_name(FILE *stream, const char *name)
{
    while (*name) {
        const size_t plain = strcspn(name, ";\n\r");

        text_print(stream, "%.*s", (int)plain, name);
        name += plain;
        if (*name)
            putc(*name++ == ';' ? ':' : ' ', stream);
    }
}

static int write_stack(FILE *stream, const struct call_tree *tree, const struct call_node *node)
{
    ARRAY_OF(uint32_t) frames = {0};
    int rc = array_push(&frames, node->name);

    for (uint32_t at = node->parent; at != SPAN_NONE && rc == 0; at = tree->nodes.items[at].parent)
        rc = array_push(&frames, tree->nodes.items[at].name);
    for (size_t i = frames.count; i-- > 0 && rc == 0;) {
        write_name(stream, tree->names.items[frames.items[i]].text);
        if (i)
            putc(';', stream);
    }
    array_deinit(&frames);
    return rc;
}

static int run(const struct export *export, struct diag *diag)
{
    struct call_tree tree;
    size_t lines = 0;
    int rc = call_tree_init(&tree, export);

    for (size_t i = 0; i < tree.nodes.count && rc == 0; i++) {
        const struct call_node *node = &tree.nodes.items[i];

        if (node->values[export->weight] <= 0)
            continue;
        lines++;
        rc = write_stack(export->stream, &tree, node);
        fprintf(export->stream, " %" PRId64 "\n", node->values[export->weight]);
    }
    call_tree_deinit(&tree);
    if (rc < 0)
        return diag_set(diag, rc, "no memory for the stacks");
    if (!lines) {
        diag_set(diag, 0, "nothing weighs anything: see --weight in --help for other weights");
        return REPORT_NOTHING;
    }
    return 0;
}

const struct export_kind export_folded = {
    .name = "folded",
    .about = "folded stacks of spans for flame graphs, a line per distinct stack: ns, bytes or "
             "calls.",
    .suffix = ".folded",
    .run = run,
    .weights = 1U << WEIGHT_TIME | 1U << WEIGHT_DEVICE | 1U << WEIGHT_CALLS | 1U << WEIGHT_BYTES |
               1U << WEIGHT_ALLOC,
};
