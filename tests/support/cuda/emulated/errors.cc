/* SPDX-License-Identifier: Apache-2.0 */
/* What errors are called. */
#include "tests/support/cuda/emulated/errors.hpp"

#include <map>

extern "C" int cuGetErrorName(int error, const char **out_name)
{
    static const std::map<int, const char *> names = {
        {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
        {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
        {NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
        {999, "CUDA_ERROR_UNKNOWN"},
    };
    auto found = names.find(error);

    *out_name = found == names.end() ? nullptr : found->second;
    return found == names.end() ? INVALID_VALUE : SUCCESS;
}
