/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of whole sessions from totals are what their events say, and what their spans say: random
 * sessions with warm-ups, runs that never end, nested ops, ops that overlap, several threads,
 * written in random batches by writers that come and go. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/query.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/store_support.h"
#include "tests/support/sum_spans.h"
#include "tests/support/temp.h"

enum {
    SEEDS = 40,
    SESSIONS = 2,
    THREADS = 3,
    LANES = THREADS + 2, /* of a session */
    OPS = 12,            /* of a session */
    RUNS = 24,           /* of a thread */
    EVENTS_MAX = 60000,
};

static const char *const types[OPS] = {"Conv", "Relu",  "Gemm", "label", "Conv",    "phase",
                                       "Add",  "block", "mark", "Mul",   "Softmax", "layer"};

struct scene {
    struct store_event events[EVENTS_MAX];
    struct store_run runs[SESSIONS * THREADS * RUNS];
    size_t event_count, run_count;
    uint64_t seed;
    bool crosses_runs; /* spans of one run hold some of others */
    bool overlaps;     /* spans begin in one and end behind it */
    bool tells_seldom; /* of runs, of many at a time */
    bool all_warm_up;
    bool none_ends;
    int64_t now_ns, next_run;
};

static uint64_t pick(struct scene *scene, uint64_t below)
{
    return (draw_u64(&scene->seed) >> 20) % below;
}

static int64_t lane_of(int session, int lane)
{
    return session * LANES + lane + 1;
}

/* A span, after those inside of it. */
static void add_span(struct scene *scene, int session, int lane, int64_t run, int depth)
{
    int64_t start_ns = scene->now_ns, op = session * OPS + 1 + (int64_t)pick(scene, OPS);
    struct store_event event = {.lane_id = lane_of(session, lane),
                                .op_id = op,
                                .run = run,
                                .start_ns = start_ns,
                                .kern_ns = STORE_NULL,
                                .correlation = STORE_NULL,
                                .bytes = STORE_NULL};

    scene->now_ns += (int64_t)pick(scene, 200);
    for (uint64_t i = depth < 3 ? pick(scene, 4) : 0; i > 0; i--)
        add_span(scene, session, lane, run, depth + 1);
    scene->now_ns += (int64_t)pick(scene, 3000);
    event.dur_ns = scene->now_ns - start_ns;
    if (pick(scene, 3))
        event.kern_ns = event.dur_ns / 4;
    assert_true(scene->event_count < EVENTS_MAX);
    scene->events[scene->event_count++] = event;
    if (scene->overlaps && event.dur_ns > 0 && pick(scene, 10) == 0) {
        struct store_event other = event;

        scene->now_ns += 1 + (int64_t)pick(scene, 50);
        other.op_id = session * OPS + 1 + (int64_t)pick(scene, OPS);
        other.start_ns += (int64_t)pick(scene, (uint64_t)event.dur_ns);
        other.dur_ns = scene->now_ns - other.start_ns;
        scene->events[scene->event_count++] = other;
    }
    if (pick(scene, 2) == 0) { /* what it launched, maybe after the run */
        event.lane_id = lane_of(session, THREADS + (int)pick(scene, 2));
        event.start_ns += (int64_t)pick(scene, 50000);
        scene->events[scene->event_count++] = event;
    }
    scene->now_ns += (int64_t)pick(scene, 100);
}

