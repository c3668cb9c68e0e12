/* SPDX-License-Identifier: Apache-2.0 */
/**
 * optrace: record the operators that this program runs, so that a person can see where its time and
 * its memory went. This header is the whole interface of liboptrace and its manual. C11 and C++.
 *
 *     #include <optrace.h>          cc hello.c $(pkg-config --cflags --libs optrace)
 *
 *     optrace_start(NULL);                          connect to the daemon, if there is one
 *     uint32_t conv;
 *     struct optrace_op_info info = OPTRACE_OP_INFO("conv1", "Conv");
 *     info.computation_flop = 231211008;
 *     optrace_op_define(&info, &conv);              once per op: what is constant about it
 *     for (...) {
 *         struct optrace_run run = optrace_run_begin(0, 0);
 *         struct optrace_span span = optrace_begin(conv);
 *         ...                                       the work
 *         optrace_end(span);
 *         optrace_run_end(run);
 *     }
 *     optrace_stop();                               or just exit
 *
 * Order of calls: definitions may come before optrace_start(); all else is a cheap no-op until a
 * daemon listens. Ids stay valid for the life of the process, over stop and start, and in children
 * made by fork().
 *
 * Cost: with nobody listening, a span is one relaxed load, a count of its thread's and a branch;
 * one in 64 looks at the clock, and one in a second for a daemon. Recorded, it is two readings of
 * the CPU's time stamp counter and one 64-byte store into memory that is shared with the daemon; no
 * lock, no system call, no allocation, except once per thread and about once a second per thread
 * for the housekeeping of the connection. Nothing waits for the daemon: when a thread's ring is
 * full, its newest records are dropped and counted. optrace_start() measures what a span costs on
 * this machine, in some tens of microseconds, and the session says it: reports have it.
 *
 * Threads: every function may be called by any thread at any time, unless it says otherwise. Not
 * from signal handlers. No thread of the library runs in the program. "Blocks" below means: may
 * wait for the daemon, and says for how long at most.
 *
 * Death: what a thread recorded, and which spans it is in, is in shared memory at once. It reaches
 * the store when the program is killed, and when the daemon is killed and started again.
 *
 * fork(): the child gets a session of its own with its first record, which blocks for 100 ms at
 * most to connect. Spans and runs that were open in the parent do not exist in the child. exec()
 * ends the session. Not for children made by a bare clone().
 *
 * System calls: docs/system-calls.md lists all that the library makes, for seccomp filters.
 *
 * Errors: negative errno values. A failed call changes nothing. optrace_status() has the sentence.
 *
 * Environment, read by optrace_start() (not in setuid programs): OPTRACE_SOCKET, path of the
 * daemon's socket; OPTRACE_RING_RECORDS, records in each thread's ring; OPTRACE_COUNTERS, CPU
 * counters to read; OPTRACE_SCHEDULE, see below; OPTRACE_STACKS, how many frames of the call stack
 * (64 at most) ops and labels get as they are defined, in their params as "stack", the nearest
 * first; it is read at the first definition, too; OPTRACE_COMMAND_LINE, 0: the daemon is not told
 * the command line, otherwise what looks like a secret in it is masked; OPTRACE_LABEL, what the
 * session is called whatever the program is, as `optrace run --label` has it; OPTRACE_DISABLE, set
 * to anything but "" and "0": do not record at all. A field of the config beats its variable.
 *
 * Schedules: "wait=1,warmup=1,active=3,repeat=2,skip-first=10" leaves out the first 10 runs; then
 * comes a cycle, twice: one run is not recorded, one is recorded as a warm-up, three are recorded.
 * That is the meaning of the words in PyTorch's profiler. `active` is needed, the others are 0
 * unless given; repeat=0 goes on for ever. All lengths may be times in place of runs:
 * "wait=10s,active=500ms" (ns, us, ms, s, min, h; not mixed with runs). Runs are those of
 * optrace_run_begin(), of all threads together, counted from optrace_start() on, also while off and
 * without a daemon. The schedule moves on where a run begins: what stands between two runs belongs
 * to the first of them, and before the first one nothing is recorded. Where threads have runs at
 * the same time, those under way when recording ends lack what they do after that. A run costs a
 * counter while it is left out, a span as much as while nobody listens.
 *
 * From outside: `optrace start` and `optrace stop` begin and end the recording of programs that
 * run, with a schedule or without, whatever their own schedule says. A program notices where it
 * begins a run or a span, marks or counts or defines something, or calls optrace_look(), at most 50
 * ms after the daemon says so, and turns recording off within a second in any case.
 */
