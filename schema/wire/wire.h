/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire contract: every byte that a traced program and the daemon exchange, over a Unix stream
 * socket and in the rings of shared memory. schema/wire/wire.md is the same contract in prose, with
 * byte tables, a hexdump and the rules of growth; schema/wire/records.def lists the frames and
 * records.
 *
 * Conventions: little-endian; fields naturally aligned, no hidden padding; reserved fields are 0
 * and ignored by the reader; texts are UTF-8 without a NUL; ids are chosen by the client, per
 * session, from 1 up, never reused; 0 means "none". Times are ticks of the clock named in HELLO.
 *
 * Call order of a producer: HELLO, (WELCOME), then definitions before their first use, RING or
 * EVENTS, CLOCK at least every second while it records, BYE.
 *
 * Encoders write into the caller's memory, decoders read untrusted bytes that nobody changes
 * meanwhile (ring memory is copied first). Nothing here does I/O, allocates or keeps state; any
 * thread may call it.
 */
#ifndef OPTRACE_SCHEMA_WIRE_H
#define OPTRACE_SCHEMA_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/diag.h"

#define OT_WIRE_MAGIC         0x5254504fu /* "OPTR" as bytes */
#define OT_WIRE_VERSION_MAJOR 1
#define OT_WIRE_VERSION_MINOR 3

/* What a peer may make the daemon hold. A client that goes beyond one is cut off. */
enum {
    OT_WIRE_FRAME_BYTES_MAX = 1 << 20,   /* one frame, header included */
    OT_WIRE_TEXT_BYTES_MAX = 1 << 16,    /* one text */
    OT_WIRE_SESSION_TEXT_MAX = 64 << 20, /* bytes of all texts of one session */
    OT_WIRE_STRINGS_MAX = 1 << 20,       /* highest string id */
    OT_WIRE_OPS_MAX = 1 << 20,           /* highest op id */
    OT_WIRE_MODELS_MAX = 1 << 12,        /* highest model id */
    OT_WIRE_LANES_MAX = 1 << 12,         /* highest lane id */
    OT_WIRE_RINGS_MAX = 1 << 10,         /* rings open at once in one session */
    OT_WIRE_RING_RECORDS_MIN = 1 << 6,
    OT_WIRE_RING_RECORDS_MAX = 1 << 22,         /* 256 MiB of records */
    OT_WIRE_SESSION_RING_RECORDS_MAX = 1 << 25, /* records of all rings of one session */
    OT_WIRE_TENSORS_MAX = 256,                  /* inputs + outputs of one op */
    OT_WIRE_ORIGINS_MAX = 4096,                 /* model nodes that one op came from */
    OT_WIRE_RANK_MAX = 16,
    OT_WIRE_EVENTS_MAX = 16000,      /* records of one EVENTS frame */
    OT_WIRE_FLUSHES_MAX = 1024,      /* FLUSH frames of a connection that wait for their answers */
    OT_WIRE_CONNECTIONS_MAX = 1024,  /* connections open at once, all clients */
    OT_WIRE_SESSIONS_MAX = 2048,     /* sessions that have not ended, connected or not */
    OT_WIRE_ALL_RINGS_MAX = 1 << 14, /* rings of all sessions */
    OT_WIRE_ALL_DEFINITIONS_MAX = 256 << 20, /* bytes of texts and tables of ids, all sessions */
    OT_WIRE_LEFT_RECORDS_MAX = 1 << 24, /* records that dead programs leave in their rings while
                                           the store cannot be written */
    OT_WIRE_HELLO_SECONDS = 5,          /* a connection without HELLO is closed after this */
};

#define OT_FRAME(id, name, type, from, meaning) OT_FRAME_##name = id,
enum ot_frame_type {
#include "schema/wire/records.def"
};

#define OT_RECORD(id, name, text, uses_end, meaning) OT_RECORD_##name = id,
enum ot_record_kind {
    OT_RECORD_NEVER_WRITTEN = 0, /* no kind: memory that nobody has written */
#include "schema/wire/records.def"
};

