/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One execution of a graph on one device: everything is chosen, laid out and allocated by
 * exec_create(); a run then only walks a list of steps.
 *
 * Order of calls: exec_create(), exec_add_observer() if wanted, then for each run exec_set_input()
 * where the input changes, exec_dispatch(), exec_wait(), exec_output(); at last exec_destroy().
 *
 * Threads: one thread calls (the dispatching thread). The steps run on a worker thread that belongs
 * to the execution; it works its queue off in order, and leads the team of options.threads threads
 * that the kernels use.
 */
#ifndef OPTRACE_RUNTIME_EXEC_EXEC_H
#define OPTRACE_RUNTIME_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "runtime/exec/choosers.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/layout.h"
#include "runtime/ops/call/call.h"

struct exec;
struct device_choice;

struct exec_options {
    uint32_t threads; /* of the kernels; 0: as many as this process may use CPUs */
    bool is_inline;   /* no worker: exec_dispatch() returns when all is done. The dispatching thread
                         leads the kernels' team, and must be the one that calls exec_create() */
    bool is_recorded; /* a run is one item of the queue, not one for each step; where somebody
                         observes, steps are handed over one by one all the same, but of a device
                         that does all of them as one graph */
    bool is_lavish;   /* no two intermediate tensors share memory */
    struct graph *frees_packed; /* the graph: constants that nobody reads but a kernel which packs
                                   them are freed as soon as it has. NULL: all are kept, for
                                   whoever looks at them later */
    /* On which each thread of the team stays, `threads` of them; NULL: any. */
    const uint32_t *cores;
    /* Borrowed for the call of exec_create(). */
    struct layout_chooser *layouts; /* NULL: what graph->layouts says, or the rules */
    struct kernel_chooser *kernels; /* NULL: the default ones */
    /* A device that computes what it has kernels for; the thread that dispatches hands them over,
     * and computes the rest itself. NULL: the CPU alone. */
    const struct device_backend *device;
    uint32_t device_number;
    const struct device_choice *choice; /* of it; borrowed likewise; NULL: as it likes */
    uint32_t streams; /* of it: what does not depend on each other may run side by side; 0 is 1 */
    bool offload; /* inputs are copied to the device, and outputs from it, as a part of each run */
};

/**
 * A step: one call of one kernel. A node has at least one, unless it is only another view of its
 * input (Reshape, ...), which costs nothing and has none. Changes of memory layout are steps of
 * their own, of type "Reorder". Valid until exec_destroy().
 */
struct exec_step {
    const char *name;           /* the node's; of a reorder "NODE:reorder" */
    const char *type;           /* the node's operator, or "Reorder" */
    const char *implementation; /* "ref", "avx512", "dnnl:jit:avx512_core", ... */
    const struct node *node;    /* whose work it is; of a reorder the node that needs it */
    const struct value *const *inputs;
    uint32_t input_count;
    const struct value *const *outputs;
    uint32_t output_count;
    size_t workspace_bytes; /* scratch of the kernel while it runs */
    bool is_inner;          /* see exec_inner() */
    const char *device;     /* "cpu:0", "cuda:0" */
    uint32_t stream;        /* of the device */
    bool on_device;         /* not on the CPU; its device moments come when the run is waited for */
};

/** START and KERN of a step are one moment where no observer takes time. */
enum exec_moment {
    /* On the dispatching thread, each step in order. */
    EXEC_HOST_START, /* the step's turn to be issued */
    EXEC_HOST_KERN,  /* right before it is handed to the queue */
    EXEC_HOST_END,   /* handed over */
    /* On the worker, each step in order. */
    EXEC_DEVICE_START, /* taken from the queue */
    EXEC_DEVICE_KERN,  /* right before its kernel */
    EXEC_DEVICE_END,   /* right after it */
};

