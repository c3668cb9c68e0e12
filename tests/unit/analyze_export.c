/* SPDX-License-Identifier: Apache-2.0 */
/* What exporters share: rows that nest, stacks put together, files that appear whole. */
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "analyze/export/call_tree.h"
#include "analyze/export/file.h"
#include "analyze/export/rows.h"
#include "analyze/query/span_tree.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"
#include "tests/support/temp.h"

/* --- Spans by hand. --- */

enum { HOST, DEVICE };                            /* lanes */
enum { OUTER, INNER, LABEL, PHASE, MARK, KINDS }; /* ops */

static struct lane_row lanes[] = {{.side = OP_HOST}, {.side = OP_DEVICE}};
static struct op_row ops[KINDS] = {
    {.name = "outer", .memory_bytes = 10},         {.name = "inner", .memory_bytes = STORE_NULL},
    {.name = "outer", .memory_bytes = STORE_NULL}, {.name = "phase", .memory_bytes = STORE_NULL},
    {.name = "mark", .memory_bytes = STORE_NULL},
};
static uint8_t kinds[] = {SPAN_OP, SPAN_OP, SPAN_LABEL, SPAN_PHASE, SPAN_MARK};

static struct spans_answer tree(const struct span *spans, size_t count)
{
    struct spans_answer answer = {
        .ops = {.items = ops, .count = KINDS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = 2},
    };

    hand_spans_build(&answer, spans, count);
    return answer;
}

static void free_tree(struct spans_answer *answer)
{
    hand_spans_drop(answer);
}

/* --- Rows. --- */

static int64_t end_of(const struct span *span)
{
    return span->start_ns + span->dur_ns;
}

/* On a device a label may hold everything, an op its phases. */
static bool may_nest(const struct span *outer, const struct span *inner)
{
    return outer->lane == HOST || kinds[outer->op] == SPAN_LABEL ||
           (kinds[outer->op] == SPAN_OP && kinds[inner->op] == SPAN_PHASE);
}

/* Of two spans of a row one lies in the other and may, or they do not meet. */
static void check_rows(const struct spans_answer *answer, const struct export_rows *rows)
{
    for (size_t i = 0; i < answer->spans.count; i++) {
        const struct span *a = &answer->spans.items[i];

        for (size_t k = i + 1; k < answer->spans.count; k++) {
            const struct span *b = &answer->spans.items[k];

            if (a->lane != b->lane || rows->row[i] != rows->row[k] || !a->is_shown || !b->is_shown)
                continue;
            if (kinds[a->op] == SPAN_MARK || kinds[b->op] == SPAN_MARK || b->start_ns >= end_of(a))
                continue;
            if (end_of(b) > end_of(a) || !may_nest(a, b))
                fail_msg("[%lld, %lld) and [%lld, %lld) share row %u", (long long)a->start_ns,
                         (long long)end_of(a), (long long)b->start_ns, (long long)end_of(b),
                         rows->row[i]);
        }
    }
}

static void random_spans_nest_in_their_rows(void **state)
{
    srand(7);
    for (int round = 0; round < 300; round++) {
        struct span spans[24] = {0};
        struct export_rows rows;
        struct spans_answer answer;

        for (size_t i = 0; i < 24; i++) {
            spans[i] = (struct span){.lane = (uint32_t)rand() % 2,
                                     .op = (uint32_t)rand() % KINDS,
                                     .start_ns = rand() % 40,
                                     .dur_ns = rand() % 12};
            if (spans[i].op == MARK)
                spans[i].dur_ns = 0;
        }
        answer = tree(spans, 24);
        for (size_t i = 0; i < 24 && round % 2; i++)
            answer.spans.items[i].is_shown = rand() % 3 != 0;
        CHECK_OK(export_rows_init(&rows, &answer));
        check_rows(&answer, &rows);
        export_rows_deinit(&rows);
        free_tree(&answer);
    }
}

static void rows_are_as_few_as_it_takes(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .lane = HOST},
        {.start_ns = 10, .dur_ns = 20, .lane = HOST},
        {.start_ns = 20, .dur_ns = 30, .lane = HOST},
        {.start_ns = 35, .dur_ns = 5, .lane = HOST},
        {.start_ns = 60, .dur_ns = 10, .lane = HOST},
        {.start_ns = 0, .dur_ns = 10, .lane = DEVICE},
        {.start_ns = 10, .dur_ns = 5, .lane = DEVICE},
    };
    struct spans_answer answer = tree(spans, 7);
    struct export_rows rows;

    CHECK_OK(export_rows_init(&rows, &answer));
    CHECK_U64(rows.count[HOST], 2);
    CHECK_U64(rows.count[DEVICE], 1);
    CHECK_U64(rows.row[2], 1);
    CHECK_U64(rows.row[3], 1); /* with the span that it lies in */
    CHECK_U64(rows.row[4], 0);
    export_rows_deinit(&rows);
    free_tree(&answer);
}