#ifndef OPTRACE_H
#define OPTRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPTRACE_API __attribute__((visibility("default")))

/* --- Start and stop --- */

/** All zero is the default. */
struct optrace_config {
    const char *socket_path;     /* NULL: $OPTRACE_SOCKET, else $XDG_RUNTIME_DIR/optrace/
                                    collector.sock; where that does not exist, or XDG_RUNTIME_DIR
                                    is not set, /run/optrace/collector.sock (system service) */
    const char *program;         /* name of this program; NULL: that of its executable */
    uint32_t ring_records;       /* 64 bytes each, one ring per thread; rounded up to a power of
                                    two between 64 and 4194304. 0: $OPTRACE_RING_RECORDS, else
                                    65536 (4 MiB, taken as it is used) */
    uint32_t connect_timeout_ms; /* 0: 1000. How long optrace_start() waits for an answer */
    uint32_t exit_timeout_ms;    /* 0: 1000. How long stop or exit tries to save what is not yet
                                    in the daemon's hands (a daemon that just restarts) */
    int required;                /* not 0: it is an error when no daemon listens */
    const char *counters;        /* CPU counters to read at the begin and end of each span, as in
                                    "page-faults,task-clock"; see there. NULL: $OPTRACE_COUNTERS,
                                    else none; "": none */
    const char *schedule;        /* which runs are recorded, see "Schedules"; NULL:
                                    $OPTRACE_SCHEDULE, else all of them */
};

/**
 * Start recording to the daemon.
 *
 * config  NULL for the defaults; it and its texts are copied
 *
 * Without `required` an absent daemon is no error: the program looks again, at most once a second,
 * whenever it defines something or begins a run or a span, and recording starts by itself.
 *
 * Calls are counted: a program and a library in it may both start and stop. The config of a call
 * while already started is ignored.
 *
 * Returns 0 (also with OPTRACE_DISABLE), or
 *   -ENOENT, -ECONNREFUSED  nobody listens (with `required` only)
 *   -EACCES                 this user may not record here, or not open the socket; optrace_status()
 *                           says what to ask for
 *   -EPROTO                 the daemon speaks another version, or not this language at all
 *   -EUSERS                 the daemon has too many clients (with `required` only)
 *   -ETIMEDOUT              it did not answer in time (with `required` only)
 *   -ENAMETOOLONG, -EINVAL (also for a counter that there is not), -ENOMEM
 * After an error it is not started. Blocks for connect_timeout_ms at most.
 */
OPTRACE_API int optrace_start(const struct optrace_config *config);

/** Undo one optrace_start(). The last one ends the session: what was recorded is in the daemon's
 *  hands, open spans are stored as unfinished. Normal exit does the same. Blocks for
 *  exit_timeout_ms at most. Not started: does nothing. */
OPTRACE_API void optrace_stop(void);

enum optrace_level {
    OPTRACE_OFF = 0,    /* nothing is recorded: not started, no daemon yet, or it said so */
    OPTRACE_ON = 1,     /* ops, runs, memory */
    OPTRACE_DETAIL = 2, /* and phases inside ops */
};

/** Read it with optrace_level(). It is a part of the interface only for the inline functions. */
extern OPTRACE_API uint32_t optrace_level_now;

/** What is recorded now, enum optrace_level. The daemon can change it at any time. */
static inline uint32_t optrace_level(void)
{
    return __atomic_load_n(&optrace_level_now, __ATOMIC_RELAXED);
}

