/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that optimisation makes and no model can hold; passes/ describes their attributes. */
#ifndef OPTRACE_RUNTIME_GRAPH_FUSED_OPS_H
#define OPTRACE_RUNTIME_GRAPH_FUSED_OPS_H

#define CHAIN_OP_TYPE      "FusedElementwise" /* of pass_fuse_chains() */
#define PREPROCESS_OP_TYPE "FusedPreprocess"  /* of pass_preprocess() */
#define LOOKUP_OP_TYPE     "FusedLookup"      /* of pass_fold_quantised(): bytes, table of 256 */
/* Of the same. Sums and products have the inputs of QLinearMatMul; means x, and the scale and zero point of x and
 * of y, and the integers axes: the first, and the one behind the last. */
#define QUANTA_ADD_OP_TYPE  "FusedQuantaAdd"
#define QUANTA_MUL_OP_TYPE  "FusedQuantaMul"
#define QUANTA_MEAN_OP_TYPE "FusedQuantaMean"

#endif
