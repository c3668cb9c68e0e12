/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime found by dlsym(). Inside client/inject only. */
#ifndef OPTRACE_CLIENT_INJECT_ORT_H
#define OPTRACE_CLIENT_INJECT_ORT_H

/** What a program gets in place of an OrtGetApiBase() that it asked a library for; the very same
 *  where that is not wanted, or NULL. Any thread. */
void *ort_stand_in(void *theirs);

#endif