/* Starts every frame; `length` counts the whole frame, this header included, and is a multiple
 * of 8. */
struct ot_wire_header {
    uint32_t length;
    uint16_t type;  /* enum ot_frame_type */
    uint16_t flags; /* reserved but in FLUSH, FLUSHED, CLOCK and DOORBELL */
};

enum ot_wire_feature {
    OT_FEATURE_RINGS = 1u << 0,    /* rings in shared memory (RING, DOORBELL) */
    OT_FEATURE_CONTROL = 1u << 1,  /* the client obeys CONTROL */
    OT_FEATURE_SCHEDULE = 1u << 2, /* the client obeys SCHEDULE and says how it goes */
    OT_FEATURE_VISIT = 1u << 3,    /* the peer is a controller: VISIT and what follows it */
    OT_FEATURE_RECORDS = 1u << 4,  /* the client records already, before it is welcome */
};

enum ot_wire_clock_kind {
    OT_CLOCK_MONOTONIC = 0, /* ticks are ns of CLOCK_MONOTONIC */
    OT_CLOCK_TSC = 1,       /* ticks are the CPU's invariant time stamp counter */
};

struct ot_wire_hello {
    struct ot_wire_header header;
    uint32_t magic; /* OT_WIRE_MAGIC */
    uint16_t version_major;
    uint16_t version_minor;
    uint64_t features;    /* enum ot_wire_feature, what the client can do */
    uint8_t uuid[16];     /* random; the same on each reconnection of one session */
    uint32_t pid;         /* as the client sees it; the daemon asks the kernel too */
    uint32_t clock_kind;  /* enum ot_wire_clock_kind */
    uint64_t ticks_per_s; /* the client's estimate; 1e9 for CLOCK_MONOTONIC; 0: not known */
    uint64_t ticks;       /* the three clocks at one moment */
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
    uint32_t connection;    /* 0 at first, then 1, 2, ... at each reconnection */
    uint16_t program_bytes; /* then the texts, in this order, then zeros up to a multiple of 8 */
    uint16_t command_bytes;
    uint16_t library_bytes; /* name and version of the client library */
    uint16_t host_bytes;
    uint32_t reserved;
};

enum ot_wire_welcome_status {
    OT_WELCOME_OK = 0,
    OT_WELCOME_VERSION = 1, /* the major version differs */
    OT_WELCOME_FULL = 2,    /* too many connections */
    OT_WELCOME_BUSY = 3,    /* this session is connected already, or its end is being stored */
    OT_WELCOME_ENDED = 4,   /* this session has ended; start a new one */
    OT_WELCOME_DENIED = 5,  /* this user may not record here */
};

struct ot_wire_welcome {
    struct ot_wire_header header;
    uint16_t version_major;
    uint16_t version_minor;    /* the smaller of both sides' rules */
    uint32_t status;           /* enum ot_wire_welcome_status; others but OK close the connection */
    uint64_t features;         /* what both sides can do */
    uint64_t session_id;       /* the row in the store's table `session` */
    uint64_t inline_committed; /* EVENTS records of this session that are in the store already: an
                                  inline producer goes on with this sequence number */
    uint32_t level;            /* as in CONTROL */
    uint32_t text_bytes;       /* why it was refused, for a person */
};

struct ot_wire_clock {
    struct ot_wire_header header;
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};

struct ot_wire_string {
    struct ot_wire_header header;
    uint32_t string_id;
    uint32_t text_bytes; /* then the text, then zeros up to a multiple of 8 */
};

struct ot_wire_model {
    struct ot_wire_header header;
    uint32_t model_id;
    uint32_t name;            /* string ids, here and below */
    uint32_t path;            /* file it was loaded from */
    uint32_t format;          /* "onnx" */
    uint32_t producer;        /* program that wrote it */
    uint32_t digest;          /* "sha256:..." or such; 0 when not computed */
    uint64_t parameter_bytes; /* weights; UINT64_MAX: not known */
};

