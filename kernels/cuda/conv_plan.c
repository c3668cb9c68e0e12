/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What computes a convolution: an engine that cuDNN's heuristics propose for it, with all that comes
 * behind or with an own kernel for that, or the own kernel alone. It is decided once for each shape,
 * by the first that can be had, or by the time of several.
 */
#include "kernels/cuda/conv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/library.h"

enum {
    PROPOSALS = 8, /* of each graph, in each mode */
    PACKS_MAX = 64,
    GRAPHS = 2, /* with what comes behind, and without */
};

/* Engines that want more are few, and seldom the fastest. */
static const uint64_t WORKSPACE_BYTES = 256 << 20;

/* Memory that cuDNN was told of. */
struct pack {
    void *descriptor, *workspace;
    const void *pointers[CONV_TENSORS_MAX];
};

struct conv_plan {
    struct conv_shape shape;
    bool is_own, has_end;
    bool is_used; /* since the last rehearsal began */
    struct conv_graph graphs[GRAPHS];
    struct conv_candidate candidate;
    struct pack packs[PACKS_MAX];
    int pack_count, next_pack;
    char version[32];
};

struct cuda_convolutions {
    struct conv_library library; /* handle NULL: own kernels compute */
    void *stream;                /* that cuDNN was told of last */
    struct conv_plan **plans;    /* their versions stay where they are */
    size_t count, room;
    char name[32];
    uint32_t timed; /* proposals and own kernels */
    uint32_t recalled;
};

/* --- Opening --- */

static void open_library(struct cuda_convolutions *all)
{
    struct conv_library *library = &all->library;
    size_t version;
    int status;

    library->functions = dnn_library_open(library->problem, sizeof(library->problem));
    if (!library->functions)
        return;
    status = library->functions->cudnnCreate(&library->handle);
    if (status != 0) { /* also where it answers that something is not supported */
        library->handle = NULL;
        snprintf(library->problem, sizeof(library->problem), "cudnnCreate() answers %s",
                 library->functions->cudnnGetErrorString(status));
        return;
    }
    version = library->functions->cudnnGetVersion(); /* 9.28.1 is 92801 */
    snprintf(all->name, sizeof(all->name), "cuDNN %zu.%zu", version / 10000, version / 100 % 100);
}

static struct cuda_convolutions *convolutions_of(struct kernel_cuda *cuda)
{
    if (!cuda->convolutions && !cuda->is_capturing) {
        cuda->convolutions = calloc(1, sizeof(*cuda->convolutions));
        if (cuda->convolutions)
            open_library(cuda->convolutions);
    }
    return cuda->convolutions;
}

/* --- Running --- */

/* What is in the run's places, in the order of the pack. */
static struct pack pack_of(const struct conv_run *run, bool has_end, void *workspace)
{
    return (struct pack){.workspace = workspace,
                         .pointers = {run->x, run->w, run->y, has_end ? run->bias : NULL,
                                      has_end ? run->residual : NULL}};
}

static bool is_same(const struct pack *a, const struct pack *b)
{
    return a->workspace == b->workspace &&
           memcmp(a->pointers, b->pointers, sizeof(a->pointers)) == 0;
}

/* Steps of one shape have one each, until they are too many. */
static void *find_pack(struct conv_library *library, struct conv_plan *plan,
                       const struct conv_run *run, bool has_end, void *workspace)
{
    struct pack pack = pack_of(run, has_end, workspace);
    struct pack *place;

    for (int i = 0; i < plan->pack_count; i++)
        if (is_same(&plan->packs[i], &pack))
            return plan->packs[i].descriptor;
    pack.descriptor = conv_pack_make(library, run, has_end, workspace);
    if (!pack.descriptor)
        return NULL;
    if (plan->pack_count < PACKS_MAX) {
        place = &plan->packs[plan->pack_count++];
    } else {
        place = &plan->packs[plan->next_pack++ % PACKS_MAX];
        conv_descriptor_forget(library, place->descriptor);
    }
    *place = pack;
    return pack.descriptor;
}

