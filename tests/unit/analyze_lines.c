/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a table: order by any column, unknown values last, cutting, sentences for typos. */
#include <math.h>

#include "analyze/out/lines.h"
#include "tests/support/check.h"

struct animal {
    const char *name;
    double weight_kg;
};

static const struct animal animals[] = {
    {"cat10", 4}, {"cat9", NAN}, {"dog", 30}, {NULL, 1}, {"ant", 4},
};

static struct out_value name_of(const void *line, const void *context)
{
    const struct animal *animal = line;

    return out_text(animal->name);
}

static struct out_value weight_of(const void *line, const void *context)
{
    const struct animal *animal = line;
    const double *factor = context;

    return out_number(OUT_REAL, animal->weight_kg * *factor);
}

static const struct line_column columns[] = {
    {.out = {.name = "name", .title = "name"}, .about = "what it is called", .value = name_of},
    {.out = {.name = "weight_kg", .title = "weight"},
     .also = {"weight", "mass"},
     .about = "how heavy it is",
     .value = weight_of},
};

static const double factor = 2;

static struct lines lines_by(const char *order_by)
{
    return (struct lines){
        .columns = columns,
        .column_count = 2,
        .items = animals,
        .count = 5,
        .item_bytes = sizeof(animals[0]),
        .context = &factor,
        .order_by = order_by,
    };
}

static void check_order(const char *order_by, const char *wanted)
{
    struct lines lines = lines_by(order_by);
    struct diag diag = {0};
    size_t *order, count;
    char text[8] = "";

    CHECK_OK(lines_sort(&lines, &order, &count, &diag));
    CHECK_U64(count, 5);
    for (size_t i = 0; i < count; i++)
        text[i] = (char)('0' + order[i]);
    assert_string_equal(text, wanted);
    free(order);
}

static void lines_are_sorted_by_any_column(void **state)
{
    check_order("weight_kg", "20431");
    check_order("+weight_kg", "30421"); /* equal ones stay, the unknown one is last */
    check_order("+name", "41023");      /* cat9 before cat10 */
    check_order("name", "20143");
}

static void names_of_columns_may_be_written_freely(void **state)
{
    check_order("Weight-KG", "20431");
    check_order("+MASS", "30421");
}

static void tops_cut_from_either_end(void **state)
{
    static const struct {
        int64_t top;
        size_t kept;
    } cases[] = {{0, 5}, {2, 2}, {9, 5}, {-1, 4}, {-9, 0}, {INT64_MIN, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lines lines = lines_by("name");
        size_t *order, count;
        struct diag diag = {0};

        lines.top = cases[i].top;
        CHECK_OK(lines_sort(&lines, &order, &count, &diag));
        CHECK_U64(count, cases[i].kept);
        free(order);
    }
}

static void unknown_columns_are_refused_with_the_nearest(void **state)
{
    struct diag diag = {0};

    assert_int_equal(lines_check_order(columns, 2, "+wieght", &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "\"wieght\" to order by: did you mean weight?");
    diag = (struct diag){0};
    assert_int_equal(lines_check_order(columns, 2, "price", &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "there are name, weight_kg, weight, mass");
    CHECK_OK(lines_check_order(columns, 2, "mass", &diag));
}

static void lines_are_printed_in_order(void **state)
{
    static const struct out_section section = {.name = "animals"};
    struct lines lines = lines_by("weight");
    struct out_options options = {.format = OUT_FORMAT_CSV, .report = "test"};
    struct diag diag = {0};
    char *text = NULL;
    size_t bytes, shown;
    struct out *out;

    options.stream = open_memstream(&text, &bytes);
    lines.top = 2;
    CHECK_OK(out_open(&options, &out));
    CHECK_OK(lines_emit(out, &section, &lines, &shown, &diag));
    CHECK_OK(out_close(&out, &diag));
    fclose(options.stream);
    CHECK_U64(shown, 2);
    assert_string_equal(text, "name,weight_kg\ndog,60\ncat10,8\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_sorted_by_any_column),
        cmocka_unit_test(names_of_columns_may_be_written_freely),
        cmocka_unit_test(tops_cut_from_either_end),
        cmocka_unit_test(unknown_columns_are_refused_with_the_nearest),
        cmocka_unit_test(lines_are_printed_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