#define OT_DTYPE(id, name, text, meaning) OT_DTYPE_##name = id,
enum ot_wire_dtype {
#include "schema/wire/records.def"
};

/* What is constant for an op. After the struct: `input_count + output_count` times ot_wire_tensor,
 * each followed by its `rank` dimensions as int64 (-1: not known), then `origin_count` string ids
 * as uint32, then zeros up to a multiple of 8. */
struct ot_wire_op {
    struct ot_wire_header header;
    uint32_t op_id;
    uint32_t name; /* not 0 */
    uint32_t type; /* not 0. "Conv", ...; "label", "phase", "copy", "counter", "mark" have a meaning
                      of their own, see schema/store/store.md */
    uint32_t model_id;        /* 0: belongs to no model */
    uint32_t node_id;         /* string: the op's id in its model */
    uint32_t device;          /* string: "cpu:0", "cuda:0" */
    uint32_t params;          /* string: a JSON object */
    uint32_t source;          /* string: "file:line" */
    int64_t computation_flop; /* -1: not known. A multiply and an add are two */
    int64_t memory_bytes;    /* -1: not known. Inputs read plus outputs written, weights included */
    int64_t workspace_bytes; /* -1: not known. Scratch while the op runs */
    uint16_t input_count;
    uint16_t output_count;
    uint16_t origin_count; /* names of the model nodes that the op came from */
    uint16_t reserved;
};

struct ot_wire_tensor {
    uint16_t dtype; /* enum ot_wire_dtype */
    uint16_t rank;
    uint32_t name; /* string id of the value's name, or 0 */
};

#define OT_LANE(id, name, text, meaning) OT_LANE_##name = id,
enum ot_wire_lane_kind {
#include "schema/wire/records.def"
};

struct ot_wire_lane {
    struct ot_wire_header header;
    uint32_t lane_id;
    uint32_t kind;      /* enum ot_wire_lane_kind */
    uint32_t name;      /* string id */
    uint32_t device;    /* string id, or 0 for the host */
    uint64_t native_id; /* thread id of the system, or the stream's or queue's number; of a thread's
                           lane 0: of threads that follow one another */
};

struct ot_wire_ring {
    struct ot_wire_header header;
    uint32_t ring_id;
    uint32_t lane_id;      /* lane of the thread that writes it, defined before */
    uint64_t record_count; /* a power of two */
    uint64_t memory_bytes; /* size of the memfd: OT_RING_RECORDS_OFFSET + 64 * record_count */
};

struct ot_wire_doorbell {
    struct ot_wire_header header;
    uint32_t ring_id;
    uint32_t reserved;
};

struct ot_wire_events {
    struct ot_wire_header header;
    uint64_t first_sequence; /* of the first record, counting all inline records of the session
                                from 0; what is below WELCOME.inline_committed is skipped */
    uint32_t record_count;
    uint32_t reserved; /* then record_count times ot_wire_record */
};

#define OT_LOSS(id, name, text, meaning) OT_LOSS_##name = id,
enum ot_wire_loss {
#include "schema/wire/records.def"
};

struct ot_wire_gap {
    struct ot_wire_header header;
    uint32_t lane_id;
    uint32_t reason; /* enum ot_wire_loss */
    uint64_t lost_count;
    uint64_t first_ticks;
    uint64_t last_ticks;
};

/* A bit of the flags in the header of CLOCK, DOORBELL and FLUSH. */
enum ot_wire_rings_flag {
    OT_LACKS_RINGS = 1u << 1, /* there are rings that the client cannot hand over: it is not known
                                 yet what of them this daemon has. 1.3 */
};

/* Bits of the flags in the header of FLUSH and FLUSHED. */
enum ot_wire_flush_flag {
    OT_FLUSH_DURABLE =
        1u << 0, /* FLUSH: to the disk, too; FLUSHED: it was asked and is there. 1.2 */
};

