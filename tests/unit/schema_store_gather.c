/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are held back and written many at a time are those that were put. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/store_support.h"

enum { OPS = 2500 }; /* more than are held back */

static void check_text(struct store *store, const char *sql, const char *want)
{
    char *got = store_support_text(store, sql);

    assert_string_equal(got, want);
    free(got);
}

static void put_op(struct store *store, int64_t number, const char *name, const char *params)
{
    struct store_op op = {
        .op_id = number,
        .session_id = 1,
        .client_op = number,
        .model_id = STORE_NULL,
        .name = name,
        .type = number % 2 ? "Conv" : "",
        .params = params,
        .computation_flop = number % 3 ? number : STORE_NULL,
        .memory_bytes = -number,
        .workspace_bytes = INT64_MAX,
    };
    struct diag diag = {0};

    CHECK_OK(store_put_op(store, &op, &diag));
}

static void put_memory(struct store *store, int64_t number)
{
    const struct store_mem_chunk chunk = {number, 1, number % 2 ? "odd" : "even", 64, NULL};
    const struct store_variable variable = {
        .variable_id = number,
        .session_id = 1,
        .client_var = number % 2 ? "v" : "w",
        .name = "",
        .producer_op = number,
        .mem_chunk_id = number,
    };
    struct diag diag = {0};

    CHECK_OK(store_put_mem_chunk(store, &chunk, &diag));
    CHECK_OK(store_put_variable(store, &variable, &diag));
}

/* An op and lane that events refer to. */
static void put_session(struct store *store)
{
    const struct store_session session = {.session_id = 1,
                                          .uuid = {1},
                                          .pid = STORE_NULL,
                                          .uid = STORE_NULL,
                                          .end_ns = STORE_NULL,
                                          .clock = "foreign",
                                          .source = "test"};
    const struct store_lane lane = {1, 1, 1, "thread", "main", NULL, 1};
    struct diag diag = {0};

    CHECK_OK(store_put_session(store, &session, &diag));
    CHECK_OK(store_put_lane(store, &lane, &diag));
}

static struct store *open_gathering(void)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    struct diag diag = {0};

    CHECK_OK(store_gather(store, &diag));
    CHECK_OK(store_gather(store, &diag)); /* once is enough */
    store_support_begin(store);
    put_session(store);
    return store;
}

/* Again and again, with empty texts, without texts, replaced while they wait and afterwards. */
static void all_of_them_are_written(void **state)
{
    struct store *store = open_gathering();
    char *large = malloc((2 << 20) + 1);
    struct diag diag = {0};
    char name[20];

    (void)state;
    for (int i = 1; i <= OPS; i++) {
        snprintf(name, sizeof(name), "op%d", i);
        put_op(store, i, i == 1 ? "" : name, i % 5 ? NULL : "{}");
    }
    put_memory(store, 1);
    put_memory(store, 2);
    put_op(store, OPS, "replaced", NULL);
    put_op(store, 1, "replaced", "");
    CHECK_OK(store_flush(store, &diag));
    check_text(store,
               "SELECT count(*) || ' ' || sum(op_id) || ' ' || sum(name = 'op' || op_id)"
               " FROM op",
               "2500 3126250 2498");
    check_text(store, "SELECT group_concat(op_id) FROM op WHERE name = 'replaced'", "1,2500");
    check_text(store,
               "SELECT quote(params) || quote(origin) || quote(type) || quote(model_id)"
               " FROM op WHERE op_id = 1",
               "''NULL'Conv'NULL");
    check_text(store,
               "SELECT quote(params) || quote(type) || computation_flop || memory_bytes"
               " || workspace_bytes FROM op WHERE op_id = 10",
               "'{}'''10-109223372036854775807");
    check_text(store, "SELECT count(*) FROM op WHERE computation_flop IS NULL", "833");
    check_text(store, "SELECT group_concat(client_chunk || quote(owner)) FROM mem_chunk",
               "oddNULL,evenNULL");
    memset(large, 'x', 2 << 20);
    large[2 << 20] = '\0';
    put_op(store, 3, "large", large); /* such do not wait for others */
    check_text(store, "SELECT length(params) FROM op WHERE op_id = 3", "2097152");
    CHECK_OK(store_commit(store, &diag));
    free(large);
    store_close(&store);
}

/* What is wrong with a row is said, if late; the others of its transaction can be dropped. */
static void failures_are_told_and_dropped(void **state)
{
    struct store *store = open_gathering();
    const struct store_variable other = {2, 1, "v", NULL, NULL, NULL, 1, 1, 0};
    struct diag diag = {0};

    (void)state;
    put_op(store, 1, "first", NULL);
    CHECK_OK(store_commit(store, &diag));
    store_support_begin(store);
    put_memory(store, 1);
    CHECK_OK(store_put_variable(store, &other, &diag)); /* the client's name is taken */
    assert_true(store_flush(store, &diag) < 0);
    CHECK_CONTAINS(diag.text, "UNIQUE");
    store_rollback(store);
    put_op(store, 2, "dropped", NULL);
    store_rollback(store);
    store_support_begin(store);
    put_op(store, 3, "kept", NULL);
    CHECK_OK(store_commit(store, &diag));
    check_text(store, "SELECT group_concat(name) FROM op", "first,kept");
    check_text(store, "SELECT count(*) FROM variable", "0");
    check_text(store, "SELECT count(*) FROM gathered", "0");
    store_close(&store);
}

/* op_stat, too: new rows at once, those that are there one by one. */
static void roll_ups_know_their_rows(void **state)
{
    struct store *store = open_gathering();
    struct diag diag = {0};

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (int64_t op = 1; op <= OPS + round; op++) {
            const struct store_event event = {1,  op,         STORE_NULL, 1000 * op,
                                              op, STORE_NULL, STORE_NULL, STORE_NULL};

            put_op(store, op, "op", NULL);
            CHECK_OK(store_add_events(store, &event, 1, &diag));
        }
        CHECK_OK(store_commit(store, &diag));
        store_support_begin(store);
    }
    check_text(store,
               "SELECT count(*) || ' ' || sum(event_count) || ' ' || sum(sum_ns)"
               " FROM op_stat",
               "2501 5001 6255001");
    check_text(store,
               "SELECT count(*) FROM op_stat WHERE event_count = 2 AND sum_ns = 2 * op_id"
               " AND min_ns = op_id AND lane_kind = 'thread'",
               "2500");
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_them_are_written),
        cmocka_unit_test(failures_are_told_and_dropped),
        cmocka_unit_test(roll_ups_know_their_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
