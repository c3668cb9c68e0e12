/* SPDX-License-Identifier: Apache-2.0 */
/* A ring's memory and its counters of losses. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/ring.h"
#include "tests/support/check.h"

static const struct ot_ring_header header = {
    .magic = OT_RING_MAGIC, .version = OT_RING_VERSION, .record_count = 64, .lane_id = 3};

static void memory_is_sealed(void **state)
{
    struct ot_ring *ring;
    struct stat status;
    struct ot_fd fd;

    CHECK_OK(ot_ring_create(&header, &ring, &fd));
    assert_memory_equal(&ring->header, &header, sizeof(header));
    CHECK_U64(ring->state, 0);
    CHECK_U64(ring->tail, 0);
    CHECK_OK(fstat(fd.number, &status));
    CHECK_U64((uint64_t)status.st_size, ot_ring_bytes(64));
    assert_int_equal(ftruncate(fd.number, 0), -1);
    assert_int_equal(ftruncate(fd.number, 1 << 20), -1);
    assert_int_equal(fcntl(fd.number, F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_true(fcntl(fd.number, F_GETFD) & FD_CLOEXEC);
    ot_ring_destroy(&ring, &fd);
    assert_null(ring);
    assert_int_equal(fd.number, -1);
    ot_ring_destroy(&ring, &fd);
}

static void losses_close_together_share_a_range(void **state)
{
    struct ot_ring *ring;
    struct ot_fd fd;

    CHECK_OK(ot_ring_create(&header, &ring, &fd));
    ot_ring_count_loss(ring, 3, OT_LOSS_RING_FULL, 1000, 100);
    ot_ring_count_loss(ring, 3, OT_LOSS_RING_FULL, 1100, 100);
    CHECK_U64(ring->gaps[0].lost_count, 2);
    CHECK_U64(ring->gaps[0].first_ticks, 1000);
    CHECK_U64(ring->gaps[0].last_ticks, 1100);
    ot_ring_count_loss(ring, 3, OT_LOSS_TOO_DEEP, 1201, 100);
    CHECK_U64(ring->gaps[0].lost_count, 3);
    CHECK_U64(ring->gaps[0].first_ticks, 1201);
    CHECK_U64(ring->gaps[0].last_ticks, 1201);
    assert_int_equal(ring->gaps[0].reason, OT_LOSS_TOO_DEEP);
    ot_ring_destroy(&ring, &fd);
}

static void moved_losses_keep_their_lanes(void **state)
{
    struct ot_ring_header other = header;
    struct ot_ring *from, *to;
    struct ot_fd fds[2];

    other.lane_id = 5;
    CHECK_OK(ot_ring_create(&header, &from, &fds[0]));
    CHECK_OK(ot_ring_create(&other, &to, &fds[1]));
    ot_ring_count_loss(from, 3, OT_LOSS_RING_FULL, 1000, 100);
    ot_ring_count_loss(from, 5, OT_LOSS_TOO_DEEP, 900, 100);
    ot_ring_count_loss(from, 5, OT_LOSS_TOO_DEEP, 950, 100);
    ot_ring_count_loss(to, 5, OT_LOSS_RING_FULL, 1100, 100);
    ot_ring_move_losses(from, to);
    assert_int_equal(to->gaps[0].lane_id, 5);
    CHECK_U64(to->gaps[0].lost_count, 3);
    CHECK_U64(to->gaps[0].first_ticks, 900);
    CHECK_U64(to->gaps[0].last_ticks, 1100);
    assert_int_equal(to->gaps[0].reason, OT_LOSS_RING_FULL);
    assert_int_equal(to->gaps[1].lane_id, 3);
    CHECK_U64(to->gaps[1].lost_count, 1);
    CHECK_U64(to->gaps[1].first_ticks, 1000);
    CHECK_U64(to->gaps[1].last_ticks, 1000);
    assert_int_equal(to->gaps[1].reason, OT_LOSS_RING_FULL);
    ot_ring_destroy(&from, &fds[0]);
    ot_ring_destroy(&to, &fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_sealed),
        cmocka_unit_test(losses_close_together_share_a_range),
        cmocka_unit_test(moved_losses_keep_their_lanes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