struct ot_wire_flush {
    struct ot_wire_header header;
    uint64_t token; /* comes back in FLUSHED */
};

struct ot_wire_flushed {
    struct ot_wire_header header;
    uint64_t token;
    int32_t status; /* 0, or a negative errno of Linux: what was sent could not be committed */
    uint32_t reserved;
};

/* Since 1.2: only to clients of that version. */
struct ot_wire_refused {
    struct ot_wire_header header;
    uint64_t refused_count; /* records of the session, since the last REFUSED */
    uint32_t reason;        /* enum ot_wire_loss, of the first that the daemon refused */
    uint32_t reserved;
};

enum ot_wire_level {
    OT_LEVEL_OFF = 0,    /* record nothing */
    OT_LEVEL_ON = 1,     /* record ops, runs, memory */
    OT_LEVEL_DETAIL = 2, /* and phases inside ops */
};

struct ot_wire_control {
    struct ot_wire_header header;
    uint32_t level; /* enum ot_wire_level */
    uint32_t reserved;
};

enum ot_wire_bye_reason {
    OT_BYE_DONE = 0,     /* client: no more records */
    OT_BYE_PROTOCOL = 1, /* daemon: the client broke the contract; the text says how */
    OT_BYE_SHUTDOWN = 2, /* daemon: it ends; the client may reconnect later */
};

struct ot_wire_bye {
    struct ot_wire_header header;
    uint32_t reason;
    uint32_t text_bytes;
};

enum ot_record_flag {
    OT_RECORD_REALTIME = 1u << 0,     /* times are ns of CLOCK_REALTIME, not ticks */
    OT_RECORD_IMPLICIT_END = 1u << 1, /* the program never ended this span; an outer one ended */
    OT_RECORD_WARMUP = 1u << 2,       /* RUN: not to be counted in statistics */
    OT_RECORD_WITHOUT_OPS = 1u << 3,  /* RUN: its ops were left out on purpose; since 1.3 */
};

/* One event, in a ring or in an EVENTS frame. Unused fields are 0. */
struct ot_wire_record {
    uint16_t kind;  /* enum ot_record_kind */
    uint16_t flags; /* enum ot_record_flag */
    uint32_t op_id;
    uint32_t lane_id;
    uint32_t run; /* number of the run it belongs to, per session from 1; 0: none */
    uint64_t start_ticks;
    uint64_t end_ticks;   /* >= start_ticks; 0 for kinds that have none */
    uint64_t kern_ticks;  /* first kernel, start <= kern <= end; 0: not known */
    uint64_t correlation; /* ties a device span to the host span of the same run that launched it;
                             0: none */
    int64_t bytes;        /* COPY, ALLOC, FREE: bytes; COUNTER: bits of a double */
    uint64_t address;     /* ALLOC, FREE */
};

/* --- The ring: one memfd per recording thread, sealed against shrinking and growing. ---
 *
 * offset     0  ot_ring_header: written once by the client before it hands the ring over
 *           64  state: written by the client only
 *          128  tail: written by the daemon only
 *          192  closed: written once by the client, when the last thread that writes it ends
 *          256  gaps[8]: counters of what was dropped, written by the client only
 *          512  open[120]: the spans that are open now, outermost first, written by the client
 *         8192  records[record_count]
 *
 * `state` holds two numbers that must change together, so that a kill at any moment leaves either
 * the open span or the finished record, never both and never neither: bits 0..47 are the head
 * (count of records ever written), bits 48..63 the depth (count of open spans). The client writes
 * the record or the open entry first, then stores `state` with release order. Record n is at index
 * n % record_count. The daemon reads head, copies records [tail, head), and stores tail with
 * release order only after the rows are committed; the client drops and counts when head - tail
 * reaches record_count. A gap counter only grows, so that the daemon can store differences.
 */
