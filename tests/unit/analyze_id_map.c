/* SPDX-License-Identifier: Apache-2.0 */
/* Ids to places, as a table and as a list. */
#include <stdbool.h>

#include "analyze/containers/id_map.h"
#include "tests/support/check.h"

static void check_all(const int64_t *ids, size_t count, bool is_table)
{
    struct id_map map;

    CHECK_OK(id_map_init(&map, ids, count));
    assert_int_equal(map.table != NULL, is_table);
    for (size_t i = 0; i < count; i++) {
        CHECK_U64(id_map_find(&map, ids[i]), i);
        if (i == 0 || ids[i] - 1 != ids[i - 1])
            CHECK_U64(id_map_find(&map, ids[i] - 1), ID_MAP_NONE);
    }
    CHECK_U64(id_map_find(&map, INT64_MIN), ID_MAP_NONE);
    id_map_deinit(&map);
    CHECK_U64(id_map_find(&map, ids[0]), ID_MAP_NONE);
}

static void close_ids_are_a_table(void **state)
{
    const int64_t ids[] = {100, 101, 102, 110, 90};

    check_all(ids, 5, true);
}

static void distant_ids_are_a_list(void **state)
{
    const int64_t ids[] = {INT64_MAX, -5, 1000000, 0};

    check_all(ids, 4, false);
}

static void empty_map_has_nothing(void **state)
{
    struct id_map map;

    CHECK_OK(id_map_init(&map, NULL, 0));
    CHECK_U64(id_map_find(&map, 0), ID_MAP_NONE);
    CHECK_U64(id_map_find(&map, 1), ID_MAP_NONE);
    id_map_deinit(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_ids_are_a_table),
        cmocka_unit_test(distant_ids_are_a_list),
        cmocka_unit_test(empty_map_has_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