/* Returns cuDNN's status; negative: what it is told of memory failed, and library.problem says it. */
static int execute(struct kernel_cuda *cuda, struct conv_plan *plan,
                   const struct conv_candidate *candidate, bool has_end, const struct conv_run *run)
{
    struct cuda_convolutions *all = cuda->convolutions;
    struct conv_library *library = &all->library;
    void *workspace = candidate->workspace_bytes > 0 ? cuda_workspace(cuda) : NULL;
    void *pack = find_pack(library, plan, run, has_end, workspace);
    int status = 0;

    if (!pack)
        return -1;
    if (all->stream != cuda->stream) {
        status = library->functions->cudnnSetStream(library->handle, cuda->stream);
        all->stream = status == 0 ? cuda->stream : NULL;
    }
    if (status == 0)
        status =
            library->functions->cudnnBackendExecute(library->handle, candidate->execution, pack);
    if (status == 0 && !has_end && conv_has_end(&run->shape))
        run->end(run);
    else if (status == 0 && run->saturate)
        run->saturate(run);
    return status;
}

static void fail(struct kernel_cuda *cuda, int status)
{
    const struct conv_library *library = &cuda->convolutions->library;

    if (status == 0 || cuda->failure != 0)
        return;
    cuda->failure = -EIO;
    if (status < 0)
        snprintf(cuda->problem, sizeof(cuda->problem), "%s",
                 library->problem[0] ? library->problem : "cuDNN refuses the memory");
    else
        snprintf(cuda->problem, sizeof(cuda->problem),
                 "the GPU failed at cudnnBackendExecute(): %s",
                 library->functions->cudnnGetErrorString(status));
}

void conv_run(struct kernel_cuda *cuda, const struct conv_call *call)
{
    struct conv_plan *plan = call->plan;
    size_t bytes = (size_t)plan->candidate.workspace_bytes;

    if (cuda->is_rehearsing || cuda->failure != 0)
        return;
    if (!cuda_workspaces_take(cuda, bytes)) {
        if (cuda->failure == 0)
            snprintf(cuda->problem, sizeof(cuda->problem),
                     "the GPU has no room for cuDNN's workspace of %zu bytes", bytes);
        if (cuda->failure == 0)
            cuda->failure = -ENOMEM;
        return;
    }
    fail(cuda, execute(cuda, plan, &plan->candidate, plan->has_end, &call->run));
}

/* --- Choosing --- */

struct timed {
    const struct conv_call *call;
    struct conv_plan *plan;
    const struct conv_candidate *candidate; /* NULL: the own kernel */
    bool has_end;
};

static int hand_over(struct kernel_cuda *cuda, void *context)
{
    const struct timed *timed = context;

    if (timed->candidate)
        return execute(cuda, timed->plan, timed->candidate, timed->has_end, &timed->call->run);
    timed->call->own(timed->call->call);
    return 0;
}

/* A line of all that a choice hangs on. */
static void write_task(const struct kernel_cuda *cuda, const struct conv_shape *s, char *out)
{
    int at = snprintf(
        out, CUDA_TASK_BYTES,
        "%s convolution%s of %d to %d, added %d %d%s, %lld of %lld to %lld in %lld, at "
        "%u %u %u %u %u, behind %d %d %a %a, axes",
        cuda->convolutions->name, s->is_transposed ? " back" : "", s->dtype, s->y_type,
        s->bias_type, s->residual_type,
        s->dtype == KERNEL_F32 && cuda->choice.allows_tf32 ? " by TF32" : "", (long long)s->batch,
        (long long)s->channels, (long long)s->filters, (long long)s->groups, s->x_alignment,
        s->w_alignment, s->y_alignment, s->bias_alignment, s->residual_alignment, s->residual,
        s->activation, (double)s->a, (double)s->b);

    if (s->channels_last && at < CUDA_TASK_BYTES)
        at += snprintf(out + at, (size_t)(CUDA_TASK_BYTES - at), " channels-last");
    if (s->w_channels_last && at < CUDA_TASK_BYTES)
        at += snprintf(out + at, (size_t)(CUDA_TASK_BYTES - at), " by such");
    for (int i = 0; i < KERNEL_SPATIAL && at < CUDA_TASK_BYTES; i++)
        at += snprintf(out + at, (size_t)(CUDA_TASK_BYTES - at),
                       " %lld by %lld to %lld, %lld %lld, %lld %lld;", (long long)s->in[i],
                       (long long)s->kernel[i], (long long)s->out[i], (long long)s->stride[i],
                       (long long)s->dilation[i], (long long)s->pad_begin[i],
                       (long long)s->pad_end[i]);
}

