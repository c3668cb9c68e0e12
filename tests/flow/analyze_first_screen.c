/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profile_analyze says when nothing else is asked: it fits a screen of any width, whatever
 * names there are; what differs stays different; losses and ends come first; what MegEngine's own
 * options mean stays as it was.
 */
#include <string.h>

#include "base/text.h"
#include "schema/store/store.h"
#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/memory_store.h"
#include "tests/support/small_store.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

#define MS INT64_C(1000000)
#define T0 INT64_C(1767225600000000000) /* 2026-01-01 */

enum { LINES_MAX = 40, NAMES = 8, WIDTH_MIN = 60, WIDTH_MAX = 200 };

#define LONG_A                                                                                     \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* Sets of names that are hard to cut. */
static const char *const names[][NAMES] = {
    {"/model/layers.0/c1/Conv", "/model/layers.1/c1/Conv", "/model/layers.2/c1/Conv",
     "/model/layers.3/c1/Conv", "/model/layers.4/c1/Conv", "/model/layers.10/c1/Conv",
     "/model/layers.11/c1/Conv", "/model/layers.12/c1/Conv"},
    {LONG_A "0" LONG_A LONG_A, LONG_A "1" LONG_A LONG_A, LONG_A "2" LONG_A LONG_A,
     LONG_A "3" LONG_A LONG_A, LONG_A "4" LONG_A LONG_A, LONG_A "5" LONG_A LONG_A,
     LONG_A "6" LONG_A LONG_A, LONG_A "7" LONG_A LONG_A},
    {"\x1b[2J\x1b[31mred", "a\nb\r\tc", "\u202Edesrever", "", "%s%n%d", "a | b",
     "\xc2\x9b"
     "31m",
     "..."},
    {"名前の長い演算子の名前の長い演算子の名前の長い演算子の名前の長い演算子の名前の長い演算子一",
     "名前の長い演算子の名前の長い演算子の名前の長い演算子の名前の長い演算子の名前の長い演算子二",
     "\U0001F469\u200D\U0001F467\U0001F469\u200D\U0001F467\U0001F469\u200D\U0001F467 family of "
     "names",
     "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301 accents",
     "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588 bars", "void f<int>(int, int)",
     "void f<int>(float)", "void f<int>(double)"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
     "at::detail::Array<char*, 1>>(int, at::native::FillFunctor<float>, at::detail::Array<char*, "
     "1>)",
     "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, "
     "at::detail::Array<char*, 1>>(int, at::native::AddFunctor<float>, at::detail::Array<char*, "
     "1>)",
     "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>, "
     "at::detail::Array<char*, 1>>(int, at::native::MulFunctor<float>, at::detail::Array<char*, "
     "1>)",
     "void", "void ()", "void (((", "void )))", "void x("},
    {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
     "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
     "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1>(cudnnTensorStruct, "
     "float const*, cudnn::reduced_divisor)",
     "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::"
     "(anonymous namespace)::CopyFunctor<float> > >(int, at::native::CopyFunctor<float>)",
     "<built-in method conv2d of type object at 0x7f569d72d1e0 and more of it to be long>",
     "<built-in method max_pool2d of type object at 0x7f569d72d1e0 and more of it to be long>",
     "void cutlass::Kernel<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(cutlass_80_simt::Params)",
     "void cutlass::Kernel<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(cutlass_80_simt::Params)"},
};
enum { KERNELS = 5, SETS = sizeof(names) / sizeof(names[0]) };

/* Ops that differ in their shapes alone. */
static const char *const alike[NAMES] = {"all_reduce", "all_reduce", "all_reduce", "all_reduce",
                                         "conv",       "conv",       "conv",       "conv"};

