/* SPDX-License-Identifier: Apache-2.0 */
/* The histogram of durations: its bins, its percentiles against sorted values, its text form. */
#include "schema/store/stat.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

static uint64_t seed = DRAW_SEED;

static uint64_t random_u64(void)
{
    return draw_u64(&seed);
}

static int64_t random_duration(void)
{
    uint64_t random = random_u64();

    return (int64_t)(random_u64() >> 1 >> random % 63);
}

static void bins_cover_all_durations_once(void **state)
{
    int64_t next = 0;

    for (uint32_t bin = 0; bin < STORE_BIN_COUNT; bin++) {
        int64_t low, high, middle = store_bin_middle(bin);

        store_bin_range(bin, &low, &high);
        CHECK_U64(low, next);
        assert_true(high >= low);
        assert_true(middle >= low && middle <= high);
        CHECK_U64(store_bin_of(low), bin);
        CHECK_U64(store_bin_of(middle), bin);
        CHECK_U64(store_bin_of(high), bin);
        next = high == INT64_MAX ? -1 : high + 1;
    }
    CHECK_U64(next, -1);
    CHECK_U64(store_bin_of(-5), 0);
    CHECK_U64(store_bin_of(31), 31);
    CHECK_U64(store_bin_of(32), 32);
    CHECK_U64(store_bin_of(33), 32);
}

static void a_middle_is_near(void **state)
{
    for (int i = 0; i < 100000; i++) {
        int64_t duration = random_duration();
        int64_t middle = store_bin_middle(store_bin_of(duration));
        int64_t error = middle > duration ? middle - duration : duration - middle;

        if (error > duration / 32)
            fail_msg("%lld becomes %lld", (long long)duration, (long long)middle);
    }
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

static void percentiles_are_those_of_sorted_values(void **state)
{
    static const double percents[] = {0, 1, 7, 50, 90, 95, 99, 99.9, 100};
    int64_t values[1000];

    for (size_t count = 1; count <= 1000; count += 1 + count / 3) {
        struct store_histogram histogram = {0};

        for (size_t i = 0; i < count; i++) {
            values[i] = random_duration();
            CHECK_OK(store_histogram_count(&histogram, store_bin_of(values[i]), 1));
        }
        CHECK_U64(store_histogram_total(&histogram), count);
        qsort(values, count, sizeof(values[0]), compare);
        for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
            /* Nearest rank, in whole thousandths: percent * count is exact. */
            size_t thousandths = (size_t)(percents[i] * 10 + 0.5) * count;
            size_t rank = thousandths ? (thousandths + 999) / 1000 : 1;

            CHECK_U64(store_histogram_percentile(&histogram, percents[i]),
                      store_bin_middle(store_bin_of(values[rank - 1])));
        }
        store_histogram_deinit(&histogram);
    }
}

static void empty_has_no_percentile(void **state)
{
    struct store_histogram histogram = {0};
    char text[STORE_HISTOGRAM_TEXT_MAX];

    assert_int_equal(store_histogram_percentile(&histogram, 50), -1);
    CHECK_U64(store_histogram_total(&histogram), 0);
    CHECK_U64(store_histogram_format(&histogram, text), 2);
    assert_string_equal(text, "{}");
    CHECK_OK(store_histogram_parse("{}", 2, &histogram, NULL));
    CHECK_U64(store_histogram_total(&histogram), 0);
    store_histogram_deinit(&histogram);
}

static void merging_is_counting_together(void **state)
{
    char parts_text[STORE_HISTOGRAM_TEXT_MAX], whole_text[STORE_HISTOGRAM_TEXT_MAX];

    for (int round = 0; round < 200; round++) {
        struct store_histogram whole = {0}, merged = {0};

        for (int part = 0; part < 3; part++) {
            struct store_histogram histogram = {0};
            uint64_t count = random_u64() % 50;

            for (uint64_t i = 0; i < count; i++) {
                uint32_t bin = (uint32_t)(random_u64() % STORE_BIN_COUNT);

                CHECK_OK(store_histogram_count(&histogram, bin, i));
                CHECK_OK(store_histogram_count(&whole, bin, i));
            }
            CHECK_OK(store_histogram_merge(&merged, &histogram));
            store_histogram_deinit(&histogram);
        }
        store_histogram_format(&merged, parts_text);
        store_histogram_format(&whole, whole_text);
        assert_string_equal(parts_text, whole_text);
        store_histogram_deinit(&merged);
        store_histogram_deinit(&whole);
    }
}

/* Counts around the largest narrow one, alone and together, beside sums that are kept apart. */
static void counts_become_wide(void **state)
{
    static const uint64_t counts[] = {0, 1, 0x7fff, 0x8000, 0xfffe, 0xffff, 0x10000, UINT32_MAX};
    enum { COUNTS = sizeof(counts) / sizeof(counts[0]), BINS = 21 };

    for (int round = 0; round < 2000; round++) {
        struct store_histogram histograms[2] = {0};
        uint64_t sums[BINS] = {0};
        uint64_t first = random_u64() % 9, most = 1 + random_u64() % COUNTS;

        for (int i = 0; i < 40; i++) {
            struct store_histogram *one = &histograms[i % 2];
            uint32_t bin = (uint32_t)(first + random_u64() % (BINS - first));
            uint64_t count = counts[random_u64() % most];

            CHECK_OK(store_histogram_count(one, bin, count));
            CHECK_OK(store_histogram_count_one(one, bin));
            if (round % 4 == 0)
                CHECK_OK(store_histogram_count_many(one, bin));
            sums[bin] += count + 1 + (round % 4 == 0);
        }
        CHECK_OK(store_histogram_merge(&histograms[0], &histograms[1]));
        for (uint32_t bin = 0; bin < BINS; bin++)
            CHECK_U64(store_histogram_count_of(&histograms[0], bin), sums[bin]);
        store_histogram_empty(&histograms[0]);
        CHECK_U64(store_histogram_total(&histograms[0]), 0);
        CHECK_OK(store_histogram_merge(&histograms[0], &histograms[1]));
        CHECK_U64(store_histogram_total(&histograms[0]), store_histogram_total(&histograms[1]));
        store_histogram_deinit(&histograms[0]);
        store_histogram_deinit(&histograms[1]);
    }
}