/**
 * Wait until all that was recorded so far is committed to the store: what this thread has recorded,
 * and what other threads have recorded before something that this call comes after, such as their
 * pthread_join(), or an unlock of a mutex that was locked since. Spans that are still open are not
 * recorded yet. What is committed survives the end of the program and of the daemon, however
 * sudden.
 *
 * Tries to reconnect when the daemon is gone. Returns 0; -ETIMEDOUT after timeout_ms without an
 * answer; -ENOTCONN when there is no daemon; what made the commit fail (-ENOSPC, -EIO); -ESTALE
 * when the daemon has ended the session without having read all, and other threads, which keep the
 * rest, have recorded nothing since then. Blocks for timeout_ms at most.
 */
OPTRACE_API int optrace_flush(uint32_t timeout_ms);

enum optrace_flush_flag {
    OPTRACE_DURABLE = 1, /* wait until it is on the disk, too: it survives a power failure */
};

/**
 * The same with flags. With OPTRACE_DURABLE also -EIO when it is committed and the disk failed, and
 * -EOPNOTSUPP when it is committed by a daemon that is too old to wait for the disk. -EINVAL: an
 * unknown flag. A disk takes milliseconds for it.
 */
OPTRACE_API int optrace_flush_with(uint32_t timeout_ms, uint32_t flags);

/** Records of this process that were dropped since the first optrace_start(). */
struct optrace_loss {
    uint64_t ring_full; /* the daemon did not keep up, or was away for long */
    uint64_t too_deep;  /* more than 120 spans open at once on a thread */
    uint64_t no_memory; /* a thread's ring could not be made, or had no memory; or the program
                           closed its descriptor, and the daemon that had it is gone */
    uint64_t refused; /* the daemon could not use them: their times or ops make no sense. As far as
                         it has said so: after optrace_flush() for all that came before */
};

/** Never blocks for long (takes a lock). The struct grows at its end: the macro tells the library
 *  how much of it this program knows, and programs that were built before there was one go on. */
OPTRACE_API void optrace_lost_sized(struct optrace_loss *out_loss, size_t loss_bytes);
OPTRACE_API void(optrace_lost)(struct optrace_loss *out_loss);
#define optrace_lost(out_loss) optrace_lost_sized((out_loss), sizeof(struct optrace_loss))

/**
 * One sentence for a person: what is recorded where, or why nothing is, after a failed
 * optrace_start() too: "recording to /run/optrace/collector.sock as session 12",
 * "not recording: /run/optrace/collector.sock: Connection refused". With CPU counters also which of
 * them are read, and which are not and why.
 *
 * out_text  gets at most `bytes`, always with a NUL (bytes > 0)
 *
 * Returns the length of the whole text, as snprintf() does.
 */
OPTRACE_API size_t optrace_status(char *out_text, size_t bytes);

/* --- Definitions: what is constant, said once. They take a lock, allocate, and send; they block
 * for 200 ms at most, once, when the daemon is stuck and the socket is full. Texts are UTF-8 (other
 * bytes become '?'), at most 65535 bytes, and are copied. --- */

/** Element types; numbers are those of ONNX. */
enum optrace_dtype {
    OPTRACE_DTYPE_UNKNOWN = 0,
    OPTRACE_DTYPE_F32 = 1,
    OPTRACE_DTYPE_U8 = 2,
    OPTRACE_DTYPE_I8 = 3,
    OPTRACE_DTYPE_U16 = 4,
    OPTRACE_DTYPE_I16 = 5,
    OPTRACE_DTYPE_I32 = 6,
    OPTRACE_DTYPE_I64 = 7,
    OPTRACE_DTYPE_STRING = 8,
    OPTRACE_DTYPE_BOOL = 9,
    OPTRACE_DTYPE_F16 = 10,
    OPTRACE_DTYPE_F64 = 11,
    OPTRACE_DTYPE_U32 = 12,
    OPTRACE_DTYPE_U64 = 13,
    OPTRACE_DTYPE_C64 = 14,
    OPTRACE_DTYPE_C128 = 15,
    OPTRACE_DTYPE_BF16 = 16,
    OPTRACE_DTYPE_F8E4M3FN = 17,
    OPTRACE_DTYPE_F8E4M3FNUZ = 18,
    OPTRACE_DTYPE_F8E5M2 = 19,
    OPTRACE_DTYPE_F8E5M2FNUZ = 20,
    OPTRACE_DTYPE_U4 = 21,
    OPTRACE_DTYPE_I4 = 22,
};

