/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory for one thread's records. */
#include "client/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static_assert(offsetof(struct ot_wire_record, op_id) == 4 &&
                  offsetof(struct ot_wire_record, run) == 12 &&
                  offsetof(struct ot_wire_record, start_ticks) == 8 * OT_WORD_START &&
                  offsetof(struct ot_wire_record, end_ticks) == 8 * OT_WORD_END &&
                  offsetof(struct ot_wire_record, kern_ticks) == 8 * OT_WORD_KERN &&
                  offsetof(struct ot_wire_record, correlation) == 8 * OT_WORD_CORRELATION &&
                  offsetof(struct ot_wire_record, bytes) == 8 * OT_WORD_BYTES &&
                  offsetof(struct ot_wire_record, address) == 8 * OT_WORD_ADDRESS,
              "words of a record");

/* What the system raises where a file is to grow beyond the limit kills a program that does not
 * expect it. So the limit is looked at first; and if somebody lowers it meanwhile, the signal,
 * which is sent to this thread alone, is taken back. */
static int set_size(int fd, size_t bytes)
{
    struct rlimit limit;
    sigset_t too_big, before;
    int rc;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        return -EFBIG;
    sigemptyset(&too_big);
    sigaddset(&too_big, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_big, &before);
    rc = ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
    if (rc == -EFBIG)
        sigtimedwait(&too_big, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static int make_memory(size_t bytes, struct ot_fd *out_fd)
{
    int number = memfd_create("optrace-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    int rc;

    if (number < 0 && errno == EINVAL)
        number = memfd_create("optrace-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    rc = number < 0 ? -errno : ot_fd_take(number, out_fd);
    if (rc < 0)
        return rc;
    rc = set_size(out_fd->number, bytes);
    if (rc == 0 &&
        fcntl(out_fd->number, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        rc = -errno;
    if (rc < 0)
        ot_fd_close(out_fd);
    return rc;
}

/* Pages from byte `start` to before byte `end`. */
static int populate(struct ot_ring *ring, const struct ot_fd *fd, size_t start, size_t end)
{
    if (madvise((uint8_t *)ring + start, end - start, MADV_POPULATE_WRITE) == 0)
        return 0;
    /* EFAULT is where a store would end in SIGBUS. */
    if (errno == EFAULT || errno == ENOMEM || errno == EHWPOISON)
        return -ENOMEM;
    if (!ot_fd_is_ours(fd))
        return -EBADF;
    while (fallocate(fd->number, 0, (off_t)start, (off_t)(end - start)) < 0) {
        if (errno == ENOMEM || errno == ENOSPC)
            return -ENOMEM;
        if (errno != EINTR)
            return 0; /* nobody knows */
    }
    return 0;
}

int ot_ring_populate(struct ot_ring *ring, const struct ot_fd *fd, uint64_t first, uint64_t end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return populate(ring, fd, ot_ring_bytes(first) / page * page, ot_ring_bytes(end));
}

int ot_ring_create(const struct ot_ring_header *header, struct ot_ring **out_ring,
                   struct ot_fd *out_fd)
{
    const size_t bytes = ot_ring_bytes(header->record_count);
    struct ot_ring *ring;
    struct ot_fd fd;
    int rc = make_memory(bytes, &fd);

    if (rc < 0)
        return rc;
    ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.number, 0);
    if (ring == MAP_FAILED) {
        rc = -errno;
        ot_fd_close(&fd);
        return rc;
    }
    madvise(ring, bytes, MADV_DONTDUMP); /* the daemon has it: core dumps need not */
    rc = populate(ring, &fd, 0, OT_RING_RECORDS_OFFSET);
    if (rc < 0) {
        munmap(ring, bytes);
        ot_fd_close(&fd);
        return rc;
    }
    memcpy(&ring->header, header, sizeof(*header));
    *out_ring = ring;
    *out_fd = fd;
    return 0;
}

void ot_ring_explain(int error, uint64_t record_count, char *out_text, size_t bytes)
{
    switch (-error) {
    case EFBIG:
        snprintf(out_text, bytes,
                 "it needs %zu bytes, more than a file may have (ulimit -f): raise the limit, or "
                 "lower OPTRACE_RING_RECORDS",
                 ot_ring_bytes(record_count));
        break;
    case EMFILE:
        snprintf(out_text, bytes, "the program has as many open files as it may (ulimit -n)");
        break;
    case ENOMEM:
        snprintf(out_text, bytes,
                 "there is no memory of %zu bytes (ulimit -v): lower OPTRACE_RING_RECORDS",
                 ot_ring_bytes(record_count));
        break;
    case ENOSPC:
        snprintf(out_text, bytes, "those of the other threads take all that a program may have");
        break;
    default:
        snprintf(out_text, bytes, "%s", strerror(-error));
    }
}

void ot_ring_destroy(struct ot_ring **ring, struct ot_fd *fd)
{
    if (!*ring)
        return;
    munmap(*ring, ot_ring_bytes((*ring)->header.record_count));
    ot_fd_close(fd);
    *ring = NULL;
}

/* The same for one slot. */
static void count_gap(struct ot_ring_gap *gap, enum ot_wire_loss reason, uint64_t now,
                      uint64_t pause_ticks)
{
    if (gap->lost_count == 0 || now - gap->last_ticks > pause_ticks)
        __atomic_store_n(&gap->first_ticks, now, __ATOMIC_RELAXED);
    __atomic_store_n(&gap->last_ticks, now, __ATOMIC_RELAXED);
    __atomic_store_n(&gap->reason, (uint32_t)reason, __ATOMIC_RELAXED);
    __atomic_store_n(&gap->lost_count, gap->lost_count + 1, __ATOMIC_RELEASE);
}

/* The first slot is the ring's own lane's; others are taken as lanes come; the last one also counts
 * for lanes that find none. */
static struct ot_ring_gap *find_gap(struct ot_ring *ring, uint32_t lane_id)
{
    unsigned slot = 0;

    if (lane_id != ring->header.lane_id) {
        for (slot = 1; slot < OT_RING_GAPS - 1; slot++) {
            if (ring->gaps[slot].lost_count == 0 || ring->gaps[slot].lane_id == lane_id)
                break;
        }
    }
    if (ring->gaps[slot].lost_count == 0)
        __atomic_store_n(&ring->gaps[slot].lane_id, lane_id, __ATOMIC_RELAXED);
    return &ring->gaps[slot];
}

void ot_ring_count_loss(struct ot_ring *ring, uint32_t lane_id, enum ot_wire_loss reason,
                        uint64_t now, uint64_t pause_ticks)
{
    count_gap(find_gap(ring, lane_id), reason, now, pause_ticks);
}

void ot_ring_move_losses(const struct ot_ring *from, struct ot_ring *to)
{
    for (unsigned slot = 0; slot < OT_RING_GAPS; slot++) {
        const struct ot_ring_gap *old = &from->gaps[slot];
        struct ot_ring_gap *gap;

        if (old->lost_count == 0)
            continue;
        gap = find_gap(to, old->lane_id);
        if (gap->lost_count == 0 || old->first_ticks < gap->first_ticks)
            gap->first_ticks = old->first_ticks;
        if (old->last_ticks >= gap->last_ticks) {
            gap->last_ticks = old->last_ticks;
            gap->reason = old->reason;
        }
        gap->lost_count += old->lost_count;
    }
}
