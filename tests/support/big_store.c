/* SPDX-License-Identifier: Apache-2.0 */
/* A store of many events, made once. */
#include "tests/support/big_store.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/store/store.h"
#include "tests/support/place.h"

enum { RUNS_PER_BATCH = 50, WARMUPS = 10, EVENTS_PER_RUN = 2 * BIG_STORE_OPS };
enum { STEP = BIG_STORE_OPS + 1, ALL }; /* what lies around others */
enum { WAIT_FOR_FIRST = ALL + 1, WAIT_FOR_SECOND, IDS = WAIT_FOR_SECOND }; /* of a session's ops */
enum { OPS_PER_STREAM = 10 };            /* then the other stream's turn is, which waits for them */
enum { OPS_PER_WAIT = 50, AHEAD = 500 }; /* of hosts that are ahead by so many launches */
enum { RECALLED = BIG_STORE_OPS };       /* so many launches before, where the same op is */
enum { THREADS = 4, INNER_MAX = 60 };    /* that are busy, and ops in one of theirs */

static void check(int rc, const struct diag *diag)
{
    if (rc < 0) {
        fprintf(stderr, "big_store: %s\n", diag->text);
        exit(EXIT_FAILURE);
    }
}

static void put_other(struct store *store, int64_t op_id, const char *name, const char *type,
                      const char *params)
{
    const struct store_op op = {.op_id = op_id,
                                .session_id = 1,
                                .client_op = op_id,
                                .model_id = STORE_NULL,
                                .name = name,
                                .type = type,
                                .params = params,
                                .computation_flop = STORE_NULL,
                                .memory_bytes = STORE_NULL,
                                .workspace_bytes = STORE_NULL};
    struct diag diag = {0};

    check(store_put_op(store, &op, &diag), &diag);
}

/* Two that wait for each other. */
static void put_streams(struct store *store)
{
    static const char wait[] = "Stream Wait Event";
    struct diag diag = {0};

    check(store_put_lane(store, &(struct store_lane){2, 1, 2, "stream", "a", "cuda:0", 7}, &diag),
          &diag);
    check(store_put_lane(store, &(struct store_lane){3, 1, 3, "stream", "b", "cuda:0", 8}, &diag),
          &diag);
    put_other(store, WAIT_FOR_FIRST, wait, "phase", "{\"wait_on_stream\":7}");
    put_other(store, WAIT_FOR_SECOND, wait, "phase", "{\"wait_on_stream\":8}");
}

static bool has_streams(enum big_store_kind kind)
{
    return kind == BIG_STORE_STREAM_WAITS || kind == BIG_STORE_AHEAD_WAITS ||
           kind == BIG_STORE_RECALLS;
}

static bool has_runs(enum big_store_kind kind)
{
    return kind != BIG_STORE_NO_RUNS && kind != BIG_STORE_OP_AROUND_ALL &&
           kind != BIG_STORE_STREAM_WAITS && kind < BIG_STORE_AHEAD;
}

static bool is_record(enum big_store_kind kind, int op)
{
    if (kind == BIG_STORE_AHEAD_WAITS || kind == BIG_STORE_RECALLS)
        return op % (OPS_PER_WAIT + 1) == OPS_PER_WAIT;
    return kind == BIG_STORE_STREAM_WAITS && op % OPS_PER_STREAM == OPS_PER_STREAM - 1;
}