static void the_innermost_span_around_a_time_is_found(void **state)
{
    const struct span spans[] = {
        {.start_ns = 10, .dur_ns = 90},
        {.start_ns = 20, .dur_ns = 10},
        {.start_ns = 22, .dur_ns = 3},
    };
    struct spans_answer answer = tree(spans, 3);

    CHECK_U64(span_at(&answer, HOST, 9), SPAN_NONE);
    CHECK_U64(span_at(&answer, HOST, 10), 0);
    CHECK_U64(span_at(&answer, HOST, 24), 2);
    CHECK_U64(span_at(&answer, HOST, 28), 1);
    CHECK_U64(span_at(&answer, HOST, 60), 0);
    CHECK_U64(span_at(&answer, HOST, 101), SPAN_NONE);
    CHECK_U64(span_at(&answer, DEVICE, 20), SPAN_NONE);
    free_tree(&answer);
}

/* --- Stacks. --- */

static const struct call_node *find_node(const struct call_tree *tree, const char *parent,
                                         const char *name)
{
    for (size_t i = 0; i < tree->nodes.count; i++) {
        const struct call_node *node = &tree->nodes.items[i];
        const char *above = node->parent == SPAN_NONE
                                ? ""
                                : tree->names.items[tree->nodes.items[node->parent].name].text;

        if (strcmp(tree->names.items[node->name].text, name) == 0 && strcmp(above, parent) == 0)
            return node;
    }
    fail_msg("no %s in %s", name, parent);
    return NULL;
}

static void equal_stacks_are_put_together(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 50, .op = LABEL},
        {.start_ns = 5, .dur_ns = 20, .op = INNER, .correlation = 1},
        {.start_ns = 6, .dur_ns = 3, .op = PHASE},
        {.start_ns = 30, .dur_ns = 10, .op = INNER},
        {.start_ns = 100, .dur_ns = 20, .op = OUTER},
        {.start_ns = 104, .dur_ns = 6, .op = INNER},
        {.start_ns = 40, .dur_ns = 70, .op = OUTER, .lane = DEVICE, .correlation = 1},
        {.start_ns = 120, .dur_ns = 7, .op = INNER, .lane = DEVICE, .bytes = 64},
    };
    struct spans_answer answer = tree(spans, 8);
    struct memory_row taken[] = {
        {.lane = HOST, .op = SPAN_NONE, .time_ns = 7, .bytes = 100}, /* in a phase of inner */
        {.lane = HOST, .op = INNER, .time_ns = 8, .bytes = -100},
        {.lane = HOST, .op = MARK, .time_ns = 500, .bytes = 5},
    };
    struct memory_row_array memory = {.items = taken, .count = 3};
    struct packed_spans packed = {0};
    struct export export = {.spans = &answer, .packed = &packed, .memory = &memory};
    const struct call_node *node;
    struct call_tree calls;

    CHECK_OK(packed_begin(&packed, &answer));
    CHECK_OK(packed_take(&packed, &answer));
    CHECK_OK(packed_finish(&packed));
    CHECK_OK(call_tree_init(&calls, &export));
    /* The label and the op have one name: one frame. */
    node = find_node(&calls, "", "outer");
    CHECK_U64((uint64_t)node->values[WEIGHT_TIME], 20 + 14);
    CHECK_U64((uint64_t)node->values[WEIGHT_CALLS], 2);
    CHECK_U64((uint64_t)node->values[WEIGHT_BYTES], 10);
    node = find_node(&calls, "outer", "inner");
    CHECK_U64((uint64_t)node->values[WEIGHT_TIME], 36);
    CHECK_U64((uint64_t)node->values[WEIGHT_CALLS], 3);
    CHECK_U64((uint64_t)node->values[WEIGHT_ALLOC], 100);
    node = find_node(&calls, "inner", "outer"); /* launched there */
    CHECK_U64((uint64_t)node->values[WEIGHT_DEVICE], 70);
    CHECK_U64((uint64_t)node->values[WEIGHT_TIME], 0);
    node = find_node(&calls, "", "inner"); /* launched nobody knows where */
    CHECK_U64((uint64_t)node->values[WEIGHT_BYTES], 64);
    node = find_node(&calls, "", "mark");
    CHECK_U64((uint64_t)node->values[WEIGHT_ALLOC], 5);
    call_tree_deinit(&calls);
    packed_deinit(&packed);
    free_tree(&answer);
}

/* --- Texts. --- */

