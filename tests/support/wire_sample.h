/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames to test with: a sound one of each type, the session whose bytes schema/wire/wire.md shows,
 * and a walk over whatever a frame holds.
 */
#ifndef OPTRACE_TESTS_SUPPORT_WIRE_SAMPLE_H
#define OPTRACE_TESTS_SUPPORT_WIRE_SAMPLE_H

#include "schema/wire/wire.h"

enum {
    WIRE_SAMPLE_MAX = 2048, /* bytes; more than any of these samples takes */
    WIRE_SAMPLE_LAST = 31,  /* no type of frame is greater; some below do not exist */
};

/** Whether there is a frame of this type. */
static inline bool wire_sample_exists(uint32_t type)
{
    return ot_wire_client_sends(type) || ot_wire_daemon_sends(type);
}

/** A sound frame of this type that has all its variable parts. Returns its length; 0 for a type
 * that does not exist. */
size_t wire_sample_frame(uint32_t type, uint8_t out[WIRE_SAMPLE_MAX]);

/** What the client and the daemon send in the session of wire.md. Returns the count of bytes. */
size_t wire_sample_client(uint8_t out[WIRE_SAMPLE_MAX]);
size_t wire_sample_daemon(uint8_t out[WIRE_SAMPLE_MAX]);

/** Decode a frame by the decoder of its type and read all that it gives: every byte of every text,
 *  every tensor, dimension, origin and record. Returns what the decoder returns; -ENOENT for a type
 *  that does not exist. `out_sum` depends on everything that was read. */
int wire_sample_visit(uint32_t type, const void *frame, size_t length, uint64_t *out_sum,
                      struct diag *diag);

/** Follow a stream of frames as a receiver does: peek, visit, go on. `out_frames` counts the frames
 *  that were sound. Returns 0 at the end of the bytes (a frame may be cut off there), or the error
 *  of the first frame that is not sound. Frames of unknown types are skipped. */
int wire_sample_follow(const uint8_t *bytes, size_t size, size_t *out_frames, uint64_t *out_sum,
                       struct diag *diag);

#endif