struct optrace_tensor {
    const char *name;    /* of the value, or NULL */
    const int64_t *dims; /* `rank` of them; -1: not known */
    uint32_t rank;       /* at most 16 */
    uint32_t dtype;      /* enum optrace_dtype */
};

/** An op. Start from OPTRACE_OP_INFO(name, type), which says "not known" everywhere else. */
struct optrace_op_info {
    const char *name;
    const char *type;     /* "Conv", "MatMul", ...; see also enum optrace_name_type */
    const char *node_id;  /* its id in the model, or NULL, here and below */
    const char *device;   /* "cpu:0", "cuda:0" */
    const char *params;   /* a JSON object: {"stride": [2, 2]} */
    const char *source;   /* "file:line" */
    uint32_t model;       /* from optrace_model_define(), or 0 */
    uint32_t input_count; /* inputs and outputs: 256 together at most */
    uint32_t output_count;
    uint32_t origin_count; /* at most 4096 */
    const struct optrace_tensor *inputs;
    const struct optrace_tensor *outputs;
    const char *const *origins; /* names of the model's nodes that this op came from (fusion) */
    int64_t computation_flop;   /* -1: not known. A multiply and an add are two */
    int64_t memory_bytes;       /* -1: not known. Read plus written, weights included */
    int64_t workspace_bytes;    /* -1: not known. Scratch while it runs */
};

#define OPTRACE_OP_INFO(op_name, op_type)                                                          \
    {                                                                                              \
        op_name, op_type, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, -1, -1, -1         \
    }

/**
 * Describe an op.
 *
 * info    borrowed for the call; name and type are needed
 * out_op  written only on success: its id, never 0
 *
 * Returns 0; -EINVAL: name or type missing, a count beyond its limit, an unknown model; -E2BIG: a
 * text is too long; -ENOSPC: more than 2^20 ops or 64 MiB of texts; -ENOMEM. Spans of op 0 are not
 * recorded, so a program need not look at the error.
 */
OPTRACE_API int optrace_op_define(const struct optrace_op_info *info, uint32_t *out_op);

/** Ops that have no more to them than a name. */
enum optrace_name_type {
    OPTRACE_LABEL = 0,   /* a named scope that a person opened */
    OPTRACE_PHASE = 1,   /* a step inside an op: prepare_data, infer_shape, compute */
    OPTRACE_COPY = 2,    /* a transfer, for optrace_copy_begin(): "host to device" */
    OPTRACE_COUNTER = 3, /* for optrace_counter() */
    OPTRACE_MARK = 4,    /* for optrace_mark() */
    OPTRACE_MEMORY = 5,  /* for optrace_alloc() and optrace_free(): whose memory it is */
};

/** The op id of a name. The same type and name give the same id each time; keep it where it counts
 *  (a call takes a lock and hashes the name). Returns 0 when the op cannot be defined. */
OPTRACE_API uint32_t optrace_name(enum optrace_name_type type, const char *name);

/** The op id of a label: optrace_name(OPTRACE_LABEL, name). */
static inline uint32_t optrace_label(const char *name)
{
    return optrace_name(OPTRACE_LABEL, name);
}

/** A model. NULL and -1: not known. */
struct optrace_model_info {
    const char *name;        /* needed */
    const char *path;        /* file it was loaded from */
    const char *format;      /* "onnx" */
    const char *producer;    /* program that wrote it */
    const char *digest;      /* "sha256:..." or such */
    int64_t parameter_bytes; /* weights */
};

/** Describe a model. Errors as optrace_op_define(); at most 4096 models. */
OPTRACE_API int optrace_model_define(const struct optrace_model_info *info, uint32_t *out_model);

enum optrace_lane_kind {
    OPTRACE_LANE_THREAD = 1, /* a host thread; made by itself for each thread that records */
    OPTRACE_LANE_STREAM = 2, /* a stream of a device */
    OPTRACE_LANE_QUEUE = 3,  /* a software queue, such as a CPU backend's worker */
};

