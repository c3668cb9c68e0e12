/* SPDX-License-Identifier: Apache-2.0 */
/* What a program says once and names in many ops is stored once, and read as if it stood in each.
 */
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"

enum { LONG_BYTES = 4096, OPS = 1000, ORIGINS = 3, PER_WIRE_BYTE = 8 };

#define USED                                                                                       \
    "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count,"                     \
    " pragma_freelist_count, pragma_page_size"
/* Rows of the table that no op has. */
#define UNUSED                                                                                     \
    "SELECT count(*) FROM text t WHERE NOT EXISTS (SELECT 1 FROM op_row o WHERE"                   \
    " o.session_id = t.session_id AND (t.text_id IN (o.name, o.type, o.node_id,"                   \
    " o.device, o.params, o.source) OR t.text_id IN (SELECT value FROM"                            \
    " json_each(o.origin_texts))))"

/* LONG_BYTES of a letter. */
static const char *long_text(char letter)
{
    static char text[LONG_BYTES + 1];

    memset(text, letter, LONG_BYTES);
    return text;
}

/* An op that has one text everywhere. Returns the bytes of its frame. */
static uint64_t send_op(struct raw_client *client, uint32_t op_id, uint32_t text,
                        uint32_t origin_count)
{
    const uint32_t origins[ORIGINS] = {text, text, text};
    const struct ot_wire_op op = {.op_id = op_id,
                                  .name = text,
                                  .type = text,
                                  .node_id = text,
                                  .device = text,
                                  .params = text,
                                  .source = text,
                                  .computation_flop = -1,
                                  .memory_bytes = -1,
                                  .workspace_bytes = -1,
                                  .origin_count = (uint16_t)origin_count};
    uint8_t frame[256];
    int length = ot_wire_encode_op(&op, NULL, origins, frame, sizeof(frame));

    assert_true(length > 0);
    assert_true(raw_send(client, frame, (size_t)length));
    return (uint64_t)length;
}

/* The ops of which each text column is `letter`s. */
static uint64_t count_ops(const struct optraced *daemon, char letter)
{
    char sql[500];

    snprintf(sql, sizeof(sql),
             "WITH t(x) AS (SELECT printf('%%.*c', %d, '%c')) SELECT count(*) FROM op JOIN t ON"
             " name = x AND type = x AND node_id = x AND device = x AND params = x AND source = x",
             LONG_BYTES, letter);
    return (uint64_t)optraced_query(daemon, sql);
}

static void check_used(const struct optraced *daemon)
{
    CHECK_U64(optraced_query(daemon, UNUSED), 0);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM op WHERE name IS NULL"), 0);
}

static void a_text_takes_its_room_once(void **state)
{
    uint64_t wire_bytes = LONG_BYTES;
    struct optraced daemon;
    struct raw_client client;
    int64_t before;
    uint32_t text;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    raw_define(&client);
    assert_int_equal(raw_flush(&client), 0);
    before = optraced_query(&daemon, USED);
    text = raw_string(&client, long_text('x'));
    for (uint32_t i = 0; i < OPS; i++)
        wire_bytes += send_op(&client, 2 + i, text, i % 2 ? ORIGINS : 0);
    assert_int_equal(raw_flush(&client), 0);
    assert_in_range(optraced_query(&daemon, USED) - before, 0, PER_WIRE_BYTE * wire_bytes);
    CHECK_U64(count_ops(&daemon, 'x'), OPS);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM op WHERE origin ->> 0 = name AND"
                                      " origin ->> 2 = name AND json_array_length(origin) = 3"),
              OPS / 2);
    check_used(&daemon);
    raw_bye(&client);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* Short ones, those with what JSON writes in another way, and none at all. */
