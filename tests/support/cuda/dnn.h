/* SPDX-License-Identifier: Apache-2.0 */
/* What of cuDNN's graph interface tests call. Results are cuDNN's: 0, or an error. */
#ifndef OPTRACE_TESTS_SUPPORT_CUDA_DNN_H
#define OPTRACE_TESTS_SUPPORT_CUDA_DNN_H

#include <stdint.h>

int cudnnBackendCreateDescriptor(int type, void **out_descriptor);
int cudnnBackendDestroyDescriptor(void *descriptor);
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count,
                             const void *values);
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t wanted, int64_t *count,
                             void *values);
int cudnnBackendFinalize(void *descriptor);
int cudnnBackendExecute(void *handle, void *plan, void *variants);

#endif
