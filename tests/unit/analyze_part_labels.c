/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in labels, and stacks for flame graphs, are the same part by part as of all spans at
 * once: random sessions with a thread on which autograd runs what it runs. */
#include <stdlib.h>
#include <string.h>

#include "analyze/export/stacks.h"
#include "analyze/query/span_filter.h"
#include "tests/support/check.h"
#include "tests/support/span_scene.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { SEEDS = 40, PART = 200, TIMES = 50 };

/* A label, functions of autograd on another thread and on that of the label, call stacks. */
static const char scene_sql[] =
    "UPDATE lane SET kind = 'thread', device = NULL, native_id = 101 WHERE lane_id = 3;"
    "UPDATE event SET lane_id = 3 WHERE lane_id = 1 AND op_id IN (5, 6) AND rowid % 3;"
    "UPDATE op_row SET type = 'label', name = 'step' WHERE op_id = 9;"
    "UPDATE op_row SET type = 'label', name = 'other' WHERE op_id = 8;"
    "UPDATE op_row SET type = 'cpu_op', name = 'MulBackward0' WHERE op_id = 5;"
    "UPDATE op_row SET params = '{\"stack\":\"a.py(1): f;b.py(' || op_id || '): g\"}'"
    " WHERE op_id <> 2";
/* Nothing else on the label's lane. */
static const char alone_sql[] = "UPDATE event SET lane_id = 3 WHERE op_id = 9 AND lane_id = 1;"
                                "UPDATE event SET lane_id = 1 WHERE op_id <> 9 AND lane_id = 3;"
                                "UPDATE lane SET native_id = NULL WHERE lane_id = 3;";

struct shown {
    int64_t start_ns, dur_ns, lane, op, is_shown;
};

struct gathered {
    struct filter *filter;
    struct span_filter_parts filtered;
    struct stack_lines stacks;
    ARRAY_OF(struct shown) spans;
    size_t part_count;
};

static int begin(void *user, const struct spans_answer *spans)
{
    struct gathered *gathered = user;

    gathered->part_count = 0;
    gathered->spans.count = 0;
    CHECK_OK(stacks_begin(&gathered->stacks, spans));
    return span_filter_begin(&gathered->filtered, spans, gathered->filter);
}

static int take(void *user, struct spans_answer *spans)
{
    struct gathered *gathered = user;

    CHECK_OK(span_filter_add(&gathered->filtered, spans));
    for (size_t i = 0; i < spans->spans.count; i++) {
        const struct span *span = &spans->spans.items[i];
        const struct shown shown = {span->start_ns, span->dur_ns, span->lane, span->op,
                                    span->is_shown};

        CHECK_OK(array_push(&gathered->spans, shown));
    }
    gathered->part_count++;
    return stacks_take(&gathered->stacks, spans);
}

static int compare_shown(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct shown));
}

/* Returns how long autograd ran outside of the label. */
static int64_t gather(struct store *store, struct filter *filter, bool is_whole, bool by_device,
                      struct gathered *out_gathered)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals = true, .warmups = true};
    const struct span_parts parts = {out_gathered, begin, take, is_whole, PART};
    struct spans_answer answer;
    struct diag diag = {0};
    int64_t elsewhere_ns;

    *out_gathered = (struct gathered){.filter = filter, .stacks = {.by_device = by_device}};
    CHECK_OK(query_span_parts(store, &question, &parts, &answer, &diag));
    span_filter_finish(&out_gathered->filtered, &answer);
    elsewhere_ns = answer.basis.backward_elsewhere_ns;
    span_filter_deinit(&out_gathered->filtered);
    spans_answer_deinit(&answer);
    qsort(out_gathered->spans.items, out_gathered->spans.count, sizeof(*out_gathered->spans.items),
          compare_shown);
    return elsewhere_ns;
}

static void compare_stacks(const struct stack_lines *got, const struct stack_lines *expected)
{
    struct bytes_reader left = bytes_read(&got->rows), right = bytes_read(&expected->rows);
    const uint8_t *a, *b;

    CHECK_U64(got->count, expected->count);
    for (size_t i = 0; i < expected->count; i++) {
        a = bytes_row(&left);
        b = bytes_row(&right);
        assert_true(a && b);
        for (int k = 0; k < 2; k++)
            CHECK_U64(packed_number_get(&a), packed_number_get(&b));
        bytes_pass(&left, a);
        bytes_pass(&right, b);
    }
    assert_null(bytes_row(&left));
}

static void drop(struct gathered *gathered)
{
    array_deinit(&gathered->spans);
    stacks_deinit(&gathered->stacks);
}

struct seen {
    size_t parts, shown, hidden, elsewhere, lines;
};

static void compare(struct store *store, const char *label, bool by_device, struct seen *seen)
{
    struct filter filter = {0};
    struct gathered whole, parts;
    int64_t elsewhere_ns;

    if (label)
        CHECK_OK(filter_set(&filter, FILTER_LABEL, &label, 1, NULL));
    elsewhere_ns = gather(store, &filter, true, by_device, &whole);
    CHECK_U64((uint64_t)gather(store, &filter, false, by_device, &parts), (uint64_t)elsewhere_ns);
    CHECK_U64(whole.part_count, 1);
    CHECK_U64(parts.spans.count, whole.spans.count);
    assert_memory_equal(parts.spans.items, whole.spans.items,
                        whole.spans.count * sizeof(*whole.spans.items));
    for (size_t i = 0; i < whole.spans.count; i++) {
        seen->shown += whole.spans.items[i].is_shown;
        seen->hidden += !whole.spans.items[i].is_shown;
    }
    compare_stacks(&parts.stacks, &whole.stacks);
    seen->parts += parts.part_count;
    seen->elsewhere += elsewhere_ns > 0;
    seen->lines += whole.stacks.count;
    drop(&whole);
    drop(&parts);
    filter_deinit(&filter);
}

