/* SPDX-License-Identifier: Apache-2.0 */
/* Names for kept rings, and reading back what they are. */
#include "daemon/keep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void make_name(const struct session *session, uint32_t ring_id,
                      char out_name[NOTIFY_NAME_BYTES])
{
    snprintf(out_name, NOTIFY_NAME_BYTES, "ring-%lld-%u", (long long)session->session_id, ring_id);
}

/* Its place in the list, or the list's length. */
static size_t find_kept(const struct session *session, uint32_t ring_id)
{
    size_t i = 0;

    while (i < session->kept_rings.count && session->kept_rings.items[i] != ring_id)
        i++;
    return i;
}

void keep_ring(struct session *session, uint32_t ring_id, int fd)
{
    char name[NOTIFY_NAME_BYTES];

    if (!notify_is_active() || find_kept(session, ring_id) < session->kept_rings.count)
        return;
    memory_must(array_push(&session->kept_rings, ring_id));
    make_name(session, ring_id, name);
    notify_keep(name, fd);
}

void keep_forget_ring(struct session *session, uint32_t ring_id)
{
    size_t index = find_kept(session, ring_id);
    char name[NOTIFY_NAME_BYTES];

    if (index == session->kept_rings.count)
        return;
    session->kept_rings.items[index] = session->kept_rings.items[--session->kept_rings.count];
    make_name(session, ring_id, name);
    notify_forget(name);
}

void keep_forget_session(struct session *session)
{
    while (session->kept_rings.count > 0)
        keep_forget_ring(session, session->kept_rings.items[0]);
}

int keep_identify(int fd, uint8_t out_uuid[16], struct ot_wire_ring *out_ring, struct diag *diag)
{
    struct ot_ring_header header;
    struct ot_wire_ring ring = {.header = ot_wire_header(OT_FRAME_RING, sizeof(ring))};

    if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
        return diag_set(diag, -EPROTO, "it has no header");
    ring.ring_id = header.ring_id;
    ring.lane_id = header.lane_id;
    ring.record_count = header.record_count;
    ring.memory_bytes =
        OT_RING_RECORDS_OFFSET + header.record_count * sizeof(struct ot_wire_record);
    memcpy(out_uuid, header.uuid, sizeof(header.uuid));
    return ot_wire_decode_ring(&ring, sizeof(ring), out_ring, diag);
}
