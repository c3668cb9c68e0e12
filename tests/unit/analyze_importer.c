/* SPDX-License-Identifier: Apache-2.0 */
/* What importers share: the order of rows, on disk too; runs, memory and flows by their spans. */
#include "analyze/import/importer.h"
#include "tests/support/check.h"
#include "tests/support/rows_check.h"

struct fixture {
    struct store *store;
    struct importer importer;
    uint32_t host, device;
    uint32_t op[3]; /* outer, inner, kernel */
};

static void begin(struct fixture *fixture)
{
    static const char *const names[] = {"outer", "inner", "kernel"};
    struct importer_lane host = {.name = "main", .native_id = 7};
    struct importer_lane device = {
        .name = "stream 1", .device = "cuda:0", .native_id = 1, .is_device = true};
    struct diag diag = {0};

    CHECK_OK(store_open("", STORE_MEMORY, &fixture->store, &diag));
    CHECK_OK(importer_begin(&fixture->importer, fixture->store, "test", &diag));
    CHECK_OK(importer_lane(&fixture->importer, &host, &fixture->host, &diag));
    CHECK_OK(importer_lane(&fixture->importer, &device, &fixture->device, &diag));
    for (uint64_t i = 0; i < 3; i++) {
        struct place_key key = {.low = i};
        struct store_op row = {
            .model_id = STORE_NULL,
            .name = names[i],
            .type = "t",
            .computation_flop = STORE_NULL,
            .memory_bytes = STORE_NULL,
            .workspace_bytes = STORE_NULL,
        };

        assert_int_equal(importer_find_op(&fixture->importer, key), IMPORT_NONE);
        CHECK_OK(importer_put_op(&fixture->importer, key, &row, &fixture->op[i], &diag));
        assert_int_equal(importer_find_op(&fixture->importer, key), i);
    }
}

static void add(struct fixture *fixture, uint32_t lane, uint32_t op, int64_t start_ns,
                int64_t dur_ns, int64_t correlation)
{
    struct import_span span = {lane, op, start_ns, dur_ns, STORE_NULL, correlation, STORE_NULL};
    struct diag diag = {0};

    CHECK_OK(importer_span(&fixture->importer, &span, &diag));
}

static void finish(struct fixture *fixture, int64_t offset_ns)
{
    struct store_session session = {.program = "p", .pid = 5, .uid = STORE_NULL};
    struct diag diag = {0};

    CHECK_OK(importer_finish(&fixture->importer, &session, offset_ns, &diag));
    importer_deinit(&fixture->importer);
}

static void writes_inner_spans_before_outer_ones(void **state)
{
    struct fixture fixture;

    begin(&fixture);
    add(&fixture, fixture.host, 0, 100, 50, STORE_NULL);
    add(&fixture, fixture.host, 0, 0, 90, STORE_NULL);
    add(&fixture, fixture.host, 1, 10, 80, STORE_NULL);
    add(&fixture, fixture.host, 2, 10, 80, STORE_NULL); /* equal times: inside the former */
    add(&fixture, fixture.host, 1, 120, STORE_NULL, STORE_NULL); /* never ended */
    finish(&fixture, 1000);
    rows_check(fixture.store,
               "SELECT o.name, start_ns, dur_ns, run FROM event JOIN op o USING (op_id)"
               " ORDER BY event.rowid",
               "kernel|1010|80|-;inner|1010|80|-;outer|1000|90|-;outer|1100|50|-;inner|1120|-|-");
    rows_check(fixture.store, "SELECT start_ns, end_ns, source, end_reason, program FROM session",
               "1000|1150|test|imported|p");
    rows_check(fixture.store, "SELECT kind, name, native_id FROM lane", "thread|main|7");
    store_close(&fixture.store);
}