enum {
    OT_RING_MAGIC = 0x474e4952, /* "RING" as bytes */
    OT_RING_VERSION = 1,
    OT_RING_STATE_OFFSET = 64,
    OT_RING_TAIL_OFFSET = 128,
    OT_RING_CLOSED_OFFSET = 192,
    OT_RING_GAPS_OFFSET = 256,
    OT_RING_GAPS = 8,
    OT_RING_OPEN_OFFSET = 512,
    OT_RING_DEPTH_MAX = 120,
    OT_RING_RECORDS_OFFSET = 8192,
};

#define OT_RING_HEAD_MASK ((UINT64_C(1) << 48) - 1)

static inline uint64_t ot_ring_state(uint64_t head, uint64_t depth)
{
    return (head & OT_RING_HEAD_MASK) | depth << 48;
}

struct ot_ring_header {
    uint32_t magic; /* OT_RING_MAGIC */
    uint32_t version;
    uint32_t record_bytes; /* 64 */
    uint32_t depth_max;
    uint64_t record_count;
    uint32_t ring_id;
    uint32_t lane_id;
    uint8_t uuid[16]; /* the session's */
    uint8_t reserved[16];
};

/* What was dropped on one lane. Slot 0 belongs to the ring's own lane; when a ring drops records of
 * more lanes than there are slots, the last slot counts them under its own lane. */
struct ot_ring_gap {
    uint32_t lane_id;
    uint32_t reason;     /* enum ot_wire_loss, of the latest drop */
    uint64_t lost_count; /* stored last, with release order */
    uint64_t first_ticks;
    uint64_t last_ticks;
};

struct ot_ring {
    struct ot_ring_header header;
    uint64_t state;
    uint8_t pad0[56];
    uint64_t tail;
    uint8_t pad1[56];
    uint32_t closed;
    uint8_t pad2[60];
    struct ot_ring_gap gaps[OT_RING_GAPS];
    struct ot_wire_record open[OT_RING_DEPTH_MAX];
    struct ot_wire_record records[];
};

static_assert(sizeof(struct ot_wire_header) == 8, "frame header");
static_assert(sizeof(struct ot_wire_record) == 64, "record");
static_assert(sizeof(struct ot_ring_header) == 64, "ring header");
static_assert(sizeof(struct ot_ring_gap) == 32, "ring gap");
static_assert(offsetof(struct ot_ring, state) == OT_RING_STATE_OFFSET, "ring state");
static_assert(offsetof(struct ot_ring, tail) == OT_RING_TAIL_OFFSET, "ring tail");
static_assert(offsetof(struct ot_ring, closed) == OT_RING_CLOSED_OFFSET, "ring closed");
static_assert(offsetof(struct ot_ring, gaps) == OT_RING_GAPS_OFFSET, "ring gaps");
static_assert(offsetof(struct ot_ring, open) == OT_RING_OPEN_OFFSET, "ring open spans");
static_assert(offsetof(struct ot_ring, records) == OT_RING_RECORDS_OFFSET, "ring records");
static_assert(sizeof(struct ot_wire_hello) == 96, "hello");
static_assert(sizeof(struct ot_wire_op) == 72, "op");

/* --- Small pieces --- */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are copied as bytes");

/** Ticks and nanoseconds stay below this, so that their differences fit an int64_t. */
#define OT_WIRE_TIME_MAX ((uint64_t)INT64_MAX)

/** No counter of records goes beyond this: sequence numbers, losses, a ring's head. Sums of them
 *  therefore do not overflow. */
#define OT_WIRE_COUNT_MAX ((UINT64_C(1) << 48) - 1)

/** Bytes that a record names: more than any machine addresses. */
#define OT_WIRE_SIZE_MAX (INT64_C(1) << 48)

/** No clock is faster: 1 THz. */
#define OT_WIRE_TICKS_PER_S_MAX UINT64_C(1000000000000)