static void each_count_becomes_wide_in_time(void **state)
{
    struct store_histogram histogram = {0};

    for (uint32_t i = 1; i <= 70000; i++) {
        CHECK_OK(store_histogram_count_one(&histogram, 100));
        CHECK_U64(store_histogram_count_of(&histogram, 100), i);
    }
    assert_true(store_histogram_is_wide(&histogram));
    CHECK_U64(store_histogram_total(&histogram), 70000);
    CHECK_U64(store_histogram_count_of(&histogram, 0), 0);
    store_histogram_deinit(&histogram);
}

static void counts_do_not_overflow(void **state)
{
    struct store_histogram histogram = {0};

    CHECK_OK(store_histogram_count(&histogram, 5, UINT64_MAX - 1));
    CHECK_OK(store_histogram_count(&histogram, 5, 7));
    CHECK_OK(store_histogram_count(&histogram, 959, 7));
    CHECK_U64(store_histogram_total(&histogram), UINT64_MAX);
    CHECK_OK(store_histogram_merge(&histogram, &histogram));
    CHECK_U64(store_histogram_count_of(&histogram, 5), UINT64_MAX);
    assert_int_equal(store_histogram_percentile(&histogram, 50), 5);
    store_histogram_deinit(&histogram);
}

static void the_text_form_is_this(void **state)
{
    static const char text[] = "{\"0\":1,\"31\":2,\"32\":18446744073709551615,\"959\":4}";
    char written[STORE_HISTOGRAM_TEXT_MAX];
    struct store_histogram histogram;

    CHECK_OK(store_histogram_parse(text, strlen(text), &histogram, NULL));
    CHECK_U64(store_histogram_count_of(&histogram, 959), 4);
    CHECK_U64(store_histogram_format(&histogram, written), strlen(text));
    assert_string_equal(written, text);
    store_histogram_deinit(&histogram);
}

/* The longest text: every bin with the greatest count. */
static void the_longest_text_fits(void **state)
{
    char *text = malloc(STORE_HISTOGRAM_TEXT_MAX);
    struct store_histogram histogram = {0}, parsed;
    size_t length;

    for (uint32_t bin = 0; bin < STORE_BIN_COUNT; bin++)
        CHECK_OK(store_histogram_count(&histogram, bin, UINT64_MAX));
    length = store_histogram_format(&histogram, text);
    assert_in_range(length, 20 * STORE_BIN_COUNT, STORE_HISTOGRAM_TEXT_MAX - 1);
    CHECK_OK(store_histogram_parse(text, length, &parsed, NULL));
    store_histogram_deinit(&parsed);
    store_histogram_deinit(&histogram);
    free(text);
}

static void other_texts_are_refused(void **state)
{
    static const struct {
        const char *text;
        int64_t offset;
    } cases[] = {
        {"", 0},
        {"[]", 0},
        {"{", 1},
        {"{}x", 2},
        {"{\"1\":2", 6},
        {"{\"1\":2,}", 7},
        {"{1:2}", 1},
        {"{\"1\":}", 5},
        {"{\"1\":-2}", 5},
        {"{\"1\":02}", 7},
        {"{\"01\":2}", 4},
        {"{\"1\":0}", 6},
        {"{\"1\": 2}", 5},
        {"{\"960\":2}", 8},
        {"{\"2\":1,\"1\":1}", 12},
        {"{\"2\":1,\"2\":1}", 12},
        {"{\"1\":18446744073709551616}", 24},
        {"{\"99999999999999999999\":1}", 21},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct store_histogram histogram = {.length = 77};
        struct diag diag = {0};
        int rc = store_histogram_parse(cases[i].text, strlen(cases[i].text), &histogram, &diag);

        if (rc != -EUCLEAN || diag.offset != cases[i].offset)
            fail_msg("%s: %d at %d, not at %d", cases[i].text, rc, (int)diag.offset,
                     (int)cases[i].offset);
        CHECK_U64(histogram.length, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_cover_all_durations_once),
        cmocka_unit_test(a_middle_is_near),
        cmocka_unit_test(percentiles_are_those_of_sorted_values),
        cmocka_unit_test(empty_has_no_percentile),
        cmocka_unit_test(merging_is_counting_together),
        cmocka_unit_test(counts_become_wide),
        cmocka_unit_test(each_count_becomes_wide_in_time),
        cmocka_unit_test(counts_do_not_overflow),
        cmocka_unit_test(the_text_form_is_this),
        cmocka_unit_test(the_longest_text_fits),
        cmocka_unit_test(other_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