static void gives_launched_spans_the_run_of_the_launch(void **state)
{
    struct fixture fixture;
    struct diag diag = {0};

    begin(&fixture);
    CHECK_OK(importer_run(&fixture.importer,
                          &(struct importer_run){1000, 2000, fixture.host, true, false}, &diag));
    CHECK_OK(importer_run(&fixture.importer,
                          &(struct importer_run){0, 1000, fixture.host, false, false}, &diag));
    add(&fixture, fixture.host, 0, 900, 50, 33);
    add(&fixture, fixture.device, 2, 1500, 10, 33);
    add(&fixture, fixture.device, 2, 1600, 10, 34); /* its launch is not in the file */
    add(&fixture, fixture.host, 1, 2500, 10, STORE_NULL);
    finish(&fixture, 0);
    rows_check(fixture.store, "SELECT start_ns, run, correlation FROM event ORDER BY start_ns",
               "900|1|33;1500|1|33;1600|2|34;2500|-|-");
    rows_check(fixture.store, "SELECT run, start_ns, end_ns FROM run", "1|0|1000;2|1000|2000");
    store_close(&fixture.store);
}

static void finds_the_innermost_op_of_memory(void **state)
{
    struct fixture fixture;
    int64_t times[] = {5, 15, 25, 40, 95, 30};
    struct diag diag = {0};

    begin(&fixture);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct import_memory memory = {fixture.host, fixture.host, IMPORT_NONE, times[i], 64, 8};

        CHECK_OK(importer_memory(&fixture.importer, &memory, &diag));
    }
    add(&fixture, fixture.host, 0, 10, 60, STORE_NULL);
    add(&fixture, fixture.host, 1, 20, 10, STORE_NULL);
    add(&fixture, fixture.device, 2, 0, 100, STORE_NULL); /* another lane */
    finish(&fixture, 0);
    rows_check(fixture.store,
               "SELECT time_ns, name, address, bytes FROM memory_event LEFT JOIN op USING (op_id)"
               " ORDER BY time_ns",
               "5|-|64|8;15|outer|64|8;25|inner|64|8;30|inner|64|8;40|outer|64|8;95|-|64|8");
    store_close(&fixture.store);
}

static void ties_spans_by_flows(void **state)
{
    struct fixture fixture;
    struct diag diag = {0};

    begin(&fixture);
    CHECK_OK(importer_flow(&fixture.importer, fixture.host, 20, 7, &diag));
    CHECK_OK(importer_flow(&fixture.importer, fixture.device, 100, 7, &diag));
    add(&fixture, fixture.host, 0, 10, 60, STORE_NULL);
    add(&fixture, fixture.host, 1, 20, 10, STORE_NULL);
    add(&fixture, fixture.device, 2, 90, 10, STORE_NULL); /* ends where the flow is: not meant */
    add(&fixture, fixture.device, 2, 100, 10, STORE_NULL);
    finish(&fixture, 0);
    rows_check(fixture.store, "SELECT start_ns, correlation FROM event ORDER BY start_ns",
               "10|-;20|7;90|-;100|7");
    store_close(&fixture.store);
}

static void cuts_what_sticks_out_by_rounding(void **state)
{
    struct fixture fixture;

    begin(&fixture);
    fixture.importer.rounding_ns = 10;
    add(&fixture, fixture.host, 0, 0, 100, STORE_NULL);
    add(&fixture, fixture.host, 1, 50, 60, STORE_NULL);  /* 10 too long */
    add(&fixture, fixture.host, 1, 110, 10, STORE_NULL); /* a neighbour */
    add(&fixture, fixture.host, 0, 200, 100, STORE_NULL);
    add(&fixture, fixture.host, 1, 250, 61, STORE_NULL);  /* 11 too long: not by rounding */
    add(&fixture, fixture.device, 2, 0, 100, STORE_NULL); /* devices overlap as they like */
    add(&fixture, fixture.device, 2, 50, 60, STORE_NULL);
    finish(&fixture, 0);
    rows_check(fixture.store,
               "SELECT start_ns, dur_ns FROM event JOIN lane USING (lane_id)"
               " WHERE kind = 'thread' ORDER BY event.rowid",
               "50|50;0|100;110|10;200|100;250|61");
    rows_check(fixture.store,
               "SELECT sum(dur_ns) FROM event JOIN lane USING (lane_id) WHERE kind = 'stream'",
               "160");
    store_close(&fixture.store);
}

