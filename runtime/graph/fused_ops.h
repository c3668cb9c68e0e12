/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that optimisation makes and no model can hold; passes/ describes their attributes. */
#ifndef OPTRACE_RUNTIME_GRAPH_FUSED_OPS_H
#define OPTRACE_RUNTIME_GRAPH_FUSED_OPS_H

#define CHAIN_OP_TYPE      "FusedElementwise" /* of pass_fuse_chains() */
#define PREPROCESS_OP_TYPE "FusedPreprocess"  /* of pass_preprocess() */
#define LOOKUP_OP_TYPE     "FusedLookup"      /* of pass_fold_quantised(): bytes, table of 256 */
#define QUANTA_ADD_OP_TYPE                                                                         \
    "FusedQuantaAdd" /* of the same: inputs as QLinearMatMul has them, no bias */
#define QUANTA_MUL_OP_TYPE "FusedQuantaMul"
#define QUANTA_MEAN_OP_TYPE                                                                        \
    "FusedQuantaMean" /* of the same: x and y's scale and zero; ints axes: first, end */

#endif
