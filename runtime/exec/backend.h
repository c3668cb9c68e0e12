/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device can do for an execution: hold memory, take copies, work a queue off.
 *
 * Each backend is one constant of this type. All functions are called by one thread, the one that
 * dispatches, except for what a queue's own worker does.
 */
#ifndef OPTRACE_RUNTIME_EXEC_BACKEND_H
#define OPTRACE_RUNTIME_EXEC_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct backend_queue;

/** One item of a queue. Runs on the queue's worker. */
typedef void backend_item_fn(void *argument);

struct backend_queue_config {
    uint32_t threads;      /* of the team that the kernels use, the worker included; at least 1 */
    bool is_inline;        /* no worker: the thread that pushes leads the team */
    const uint32_t *cores; /* one for each thread of the team, the leader first; NULL: any */
};

struct backend {
    const char *name; /* "cpu" */

    /** 64-byte aligned device memory, all zero; NULL when there is none left. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory, size_t bytes);

    /** Host memory to device memory. The queue must be idle. */
    void (*copy_in)(void *device, const void *host, size_t bytes);

    /**
     * A queue with one worker, or without: pushing an item then runs it at once.
     *
     * Returns 0; -ENOMEM; -EAGAIN; -EINVAL when a core cannot be used.
     */
    int (*queue_create)(const struct backend_queue_config *config,
                        struct backend_queue **out_queue);

    /** Finishes what is queued. Accepts NULL. */
    void (*queue_destroy)(struct backend_queue *queue);

    /** Items run one after the other, in order. Waits only while the queue is full. */
    void (*queue_push)(struct backend_queue *queue, backend_item_fn *item, void *argument);

    /** Until every item pushed so far has run. What the items wrote is then visible. */
    void (*queue_wait)(struct backend_queue *queue);
};

extern const struct backend backend_cpu;

struct device;
struct kernel_table;

/** A way to compute something, that was timed. */
struct device_way {
    char name[48]; /* one line */
    uint64_t time_ns, workspace_bytes;
};

/** What was timed on devices before, kept by the caller; `device` is what describe() says, `task` a line.
 *  Executions of several threads may call it. */
struct device_memory {
    /** The fastest first. Returns how many, at most `most`. */
    int (*recall)(struct device_memory *memory, const char *device, const char *task,
                  struct device_way *out_ways, int most);
    void (*keep)(struct device_memory *memory, const char *device, const char *task,
                 const struct device_way *ways, int count);
    /** When all of an execution is decided. Returns 0 or a negative errno, which exec_create() returns. */
    int (*settle)(struct device_memory *memory, struct diag *diag);
};

/** How what computes products and convolutions is chosen on a device. */
struct device_choice {
    bool times;       /* what a library proposes, and the own kernel; the fastest is taken */
    bool allows_tf32; /* float32 may be rounded to ten bits behind the point */
    uint64_t workspace_limit;     /* bytes for each stream; UINT64_MAX: none is set */
    struct device_memory *memory; /* NULL: none */
};

/** What a device can do at best. */
struct device_peak {
    double flop_per_s;  /* multiply-adds of float32, each counted as two */
    double bytes_per_s; /* read and written by a copy of so many: */
    size_t copied_bytes;
    uint32_t processors;
};

/** What a device has libraries for. */
enum device_task { DEVICE_OTHER, DEVICE_PRODUCT, DEVICE_CONVOLUTION, DEVICE_TASKS };

/** When a step ran, in ns of CLOCK_REALTIME; all 0: nothing was recorded of it. */
struct device_span {
    uint64_t start_ns, kern_ns, end_ns; /* kern: of its first kernel; 0: it has none */
};

/** A library that a device was asked for. */
struct device_library {
    bool is_asked;
    const char *name;    /* "cuBLASLt 13.2"; NULL: it is not used */
    const char *problem; /* why, or what it could not do; "" */
    uint32_t timed;      /* ways to compute that were timed */
    uint32_t recalled;   /* tasks that were decided by what was timed before */
};

/**
 * A device with memory of its own beside the CPU's, to which kernels are handed over. What is handed
 * over is done in order. One thread uses it: the one that dispatches.
 *
 * After a failure nothing is done any more, and every call returns it; problem() says it. A device
 * that this build does not have is all NULL.
 */