/** Bytes of a text. Not NUL-terminated. A decoder's text points into the frame. */
struct ot_text {
    const char *bytes; /* may be NULL when length is 0 */
    size_t length;
};

/** The header of a frame. Frames without variable parts need no encoder:
 *  `struct ot_wire_clock clock = {.header = ot_wire_header(OT_FRAME_CLOCK, sizeof(clock)), ...};`
 */
static inline struct ot_wire_header ot_wire_header(enum ot_frame_type type, size_t length)
{
    return (struct ot_wire_header){.length = (uint32_t)length, .type = (uint16_t)type};
}

/** Names for logs and for the store ("HELLO", "span", "ring full", "stream", "f32"); "unknown" for
 *  a number that is not in schema/records.def. Static texts. For tests. */
const char *ot_wire_frame_name(uint32_t type);
const char *ot_wire_record_name(uint32_t kind);
const char *ot_wire_loss_name(uint32_t reason);
const char *ot_wire_lane_kind_name(uint32_t kind);
const char *ot_wire_dtype_name(uint32_t dtype);

/** False for a type that is unknown, or that only the other side sends. */
bool ot_wire_client_sends(uint32_t type);
bool ot_wire_daemon_sends(uint32_t type);

/**
 * Make a text that the wire accepts: copy at most `capacity` bytes, cut between two characters, and
 * put '?' for each NUL and each byte that is not part of well-formed UTF-8.
 *
 * out_bytes  may be `bytes` itself; no NUL is added
 *
 * Returns the count of bytes written.
 */
size_t ot_wire_clean_text(const char *bytes, size_t length, char *out_bytes, size_t capacity);

/* --- Encoders ---
 *
 * Each writes one whole frame to `out`, which needs no alignment, and sets its header and the
 * counts of its variable parts: the caller leaves those 0. They return the length of the frame,
 * -ENOSPC when it is more than `capacity`, or -EINVAL when a decoder would refuse the frame; what
 * `out` holds after a failure is not defined. A capacity of OT_WIRE_FRAME_BYTES_MAX always
 * suffices. */

struct ot_wire_hello_texts {
    struct ot_text program; /* name of the executable */
    struct ot_text command; /* arguments, joined by spaces */
    struct ot_text library;
    struct ot_text host;
};

int ot_wire_encode_hello(const struct ot_wire_hello *hello, const struct ot_wire_hello_texts *texts,
                         void *out, size_t capacity);
int ot_wire_encode_welcome(const struct ot_wire_welcome *welcome, struct ot_text text, void *out,
                           size_t capacity);
int ot_wire_encode_string(uint32_t string_id, struct ot_text text, void *out, size_t capacity);
int ot_wire_encode_bye(enum ot_wire_bye_reason reason, struct ot_text text, void *out,
                       size_t capacity);

/** A tensor and its dimensions, `tensor.rank` of them. */
struct ot_wire_shape {
    struct ot_wire_tensor tensor;
    const int64_t *dims; /* may be NULL when the rank is 0 */
};

/** shapes   op->input_count inputs, then op->output_count outputs
 *  origins  op->origin_count string ids */
int ot_wire_encode_op(const struct ot_wire_op *op, const struct ot_wire_shape *shapes,
                      const uint32_t *origins, void *out, size_t capacity);

/** The records are copied as they are: ot_wire_check_record() is the receiver's business. For
 *  tests. */
int ot_wire_encode_events(uint64_t first_sequence, const struct ot_wire_record *records,
                          uint32_t record_count, void *out, size_t capacity);

/* --- Decoders ---
 *
 * They read bytes that a peer sent, which may be anything, but which nobody changes meanwhile. They
 * never read beyond `length`, need no alignment, and check all that can be checked without knowing
 * the rest of the session: lengths, counts, limits, padding, UTF-8, ids within their range. That an
 * id was defined before it is used is for the caller to check.
 *
 * frame, length  one whole frame: `length` is what ot_wire_peek() returned
 * out_...        written only on success; texts and iterators point into the frame
 *
 * They return 0, or -EPROTO with the reason and the offset within the frame in diag. */

