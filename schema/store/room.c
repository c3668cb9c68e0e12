/* SPDX-License-Identifier: Apache-2.0 */
/* Room on the disk, taken before it is needed. */
#include "schema/store/room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/amount.h"
#include "schema/store/private.h"

#define MIB INT64_C(1048576)

enum {
    LOG_HEADER_BYTES = 24, /* of a page in the log */
    WAITING_PART = 16,     /* of the pages in use */
};

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

struct store_shares store_share_out(int64_t budget_bytes, int64_t disk_bytes)
{
    int64_t bytes = budget_bytes && budget_bytes < disk_bytes ? budget_bytes : disk_bytes;
    struct store_shares shares = {.log_bytes = clamp(bytes / 8, MIB / 2, 16 * MIB)};

    shares.batch_bytes = shares.log_bytes / 4;
    shares.pages_bytes =
        budget_bytes ? budget_bytes - 2 * shares.log_bytes - 4 * shares.batch_bytes : 0;
    shares.held_bytes = clamp(bytes / 2, 2 * shares.log_bytes, INT64_MAX);
    return shares;
}

/* The whole file system, and what of it this process may take. INT64_MAX: not known. */
static void look_at_disk(const struct store *store, int64_t *out_total, int64_t *out_free)
{
    struct statvfs disk;

    *out_total = *out_free = INT64_MAX;
    if (fstatvfs(store->room.fd, &disk) < 0 || disk.f_blocks == 0)
        return;
    *out_total = (int64_t)(disk.f_blocks * disk.f_frsize);
    *out_free = (int64_t)(disk.f_bavail * disk.f_frsize);
}

int64_t store_room_left(const struct store *store)
{
    int64_t total, free;

    if (store->room.fd < 0)
        return INT64_MAX;
    look_at_disk(store, &total, &free);
    return total == INT64_MAX ? INT64_MAX : free - clamp(total / 64, MIB, 64 * MIB);
}

/* Blocks for bytes of a file that are not written yet. Returns 0, also where that cannot be had, or
 * -ENOSPC. */
static int take_blocks(int fd, int64_t start, int64_t bytes)
{
    int rc;

    do
        rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, start, bytes) < 0 ? -errno : 0;
    while (rc == -EINTR);
    return rc == -ENOSPC || rc == -EDQUOT ? -ENOSPC : 0;
}

/* SQLite shortens the log to journal_size_limit only where it is longer, so the blocks stay. The
 * descriptor is one of ours: SQLite has no locks on the log. */
static void take_log(struct store *store)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s-wal", store->path);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    store->room.has_log = take_blocks(fd, 0, 2 * store->room.log_bytes) == 0;
    close(fd);
}

static int refuse_disk(struct store *store, struct diag *diag)
{
    return diag_set(diag, -ENOSPC, "cannot write %s: No space left on device", store->path);
}

int store_room_commit(struct store *store, struct diag *diag)
{
    struct room *room = &store->room;
    int64_t page_count, wanted, step;
    sqlite3_stmt *statement;
    int rc;

    if (room->fd < 0)
        return 0;
    rc = store_statement(store, STORE_GET_PAGE_COUNT, "PRAGMA page_count", &statement, diag);
    if (rc < 0)
        return rc;
    page_count = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    if (!room->has_log)
        take_log(store);
    wanted = page_count * room->page_bytes;
    if (wanted <= room->file_bytes)
        return 0;
    step = wanted - room->file_bytes;
    if (store_room_left(store) < step)
        return refuse_disk(store, diag);
    if (store_room_left(store) > 2 * (step + room->log_bytes))
        step += room->log_bytes / 8; /* not for each commit anew */
    rc = take_blocks(room->fd, room->file_bytes, step);
    if (rc < 0)
        return refuse_disk(store, diag);
    room->file_bytes += step;
    return 0;
}

/* A checkpoint that is complete cuts the file where its pages end: the blocks behind are gone. */
static int checkpoint(struct store *store, int mode)
{
    struct room *room = &store->room;
    int log_pages = -1, done_pages = -2;
    int code = sqlite3_wal_checkpoint_v2(store->db, "main", mode, &log_pages, &done_pages);
    struct stat status;

    if (room->fd >= 0 && log_pages == done_pages && fstat(room->fd, &status) == 0)
        room->file_bytes = status.st_size;
    return code;
}