/* A microsecond is the least that is written of a stack. */
static void stretch(struct span_scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        struct store_event *event = &scene->events[i];

        event->start_ns =
            STORE_SUPPORT_START_NS + TIMES * (event->start_ns - STORE_SUPPORT_START_NS);
        event->dur_ns *= TIMES;
        if (event->kern_ns != STORE_NULL)
            event->kern_ns *= TIMES;
    }
}

static void try_seed(struct span_scene *scene, uint64_t seed, bool is_alone, struct seen *seen)
{
    char *dir = temp_create(), *path = temp_path(dir, "a.db");
    struct store *store;

    *scene = (struct span_scene){.seed = seed * 2654435761u + 88172645463325252u,
                                 .run = STORE_NULL,
                                 .touches = seed % 4 == 1};
    span_scene_fill(scene);
    stretch(scene);
    span_scene_store(path, scene, false);
    store_support_run(path, scene_sql);
    if (is_alone)
        store_support_run(path, alone_sql);
    store = store_support_open(path, STORE_READ);
    compare(store, NULL, seed % 2, seen);
    compare(store, "step", seed % 2, seen);
    store_close(&store);
    free(path);
    temp_destroy(&dir);
}

static void labels_and_stacks_are_those_of_the_whole(void **state)
{
    struct span_scene *scene = malloc(sizeof(*scene));
    struct seen seen = {0};

    (void)state;
    assert_non_null(scene);
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        try_seed(scene, seed, false, &seen);
    assert_true(seen.parts > 10 * SEEDS && seen.shown > 1000 && seen.hidden > 1000);
    assert_true(seen.elsewhere > SEEDS / 2 && seen.lines > 1000);
    free(scene);
}

/* Whether it is a row depends on what else there is on its lane. */
static void a_label_on_a_lane_of_its_own_needs_all_spans(void **state)
{
    struct span_scene *scene = malloc(sizeof(*scene));
    struct seen seen = {0};

    (void)state;
    assert_non_null(scene);
    try_seed(scene, 2, true, &seen);
    CHECK_U64(seen.parts, 2);
    assert_true(seen.lines > 0);
    free(scene);
}

/* First labels on the third lane, op 9, and where `has_ops` ops on the first one beside them; then
 * ops on the lane `later`. All take five microseconds, and batches are short. */
static void put_labels_first(const char *path, bool has_ops, int later)
{
    char sql[2048];

    snprintf(sql, sizeof(sql),
             "DELETE FROM event; DELETE FROM event_batch;"
             "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
             " WHERE i < 799) SELECT i, 1767225600000000000 + i * 10000 AS start_ns FROM n;"
             "INSERT INTO event (lane_id, op_id, start_ns, dur_ns) SELECT 3, 9, start_ns, 5000 FROM"
             " n WHERE i < 400 UNION ALL SELECT 1, 3, start_ns, 5000 FROM n WHERE i < 400 AND %d"
             " UNION ALL SELECT %d, 3, start_ns, 5000 FROM n WHERE i >= 400 ORDER BY 3;"
             "INSERT INTO event_batch SELECT min(rowid), max(rowid), min(start_ns),"
             " max(start_ns + dur_ns), max(dur_ns), 1, 1, '[1,2,3]' FROM event"
             " GROUP BY (rowid - 1) / 50",
             has_ops, later);
    store_support_run(path, sql);
}

/* A part in which nothing but labels is, and one in which the lane's own ops are not, do not show
 * what the whole does. A thread that has a number needs nobody else. */
static void a_part_does_not_know_what_a_lane_is_for(void **state)
{
    static const struct {
        bool has_ops, has_number;
        int later;
        size_t lines;
    } cases[] = {{false, false, 1, 400},
                 {false, false, 3, 800},
                 {true, false, 1, 800},
                 {true, false, 3, 1200},
                 {true, true, 1, 1200}};
    struct span_scene *scene = malloc(sizeof(*scene));

    (void)state;
    assert_non_null(scene);
    *scene = (struct span_scene){.seed = 7, .run = STORE_NULL};
    span_scene_fill(scene);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *dir = temp_create(), *path = temp_path(dir, "a.db");
        struct seen seen = {0};
        struct store *store;

        span_scene_store(path, scene, false);
        store_support_run(path, scene_sql);
        store_support_run(path, alone_sql);
        if (cases[i].has_number)
            store_support_run(path, "UPDATE lane SET native_id = 101 WHERE lane_id = 3");
        put_labels_first(path, cases[i].has_ops, cases[i].later);
        store = store_support_open(path, STORE_READ);
        compare(store, NULL, false, &seen);
        CHECK_U64(seen.lines, cases[i].lines);
        assert_true(cases[i].has_number ? seen.parts > 3 : seen.parts == 1);
        store_close(&store);
        free(path);
        temp_destroy(&dir);
    }
    free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_and_stacks_are_those_of_the_whole),
        cmocka_unit_test(a_label_on_a_lane_of_its_own_needs_all_spans),
        cmocka_unit_test(a_part_does_not_know_what_a_lane_is_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
