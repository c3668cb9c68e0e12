/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Much memory brought to a device: through two pieces of pinned memory by turns, so that the one is
 * filled while the device fetches the other, and what lies side by side there goes as one copy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/device.h"

enum { PIECE_BYTES = 4 << 20, PIECES = 2 };

struct cuda_upload {
    char *memory[PIECES];    /* pinned */
    void *done[PIECES];      /* events: the device has fetched it */
    bool is_fetched[PIECES]; /* else the event was never recorded */
    size_t piece_bytes;
    unsigned turn;
    uint64_t to; /* where the device wants the first byte of the piece */
    size_t filled;
    uint32_t copies;
};

/* Returns an error of the driver's. */
static int open_pieces(struct kernel_cuda *cuda, struct cuda_upload *upload)
{
    int error = 0;

    for (int i = 0; error == 0 && i < PIECES; i++) {
        error = cuda->driver->cuMemHostAlloc((void **)&upload->memory[i], upload->piece_bytes, 0);
        if (error == 0)
            error = cuda->driver->cuEventCreate(&upload->done[i], CUDA_EVENT_WITHOUT_TIME);
    }
    return error;
}

/* Of the time before. */
static void end_pieces(struct kernel_cuda *cuda, const struct cuda_upload *upload)
{
    for (int i = 0; i < PIECES; i++)
        if (upload->is_fetched[i])
            (void)cuda_checked(cuda, cuda->driver->cuEventSynchronize(upload->done[i]),
                               "waiting for an event");
}

int kernel_cuda_upload_begin(struct kernel_cuda *cuda, size_t bytes)
{
    int error;

    if (cuda->upload)
        end_pieces(cuda, cuda->upload);
    if (cuda->failure != 0)
        return cuda->failure;
    cuda_upload_release(cuda);
    cuda->upload = calloc(1, sizeof(*cuda->upload));
    if (!cuda->upload)
        return -ENOMEM;
    cuda->upload->piece_bytes = bytes < PIECE_BYTES ? (bytes ? bytes : 1) : PIECE_BYTES;
    error = open_pieces(cuda, cuda->upload);
    if (error == 0)
        return 0;
    cuda_upload_release(cuda);
    /* Locked memory is scarcer than other: without it copies are slower, and no worse. */
    return error == CUDA_OUT_OF_MEMORY ? 0 : cuda_checked(cuda, error, "pinning memory");
}

static int copy(struct kernel_cuda *cuda, uint64_t to, const void *from, size_t bytes)
{
    return cuda_checked(cuda, cuda->driver->cuMemcpyHtoDAsync_v2(to, from, bytes, cuda->stream),
                        "a copy to it");
}

/* The piece goes, and the other one's turn comes. */
static int send(struct kernel_cuda *cuda, struct cuda_upload *upload)
{
    unsigned turn = upload->turn;

    if (upload->filled == 0)
        return cuda->failure;
    (void)copy(cuda, upload->to, upload->memory[turn], upload->filled);
    if (cuda->failure == 0)
        (void)cuda_checked(cuda, cuda->driver->cuEventRecord(upload->done[turn], cuda->stream),
                           "recording an event");
    upload->is_fetched[turn] = true;
    upload->copies++;
    upload->turn = (turn + 1) % PIECES;
    upload->filled = 0;
    return cuda->failure;
}

static int begin_piece(struct kernel_cuda *cuda, struct cuda_upload *upload, uint64_t to)
{
    upload->to = to;
    if (!upload->is_fetched[upload->turn])
        return 0;
    return cuda_checked(cuda, cuda->driver->cuEventSynchronize(upload->done[upload->turn]),
                        "waiting for an event");
}

int kernel_cuda_upload(struct kernel_cuda *cuda, void *to, const void *from, size_t bytes)
{
    struct cuda_upload *upload = cuda->upload;
    const char *source = from;
    uint64_t at = (uint64_t)(uintptr_t)to;

    if (!upload)
        return cuda->failure != 0 || bytes == 0 ? cuda->failure : copy(cuda, at, from, bytes);
    while (cuda->failure == 0 && bytes > 0) {
        size_t place, part;

        if (at < upload->to || at - upload->to >= upload->piece_bytes)
            (void)send(cuda, upload);
        if (upload->filled == 0 && begin_piece(cuda, upload, at) < 0)
            break;
        place = (size_t)(at - upload->to);
        part = bytes < upload->piece_bytes - place ? bytes : upload->piece_bytes - place;
        if (place > upload->filled) /* a gap, of memory that nobody else fills */
            memset(upload->memory[upload->turn] + upload->filled, 0, place - upload->filled);
        memcpy(upload->memory[upload->turn] + place, source, part);
        upload->filled = place + part;
        source += part;
        bytes -= part;
        at += part;
    }
    return cuda->failure;
}

int kernel_cuda_upload_end(struct kernel_cuda *cuda, uint32_t *out_copies)
{
    *out_copies = 0;
    if (!cuda->upload)
        return cuda->failure;
    (void)send(cuda, cuda->upload);
    *out_copies = cuda->upload->copies;
    return cuda->failure;
}

void cuda_upload_release(struct kernel_cuda *cuda)
{
    struct cuda_upload *upload = cuda->upload;

    cuda->upload = NULL;
    for (int i = 0; upload && i < PIECES; i++) {
        if (upload->done[i])
            (void)cuda->driver->cuEventDestroy_v2(upload->done[i]);
        if (upload->memory[i])
            (void)cuda->driver->cuMemFreeHost(upload->memory[i]);
    }
    free(upload);
}
