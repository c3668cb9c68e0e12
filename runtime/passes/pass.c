/* SPDX-License-Identifier: Apache-2.0 */
/* All optimisations, in the order that works. */
#include "runtime/passes/pass.h"

#include "kernels/blocks.h"

/* A model of half precision is optimised as one of float32 that shall be stored so. */
static int widen(struct graph *graph, struct pass_options *options, struct diag *diag)
{
    enum dtype dtype;
    int rc = 0;

    if (options->widens && options->half == DTYPE_NONE)
        rc = pass_widen(graph, &dtype, diag);
    if (rc > 0) {
        options->half = dtype;
        options->half_where_large = options->half_is_own = true;
    }
    return rc;
}

int graph_optimise(struct graph *graph, const struct pass_options *asked, eval_fn *eval,
                   struct diag *diag)
{
    struct pass_options own = *asked, *options = &own;
    /* Constants first: batch norm and bias can be folded only into weights that are constants.
     * Identities before fusions, because they stand between the nodes that fuse. */
    int rc = pass_take_constants(graph, diag);

    if (rc >= 0 && !options->no_inference)
        rc = pass_lift_constants(graph, diag);
    if (rc > 0)
        rc = pass_take_constants(graph, diag);
    /* Quantised weights are constants until they are folded to real ones. */
    if (rc >= 0 && !options->no_inference)
        rc = pass_fold_quantised(graph, !options->no_lookups, diag);
    if (rc >= 0 && !options->no_inference && !options->no_lookups && options->half == DTYPE_NONE &&
        kernel_blocks_pay())
        rc = pass_fold_blocks(graph, KERNEL_BLOCKS_WORTH, diag);
    if (rc >= 0 && !options->no_inference)
        rc = pass_fold_constants(graph, options->half != DTYPE_NONE, eval, diag);
    if (rc >= 0 && !options->no_inference)
        rc = widen(graph, options, diag);
    if (rc >= 0 && !options->no_inference)
        rc = pass_drop_identities(graph, diag);
    if (rc >= 0 && !options->no_inference)
        rc = pass_simplify(graph, diag);
    if (rc >= 0 && !options->no_inference)
        rc = pass_trim_taps(graph, diag);
    if (rc >= 0 && !options->no_inference)
        rc = pass_detect(graph, diag);
    if (rc >= 0 && !options->no_inference && options->joins_attention)
        rc = pass_fuse_attention(graph, diag);
    if (rc >= 0 && !options->no_inference && options->joins_half_attention)
        rc = pass_fuse_half_attention(graph, options->half, diag);
    if (rc >= 0 && !options->no_inference)
        rc = pass_fold_batch_norm(graph, diag);
    if (rc >= 0 && !options->no_inference)
        rc = pass_join_convs(graph, diag);
    if (rc >= 0 && !options->no_inference && !options->no_places && options->half == DTYPE_NONE)
        rc = pass_multiply_places(graph, diag);
    if (rc >= 0 && options->half != DTYPE_NONE)
        pass_mark_wide(graph);
    if (rc >= 0 && !options->no_inference && options->folds_scales)
        rc = pass_fold_scales(graph, diag);
    if (rc >= 0)
        rc = pass_fuse(graph, options, diag);
    if (rc >= 0 && !options->no_preprocess)
        rc = pass_preprocess(graph, diag);
    if (rc >= 0 && !options->no_jit)
        rc = pass_fuse_chains(graph, diag);
    if (rc >= 0 && options->half != DTYPE_NONE)
        rc = pass_half(graph, options, diag);
    if (rc >= 0 && options->half != DTYPE_NONE && !options->no_inference)
        rc = pass_fold_tables(graph, eval, diag);
    if (rc < 0)
        return rc;
    graph_remove_dead(graph);
    /* A fused node stands where its first part stood, and may read what comes later. */
    return graph_sort(graph, diag);
}
