/* SPDX-License-Identifier: Apache-2.0 */
/* Who gives way to whom: by hand, and by a property that holds for all. */
#include "daemon/fairness.h"

#include "tests/support/check.h"

enum { MANY = 40 };

static void the_greediest_process_gives_way(void **state)
{
    struct holder holders[] = {{1, 10, 500}, {1, 11, 3}, {1, 10, 500}, {1, 12, 20}};
    const struct holder newcomer = {1, 13, 1};
    struct holder loser = {0};

    assert_true(fairness_choose(holders, 4, &newcomer, &loser));
    CHECK_U64((uint64_t)loser.pid, 10);
    CHECK_U64(loser.held, 1000);
}

static void the_greediest_gets_no_more(void **state)
{
    struct holder holders[] = {{1, 10, 1000}, {1, 11, 24}};
    const struct holder itself = {1, 10, 1}, equal = {1, 11, 976};
    struct holder loser;

    assert_false(fairness_choose(holders, 2, &itself, &loser));
    assert_false(fairness_choose(holders, 2, &equal, &loser));
}

/* A user with many modest processes against one with few. */
static void users_come_before_processes(void **state)
{
    struct holder holders[MANY + 1];
    const struct holder newcomer = {2, 7, 1}, crowd = {1, 999, 1};
    struct holder loser = {0};

    for (int i = 0; i < MANY; i++)
        holders[i] = (struct holder){1, 100 + i, 1};
    holders[MANY] = (struct holder){2, 7, 5};
    assert_true(fairness_choose(holders, MANY + 1, &newcomer, &loser));
    CHECK_U64(loser.uid, 1);
    for (int i = 0; i < MANY; i++)
        holders[i] = (struct holder){1, 100 + i, 1};
    holders[MANY] = (struct holder){2, 7, 5};
    assert_false(
        fairness_choose(holders, MANY + 1, &crowd, &loser)); /* no pid holds more than one */
}

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

/* Full houses at random: whoever holds less than its part of what its user has a part of gets in,
 * nobody gives way to one who holds more, and asking again and again comes to an end. */
static void turns_end_in_equal_shares(void **state)
{
    for (int round = 0; round < 300; round++) {
        struct holder all[MANY], copy[MANY];
        struct holder newcomer = {draw(3), (pid_t)(1000 + draw(3)), 1}, loser;
        uint64_t got = 0, total = 0;

        for (size_t i = 0; i < MANY; i++) {
            all[i] = (struct holder){draw(3), (pid_t)(1 + draw(5)), 1 + draw(100)};
            total += all[i].held;
        }
        for (;;) {
            struct holder wanted = newcomer;

            wanted.held = got + 1; /* as if it held nothing yet */
            memcpy(copy, all, sizeof(all));
            if (!fairness_choose(copy, MANY, &wanted, &loser))
                break;
            for (size_t i = 0; i < MANY; i++) {
                if (all[i].uid != loser.uid || all[i].pid != loser.pid || all[i].held == 0)
                    continue;
                all[i].held--;
                break;
            }
            got++;
            assert_true(got <= total);
        }
        if (got == 0)
            fail_msg("round %d: a newcomer gets nothing of %d", round, (int)total);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_greediest_process_gives_way),
        cmocka_unit_test(the_greediest_gets_no_more),
        cmocka_unit_test(users_come_before_processes),
        cmocka_unit_test(turns_end_in_equal_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