struct exec_observer {
    void *user;
    /** ticks: ot_clock_ticks() of the moment. Must not block. */
    void (*moment)(void *user, enum exec_moment moment, uint32_t step, uint64_t ticks);
    /** NULL: not wanted. An inner step goes on, on the worker, between EXEC_DEVICE_KERN and
     * EXEC_DEVICE_END of the step that holds it. Must not block. */
    void (*inner)(void *user, enum call_moment moment, uint32_t inner, uint64_t ticks);
    /** On the dispatching thread, where there are several streams of a device; NULL: not wanted. That
     * others may wait for a step is noted, behind it on its stream; the stream of a step is made to
     * wait for another step, before EXEC_HOST_START. */
    void (*mark)(void *user, uint32_t step, uint64_t start_ticks, uint64_t end_ticks);
    void (*wait)(void *user, uint32_t step, uint32_t awaited, uint64_t ticks);
    /** On the dispatching thread, of a run that a device launches as one: then there are no host moments
     *  of steps, and marks and waits are those of the device, with its times: a wait is when its step
     *  begins, a mark when its step ends, before the device moments of that step. NULL: not wanted. */
    void (*launch)(void *user, uint64_t start_ticks, uint64_t end_ticks);
    bool takes_time;   /* `moment` does more than note it: moments that would be one are told apart,
                          so that its time is in none of the others' */
    bool wants_phases; /* of inner steps; else `inner` hears of CALL_START and CALL_END */
};

enum { EXEC_OBSERVERS_MAX = 4 };

enum exec_memory {
    EXEC_MEMORY_INPUTS,  /* what exec_set_input() fills */
    EXEC_MEMORY_ARENA,   /* activations and workspace, shared over time */
    EXEC_MEMORY_WEIGHTS, /* constants in the layout that a kernel wants; constants that are used
                            as the graph holds them are not counted */
    EXEC_MEMORY_DEVICE,  /* of a device: inputs, activations and parameters */
};

/** A piece of memory that the execution holds from exec_create() to exec_destroy(). */
struct exec_chunk {
    enum exec_memory what;
    const void *address;
    size_t bytes;
    const char *name; /* the constant's name; "arena", the input's name */
};

/**
 * graph  with all shapes known; borrowed until exec_destroy(), and not edited until then
 *
 * Returns 0; -ENOTSUP when an operator, or what its attributes or dtypes ask for, has no kernel
 * (diag names the node, its operator and its opset); -EINVAL when a shape is not known; -ENOMEM;
 * -EAGAIN when no thread could be started; -EINVAL when a core cannot be used; what
 * tuning_choose() returns.
 */
int exec_create(const struct graph *graph, const struct exec_options *options,
                struct exec **out_exec, struct diag *diag);

/** Waits for what is queued. Accepts NULL; sets *exec to NULL. */
void exec_destroy(struct exec **exec);

/** While no run is going on. Copies *observer. -ENOSPC after EXEC_OBSERVERS_MAX. Without observers
 *  a run reads no clock. */
int exec_add_observer(struct exec *exec, const struct exec_observer *observer);

/** While no run is going on: the one with the same `user` hears of no further step. */
void exec_remove_observer(struct exec *exec, const struct exec_observer *observer);

/**
 * Copy a tensor into graph->inputs[index]. It stays for all later runs until it is set again; an
 * input that was never set is all zero. Waits until queued runs are done.
 *
 * -EINVAL when dtype or shape are not the graph's (diag tells both), there is no such input, or the
 * graph's shapes were inferred from another content (shape_infer_for()), or its nodes chosen by another (value_learn()).
 */
int exec_set_input(struct exec *exec, uint32_t index, const struct tensor_view *tensor,
                   struct diag *diag);

/** Whether exec_set_input() takes this for an input that there is: its type and shape are the graph's, and what shapes
 *  and nodes were decided by is as it was. */
bool exec_takes_input(const struct exec *exec, uint32_t index, const struct tensor_view *tensor);

