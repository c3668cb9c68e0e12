/* SPDX-License-Identifier: Apache-2.0 */
/* How the time of a session was filled, from totals, is what its events say to the last bit: random
 * sessions with and without runs, with labels and ops around these, several threads, devices, copies,
 * what does not nest or comes late, written by writers that come and go. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/model_phases.h"
#include "analyze/metrics/overhead.h"
#include "analyze/query/recording_overhead.h"
#include "schema/store/retain.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"
#include "tests/support/turns.h"

enum {
    SEEDS = 150, /* 64 have each combination of what may be in a scene */
    SEEDS_IN_TURN = 70,
    THREADS = 3,
    LANES = THREADS + 2,
    RUNS = 24,
    EVENTS_MAX = 40000,
    DISK_BYTES = 400000
};

/* What is in a scene, by its seed. */
enum {
    HAS_RUNS = 1,
    HAS_THREADS = 2,
    HAS_DEVICE = 4,
    HAS_LABELS = 8,
    HAS_AROUND = 16, /* a label or op around each run */
    IS_ODD = 32,     /* much that totals refuse, or might */
};

static const struct {
    const char *type, *name;
} ops[] = {
    {"Conv", "a"},
    {"Relu", "b"},
    {"block", "c"},
    {"cpu_op", "aten::add"},
    {"cuda_runtime", "cudaLaunchKernel"},
    {"GpuMemcpyAsync:CPU->GPU", "load"},
    {"copy", "DtoH"},
    {"memset", "fill"},
    {"kernel", "gemm"},
    {"label", "step"}, /* from here on as the seed says */
    {"label", "inner"},
    {"collective", "all_reduce"}, /* odd from here on */
    {"phase", "compute"},
    {"mark", "here"},
    {"label", "forward"},
    {"cpu_op", "c10d::x"},
    {"kernel", "ncclKernel"},
    {"cuda_runtime", "cudaMemcpyAsync"},
};
enum { OPS = sizeof(ops) / sizeof(ops[0]), PLAIN_OPS = 9, CALM_OPS = 11, STEP = 9 };

struct scene {
    struct store_event events[EVENTS_MAX];
    struct store_run runs[THREADS * RUNS];
    size_t event_count, run_count;
    uint64_t seed;
    unsigned has;
    int64_t now_ns, next_run;
};

static uint64_t pick(struct scene *scene, uint64_t below)
{
    return (draw_u64(&scene->seed) >> 20) % below;
}

static int64_t pick_op(struct scene *scene)
{
    size_t count = PLAIN_OPS;

    if (scene->has & HAS_LABELS)
        count = CALM_OPS;
    if (scene->has & IS_ODD && pick(scene, 1500) == 0)
        count = OPS;
    return 1 + (int64_t)pick(scene, count);
}

static void add_event(struct scene *scene, int64_t lane, int64_t op, int64_t run, int64_t start_ns,
                      int64_t end_ns)
{
    struct store_event event = {
        .lane_id = lane,
        .op_id = op,
        .run = run,
        .start_ns = start_ns,
        .dur_ns = end_ns - start_ns,
        .kern_ns =
            pick(scene, 3) ? STORE_NULL : (int64_t)pick(scene, 1 + (uint64_t)(end_ns - start_ns)),
        .correlation = STORE_NULL,
        .bytes = pick(scene, 2) ? STORE_NULL : (int64_t)pick(scene, 5000)};

    if (strcmp(ops[op - 1].type, "mark") == 0)
        event.dur_ns = 0;
    assert_true(scene->event_count < EVENTS_MAX);
    scene->events[scene->event_count++] = event;
}

/* A span, after those inside of it, and what it has a device do. */
static void add_span(struct scene *scene, int64_t lane, int64_t run, int depth)
{
    const int64_t start_ns = scene->now_ns;

    scene->now_ns += (int64_t)pick(scene, 200);
    for (uint64_t i = depth < 3 ? pick(scene, 3) : 0; i > 0; i--)
        add_span(scene, lane, run, depth + 1);
    scene->now_ns += (int64_t)pick(scene, pick(scene, 9) ? 2000 : 2);
    add_event(scene, lane, pick_op(scene), run, start_ns, scene->now_ns);
    if (scene->has & IS_ODD && pick(scene, 2000) == 0) /* overlaps the one before */
        add_event(scene, lane, pick_op(scene), run, start_ns + 1, scene->now_ns + 7);
    if (scene->has & HAS_DEVICE && pick(scene, 2) == 0) {
        const int64_t from_ns = start_ns + (int64_t)pick(scene, 9000);

        add_event(scene, THREADS + 1 + (int64_t)pick(scene, 2), pick_op(scene), run, from_ns,
                  from_ns + (int64_t)pick(scene, 4000));
    }
    scene->now_ns += (int64_t)pick(scene, 100);
}