static void texts_of_any_kind_are_kept(void **state)
{
    static const char *const texts[] = {
        "", "a", "143", "{\"a\":[1,2]}", "\xc3\xa4 \xe2\x82\xac \" \\ \n \t \x01 '",
    };
    char copies[OT_WIRE_TEXT_BYTES_MAX / 4];
    struct optraced daemon;
    struct raw_client client;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    for (uint32_t i = 0; i < 5; i++) {
        send_op(&client, 1 + 2 * i, raw_string(&client, texts[i]), i % 2);
        copies[0] = '\0';
        for (int k = 0; k < 500; k++)
            strcat(copies, texts[i]);
        send_op(&client, 2 + 2 * i, raw_string(&client, copies), ORIGINS);
    }
    assert_int_equal(raw_flush(&client), 0);
    for (uint32_t i = 0; i < 5; i++) {
        char sql[100], *text;

        snprintf(sql, sizeof(sql), "SELECT name FROM op WHERE client_op = %u", 1 + 2 * i);
        text = optraced_query_text(&daemon, sql);
        assert_string_equal(text, texts[i]);
        free(text);
    }
    CHECK_U64(optraced_query(&daemon,
                             "SELECT count(*) FROM op a JOIN op b ON b.client_op = a.client_op + 1"
                             " AND a.client_op % 2 WHERE b.name = replace(printf('%.*c', 500,"
                             " 'x'), 'x', a.name) AND b.params = b.name AND b.source = b.type"),
              5);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM op WHERE client_op % 2 = 0 AND"
                                      " json_array_length(origin) = 3 AND origin ->> 1 = name"),
              5);
    check_used(&daemon);
    raw_bye(&client);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* The numbers of texts on the wire are those of a connection: what a program says when it comes
 * back is not what it said before, to this daemon or to another one. */
