/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What profile_analyze --export writes, against tests/golden/analyze/export_*; what it refuses; and
 * that no half file is ever left. The store has a short name in the folder where the program runs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/golden.h"
#include "tests/support/odd_store.h"
#include "tests/support/temp.h"

struct export_case {
    const char *golden;
    const char *arguments[ANALYZE_ARGUMENTS_MAX];
};

static const struct export_case cases[] = {
    {"chrome.json", {"store.db", "--export", "chrome", "--session", "2"}},
    {"chrome_odd.json", {"store.db", "--export", "chrome"}},
    {"chrome_run.json", {"store.db", "--export", "chrome", "--session", "2", "--runs", "3"}},
    {"chrome_kernels.json", {"store.db", "--export", "chrome", "--type", "kernel"}},
    {"csv.csv", {"store.db", "--export", "csv", "--session", "2"}},
    {"csv_odd.csv", {"store.db", "--export", "csv"}},
    {"folded.txt", {"store.db", "--export", "folded", "--session", "1"}},
    {"folded_odd.txt", {"store.db", "--export", "folded"}},
    {"folded_device.txt", {"store.db", "--export", "folded", "--weight", "device"}},
    {"folded_calls.txt", {"store.db", "--export", "folded", "--weight", "calls"}},
    {"folded_bytes.txt", {"store.db", "--export", "folded", "--weight", "bytes"}},
    {"folded_alloc.txt", {"store.db", "--export", "folded", "--weight", "alloc"}},
    {"megengine.json", {"store.db", "--export", "megengine", "--session", "2"}},
    {"speedscope.json", {"store.db", "--export", "speedscope", "--session", "2"}},
    {"speedscope_odd.json", {"store.db", "--export", "speedscope"}},
    {"stacks.txt", {"store.db", "--export", "stacks"}},
    {"stacks_device.txt", {"store.db", "--export", "stacks", "--weight", "device"}},
};

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    char *store = temp_path(scene->dir, "store.db");

    odd_store_make(store);
    free(store);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

/* How many files the folder holds whose names begin so. */
static size_t count_files(const struct analyze_scene *scene, const char *prefix)
{
    DIR *dir = opendir(scene->dir);
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)))
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(dir);
    return count;
}

static void exports_look_as_agreed(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *out = analyze_scene_output(*state, cases[i].arguments);
        char name[128];

        snprintf(name, sizeof(name), "analyze/export_%s", cases[i].golden);
        golden_check(name, out, strlen(out));
        free(out);
    }
}

static void files_hold_what_standard_output_gets(void **state)
{
    static const char *const names[] = {"chrome", "csv", "folded", "speedscope", "stacks"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *const to_file[] = {"store.db", "--export", names[i], "-o", "out.txt", NULL};
        const char *const to_gzip[] = {"store.db", "--export", names[i], "-o", "out.gz", NULL};
        const char *const to_stdout[] = {"store.db", "--export", names[i], NULL};
        const char *const unpack[] = {"/bin/sh", "-c", "gzip -dc out.gz", NULL};
        const struct child_options options = {.directory = ((struct analyze_scene *)*state)->dir};
        char *file, *screen;
        struct child_result unpacked;

        free(analyze_scene_output(*state, to_file));
        free(analyze_scene_output(*state, to_gzip));
        file = analyze_scene_read(*state, "out.txt");
        screen = analyze_scene_output(*state, to_stdout);
        unpacked = child_run(unpack, &options);
        assert_string_equal(file, screen);
        assert_string_equal(unpacked.out, screen);
        child_result_deinit(&unpacked);
        free(file);
        free(screen);
    }
    CHECK_U64(count_files(*state, "out."), 2);
}

/* --- Refusals. --- */

struct refusal {
    int status;
    const char *text;
    const char *arguments[ANALYZE_ARGUMENTS_MAX];
};

