/* SPDX-License-Identifier: Apache-2.0 */
/* OPTRACE_SCOPE and its kin where they crowd: on one line, from one macro, in blocks within blocks.
 */
#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"

#define TWO_SCOPES(first, second)                                                                  \
    OPTRACE_SCOPE(first);                                                                          \
    OPTRACE_SCOPE(second)

static void expect_names(struct client_place *place, const char *const names[], size_t count)
{
    client_place_drain(place, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(client_place_op_name(place, i), names[i]);
}

static void two_stand_on_one_line(void **state)
{
    static const char *const names[] = {"second", "first", "fourth", "third"};

    {
        /* clang-format off */
        OPTRACE_SCOPE("first"); OPTRACE_SCOPE("second");
        /* clang-format on */
    }
    {
        TWO_SCOPES("third", "fourth");
    }
    expect_names(*state, names, 4);
}

static void blocks_nest(void **state)
{
    static const char *const names[] = {"c", "b", "op", "op", "a"};
    const uint32_t op = optrace_label("op");

    {
        OPTRACE_SCOPE("a");
        OPTRACE_OP_SCOPE(op);
        OPTRACE_OP_SCOPE(op);
        {
            TWO_SCOPES("b", "c");
        }
    }
    expect_names(*state, names, 5);
}

static void a_place_is_defined_once(void **state)
{
    struct client_place *place = *state;

    for (int i = 0; i < 5; i++) {
        TWO_SCOPES("outer", "inner");
    }
    client_place_drain(place, 10);
    CHECK_U64(client_place_record(place, 8).op_id, client_place_record(place, 0).op_id);
    CHECK_U64(client_place_record(place, 9).op_id, client_place_record(place, 1).op_id);
    assert_int_not_equal(client_place_record(place, 0).op_id, client_place_record(place, 1).op_id);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, client_place_setup, client_place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(two_stand_on_one_line),
        CASE(blocks_nest),
        CASE(a_place_is_defined_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
