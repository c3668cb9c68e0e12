/* SPDX-License-Identifier: Apache-2.0 */
/* The two parts of reading an export of Nsight Systems: lanes and ops, and the tables. */
#ifndef OPTRACE_ANALYZE_IMPORT_NSYS_PRIVATE_H
#define OPTRACE_ANALYZE_IMPORT_NSYS_PRIVATE_H

#include <sqlite3.h>

#include "analyze/import/nsys/nsys.h"

/* What the rows of a table are. */
enum nsys_kind {
    NSYS_KERNEL,
    NSYS_COPY,
    NSYS_MEMSET,
    NSYS_GRAPH,
    NSYS_SYNC,
    NSYS_RUNTIME,
    NSYS_CUDNN,
    NSYS_CUBLAS,
    NSYS_OS,
    NSYS_NVTX,
    NSYS_MEMORY,
    NSYS_KINDS
};

/* syncType: how a wait came about. */
enum { NSYS_STREAM_WAIT_EVENT = 2, NSYS_STREAM_SYNC = 3, NSYS_CONTEXT_SYNC = 4 };

/* A row of any of the tables; STORE_NULL or NULL for what its table has not. */
struct nsys_row {
    int64_t start, end, process, thread, device, stream, correlation, name;
    int64_t bytes,
        detail; /* detail: kind of a copy, of a wait, of an NVTX event, of an allocation */
    int64_t address;
    int64_t grid[3], block[3], registers, static_shared, dynamic_shared;
    int64_t from_memory, to_memory; /* kinds of memory that a copy is from and to */
    int64_t graph;
    int64_t event, event_sync; /* that is waited for, and which record of it; STORE_NULL, 0 */
    const char *text;          /* valid until the next row */
};

/* An event that was recorded on a stream. */
struct nsys_record {
    int64_t process, event, event_sync, correlation, stream;
};

/* A stream on which something ran. */
struct nsys_stream {
    int64_t process, stream;
    uint32_t lane;
};

struct nsys {
    struct importer importer;
    sqlite3 *db;
    const char *name; /* of the file */
    sqlite3_stmt *string, *thread_name;
    struct place_map lanes;
    ARRAY_OF(int64_t) processes; /* in the order they were met */
    ARRAY_OF(struct nsys_stream) streams;
    ARRAY_OF(struct nsys_record) records; /* by process, event and correlation */
    uint64_t row_count, bad_count, unknown_count;
};

/** -EUCLEAN or the like, with SQLite's sentence. */
int nsys_fail(struct nsys *nsys, struct diag *diag);

/** Reads which events were recorded, for the waits. */
int nsys_read_records(struct nsys *nsys, struct diag *diag);

/** The record that a wait is for, or NULL. */
const struct nsys_record *nsys_find_record(const struct nsys *nsys, const struct nsys_row *wait);

/** The lane of what ran on a stream of a process, or IMPORT_NONE. */
uint32_t nsys_stream_lane(const struct nsys *nsys, int64_t process, int64_t stream);

/** Whether it is a stream that waits for an event whose record is known. */
bool nsys_holds_stream(const struct nsys *nsys, const struct nsys_row *wait);

/** The stream of its process that a wait is for; STORE_NULL: all, or not known. */
int64_t nsys_awaited_stream(const struct nsys *nsys, const struct nsys_row *wait);

/** {"wait_on_lanes": [...]}, the streams that a wait is for; NULL: not known, or no memory. */
char *nsys_wait_params(const struct nsys *nsys, const struct nsys_row *wait);

/** A process is a globalTid without its lower 24 bits. Its place in nsys->processes. */
int nsys_process(struct nsys *nsys, int64_t process, uint32_t *out_place, struct diag *diag);

int nsys_lane(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row,
              uint32_t *out_lane, struct diag *diag);
int nsys_op(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row, uint32_t lane,
            uint32_t *out_op, struct diag *diag);

#endif
