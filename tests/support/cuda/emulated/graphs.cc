/* SPDX-License-Identifier: Apache-2.0 */
/* Work of streams that is kept and launched as a whole. */
#include "tests/support/cuda/emulated/device.hpp"
#include "tests/support/cuda/emulated/tool.hpp"

long graphs_launched;

extern "C" {
int cuStreamBeginCapture_v2(void *handle, int)
{
    ENTER();
    stream *s = (stream *)handle;

    if (s->capture)
        return INVALID_VALUE;
    s->capture = new graph;
    s->is_joined = false;
    return SUCCESS;
}

int cuStreamEndCapture(void *handle, void **out_graph)
{
    std::lock_guard<std::recursive_mutex> held(device_lock);
    stream *s = (stream *)handle;
    bool is_unjoined = false;

    *out_graph = s->capture;
    s->capture = nullptr;
    if (!*out_graph)
        return INVALID_VALUE;
    left["graphs"]++;
    for (stream *other : streams) {
        if (!other->is_joined || other->capture != *out_graph)
            continue;
        is_unjoined |= other->captured != other->followed;
        other->capture = nullptr;
        other->is_joined = false;
    }
    if (is_unjoined)
        return CAPTURE_UNJOINED;
    return before("cuStreamEndCapture");
}

int cuGraphInstantiateWithFlags(void **out_executable, void *handle, uint64_t)
{
    ENTER();
    *out_executable = new graph(*(graph *)handle);
    left["executable graphs"]++;
    return SUCCESS;
}

int cuGraphLaunch(void *executable, void *handle)
{
    ENTER();
    graph *g = (graph *)executable;

    tool_call call(514, "cuGraphLaunch");
    uint32_t number = call.number;
    const uint64_t at_ns = now();

    graphs_launched++;
    for (event *e : g->records) {
        e->on = (stream *)handle;
        e->capture = nullptr;
        e->ticket++;
    }
    for (const item &what : g->items) { /* all at once */
        int rc = push((stream *)handle,
                      [=](stream *on, uint64_t at) {
                          tool_replays(number);
                          what(on, at);
                          tool_replays(0);
                      },
                      at_ns);

        if (rc)
            return rc;
    }
    return SUCCESS;
}

int cuGraphDestroy(void *handle)
{
    delete (graph *)handle;
    left["graphs"]--;
    return SUCCESS;
}

int cuGraphExecDestroy(void *handle)
{
    delete (graph *)handle;
    left["executable graphs"]--;
    return SUCCESS;
}
}
