/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime's Python extension. Inside client/inject only. */
#ifndef OPTRACE_CLIENT_INJECT_PYTHON_ORT_H
#define OPTRACE_CLIENT_INJECT_PYTHON_ORT_H

#define PYTHON_ORT_INIT "PyInit_onnxruntime_pybind11_state"

/** What the interpreter gets in place of the extension's first function; the very same where that is
 *  not wanted, or NULL. Any thread. */
void *python_ort_stand_in(void *theirs);

#endif
