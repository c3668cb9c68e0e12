/* SPDX-License-Identifier: Apache-2.0 */
/* What C++ code records through optrace.h. */
#include "tests/support/check.h"
#include "tests/support/client_place.h"

unsigned client_cxx_probe(void);

static void scopes_end_in_every_way(void **state)
{
    static const char *const names[] = {"thrown", "inner", "middle", "outer"};
    struct client_place *place = *state;
    const unsigned conv = client_cxx_probe();

    assert_int_not_equal(conv, 0);
    client_place_drain(place, 6);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(client_place_op_name(place, i), names[i]);
    assert_int_equal(client_place_record(place, 4).kind, OT_RECORD_RUN);
    assert_int_equal(client_place_record(place, 5).op_id, conv);
    assert_int_equal(client_place_record(place, 5).flags, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scopes_end_in_every_way, client_place_setup,
                                        client_place_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
