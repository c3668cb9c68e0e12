/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store share: the handle, its prepared statements, the parts of a write. */
#ifndef OPTRACE_SCHEMA_STORE_PRIVATE_H
#define OPTRACE_SCHEMA_STORE_PRIVATE_H

#include <sqlite3.h>
#include <sys/types.h>
#include <stdbool.h>

#include "schema/store/store.h"
#include "schema/store/batch.h"
#include "schema/store/bulk.h"
#include "schema/store/forget.h"
#include "schema/store/lane.h"
#include "schema/store/merge.h"
#include "schema/store/rollup.h"
#include "schema/store/room.h"
#include "schema/store/rows.h"
#include "schema/store/shed.h"
#include "schema/store/tally.h"
#include "schema/store/total.h"

/* "OTRC": what file(1) and we know a store by. */
#define STORE_APPLICATION_ID 0x4f545243

#define STORE_STRING_OF(x) #x
#define STORE_STRING(x)    STORE_STRING_OF(x)
#define STORE_VERSION_TEXT STORE_STRING(STORE_VERSION_MAJOR) "." STORE_STRING(STORE_VERSION_MINOR)
enum { STORE_VERSION_TEXT_MAX = 64 };

enum {
    STORE_BUSY_MS = 5000, /* how long a write waits for another program's short lock, such as
                             that of a sqlite3 shell */
};

/* Texts of the .sql files, made by the build. */
extern const char store_tables_sql[];
extern const char store_views_sql[];
extern const char store_0_9_to_1_0_sql[];
extern const char store_1_0_to_1_1_sql[];
extern const char store_1_1_to_1_2_sql[];
extern const char store_1_2_to_1_3_sql[];
extern const char store_1_3_to_1_4_sql[];

/* Prepared on first use, kept until store_close(). */
enum store_statement {
    STORE_PUT_SESSION,
    STORE_PUT_MODEL,
    STORE_PUT_TEXT,
    STORE_PUT_OP,
    STORE_PUT_LANE,
    STORE_PUT_RUN,
    STORE_PUT_CURSOR,
    STORE_DROP_CURSOR,
    STORE_PUT_MEM_CHUNK,
    STORE_PUT_VARIABLE,
    STORE_ADD_GAP,
    STORE_PUT_BATCH,
    STORE_ADD_STAT,
    STORE_UPDATE_STAT,
    STORE_GET_ROLLED_UP,
    STORE_PUT_ROLLED_UP,
    STORE_DROP_ROLLED_UP,
    STORE_GET_WAITING,
    STORE_GET_STAT,
    STORE_GET_LANE,
    STORE_GET_DATA_VERSION,
    STORE_TAKE_WRITE_LOCK,
    STORE_END_SESSION,
    STORE_DROP_CURSORS,
    STORE_GET_FREE_COUNT,
    STORE_GET_PAGE_SIZE,
    STORE_GET_PAGE_COUNT,
    STORE_GET_BATCHES,
    STORE_GET_EVENTS,
    STORE_GET_MEMORY_EVENTS,
    STORE_GET_COUNTERS,
    STORE_GET_OP_IS_CALIBRATION,
    STORE_DELETE_EVENTS,
    STORE_DELETE_MEMORY_EVENTS,
    STORE_DELETE_COUNTERS,
    STORE_DELETE_BATCH,
    STORE_ADD_DROPPED,
    STORE_FIND_OLD_STAT,
    STORE_GET_OLD_STATS,
    STORE_DELETE_OLD_STATS,
    STORE_ADD_OLD_STAT,
    STORE_GET_OP_TYPE,
    STORE_GET_RUN,
    STORE_GET_RUN_MAX,
    STORE_GET_TOTAL,
    STORE_PUT_TOTAL,
    STORE_DROP_TOTAL,
    STORE_GET_SESSION_TOTAL,
    STORE_PUT_SESSION_TOTAL,
    STORE_DROP_SESSION_TOTAL,
    STORE_PUT_TOTALLED,
    STORE_GET_SESSION_COVER,
    STORE_PUT_SESSION_COVER,
    STORE_DROP_SESSION_COVER,
    STORE_GET_SIDE_COVERS,
    STORE_PUT_SIDE_COVER,
    STORE_GET_LANE_COVER,
    STORE_PUT_LANE_COVER,
    STORE_DROP_LANE_COVER,
    STORE_GET_COVER_RUNS,
    STORE_HAS_UNCOUNTED,
    STORE_GET_UNCOUNTED,
    STORE_STATEMENT_COUNT,
};

/* Tables that are written a lot. */
enum store_rows {
    STORE_ROWS_EVENT,
    STORE_ROWS_MEMORY_EVENT,
    STORE_ROWS_COUNTER,
    STORE_ROWS_COUNT,
};
extern const struct rows_table store_rows_tables[STORE_ROWS_COUNT];

/* Tables whose rows store_gather() holds back, and others that are written many at a time. */
enum store_bulk {
    STORE_BULK_OP,
    STORE_BULK_MEM_CHUNK,
    STORE_BULK_VARIABLE,
    STORE_BULK_STAT,
    STORE_BULK_RUN,
    STORE_BULK_COUNT,
};

