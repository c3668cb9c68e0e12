/* SPDX-License-Identifier: Apache-2.0 */
/* Work of streams that is kept and launched as a whole. */
#include "tests/support/cuda/emulated/device.hpp"
#include "tests/support/cuda/emulated/tool.hpp"

#include <algorithm>
#include <memory>

long graphs_launched;

size_t graph_branch(const stream *s)
{
    std::vector<const stream *> &branches = s->capture->branches;
    size_t branch = (size_t)(std::find(branches.begin(), branches.end(), s) - branches.begin());

    if (branch == branches.size())
        branches.push_back(s);
    s->capture->branch_count = branches.size();
    return branch;
}

/* A launch of a graph: how far each of its branches is, all of which begin when the stream does. */
struct replay {
    std::vector<stream> branches;
    std::vector<uint64_t> moments;
};

static void replay_node(replay &r, const node &what, stream *on, uint64_t asked_ns)
{
    stream &branch = r.branches[what.branch];

    if (branch.number == 0) {
        branch.number = on->number;
        branch.clock_ns = on->clock_ns;
    }
    if (what.kind == node::MOMENT)
        r.moments[what.moment] = branch.clock_ns;
    else if (what.kind == node::WAIT)
        branch.clock_ns = std::max(branch.clock_ns, r.moments[what.moment]);
    else
        what.work(&branch, asked_ns);
}

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
    auto r = std::make_shared<replay>();

    r->branches.resize(g->branch_count);
    r->moments.resize(g->moment_count);
    /* All at once, and in the order in which it was captured; the time is that of its branches. */
    return push((stream *)handle,
                [=, nodes = g->nodes](stream *on, uint64_t at) {
                    uint64_t end_ns = on->clock_ns;

                    tool_replays(number);
                    for (const node &what : nodes)
                        replay_node(*r, what, on, at);
                    tool_replays(0);
                    for (const stream &branch : r->branches)
                        end_ns = std::max(end_ns, branch.clock_ns);
                    on->clock_ns = end_ns;
                },
                at_ns);
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
