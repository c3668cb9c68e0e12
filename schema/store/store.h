/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store contract in C: open, check the version, migrate, and put rows. This is the only SQLite
 * code that the daemon and profile_analyze share. schema/store/store.sql holds tables and views,
 * schema/store/store.md explains them.
 *
 * Writing: store_open(STORE_WRITE), then per transaction store_begin(), any number of store_put_*()
 * and store_add_events() ..., store_commit() or store_rollback(); store_close().
 * Keeping it within bounds: retain.h.
 * Reading: store_open(STORE_READ), SQL on store_handle(), store_close().
 *
 * A handle belongs to one thread at a time. All functions may block on the disk. Errors: negative
 * errno, translated once from SQLite's codes: -ENOSPC disk full, -EIO, -EACCES no permission,
 * -EBUSY another writer, -EUCLEAN damaged (not an SQLite file, or a malformed one), -EPROTO a store
 * of a newer major version, -ENOENT missing, -ENOMEM; the sentence is in the diag.
 * After an error inside a transaction nothing of it is in the file once store_rollback() was
 * called.
 */
#ifndef OPTRACE_SCHEMA_STORE_H
#define OPTRACE_SCHEMA_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "schema/store/stat.h"

#define STORE_VERSION_MAJOR 1
#define STORE_VERSION_MINOR 4

/* What the integer fields below hold when a value is not known: it becomes NULL. */
#define STORE_NULL INT64_MIN

/* The source of sessions whose times are counts of samples. */
#define STORE_SOURCE_SAMPLES "folded samples"

struct store;
struct sqlite3;

enum store_mode {
    STORE_READ,   /* an existing store, read-only, also while it is written */
    STORE_WRITE,  /* made when missing, with the directories above; takes the writer's lock */
    STORE_MEMORY, /* an empty store that nobody else sees, for importers; what does not fit into 64
                     MiB goes to a temporary file. path is ignored, may be NULL */
};

/**
 * Open a store.
 *
 * path       file name, at most PATH_MAX
 * out_store  written only on success; give it to store_close()
 *
 * STORE_WRITE takes a lock that a second writer is refused with (-EBUSY, with the pid of the holder
 * in the sentence). It is on the file PATH-lock, which stays, and ends with store_close() or the
 * process. A new file has mode 0600, new directories 0700.
 *
 * A store of an older version is migrated in one transaction, also by STORE_READ, which then needs
 * the lock and permission to write for that moment; a newer minor version is opened, a newer major
 * one refused (-EPROTO), as is one too old to be migrated. -EISDIR and -EINVAL: not a file. -ENOENT
 * also for a file into which no daemon has written yet.
 */
int store_open(const char *path, enum store_mode mode, struct store **out_store, struct diag *diag);

/** Rolls back what is open, brings the WAL into the file when the store was open for writing, and
 *  closes. Nulls *store; NULL inside is allowed. Finalize your own statements before. */
void store_close(struct store **store);

/** The SQLite handle, borrowed until store_close(). Do not change schema or data through it. */
struct sqlite3 *store_handle(struct store *store);

/** Say what SQLite's result `code` on store_handle() means: fills diag with "cannot DOING PATH:
 * ..." or a clearer sentence, and returns the negative errno. For callers that run SQL of their
 * own. */
int store_fail(struct store *store, int code, const char *doing, struct diag *diag);

/** Whether some process has this store open for writing, as far as can be seen: true also when it
 *  cannot. False for a store in memory. A session without end in a store that nobody writes to did
 *  not end: what it recorded after its last commit is not known. */
bool store_has_writer(const struct store *store);

/** Whether a process writes to the store at `path`, which need not be one. Returns 0, or -EBUSY
 * with a sentence that names the process; also where that cannot be seen. */
int store_check_writer(const char *path, struct diag *diag);

/** Whether the files that are written still stand at the store's path: false when they were
 * deleted, renamed or replaced. Takes two calls of stat(); a store in memory always does. */
bool store_is_in_place(struct store *store);

/** $OPTRACE_STORE, else $XDG_STATE_HOME/optrace/optrace.db, else ~/.local/state/optrace/optrace.db,
 *  for root without HOME /var/lib/optrace/optrace.db. Returns 0 or -ENAMETOOLONG. */
int store_default_path(char *out_path, size_t path_bytes);

/** Begin a transaction. -EBUSY: some other program, such as a sqlite3 shell, has been writing for
 *  five seconds. */
int store_begin(struct store *store, struct diag *diag);