/* What store_set_budget() has said and taken. */
struct room {
    int fd;                         /* the file; -1: without a budget */
    int64_t page_bytes, file_bytes; /* of the file that have their blocks */
    int64_t log_bytes, held_bytes, batch_bytes;
    int64_t waiting_max; /* bytes that may wait in memory (rollup.h); 0: without a budget */
    bool has_log;        /* the log has its blocks */
};

struct store {
    sqlite3 *db;
    enum store_mode mode;
    char *path;              /* as given; "memory" for STORE_MEMORY */
    int lock_fd;             /* -1: none */
    ino_t file_ino, log_ino; /* of the file and its log when they were first seen; 0: not yet */
    dev_t file_dev;
    bool goes_backwards;          /* scans without an order do; for rows that are dropped */
    int log_pages, log_pages_max; /* of the WAL after the last commit; when to checkpoint */
    struct room room;
    sqlite3_stmt *statements[STORE_STATEMENT_COUNT];
    struct rows rows[STORE_ROWS_COUNT];
    bool knows_gathered; /* the table that bulks are read by */
    bool gathers;        /* rows of these tables wait here: */
    struct bulk bulks[STORE_BULK_COUNT];
    const struct bulk *flushed; /* that are being written */
    /* What follows is known from our own writing, and forgotten when another program has written.
     */
    int64_t data_version;
    int64_t next_event;   /* rowid of the next event; 0: to be asked */
    int64_t kept_counter; /* up to this rowid of `counter` retention keeps all that is there */
    struct lane_cache lanes;
    struct batch batch;
    struct tally_list tallies;
    struct rollup rollup;
    struct totals totals;
    int64_t first_gathered; /* event of an import that no total passes over yet; 0: none */
    struct merge merge;
    struct forget forget;
    struct shed shed;
};

/* error.c */

/** Run SQL without results. `doing` completes "cannot ... PATH". */
int store_exec(struct store *store, const char *sql, const char *doing, struct diag *diag);

/** The first column of the first row of a query, as an integer; 0 where it is NULL or no row. */
int store_query_int(struct store *store, const char *sql, int64_t *out_value, struct diag *diag);

/* lock.c */

/** Take the writer's lock of `path`, an existing file. Returns the fd that holds it, or -EBUSY and
 * so on. */
int store_lock_take(const char *path, struct diag *diag);
void store_lock_release(int fd);

/** What cannot be a store: a directory, a socket, ... 0 when missing. */
int store_check_path(const char *path, struct diag *diag);

/** Whether somebody else has put there the store, or what SQLite keeps beside it: 0, or -EPERM. */
int store_check_owners(const char *path, struct diag *diag);

/** Make the directories above `path` (0700) and the empty file (0600), where missing. */
int store_make_file(const char *path, struct diag *diag);

/* room.c */

/** Before a transaction: -EBUSY when the log is at its bound. */
int store_room_begin(struct store *store, struct diag *diag);

/** Before COMMIT: take room for what makes the file longer. -ENOSPC */
int store_room_commit(struct store *store, struct diag *diag);

/** Bring what the log has into the file, as far as readers allow. */
void store_room_checkpoint(struct store *store);

/* schema.c */

enum store_state {
    STORE_STATE_EMPTY = 0,   /* a database without tables */
    STORE_STATE_OLDER = 1,   /* to be migrated */
    STORE_STATE_CURRENT = 2, /* this version, or a newer minor one */
};

/** What the database is. Returns enum store_state, -EUCLEAN when it is not a store, -EPROTO when
 * its major version is newer. Changes nothing. */
int store_check_schema(struct store *store, struct diag *diag);

/** Make all tables and views, in one transaction. */
int store_create_schema(struct store *store, struct diag *diag);

/** The text of meta.schema_version, cut to STORE_VERSION_TEXT_MAX; "" when there is none. */
int store_read_version(struct store *store, char *out_text, struct diag *diag);

/* migrate.c */

/** Bring an older store to this version, in one transaction. */
int store_migrate(struct store *store, struct diag *diag);

/* statement.c */

/** The statement, prepared from `sql` on its first use. */
int store_statement(struct store *store, enum store_statement which, const char *sql,
                    sqlite3_stmt **out_statement, struct diag *diag);

/** Step a statement that returns no rows, and reset it. */
int store_step(struct store *store, sqlite3_stmt *statement, const char *doing, struct diag *diag);

/** Bind a number, or NULL for STORE_NULL. */
int store_bind_int(sqlite3_stmt *statement, int column, int64_t value);

/* bulk.c */

/** Before a bulk is written. */
int store_know_gathered(struct store *store, struct diag *diag);

/** Write what waits. `insert` is "INSERT INTO TABLE(COLUMNS)", `conflict` what goes behind the
 *  SELECT. */
int store_bulk_write(struct store *store, struct bulk *bulk, const char *insert,
                     const char *conflict, struct diag *diag);

/* events.c */

/** Write the rows of event_batch and op_stat that the transaction changed, but for roll-ups that
 * may wait. */
int store_write_accounts(struct store *store, struct diag *diag);

/** Forget what is known about the tables. */
void store_forget_accounts(struct store *store);

#endif