/* Which configuration of an engine it is, wherever it is proposed; where that cannot be read, which
 * proposal, in an order that a version keeps. */
static void name_way(struct conv_library *library, const struct conv_candidate *candidate, int mode,
                     int i, bool has_end, char *out)
{
    const char *end = has_end ? " whole" : "";
    const long long engine = (long long)candidate->engine_number;
    uint64_t key;

    if (conv_candidate_key(library, candidate, &key))
        snprintf(out, KERNEL_CUDA_WAY_BYTES, "cudnn:%lld key %016llx%s", engine,
                 (unsigned long long)key, end);
    else
        snprintf(out, KERNEL_CUDA_WAY_BYTES, "cudnn:%lld proposal %d of mode %d%s", engine, i, mode,
                 end);
}

/* The fastest so far. */
struct best {
    struct conv_candidate candidate;
    bool is_found, has_end; /* else it is the own kernel */
    bool has_time;
    float ms;
    const char *wanted; /* the way that was the fastest before, and no other; NULL: all */
    struct cuda_ways ways;
};

static bool is_wanted(const struct best *best, const struct conv_candidate *candidate,
                      const char *name)
{
    const char *wanted = best->wanted;

    return !wanted ||
           (!best->is_found && candidate->workspace_bytes >= 0 && strcmp(wanted, name) == 0);
}

/* Takes the candidate over. */
static void compare(struct kernel_cuda *cuda, const struct conv_call *call, struct conv_plan *plan,
                    struct conv_candidate *candidate, const char *name, bool has_end,
                    struct best *best)
{
    struct timed timed = {call, plan, candidate, has_end};
    struct conv_library *library = &cuda->convolutions->library;
    bool is_better = !cuda->choice.times || best->wanted;
    float ms = 0.0f;

    if (!is_better && cuda_time(cuda, "timing convolutions", hand_over, &timed, &ms)) {
        cuda->convolutions->timed++;
        cuda_ways_add(&best->ways, name, ms, (size_t)candidate->workspace_bytes);
        is_better = !best->has_time || ms < best->ms;
    }
    if (!is_better) {
        conv_candidate_forget(library, candidate);
        return;
    }
    if (best->is_found)
        conv_candidate_forget(library, &best->candidate);
    best->candidate = *candidate;
    best->is_found = best->has_time = true;
    best->has_end = has_end;
    best->ms = ms;
}

/* In the order of the heuristics; without times the first one does. */
static void try_mode(struct kernel_cuda *cuda, const struct conv_call *call, struct conv_plan *plan,
                     int mode, bool has_end, struct best *best)
{
    struct conv_library *library = &cuda->convolutions->library;
    uint64_t limit = cuda->choice.workspace_limit < WORKSPACE_BYTES ? cuda->choice.workspace_limit
                                                                    : WORKSPACE_BYTES;
    const enum conv_rounding allowed = conv_rounding_of(&plan->shape, cuda->choice.allows_tf32);
    void *configurations[PROPOSALS];
    int count = conv_graph_ask(library, &plan->graphs[has_end], mode, PROPOSALS, configurations);

    for (int i = 0; i < count; i++) {
        struct conv_candidate candidate;
        char name[KERNEL_CUDA_WAY_BYTES] = "";

        if (cuda->failure != 0 || (best->is_found && (!cuda->choice.times || best->wanted))) {
            conv_descriptor_forget(library, configurations[i]);
            continue;
        }
        if (!conv_candidate_make(library, configurations[i], allowed, &candidate))
            continue;
        if (cuda->choice.memory)
            name_way(library, &candidate, mode, i, has_end, name);
        if (!is_wanted(best, &candidate, name) || (uint64_t)candidate.workspace_bytes > limit ||
            !cuda_workspaces_take(cuda, (size_t)candidate.workspace_bytes))
            conv_candidate_forget(library, &candidate);
        else
            compare(cuda, call, plan, &candidate, name, has_end, best);
    }
}