/** A lane: a track on which one thing happens after the other. */
struct optrace_lane_info {
    const char *name;   /* needed */
    const char *device; /* "cuda:0"; NULL for the host */
    uint32_t kind;      /* enum optrace_lane_kind */
    uint64_t native_id; /* thread id of the system, or the stream's or queue's number */
};

/** Describe a lane that is not a thread (-EINVAL): those have theirs. Errors as
 * optrace_op_define(); at most 4096 lanes, those of threads included. */
OPTRACE_API int optrace_lane_define(const struct optrace_lane_info *info, uint32_t *out_lane);

/** The calling thread's lane; made on the first call. 0 when none can be made. The first 2048
 * threads of a session have a lane each. Later ones share: a lane goes to the next thread of its
 * name when a thread ends, so what others record on it from then on is the next one's. */
OPTRACE_API uint32_t optrace_thread_lane(void);

/** Name the calling thread's lane, before its first record; else it bears the name that the system
 *  has for the thread. Returns 0, -EALREADY when the thread has recorded or asked for its lane, or
 * an error as optrace_op_define(). */
OPTRACE_API int optrace_thread_name(const char *name);

/* --- Spans on the calling thread ---
 *
 * They nest: end the inner before the outer. Ending an outer one ends those inside it at the same
 * moment, and marks them as ended implicitly; so does the end of the thread. Ending a span twice,
 * or on another thread than the one that began it, does nothing. At most 120 are open at once on a
 * thread; more are counted as lost.
 */

/** A handle, by value. {0, 0} is "no span": all functions accept it and do nothing. */
struct optrace_span {
    uint64_t start;
    uint64_t id;
};

OPTRACE_API struct optrace_span optrace_span_begin(uint32_t op);
#if defined(__SIZEOF_INT128__) && (defined(__x86_64__) || defined(__AARCH64EL__))
#define OPTRACE_TWO_WORDS 1
/* The same function under another type. A struct of two words and an integer of two come back in
 * the same registers, but compilers put the struct into memory to look at its second half. */
__extension__ typedef unsigned __int128 optrace_two_words;
OPTRACE_API optrace_two_words optrace_span_begin_words(uint32_t op) __asm__("optrace_span_begin");
#endif
OPTRACE_API void optrace_span_kern(struct optrace_span span);
OPTRACE_API void optrace_span_end(struct optrace_span span);

/**
 * Look for a daemon, or for what it says, when it is time: for programs that call nothing else of
 * this header while off, because they ask optrace_level() first. Without it they do not hear
 * `optrace start`. Call it where there is time, as often as is convenient.
 *
 * Most calls read the time stamp counter and compare. One in 50 ms (in a second, while no daemon
 * listens), of one thread of all, takes some microseconds. Never blocks.
 */
OPTRACE_API void optrace_look(void);

/** Calls until this thread's next optrace_look(). A part of the interface only for the inline
 *  functions. */
extern OPTRACE_API __thread uint32_t optrace_idle_now __attribute__((tls_model("initial-exec")));

static inline void optrace_count_idle(void)
{
    if (__builtin_expect(optrace_idle_now-- == 0, 0))
        optrace_look();
}

/** Begin an execution of `op`. Returns no span when off, or when op is 0. */
static inline struct optrace_span optrace_begin(uint32_t op)
{
    struct optrace_span span = {0, 0};

    if (optrace_level() != OPTRACE_OFF && op != 0) {
#ifdef OPTRACE_TWO_WORDS
        const optrace_two_words words = optrace_span_begin_words(op);

        span.start = (uint64_t)words;
        span.id = (uint64_t)(words >> 64);
#else
        span = optrace_span_begin(op);
#endif
    } else {
        optrace_count_idle();
    }
    return span;
}

/** The preparation is over, the kernels of this span start now. Once per span; optional. */
static inline void optrace_kern(struct optrace_span span)
{
    if (span.id)
        optrace_span_kern(span);
}

