/* SPDX-License-Identifier: Apache-2.0 */
/* Rings from the daemon's end: what is taken for one, reading around the corner, giving room back.
 */
#include "daemon/ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/raw_client.h"

/* Opens a ring that a client made. */
static int open_ring(const struct raw_ring *made, const struct raw_client *client,
                     struct ring **out_ring, struct diag *diag)
{
    return ring_open(made->fd, &made->frame, client->uuid, out_ring, diag);
}

struct fixture {
    struct raw_client client;
    struct raw_ring made;
    struct ring *ring;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct diag diag = {0};

    assert_non_null(fixture);
    raw_init(&fixture->client);
    raw_ring_create(&fixture->made, &fixture->client, 3, 4, 64);
    CHECK_OK(open_ring(&fixture->made, &fixture->client, &fixture->ring, &diag));
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    ring_unref(&fixture->ring);
    raw_ring_destroy(&fixture->made);
    free(fixture);
    return 0;
}

static void put(struct fixture *fixture, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        struct ot_wire_record record = {.kind = OT_RECORD_SPAN, .correlation = i};

        assert_true(raw_ring_put(&fixture->made, &record));
    }
}

static void headers_that_differ_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct ot_ring_header *header = &fixture->made.memory->header;
    const struct ot_ring_header sound = *header;
    struct ring *ring = NULL;

    for (size_t i = 0; i < offsetof(struct ot_ring_header, reserved); i++) {
        struct diag diag = {0};

        ((uint8_t *)header)[i] ^= 0x10;
        assert_int_equal(open_ring(&fixture->made, &fixture->client, &ring, &diag), -EPROTO);
        CHECK_CONTAINS(diag.text, "ring 3");
        assert_null(ring);
        *header = sound;
    }
    ((uint8_t *)header)[offsetof(struct ot_ring_header, reserved)] ^= 0x10; /* is not looked at */
    CHECK_OK(open_ring(&fixture->made, &fixture->client, &ring, NULL));
    ring_unref(&ring);
}

static void a_ring_must_keep_its_size(void **state)
{
    static const int seals[] = {0, F_SEAL_SHRINK, F_SEAL_GROW};
    struct fixture *fixture = *state;
    struct raw_ring made = fixture->made;
    struct ring *ring = NULL;

    for (size_t i = 0; i < sizeof(seals) / sizeof(seals[0]); i++) {
        made.fd = memfd_create("test", MFD_ALLOW_SEALING);
        assert_int_equal(ftruncate(made.fd, (off_t)made.frame.memory_bytes), 0);
        assert_int_equal(fcntl(made.fd, F_ADD_SEALS, seals[i]), 0);
        assert_int_equal(open_ring(&made, &fixture->client, &ring, NULL), -EPROTO);
        close(made.fd);
    }
}

static void records_are_read_around_the_corner(void **state)
{
    struct fixture *fixture = *state;
    struct ot_wire_record records[64];
    struct diag diag = {0};
    uint32_t depth;
    uint64_t head;

    put(fixture, 0, 39);
    CHECK_OK(ring_load(fixture->ring, &head, &depth, &diag));
    CHECK_U64(head, 40);
    fixture->ring->read = 40;
    ring_release(fixture->ring, 40);
    CHECK_U64(fixture->made.memory->tail, 40);
    put(fixture, 40, 103);
    CHECK_OK(ring_load(fixture->ring, &head, &depth, &diag));
    CHECK_U64(head, 104);
    ring_copy(fixture->ring, 40, 64, records);
    for (uint64_t i = 0; i < 64; i++)
        CHECK_U64(records[i].correlation, 40 + i);
}

static void room_is_given_back_once(void **state)
{
    struct fixture *fixture = *state;

    put(fixture, 0, 63);
    ring_release(fixture->ring, 20);
    ring_release(fixture->ring, 10); /* late: nothing happens */
    CHECK_U64(fixture->made.memory->tail, 20);
    CHECK_U64(fixture->ring->committed, 20);
}

static void impossible_numbers_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct diag diag = {0};
    uint32_t depth;
    uint64_t head;

    fixture->made.memory->state = ot_ring_state(64, 120);
    CHECK_OK(ring_load(fixture->ring, &head, &depth, &diag));
    CHECK_U64(depth, 120);
    fixture->made.memory->state = ot_ring_state(65, 0);
    assert_int_equal(ring_load(fixture->ring, &head, &depth, &diag), -EPROTO);
    fixture->made.memory->state = ot_ring_state(64, 121);
    assert_int_equal(ring_load(fixture->ring, &head, &depth, &diag), -EPROTO);
    fixture->ring->read = 10;
    fixture->made.memory->state = ot_ring_state(9, 0);
    assert_int_equal(ring_load(fixture->ring, &head, &depth, &diag), -EPROTO);
    fixture->made.memory->state = UINT64_MAX;
    assert_int_equal(ring_load(fixture->ring, &head, &depth, &diag), -EPROTO);
}

static void losses_are_taken_once(void **state)
{
    struct fixture *fixture = *state;
    struct ot_ring_gap *shared = &fixture->made.memory->gaps[2], gap;

    CHECK_U64(ring_take_gap(fixture->ring, 2, &gap), 0);
    *shared = (struct ot_ring_gap){7, OT_LOSS_TOO_DEEP, 5, 100, 200};
    CHECK_U64(ring_take_gap(fixture->ring, 2, &gap), 5);
    CHECK_U64(gap.lane_id, 7);
    CHECK_U64(ring_take_gap(fixture->ring, 2, &gap), 0);
    shared->lost_count = 8;
    CHECK_U64(ring_take_gap(fixture->ring, 2, &gap), 3);
    shared->lost_count = 2; /* it only grows */
    CHECK_U64(ring_take_gap(fixture->ring, 2, &gap), 0);
    shared->lost_count = UINT64_MAX; /* nobody loses that much */
    CHECK_U64(ring_take_gap(fixture->ring, 2, &gap), 0);
    CHECK_U64(fixture->ring->gap_seen[2], 8);
}

static void the_same_ring_may_be_handed_over_again(void **state)
{
    struct fixture *fixture = *state;
    struct raw_ring other;
    struct diag diag = {0};

    CHECK_OK(ring_check_same(fixture->ring, fixture->made.fd, &fixture->made.frame, &diag));
    raw_ring_create(&other, &fixture->client, 3, 4, 64);
    assert_int_equal(ring_check_same(fixture->ring, other.fd, &other.frame, &diag), -EPROTO);
    raw_ring_destroy(&other);
}

static void a_reference_keeps_the_memory(void **state)
{
    struct fixture *fixture = *state;
    struct ring *second = ring_ref(fixture->ring), *first = fixture->ring;

    ring_unref(&first);
    assert_null(first);
    put(fixture, 0, 0);
    ring_release(second, 1);
    CHECK_U64(fixture->made.memory->tail, 1);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(headers_that_differ_are_refused),
        WITH_FIXTURE(a_ring_must_keep_its_size),
        WITH_FIXTURE(records_are_read_around_the_corner),
        WITH_FIXTURE(room_is_given_back_once),
        WITH_FIXTURE(impossible_numbers_are_refused),
        WITH_FIXTURE(losses_are_taken_once),
        WITH_FIXTURE(the_same_ring_may_be_handed_over_again),
        WITH_FIXTURE(a_reference_keeps_the_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