static void add_thread(struct scene *scene, int session, int thread)
{
    scene->now_ns = STORE_SUPPORT_START_NS + (int64_t)pick(scene, 100000);
    for (int i = 0; i < RUNS; i++) {
        int64_t start_ns = scene->now_ns, run = scene->next_run++;
        uint64_t fate = pick(scene, 20);
        struct store_run row = {.session_id = session + 1,
                                .run = run,
                                .model_id = STORE_NULL,
                                .lane_id = lane_of(session, thread),
                                .start_ns = start_ns,
                                .warmup = i < 3 || scene->all_warm_up,
                                .without_ops = i % 5 == 4};

        for (uint64_t n = pick(scene, 12); n > 0; n--)
            add_span(scene, session, thread, run, 0);
        if (pick(scene, 6) == 0)
            add_span(scene, session, thread, STORE_NULL, 1);
        if (scene->crosses_runs && pick(scene, 8) == 0 && i > 0) {
            int64_t before_ns = scene->now_ns - 40000;

            scene->events[scene->event_count++] = (struct store_event){lane_of(session, thread),
                                                                       session * OPS + 1,
                                                                       run,
                                                                       before_ns,
                                                                       40000,
                                                                       STORE_NULL,
                                                                       STORE_NULL,
                                                                       STORE_NULL};
        }
        row.end_ns = fate == 0 || scene->none_ends ? STORE_NULL : scene->now_ns;
        if (fate != 1) /* of that one nobody ever tells */
            scene->runs[scene->run_count++] = row;
        scene->now_ns += (int64_t)pick(scene, 2000);
    }
}

static int64_t end_of(const struct store_event *event)
{
    return event->start_ns + event->dur_ns;
}

/* By the end; an inner span before its outer one, as a thread records them. */
static int compare_ends(const void *a, const void *b)
{
    const struct store_event *left = a, *right = b;

    if (end_of(left) != end_of(right))
        return end_of(left) < end_of(right) ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns > right->start_ns ? -1 : 1;
    return (left->lane_id > right->lane_id) - (left->lane_id < right->lane_id);
}

