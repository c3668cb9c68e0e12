/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping rings and reading memory that somebody else may change at any moment. */
#include "daemon/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/memory.h"

static int check_seals(int fd, struct diag *diag)
{
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0)
        return diag_set(diag, -EPROTO, "RING: the file descriptor is not a memfd");
    if ((seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
        return diag_set(diag, -EPROTO,
                        "RING: the memfd is not sealed against shrinking and growing");
    return 0;
}

/* After the seals, because only then the size stays. */
static int check_size(int fd, const struct ot_wire_ring *announced, ino_t *out_inode,
                      struct diag *diag)
{
    struct stat info;

    if (fstat(fd, &info) < 0)
        return diag_set(diag, -errno, "RING: fstat: %s", strerror(errno));
    if (info.st_size < 0 || (uint64_t)info.st_size != announced->memory_bytes)
        return diag_set(diag, -EPROTO, "RING: the memfd has %lld bytes, not %llu",
                        (long long)info.st_size, (unsigned long long)announced->memory_bytes);
    *out_inode = info.st_ino;
    return 0;
}

int ring_open(int fd, const struct ot_wire_ring *announced, const uint8_t uuid[16],
              struct ring **out_ring, struct diag *diag)
{
    size_t size = (size_t)announced->memory_bytes;
    struct ot_ring_header header;
    struct ring *ring;
    void *memory;
    ino_t inode = 0;
    int rc = check_seals(fd, diag);

    if (rc == 0)
        rc = check_size(fd, announced, &inode, diag);
    if (rc < 0)
        return rc;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return diag_set(diag, errno == EPERM ? -EPROTO : -errno, "RING: mmap: %s", strerror(errno));
    memcpy(&header, memory, sizeof(header));
    rc = ot_ring_check_header(&header, announced, uuid, announced->memory_bytes, diag);
    if (rc < 0) {
        munmap(memory, size);
        return rc;
    }
    ring = memory_zeroed(1, sizeof(*ring));
    ring->reference_count = 1;
    ring->ring_id = announced->ring_id;
    ring->lane_id = announced->lane_id;
    ring->record_count = announced->record_count;
    ring->memory = memory;
    ring->memory_bytes = size;
    ring->inode = inode;
    *out_ring = ring;
    return 0;
}

int ring_check_same(const struct ring *ring, int fd, const struct ot_wire_ring *announced,
                    struct diag *diag)
{
    struct stat info;

    if (announced->lane_id == ring->lane_id && announced->record_count == ring->record_count &&
        fstat(fd, &info) == 0 && info.st_ino == ring->inode)
        return 0;
    return diag_set(diag, -EPROTO, "RING: ring %u is here already, and is another one",
                    ring->ring_id);
}

struct ring *ring_ref(struct ring *ring)
{
    ring->reference_count++;
    return ring;
}

void ring_unref(struct ring **ring)
{
    if (*ring && --(*ring)->reference_count == 0) {
        munmap((*ring)->memory, (*ring)->memory_bytes);
        free(*ring);
    }
    *ring = NULL;
}

int ring_load(const struct ring *ring, uint64_t *out_head, uint32_t *out_depth, struct diag *diag)
{
    uint64_t state = __atomic_load_n(&ring->memory->state, __ATOMIC_ACQUIRE);
    uint64_t head = ot_ring_head(state);
    uint32_t depth = ot_ring_depth(state);

    if (head < ring->read)
        return diag_set(diag, -EPROTO, "ring %u: its head went back from %llu to %llu",
                        ring->ring_id, (unsigned long long)ring->read, (unsigned long long)head);
    if (head - ring->committed > ring->record_count)
        return diag_set(diag, -EPROTO, "ring %u: it holds %llu records, and says %llu",
                        ring->ring_id, (unsigned long long)ring->record_count,
                        (unsigned long long)(head - ring->committed));
    if (depth > OT_RING_DEPTH_MAX)
        return diag_set(diag, -EPROTO, "ring %u: %u spans are open, more than %d", ring->ring_id,
                        depth, OT_RING_DEPTH_MAX);
    *out_head = head;
    *out_depth = depth;
    return 0;
}

uint64_t ring_load_tail(const struct ring *ring)
{
    return __atomic_load_n(&ring->memory->tail, __ATOMIC_RELAXED);
}

bool ring_load_closed(const struct ring *ring)
{
    return __atomic_load_n(&ring->memory->closed, __ATOMIC_ACQUIRE) != 0;
}

void ring_copy(const struct ring *ring, uint64_t first, size_t count,
               struct ot_wire_record *out_record)
{
    size_t index = (size_t)(first & (ring->record_count - 1));
    size_t until_end = (size_t)ring->record_count - index;
    size_t straight = count < until_end ? count : until_end;

    memcpy(out_record, ring->memory->records + index, straight * sizeof(*out_record));
    if (straight < count)
        memcpy(out_record + straight, ring->memory->records,
               (count - straight) * sizeof(*out_record));
}

void ring_copy_open(const struct ring *ring, uint32_t depth, struct ot_wire_record *out_record)
{
    memcpy(out_record, ring->memory->open, depth * sizeof(*out_record));
}

uint64_t ring_take_gap(struct ring *ring, size_t slot, struct ot_ring_gap *out_gap)
{
    const struct ot_ring_gap *shared = &ring->memory->gaps[slot];
    uint64_t lost = __atomic_load_n(&shared->lost_count, __ATOMIC_ACQUIRE);
    uint64_t seen = ring->gap_seen[slot];

    if (lost <= seen || lost > OT_RING_HEAD_MASK)
        return 0;
    memcpy(out_gap, shared, sizeof(*out_gap));
    ring->gap_seen[slot] = lost;
    return lost - seen;
}

void ring_release(struct ring *ring, uint64_t position)
{
    if (position <= ring->committed)
        return;
    ring->committed = position;
    __atomic_store_n(&ring->memory->tail, position, __ATOMIC_RELEASE);
}