static void put_op(struct store *store, int64_t id, const char *name, const char *type)
{
    struct diag diag = {0};
    struct store_op row = {
        .op_id = id,
        .session_id = 1,
        .client_op = id,
        .model_id = STORE_NULL,
        .name = name,
        .type = type,
        .input_shapes = "[[1,512,100000,100000],[null,3]]",
        .output_shapes = "[[123456789,123456789,123456789,123456789]]",
        .computation_flop = 1000000007 * id,
        .memory_bytes = STORE_NULL,
        .workspace_bytes = STORE_NULL,
    };

    CHECK_OK(store_put_op(store, &row, &diag));
}

static void put_session(struct store *store, const char *name, const char *reason)
{
    struct diag diag = {0};
    struct store_session row = {
        .session_id = 1,
        .uuid = {7},
        .start_ns = T0,
        .end_ns = reason ? T0 + 1000 * MS : STORE_NULL,
        .end_reason = reason,
        .program = name,
        .command = name,
        .host = name,
        .pid = 1,
        .uid = 1,
        .clock = "tsc",
        .source = "live",
        .environment = "{\"cpu\": \"A CPU with a name that is much longer than a line has any room "
                       "for, and then some more of it\"}",
    };
    struct store_lane lane = {1, 1, 1, "thread", name, NULL, 1};
    struct store_lane queue = {2, 1, 2, "queue", name, "cpu:0", 2};

    CHECK_OK(store_put_session(store, &row, &diag));
    CHECK_OK(store_put_lane(store, &lane, &diag));
    CHECK_OK(store_put_lane(store, &queue, &diag));
}

/* Ten runs of eight ops on both sides, the last one slow; memory; losses. */
static void fill(struct store *store, const char *const *set)
{
    struct diag diag = {0};

    put_session(store, set[0][0] ? set[0] : "empty", "died");
    for (int64_t i = 0; i < NAMES; i++)
        put_op(store, i + 1, set[i], i % 2 ? set[i][0] ? set[i] : "t" : "Conv");
    for (int64_t run = 1; run <= 10; run++) {
        const int64_t at = T0 + run * 50 * MS, stretch = run == 10 ? 3 : 1;
        struct store_run row = {.session_id = 1,
                                .run = run,
                                .model_id = STORE_NULL,
                                .lane_id = 1,
                                .start_ns = at,
                                .end_ns = at + 10 * stretch * MS};

        CHECK_OK(store_put_run(store, &row, &diag));
        for (int64_t i = 0; i < NAMES; i++) {
            const struct store_event rows[] = {
                {2, i + 1, run, at + i * stretch * MS, stretch * (MS - i * 1000), 0, STORE_NULL,
                 STORE_NULL},
                {1, i + 1, run, at + i * stretch * MS, stretch * MS / 2, STORE_NULL, STORE_NULL,
                 STORE_NULL},
            };
            const struct store_memory_event taken = {1, i + 1, run, at + i, run * 8 + i, 1 << 20};

            CHECK_OK(store_add_events(store, rows, 2, &diag));
            CHECK_OK(store_add_memory_events(store, &taken, 1, &diag));
        }
    }
}

static void make_store(const struct analyze_scene *scene, const char *name,
                       void (*make)(struct store *store, const char *const *set),
                       const char *const *set)
{
    char *path = temp_path(scene->dir, name);
    struct store *store = NULL;
    struct diag diag = {0};

    CHECK_OK(store_open(path, STORE_WRITE, &store, &diag));
    CHECK_OK(store_begin(store, &diag));
    make(store, set);
    CHECK_OK(store_commit(store, &diag));
    store_close(&store);
    free(path);
}

/* A session of ops that never ran, one with runs alone, and one without anything. */
static void fill_ops_only(struct store *store, const char *const *set)
{
    put_session(store, "idle", "done");
    put_op(store, 1, "conv", "Conv");
}

static void fill_runs_only(struct store *store, const char *const *set)
{
    struct diag diag = {0};

    put_session(store, "runs", "done");
    for (int64_t run = 1; run <= 3; run++) {
        struct store_run row = {.session_id = 1,
                                .run = run,
                                .model_id = STORE_NULL,
                                .lane_id = 1,
                                .start_ns = T0 + run * MS,
                                .end_ns = T0 + run * MS + MS / 2};

        CHECK_OK(store_put_run(store, &row, &diag));
    }
}