static void add_thread(struct scene *scene, int64_t lane)
{
    scene->now_ns = STORE_SUPPORT_START_NS + (int64_t)pick(scene, 100000);
    for (int i = 0; i < RUNS; i++) {
        const int64_t before_ns = scene->now_ns;
        const bool has_runs = scene->has & HAS_RUNS;
        const int64_t run = has_runs ? scene->next_run++ : STORE_NULL;
        const uint64_t fate = pick(scene, 20);
        struct store_run row = {.session_id = 1,
                                .run = run,
                                .model_id = STORE_NULL,
                                .lane_id = lane,
                                .warmup = i < 3,
                                .without_ops = i % 7 == 4};

        scene->now_ns += (int64_t)pick(scene, 300);
        row.start_ns = scene->now_ns;
        scene->now_ns += (int64_t)pick(scene, 300);
        for (uint64_t n = 1 + pick(scene, 12); n > 0; n--)
            add_span(scene, lane, run, 0);
        row.end_ns = fate == 0 ? STORE_NULL : scene->now_ns;
        if (has_runs && fate != 1) /* of that one nobody ever tells */
            scene->runs[scene->run_count++] = row;
        scene->now_ns += (int64_t)pick(scene, 50);
        if (scene->has & HAS_AROUND)
            add_event(scene, lane, pick(scene, 2) ? 1 + STEP : 3, STORE_NULL, before_ns,
                      scene->now_ns);
        scene->now_ns += (int64_t)pick(scene, 2000);
        if (pick(scene, 6) == 0)
            add_span(scene, lane, STORE_NULL, 1);
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
    if (left->lane_id != right->lane_id)
        return left->lane_id > right->lane_id ? 1 : -1;
    return (left->op_id > right->op_id) - (left->op_id < right->op_id);
}

static int64_t end_of_run(const struct store_run *run)
{
    return run->end_ns == STORE_NULL ? INT64_MAX : run->end_ns;
}

static int compare_runs(const void *a, const void *b)
{
    const int64_t left = end_of_run(a), right = end_of_run(b);

    return (left > right) - (left < right);
}

static void make_scene(struct scene *scene, uint64_t seed)
{
    *scene = (struct scene){
        .seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1, .has = (unsigned)seed, .next_run = 1};
    for (int thread = 0; thread < (scene->has & HAS_THREADS ? THREADS : 1); thread++)
        add_thread(scene, thread + 1);
    qsort(scene->events, scene->event_count, sizeof(*scene->events), compare_ends);
    if (scene->run_count)
        qsort(scene->runs, scene->run_count, sizeof(*scene->runs), compare_runs);
}

static void define(struct store *store)
{
    const struct store_session session = {.session_id = 1,
                                          .uuid = {1},
                                          .start_ns = STORE_SUPPORT_START_NS,
                                          .end_ns = STORE_NULL,
                                          .program = "model",
                                          .clock = "tsc",
                                          .source = "live"};
    struct diag diag = {0};

    store_support_begin(store);
    CHECK_OK(store_put_session(store, &session, &diag));
    for (int lane = 1; lane <= LANES; lane++) {
        const struct store_lane row = {.lane_id = lane,
                                       .session_id = 1,
                                       .client_lane = lane,
                                       .kind = lane <= THREADS ? "thread"
                                               : lane == LANES ? "stream"
                                                               : "queue",
                                       .device = lane <= THREADS ? NULL : "cuda:0",
                                       .native_id = lane};

        CHECK_OK(store_put_lane(store, &row, &diag));
    }
    for (int64_t op = 0; op <= OPS; op++) {
        const bool is_rate = op == OPS;
        const struct store_op row = {.op_id = op + 1,
                                     .session_id = 1,
                                     .client_op = op,
                                     .model_id = STORE_NULL,
                                     .name = is_rate ? "recording.span_ns" : ops[op].name,
                                     .type = is_rate ? "counter" : ops[op].type,
                                     .computation_flop = STORE_NULL,
                                     .memory_bytes = STORE_NULL,
                                     .workspace_bytes = STORE_NULL};

        CHECK_OK(store_put_op(store, &row, &diag));
    }
    CHECK_OK(store_add_counters(store,
                                &(struct store_counter){.lane_id = 1,
                                                        .op_id = OPS + 1,
                                                        .run = STORE_NULL,
                                                        .time_ns = STORE_SUPPORT_START_NS,
                                                        .value = 23.7},
                                1, &diag));
    store_support_commit(store);
}

static void put_part(struct store *store, struct scene *scene, size_t from, size_t count,
                     size_t *run)
{
    const int64_t until_ns = end_of(&scene->events[from + count - 1]);
    const bool runs_first = pick(scene, 2) == 0;
    size_t runs = 0, added;
    struct diag diag = {0};

    while (*run + runs < scene->run_count && end_of_run(&scene->runs[*run + runs]) <= until_ns)
        runs++;
    if (!runs_first)
        CHECK_OK(store_add_events(store, scene->events + from, count, &diag));
    if (runs)
        CHECK_OK(store_add_runs(store, scene->runs + *run, runs, &added, &diag));
    if (runs_first)
        CHECK_OK(store_add_events(store, scene->events + from, count, &diag));
    *run += runs;
}

static struct store *reopen(struct scene *scene, struct store *store, const char *path)
{
    if (store)
        store_close(&store);
    store = store_support_open(path, STORE_WRITE);
    store_delay_rollups(store, pick(scene, 3) == 0 ? 0 : pick(scene, 2) ? 1 : INT64_MAX);
    return store;
}

/* What the device did comes up to so many events later than the rest. */
static void delay_device(struct scene *scene)
{
    for (size_t i = 0; i + 40 < scene->event_count; i++) {
        const size_t other = i + 1 + pick(scene, 30);
        const struct store_event event = scene->events[i];
        bool may = event.lane_id > THREADS && scene->events[other].lane_id <= THREADS;

        for (size_t k = i; k <= other && may; k++)
            may = k == i || scene->events[k].lane_id <= THREADS;
        if (!may)
            continue;
        memmove(&scene->events[i], &scene->events[i + 1], (other - i) * sizeof(event));
        scene->events[other] = event;
    }
}

static void write_waiting(struct store *store)
{
    struct diag diag = {0};

    CHECK_OK(store_write_rollups(store, &diag));
}

static void end_session(struct store *store, struct scene *scene, size_t run)
{
    struct diag diag = {0};
    size_t added;

    store_support_begin(store);
    if (run < scene->run_count)
        CHECK_OK(store_add_runs(store, scene->runs + run, scene->run_count - run, &added, &diag));
    CHECK_OK(store_end_session(store, 1, STORE_SUPPORT_START_NS + INT64_C(1000000000), "done", NULL,
                               &diag));
    store_support_commit(store);
    write_waiting(store);
}

/* The oldest events go, for want of room or because of their age. Returns how many. */
static size_t drop_oldest(struct store *store, const struct scene *scene, int64_t now_ns)
{
    const struct store_bounds old = {.keep_events_ns = 20000}, many = {.disk_bytes = DISK_BYTES};
    struct store_retained done;
    struct diag diag = {0};
    size_t count = 0;
    int rc = 1;

    while (rc == 1) {
        rc = store_retain(store, scene->run_count % 2 ? &old : &many, now_ns, 200, &done, &diag);
        assert_true(rc >= 0);
        count += done.row_count;
    }
    return count;
}

/* out_dropped  NULL: nothing is dropped meanwhile */
static struct store *record(struct scene *scene, const char *path, size_t *out_dropped)
{
    /* A writer that comes anew where events were dropped meanwhile has to give up. */
    const uint64_t reopens = out_dropped ? 1000 : scene->has & IS_ODD ? 15 : 40;
    struct store *store = reopen(scene, NULL, path);
    size_t done = 0, run = 0;

    define(store);
    while (done < scene->event_count) {
        size_t count = 1 + pick(scene, 60), run_before = run;

        count = count < scene->event_count - done ? count : scene->event_count - done;
        store_support_begin(store);
        put_part(store, scene, done, count, &run);
        if (pick(scene, out_dropped ? 1000 : 20) == 0) { /* the disk was full, say */
            store_rollback(store);
            run = run_before;
            continue;
        }
        store_support_commit(store);
        done += count;
        if (out_dropped && pick(scene, 5) == 0)
            *out_dropped += drop_oldest(store, scene, end_of(&scene->events[done - 1]));
        if (pick(scene, 8) == 0)
            write_waiting(store);
        if (pick(scene, reopens) == 0)
            store = reopen(scene, store, path);
    }
    end_session(store, scene, run);
    return store;
}

/* --- Two answers. --- */

static void check_double(const char *what, double got, double wanted)
{
    if (isnan(got) != isnan(wanted) || (!isnan(got) && got != wanted))
        fail_msg("%s: %.17g from totals, %.17g from events", what, got, wanted);
}

static void check_times(const char *what, const struct overhead_times *got,
                        const struct overhead_times *wanted)
{
    char name[64];
    const struct {
        const char *name;
        double got, wanted;
    } all[] = {
        {"wall", got->wall_ns, wanted->wall_ns},
        {"recorded", got->recorded_ns, wanted->recorded_ns},
        {"computation", got->computation_ns, wanted->computation_ns},
        {"communication", got->communication_ns, wanted->communication_ns},
        {"exposed", got->exposed_ns, wanted->exposed_ns},
        {"copies", got->copies_ns, wanted->copies_ns},
        {"labels", got->labels_ns, wanted->labels_ns},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        snprintf(name, sizeof(name), "%s %s", what, all[i].name);
        check_double(name, all[i].got, all[i].wanted);
    }
}

static void check_sides(const struct overhead *got, const struct overhead *wanted)
{
    CHECK_U64(got->sides.count, wanted->sides.count);
    for (size_t i = 0; i < got->sides.count; i++) {
        const struct overhead_side *a = &got->sides.items[i], *b = &wanted->sides.items[i];

        assert_string_equal(a->name, b->name);
        CHECK_U64(a->is_device, b->is_device);
        CHECK_U64(a->lane_count, b->lane_count);
        CHECK_U64(a->event_count, b->event_count);
        check_double("busy", a->busy_ns, b->busy_ns);
        check_double("side computing", a->computation_ns, b->computation_ns);
        check_double("side copying", a->copies_ns, b->copies_ns);
        check_double("side wall", a->wall_ns, b->wall_ns);
    }
}

static void check_copies(const struct overhead *got, const struct overhead *wanted)
{
    for (int i = 0; i < 3 * 5 * 2; i++) {
        struct overhead_copies a = overhead_sum_copies(got, i % 3, i / 3 % 5, i / 15);
        struct overhead_copies b = overhead_sum_copies(wanted, i % 3, i / 3 % 5, i / 15);

        CHECK_U64(a.calls, b.calls);
        CHECK_U64(a.sized_calls, b.sized_calls);
        check_double("copies", a.total_ns, b.total_ns);
        check_double("sized copies", a.sized_ns, b.sized_ns);
        check_double("bytes", a.bytes, b.bytes);
    }
}

static void check_basis(const struct basis *got, const struct basis *wanted)
{
    CHECK_U64(got->runs, wanted->runs);
    CHECK_U64(got->warmups_skipped, wanted->warmups_skipped);
    CHECK_U64(got->unended_skipped, wanted->unended_skipped);
    CHECK_U64(got->event_count, wanted->event_count);
    CHECK_U64(got->outside_count, wanted->outside_count);
    CHECK_U64(got->wall_is_runs, wanted->wall_is_runs);
    CHECK_U64(got->run_ns_count, wanted->run_ns_count);
}

static void check_recording(struct store *store, const struct spans_answer *got,
                            const struct query_cover *cover, const struct spans_answer *wanted)
{
    struct recording_overhead costs, wanted_costs;
    struct recording_overhead_sum a, b;
    struct diag diag = {0};

    CHECK_OK(query_recording_overhead(store, got, &costs, &diag));
    CHECK_OK(query_recording_overhead(store, wanted, &wanted_costs, &diag));
    assert_true(recording_overhead_of_cover(&costs, got, cover, &a));
    b = recording_overhead_sum(&wanted_costs, wanted);
    CHECK_U64(a.span_count, b.span_count);
    CHECK_U64(a.unknown_count, b.unknown_count);
    check_double("cost", a.cost_ns, b.cost_ns);
    check_double("recorded", a.recorded_ns, b.recorded_ns);
    recording_overhead_deinit(&costs);
    recording_overhead_deinit(&wanted_costs);
}

/* Whether totals told; then they say what events say. */
static bool check(struct store *store, bool totals)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = totals, .totals_from = 1};
    struct spans_answer got, wanted;
    struct query_cover cover;
    struct overhead overhead = {0}, of_spans;
    struct model_phases phases;
    struct diag diag = {0};
    const int rc = query_cover(store, &question, &got, &cover, &diag);
    bool is_told = rc == 1 && overhead_of_cover(&got, &cover, &overhead) == 0;

    assert_true(rc >= 0);
    CHECK_OK(query_spans(store, &question, &wanted, &diag));
    assert_true(wanted.spans.count > 0);
    if (is_told) {
        CHECK_OK(overhead_measure(&wanted, &of_spans));
        check_times("all", &overhead.times, &of_spans.times);
        check_times("lanes", &overhead.lanes, &of_spans.lanes);
        check_sides(&overhead, &of_spans);
        check_copies(&overhead, &of_spans);
        check_basis(&got.basis, &wanted.basis);
        check_recording(store, &got, &cover, &wanted);
        CHECK_OK(model_phases_find(&wanted, &phases));
        CHECK_U64(model_phases_has_any(&got, &cover), phases.has_steps || phases.has_phases);
        overhead_deinit(&of_spans);
    }
    overhead_deinit(&overhead);
    query_cover_deinit(&cover);
    spans_answer_deinit(&got);
    spans_answer_deinit(&wanted);
    return is_told;
}