static void put_definitions(struct store *store, enum big_store_kind kind, int64_t session_id,
                            int64_t start_ns)
{
    const struct store_session session = {.session_id = session_id,
                                          .uuid = {(uint8_t)session_id},
                                          .start_ns = start_ns,
                                          .end_ns = STORE_NULL,
                                          .program = "load_and_run",
                                          .pid = 1,
                                          .uid = 1,
                                          .clock = "tsc",
                                          .source = "live"};
    const int64_t lane = 2 * session_id - 1, ids = (session_id - 1) * IDS;
    const bool has_labels =
        kind == BIG_STORE_LABEL_AROUND_EACH || kind == BIG_STORE_LABEL_AROUND_ALL;
    const struct store_lane lanes[] = {{lane, session_id, 1, "thread", "main", NULL, 1},
                                       {lane + 1, session_id, 2, "queue", "worker", "cpu:0", 2}};
    static const char *const types[] = {"Conv", "Relu", "Add", "MatMul", "Softmax"};
    struct diag diag = {0};

    check(store_put_session(store, &session, &diag), &diag);
    for (int i = 0; i < (has_streams(kind) ? 1 : 2); i++)
        check(store_put_lane(store, &lanes[i], &diag), &diag);
    for (int64_t i = 3; i <= THREADS + 1 && kind == BIG_STORE_BUSY; i++) {
        const struct store_lane other = {i, session_id, (uint32_t)i, "thread", "other", NULL, i};

        check(store_put_lane(store, &other, &diag), &diag);
    }
    for (int i = 0; i < BIG_STORE_OPS; i++) {
        char name[32], params[128];
        struct store_op op = {
            .op_id = ids + i + 1,
            .session_id = session_id,
            .client_op = i + 1,
            .model_id = STORE_NULL,
            .name = name,
            .type = types[i % 5],
            .input_shapes = "[[1,64,56,56]]",
            .output_shapes = "[[1,64,56,56]]",
            .computation_flop = 1000000 * (i + 1),
            .memory_bytes = 4096 * (i + 1),
            .workspace_bytes = STORE_NULL,
        };

        snprintf(name, sizeof(name), is_record(kind, i) ? "cudaEventRecord %d" : "node_%d", i);
        snprintf(params, sizeof(params),
                 "{\"stack\":\"model.py(%d): forward;train.py(%d): step;train.py(9): main\"}", i,
                 i % 7);
        if (has_labels || kind == BIG_STORE_OP_AROUND_ALL)
            op.params = params;
        check(store_put_op(store, &op, &diag), &diag);
    }
    if (has_labels)
        put_other(store, STEP, "step", "label", NULL);
    if (kind == BIG_STORE_LABEL_AROUND_ALL || kind == BIG_STORE_OP_AROUND_ALL)
        put_other(store, ALL, "all", kind == BIG_STORE_OP_AROUND_ALL ? "block" : "label", NULL);
    if (has_streams(kind))
        put_streams(store);
}