#define LONG_NAME "a-recording-of-the-second-of-may-with-everything-switched-on-but-the-light.db"

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    char *path = temp_path(scene->dir, "small.db");

    small_store_make(path);
    free(path);
    path = temp_path(scene->dir, "memory.db");
    memory_store_make(path);
    free(path);
    for (size_t i = 0; i < SETS; i++) {
        char name[32];

        snprintf(name, sizeof(name), "names%zu.db", i);
        make_store(scene, name, fill, names[i]);
    }
    make_store(scene, "alike.db", fill, alike);
    make_store(scene, LONG_NAME, fill, alike);
    make_store(scene, "ops.db", fill_ops_only, NULL);
    make_store(scene, "runs.db", fill_runs_only, NULL);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

#define RUN(state, ...) analyze_scene_output(*(state), (const char *const[]){__VA_ARGS__, NULL})

/* No line is longer, there are not too many, and no character steers the terminal. */
static void check_fits(const char *text, const char *source, size_t width)
{
    size_t lines = 0;

    for (const char *at = text; *at; lines++) {
        size_t length = strcspn(at, "\n");

        if (text_columns(at, length) > width)
            fail_msg("%s at %zu columns: a line takes %zu: %.*s", source, width,
                     text_columns(at, length), (int)length, at);
        for (size_t i = 0; i < length; i++) {
            if ((unsigned char)at[i] < ' ' || at[i] == 127)
                fail_msg("%s at %zu columns: a byte %d in: %.*s", source, width, at[i], (int)length,
                         at);
        }
        at += length + (at[length] == '\n');
    }
    if (width >= 80 && lines > LINES_MAX)
        fail_msg("%s at %zu columns: %zu lines:\n%s", source, width, lines, text);
    if (!text_is_utf8(text, strlen(text)))
        fail_msg("%s at %zu columns: no UTF-8", source, width);
}

static void check_width(void **state, const char *source, size_t width)
{
    char columns[16];
    char *text;

    snprintf(columns, sizeof(columns), "%zu", width);
    text = RUN(state, source, "--width", columns);
    check_fits(text, source, width);
    free(text);
}

static void no_line_is_wider_than_the_screen(void **state)
{
    for (size_t width = WIDTH_MIN; width <= WIDTH_MAX; width += width < 100 ? 5 : 20) {
        for (size_t i = 0; i < SETS; i++) {
            char name[32];

            snprintf(name, sizeof(name), "names%zu.db", i);
            check_width(state, name, width);
        }
        check_width(state, "small.db", width);
        check_width(state, "memory.db:3", width);
    }
}

/* The first cells of the rows below a head. */
static size_t gather_names(char *text, const char *head, char *cells[LINES_MAX])
{
    char *at = strstr(text, head), *line;
    size_t count = 0;

    assert_non_null(at);
    at = strchr(at, '\n') + 1;
    while ((line = strsep(&at, "\n")) && *line) {
        char *end = strstr(line, "  ");

        if (end)
            *end = '\0';
        cells[count++] = line;
    }
    return count;
}

static void different_names_stay_different(void **state)
{
    for (size_t width = WIDTH_MIN; width <= 120; width += 20) {
        for (size_t set = 0; set < SETS; set++) {
            char name[32], columns[16], *cells[LINES_MAX], *text;
            size_t count;

            snprintf(name, sizeof(name), "names%zu.db", set);
            snprintf(columns, sizeof(columns), "%zu", width);
            text = RUN(state, name, "--width", columns);
            count = gather_names(text, "\ndearest ops ", cells);
            assert_in_range(count, 6, NAMES);
            for (size_t i = 0; i < count; i++) {
                for (size_t k = 0; k < i; k++) {
                    if (strcmp(cells[i], cells[k]) == 0)
                        fail_msg("%s at %zu: two ops are called %s", name, width, cells[i]);
                }
            }
            free(text);
        }
    }
}