struct device_backend {
    const char *name; /* "cuda" */

    /** -ENODEV, -ENOMEM, -EIO; diag says why. */
    int (*open)(uint32_t number, struct device **out_device, struct diag *diag);
    /** Waits, and gives everything back. Accepts NULL; sets *device to NULL. */
    void (*close)(struct device **device);
    const char *(*describe)(const struct device *device);
    const char *(*problem)(const struct device *device);

    /** The kernels that it has; their version is the one that is_own() knows by its address. */
    void (*kernels)(struct kernel_table *out_table);
    bool (*is_own)(const char *version);

    /** Not cleared. -ENOSPC when the device has no room. Given back by close(). */
    int (*alloc)(struct device *device, size_t bytes, void **out_memory);
    /** Accepts NULL. Waits. */
    void (*give_back)(struct device *device, void *memory);
    size_t (*room)(struct device *device); /* bytes that nobody has */
    int (*clear)(struct device *device, void *to, size_t bytes);
    /** Returns as soon as `from` may change. */
    int (*copy_in)(struct device *device, void *to, const void *from, size_t bytes);
    /* Much memory, in ascending order of `to`: begin, pieces, end. out_copies: of pinned memory. */
    int (*upload_begin)(struct device *device, size_t bytes);
    int (*upload)(struct device *device, void *to, const void *from, size_t bytes);
    int (*upload_end)(struct device *device, uint32_t *out_copies);
    /** Waits. */
    int (*copy_out)(struct device *device, void *to, const void *from, size_t bytes);

    /** Kernels that this thread calls from now on belong to this step; to none. */
    int (*begin_step)(struct device *device, uint32_t step);
    void (*end_step)(struct device *device);
    /** Until all is done. out_failed  the step of an index out of range, else UINT32_MAX */
    int (*wait)(struct device *device, uint32_t *out_failed);

    /* Streams: work goes to the one that was chosen last, number 0 at first. Marks, numbered from 0,
     * are for others to follow. */
    int (*make_streams)(struct device *device, uint32_t count);
    void (*choose)(struct device *device, uint32_t stream);
    int (*make_marks)(struct device *device, uint32_t count);
    int (*mark)(struct device *device, uint32_t mark);
    int (*follow)(struct device *device, uint32_t mark);

    /* Products and convolutions: how they are chosen, before anything is computed. While a rehearsal is
     * on, steps decide what will compute them, and nothing else. Then, of the step that began last: what
     * it is; out_version  of the library's kernel, as long as the device; NULL: an own one. */
    void (*choose_by)(struct device *device, const struct device_choice *choice);
    void (*rehearse)(struct device *device, bool is_on);
    enum device_task (*chosen)(const struct device *device, const char **out_version);
    struct device_library (*library)(const struct device *device, enum device_task task);
    uint64_t (*workspace_bytes)(const struct device *device); /* of its memory, for all libraries */
    /** How long it takes to do what `item` hands over: the least of some times. After a rehearsal. */
    int (*time)(struct device *device, void (*item)(void *argument), void *argument,
                uint64_t *out_ns);

    /** Of a device that nothing else is handed over to. */
    int (*measure)(struct device *device, struct device_peak *out_peak);

    /* Moments, numbered from 0: when what was handed over so far is done; in a run that is kept as a whole
     * at each replay anew. Moment 0 is awaited. */
    int (*make_moments)(struct device *device, uint32_t count);
    int (*note)(struct device *device, uint32_t moment);
    int (*await)(struct device *device, uint32_t moment);
    int (*since_first)(struct device *device, uint32_t moment, int64_t *out_ns);

    /* Records that a tool's library makes of what runs, which say more than moments do. Before the first
     * step of a run, all others being done; once all is done, spans by step, until the next begin. Both
     * return NULL, or why there are none or not all: a text that stays. records_name: "CUPTI 13.5". */
    const char *(*records_begin)(struct device *device, uint32_t steps);
    const char *(*records_end)(struct device *device, const struct device_span **out_spans);
    const char *(*records_name)(const struct device *device);

    /* A run that is kept as a whole, in place of the one before: what is handed over in between. */
    int (*record_begin)(struct device *device);
    int (*record_end)(struct device *device);
    int (*replay)(struct device *device);
};

extern const struct device_backend device_cuda;

#endif