static void places_are_parted_into_file_and_line(void **state)
{
    static const struct {
        const char *source, *file;
        int64_t line;
    } cases[] = {
        {"net.py:10", "net.py", 10}, {"a:b.c:3", "a:b.c", 3}, {"net.py", "net.py", 0},
        {"net.py:", "net.py:", 0},   {"net:1x", "net:1x", 0}, {":7", "", 7},
    };
    int64_t line;

    assert_null(export_source(NULL, &line));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *file = export_source(cases[i].source, &line);

        assert_string_equal(file, cases[i].file);
        CHECK_U64((uint64_t)line, (uint64_t)cases[i].line);
        free(file);
    }
}

static void texts_become_utf8(void **state)
{
    char text[] = "a\xff\xc3\xa4\xc3";

    export_clean(text);
    assert_string_equal(text, "a?\xc3\xa4?");
}

/* --- Files. --- */

static size_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t count = 0;

    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2; /* . and .. */
}

static void files_appear_whole_or_not_at_all(void **state)
{
    char *dir = temp_create(), *path = temp_path(dir, "out"), *text;
    struct export_file file;
    struct diag diag = {0};

    CHECK_OK(export_file_open(&file, path, true, &diag));
    fputs("first", file.stream);
    CHECK_OK(access(path, F_OK) == 0); /* not there yet */
    CHECK_OK(export_file_close(&file, true, &diag));
    CHECK_OK(export_file_open(&file, path, true, &diag));
    fputs("second", file.stream);
    CHECK_OK(export_file_close(&file, false, &diag));
    text = temp_read(path, NULL);
    assert_string_equal(text, "first");
    CHECK_U64(count_entries(dir), 1);
    free(text);
    free(path);
    temp_destroy(&dir);
}

static void names_ending_in_gz_are_compressed(void **state)
{
    char *dir = temp_create(), *path = temp_path(dir, "out.gz"), bytes[64];
    struct export_file file;
    struct diag diag = {0};
    gzFile gzip;
    int length;

    for (int packs = 0; packs < 2; packs++) {
        struct stat status;

        CHECK_OK(export_file_open(&file, path, packs, &diag));
        fputs("some text", file.stream);
        CHECK_OK(export_file_close(&file, true, &diag));
        gzip = gzopen(path, "rb");
        length = gzread(gzip, bytes, sizeof(bytes));
        gzclose(gzip);
        assert_int_equal(length, 9);
        assert_memory_equal(bytes, "some text", 9);
        CHECK_OK(stat(path, &status));
        assert_int_equal(status.st_size != 9, packs);
    }
    free(path);
    temp_destroy(&dir);
}

/* A signal in the middle leaves what was there before. */
static void a_signal_removes_the_unfinished_file(void **state)
{
    char *dir = temp_create(), *path = temp_write(dir, "out", "before", 6), *text;
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct export_file file;
        struct diag diag = {0};

        if (export_file_open(&file, path, true, &diag) == 0 && count_entries(dir) == 2)
            raise(SIGTERM);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    text = temp_read(path, NULL);
    assert_string_equal(text, "before");
    CHECK_U64(count_entries(dir), 1);
    free(text);
    free(path);
    temp_destroy(&dir);
}

static void reserved_names_are_not_taken_over(void **state)
{
    char *dir = temp_create(), *path = temp_path(dir, "out"), *text;
    struct export_file file;
    struct diag diag = {0};
    FILE *made;

    CHECK_OK(export_file_reserve(&file, path, &diag));
    CHECK_U64(count_entries(dir), 0);
    made = fopen(file.temporary, "w");
    fputs("ours", made);
    fclose(made);
    free(temp_write(dir, "out", "theirs", 6)); /* meanwhile */
    assert_int_equal(export_file_close(&file, true, &diag), -EIO);
    CHECK_CONTAINS(diag.text, "File exists");
    text = temp_read(path, NULL);
    assert_string_equal(text, "theirs");
    CHECK_U64(count_entries(dir), 1);
    diag = (struct diag){0};
    assert_int_equal(export_file_reserve(&file, path, &diag), -EINVAL);
    free(text);
    free(path);
    temp_destroy(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_spans_nest_in_their_rows),
        cmocka_unit_test(rows_are_as_few_as_it_takes),
        cmocka_unit_test(the_innermost_span_around_a_time_is_found),
        cmocka_unit_test(equal_stacks_are_put_together),
        cmocka_unit_test(places_are_parted_into_file_and_line),
        cmocka_unit_test(texts_become_utf8),
        cmocka_unit_test(files_appear_whole_or_not_at_all),
        cmocka_unit_test(names_ending_in_gz_are_compressed),
        cmocka_unit_test(a_signal_removes_the_unfinished_file),
        cmocka_unit_test(reserved_names_are_not_taken_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