static int compare_runs(const void *a, const void *b)
{
    const struct store_run *left = a, *right = b;

    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

static void define(struct store *store)
{
    struct diag diag = {0};

    store_support_begin(store);
    for (int64_t s = 0; s < SESSIONS; s++) {
        const struct store_session session = {.session_id = s + 1,
                                              .uuid = {(uint8_t)(s + 1)},
                                              .start_ns = STORE_SUPPORT_START_NS,
                                              .end_ns = STORE_NULL,
                                              .program = "model",
                                              .clock = "tsc",
                                              .source = "live"};

        CHECK_OK(store_put_session(store, &session, &diag));
        for (int lane = 0; lane < LANES; lane++) {
            const struct store_lane row = {.lane_id = lane_of((int)s, lane),
                                           .session_id = s + 1,
                                           .client_lane = lane,
                                           .kind = lane < THREADS    ? "thread"
                                                   : lane == THREADS ? "stream"
                                                                     : "queue",
                                           .native_id = lane};

            CHECK_OK(store_put_lane(store, &row, &diag));
        }
        for (int64_t op = 0; op < OPS; op++) {
            char name[32];
            const struct store_op row = {.op_id = s * OPS + op + 1,
                                         .session_id = s + 1,
                                         .client_op = op,
                                         .model_id = STORE_NULL,
                                         .name = name,
                                         .type = types[op],
                                         .computation_flop = op % 2 ? STORE_NULL : op * 1000,
                                         .memory_bytes = op % 3 ? STORE_NULL : op * 10,
                                         .workspace_bytes = STORE_NULL};

            snprintf(name, sizeof(name), "op%lld", (long long)op);
            CHECK_OK(store_put_op(store, &row, &diag));
        }
    }
    store_support_commit(store);
}

static void put_part(struct store *store, struct scene *scene, size_t from, size_t count,
                     size_t *run)
{
    const int64_t until_ns = end_of(&scene->events[from + count - 1]);
    const bool tells = !scene->tells_seldom || pick(scene, 16) == 0;
    size_t runs = 0, added;
    struct diag diag = {0};

    while (tells && *run + runs < scene->run_count &&
           scene->runs[*run + runs].end_ns != STORE_NULL &&
           scene->runs[*run + runs].end_ns <= until_ns)
        runs++;
    if (runs)
        CHECK_OK(store_add_runs(store, scene->runs + *run, runs, &added, &diag));
    *run += runs;
    CHECK_OK(store_add_events(store, scene->events + from, count, &diag));
}

static struct store *reopen(struct scene *scene, struct store *store, const char *path)
{
    if (store)
        store_close(&store);
    store = store_support_open(path, STORE_WRITE);
    store_delay_rollups(store, pick(scene, 3) == 0 ? 0 : pick(scene, 2) ? 1 : INT64_MAX);
    return store;
}

/* The ends of programs: what was open is unfinished, and goes into the store at last. */
static void end_sessions(struct store *store, struct scene *scene, size_t run)
{
    struct diag diag = {0};
    struct store_event open = {.lane_id = 1,
                               .op_id = 1,
                               .run = STORE_NULL,
                               .dur_ns = STORE_NULL,
                               .kern_ns = STORE_NULL,
                               .correlation = STORE_NULL,
                               .bytes = STORE_NULL,
                               .start_ns = STORE_SUPPORT_START_NS};
    size_t added;

    store_support_begin(store);
    if (run < scene->run_count)
        CHECK_OK(store_add_runs(store, scene->runs + run, scene->run_count - run, &added, &diag));
    if (pick(scene, 2))
        CHECK_OK(store_add_events(store, &open, 1, &diag));
    for (int64_t s = 1; s <= SESSIONS; s++)
        CHECK_OK(store_end_session(store, s, STORE_SUPPORT_START_NS + INT64_C(1000000000), "done",
                                   NULL, &diag));
    store_support_commit(store);
}

static struct store *record(struct scene *scene, const char *path)
{
    struct store *store = reopen(scene, NULL, path);
    size_t done = 0, run = 0;
    struct diag diag = {0};

    define(store);
    while (done < scene->event_count) {
        size_t count = 1 + pick(scene, 400), run_before = run;

        count = count < scene->event_count - done ? count : scene->event_count - done;
        store_support_begin(store);
        put_part(store, scene, done, count, &run);
        if (pick(scene, 12) == 0) { /* the disk was full, say */
            store_rollback(store);
            run = run_before;
            continue;
        }
        store_support_commit(store);
        done += count;
        if (pick(scene, 15) == 0)
            store = reopen(scene, store, path);
    }
    end_sessions(store, scene, run);
    CHECK_OK(store_write_rollups(store, &diag));
    return store;
}

static void make_scene(struct scene *scene, uint64_t seed)
{
    *scene = (struct scene){.seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1, .next_run = 1};
    scene->crosses_runs = seed % 5 == 0;
    scene->overlaps = seed % 9 == 2;
    scene->tells_seldom = seed % 3 == 0;
    scene->all_warm_up = seed % 8 == 3;
    scene->none_ends = seed % 16 == 7;
    for (int s = 0; s < SESSIONS; s++) {
        for (int thread = 0; thread < THREADS; thread++)
            add_thread(scene, s, thread);
    }
    qsort(scene->events, scene->event_count, sizeof(*scene->events), compare_ends);
    for (size_t i = 0; i < scene->run_count; i++) { /* those without an end come last */
        if (scene->runs[i].end_ns == STORE_NULL)
            scene->runs[i].end_ns = INT64_MAX;
    }
    qsort(scene->runs, scene->run_count, sizeof(*scene->runs), compare_runs);
    for (size_t i = 0; i < scene->run_count; i++) {
        if (scene->runs[i].end_ns == INT64_MAX)
            scene->runs[i].end_ns = STORE_NULL;
    }
    if (scene->runs[0].end_ns == STORE_NULL && !scene->none_ends)
        fail_msg("a run without an end comes first");
}

/* --- Two answers. --- */

static void check_double(const char *what, double got, double wanted)
{
    if (isnan(got) != isnan(wanted) || (!isnan(got) && got != wanted))
        fail_msg("%s: %.17g from totals, %.17g from events", what, got, wanted);
}

static void check_cost(const struct op_cost *got, const struct op_cost *wanted)
{
    CHECK_U64(got->calls, wanted->calls);
    check_double("end_ns", got->end_ns, wanted->end_ns);
    check_double("kern_ns", got->kern_ns, wanted->kern_ns);
    check_double("exec_ns", got->exec_ns, wanted->exec_ns);
    check_double("min_ns", got->min_ns, wanted->min_ns);
    check_double("max_ns", got->max_ns, wanted->max_ns);
    for (int i = 0; i < 3; i++)
        check_double("percentile", got->percentile_ns[i], wanted->percentile_ns[i]);
    check_double("flop", got->computation_flop, wanted->computation_flop);
    check_double("bytes", got->memory_bytes, wanted->memory_bytes);
}

static void check_answers(const struct ops_answer *got, const struct ops_answer *wanted)
{
    const struct basis *a = &got->basis, *b = &wanted->basis;

    CHECK_U64(got->rows.count, wanted->rows.count);
    for (size_t i = 0; i < got->rows.count; i++) {
        assert_string_equal(got->rows.items[i].name, wanted->rows.items[i].name);
        for (int side = 0; side < OP_SIDES; side++)
            check_cost(&got->rows.items[i].cost[side], &wanted->rows.items[i].cost[side]);
    }
    CHECK_U64(a->runs, b->runs);
    CHECK_U64(a->warmups_skipped, b->warmups_skipped);
    CHECK_U64(a->unended_skipped, b->unended_skipped);
    CHECK_U64(a->event_count, b->event_count);
    CHECK_U64(a->outside_count, b->outside_count);
    CHECK_U64(a->bad_count, b->bad_count);
    CHECK_U64(a->unfinished_count, b->unfinished_count);
    CHECK_U64(a->unfinished.count, b->unfinished.count);
    CHECK_U64(a->is_per_run, b->is_per_run);
    CHECK_U64(a->run_ns_count, b->run_ns_count);
    check_double("divisor", a->divisor, b->divisor);
    for (int side = 0; side < OP_SIDES; side++)
        check_double("total", a->total_ns[side], b->total_ns[side]);
}

static const int64_t session_ids[] = {1, 2};

static const struct ops_question questions[] = {
    {.session_ids = session_ids, .session_count = 1},
    {.session_ids = session_ids + 1, .session_count = 1, .labels = true},
    {.session_ids = session_ids, .session_count = 1, .warmups = true},
    {.session_ids = session_ids, .session_count = 1, .totals = true, .labels = true},
    {.session_ids = session_ids, .session_count = 1, .totals = true, .warmups = true},
    {.session_ids = session_ids, .session_count = 2, .totals = true},
    {.session_ids = session_ids, .session_count = 2},
};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

static void ask(struct store *store, struct ops_question question, int64_t totals_from,
                struct ops_answer *out_answer)
{
    struct diag diag = {0};

    question.totals_from = totals_from;
    if (query_ops(store, &question, out_answer, &diag) < 0)
        fail_msg("%s", diag.text);
}

/* Self times by the tree of spans. Rows of spans stand in the same order. */
static void check_spans(struct store *store, const struct ops_question *question,
                        const struct ops_answer *wanted)
{
    struct ops_answer got;
    struct spans_answer spans;
    struct diag diag = {0};
    size_t at = 0;

    CHECK_OK(query_spans(store, question, &spans, &diag));
    CHECK_OK(sum_spans(&spans, &got));
    for (size_t i = 0; i < wanted->rows.count; i++) {
        const struct op_row *row = &wanted->rows.items[i];

        if (row->is_label)
            continue;
        assert_true(at < got.rows.count);
        assert_string_equal(got.rows.items[at].name, row->name);
        for (int side = 0; side < OP_SIDES; side++) {
            if (row->cost[side].calls)
                check_double("self time of spans", got.rows.items[at].cost[side].end_ns,
                             row->cost[side].end_ns);
        }
        at++;
    }
    CHECK_U64(at, got.rows.count);
    ops_answer_deinit(&got);
    spans_answer_deinit(&spans);
}

static void totals_are_what_events_say(void **state)
{
    struct scene *scene = malloc(sizeof(*scene));
    int of_totals[QUESTIONS] = {0};

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char *dir = temp_create(), *path = temp_path(dir, "store.db");
        struct store *store;

        make_scene(scene, seed);
        store = record(scene, path);
        for (int i = 0; i < QUESTIONS; i++) {
            struct ops_answer got, wanted;

            ask(store, questions[i], 0, &wanted);
            ask(store, questions[i], 1, &got);
            assert_false(wanted.basis.is_of_totals);
            of_totals[i] += got.basis.is_of_totals;
            check_answers(&got, &wanted);
            check_spans(store, &questions[i], &wanted);
            assert_true(wanted.basis.event_count > 100);
            ops_answer_deinit(&got);
            ops_answer_deinit(&wanted);
        }
        store_close(&store);
        free(path);
        temp_destroy(&dir);
    }
    /* Where spans of one run hold those of others, and in some rare cases, events are read. */
    for (int i = 0; i < QUESTIONS; i++) {
        if (of_totals[i] < SEEDS * 3 / 5)
            fail_msg("question %d was answered from totals %d times", i, of_totals[i]);
    }
    free(scene);
}

