/* SPDX-License-Identifier: Apache-2.0 */
/* Places for ids, numbers and others; records that come back out of a file. */
#include "analyze/containers/spool.h"
#include "analyze/containers/text_ids.h"
#include "tests/support/check.h"

static uint32_t place_of(struct text_ids *ids, const char *text)
{
    uint32_t place;

    CHECK_OK(text_ids_place(ids, text, strlen(text), &place));
    return place;
}

static void ids_keep_their_places(void **state)
{
    static const char *const texts[] = {"12", "0",  "7", "99999999", "100000000",  "012",
                                        "-1", "1a", "",  "chk12",    "4294967296", "x"};
    struct text_ids ids = {0};
    char buffer[TEXT_IDS_NAME_BYTES];

    for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(text_ids_find(&ids, texts[i], strlen(texts[i])), PLACE_NONE);
        assert_int_equal(place_of(&ids, texts[i]), i);
    }
    for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(text_ids_find(&ids, texts[i], strlen(texts[i])), i);
        assert_int_equal(place_of(&ids, texts[i]), i);
        assert_string_equal(text_ids_name(&ids, i, buffer), texts[i]);
    }
    text_ids_deinit(&ids);
}

static void a_prefix_is_part_of_the_name(void **state)
{
    struct text_ids ids = {.prefix = "chk"};
    char buffer[TEXT_IDS_NAME_BYTES];

    assert_int_equal(place_of(&ids, "chk5"), 0);
    assert_int_equal(place_of(&ids, "5"), 1);
    assert_int_equal(place_of(&ids, "chk"), 2);
    assert_int_equal(place_of(&ids, "chk05"), 3);
    assert_string_equal(text_ids_name(&ids, 0, buffer), "chk5");
    assert_string_equal(text_ids_name(&ids, 1, buffer), "5");
    assert_string_equal(text_ids_name(&ids, 2, buffer), "chk");
    text_ids_deinit(&ids);
}

/* Counters, and numbers that are spread so thinly that a table of them would be nearly empty. */
static void numbers_near_and_far(void **state)
{
    struct number_map map = {0};

    for (uint32_t i = 0; i < 100000; i++) {
        CHECK_OK(number_map_set(&map, 3000000 + (uint64_t)i, i));
        CHECK_OK(number_map_set(&map, (uint64_t)i << 40 | 1, i + 1));
        CHECK_OK(number_map_set(&map, UINT64_C(200000000) + (uint64_t)i * 20000, i + 2));
    }
    CHECK_OK(number_map_set(&map, 3000007, 5));
    CHECK_OK(number_map_set(&map, UINT64_C(99999) << 40 | 1, 6));
    for (uint32_t i = 0; i < 100000; i++) {
        assert_int_equal(number_map_find(&map, 3000000 + (uint64_t)i), i == 7 ? 5 : i);
        assert_int_equal(number_map_find(&map, (uint64_t)i << 40 | 1), i == 99999 ? 6 : i + 1);
        assert_int_equal(number_map_find(&map, UINT64_C(200000000) + (uint64_t)i * 20000), i + 2);
    }
    assert_int_equal(number_map_find(&map, 2999999), PLACE_NONE);
    assert_int_equal(number_map_find(&map, UINT64_MAX), PLACE_NONE);
    assert_true(map.page_count * 4096 <= map.count * 16 + 17 * 4096);
    number_map_deinit(&map);
}

/* Records of many sizes, one larger than any buffer: read forwards, backwards, while there are more
 * to come. */
static void records_come_back(void **state)
{
    enum { RECORDS = 3000 };
    struct spool spool = {0};
    struct diag diag = {0};
    uint64_t offsets[RECORDS];
    char *bytes = malloc(1 << 20);
    size_t sizes[RECORDS];

    assert_non_null(bytes);
    for (size_t i = 0; i < RECORDS; i++) {
        const char *back;
        size_t size;

        sizes[i] = i == 1000 ? 1 << 20 : i * 7919 % 700;
        memset(bytes, (int)i, sizes[i]);
        CHECK_OK(spool_add(&spool, bytes, sizes[i], &offsets[i], &diag));
        CHECK_OK(spool_read(&spool, offsets[i / 2], &back, &size, &diag));
        assert_int_equal(size, sizes[i / 2]);
    }
    assert_true(spool.flushed > 1 << 20);
    for (size_t i = 0; i < (size_t)2 * RECORDS; i++) {
        size_t which = i < RECORDS ? i : 2 * RECORDS - 1 - i, size;
        const char *back;

        CHECK_OK(spool_read(&spool, offsets[which], &back, &size, &diag));
        assert_int_equal(size, sizes[which]);
        memset(bytes, (int)which, size);
        assert_memory_equal(back, bytes, size);
    }
    free(bytes);
    spool_deinit(&spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_keep_their_places),
        cmocka_unit_test(a_prefix_is_part_of_the_name),
        cmocka_unit_test(numbers_near_and_far),
        cmocka_unit_test(records_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
