/* SPDX-License-Identifier: Apache-2.0 */
/* What ONNX Runtime's C interface and its Python extension share. Inside client/inject only. */
#ifndef OPTRACE_CLIENT_INJECT_ORT_H
#define OPTRACE_CLIENT_INJECT_ORT_H

#include <stdint.h>

#include "client/inject/ort_profile.h"

#define ORT_TELLS_NO_NODES                                                                         \
    (ort_profile_is_wanted() ? "nodes from its own profile, at the end"                            \
                             : "runs only: nodes are told from 1.25 on")

/** A model of this path; 0 when it cannot be defined. Any thread. */
uint32_t ort_model(const char *path);

/** What a program gets in place of an OrtGetApiBase() that it asked a library for; the very same
 *  where that is not wanted, or NULL. Any thread. */
void *ort_stand_in(void *theirs);

#endif