/* What a daemon of before 1.4 makes of it: events that totals do not count, of which it drops the
 * first hundred with all before them. They were of both sessions, those that stay are of one. */
static void go_on_without_totals(const char *path)
{
    store_support_run(
        path,
        "CREATE TEMP TABLE last AS SELECT CAST(value AS INTEGER) AS id FROM meta WHERE"
        " key='totalled';"
        "INSERT INTO event(rowid,lane_id,op_id,run,start_ns,dur_ns) SELECT id+i,iif(i<50,1,6),"
        "iif(i<50,1,13),NULL,1767225700000000000+i*1000,10 FROM last,"
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<200)"
        " SELECT i FROM n);"
        "INSERT INTO dropped(session_id,reason,event_count,memory_event_count,counter_count,"
        "start_ns,end_ns,dropped_ns,run_count,rollup_event_count) SELECT l.session_id,'budget',"
        "count(*),0,0,1,1,1,0,0 FROM event e JOIN lane l USING(lane_id) JOIN last"
        " WHERE e.rowid<=id+100 GROUP BY 1;"
        "DELETE FROM event WHERE rowid<=(SELECT id+100 FROM last);"
        "DELETE FROM event_batch;"
        "INSERT INTO event_batch(first_rowid,last_rowid,start_ns,end_ns,session_min,session_max)"
        " SELECT id+101,id+200,1767225700000000000,1767225700001000000,2,2 FROM last");
}