static void try_graph(struct kernel_cuda *cuda, const struct conv_call *call,
                      struct conv_plan *plan, bool has_end, struct best *best)
{
    static const int modes[] = {DNN_MODE_A, DNN_MODE_FALLBACK};
    struct conv_graph *graph = &plan->graphs[has_end];

    conv_graph_make(&cuda->convolutions->library, &plan->shape, has_end, graph);
    for (int i = 0;
         i < 2 && graph->graph && (!best->is_found || (cuda->choice.times && !best->wanted)); i++)
        try_mode(cuda, call, plan, modes[i], has_end, best);
}

/* With what comes behind, and alone. */
static void try_graphs(struct kernel_cuda *cuda, const struct conv_call *call,
                       struct conv_plan *plan, struct best *best)
{
    /* What reads its own result is left to an own kernel: cuDNN promises nothing for that. */
    if (conv_has_end(&plan->shape) && plan->shape.residual != RESIDUAL_Y)
        try_graph(cuda, call, plan, true, best);
    if (!best->is_found || (cuda->choice.times && !best->wanted))
        try_graph(cuda, call, plan, false, best);
}

/* By what was timed before. False: it is not known, or not proposed any more. */
static bool recall(struct kernel_cuda *cuda, const struct conv_call *call, struct conv_plan *plan,
                   const char *task, struct best *best)
{
    struct cuda_convolutions *all = cuda->convolutions;
    struct kernel_cuda_way way;

    if (!cuda_ways_recall(cuda, task, &way))
        return false;
    best->wanted = way.name;
    if (strcmp(way.name, CUDA_OWN_WAY) != 0)
        try_graphs(cuda, call, plan, best);
    best->wanted = NULL;
    all->recalled += best->is_found || strcmp(way.name, CUDA_OWN_WAY) == 0;
    if (best->is_found || strcmp(way.name, CUDA_OWN_WAY) == 0)
        return true;
    for (int i = 0; i < GRAPHS; i++)
        conv_graph_forget(&all->library, &plan->graphs[i]);
    return false;
}

static void time_all(struct kernel_cuda *cuda, const struct conv_call *call, struct conv_plan *plan,
                     const char *task, struct best *best)
{
    struct timed own = {call, plan, NULL, false};

    if (cuda->choice.times) {
        best->has_time = cuda_time(cuda, "timing convolutions", hand_over, &own, &best->ms);
        cuda->convolutions->timed += best->has_time;
        if (best->has_time)
            cuda_ways_add(&best->ways, CUDA_OWN_WAY, best->ms, 0);
    }
    try_graphs(cuda, call, plan, best);
    if (cuda->failure == 0)
        cuda_ways_keep(cuda, task, &best->ways);
}

static void decide(struct kernel_cuda *cuda, const struct conv_call *call, struct conv_plan *plan)
{
    struct cuda_convolutions *all = cuda->convolutions;
    struct best best = {.is_found = false};
    char task[CUDA_TASK_BYTES];

    write_task(cuda, &plan->shape, task);
    if (!recall(cuda, call, plan, task, &best))
        time_all(cuda, call, plan, task, &best);
    plan->is_own = !best.is_found;
    plan->has_end = best.has_end;
    plan->candidate = best.candidate;
    if (best.is_found)
        snprintf(plan->version, sizeof(plan->version), "cudnn:%lld%s",
                 (long long)best.candidate.engine_number, plan->shape.channels_last ? ":nhwc" : "");
    for (int i = 0; i < GRAPHS; i++)
        if (plan->is_own || i != plan->has_end)
            conv_graph_forget(&all->library, &plan->graphs[i]);
}