/** Queue one run. Never waits for a kernel, except while the queue is full (thousands of steps). */
void exec_dispatch(struct exec *exec);

/**
 * Wait until all that was dispatched is done.
 *
 * Returns 0, or the first failure of a step since the last call (-EINVAL: an index in the data is
 * out of range; -ESTALE: an output has another size than was inferred, and what it was inferred from is not
 * there any more; -EIO: a library failed), whose node diag names; the steps after it in that run were
 * left out.
 */
int exec_wait(struct exec *exec, struct diag *diag);

/**
 * The first step so far whose data would have made an output of another size than was inferred, as how many
 * numbers are above a limit may hang on the last bit of one: it went by what its inputs held when sizes
 * were inferred, and so did all that reads it. NULL: none. Only after exec_wait().
 */
const struct exec_step *exec_resized_step(const struct exec *exec);

/** graph->outputs[index] of the last run, in the execution's memory: valid until the next dispatch.
 *  Only after exec_wait(). -EINVAL when there is no such output, -EIO when a device could not bring it. */
int exec_output(const struct exec *exec, uint32_t index, struct tensor_view *out_tensor);

/** What is to be said of that -EIO. Returns error. */
int exec_tell_output(const struct exec *exec, uint32_t index, int error, struct diag *diag);

uint32_t exec_step_count(const struct exec *exec);
const struct exec_step *exec_step(const struct exec *exec, uint32_t index);

/* What a step reads or writes. */
struct exec_operand {
    const struct value *value;
    bool is_constant; /* the graph's own memory, or weights that a kernel prepared for itself */
    bool is_input;    /* memory of a graph input; neither: in the arena */
    size_t offset;    /* in the arena */
    size_t bytes;
    const void *address;  /* for exec_read() and to tell operands apart */
    bool on_device;       /* nobody else can read it */
    struct layout layout; /* order of the axes there */
};

/**
 * Input (or output) i of a step, as it lies in memory. Returns false when the node leaves it out or
 * nobody reads it, or it is a constant that was freed. The content is what the step reads only
 * until the memory is used for something else: read it before exec_run_step() of this or after it
 * of the step, not at the end of a run.
 */
bool exec_step_input(const struct exec *exec, uint32_t step, uint32_t i,
                     struct exec_operand *out_operand);
bool exec_step_output(const struct exec *exec, uint32_t step, uint32_t i,
                      struct exec_operand *out_operand);

/** False for a parameter that the step's kernel has laid out for itself: the run does not read it.
 */
bool exec_step_reads(const struct exec *exec, uint32_t step, uint32_t input);

/** Copy an operand's content to row-major host memory of operand->bytes bytes. Nothing may be
 *  queued. */
void exec_read(const struct exec *exec, const struct exec_operand *operand, void *out_data);

/**
 * Run one step alone and wait for it: all steps in order are a run, slower than exec_dispatch().
 * Observers hear of it. Errors as exec_wait().
 *
 * out_times  from handing it over until that returned, and until the work was done; may be NULL
 */
struct exec_step_times {
    uint64_t host_ns, e2e_ns;
};
int exec_run_step(struct exec *exec, uint32_t step, struct exec_step_times *out_times,
                  struct diag *diag);

/** Queue a run that does all but compute: it touches the memory that the steps use, so that the
 *  system has it there, and hands over steps that do nothing. Observers do not hear of it. */
void exec_dispatch_fake(struct exec *exec);

/** What exec_dispatch_fake() touches. */
size_t exec_touched_bytes(const struct exec *exec);

/**
 * Free what runs do not need any more of `graph`, which must be the one that this execution was
 * made of: parameters that kernels laid out for themselves, attributes, where nodes came from.
 * Steps can still be run, inputs set, outputs read; nothing else may be asked of the graph or of
 * operands.
 *
 * Returns the bytes of memory that were given back.
 */
