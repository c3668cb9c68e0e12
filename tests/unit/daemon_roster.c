/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions in any order, asked for by their numbers and uuids. */
#include "daemon/roster.h"

#include "daemon/session.h"
#include "tests/support/check.h"

enum { COUNT = 200 };

static struct session sessions[COUNT];

/* Numbers 3, 6, 9 and so on, in an order that 71 makes. */
static void fill(struct roster *roster)
{
    memset(sessions, 0, sizeof(sessions));
    for (size_t i = 0; i < COUNT; i++) {
        struct session *session = &sessions[i * 71 % COUNT];

        session->session_id = 3 * (int64_t)(i * 71 % COUNT + 1);
        session->uuid[0] = (uint8_t)(session->session_id / 3);
        roster_add(roster, session);
    }
}

static size_t count_list(const struct roster *roster)
{
    size_t count = 0;

    for (const struct session *s = roster->first; s; s = s->next)
        count++;
    return count;
}

static void the_next_one_is_the_smallest(void **state)
{
    struct roster roster = {0};

    assert_null(roster_next(&roster, 0));
    fill(&roster);
    CHECK_U64(count_list(&roster), COUNT);
    for (int64_t first = -1; first <= 3 * COUNT; first++)
        assert_ptr_equal(roster_next(&roster, first),
                         &sessions[first <= 3 ? 0 : (size_t)(first + 2) / 3 - 1]);
    assert_null(roster_next(&roster, 3 * COUNT + 1));
    sessions[5].end_reason = sessions[6].end_reason = sessions[COUNT - 1].end_reason = "done";
    assert_ptr_equal(roster_next(&roster, 3 * 6), &sessions[7]);
    assert_null(roster_next(&roster, 3 * COUNT));
    roster_deinit(&roster);
}

static void who_is_removed_is_not_found(void **state)
{
    struct roster roster = {0};

    fill(&roster);
    for (size_t i = 0; i < COUNT; i++) {
        struct session *session = &sessions[i * 37 % COUNT];

        assert_ptr_equal(roster_find(&roster, session->uuid), session);
        roster_remove(&roster, session);
        assert_null(roster_find(&roster, session->uuid));
        assert_ptr_not_equal(roster_next(&roster, session->session_id), session);
        CHECK_U64(count_list(&roster), COUNT - 1 - i);
    }
    assert_null(roster_next(&roster, 0));
    roster_deinit(&roster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_one_is_the_smallest),
        cmocka_unit_test(who_is_removed_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
