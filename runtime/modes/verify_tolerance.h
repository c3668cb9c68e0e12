/* SPDX-License-Identifier: Apache-2.0 */
/* What --verify allows outputs to differ by, and why. Part of verify.c. */
#ifndef OPTRACE_RUNTIME_MODES_VERIFY_TOLERANCE_H
#define OPTRACE_RUNTIME_MODES_VERIFY_TOLERANCE_H

#include "base/diag.h"
#include "base/json.h"
#include "runtime/graph/compare.h"
#include "runtime/modes/verify.h"

enum tolerance_source {
    TOLERANCE_DEFAULT,
    TOLERANCE_DATA_JSON,
    TOLERANCE_OPTION,
    TOLERANCE_CHOICE, /* of kernels */
    TOLERANCE_STORAGE,
    TOLERANCE_TF32,
};

struct verify_tolerance {
    double rtol, atol;
    double rms;        /* above 0: in place of all others */
    double atol_share; /* of the largest expected magnitude, where that is more than atol */
    enum tolerance_source rtol_source, atol_source, share_source;
    enum dtype stored; /* what tensors between operators are stored in; 0: as the model says */
};

/**
 * Of options, else of data.json beside the model, else 1e-3 and 1e-7.
 *
 * Returns 0, -ENOMEM, or -EINVAL for a data.json that is malformed.
 */
int verify_tolerance_read(const struct verify_config *config,
                          struct verify_tolerance *out_tolerance, struct diag *diag);

/**
 * Widen what options do not say to what a type can hold (compare_storage_tolerance()), also where
 * data.json says less: that was written for the model as it is. DTYPE_NONE changes nothing.
 *
 * is_chosen  kernels or layouts are others than by default, each of which was compared with its
 *            reference to COMPARE_ATOL_SHARE of the largest number: which are taken depends on how
 *            fast they were, and the verdict must not
 */
void verify_tolerance_widen(struct verify_tolerance *tolerance, enum dtype stored, bool is_chosen);

/** Likewise to what comes of operands of products that are rounded as float16 rounds. */
void verify_tolerance_allow_tf32(struct verify_tolerance *tolerance);

/** For one output. */
struct tolerance verify_tolerance_of(const struct verify_tolerance *tolerance,
                                     const struct tensor_view *expected);

/** "rtol 0.001 and atol 1e-07 (default)" */
void verify_tolerance_print(const struct verify_tolerance *tolerance, FILE *out);

/** The same as members of an object that is open. */
void verify_tolerance_write(const struct verify_tolerance *tolerance, struct json_writer *json);

#endif