/* What totals say, and of what; whether they do. */
struct said {
    struct spans_answer answer;
    struct query_cover cover;
    struct overhead overhead;
    bool is_told;
};

static void ask(struct store *store, struct said *out_said)
{
    const struct ops_question question = {
        .session_ids = &(const int64_t){1}, .session_count = 1, .totals_from = 1};
    struct diag diag = {0};
    int rc;

    *out_said = (struct said){0};
    rc = query_cover(store, &question, &out_said->answer, &out_said->cover, &diag);
    assert_true(rc >= 0);
    out_said->is_told =
        rc == 1 && overhead_of_cover(&out_said->answer, &out_said->cover, &out_said->overhead) == 0;
}

static void forget(struct said *said)
{
    overhead_deinit(&said->overhead);
    query_cover_deinit(&said->cover);
    spans_answer_deinit(&said->answer);
}

/* A store that drops its oldest events as it goes says what one says that keeps all. */
static bool check_dropped(struct store *dropping, struct store *keeping)
{
    struct said got, wanted;
    bool is_told;

    ask(dropping, &got);
    ask(keeping, &wanted);
    is_told = got.is_told && wanted.is_told;
    if (is_told) {
        check_times("all", &got.overhead.times, &wanted.overhead.times);
        check_times("lanes", &got.overhead.lanes, &wanted.overhead.lanes);
        check_sides(&got.overhead, &wanted.overhead);
        check_copies(&got.overhead, &wanted.overhead);
        check_basis(&got.answer.basis, &wanted.answer.basis);
    }
    forget(&got);
    forget(&wanted);
    return is_told;
}

