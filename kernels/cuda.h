/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU of NVIDIA's: its memory, its queue, and a table of kernels with the contracts of kernels.h
 * whose addresses are the device's. Nothing of NVIDIA's is needed to build this, and libcuda.so.1
 * is opened when a device is.
 *
 * Order of calls: kernel_cuda_open(); memory; then, around functions of the table,
 * kernel_cuda_use(); kernel_cuda_wait() before results are looked at; kernel_cuda_close().
 *
 * The functions of the table hand work over and return. Like all that returns an int here, they do
 * nothing any more after a failure: kernel_cuda_problem() says it in words, and every later call
 * returns it. One thread at a time per device; several may each open the same one.
 */
#ifndef OPTRACE_KERNELS_CUDA_H
#define OPTRACE_KERNELS_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_cuda;
struct kernel_cuda_graph;
struct kernel_table;

enum { KERNEL_CUDA_TEXT_BYTES = 320, KERNEL_CUDA_STREAMS_MAX = 16, KERNEL_CUDA_WAY_BYTES = 48 };

/** The version of every kernel in the table; the address tells it from others of this name. */
extern const char kernel_cuda_version[];

/**
 * Open a device, with a stream of its own, and load the kernels.
 *
 * out_text  a sentence, on failure
 *
 * Returns 0; -ENODEV without a driver or a device; -EINVAL when there is no device of this number;
 * -ENOTSUP when this build has no kernels or none for the device or its driver; -ENOMEM; -EIO.
 */
int kernel_cuda_open(int number, struct kernel_cuda **out_cuda,
                     char out_text[KERNEL_CUDA_TEXT_BYTES]);

/** Waits for what was handed over, gives everything back. Accepts NULL; sets *cuda to NULL. */
void kernel_cuda_close(struct kernel_cuda **cuda);

/** "NVIDIA H100, compute capability 9.0, driver 13.5"; as long as it is open. */
const char *kernel_cuda_describe(const struct kernel_cuda *cuda);

/** What went wrong first, as a sentence; "" when nothing did. */
const char *kernel_cuda_problem(const struct kernel_cuda *cuda);

/** Device memory, not cleared, until kernel_cuda_close(); bytes may be 0. -ENOMEM is no lasting
 *  failure. */
int kernel_cuda_alloc(struct kernel_cuda *cuda, size_t bytes, void **out_memory);

/** Before that. Accepts NULL; waits for all streams. Where the device has failed the memory stays until
 *  closing. */
void kernel_cuda_free(struct kernel_cuda *cuda, void *memory);

/** Bytes of device memory that nobody has. */
size_t kernel_cuda_room(struct kernel_cuda *cuda);

/** Hand over: zeros; a copy to the device from ordinary memory, which may change at once. */
int kernel_cuda_clear(struct kernel_cuda *cuda, void *to, size_t bytes);
int kernel_cuda_put(struct kernel_cuda *cuda, void *to, const void *from, size_t bytes);

/**
 * Much memory, by way of pinned memory: begin(), upload() for pieces that lie on the device in
 * ascending order, end(), which hands the last over. Gaps of less than some megabytes between them
 * are overwritten. `from` may change at once. Where memory cannot be pinned it goes as by
 * kernel_cuda_put().
 *
 * bytes       in all, gaps included
 * out_copies  of pinned memory; 0: none could be had
 */
int kernel_cuda_upload_begin(struct kernel_cuda *cuda, size_t bytes);
int kernel_cuda_upload(struct kernel_cuda *cuda, void *to, const void *from, size_t bytes);
int kernel_cuda_upload_end(struct kernel_cuda *cuda, uint32_t *out_copies);

/** A copy from the device; waits for it, and for what was handed over to its stream before. */
int kernel_cuda_get(struct kernel_cuda *cuda, void *to, const void *from, size_t bytes);

/** Until all that was handed over is done. Outside of its file, for tests. */
int kernel_cuda_wait(struct kernel_cuda *cuda);

/**
 * Let the calling thread's table functions work on this device; NULL: on none.
 *
 * mark  not 0: what kernel_cuda_fault() tells when a kernel meets an index out of range
 * is_awaited  functions that can fail for an index wait, and say so themselves
 */
void kernel_cuda_use(struct kernel_cuda *cuda, uint32_t mark, bool is_awaited);

/** The first mark whose kernel met an index out of range since the last call; 0: none. Waits. */
int kernel_cuda_fault(struct kernel_cuda *cuda, uint32_t *out_mark);

/** Fill in the kernels that there are; the functions of the others are NULL. */
void kernel_cuda_table(struct kernel_table *out_table);

/* What computes products and convolutions: cuBLASLt and cuDNN where this machine has them and they
 * take them, each opened when the first comes; else own kernels. */

enum kernel_cuda_task {
    KERNEL_CUDA_OTHER, /* own kernels alone */
    KERNEL_CUDA_PRODUCT,
    KERNEL_CUDA_CONVOLUTION,
};

/** A way to compute something, that was timed. */
struct kernel_cuda_way {
    char name[KERNEL_CUDA_WAY_BYTES]; /* one line */
    uint64_t time_ns, workspace_bytes;
};

