/* SPDX-License-Identifier: Apache-2.0 */
/* What every report shows in 80 columns: which columns are there is agreed on, nothing is wider,
 * and no two names look alike that are different. */
#include <string.h>

#include "base/text.h"
#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/counter_store.h"
#include "tests/support/golden.h"
#include "tests/support/small_store.h"
#include "tests/support/temp.h"

enum { ARGUMENTS_MAX = 8, CELLS_MAX = 4096, STEPS = 3, LAYERS = 12, TERMINAL = 80 };

/* --- A trace whose names are long and differ in their middle. --- */

static void put_span(FILE *file, const char *category, const char *name, int64_t at, int64_t dur,
                     int thread, const char *args)
{
    fprintf(file,
            ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%lld,"
            "\"dur\":%lld,\"args\":{%s}}",
            category, name, thread, (long long)at, (long long)dur, args);
}

static void put_layer(FILE *file, int64_t at, int layer, int correlation)
{
    char name[200], args[200];

    snprintf(name, sizeof(name), "/model/layers/layers.%d/self_attention/c1/Conv", layer);
    put_span(file, "cpu_op", name, at, 40, 10, "\"Input Dims\":[[1,64,56,56]]");
    snprintf(args, sizeof(args), "\"correlation\":%d", correlation);
    put_span(file, "cuda_runtime", "cudaLaunchKernel", at + 10, 5, 10, args);
    snprintf(name, sizeof(name),
             "void at::native::vectorized_elementwise_kernel<4, at::native::Functor_%d<float>, "
             "at::detail::Array<char*, 2> >(int, at::native::Functor_%d<float>)",
             layer, layer);
    snprintf(args, sizeof(args),
             "\"device\":0,\"stream\":7,\"correlation\":%d,\"grid\":[%d,1,1],\"block\":[128,1,1]",
             correlation, layer + 1);
    put_span(file, "kernel", name, at + 30 + layer, 20 + layer, 7, args);
    fprintf(file,
            ",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\","
            "\"pid\":1,\"tid\":10,\"ts\":%lld,\"args\":{\"Device Type\":1,\"Device Id\":0,"
            "\"Addr\":%d,\"Bytes\":%d}}",
            (long long)at + 20, 1000 + correlation, 4096 * (layer + 1));
}

static void put_copy(FILE *file, int64_t at, int correlation)
{
    char args[200];

    snprintf(args, sizeof(args), "\"correlation\":%d", correlation);
    put_span(file, "cuda_runtime", "cudaMemcpyAsync", at, 5, 10, args);
    snprintf(args, sizeof(args), "\"device\":0,\"stream\":7,\"correlation\":%d,\"bytes\":65536",
             correlation);
    put_span(file, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 10, 30, 7, args);
}

