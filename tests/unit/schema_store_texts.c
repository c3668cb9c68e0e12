/* SPDX-License-Identifier: Apache-2.0 */
/* Long texts of ops are stored once; who reads ops sees no difference. */
#include <stdio.h>

#include "schema/store/retain.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { OPS = 400, PLAIN = 1, SHARED = 2, COLUMNS = 6, LONG_BYTES = 1 << 20 };

/* The first is NULL, which some columns may be; texts from LONGEST on are too long to be used
 * often. */
enum { NONE, LONGEST = 9, TEXTS };
static const char *texts[TEXTS] = {
    NULL,
    "",
    "conv1",
    "143",
    "0",
    "{\"stack\":[\"a.py:1\",\"b.py:2\"],\"why\":\"a text that is long enough to be kept apart\"}",
    "quotes ' and \" and \\ and \n, \xc3\xa4 \xe2\x82\xac, and enough behind them to be a long "
    "text",
    "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
    "-7",
    NULL, /* LONG_BYTES of it */
};

static uint64_t seed = DRAW_SEED;

static uint32_t random_below(uint32_t bound)
{
    return (uint32_t)(draw_u64(&seed) >> 32) % bound;
}

static int make_place(void **state)
{
    char *text = malloc(LONG_BYTES + 1);

    memset(text, 'x', LONG_BYTES);
    text[LONG_BYTES] = '\0';
    texts[LONGEST] = text;
    *state = temp_create();
    return 0;
}

static int remove_place(void **state)
{
    free((char *)(uintptr_t)texts[LONGEST]);
    temp_destroy((char **)state);
    return 0;
}

static void put_session(struct store *store, int64_t session_id, int64_t end_ns)
{
    const struct store_session session = {.session_id = session_id,
                                          .uuid = {(uint8_t)session_id},
                                          .start_ns = STORE_SUPPORT_START_NS,
                                          .end_ns = end_ns,
                                          .pid = 5,
                                          .uid = 5,
                                          .clock = "tsc",
                                          .source = "live"};
    struct diag diag = {0};

    CHECK_OK(store_put_session(store, &session, &diag));
}

/* Texts get as numbers their places. */
static void put_texts(struct store *store, int64_t session_id)
{
    struct diag diag = {0};

    for (int64_t i = 1; i < TEXTS; i++) {
        const struct store_text text = {session_id, i, texts[i]};

        CHECK_OK(store_put_text(store, &text, &diag));
    }
}

/* The same op in both sessions: with its texts, and with numbers for some of them. */
static void put_twins(struct store *store, int64_t number)
{
    uint32_t used[COLUMNS];
    struct store_op op = {.op_id = 2 * number,
                          .session_id = PLAIN,
                          .client_op = number,
                          .model_id = STORE_NULL,
                          .input_shapes = number % 3 ? "[[1,3]]" : NULL,
                          .computation_flop = number,
                          .memory_bytes = STORE_NULL,
                          .workspace_bytes = 0,
                          .origin = number % 2 ? "[\"a\\n\",\"\",\"\\\"\"]" : NULL};
    struct diag diag = {0};

    for (int i = 0; i < COLUMNS; i++) {
        used[i] = random_below(random_below(50) ? LONGEST : TEXTS);
        used[i] = i < 2 && used[i] == NONE ? 1 : used[i]; /* name and type are there */
    }
    op.name = texts[used[0]];
    op.type = texts[used[1]];
    op.node_id = texts[used[2]];
    op.device = texts[used[3]];
    op.params = texts[used[4]];
    op.source = texts[used[5]];
    CHECK_OK(store_put_op(store, &op, &diag));
    op.op_id++;
    op.session_id = SHARED;
    op.text_ids.name = random_below(2) ? used[0] : 0;
    op.text_ids.type = random_below(2) ? used[1] : 0;
    op.text_ids.node_id = random_below(2) ? used[2] : 0;
    op.text_ids.device = random_below(2) ? used[3] : 0;
    op.text_ids.params = random_below(2) ? used[4] : 0;
    op.text_ids.source = random_below(2) ? used[5] : 0;
    if (op.origin && random_below(2)) { /* what is in it, see put_origin_texts() */
        op.origin = NULL;
        op.origin_texts = "[100,101,102]";
    }
    CHECK_OK(store_put_op(store, &op, &diag));
}

static void put_origin_texts(struct store *store)
{
    static const char *const names[] = {"\"a\\n\"", "\"\"", "\"\\\"\""};
    struct diag diag = {0};

    for (int64_t i = 0; i < 3; i++) {
        const struct store_text text = {SHARED, 100 + i, names[i]};

        CHECK_OK(store_put_text(store, &text, &diag));
    }
}

static void fill(struct store *store, bool gathers)
{
    struct diag diag = {0};

    if (gathers)
        CHECK_OK(store_gather(store, &diag));
    store_support_begin(store);
    put_session(store, PLAIN, STORE_SUPPORT_START_NS + 1);
    put_session(store, SHARED, STORE_SUPPORT_START_NS + 1);
    put_texts(store, SHARED);
    put_origin_texts(store);
    for (int64_t i = 1; i <= OPS; i++)
        put_twins(store, i);
    store_support_commit(store);
}