/**
 * Look at the start of the next frame.
 *
 * have        bytes that are there
 * out_header  written when have >= 8 and the header is sound
 *
 * Returns how many bytes the whole frame takes: when that is more than `have`, read on and ask
 * again (8 while the header itself is not complete). -EPROTO when the length is impossible; the
 * stream cannot be followed any further. An unknown type is no error here: skip the frame.
 */
int ot_wire_peek(const void *bytes, size_t have, struct ot_wire_header *out_header,
                 struct diag *diag);

/** What HELLO has behind its texts, since 1.2: there may be none of it. */
struct ot_wire_hello_more {
    uint64_t start_ns; /* CLOCK_REALTIME of the session's first HELLO; 0: not told */
};

struct ot_wire_hello_view {
    struct ot_wire_hello fixed;
    struct ot_wire_hello_texts texts;
    struct ot_wire_hello_more more;
};

/** Append it to the HELLO in `frame`, of `length` bytes. Returns the new length, or -ENOSPC. */
int ot_wire_append_hello(const struct ot_wire_hello_more *more, void *frame, size_t length,
                         size_t capacity);

/** Returns -EPROTONOSUPPORT when it is a HELLO of another major version: answer with a WELCOME of
 *  status OT_WELCOME_VERSION. */
int ot_wire_decode_hello(const void *frame, size_t length, struct ot_wire_hello_view *out_hello,
                         struct diag *diag);

struct ot_wire_welcome_view {
    struct ot_wire_welcome fixed;
    struct ot_text text;
};

/** Returns -EPROTONOSUPPORT when the daemon speaks another major version. */
int ot_wire_decode_welcome(const void *frame, size_t length,
                           struct ot_wire_welcome_view *out_welcome, struct diag *diag);

struct ot_wire_string_view {
    struct ot_wire_string fixed;
    struct ot_text text;
};
int ot_wire_decode_string(const void *frame, size_t length, struct ot_wire_string_view *out_string,
                          struct diag *diag);

struct ot_wire_bye_view {
    struct ot_wire_bye fixed;
    struct ot_text text;
};
int ot_wire_decode_bye(const void *frame, size_t length, struct ot_wire_bye_view *out_bye,
                       struct diag *diag);

/** Walks the tensors of an OP: inputs first, then outputs. */
struct ot_wire_tensor_iter {
    const uint8_t *at;
    size_t left;
};

struct ot_wire_op_view {
    struct ot_wire_op fixed;
    struct ot_wire_tensor_iter tensors; /* copy it to walk more than once */
    const uint8_t *origins;             /* for ot_wire_origin() */
};
int ot_wire_decode_op(const void *frame, size_t length, struct ot_wire_op_view *out_op,
                      struct diag *diag);

/** Takes the next tensor and its dimensions. Returns false at the end. */
bool ot_wire_next_tensor(struct ot_wire_tensor_iter *iter, struct ot_wire_tensor *out_tensor,
                         int64_t out_dims[OT_WIRE_RANK_MAX]);

/** String id of origin `index`, which is below op->fixed.origin_count. */
static inline uint32_t ot_wire_origin(const struct ot_wire_op_view *op, uint32_t index)
{
    uint32_t id;

    memcpy(&id, op->origins + (size_t)index * sizeof(id), sizeof(id));
    return id;
}

struct ot_wire_events_view {
    struct ot_wire_events fixed;
    const uint8_t *records; /* for ot_wire_record_at() */
};
/** The records themselves are not checked. */
int ot_wire_decode_events(const void *frame, size_t length, struct ot_wire_events_view *out_events,
                          struct diag *diag);

