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

/* A row of any of the tables; STORE_NULL or NULL for what its table has not. */
struct nsys_row {
    int64_t start, end, process, thread, device, stream, correlation, name;
    int64_t bytes,
        detail; /* detail: kind of a copy, of a wait, of an NVTX event, of an allocation */
    int64_t address;
    int64_t grid[3], block[3], registers, static_shared, dynamic_shared;
    int64_t from_memory, to_memory; /* kinds of memory that a copy is from and to */
    int64_t graph;
    const char *text; /* valid until the next row */
};

struct nsys {
    struct importer importer;
    sqlite3 *db;
    const char *name; /* of the file */
    sqlite3_stmt *string, *thread_name;
    struct place_map lanes;
    ARRAY_OF(int64_t) processes; /* in the order they were met */
    uint64_t row_count, bad_count, unknown_count;
};

/** -EUCLEAN or the like, with SQLite's sentence. */
int nsys_fail(struct nsys *nsys, struct diag *diag);

/** A process is a globalTid without its lower 24 bits. Its place in nsys->processes. */
int nsys_process(struct nsys *nsys, int64_t process, uint32_t *out_place, struct diag *diag);

int nsys_lane(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row,
              uint32_t *out_lane, struct diag *diag);
int nsys_op(struct nsys *nsys, enum nsys_kind kind, const struct nsys_row *row, uint32_t lane,
            uint32_t *out_op, struct diag *diag);

#endif
