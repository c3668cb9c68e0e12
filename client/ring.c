/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory for one thread's records. */
#include "client/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
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

static int make_memory(size_t bytes)
{
    int fd = memfd_create("optrace-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("optrace-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        int error = errno;

        close(fd);
        return -error;
    }
    return fd;
}

int ot_ring_create(const struct ot_ring_header *header, struct ot_ring **out_ring, int *out_fd)
{
    const size_t bytes = ot_ring_bytes(header->record_count);
    struct ot_ring *ring;
    int fd = make_memory(bytes);

    if (fd < 0)
        return fd;
    ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED) {
        int error = errno;

        close(fd);
        return -error;
    }
    madvise(ring, bytes, MADV_DONTDUMP); /* the daemon has it: core dumps need not */
    memcpy(&ring->header, header, sizeof(*header));
    *out_ring = ring;
    *out_fd = fd;
    return 0;
}

void ot_ring_destroy(struct ot_ring **ring, int *fd)
{
    if (!*ring)
        return;
    munmap(*ring, ot_ring_bytes((*ring)->header.record_count));
    close(*fd);
    *ring = NULL;
    *fd = -1;
}

void ot_ring_count_gap(struct ot_ring_gap *gap, enum ot_wire_loss reason, uint64_t now,
                       uint64_t pause_ticks)
{
    if (gap->lost_count == 0 || now - gap->last_ticks > pause_ticks)
        __atomic_store_n(&gap->first_ticks, now, __ATOMIC_RELAXED);
    __atomic_store_n(&gap->last_ticks, now, __ATOMIC_RELAXED);
    __atomic_store_n(&gap->reason, (uint32_t)reason, __ATOMIC_RELAXED);
    __atomic_store_n(&gap->lost_count, gap->lost_count + 1, __ATOMIC_RELEASE);
}

void ot_ring_count_loss(struct ot_ring *ring, uint32_t lane_id, enum ot_wire_loss reason,
                        uint64_t now, uint64_t pause_ticks)
{
    unsigned slot = 0;

    /* The first slot is the ring's own lane's; others are taken as lanes come; the last one also
     * counts for lanes that find none. */
    if (lane_id != ring->header.lane_id) {
        for (slot = 1; slot < OT_RING_GAPS - 1; slot++) {
            if (ring->gaps[slot].lost_count == 0 || ring->gaps[slot].lane_id == lane_id)
                break;
        }
    }
    if (ring->gaps[slot].lost_count == 0)
        __atomic_store_n(&ring->gaps[slot].lane_id, lane_id, __ATOMIC_RELAXED);
    ot_ring_count_gap(&ring->gaps[slot], reason, now, pause_ticks);
}