/** Copy of record `index`, which is below events->fixed.record_count. */
static inline struct ot_wire_record ot_wire_record_at(const struct ot_wire_events_view *events,
                                                      uint32_t index)
{
    struct ot_wire_record record;

    memcpy(&record, events->records + (size_t)index * sizeof(record), sizeof(record));
    return record;
}

int ot_wire_decode_clock(const void *frame, size_t length, struct ot_wire_clock *out_clock,
                         struct diag *diag);
int ot_wire_decode_model(const void *frame, size_t length, struct ot_wire_model *out_model,
                         struct diag *diag);
int ot_wire_decode_lane(const void *frame, size_t length, struct ot_wire_lane *out_lane,
                        struct diag *diag);
int ot_wire_decode_ring(const void *frame, size_t length, struct ot_wire_ring *out_ring,
                        struct diag *diag);
int ot_wire_decode_doorbell(const void *frame, size_t length, struct ot_wire_doorbell *out_doorbell,
                            struct diag *diag);
int ot_wire_decode_gap(const void *frame, size_t length, struct ot_wire_gap *out_gap,
                       struct diag *diag);
int ot_wire_decode_flush(const void *frame, size_t length, struct ot_wire_flush *out_flush,
                         struct diag *diag);
int ot_wire_decode_flushed(const void *frame, size_t length, struct ot_wire_flushed *out_flushed,
                           struct diag *diag);
int ot_wire_decode_refused(const void *frame, size_t length, struct ot_wire_refused *out_refused,
                           struct diag *diag);
int ot_wire_decode_control(const void *frame, size_t length, struct ot_wire_control *out_control,
                           struct diag *diag);

/**
 * Check what one record says by itself; that its op and lane are defined is for the caller.
 *
 * Afterwards: kind and flags are known ones; 1 <= lane_id <= OT_WIRE_LANES_MAX; op_id is within
 * OT_WIRE_OPS_MAX (a model id within OT_WIRE_MODELS_MAX for RUN) and not 0 where the kind needs
 * one; the times that the kind uses are in order and at most OT_WIRE_TIME_MAX; bytes have the sign
 * of their kind; a counter's value is finite. Fields that the kind does not use may hold anything.
 *
 * Returns 0, or the reason to count it as lost: OT_LOSS_UNKNOWN_KIND or OT_LOSS_BAD_RECORD.
 */
int ot_wire_check_record(const struct ot_wire_record *record);

/** The same for an open span in a ring: its kind has an end (SPAN, RUN, COPY) and end_ticks is not
 *  looked at. */
int ot_wire_check_open(const struct ot_wire_record *record);

/** Size of a ring's memory. */
static inline uint64_t ot_ring_bytes(uint64_t record_count)
{
    return OT_RING_RECORDS_OFFSET + record_count * sizeof(struct ot_wire_record);
}

/** Parts of a ring's `state`. */
static inline uint64_t ot_ring_head(uint64_t state)
{
    return state & OT_RING_HEAD_MASK;
}

static inline uint32_t ot_ring_depth(uint64_t state)
{
    return (uint32_t)(state >> 48);
}

/** Records between the two counters, which wrap at 2^48. More than the ring holds: one of them is
 *  wrong. */
static inline uint64_t ot_ring_used(uint64_t head, uint64_t tail)
{
    return (head - tail) & OT_RING_HEAD_MASK;
}

/**
 * Check the header of a ring against the RING frame that announced it.
 *
 * header        a copy: the client can change the memory at any moment. Never read the ring's own
 *               header again, use `announced` from here on
 * announced     as ot_wire_decode_ring() left it
 * uuid          the session's
 * memory_bytes  what fstat() says of the memfd
 *
 * Returns 0, or -EPROTO with the reason in diag.
 */
int ot_ring_check_header(const struct ot_ring_header *header, const struct ot_wire_ring *announced,
                         const uint8_t uuid[16], uint64_t memory_bytes, struct diag *diag);

/* The frames of version 1.1. */
#include "schema/wire/control.h"

#endif