static bool is_told_by_totals(struct store *store, int64_t session_id)
{
    const struct ops_question question = {.session_ids = &session_id, .session_count = 1};
    struct ops_answer answer;
    bool is_of_totals;

    ask(store, question, 1, &answer);
    is_of_totals = answer.basis.is_of_totals;
    ops_answer_deinit(&answer);
    return is_of_totals;
}

static void totals_that_lack_events_are_not_told(void **state)
{
    struct scene *scene = malloc(sizeof(*scene));
    char *dir = temp_create(), *path = temp_path(dir, "store.db");
    struct diag diag = {0};
    struct store *store;

    make_scene(scene, 1);
    store = record(scene, path);
    assert_true(is_told_by_totals(store, 1));
    assert_true(is_told_by_totals(store, 2));
    store_close(&store);
    go_on_without_totals(path);
    store = store_support_open(path, STORE_READ);
    assert_false(is_told_by_totals(store, 1));
    assert_false(is_told_by_totals(store, 2));
    store_close(&store);
    store = reopen(scene, NULL, path);
    store_support_begin(store);
    CHECK_OK(store_add_events(store, scene->events, 1, &diag));
    store_support_commit(store);
    CHECK_OK(store_write_rollups(store, &diag));
    assert_false(is_told_by_totals(store, 1));
    assert_false(is_told_by_totals(store, 2));
    store_close(&store);
    free(path);
    temp_destroy(&dir);
    free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_what_events_say),
        cmocka_unit_test(totals_that_lack_events_are_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