static void a_number_may_stand_for_another_text_after_a_restart(void **state)
{
    struct optraced daemon;
    struct raw_client client;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    send_op(&client, 1, raw_string(&client, long_text('x')), ORIGINS);
    assert_int_equal(raw_flush(&client), 0);
    raw_close(&client); /* without BYE: it may come back */
    raw_join(&client, daemon.socket);
    send_op(&client, 2, raw_string(&client, long_text('x')), 0);
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM text WHERE value LIKE 'x%'"), 1);
    optraced_kill(&daemon);
    optraced_start(&daemon, NULL);
    raw_close(&client);
    raw_join(&client, daemon.socket);
    send_op(&client, 3, raw_string(&client, long_text('y')), ORIGINS);
    assert_int_equal(raw_flush(&client), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session"), 1);
    CHECK_U64(count_ops(&daemon, 'x'), 2);
    CHECK_U64(count_ops(&daemon, 'y'), 1);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM op WHERE origin ->> 2 = name"), 2);
    check_used(&daemon);
    raw_bye(&client);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

enum { RANDOM_OPS = 300, POOL = 10 };

static uint64_t seed = DRAW_SEED;

static uint32_t random_below(uint32_t bound)
{
    return (uint32_t)(draw_u64(&seed) >> 32) % bound;
}

/* Lengths around the one from which on a text is long, and the longest. */
static void fill_pool(char *pool[POOL])
{
    static const uint32_t lengths[POOL] = {0, 1, 20, 63, 64, 65, 66, 200, 3000, 65000};

    for (int i = 0; i < POOL; i++) {
        pool[i] = malloc(lengths[i] + 1);
        assert_non_null(pool[i]);
        for (uint32_t k = 0; k < lengths[i]; k++)
            pool[i][k] = "abc\"\\\n 12"[random_below(9)];
        pool[i][lengths[i]] = '\0';
    }
}

struct teller {
    struct raw_client client;
    uint32_t ids[POOL]; /* of texts that were told; 0: not yet */
    bool repeats;       /* tells a text each time anew */
};

/* The number of a text; 0 for POOL, which is none. */
static uint32_t tell(struct teller *teller, char *const pool[POOL], uint32_t which)
{
    if (which == POOL)
        return 0;
    if (teller->ids[which] == 0 || teller->repeats)
        teller->ids[which] = raw_string(&teller->client, pool[which]);
    return teller->ids[which];
}

/* The same op by each of the two. */
static void send_twins(struct teller tellers[2], char *const pool[POOL], uint32_t op_id)
{
    uint32_t used[6], origins[ORIGINS], origin_count = random_below(ORIGINS + 1);

    for (int i = 0; i < 6; i++)
        used[i] = random_below(i < 2 ? POOL : POOL + 1); /* name and type are there */
    for (int i = 0; i < ORIGINS; i++)
        origins[i] = random_below(POOL);
    for (int t = 0; t < 2; t++) {
        struct teller *teller = &tellers[t];
        const struct ot_wire_op op = {.op_id = op_id,
                                      .name = tell(teller, pool, used[0]),
                                      .type = tell(teller, pool, used[1]),
                                      .node_id = tell(teller, pool, used[2]),
                                      .device = tell(teller, pool, used[3]),
                                      .params = tell(teller, pool, used[4]),
                                      .source = tell(teller, pool, used[5]),
                                      .computation_flop = op_id,
                                      .memory_bytes = -1,
                                      .workspace_bytes = -1,
                                      .origin_count = (uint16_t)origin_count};
        uint32_t told[ORIGINS];
        uint8_t frame[256];
        int length;

        for (int i = 0; i < ORIGINS; i++)
            told[i] = tell(teller, pool, origins[i]);
        length = ot_wire_encode_op(&op, NULL, told, frame, sizeof(frame));
        assert_true(length > 0);
        assert_true(raw_send(&teller->client, frame, (size_t)length));
    }
}

#define TOLD                                                                                       \
    "SELECT client_op, name, type, node_id, device, params, source, origin FROM op WHERE"          \
    " session_id = "

/* However a program tells its texts, readers see the same. */
static void shared_texts_read_as_others_do(void **state)
{
    struct teller tellers[2] = {{.repeats = false}, {.repeats = true}};
    struct optraced daemon;
    char *pool[POOL];

    fill_pool(pool);
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    for (int t = 0; t < 2; t++) {
        raw_init(&tellers[t].client);
        raw_join(&tellers[t].client, daemon.socket);
    }
    for (uint32_t i = 1; i <= RANDOM_OPS; i++)
        send_twins(tellers, pool, i);
    for (int t = 0; t < 2; t++)
        assert_int_equal(raw_flush(&tellers[t].client), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM op WHERE json_valid(ifnull(origin,"
                                      " '[]'))"),
              2 * RANDOM_OPS);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM (" TOLD "1 EXCEPT " TOLD "2)"), 0);
    /* Each text, and each again as JSON. */
    assert_in_range(optraced_query(&daemon, "SELECT count(*) FROM text WHERE session_id = 1"), 1,
                    2 * POOL);
    check_used(&daemon);
    for (int t = 0; t < 2; t++) {
        raw_bye(&tellers[t].client);
        raw_close(&tellers[t].client);
    }
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
    for (int i = 0; i < POOL; i++)
        free(pool[i]);
}

/* An op that a program's share has no room for leaves no text behind. */
static void a_share_counts_a_text_once(void **state)
{
    static const char *const arguments[] = {"--store-budget", "16MiB", NULL};
    struct optraced daemon;
    struct raw_client client;
    uint32_t op = 0;

    optraced_init(&daemon);
    optraced_start(&daemon, arguments);
    raw_init(&client);
    raw_join(&client, daemon.socket);
    while (optraced_count_log(&daemon, "more than its share of the store") == 0) {
        uint32_t text = raw_string(&client, long_text((char)('a' + op % 26)));

        op += 2;
        send_op(&client, op - 1, text, 0);
        send_op(&client, op, text, op % 3 ? 0 : ORIGINS);
        assert_int_equal(raw_flush(&client), 0);
    }
    /* An eighth of 10 MiB of pages: with each text six times it would be 50 ops. */
    assert_in_range(optraced_query(&daemon, "SELECT count(*) FROM op"), 250, 1000);
    check_used(&daemon);
    raw_bye(&client);
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_takes_its_room_once),
        cmocka_unit_test(texts_of_any_kind_are_kept),
        cmocka_unit_test(a_number_may_stand_for_another_text_after_a_restart),
        cmocka_unit_test(shared_texts_read_as_others_do),
        cmocka_unit_test(a_share_counts_a_text_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