static void write_trace(const struct analyze_scene *scene, const char *name, int64_t slower)
{
    char *path = temp_path(scene->dir, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs("{\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{"
          "\"name\":\"python\"}}",
          file);
    for (int step = 0; step < STEPS; step++) {
        const int64_t at = 1000 + step * 2000;
        char title[40];

        snprintf(title, sizeof(title), "ProfilerStep#%d", step);
        put_span(file, "user_annotation", title, at, 1900 + slower, 10, "");
        put_copy(file, at + 5, step * 100 + 1);
        for (int layer = 0; layer < LAYERS; layer++)
            put_layer(file, at + 100 + layer * (100 + slower / LAYERS), layer,
                      step * 100 + 10 + layer);
    }
    fputs("\n]}\n", file);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    const char *const import[] = {"--import", "names.json", "other.json", "names.json",
                                  "--into",   "names.db",   NULL};
    struct child_result result;
    char *counters = temp_path(scene->dir, "counters.db");

    write_trace(scene, "names.json", 0);
    write_trace(scene, "other.json", 96);
    result = analyze_scene_run(scene, import);
    if (result.status != 0)
        fail_msg("%s", result.err);
    child_result_deinit(&result);
    small_store_make(counters);
    counter_store_append(counters);
    free(counters);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

/* --- The reports. --- */

static const struct {
    const char *arguments[ARGUMENTS_MAX];
    bool breaks_lines; /* its names are never cut, and rows take several lines */
} cases[] = {
    {{"names.json", "--report", "ops", "-t2"}, true},
    {{"names.json", "--report", "ops", "-t2", "--group-by", "params"}, true},
    {{"names.json", "--report", "ops", "-t2", "--order-by", "memory"}, true},
    {{"names.json", "--report", "advice"}, true},
    {{"names.json", "--report", "averages", "-t0"}},
    {{"names.json", "--report", "averages", "-t0", "--order-by", "device_mean_ns"}},
    {{"names.json", "--report", "copies"}},
    {{"counters.db", "--session", "4", "--report", "counters"}},
    {{"names.json", "--report", "critical", "-t0"}},
    {{"names.json", "--report", "device"}},
    {{"names.json", "--report", "events", "-t0"}},
    {{"names.json", "--report", "idle", "-t0"}},
    {{"names.json", "--report", "kernels", "-t0"}},
    {{"names.json", "--report", "kernels", "-t0", "--group-by", "launch"}},
    {{"names.json", "--report", "launch", "-t0"}},
    {{"names.json", "--report", "memory", "-t0"}},
    {{"names.json", "--report", "overview"}},
    {{"names.db", "--report", "ranks", "--session", "all"}},
    {{"names.json", "--report", "roofline", "-t0", "--peak-flops", "1e12"}},
    {{"names.json", "--report", "runs"}},
    {{"names.json", "--report", "sequences", "-t0"}},
    {{"names.json", "--report", "summary", "-t0"}},
    {{"names.json", "--report", "threads"}},
    {{"names.json", "--report", "types"}},
    {{"names.json", "--report", "page"}, true},
    {{"names.db:3", "--compare", "names.db:2", "-t0"}},
    {{"names.db", "--history"}},
    {{"names.db", "--list"}, true},
};

/* A comparison that finds something has the status 1. */
static char *run(const struct analyze_scene *scene, const char *const *arguments, const char *width)
{
    const char *argv[ARGUMENTS_MAX + 3];
    struct child_result result;
    size_t count = 0;
    char *text;

    for (; arguments[count]; count++)
        argv[count] = arguments[count];
    argv[count++] = "--width";
    argv[count++] = width;
    argv[count] = NULL;
    result = analyze_scene_run(scene, argv);
    if (result.status > 1 || !*result.out)
        fail_msg("%s %s: %d, %s", arguments[1], arguments[2] ? arguments[2] : "", result.status,
                 result.err);
    text = strdup(result.out);
    child_result_deinit(&result);
    return text;
}

/* --- Tables. --- */

static bool is_row(const char *line)
{
    return strncmp(line, "│", strlen("│")) == 0;
}

static bool is_rule(const char *line)
{
    return strncmp(line, "╒", strlen("╒")) == 0 || strncmp(line, "╞", strlen("╞")) == 0 ||
           strncmp(line, "├", strlen("├")) == 0 || strncmp(line, "╘", strlen("╘")) == 0;
}

/* All rows of all tables; the head of each table is a row, too. */
struct rows {
    char *cells[CELLS_MAX];
    size_t first[CELLS_MAX]; /* of each row, in `cells` */
    bool is_head[CELLS_MAX];
    size_t cell_count, row_count;
};

static void add_row(struct rows *rows, const char *line, size_t length, bool is_head)
{
    const size_t bar = strlen("│");

    assert_true(rows->row_count + 1 < CELLS_MAX);
    rows->is_head[rows->row_count] = is_head;
    rows->first[rows->row_count++] = rows->cell_count;
    for (const char *at = line + bar; at < line + length;) {
        const char *end = strstr(at, "│");

        assert_true(rows->cell_count < CELLS_MAX);
        rows->cells[rows->cell_count++] = strndup(at, (size_t)(end - at));
        at = end + bar;
    }
    rows->first[rows->row_count] = rows->cell_count;
}

static struct rows *read_rows(const char *text)
{
    struct rows *rows = calloc(1, sizeof(*rows));
    bool after_top = false;

    assert_non_null(rows);
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");

        if (is_row(line))
            add_row(rows, line, length, after_top);
        after_top = strncmp(line, "╒", strlen("╒")) == 0;
        line += length + (line[length] == '\n');
    }
    return rows;
}

static void free_rows(struct rows *rows)
{
    for (size_t i = 0; i < rows->cell_count; i++)
        free(rows->cells[i]);
    free(rows);
}

static size_t width_of(const struct rows *rows, size_t row)
{
    return rows->first[row + 1] - rows->first[row];
}

/* Without the blanks around it. */
static bool is_same_title(const char *a, const char *b)
{
    a += strspn(a, " ");
    b += strspn(b, " ");
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return strspn(a, " ") == strlen(a) && strspn(b, " ") == strlen(b);
}

/* Two rows of one table are alike in a column exactly where they are in the wide table. */
static void check_column(const char *what, const struct rows *narrow, size_t column,
                         const struct rows *wide, size_t of_wide, size_t head)
{
    for (size_t a = head + 1; a < narrow->row_count && !narrow->is_head[a]; a++) {
        for (size_t b = head + 1; b < a; b++) {
            const char *left = narrow->cells[narrow->first[a] + column];
            const char *right = narrow->cells[narrow->first[b] + column];
            const char *wide_left = wide->cells[wide->first[a] + of_wide];
            const char *wide_right = wide->cells[wide->first[b] + of_wide];

            if ((strcmp(left, right) == 0) != (strcmp(wide_left, wide_right) == 0))
                fail_msg("%s: %s and %s are shown as %s and %s", what, wide_left, wide_right, left,
                         right);
        }
    }
}

static void check_names(const char *what, const char *narrow_text, const char *wide_text)
{
    struct rows *narrow = read_rows(narrow_text), *wide = read_rows(wide_text);

    assert_int_equal(narrow->row_count, wide->row_count);
    for (size_t row = 0; row < narrow->row_count; row++) {
        size_t of_wide = 0;

        assert_int_equal(narrow->is_head[row], wide->is_head[row]);
        for (size_t i = 0; i < width_of(narrow, row) && narrow->is_head[row]; i++, of_wide++) {
            while (of_wide < width_of(wide, row) &&
                   !is_same_title(narrow->cells[narrow->first[row] + i],
                                  wide->cells[wide->first[row] + of_wide]))
                of_wide++;
            if (of_wide == width_of(wide, row))
                fail_msg("%s: no column %s when wide", what, narrow->cells[narrow->first[row] + i]);
            check_column(what, narrow, i, wide, of_wide, row);
        }
    }
    free_rows(narrow);
    free_rows(wide);
}

static void check_width(const char *what, const char *text)
{
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");

        if ((is_row(line) || is_rule(line)) && text_columns(line, length) > TERMINAL)
            fail_msg("%s: %zu columns: %.*s", what, text_columns(line, length), (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* The heads of a report's tables, for the file that is agreed on. */
static void write_heads(FILE *agreed, const char *const *arguments, const char *text)
{
    struct rows *rows = read_rows(text);

    for (size_t i = 0; arguments[i]; i++)
        fprintf(agreed, "%s%s", i ? " " : "", arguments[i]);
    fputs("\n", agreed);
    for (size_t row = 0; row < rows->row_count; row++) {
        if (!rows->is_head[row])
            continue;
        fputs("   ", agreed);
        for (size_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
            const char *cell = rows->cells[i] + strspn(rows->cells[i], " ");
            size_t length = strlen(cell);

            while (length && cell[length - 1] == ' ')
                length--;
            fprintf(agreed, " %.*s%s", (int)length, cell, i + 1 < rows->first[row + 1] ? "," : "");
        }
        fputs("\n", agreed);
    }
    free_rows(rows);
}

static void columns_are_those_agreed_on(void **state)
{
    char *text = NULL;
    size_t size;
    FILE *agreed = open_memstream(&text, &size);

    assert_non_null(agreed);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *narrow = run(*state, cases[i].arguments, "80");

        write_heads(agreed, cases[i].arguments, narrow);
        free(narrow);
    }
    fclose(agreed);
    golden_check("analyze/columns_80.txt", text, size);
    free(text);
}

static void tables_fit_and_names_stay_apart(void **state)
{
    static const char *const widths[] = {"60", "80", "100", "132"};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *wide = run(*state, cases[i].arguments, "0"), what[200];

        snprintf(what, sizeof(what), "%s %s", cases[i].arguments[1],
                 cases[i].arguments[2] ? cases[i].arguments[2] : "");
        for (size_t k = 0; k < sizeof(widths) / sizeof(widths[0]); k++) {
            char *narrow = run(*state, cases[i].arguments, widths[k]);

            if (strcmp(widths[k], "80") == 0)
                check_width(what, narrow);
            if (!cases[i].breaks_lines)
                check_names(what, narrow, wide);
            free(narrow);
        }
        free(wide);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_agreed_on),
        cmocka_unit_test(tables_fit_and_names_stay_apart),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