static uint32_t random_number(void)
{
    static uint32_t seed = 12345;

    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

/* One run of a session: rows for each op; returns when it ended. */
static int64_t make_run(struct store_event *rows, enum big_store_kind kind, int64_t session_id,
                        int64_t run, int64_t now_ns)
{
    static int64_t correlation;
    const int64_t lane = 2 * session_id - 1, ids = (session_id - 1) * IDS;

    for (int op = 0; op < BIG_STORE_OPS; op++) {
        int64_t wait_ns = 400 + random_number() % 2000;
        int64_t dur_ns = 2000 * (1 + op * op % 17) + random_number() % 3000;
        const bool is_second = kind == BIG_STORE_STREAM_WAITS && op / OPS_PER_STREAM % 2;
        int64_t work = ids + op + 1;

        if (is_record(kind, op)) /* what the next ones do waits */
            work = is_second ? WAIT_FOR_SECOND : WAIT_FOR_FIRST;
        correlation++;
        *rows++ = (struct store_event){lane,    ids + op + 1, run,       now_ns, wait_ns + dur_ns,
                                       wait_ns, correlation,  STORE_NULL};
        *rows++ = (struct store_event){lane + 1 + (is_record(kind, op) != is_second),
                                       work,
                                       run,
                                       now_ns + wait_ns,
                                       dur_ns,
                                       0,
                                       correlation,
                                       STORE_NULL};
        now_ns += wait_ns + dur_ns + 300;
    }
    return now_ns;
}

/* --- Hosts that are ahead. --- */

/* What streams have to do, in the order of launches; told once the host has come to their ends. */
struct streams {
    int64_t free_ns[2];
    struct store_event queue[AHEAD];
    uint64_t launched, told;
};

static size_t tell_ended(struct streams *streams, int64_t until_ns, struct store_event *rows)
{
    size_t count = 0;

    while (streams->told < streams->launched) {
        const struct store_event *row = &streams->queue[streams->told % AHEAD];

        if (row->start_ns + row->dur_ns > until_ns)
            break;
        rows[count++] = *row;
        streams->told++;
    }
    return count;
}

/* What a launch makes a stream do: an op, or to wait for the other one. */
static void launch(struct streams *streams, enum big_store_kind kind, int op, int64_t called_ns,
                   struct store_event *row)
{
    const bool is_second = has_streams(kind) && op % 2;
    const bool on_second = is_second != is_record(kind, op);
    int64_t *free_ns = &streams->free_ns[on_second];

    row->op_id = op + 1;
    row->lane_id = 2 + on_second;
    if (is_record(kind, op)) { /* it stands where it was asked for */
        const int64_t ended_ns = streams->free_ns[is_second];

        row->op_id = is_second ? WAIT_FOR_SECOND : WAIT_FOR_FIRST;
        row->start_ns = called_ns;
        *free_ns = *free_ns > ended_ns ? *free_ns : ended_ns;
    } else {
        row->start_ns = *free_ns > called_ns ? *free_ns : called_ns;
        row->dur_ns = 2000 + random_number() % 3000;
        *free_ns = row->start_ns + row->dur_ns;
    }
    streams->queue[streams->launched % AHEAD] = *row;
    if (kind == BIG_STORE_RECALLS && is_record(kind, op) && row->correlation > RECALLED)
        streams->queue[streams->launched % AHEAD].correlation -= RECALLED;
    streams->launched++;
}

/* Some runs; returns how many rows. The queue is full but for a moment. */
static size_t make_ahead(struct store_event *rows, enum big_store_kind kind, int64_t runs,
                         bool is_last, int64_t *now_ns)
{
    static struct streams streams;
    size_t count = 0;

    for (int64_t i = 0; i < runs * BIG_STORE_OPS; i++) {
        const int op = (int)(i % BIG_STORE_OPS);
        int64_t end_ns = *now_ns + 300 + random_number() % 400;
        struct store_event row = {
            .run = STORE_NULL, .correlation = (int64_t)streams.launched + 1, .bytes = STORE_NULL};

        if (streams.launched - streams.told == AHEAD) {
            const struct store_event *first = &streams.queue[streams.told % AHEAD];

            end_ns =
                first->start_ns + first->dur_ns > end_ns ? first->start_ns + first->dur_ns : end_ns;
            count += tell_ended(&streams, end_ns, rows + count);
        }
        launch(&streams, kind, op, *now_ns + 200, &row);
        row.lane_id = 1;
        row.op_id = op + 1;
        row.start_ns = *now_ns;
        row.dur_ns = end_ns - *now_ns;
        row.kern_ns = STORE_NULL;
        rows[count++] = row;
        *now_ns = end_ns + 100;
    }
    return count + (is_last ? tell_ended(&streams, INT64_MAX, rows + count) : 0);
}

/* --- Threads that are always busy. --- */

struct busy_thread {
    int64_t now_ns, began_ns; /* began_ns: of the op that it is in */
    int left;                 /* so many are to be called in it */
};

static struct store_event busy_row(int64_t lane, int64_t op, int64_t start_ns, int64_t dur_ns)
{
    return (struct store_event){lane,   op,         STORE_NULL, start_ns,
                                dur_ns, STORE_NULL, STORE_NULL, STORE_NULL};
}

/* What the first calls runs on the queue, too. */
static size_t call_inner(struct store_event *rows, int64_t lane, struct busy_thread *thread)
{
    static int64_t correlation;
    const int64_t dur_ns = 2000 + random_number() % 3000;
    const int64_t op = 1 + random_number() % (BIG_STORE_OPS - 1);
    size_t count = 0;

    rows[count++] = busy_row(lane, op, thread->now_ns, dur_ns);
    if (lane == 1) {
        rows[0].correlation = ++correlation;
        rows[1] = rows[0];
        rows[1].lane_id = 2;
        rows[1].start_ns += dur_ns / 4;
        rows[1].dur_ns = dur_ns / 2;
        count++;
    }
    thread->now_ns += dur_ns + random_number() % 200;
    thread->left--;
    return count;
}

static size_t make_busy(struct store_event *rows, size_t wanted, int64_t *now_ns)
{
    static struct busy_thread threads[THREADS];
    size_t count = 0;

    for (int i = 0; i < THREADS && !threads[0].now_ns; i++)
        threads[i].now_ns = threads[i].began_ns = *now_ns;
    while (count < wanted) {
        struct busy_thread *thread = threads;
        int64_t lane;

        for (int i = 1; i < THREADS; i++)
            thread = threads[i].now_ns < thread->now_ns ? &threads[i] : thread;
        lane = thread == threads ? 1 : thread - threads + 2;

        if (thread->left > 0) {
            count += call_inner(rows + count, lane, thread);
            continue;
        }
        if (thread->now_ns > thread->began_ns)
            rows[count++] =
                busy_row(lane, BIG_STORE_OPS, thread->began_ns, thread->now_ns - thread->began_ns);
        *now_ns = thread->now_ns;
        thread->now_ns += random_number() % 500;
        thread->began_ns = thread->now_ns;
        thread->left = 1 + (int)(random_number() % INNER_MAX);
        thread->now_ns += 50;
    }
    return count;
}

/* What the first thread was in, told as it ends. */
static struct store_event outer_from(int64_t op, int64_t run, int64_t start_ns, int64_t end_ns)
{
    return (struct store_event){1,          op,         run,       start_ns, end_ns - start_ns,
                                STORE_NULL, STORE_NULL, STORE_NULL};
}

/* Some runs, in a transaction; returns when they ended. */
static int64_t add_batch(struct store *store, struct store_event *rows, enum big_store_kind kind,
                         int64_t session_id, int64_t first, int64_t now_ns)
{
    struct diag diag = {0};
    size_t count = 0;

    if (kind == BIG_STORE_BUSY) {
        count = make_busy(rows, (size_t)RUNS_PER_BATCH * EVENTS_PER_RUN, &now_ns);
        check(store_add_events(store, rows, count, &diag), &diag);
        return now_ns;
    }
    if (kind >= BIG_STORE_AHEAD) {
        count = make_ahead(rows, kind, RUNS_PER_BATCH, first + RUNS_PER_BATCH > BIG_STORE_RUNS,
                           &now_ns);
        check(store_add_events(store, rows, count, &diag), &diag);
        return now_ns;
    }
    for (int64_t run = first; run < first + RUNS_PER_BATCH; run++) {
        struct store_run row = {.session_id = session_id,
                                .run = run,
                                .model_id = STORE_NULL,
                                .lane_id = 2 * session_id - 1,
                                .start_ns = now_ns,
                                .warmup = run <= WARMUPS};

        now_ns =
            make_run(rows + count, kind, session_id, has_runs(kind) ? run : STORE_NULL, now_ns) +
            5000;
        row.end_ns = now_ns - 5000;
        count += EVENTS_PER_RUN;
        if (kind == BIG_STORE_LABEL_AROUND_EACH || kind == BIG_STORE_LABEL_AROUND_ALL)
            rows[count++] = outer_from(STEP, run, row.start_ns, row.end_ns);
        if (has_runs(kind))
            check(store_put_run(store, &row, &diag), &diag);
    }
    check(store_add_events(store, rows, count, &diag), &diag);
    return now_ns;
}

static int64_t make_session(struct store *store, struct store_event *rows, enum big_store_kind kind,
                            int64_t session_id, int64_t start_ns)
{
    const int64_t runs = kind == BIG_STORE_TWO_SESSIONS ? BIG_STORE_RUNS / 2 : BIG_STORE_RUNS;
    int64_t now_ns = start_ns;
    struct diag diag = {0};

    for (int64_t run = 1; run <= runs; run += RUNS_PER_BATCH) {
        check(store_begin(store, &diag), &diag);
        if (run == 1)
            put_definitions(store, kind, session_id, start_ns);
        now_ns = add_batch(store, rows, kind, session_id, run, now_ns);
        check(store_commit(store, &diag), &diag);
    }
    check(store_begin(store, &diag), &diag);
    *rows = outer_from(ALL, STORE_NULL, start_ns, now_ns);
    if (kind == BIG_STORE_LABEL_AROUND_ALL || kind == BIG_STORE_OP_AROUND_ALL)
        check(store_add_events(store, rows, 1, &diag), &diag);
    check(store_end_session(store, session_id, now_ns, "done", NULL, &diag), &diag);
    check(store_commit(store, &diag), &diag);
    return now_ns;
}

static void make(const char *path, enum big_store_kind kind)
{
    struct store_event *rows =
        malloc(sizeof(*rows) * ((EVENTS_PER_RUN + 1) * RUNS_PER_BATCH + AHEAD));
    struct store *store = NULL;
    struct diag diag = {0};
    int64_t now_ns;

    if (!rows)
        exit(EXIT_FAILURE);
    check(store_open(path, STORE_WRITE, &store, &diag), &diag);
    now_ns = make_session(store, rows, kind, 1, BIG_STORE_START_NS);
    if (kind == BIG_STORE_TWO_SESSIONS)
        make_session(store, rows, kind, 2, now_ns);
    store_close(&store);
    free(rows);
}

static int64_t find_end(const char *path)
{
    sqlite3_stmt *statement = NULL;
    struct store *store = NULL;
    struct diag diag = {0};
    int64_t end_ns = 0;

    check(store_open(path, STORE_READ, &store, &diag), &diag);
    sqlite3_prepare_v2(store_handle(store), "SELECT end_ns FROM session", -1, &statement, NULL);
    if (sqlite3_step(statement) == SQLITE_ROW)
        end_ns = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    store_close(&store);
    return end_ns;
}

/* Another build may have other tables. */
static bool is_up_to_date(const char *path)
{
    struct stat store, program;

    return stat(path, &store) == 0 && stat("/proc/self/exe", &program) == 0 &&
           store.st_mtime > program.st_mtime;
}

const char *big_store_name(enum big_store_kind kind)
{
    static const char *const names[BIG_STORE_KINDS] = {"plain",       "labels",  "all",   "no_runs",
                                                       "op",          "two",     "waits", "ahead",
                                                       "ahead_waits", "recalls", "busy"};

    return names[kind];
}

char *big_store_of(enum big_store_kind kind)
{
    char file[64], unfinished[4096], *path;

    snprintf(file, sizeof(file), "bench_report_%s.db", big_store_name(kind));
    path = place_program(file);

    if (!is_up_to_date(path)) {
        snprintf(unfinished, sizeof(unfinished), "%s.unfinished", path);
        unlink(unfinished);
        make(unfinished, kind);
        if (rename(unfinished, path) != 0) {
            perror(path);
            exit(EXIT_FAILURE);
        }
    }
    return path;
}

char *big_store(int64_t *out_end_ns)
{
    char *path = big_store_of(BIG_STORE_PLAIN);

    *out_end_ns = find_end(path);
    return path;
}