/** What was timed before, and will be wanted again: kept by the caller. `task` is a line of text that
 *  says all that the choice hangs on but the device and its driver. */
struct kernel_cuda_memory {
    void *user;
    /** The ways that are known of a task, the fastest first. Returns how many, at most `most`. */
    int (*recall)(void *user, const char *task, struct kernel_cuda_way *out_ways, int most);
    /** In any order, at least one. */
    void (*keep)(void *user, const char *task, const struct kernel_cuda_way *ways, int count);
};

struct kernel_cuda_choice {
    bool times;       /* what they propose, and the own kernel: the fastest is taken; else their
                                 first proposal */
    bool allows_tf32; /* they may round float32 to TF32 */
    uint64_t workspace_limit;                /* bytes for each stream; UINT64_MAX: as they like */
    const struct kernel_cuda_memory *memory; /* NULL: none; what it knows is not timed again */
};

/** Before anything is computed. */
void kernel_cuda_choose_by(struct kernel_cuda *cuda, const struct kernel_cuda_choice *choice);

/** While it is on, functions of the table decide what will compute, with times by the memory that
 *  they are given, and do nothing else. Then runs need no memory that is not there, and can be a
 *  graph's. */
void kernel_cuda_rehearse(struct kernel_cuda *cuda, bool is_on);

/** What computes the last of such among the functions of the table called since kernel_cuda_use(). */
struct kernel_cuda_chosen {
    enum kernel_cuda_task task;
    /* "cublasLt:3", "cudnn:34", until kernel_cuda_close(); NULL: own kernels. */
    const char *version;
};
struct kernel_cuda_chosen kernel_cuda_chosen(const struct kernel_cuda *cuda);

struct kernel_cuda_library {
    bool is_asked;       /* there was such a task */
    const char *name;    /* "cuBLASLt 13.2"; NULL: it is not used, or not asked for */
    const char *problem; /* why; or what it could not do for one; "" */
    uint32_t timed;      /* proposals and own kernels */
    uint32_t recalled;   /* tasks that were decided by what was timed before */
};

/** task  not KERNEL_CUDA_OTHER */
struct kernel_cuda_library kernel_cuda_library(const struct kernel_cuda *cuda,
                                               enum kernel_cuda_task task);

/** How long it takes to do what `item` hands over, which a rehearsal has seen: the least of some times, in
 *  ns. */
int kernel_cuda_time(struct kernel_cuda *cuda, void (*item)(void *argument), void *argument,
                     uint64_t *out_ns);

/** Of the device's memory, for all streams: what both have for a workspace. */
uint64_t kernel_cuda_workspace_bytes(const struct kernel_cuda *cuda);

/* What the device can do at best. */

struct kernel_cuda_peak {
    double f32_flops;    /* fused multiply-adds of float32 per second, each counted as two */
    double copy_bytes_s; /* bytes per second that are read and written as memory is copied */
    size_t copy_bytes;   /* of which: 256 MiB, or a quarter of what was free */
    uint32_t processors;
};

/** The best of several rounds each. Nothing else may be handed over; takes a second or less, and
 *  memory until kernel_cuda_close(). Returns 0 or what the device has failed with. */
int kernel_cuda_measure(struct kernel_cuda *cuda, struct kernel_cuda_peak *out_peak);

/* Times */

/** Room for so many moments, numbered from 0. */
int kernel_cuda_make_moments(struct kernel_cuda *cuda, uint32_t count);
/** Note the moment when what was handed over so far is done; within a graph at each of its launches anew. */
int kernel_cuda_note(struct kernel_cuda *cuda, uint32_t moment);
/** Until that has come. */
int kernel_cuda_await(struct kernel_cuda *cuda, uint32_t moment);
/** Of two moments that have come: ns from the one to the other, in steps of about 500. */
int kernel_cuda_between(struct kernel_cuda *cuda, uint32_t from, uint32_t to, int64_t *out_ns);

/* Streams: work is handed over to the one that was chosen last, number 0 at first, and done there in
 * order. Of another nothing is known but by marks, numbered from 0. */

/** So many in all, at most KERNEL_CUDA_STREAMS_MAX. */
int kernel_cuda_make_streams(struct kernel_cuda *cuda, uint32_t count);
void kernel_cuda_choose(struct kernel_cuda *cuda, uint32_t stream);
/** Room for so many marks. */
int kernel_cuda_make_marks(struct kernel_cuda *cuda, uint32_t count);
/** What was handed over to the chosen stream so far. */
int kernel_cuda_mark(struct kernel_cuda *cuda, uint32_t mark);
/** The chosen stream does nothing further before that is done. */
int kernel_cuda_follow(struct kernel_cuda *cuda, uint32_t mark);

/* Graphs: what is handed over between begin and end is not done but kept, to be launched at once.
 * Copies from and to memory that is not pinned are not allowed in between. */
int kernel_cuda_graph_begin(struct kernel_cuda *cuda);
int kernel_cuda_graph_end(struct kernel_cuda *cuda, struct kernel_cuda_graph **out_graph);
int kernel_cuda_graph_launch(struct kernel_cuda *cuda, struct kernel_cuda_graph *graph);
void kernel_cuda_graph_destroy(struct kernel_cuda *cuda, struct kernel_cuda_graph **graph);

#endif
