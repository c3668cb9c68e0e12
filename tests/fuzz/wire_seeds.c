/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the seeds of the fuzz target `wire` into a folder: tests/fuzz/wire_seeds corpus/wire */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/seed.h"
#include "tests/support/wire_sample.h"

int main(int argc, char **argv)
{
    const struct ot_ring_header ring = {.magic = OT_RING_MAGIC,
                                        .version = OT_RING_VERSION,
                                        .record_bytes = sizeof(struct ot_wire_record),
                                        .depth_max = OT_RING_DEPTH_MAX,
                                        .record_count = 64,
                                        .ring_id = 1,
                                        .lane_id = 1};
    const struct ot_wire_hello_more more = {.start_ns = 1700000000000000000};
    uint8_t bytes[WIRE_SAMPLE_MAX];
    size_t size;
    int with_more;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (uint32_t type = OT_FRAME_HELLO; type <= WIRE_SAMPLE_LAST; type++) {
        if (!wire_sample_exists(type))
            continue;
        size = wire_sample_frame(type, bytes);
        seed_write(argv[1], ot_wire_frame_name(type), bytes, size);
    }
    size = wire_sample_frame(OT_FRAME_HELLO, bytes);
    with_more = ot_wire_append_hello(&more, bytes, size, sizeof(bytes));
    if (with_more < 0)
        abort();
    seed_write(argv[1], "HELLO_more", bytes, (size_t)with_more);
    size = wire_sample_client(bytes);
    seed_write(argv[1], "client", bytes, size);
    /* The records alone, as they lie in a ring. */
    size = wire_sample_frame(OT_FRAME_EVENTS, bytes);
    seed_write(argv[1], "records", bytes + sizeof(struct ot_wire_events),
               size - sizeof(struct ot_wire_events));
    size = wire_sample_daemon(bytes);
    seed_write(argv[1], "daemon", bytes, size);
    seed_write(argv[1], "ring", &ring, sizeof(ring));
    return 0;
}