/* Not what all take and return, but what each does. */
static void kernels_are_told_by_what_they_do(void **state)
{
    static const char *const told[] = {
        "AllReduce",  "SendRecv",   "bn_fw_tr_1C11_kernel", "elementwise_kern",
        "nt_align1>", "nn_align1>", "method conv2d",        "method max_pool2d"};
    char name[32], *text, *rows;

    snprintf(name, sizeof(name), "names%d.db", KERNELS);
    text = RUN(state, name, "--width", "100");
    rows = strstr(text, "\ndearest ops ");
    assert_non_null(rows);
    *strstr(rows, "\n\n") = '\0';
    assert_non_null(strstr(rows, "3 more"));
    for (size_t i = 0, found = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        found += strstr(rows, told[i]) != NULL;
        if (i + 1 == sizeof(told) / sizeof(told[0]) && found < 5)
            fail_msg("five rows, of which %zu say what they are:%s", found, rows);
    }
    free(text);
}

/* How often a word stands in the paragraph that begins so. */
static size_t count_in(const char *text, const char *head, const char *end, const char *word)
{
    const char *at = strstr(text, head), *last;
    size_t count = 0;

    assert_non_null(at);
    last = strstr(at, end);
    assert_non_null(last);
    for (; (at = strstr(at, word)) && at < last; at++)
        count++;
    return count;
}

static void what_reads_alike_is_said_once(void **state)
{
    char *text = RUN(state, "alike.db", "--width", "120");

    assert_int_equal(count_in(text, "\n  slowest", "\n\n", "all_reduce"), 1);
    assert_int_equal(count_in(text, "\n  slowest", "\n\n", "conv"), 1);
    assert_int_equal(count_in(text, "\n  memory", "\n  slowest", "all_reduce ("), 1);
    assert_int_equal(count_in(text, "\n  memory", "\n  slowest", "conv ("), 1);
    free(text);
}

/* A command is whole, or says for all alike what stands behind the file's name. */
static void commands_have_one_form(void **state)
{
    char *text = RUN(state, "alike.db", "--width", "80");
    char *long_one = RUN(state, LONG_NAME, "--width", "80");

    CHECK_CONTAINS(text, "\n     profile_analyze alike.db --report ");
    CHECK_LACKS(text, "\n     --report ");
    CHECK_CONTAINS(long_one, "\n     --report ");
    CHECK_LACKS(long_one, "profile_analyze");
    free(long_one);
    free(text);
}

/* What stands between dots is not broken where a line has room for it. */
static void pieces_stay_whole(void **state)
{
    for (unsigned width = 32; width <= 80; width++) {
        char columns[16], *text;

        snprintf(columns, sizeof(columns), "%u", width);
        text = RUN(state, "alike.db", "--width", columns);
        CHECK_CONTAINS(text, "session 1 of 1 in alike.db");
        CHECK_CONTAINS(text, "no event lost");
        CHECK_LACKS(text, "·\n");
        CHECK_LACKS(text, "\n·");
        free(text);
    }
}

static void it_looks_the_same_everywhere(void **state)
{
    char *plain = RUN(state, "small.db"), *colored = RUN(state, "small.db", "--color", "always");
    char *named = RUN(state, "small.db", "--report", "brief");

    assert_string_equal(colored, plain);
    assert_string_equal(named, plain);
    free(colored);
    free(named);
    free(plain);
}

static void what_is_missing_comes_first(void **state)
{
    char *text = RUN(state, "small.db");

    assert_memory_equal(text, "LOST: 42 events", 15);
    CHECK_CONTAINS(text, "\nDIED in relu1 (Relu)");
    free(text);
}

static void check_refusal(void **state, const char *const *arguments, int status,
                          const char *sentence)
{
    struct child_result result = analyze_scene_run(*state, arguments);

    if (result.status != status)
        fail_msg("%s: status %d, not %d: %s%s", arguments[0], result.status, status, result.out,
                 result.err);
    CHECK_CONTAINS(result.err, sentence);
    child_result_deinit(&result);
}

