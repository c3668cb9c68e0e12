/* SPDX-License-Identifier: Apache-2.0 */
/* An open device, as the files of kernels/cuda that work on one share it. */
#ifndef OPTRACE_KERNELS_CUDA_DEVICE_H
#define OPTRACE_KERNELS_CUDA_DEVICE_H

#include "kernels/cuda.h"
#include "kernels/cuda/driver.h"
#include "kernels/cuda/launch.h"

struct cuda_range {
    uint64_t address;
    size_t bytes;
    bool is_workspace; /* of a library: see library.c and rehearse.c */
};

struct cuda_upload;
struct cuda_products;
struct cuda_convolutions;

struct kernel_cuda {
    const struct cuda_driver *driver;
    int device;
    void *context, *module;
    void *stream; /* where work is handed over to: one of these */
    void *streams[KERNEL_CUDA_STREAMS_MAX];
    uint32_t stream_count;
    void *functions[CUDA_KERNEL_COUNT]; /* looked up when they are launched first */
    struct cuda_range *ranges;          /* device memory that was given out */
    size_t range_count, range_room;
    void **moments, **marks; /* events with times, and without */
    uint32_t moment_count, mark_count;
    struct cuda_upload *upload; /* NULL: nothing is being brought in pieces */
    uint64_t fault;             /* address of the word, and 8 bytes behind, of an answer */
    bool has_context, is_capturing;
    bool is_rehearsing; /* nothing is handed over */
    struct kernel_cuda_choice choice;
    struct kernel_cuda_chosen chosen;       /* by the last function of the table that was called */
    struct cuda_products *products;         /* NULL: nobody has asked for cuBLASLt yet */
    struct cuda_convolutions *convolutions; /* NULL: nobody has asked for cuDNN yet */
    struct {
        void *memory;
        size_t bytes;
    } workspaces[KERNEL_CUDA_STREAMS_MAX]; /* of both */
    size_t workspace_bytes;                /* of all, with those that became too small */
    void *timers[2];                       /* events; NULL: nothing was timed */
    int failure;                           /* the first; 0: none */
    char problem[KERNEL_CUDA_TEXT_BYTES];
    char description[160];
};

enum { CUDA_NAME_BYTES = 96 };

static inline void *cuda_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static inline uint64_t cuda_address_of(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

/* problem.c: an error of the driver's as an errno, and what the driver calls it. */
int cuda_errno_of(int error);
const char *cuda_name_of(const struct cuda_driver *driver, int error, char out[CUDA_NAME_BYTES]);

/** Keeps the first failure. Returns 0, or what the device has failed with. */
int cuda_checked(struct kernel_cuda *cuda, int error, const char *what);

/* streams.c: one stream more, an error of the driver's; and at the end. */
int cuda_stream_create(struct kernel_cuda *cuda);
void cuda_marks_destroy(struct kernel_cuda *cuda);

/** upload.c: gives back what kernel_cuda_upload() needed. Nothing of it may be under way. */
void cuda_upload_release(struct kernel_cuda *cuda);

/** library.c: at the end. Workspaces go with all memory. */
void cuda_timers_destroy(struct kernel_cuda *cuda);

/** product_plan.c and conv_plan.c: what is known of the libraries; at the end, before the context
 *  goes. */
struct kernel_cuda_library product_library(const struct kernel_cuda *cuda);
struct kernel_cuda_library conv_library(const struct kernel_cuda *cuda);
/* The largest workspace that what they have chosen needs. */
size_t product_workspace(const struct kernel_cuda *cuda);
size_t conv_workspace(const struct kernel_cuda *cuda);
/** What it does then counts only plans that are used again. */
void conv_plans_release(struct kernel_cuda *cuda);
void product_plans_destroy(struct kernel_cuda *cuda);
void conv_plans_destroy(struct kernel_cuda *cuda);

#endif