/** End it. A span that began is recorded even if recording was turned off meanwhile. */
static inline void optrace_end(struct optrace_span span)
{
    if (span.id)
        optrace_span_end(span);
}

/** Begin a phase inside an op: recorded at OPTRACE_DETAIL only. `op` from
 *  optrace_name(OPTRACE_PHASE, ...). */
static inline struct optrace_span optrace_phase_begin(uint32_t op)
{
    struct optrace_span none = {0, 0};

    if (optrace_level() < OPTRACE_DETAIL || op == 0)
        return none;
    return optrace_span_begin(op);
}

/** Begin a transfer of `bytes` that this thread waits for; `op` from optrace_name(OPTRACE_COPY,
 *  ...) or of type "copy". End it with optrace_end(). */
OPTRACE_API struct optrace_span optrace_copy_begin(uint32_t op, uint64_t bytes);

/** Tie an open span to what it launches elsewhere: a device span of the same run with the same
 *  correlation. Numbers need to be unique within a run only; small ones take less room. */
OPTRACE_API void optrace_span_correlate(struct optrace_span span, uint64_t correlation);

/** Give an open span another op, where what it is comes out only with its results. What is read of
 *  it until then, as by who finds the program dead, is the op that it began with. op 0: nothing. */
OPTRACE_API void optrace_span_op(struct optrace_span span, uint32_t op);

/** A correlation id that no other call in this process returns. Above 2^40, so that it does not
 * meet the ids of device runtimes, which count from 1. */
OPTRACE_API uint64_t optrace_correlation_new(void);

/* --- Scopes: a span from here to the end of the block, left in whatever way ---
 *
 *     void step(void)
 *     {
 *         OPTRACE_SCOPE("step");
 *         ...
 *     }
 */

/** A place in the source with a name; its op is defined when it is first reached while on. */
struct optrace_site {
    const char *name;
    const char *source;
    uint32_t type; /* enum optrace_name_type */
    uint32_t op;
};

OPTRACE_API uint32_t optrace_site_define(struct optrace_site *site);

static inline struct optrace_span optrace_site_begin(struct optrace_site *site, uint32_t min_level)
{
    struct optrace_span none = {0, 0};
    uint32_t op;

    if (optrace_level() < min_level) {
        if (optrace_level() == OPTRACE_OFF)
            optrace_count_idle();
        return none;
    }
    op = __atomic_load_n(&site->op, __ATOMIC_RELAXED);
    if (__builtin_expect(op == 0, 0))
        op = optrace_site_define(site);
    return optrace_begin(op);
}

static inline void optrace_scope_end(struct optrace_span *span)
{
    optrace_end(*span);
}

#define OPTRACE_TEXT_(x)    #x
#define OPTRACE_TEXT(x)     OPTRACE_TEXT_(x)
#define OPTRACE_JOIN_(a, b) a##b
#define OPTRACE_JOIN(a, b)  OPTRACE_JOIN_(a, b)

/* A variable that ends with the block. Its name is counted, not taken from the line: two scopes may
 * stand on one line, as those of a macro do. */
#define OPTRACE_SCOPED                                                                             \
    struct optrace_span __attribute__((cleanup(optrace_scope_end), unused))                        \
    OPTRACE_JOIN(optrace_scope_, __COUNTER__)

/* The site is a static of a block of its own, so that it needs no name that differs from others:
 * an inline function of a C++ header then has one site in all files that it is compiled into. */
#define OPTRACE_SITE_SCOPE(name, type, min_level)                                                  \
    OPTRACE_SCOPED = __extension__({                                                               \
        static struct optrace_site optrace_site_ = {name, __FILE__ ":" OPTRACE_TEXT(__LINE__),     \
                                                    type, 0};                                      \
        optrace_site_begin(&optrace_site_, min_level);                                             \
    })

/** A label for the rest of the block. `name` is a text that stays: a literal. */
#define OPTRACE_SCOPE(name) OPTRACE_SITE_SCOPE(name, OPTRACE_LABEL, OPTRACE_ON)