static uint64_t seed_count(void)
{
    return turns_all() ? SEEDS : SEEDS_IN_TURN;
}

static void totals_count_what_was_dropped(void **state)
{
    const uint64_t seeds = seed_count() / 2;
    struct scene *scene = malloc(sizeof(*scene));
    size_t told = 0, dropping = 0;

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        char *dir = temp_create(), *path = temp_path(dir, "a.db"), *other = temp_path(dir, "b.db");
        struct store *keeps, *drops;
        size_t dropped = 0;
        bool is_told;

        make_scene(scene, seed);
        keeps = record(scene, path, NULL);
        make_scene(scene, seed);
        drops = record(scene, other, &dropped);
        is_told = check_dropped(drops, keeps);
        dropping += dropped > 0;
        told += dropped > 0 && is_told;
        store_close(&keeps);
        store_close(&drops);
        free(path);
        free(other);
        temp_destroy(&dir);
    }
    print_message("told: %zu of %zu that drop events\n", told, dropping);
    assert_true(dropping > seeds / 2);
    assert_true(told > seeds / 4);
    free(scene);
}

static void totals_are_what_events_say(void **state)
{
    struct scene *scene = malloc(sizeof(*scene));
    int calm = 0, told = 0, odd_told = 0;

    for (uint64_t seed = 1; seed <= seed_count(); seed++) {
        char *dir = temp_create(), *path = temp_path(dir, "store.db");
        struct store *store;
        bool is_told;

        make_scene(scene, seed);
        if (seed % 3 == 0)
            delay_device(scene);
        store = record(scene, path, NULL);
        is_told = check(store, false);
        print_message("seed %d: %d\n", (int)seed, is_told);
        check(store, true);
        if (seed & IS_ODD) {
            odd_told += is_told;
        } else {
            calm++;
            told += is_told;
        }
        store_close(&store);
        free(path);
        temp_destroy(&dir);
    }
    print_message("told: %d of %d, %d odd ones\n", told, calm, odd_told);
    assert_true(told >= calm * 2 / 3);
    free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_what_events_say),
        cmocka_unit_test(totals_count_what_was_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