/** Commit. After 0 the transaction survives the death of the process; a power failure may take the
 *  last ones. After an error call store_rollback(): nothing of it is in the file. Also brings the
 *  WAL into the file when that has grown, which may take as long as the disk needs for 16 MiB. */
int store_commit(struct store *store, struct diag *diag);

/** Bring what is committed to the disk: it survives a power failure, too. Not within a transaction.
 *  Returns 0 or -EIO; then nobody knows what is on the disk, also after a later success. */
int store_sync(struct store *store, struct diag *diag);

/**
 * Hold back rows of ops, chunks and variables until there are many, from now on: for those who put
 * a great many and read none in between. What is wrong with one is then said later. store_flush()
 * and store_commit() write what waits, store_rollback() drops it.
 *
 * Returns 0 or -ENOMEM.
 */
int store_gather(struct store *store, struct diag *diag);
int store_flush(struct store *store, struct diag *diag);

/**
 * Let roll-ups wait for more events than one commit brings: all are written once in `row_ns` for
 * each row that there is to be written, and once in ten seconds, unless one row alone may wait for
 * longer. 0, as at first: by each commit. The views of the store do not show the difference.
 */
void store_delay_rollups(struct store *store, int64_t row_ns);

/** Whether roll-ups have waited for as long as they may. */
bool store_rollups_are_due(const struct store *store);

/** Write the roll-ups that wait, also those that a writer left which was killed, in a transaction
 *  of its own. */
int store_write_rollups(struct store *store, struct diag *diag);

/** Roll back. Allowed at any time, also without a transaction. The store can be used on. */
void store_rollback(struct store *store);

/** The highest ids in use, so that the only writer can number new rows itself. */
struct store_ids {
    int64_t session_id, model_id, op_id, lane_id, mem_chunk_id, variable_id;
};
int store_last_ids(struct store *store, struct store_ids *out_ids, struct diag *diag);

/* Rows. Texts may be NULL (stored as NULL) unless said otherwise and are only borrowed for the
 * call; integers may be STORE_NULL. Putting a row whose key is there already replaces its other
 * columns. */
struct store_session {
    int64_t session_id;
    uint8_t uuid[16];
    int64_t start_ns, end_ns;
    const char *end_reason, *program, *command, *library, *host;
    int64_t pid, uid;
    const char *clock, *source; /* not NULL */
    const char *note;
    const char *environment; /* a JSON object */
    int64_t damage_count;    /* pieces of an imported file that could not be read */
};
struct store_model {
    int64_t model_id, session_id, client_model;
    const char *name, *path, *format, *producer, *digest;
    int64_t parameter_bytes;
};
/* A long text that ops have, each once. Numbers are of the session, from 1. */
struct store_text {
    int64_t session_id, text_id;
    const char *value; /* not NULL */
};
struct store_op {
    int64_t op_id, session_id, client_op, model_id;
    const char *name, *type; /* not NULL */
    const char *node_id, *device;
    const char *input_shapes, *input_dtypes, *output_shapes, *output_dtypes; /* JSON */
    const char *params;                                                      /* JSON object */
    int64_t computation_flop, memory_bytes, workspace_bytes;
    const char *source, *origin;
    /* Numbers of texts that were put, or 0. What has one is not stored with the op again. */
    struct {
        int64_t name, type, node_id, device, params, source;
    } text_ids;
    /* In place of origin: a JSON array of numbers of texts, which are JSON strings. */
    const char *origin_texts;
};
struct store_lane {
    int64_t lane_id, session_id, client_lane;
    const char *kind; /* thread, stream or queue */
    const char *name, *device;
    int64_t native_id;
};
struct store_run {
    int64_t session_id, run, model_id, lane_id, start_ns, end_ns;
    int warmup;
    int without_ops; /* its ops were left out on purpose */
};
struct store_gap {
    int64_t session_id, lane_id;
    const char *reason;
    int64_t lost_count, start_ns, end_ns; /* lost_count: STORE_NULL: not known how many */
};
struct store_cursor {
    int64_t session_id, ring_id, committed;
    const void *gaps, *clock; /* NULL: none */
    size_t gaps_bytes, clock_bytes;
    int64_t complete_ns; /* 0: not known */
    const char *process;
};
struct store_mem_chunk {
    int64_t mem_chunk_id, session_id;
    const char *client_chunk; /* not NULL */
    int64_t size_bytes;
    const char *owner;
};
struct store_variable {
    int64_t variable_id, session_id;
    const char *client_var; /* not NULL */
    const char *name, *dtype;
    const char *shape; /* JSON */
    int64_t producer_op, mem_chunk_id, offset_bytes;
};
int store_put_session(struct store *store, const struct store_session *row, struct diag *diag);
int store_put_model(struct store *store, const struct store_model *row, struct diag *diag);
int store_put_text(struct store *store, const struct store_text *row, struct diag *diag);
int store_put_op(struct store *store, const struct store_op *row, struct diag *diag);
int store_put_lane(struct store *store, const struct store_lane *row, struct diag *diag);
int store_put_run(struct store *store, const struct store_run *row, struct diag *diag);

