/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that can compute one call, by name, for who chooses among them by time or by what
 * they declare.
 *
 * Of prepared convolutions these are kernel_conv_plan_list()'s; of everything else the versions of
 * the kernel table for each instruction set, and of matrix products the same row by row and the one
 * that packs constant weights.
 */
#ifndef OPTRACE_RUNTIME_OPS_CALL_VERSION_H
#define OPTRACE_RUNTIME_OPS_CALL_VERSION_H

#include "runtime/ops/call/call.h"

enum { CALL_VERSIONS_MAX = KERNEL_CONV_VERSIONS_MAX };

struct call_version {
    char name[KERNEL_CONV_VERSION_BYTES];
    bool is_reference;    /* plain loops */
    bool is_reproducible; /* declared: the same bits each time, on a team of the same size */
    enum kernel_level level;
    bool is_row_by_row, is_packed; /* a matrix product: call_bind_gemm_plan() */
};

struct call_versions {
    int count;
    struct call_version items[CALL_VERSIONS_MAX];
};

/**
 * request  as for call_bind(); its kernels are not looked at
 * is_plan  what call_bind_conv_plan() serves, else what call_bind() and call_bind_gemm_plan() do
 *
 * The default comes first. Returns 0, -ENOTSUP when there is none, or what shapes are refused with.
 */
int call_list_versions(const struct call_request *request, bool is_plan,
                       struct call_versions *out_versions);

/** Bind one of them. Errors as call_bind(). */
int call_bind_version(const struct call_request *request, bool is_plan,
                      const struct call_version *version, struct call *out_call);

/** Whether dimension 0 of output 0 counts samples or rows that are computed each for itself, and
 *  by a kernel that works on many at once: convolutions and matrix products. */
bool call_has_batch(const struct call_request *request);

#endif
