/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire contract: every byte that a traced program and the daemon exchange, over a Unix stream
 * socket and in the rings of shared memory. schema/wire.md is the same contract in prose, with byte
 * tables, a hexdump and the rules of growth; schema/records.def lists the frames and records.
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
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

#define OT_WIRE_MAGIC         0x5254504fu /* "OPTR" as bytes */
#define OT_WIRE_VERSION_MAJOR 1
#define OT_WIRE_VERSION_MINOR 0

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
    OT_WIRE_EVENTS_MAX = 16000,     /* records of one EVENTS frame */
    OT_WIRE_CONNECTIONS_MAX = 1024, /* connections open at once, all clients */
    OT_WIRE_HELLO_SECONDS = 5,      /* a connection without HELLO is closed after this */
};

#define OT_FRAME(id, name, type, from, meaning) OT_FRAME_##name = id,
enum ot_frame_type {
#include "schema/records.def"
};

#define OT_RECORD(id, name, uses_end, meaning) OT_RECORD_##name = id,
enum ot_record_kind {
#include "schema/records.def"
};

/* Starts every frame; `length` counts the whole frame, this header included, and is a multiple
 * of 8. */
struct ot_wire_header {
    uint32_t length;
    uint16_t type;  /* enum ot_frame_type */
    uint16_t flags; /* reserved */
};

enum ot_wire_feature {
    OT_FEATURE_RINGS = 1u << 0,   /* rings in shared memory (RING, DOORBELL) */
    OT_FEATURE_CONTROL = 1u << 1, /* the client obeys CONTROL */
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
    OT_WELCOME_BUSY = 3,    /* this session is connected already */
    OT_WELCOME_ENDED = 4,   /* this session has ended; start a new one */
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

/* Element types, numbered as ONNX does (facts of its schema); 0 is "not known". */
enum ot_wire_dtype {
    OT_DTYPE_UNKNOWN = 0,
    OT_DTYPE_F32 = 1,
    OT_DTYPE_U8 = 2,
    OT_DTYPE_I8 = 3,
    OT_DTYPE_U16 = 4,
    OT_DTYPE_I16 = 5,
    OT_DTYPE_I32 = 6,
    OT_DTYPE_I64 = 7,
    OT_DTYPE_STRING = 8,
    OT_DTYPE_BOOL = 9,
    OT_DTYPE_F16 = 10,
    OT_DTYPE_F64 = 11,
    OT_DTYPE_U32 = 12,
    OT_DTYPE_U64 = 13,
    OT_DTYPE_C64 = 14,
    OT_DTYPE_C128 = 15,
    OT_DTYPE_BF16 = 16,
};

/* What is constant for an op. After the struct: `input_count + output_count` times ot_wire_tensor,
 * each followed by its `rank` dimensions as int64 (-1: not known), then `origin_count` string ids
 * as uint32, then zeros up to a multiple of 8. */
struct ot_wire_op {
    struct ot_wire_header header;
    uint32_t op_id;
    uint32_t name;
    uint32_t type;     /* "Conv", ...; "label", "phase", "copy", "counter", "mark" have a meaning of
                          their own, see schema/store.md */
    uint32_t model_id; /* 0: belongs to no model */
    uint32_t node_id;  /* string: the op's id in its model */
    uint32_t device;   /* string: "cpu:0", "cuda:0" */
    uint32_t params;   /* string: a JSON object */
    uint32_t source;   /* string: "file:line" */
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

enum ot_wire_lane_kind {
    OT_LANE_THREAD = 1, /* a host thread */
    OT_LANE_STREAM = 2, /* a stream of a device */
    OT_LANE_QUEUE = 3,  /* a software queue, such as a CPU backend's worker */
};

struct ot_wire_lane {
    struct ot_wire_header header;
    uint32_t lane_id;
    uint32_t kind;      /* enum ot_wire_lane_kind */
    uint32_t name;      /* string id */
    uint32_t device;    /* string id, or 0 for the host */
    uint64_t native_id; /* thread id of the system, or the stream's or queue's number */
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

enum ot_wire_loss {
    OT_LOSS_RING_FULL = 1,    /* the daemon did not keep up */
    OT_LOSS_TOO_DEEP = 2,     /* more than OT_RING_DEPTH_MAX open spans on one thread */
    OT_LOSS_UNKNOWN_KIND = 3, /* a record of a newer version */
    OT_LOSS_BAD_RECORD = 4,   /* op, lane or times make no sense */
    OT_LOSS_STORE = 5,        /* the store could not be written: disk full, I/O error */
    OT_LOSS_NO_MEMORY = 6,    /* a ring could not be made in the program */
    OT_LOSS_PRODUCER = 7,     /* an inline producer says so, without a closer reason */
};

struct ot_wire_gap {
    struct ot_wire_header header;
    uint32_t lane_id;
    uint32_t reason; /* enum ot_wire_loss */
    uint64_t lost_count;
    uint64_t first_ticks;
    uint64_t last_ticks;
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
    uint64_t correlation; /* ties a device span to the host span that launched it; 0: none */
    int64_t bytes;        /* COPY, ALLOC, FREE: bytes; COUNTER: bits of a double */
    uint64_t address;     /* ALLOC, FREE */
};

/* --- The ring: one memfd per recording thread, sealed against shrinking and growing. ---
 *
 * offset     0  ot_ring_header: written once by the client before it hands the ring over
 *           64  state: written by the client only
 *          128  tail: written by the daemon only
 *          192  closed: written once by the client, when the thread ends
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

#endif