/** The same for runs that nobody has put before, up to one with a number that its session has used:
 * *out_added is how many are before it, `count` when there is none. */
int store_add_runs(struct store *store, const struct store_run *rows, size_t count,
                   size_t *out_added, struct diag *diag);
int store_add_gap(struct store *store, const struct store_gap *row, struct diag *diag);
int store_put_cursor(struct store *store, const struct store_cursor *row, struct diag *diag);

/** Forget how far a ring came, which nobody will hand over again. */
int store_drop_cursor(struct store *store, int64_t session_id, int64_t ring_id, struct diag *diag);

int store_put_mem_chunk(struct store *store, const struct store_mem_chunk *row, struct diag *diag);
int store_put_variable(struct store *store, const struct store_variable *row, struct diag *diag);
/** Ends a session: sets end_ns, end_reason, and note where it is not NULL; removes its cursors. */
int store_end_session(struct store *store, int64_t session_id, int64_t end_ns, const char *reason,
                      const char *note, struct diag *diag);

/** Put what describes a session of another open store, with the ids that it has there: its rows in
 *  session, model, text, op_row, lane, mem_chunk and variable. Runs, gaps and what was recorded are
 *  for the caller to choose: store_copy_run() does the same with one run. Both stores must have the
 *  same version, which store_open() sees to; none of the ids may be there yet. */
int store_copy_session(struct store *to, struct store *from, int64_t session_id, struct diag *diag);
int store_copy_run(struct store *to, struct store *from, int64_t session_id, int64_t run,
                   struct diag *diag);

/**
 * Copy all sessions of another open store, with everything that belongs to them, under new ids. Not
 * those that are there already, by their uuid. Within a transaction of `to`; both stores must have
 * the same version. Sessions that still run end in the copy. `from`, on which no transaction is
 * open, may be open for reading only; what others write to it meanwhile is not seen.
 *
 * out_taken, out_known  sessions copied, and left out because they are there
 */
int store_copy_all(struct store *to, struct store *from, size_t *out_taken, size_t *out_known,
                   struct diag *diag);

/** A session, the sessions of a process, those of programs of a name; the others STORE_NULL or
 *  NULL. */
struct store_copy_select {
    int64_t session_id, pid;
    const char *program;
};

/** Which sessions to copy. */
struct store_copy_choice {
    int64_t uid;      /* of this user only; STORE_NULL: of all, and imported ones */
    int64_t since_ns; /* not those that ended before; 0: all */
    const struct store_copy_select *selects; /* any of them; all when there are none */
    size_t select_count;
};

/** The same with some of the sessions. Nothing of the others is in the copy, but that ids have
 *  gaps. */
int store_copy_some(struct store *to, struct store *from, const struct store_copy_choice *choice,
                    size_t *out_taken, size_t *out_known, struct diag *diag);

/* Rows of the tables that are written a lot. */
struct store_event {
    int64_t lane_id, op_id, run, start_ns, dur_ns, kern_ns, correlation, bytes;
};
struct store_memory_event {
    int64_t lane_id, op_id, run, time_ns, address, bytes;
};
struct store_counter {
    int64_t lane_id, op_id, run, time_ns;
    double value;
};

/**
 * Append events, in the order given, the fast way: the rows are laid out as table pages of an
 * in-memory database and copied by SQLite's transfer optimisation (schema/store/store.md says why).
 * store_commit() then adds to event_batch and op_stat in the same transaction. 20,000 to 100,000
 * rows per transaction are best.
 *
 * Lanes and ops must have been put before. -EINVAL: a lane that was not put, no lane, no start, a
 * negative dur_ns, or no transaction; the others then are to be rolled back too.
 */
int store_add_events(struct store *store, const struct store_event *rows, size_t count,
                     struct diag *diag);
int store_add_memory_events(struct store *store, const struct store_memory_event *rows,
                            size_t count, struct diag *diag);
int store_add_counters(struct store *store, const struct store_counter *rows, size_t count,
                       struct diag *diag);

#endif