#define SEEN                                                                                       \
    "SELECT client_op, model_id, name, type, node_id, device, input_shapes, input_dtypes,"         \
    " output_shapes, output_dtypes, params, computation_flop, memory_bytes, workspace_bytes,"      \
    " source, origin, typeof(name), typeof(params) FROM op WHERE session_id = "

/* Of two sessions of a store, by their numbers. */
static void check_twins(struct store *store, int64_t plain, int64_t shared)
{
    char sql[2000];

    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op"), 2 * OPS);
    assert_true(store_support_int(store, "SELECT count(*) FROM op_row WHERE typeof(name) ="
                                         " 'integer' AND origin_texts IS NOT NULL") > 0);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM (" SEEN "%lld EXCEPT " SEEN "%lld)",
             (long long)plain, (long long)shared);
    CHECK_U64(store_support_int(store, sql), 0);
    snprintf(sql, sizeof(sql),
             "SELECT count(*) FROM op a JOIN op b USING (client_op) WHERE a.session_id = %lld AND"
             " b.session_id = %lld AND a.type = b.type AND a.node_id IS b.node_id AND"
             " (a.node_id = 143) IS (b.node_id = 143) AND a.name || '' = b.name",
             (long long)plain, (long long)shared);
    CHECK_U64(store_support_int(store, sql), OPS);
    /* As a column of texts does: a number is compared as its text. */
    assert_true(store_support_int(store, "SELECT count(*) FROM op WHERE node_id = 143") > 0);
}

static void readers_see_texts_wherever_they_stand(void **state)
{
    for (int gathers = 0; gathers < 2; gathers++) {
        struct store *store = store_support_open(NULL, STORE_MEMORY);

        fill(store, gathers);
        check_twins(store, PLAIN, SHARED);
        store_close(&store);
    }
}

/* As a file of unknown origin is read: not every function may be in its views. */
static void a_file_is_read_the_same(void **state)
{
    char *path = temp_path(*state, "file.db");
    struct store *store = store_support_open(path, STORE_WRITE);

    fill(store, false);
    store_close(&store);
    store = store_support_open(path, STORE_READ);
    check_twins(store, PLAIN, SHARED);
    store_support_check_integrity(store);
    store_close(&store);
    free(path);
}

static void copies_have_them(void **state)
{
    char *path = temp_path(*state, "copied.db");
    struct store *from = store_support_open(path, STORE_WRITE), *to;
    struct diag diag = {0};
    size_t taken, known;

    fill(from, false);
    to = store_support_open(NULL, STORE_MEMORY);
    store_support_begin(to);
    put_session(to, 7, STORE_NULL);
    put_texts(to, 7);
    CHECK_OK(store_copy_all(to, from, &taken, &known, &diag));
    store_support_commit(to);
    CHECK_U64(taken, 2);
    check_twins(to, 8, 9);
    store_close(&to);
    to = store_support_open(NULL, STORE_MEMORY);
    store_support_begin(to);
    CHECK_OK(store_copy_session(to, from, SHARED, &diag));
    CHECK_OK(store_copy_session(to, from, PLAIN, &diag));
    store_support_commit(to);
    check_twins(to, PLAIN, SHARED);
    store_close(&to);
    store_close(&from);
    free(path);
}

static void nothing_is_left_of_a_session(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    const struct store_bounds bounds = {.keep_sessions_ns = 1000};
    struct store_retained done;
    struct diag diag = {0};
    int rc;

    fill(store, false);
    store_support_begin(store);
    put_session(store, 3, STORE_NULL); /* still runs */
    put_texts(store, 3);
    store_support_commit(store);
    do
        rc = store_retain(store, &bounds, STORE_SUPPORT_START_NS + INT64_C(86400000000000), 10000,
                          &done, &diag);
    while (rc == 1);
    CHECK_OK(rc);
    CHECK_U64(store_support_int(store, "SELECT session_id FROM session"), 3);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_row"), 0);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM text"), TEXTS - 1);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM text WHERE session_id = 3"),
              TEXTS - 1);
    store_close(&store);
}

/* The number of a text that is put again is the number of the new text. */
static void a_text_put_again_is_replaced(void **state)
{
    struct store *store = store_support_open(NULL, STORE_MEMORY);
    struct store_text text = {1, 1, "first"};
    struct store_op op = {.op_id = 1,
                          .session_id = 1,
                          .client_op = 1,
                          .name = "unused",
                          .type = "T",
                          .model_id = STORE_NULL,
                          .text_ids.name = 1};
    struct diag diag = {0};
    char *name;

    store_support_begin(store);
    put_session(store, 1, STORE_NULL);
    CHECK_OK(store_put_op(store, &op, &diag));
    CHECK_OK(store_put_text(store, &text, &diag));
    text.value = "second";
    CHECK_OK(store_put_text(store, &text, &diag));
    store_support_commit(store);
    name = store_support_text(store, "SELECT name FROM op");
    assert_string_equal(name, "second");
    free(name);
    text.value = NULL;
    store_support_begin(store);
    assert_int_equal(store_put_text(store, &text, &diag), -EINVAL);
    store_rollback(store);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_texts_wherever_they_stand),
        cmocka_unit_test(a_file_is_read_the_same),
        cmocka_unit_test(copies_have_them),
        cmocka_unit_test(nothing_is_left_of_a_session),
        cmocka_unit_test(a_text_put_again_is_replaced),
    };

    return cmocka_run_group_tests(tests, make_place, remove_place);
}
