/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a model file that says something more in its metadata. */
#ifndef OPTRACE_RUNTIME_ONNX_DUMP_H
#define OPTRACE_RUNTIME_ONNX_DUMP_H

#include "base/diag.h"

/**
 * Write the bytes of the model, and behind them an entry of metadata_props: protobuf joins what a
 * message says in several places, and the last entry of a key holds. Parameters that the model
 * keeps in other files are named relative to its folder, so that the copy must stay there.
 *
 * path  may be the model's own: the file is replaced as a whole
 *
 * Returns 0; -EINVAL when the copy would not find its parameters; errors of mapped_file_open() and
 * file_replace().
 */
int onnx_dump(const char *model_path, const char *path, const char *key, const char *value,
              struct diag *diag);

#endif