void store_room_checkpoint(struct store *store)
{
    checkpoint(store, SQLITE_CHECKPOINT_PASSIVE);
}

/* Whether the log can be used from its beginning again. */
static bool restart_log(struct store *store)
{
    int code;

    sqlite3_busy_timeout(store->db, 0);
    code = checkpoint(store, SQLITE_CHECKPOINT_RESTART);
    sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
    if (code == SQLITE_OK)
        store->log_pages = 0;
    return code == SQLITE_OK;
}

int store_room_begin(struct store *store, struct diag *diag)
{
    const struct room *room = &store->room;
    int64_t log_bytes = store->log_pages * (room->page_bytes + LOG_HEADER_BYTES);
    char has[32];
    bool is_long;

    if (room->fd < 0 || log_bytes < room->log_bytes)
        return 0;
    is_long =
        log_bytes >= room->held_bytes || (log_bytes >= 2 * room->log_bytes - room->batch_bytes &&
                                          store_room_left(store) < room->log_bytes);
    if (!is_long || restart_log(store))
        return 0;
    return diag_set(diag, -EBUSY,
                    "cannot write %s: some program has kept a transaction open on it for so long "
                    "that its log has %s; nothing is written until that program ends it",
                    store->path, amount_format_bytes(has, sizeof(has), (double)log_bytes));
}

/* The descriptor is closed after SQLite's: closing any descriptor of a file ends all locks that the
 * process has on it. */
int store_set_budget(struct store *store, int64_t budget_bytes, struct store_shares *out_shares,
                     struct diag *diag)
{
    struct room *room = &store->room;
    struct store_shares shares;
    int64_t total, free;
    struct stat status;
    char sql[80];
    int rc = store_query_int(store, "PRAGMA page_size", &room->page_bytes, diag);

    if (rc < 0)
        return rc;
    if (room->fd < 0)
        room->fd = open(store->path, O_RDWR | O_CLOEXEC);
    if (room->fd < 0 || fstat(room->fd, &status) < 0)
        return diag_set(diag, -errno, "cannot open %s: %s", store->path, strerror(errno));
    look_at_disk(store, &total, &free);
    shares = store_share_out(budget_bytes, total);
    room->file_bytes = status.st_size;
    room->log_bytes = shares.log_bytes;
    room->held_bytes = shares.held_bytes;
    room->batch_bytes = shares.batch_bytes;
    room->waiting_max = shares.pages_bytes / WAITING_PART;
    store->log_pages_max = (int)(shares.log_bytes / (room->page_bytes + LOG_HEADER_BYTES));
    take_log(store);
    *out_shares = shares;
    snprintf(sql, sizeof(sql), "PRAGMA journal_size_limit = %lld",
             (long long)(2 * shares.log_bytes));
    return store_exec(store, sql, "open", diag);
}

static int read_number(struct store *store, enum store_statement which, const char *sql,
                       int64_t *out_number, struct diag *diag)
{
    sqlite3_stmt *statement;
    int code;
    int rc = store_statement(store, which, sql, &statement, diag);

    if (rc < 0)
        return rc;
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *out_number = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return code == SQLITE_ROW ? 0 : store_fail(store, code, "read", diag);
}

/* Three statements, because the tables pragma_... compile one each time that they are asked. */
int store_used_bytes(struct store *store, int64_t *out_bytes, struct diag *diag)
{
    int64_t page_count = 0, free_count = 0, page_bytes = 0;
    int rc = read_number(store, STORE_GET_PAGE_COUNT, "PRAGMA page_count", &page_count, diag);

    if (rc == 0)
        rc = read_number(store, STORE_GET_FREE_COUNT, "PRAGMA main.freelist_count", &free_count,
                         diag);
    if (rc == 0)
        rc = read_number(store, STORE_GET_PAGE_SIZE, "PRAGMA main.page_size", &page_bytes, diag);
    if (rc == 0)
        *out_bytes = (page_count - free_count) * page_bytes;
    return rc;
}