static const struct refusal refusals[] = {
    {2, "did you mean chrome?", {"store.db", "--export", "chorme"}},
    {2, "--export sqlite needs -o FILE", {"store.db", "--export", "sqlite"}},
    {2, "store.db is what is read", {"store.db", "--export", "sqlite", "-o", "store.db"}},
    {2, "--format has no effect", {"store.db", "--export", "csv", "--format", "json"}},
    {2, "--ascii has no effect", {"store.db", "--export", "csv", "--ascii"}},
    {2, "--wiki (--confluence) has no effect", {"store.db", "--export", "csv", "--wiki"}},
    {2, "--total has no effect", {"store.db", "--export", "csv", "--total"}},
    {2, "--warmup has no effect", {"store.db", "--export", "csv", "--warmup"}},
    {2, "--top has no effect", {"store.db", "--export", "csv", "-t", "3"}},
    {2, "--min-time has no effect", {"store.db", "--export", "csv", "--min-time", "3"}},
    {2, "--weight has no effect", {"store.db", "--export", "csv", "--weight", "time"}},
    {2, "has no weight \"calls\"", {"store.db", "--export", "stacks", "--weight", "calls"}},
    {2, "--weight has no effect", {"store.db", "--weight", "calls"}},
    {2, "--append has no effect", {"store.db", "--append", "x.json"}},
    {2, "cannot be appended", {"store.db", "--export", "csv", "--append", "x.csv"}},
    {2,
     "leave out --output",
     {"store.db", "--export", "chrome", "--append", "x.json", "-o", "y.json"}},
    {2, "compressed", {"store.db", "--export", "chrome", "--append", "x.json.gz"}},
    {2, "--list has no effect on --export", {"store.db", "--list", "--export", "csv"}},
    {2,
     "one session",
     {"store.db", "--export", "megengine", "--session", "all", "-o", "left.json"}},
    {1, "none of the", {"store.db", "--export", "chrome", "--type", "X", "-o", "left.json"}},
    {1, "no event", {"store.db", "--export", "sqlite", "--time", "9s..", "-o", "left.db"}},
    {1, "call stack", {"store.db", "--export", "stacks", "--session", "1", "-o", "left.txt"}},
    {1,
     "weighs",
     {"store.db", "--export", "folded", "--session", "1", "--weight", "alloc", "-o", "left.txt"}},
    {4, "No such file", {"store.db", "--export", "chrome", "-o", "missing/left.json"}},
    {4, "No space left", {"store.db", "--export", "chrome", "-o", "/dev/full"}},
    {4, "No space left", {"store.db", "--export", "pprof", "-o", "/dev/full"}},
    {3, "Is a directory", {"store.db", "--export", "chrome", "-o", "."}},
};

static void mistakes_are_told_and_leave_nothing(void **state)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct child_result result = analyze_scene_run(*state, refusals[i].arguments);

        if (result.status != refusals[i].status)
            fail_msg("%s: status %d: %s", refusals[i].text, result.status, result.err);
        CHECK_CONTAINS(result.err, refusals[i].text);
        assert_string_equal(result.out, "");
        child_result_deinit(&result);
    }
    /* With --strict, too, the file is there. */
    {
        const char *const strict[] = {"store.db", "--export", "csv", "--strict", NULL};
        struct child_result result = analyze_scene_run(*state, strict);

        assert_int_equal(result.status, 1);
        CHECK_CONTAINS(result.err, "7 events were lost, 1 span never ended");
        CHECK_CONTAINS(result.out, "k<int>");
        child_result_deinit(&result);
    }
    CHECK_U64(count_files(*state, "left"), 0);
    CHECK_U64(count_files(*state, "x."), 0);
}

/* --- Files. --- */

/* What was there stays until the new one is whole; links and permissions stay. */
static void a_failed_export_keeps_the_file_before(void **state)
{
    struct analyze_scene *scene = *state;
    const char *const fails[] = {"store.db", "--export", "stacks", "--session",
                                 "1",        "-o",       "link",   NULL};
    const char *const works[] = {"store.db", "--export", "stacks", "-o", "link", NULL};
    char *path = temp_write(scene->dir, "target", "before", 6), *text;
    char *link = temp_path(scene->dir, "link");
    struct child_result result;
    struct stat status;

    CHECK_OK(chmod(path, 0640));
    CHECK_OK(symlink("target", link));
    result = analyze_scene_run(scene, fails);
    assert_int_equal(result.status, 1);
    child_result_deinit(&result);
    text = analyze_scene_read(scene, "target");
    assert_string_equal(text, "before");
    free(text);
    free(analyze_scene_output(scene, works));
    text = analyze_scene_read(scene, "target");
    CHECK_CONTAINS(text, "net.py");
    CHECK_OK(lstat(link, &status));
    assert_true(S_ISLNK(status.st_mode));
    CHECK_OK(stat(path, &status));
    assert_int_equal(status.st_mode & 0777, 0640);
    CHECK_U64(count_files(scene, "target"), 1);
    free(text);
    free(link);
    free(path);
}

/* A full disk: only so much may be written. */
static void a_full_disk_leaves_nothing(void **state)
{
    static const char *const kinds[] = {"chrome", "csv", "megengine", "speedscope", "sqlite"};
    struct analyze_scene *scene = *state;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct child_options options = {.directory = scene->dir};
        char *command;
        const char *argv[] = {"/bin/sh", "-c", NULL, NULL};
        struct child_result result;

        /* SIGXFSZ ignored, writing fails with EFBIG. */
        assert_true(asprintf(&command,
                             "trap '' XFSZ; ulimit -f 1; '%s' store.db --export %s --session 2 -o"
                             " full.out",
                             scene->program, kinds[i]) > 0);
        argv[2] = command;
        result = child_run(argv, &options);
        if (result.status != 4 && result.status != 3)
            fail_msg("%s: status %d: %s", kinds[i], result.status, result.err);
        CHECK_CONTAINS(result.err, "profile_analyze: ");
        CHECK_U64(count_files(scene, "full.out"), 0);
        child_result_deinit(&result);
        free(command);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exports_look_as_agreed),
        cmocka_unit_test(files_hold_what_standard_output_gets),
        cmocka_unit_test(mistakes_are_told_and_leave_nothing),
        cmocka_unit_test(a_failed_export_keeps_the_file_before),
        cmocka_unit_test(a_full_disk_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