static void forget(struct conv_library *library, struct conv_plan *plan)
{
    for (int i = 0; i < plan->pack_count; i++)
        conv_descriptor_forget(library, plan->packs[i].descriptor);
    plan->pack_count = 0;
    conv_candidate_forget(library, &plan->candidate);
    for (int i = 0; i < GRAPHS; i++)
        conv_graph_forget(library, &plan->graphs[i]);
}

static struct conv_plan *find(const struct cuda_convolutions *all, const struct conv_shape *shape)
{
    for (size_t i = 0; i < all->count; i++)
        if (memcmp(&all->plans[i]->shape, shape, sizeof(*shape)) == 0)
            return all->plans[i];
    return NULL;
}

static struct conv_plan *make(struct kernel_cuda *cuda, const struct conv_call *call)
{
    struct cuda_convolutions *all = cuda->convolutions;
    struct conv_plan *plan;

    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 16;
        struct conv_plan **plans = realloc(all->plans, room * sizeof(struct conv_plan *));

        if (!plans)
            return NULL;
        all->plans = plans;
        all->room = room;
    }
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return NULL;
    all->plans[all->count++] = plan;
    plan->shape = call->run.shape;
    decide(cuda, call, plan);
    if (plan->is_own)
        forget(&all->library, plan);
    return plan;
}

bool conv_is_planned(struct kernel_cuda *cuda, struct conv_call *call)
{
    struct cuda_convolutions *all;
    struct conv_plan *plan;

    cuda->chosen = (struct kernel_cuda_chosen){.task = KERNEL_CUDA_CONVOLUTION};
    if (cuda->failure != 0 || call->is_refused)
        return false;
    all = convolutions_of(cuda);
    if (!all || !all->library.handle)
        return false;
    plan = find(all, &call->run.shape);
    if (!plan && !cuda->is_capturing)
        plan = make(cuda, call);
    if (plan)
        plan->is_used = true;
    if (!plan || plan->is_own)
        return false;
    cuda->chosen.version = plan->version;
    call->plan = plan;
    return true;
}

void conv_plans_release(struct kernel_cuda *cuda)
{
    for (size_t i = 0; cuda->convolutions && i < cuda->convolutions->count; i++)
        cuda->convolutions->plans[i]->is_used = false;
}

size_t conv_workspace(const struct kernel_cuda *cuda)
{
    size_t most = 0;

    for (size_t i = 0; cuda->convolutions && i < cuda->convolutions->count; i++) {
        const struct conv_plan *plan = cuda->convolutions->plans[i];

        if (plan->is_used && !plan->is_own && (size_t)plan->candidate.workspace_bytes > most)
            most = (size_t)plan->candidate.workspace_bytes;
    }
    return most;
}

struct kernel_cuda_library conv_library(const struct kernel_cuda *cuda)
{
    const struct cuda_convolutions *all = cuda->convolutions;

    if (!all)
        return (struct kernel_cuda_library){.problem = ""};
    return (struct kernel_cuda_library){
        .is_asked = true,
        .name = all->library.handle ? all->name : NULL,
        .problem = all->library.problem,
        .timed = all->timed,
        .recalled = all->recalled,
    };
}

void conv_plans_destroy(struct kernel_cuda *cuda)
{
    struct cuda_convolutions *all = cuda->convolutions;

    cuda->convolutions = NULL;
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++) {
        forget(&all->library, all->plans[i]);
        free(all->plans[i]);
    }
    if (all->library.handle)
        (void)all->library.functions->cudnnDestroy(all->library.handle);
    free(all->plans);
    free(all);
}