static void moves_times_before_1970_up(void **state)
{
    struct fixture fixture;

    begin(&fixture);
    add(&fixture, fixture.host, 0, -500, 100, STORE_NULL);
    add(&fixture, fixture.host, 0, 500, 100, STORE_NULL);
    finish(&fixture, 20);
    rows_check(fixture.store, "SELECT start_ns FROM event", "0;1000");
    store_close(&fixture.store);
}

static void leaves_the_store_as_it_was_without_finish(void **state)
{
    struct fixture fixture;

    begin(&fixture);
    add(&fixture, fixture.host, 0, 0, 100, STORE_NULL);
    importer_deinit(&fixture.importer);
    rows_check(fixture.store, "SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM op)",
               "0|0");
    store_close(&fixture.store);
}

/* The same rows sorted in memory and through a file. */
static void sorts_through_a_file(void **state)
{
    enum { ROWS = 20000 };
    struct row_sorter small = {.rows_in_memory = 777}, large = {0};
    struct import_row got, wanted;
    struct diag diag = {0};
    uint32_t random = 12345;
    int64_t last = INT64_MIN;
    size_t count = 0;
    int rc;

    for (int i = 0; i < ROWS; i++) {
        struct import_row row = {.kind = i % 2 ? ROW_SPAN : ROW_MEMORY};

        random = random * 1664525 + 1013904223;
        row.end_ns = random >> 16;
        row.start_ns = row.end_ns - (random & 63);
        row.op = (uint32_t)i;
        CHECK_OK(row_sorter_add(&small, row, &diag));
        CHECK_OK(row_sorter_add(&large, row, &diag));
    }
    CHECK_OK(row_sorter_sort(&small, &diag));
    CHECK_OK(row_sorter_sort(&large, &diag));
    assert_non_null(small.file);
    assert_null(large.file);
    while ((rc = row_sorter_next(&small, &got, &diag)) == 1) {
        assert_int_equal(row_sorter_next(&large, &wanted, &diag), 1);
        assert_int_equal(got.op, wanted.op);
        assert_true(got.end_ns >= last);
        last = got.end_ns;
        count++;
    }
    CHECK_OK(rc);
    CHECK_OK(row_sorter_next(&large, &wanted, &diag));
    assert_int_equal(count, ROWS);
    row_sorter_deinit(&small);
    row_sorter_deinit(&large);
}

static void maps_keys_to_places(void **state)
{
    struct place_map map = {0};
    struct place_key split = {0}, whole = {0};

    place_key_add(&split, "ab", 2);
    place_key_add(&split, "c", 1);
    place_key_add(&whole, "a", 1);
    place_key_add(&whole, "bc", 2);
    assert_true(split.low != whole.low && split.high != whole.high);
    for (uint32_t i = 0; i < 10000; i++) {
        struct place_key key = {.low = (uint64_t)i << 40};

        assert_int_equal(place_map_find(&map, key), PLACE_NONE);
        CHECK_OK(place_map_set(&map, key, i));
    }
    for (uint32_t i = 0; i < 10000; i++) {
        struct place_key key = {.low = (uint64_t)i << 40};

        assert_int_equal(place_map_find(&map, key), i);
        CHECK_OK(place_map_set(&map, key, i + 1));
        assert_int_equal(place_map_find(&map, key), i + 1);
    }
    assert_int_equal(map.count, 10000);
    place_map_deinit(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_inner_spans_before_outer_ones),
        cmocka_unit_test(gives_launched_spans_the_run_of_the_launch),
        cmocka_unit_test(finds_the_innermost_op_of_memory),
        cmocka_unit_test(ties_spans_by_flows),
        cmocka_unit_test(cuts_what_sticks_out_by_rounding),
        cmocka_unit_test(moves_times_before_1970_up),
        cmocka_unit_test(leaves_the_store_as_it_was_without_finish),
        cmocka_unit_test(sorts_through_a_file),
        cmocka_unit_test(maps_keys_to_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
