/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the emulated driver share: its streams and what is counted of its calls. */
#ifndef OPTRACE_TESTS_SUPPORT_CUDA_EMULATED_DEVICE_HPP
#define OPTRACE_TESTS_SUPPORT_CUDA_EMULATED_DEVICE_HPP

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cuda/emulated/errors.hpp"

struct stream;
using item = std::function<void(stream *on, uint64_t pushed_ns)>;

struct event;

/* Work of one of the streams that a graph was captured of, or a moment there that others wait for. */
struct node {
    enum { WORK, MOMENT, WAIT } kind;
    size_t branch;
    item work;
    size_t moment;
};

struct graph {
    std::vector<node> nodes;
    std::vector<const stream *>
        branches; /* while it is captured: the streams, the first one's own first */
    size_t branch_count = 0, moment_count = 0;
    std::vector<event *> records; /* by its nodes */
};

struct stream {
    std::deque<std::pair<uint64_t, item>> queue;
    uint64_t clock_ns = 0;
    uint32_t number = 0; /* for records */
    graph *capture = nullptr;
    bool is_joined = false; /* to the capture of another, by waiting for an event of it */
    size_t captured = 0, followed = 0; /* of such: how much, and what of it others wait for */
};

struct event {
    stream *on = nullptr;
    uint64_t ticket = 0, done_ticket = 0;
    uint64_t at_ns = 0;
    graph *capture = nullptr; /* it was recorded there, after so much of the stream */
    size_t captured = 0, moment = 0;
};

/* Opens the memory for the device. */
struct opening {
    opening();
    ~opening();
};

/* Programs that open this library see none of it. */
#pragma GCC visibility push(hidden)

extern std::recursive_mutex &device_lock;
extern std::vector<stream *> &streams;
extern std::map<std::string, long> &left; /* what was never given back */
extern char *arena;                       /* device memory; NULL before cuInit() */
extern size_t memory_limit, most_allocated;
extern int sticky; /* what every call answers from now on */
extern bool eager, others_first, skips_waits;
extern long graphs_launched, waits, copied_in, copied_pinned, copied_out;

int memory_reserve();

uint64_t now();

/** What a call answers before it does anything. */
int before(const char *function);
#define ENTER()                                                                                    \
    std::lock_guard<std::recursive_mutex> held(device_lock);                                       \
    if (int rc_ = before(__func__))                                                                \
    return rc_

/** A stream works for so long, from the end of what it did, or a launch's time after it was asked. */
void occupy(stream *s, uint64_t pushed_ns, uint64_t ns);
int push(stream *s, item what, uint64_t at_ns = now());
void run_until(stream *s, const std::function<bool()> &done);

/** The number of a stream that is captured in its graph. */
size_t graph_branch(const stream *s);

/** The device is never done before its own clock says so. */
void wait_for_clock(uint64_t ns);
void drain(stream *s);

/** Whether it is in one piece of device memory. */
bool is_device(uint64_t address, size_t bytes);

#pragma GCC visibility pop

#endif