size_t exec_release_graph(struct exec *exec, struct graph *graph);

/** Queue a run whose steps do nothing: what the walk over the steps costs by itself. Observers do
 *  not hear of it. */
void exec_dispatch_nothing(struct exec *exec);

/**
 * Inner steps: the nodes in the bodies of If and Loop, one after the other. They are no steps of
 * the execution: their kernels are chosen each time they run, which they do any number of times in
 * a run, or never. Their shapes are those that were inferred; unknown where none were.
 */
uint32_t exec_inner_count(const struct exec *exec);
const struct exec_step *exec_inner(const struct exec *exec, uint32_t index);

/** The step whose bodies hold it. */
uint32_t exec_inner_holder(const struct exec *exec, uint32_t index);

uint32_t exec_chunk_count(const struct exec *exec);
const struct exec_chunk *exec_chunk(const struct exec *exec, uint32_t index);

/* A piece of the arena, and for how long it is needed. */
struct exec_block {
    const struct value *owner; /* the first tensor that lies there; NULL: scratch of one step */
    size_t offset, bytes;
    uint32_t first_step, end_step; /* needed in steps [first, end) */
};

size_t exec_arena_bytes(const struct exec *exec);
uint32_t exec_block_count(const struct exec *exec);
/** out_blocks has room for exec_block_count() of them. */
void exec_blocks(const struct exec *exec, struct exec_block *out_blocks);

/** The step during which most of the arena is needed, and how much; EXEC_NO_STEP, and 0, without
 *  blocks or memory. */
#define EXEC_NO_STEP UINT32_MAX
uint32_t exec_peak_step(const struct exec *exec, size_t *out_bytes);

/** Steps of a kind that there is a library for, and those of them that it computes. */
struct exec_library_steps {
    uint32_t count, by_library;
};

struct exec_library_facts {
    struct exec_library_steps steps;
    const char *name;    /* of the library; NULL: it is not used */
    const char *problem; /* why, or what it could not do; NULL: nothing */
    uint32_t timed;      /* ways to compute that were timed */
    uint32_t recalled;   /* tasks that were decided by what was timed before */
};

/** What the moments of steps of a device are by, in runs that somebody observed, in words: "times of the
 *  device: 3 runs by records of CUPTI 13.5, 1 run by events: ...". False: there were none. Records that a
 *  library makes of kernels and copies need one that fits the driver and that nobody else has; else it is
 *  events before and behind each step. */
enum { EXEC_TIMES_TEXT = 320 };
bool exec_times_text(const struct exec *exec, char out_text[EXEC_TIMES_TEXT]);

/** What a device does in a run, and has been told so far. */
struct exec_device_facts {
    const char *name;                              /* "cuda:0"; NULL: there is none */
    const char *description;                       /* also NULL then */
    uint32_t device_steps, host_steps, copy_steps; /* of the execution; they make up all steps */
    /* Of those over float16 or bfloat16: on the device by kernels that take them, or after converting
     * them to float32 there; on the host. */
    uint32_t half_steps, half_converted_steps, half_host_steps;
    uint64_t copied_in_bytes, copied_out_bytes; /* by a run's own copies, of one run */
    uint64_t parameter_bytes;                   /* copied once, in so many copies of pinned */
    uint32_t parameter_copies;                  /* memory; 0: piece by piece, of other memory */
    uint32_t streams;                           /* that are used */
    uint32_t beside_steps, wait_count;          /* steps not on the first; waits between them */
    bool is_graph;                              /* runs are launched as one */
    struct exec_library_facts products, convolutions;
};
struct exec_device_facts exec_device_facts(const struct exec *exec);

/** Where a constant of the graph lies among the parameters that a device has; false: it has it not. */
bool exec_device_constant(const struct exec *exec, const struct value *value, size_t *out_offset);

/** Threads of the kernels' team. */
uint32_t exec_threads(const struct exec *exec);

#endif