/** A phase for the rest of the block, at OPTRACE_DETAIL. */
#define OPTRACE_PHASE_SCOPE(name) OPTRACE_SITE_SCOPE(name, OPTRACE_PHASE, OPTRACE_DETAIL)

/** A span of `op` for the rest of the block. */
#define OPTRACE_OP_SCOPE(op) OPTRACE_SCOPED = optrace_begin(op)

/* --- Runs: one execution of a model, an iteration, a step --- */

enum optrace_run_flag {
    OPTRACE_WARMUP = 1,      /* not to be counted in statistics */
    OPTRACE_WITHOUT_OPS = 2, /* its ops are not recorded, on purpose: what ops take in a run on
                                average is that of the others */
};

/** A handle, by value. All zero is "no run". */
struct optrace_run {
    struct optrace_span span;
    uint32_t number;   /* from 1; 0 when off */
    uint32_t previous; /* the thread's current run before */
};

/**
 * Begin a run on the calling thread: a span of its own, and what this thread records until
 * optrace_run_end() belongs to it.
 *
 * model  from optrace_model_define(), or 0
 * flags  enum optrace_run_flag
 *
 * Here recording begins and ends by schedules and commands. May look for a daemon when there is
 * none, once a second at most; blocks for 5 ms at most then.
 */
OPTRACE_API struct optrace_run optrace_run_begin(uint32_t model, uint32_t flags);

/** End it, and spans that are still open inside it. */
OPTRACE_API void optrace_run_end(struct optrace_run run);

/** A new run number, for runs that are recorded with optrace_record(). */
OPTRACE_API uint32_t optrace_run_new(void);

/** For workers: what this thread records from now on belongs to run `number` (0: to none). Returns
 *  the number that was set before. */
OPTRACE_API uint32_t optrace_run_set(uint32_t number);

/* --- Points in time, on the calling thread, now. `op` from optrace_name() or
 * optrace_op_define(). No-ops when off. --- */

OPTRACE_API void optrace_mark(uint32_t op);

/** A value that holds until the next one. Not finite: nothing is recorded. */
OPTRACE_API void optrace_counter(uint32_t op, double value);

/** Memory was taken or given back. op may be 0. bytes: 0 for a free of unknown size; an allocation
 *  of 0 bytes is not recorded. */
OPTRACE_API void optrace_alloc(uint32_t op, const void *address, uint64_t bytes);
OPTRACE_API void optrace_free(uint32_t op, const void *address, uint64_t bytes);

/* --- Complete records: what happened elsewhere, or earlier --- */

enum optrace_kind {
    OPTRACE_KIND_SPAN = 1,    /* start, kern, end */
    OPTRACE_KIND_RUN = 2,     /* start, end; op is a model id or 0, run its number */
    OPTRACE_KIND_COPY = 3,    /* start, end, bytes */
    OPTRACE_KIND_MARK = 4,    /* start */
    OPTRACE_KIND_COUNTER = 5, /* start, value */
    OPTRACE_KIND_ALLOC = 6,   /* start, bytes > 0, address */
    OPTRACE_KIND_FREE = 7,    /* start, bytes >= 0 (0: not known), address */
};

enum optrace_event_flag {
    OPTRACE_EVENT_REALTIME = 1,    /* times are ns of CLOCK_REALTIME, not ticks */
    OPTRACE_EVENT_WARMUP = 4,      /* RUN only, as OPTRACE_WARMUP */
    OPTRACE_EVENT_WITHOUT_OPS = 8, /* RUN only, as OPTRACE_WITHOUT_OPS */
};

/** One record. {0} and then the fields that the kind has. */
struct optrace_event {
    uint16_t kind;  /* enum optrace_kind; 0 is SPAN */
    uint16_t flags; /* enum optrace_event_flag */
    uint32_t op;
    uint32_t lane;  /* 0: the calling thread's */
    uint32_t run;   /* 0: the calling thread's current run, if there is one */
    uint64_t start; /* from optrace_ticks(), or ns with OPTRACE_EVENT_REALTIME */
    uint64_t kern;  /* 0: not known; else start <= kern <= end */
    uint64_t end;
    uint64_t correlation; /* 0: none; see optrace_span_correlate() */
    uint64_t bytes;
    uint64_t address;
    double value;
};

