/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the emulated device tells the libcupti of tests/support/cuda, where one is in the process: calls,
 * and records of what they made it do. Nothing happens where none is.
 */
#ifndef OPTRACE_TESTS_SUPPORT_CUDA_EMULATED_TOOL_HPP
#define OPTRACE_TESTS_SUPPORT_CUDA_EMULATED_TOOL_HPP

#include <stddef.h>
#include <stdint.h>

/* A call of the driver's, by CUPTI's number, for as long as it is there. */
class tool_call {
  public:
    tool_call(uint32_t id, const char *function);
    ~tool_call();
    tool_call(const tool_call &) = delete;
    tool_call &operator=(const tool_call &) = delete;
    const uint32_t number; /* by which its records are known */

  private:
    uint32_t id;
    const char *function;
};

/* While a graph is replayed its records bear the number of that call; 0: not any more. */
void tool_replays(uint32_t number);

/* On a stream, up to end_ns of CLOCK_MONOTONIC. `name` stays. */
void tool_kernel(uint32_t number, const char *name, uint32_t stream, uint64_t ns, uint64_t end_ns);
void tool_copy(uint32_t number, bool is_to_device, size_t bytes, uint32_t stream, uint64_t ns,
               uint64_t end_ns);
void tool_memset(uint32_t number, size_t bytes, uint32_t stream, uint64_t ns, uint64_t end_ns);

#endif
