/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the emulated device, and what each works off. */
#include "tests/support/cuda/emulated/device.hpp"

#include <algorithm>
#include <time.h>

static constexpr uint64_t LAUNCH_NS = 2000;

std::vector<stream *> &streams = *new std::vector<stream *>;
bool eager, others_first, skips_waits;
long waits;
static uint32_t streams_made;

uint64_t now()
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void occupy(stream *s, uint64_t pushed_ns, uint64_t ns)
{
    s->clock_ns = std::max(s->clock_ns, pushed_ns + LAUNCH_NS) + ns;
}

int push(stream *s, item what, uint64_t at_ns)
{
    if (!s)
        return INVALID_VALUE;
    if (s->capture) {
        s->capture->nodes.push_back({node::WORK, graph_branch(s), std::move(what), 0});
        s->captured++;
    } else if (eager)
        what(s, at_ns);
    else
        s->queue.emplace_back(at_ns, std::move(what));
    return SUCCESS;
}

void run_until(stream *s, const std::function<bool()> &done)
{
    while (!done() && !s->queue.empty()) {
        auto next = std::move(s->queue.front());

        s->queue.pop_front();
        next.second(s, next.first);
    }
}

void wait_for_clock(uint64_t ns)
{
    for (uint64_t at = now(); at < ns; at = now()) {
        struct timespec rest = {(time_t)((ns - at) / 1000000000u), (long)((ns - at) % 1000000000u)};

        nanosleep(&rest, nullptr);
    }
}

void drain(stream *s)
{
    for (size_t i = streams.size(); others_first && i-- > 0;)
        run_until(streams[i], [] { return false; });
    run_until(s, [] { return false; });
    wait_for_clock(s->clock_ns);
}

extern "C" {
int cuStreamCreate(void **out_stream, unsigned)
{
    ENTER();
    streams.push_back(new stream);
    streams.back()->number = ++streams_made;
    *out_stream = streams.back();
    left["streams"]++;
    return SUCCESS;
}

int cuStreamDestroy_v2(void *handle)
{
    std::lock_guard<std::recursive_mutex> held(device_lock);
    stream *s = (stream *)handle;

    drain(s);
    left["streams"]--;
    streams.erase(std::find(streams.begin(), streams.end(), s));
    delete s;
    return SUCCESS;
}

int cuStreamSynchronize(void *handle)
{
    ENTER();
    drain((stream *)handle);
    return sticky;
}

int cuEventCreate(void **out_event, unsigned)
{
    ENTER();
    *out_event = new event;
    left["events"]++;
    return SUCCESS;
}

int cuEventDestroy_v2(void *handle)
{
    std::lock_guard<std::recursive_mutex> held(device_lock);

    delete (event *)handle;
    left["events"]--;
    return SUCCESS;
}

int cuEventRecord(void *handle, void *on)
{
    ENTER();
    event *e = (event *)handle;
    uint64_t ticket = ++e->ticket;

    e->on = (stream *)on;
    e->capture = e->on->capture;
    e->captured = e->on->captured;
    if (e->capture) {
        e->moment = e->capture->moment_count++;
        e->capture->nodes.push_back({node::MOMENT, graph_branch(e->on), nullptr, e->moment});
        return SUCCESS;
    }
    return push(e->on, [=](stream *s, uint64_t at) {
        s->clock_ns = std::max(s->clock_ns, at);
        e->done_ticket = ticket;
        e->at_ns = s->clock_ns;
    });
}

/* 1: a node of the graph that is captured, which each launch records anew. */
int cuEventRecordWithFlags(void *handle, void *on, unsigned flags)
{
    event *e = (event *)handle;
    stream *s = (stream *)on;

    if (flags == 0)
        return cuEventRecord(handle, on);
    ENTER();
    if (flags != 1 || !s || !s->capture)
        return INVALID_VALUE;
    s->capture->records.push_back(e);
    return push(s, [=](stream *where, uint64_t at) {
        where->clock_ns = std::max(where->clock_ns, at);
        e->done_ticket = e->ticket;
        e->at_ns = where->clock_ns;
    });
}

int cuEventSynchronize(void *handle)
{
    ENTER();
    event *e = (event *)handle;

    if (e->on)
        run_until(e->on, [e] { return e->done_ticket == e->ticket; });
    wait_for_clock(e->at_ns);
    return sticky;
}

int cuStreamWaitEvent(void *handle, void *of, unsigned)
{
    ENTER();
    stream *s = (stream *)handle;
    event *e = (event *)of;
    uint64_t ticket = e->ticket;

    waits++;
    if (e->capture && !s->capture) {
        s->capture = e->capture;
        s->is_joined = true;
        s->captured = s->followed = 0;
    }
    if (s->capture != e->capture)
        return CAPTURE_ISOLATION;
    if (e->capture) {
        e->on->followed = std::max(e->on->followed, e->captured);
        e->capture->nodes.push_back({node::WAIT, graph_branch(s), nullptr, e->moment});
        return SUCCESS;
    }
    if (!e->on || skips_waits)
        return SUCCESS;
    return push(s, [=](stream *on, uint64_t) {
        run_until(e->on, [=] { return e->done_ticket >= ticket; });
        on->clock_ns = std::max(on->clock_ns, e->at_ns);
    });
}

int cuEventElapsedTime(float *out_ms, void *from, void *to)
{
    ENTER();
    if (((event *)from)->capture || ((event *)to)->capture) /* it only orders what is captured */
        return INVALID_VALUE;
    if (((event *)from)->done_ticket != ((event *)from)->ticket ||
        ((event *)to)->done_ticket != ((event *)to)->ticket)
        return 600; /* CUDA_ERROR_NOT_READY */
    *out_ms = (float)(((double)((event *)to)->at_ns - (double)((event *)from)->at_ns) * 1e-6);
    return SUCCESS;
}
}