/** Record an event with given times. Returns 0, also when off; -EINVAL: times out of order, a field
 *  that its kind needs is missing (nothing is recorded); -ENOBUFS: dropped, and counted. */
OPTRACE_API int optrace_record(const struct optrace_event *event);

/* --- CPU counters: what the processor and the kernel counted while a span was open ---
 *
 * Off unless asked for by optrace_config.counters or OPTRACE_COUNTERS, a list of
 *
 *     instructions cycles cache-misses branch-misses    of the processor, by perf_event_open()
 *     page-faults context-switches task-clock           kept by the kernel for every thread
 *     cpu-migrations                                    of the kernel, by perf_event_open()
 *
 * Each thread opens its own with its first record (a file per counter of perf_event_open(), closed
 * when the thread ends). They are read at the begin and at the end of each span that is not a phase
 * or a run, and become records of kind COUNTER on the thread's lane, at the very times of the
 * span's start and end: what the thread has counted so far, under the name "perf.instructions" and
 * so on; "perf.task-clock_ns" in ns. The difference of the two is the span's total; its own count
 * is that without the totals of the spans in it. profile_analyze --report counters has both.
 *
 * Where the kernel does not let a program count what the kernel does (kernel.perf_event_paranoid 2
 * or more), the processor's counters are of user space only, and their names end in ":u"; page
 * faults and context switches are complete everywhere. No machine whose processor counts has been
 * tried yet: those four were seen only to be refused as they should. Where the processor is shared
 * with other users of its counters, counts are scaled by time, and "perf.unscheduled_ns" says for
 * how long they were not counted. What cannot be read is left out, and optrace_status() says why.
 *
 * Cost of a span, begin and end together, measured on a Zen 4 in a virtual machine with Linux 6.18
 * (meson test -C build --benchmark span): 0.5 to 0.8 us for page faults, context switches or
 * both, 1.0 to 1.2 us for the task clock, 1.3 to 1.5 us for a perf_event_open() group
 * (cpu-migrations) with the task clock; the processor's own were not measured. Of this, what lies
 * after the reading at the begin and before that at the end is in the span's own counts. Two
 * records of 64 bytes are written for each counter of a span: give rings more room (ring_records)
 * when there are many. Spans without counters cost what they did.
 */

enum { OPTRACE_COUNTERS_MAX = 12 };

/** A reading of the calling thread's counters; of use for optrace_counters_record() only. */
struct optrace_counter_values {
    uint64_t mask;
    double values[OPTRACE_COUNTERS_MAX];
};

/** Whether `list` is one, as optrace_config.counters takes it: 0, or -EINVAL with a sentence in
 *  out_text (at most `bytes`, always with a NUL; bytes > 0). */
OPTRACE_API int optrace_counters_check(const char *list, char *out_text, size_t bytes);

/** After optrace_start(): how many of the counters that were asked for are read; -EDEADLK from
 * within the library. out_missing, if not NULL, gets how many are not; out_text which are, and
 * which are not and why; "" when none was asked for. NULL and 0 bytes are allowed. */
OPTRACE_API int optrace_counters_status(unsigned *out_missing, char *out_text, size_t bytes);

/** Read the calling thread's counters, for spans that are recorded with given times. Returns
 *  -ENODATA, and the values are of no use, when none are read or recording is off. */
OPTRACE_API int optrace_counters_read(struct optrace_counter_values *out_values);

/** Record two readings as those of a span's start and end, on its lane and in its run; before the
 *  span itself. Both by the same thread; readings that failed record nothing. Errors are those of
 *  optrace_record(). */
OPTRACE_API int optrace_counters_record(const struct optrace_event *event,
                                        const struct optrace_counter_values *at_start,
                                        const struct optrace_counter_values *at_end);

/** Now, in the unit of optrace_event's times: the CPU's time stamp counter where it is fit for the
 *  purpose, else ns of CLOCK_MONOTONIC. Works while off. */
OPTRACE_API uint64_t optrace_ticks(void);

#ifdef __cplusplus
}
#endif

#endif