static void stores_with_little_in_them(void **state)
{
    char *text = RUN(state, "runs.db");

    CHECK_CONTAINS(text, "3 runs");
    CHECK_CONTAINS(text, "none was recorded");
    free(text);
    check_refusal(state, (const char *[]){"ops.db", NULL}, 1,
                  "there is no event in what is asked for");
}

/* Each of them once: looking at all of them for each would take minutes. */
static void a_session_of_very_many_runs(void **state)
{
    const struct analyze_scene *scene = *state;
    char *path = temp_path(scene->dir, "many.db"), *text;
    struct store *store = NULL;
    struct diag diag = {0};

    CHECK_OK(store_open(path, STORE_WRITE, &store, &diag));
    put_session(store, "many", "done");
    store_close(&store);
    store_support_run(path, "INSERT INTO run WITH RECURSIVE n(i) AS"
                            " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
                            " SELECT 1, i, NULL, 1, 1767225600000000000 + i * 1000000,"
                            " 1767225600000000000 + i * 1000000 + 900000 + i % 1000, 0, 0 FROM n");
    text = RUN(state, "many.db");
    CHECK_CONTAINS(text, "300,000 runs");
    free(text);
    free(path);
}

static void a_store_that_is_being_written(void **state)
{
    const struct analyze_scene *scene = *state;
    char *path = temp_path(scene->dir, "running.db"), *text;
    const struct store_event event = {1,  1,          STORE_NULL, T0 + MS,
                                      MS, STORE_NULL, STORE_NULL, STORE_NULL};
    struct store *store = NULL;
    struct diag diag = {0};

    CHECK_OK(store_open(path, STORE_WRITE, &store, &diag));
    put_session(store, "running", NULL);
    put_op(store, 1, "conv", "Conv");
    check_refusal(state, (const char *[]){"running.db", NULL}, 1, "it is still running");
    CHECK_OK(store_begin(store, &diag));
    CHECK_OK(store_add_events(store, &event, 1, &diag));
    CHECK_OK(store_commit(store, &diag));
    text = RUN(state, "running.db");
    CHECK_CONTAINS(text, "still running");
    CHECK_LACKS(text, "LOST");
    free(text);
    store_close(&store);
    text = RUN(state, "running.db");
    CHECK_LACKS(text, "still running");
    CHECK_CONTAINS(text, "LOST: an unknown number of events");
    free(text);
    free(path);
}

/* Options that mean something of a table of operators show it, as they always did. */
static void options_of_operators_show_operators(void **state)
{
    static const char *const options[] = {
        "-t1",          "--order-by=memory", "--show-host",       "--print-only=device",
        "--type=Conv",  "--opr-name=conv",   "--input-dtype=f32", "--aggregate=sum",
        "--max-time=9", "--min-time=0",      "--copy-time",       "--top-end-key=kern",
        "--wiki",       "--dump-only-opr",   "--explain",         "--confluence",
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        char *text = RUN(state, "small.db", options[i]);
        char *table = RUN(state, "small.db", "--report", "ops", options[i]);

        assert_string_equal(text, table);
        free(text);
        free(table);
    }
    check_refusal(state, (const char *[]){"small.db", "--report", "brief", "--type", "Conv", NULL},
                  2, "--type has no effect on --report brief");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_is_wider_than_the_screen),
        cmocka_unit_test(different_names_stay_different),
        cmocka_unit_test(kernels_are_told_by_what_they_do),
        cmocka_unit_test(what_reads_alike_is_said_once),
        cmocka_unit_test(commands_have_one_form),
        cmocka_unit_test(pieces_stay_whole),
        cmocka_unit_test(it_looks_the_same_everywhere),
        cmocka_unit_test(what_is_missing_comes_first),
        cmocka_unit_test(stores_with_little_in_them),
        cmocka_unit_test(a_session_of_very_many_runs),
        cmocka_unit_test(a_store_that_is_being_written),
        cmocka_unit_test(options_of_operators_show_operators),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
