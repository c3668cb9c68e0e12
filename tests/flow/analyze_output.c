/* SPDX-License-Identifier: Apache-2.0 */
/* What profile_analyze writes to: never what it reads, by whatever name, and no store that is there
 * unless it is told to; a link stays one, and a name that ends in .gz is packed. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/small_store.h"
#include "tests/support/temp.h"

enum { ARGUMENTS_MAX = 10 };

static const char trace[] =
    "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"a\",\"pid\":1,\"tid\":1}]";

static struct child_result run(const struct analyze_scene *scene, const char *const *arguments)
{
    char home[256], store[256];
    const char *const environment[] = {home, store, NULL};
    const struct child_options options = {.environment = environment, .directory = scene->dir};
    const char *argv[ARGUMENTS_MAX + 2] = {scene->program};

    snprintf(home, sizeof(home), "XDG_STATE_HOME=%s", scene->dir);
    snprintf(store, sizeof(store), "OPTRACE_STORE=%s/default.db", scene->dir);
    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        argv[i + 1] = arguments[i];
    return child_run(argv, &options);
}

static void make_store(const struct analyze_scene *scene, const char *name)
{
    char *path = temp_path(scene->dir, name);

    small_store_make(path);
    free(path);
}

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();

    make_store(scene, "store.db");
    make_store(scene, "base.db");
    make_store(scene, "default.db");
    make_store(scene, "other.db");
    free(temp_write(scene->dir, "trace.json", trace, sizeof(trace) - 1));
    free(temp_write(scene->dir, "store.db-wal", "", 0));
    assert_int_equal(chdir(scene->dir), 0);
    CHECK_OK(symlink("store.db", "soft"));
    CHECK_OK(symlink("soft", "softer"));
    CHECK_OK(symlink("store.db-wal", "log"));
    CHECK_OK(link("store.db", "hard"));
    CHECK_OK(symlink("trace.json", "soft.json"));
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

struct refusal {
    const char *file; /* stays as it is */
    const char *sentence;
    const char *arguments[ARGUMENTS_MAX];
};

static const struct refusal refusals[] = {
    {"store.db", "store.db is what is read", {"store.db", "--format", "csv", "-o", "store.db"}},
    {"store.db", "./store.db is what is read", {"store.db", "-o", "./store.db", "--force"}},
    {"store.db", "soft is what is read", {"store.db", "-o", "soft"}},
    {"store.db", "store.db is what is read", {"softer", "-o", "store.db"}},
    {"store.db", "hard is what is read", {"store.db:1", "--list", "-o", "hard"}},
    {"store.db", "is what is read", {"store.db", "--sql", "SELECT 1", "-o", "store.db"}},
    {"store.db", "is what is read", {"soft", "--export", "sqlite", "-o", "store.db"}},
    {"store.db", "is what is read", {"store.db", "--export", "folded", "-o", "softer"}},
    {"store.db-wal", "store.db-wal belongs to", {"store.db", "-o", "store.db-wal", "--force"}},
    {"store.db", "base.db-wal belongs to base.db", {"base.db", "-o", "base.db-wal"}},
    {"store.db", "./store.db-lock belongs to", {"soft", "-o", "./store.db-lock"}},
    {"other.db", "other.db exists already", {"store.db", "--export", "sqlite", "-o", "other.db"}},
    {"other.db",
     "--force has no effect on --export sqlite",
     {"store.db", "--export", "sqlite", "-o", "other.db", "--force"}},
    {"base.db", "base.db is what is read", {"store.db", "--compare", "base.db", "-o", "base.db"}},
    {"base.db", "is what is read", {"store.db", "--compare", "base.db:1", "-o", "base.db"}},
    {"default.db", "default.db is what is read", {"-o", "default.db"}},
    {"trace.json", "soft.json is what is read", {"trace.json", "-o", "soft.json"}},
    {"trace.json", "is what is read", {"soft.json", "--export", "chrome", "-o", "trace.json"}},
    {"trace.json",
     "is what is read",
     {"trace.json", "--export", "chrome", "--append", "soft.json"}},
    {"store.db", "soft is what is read", {"--import", "base.db", "store.db", "--into", "soft"}},
    {"other.db", "other.db is a store: name another file", {"trace.json", "-o", "other.db"}},
    {"store.db-wal",
     "store.db-wal belongs to the store",
     {"trace.json", "-o", "store.db-wal", "--force"}},
    {"store.db-wal", "log belongs to the store", {"trace.json", "-o", "log"}},
    {"other.db", "other.db-lock belongs to the store", {"trace.json", "-o", "other.db-lock"}},
    {"other.db",
     "other.db-shm belongs to the store",
     {"store.db", "--export", "sqlite", "-o", "other.db-shm"}},
    {"other.db",
     "soft-journal belongs to the store",
     {"trace.json", "--export", "chrome", "--append", "soft-journal"}},
    {"other.db", "is a store", {"trace.json", "--export", "chrome", "-o", "other.db"}},
    {"trace.json", "--force goes with", {"trace.json", "--force"}},
};

static void what_is_read_stays(void **state)
{
    const struct analyze_scene *scene = *state;

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const struct refusal *wanted = &refusals[i];
        char *path = temp_path(scene->dir, wanted->file);
        size_t size, size_after;
        char *before = temp_read(path, &size), *after;
        struct child_result result = run(scene, wanted->arguments);

        if (result.status != 2)
            fail_msg("%zu, \"%s\": status %d: %s", i, wanted->sentence, result.status, result.err);
        CHECK_CONTAINS(result.err, wanted->sentence);
        assert_string_equal(result.out, "");
        after = temp_read(path, &size_after);
        assert_int_equal(size, size_after);
        assert_memory_equal(before, after, size);
        child_result_deinit(&result);
        free(before);
        free(after);
        free(path);
    }
}

/* A shell opens what is behind >> before anybody can say no, but leaves what is in it. */
static void what_is_appended_to_stays(void **state)
{
    static const struct {
        const char *file, *command;
    } cases[] = {
        {"store.db", "\"$0\" store.db >>store.db"},
        {"store.db", "\"$0\" softer --list >>hard"},
        {"store.db-wal", "\"$0\" store.db >>log"},
        {"base.db", "\"$0\" store.db --compare base.db >>base.db"},
        {"trace.json", "\"$0\" trace.json --export folded >>soft.json"},
    };
    const struct analyze_scene *scene = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *argv[] = {"/bin/sh", "-c", cases[i].command, scene->program, NULL};
        const struct child_options options = {.directory = scene->dir};
        char *path = temp_path(scene->dir, cases[i].file), *before, *after;
        struct child_result result;
        size_t size, size_after;

        before = temp_read(path, &size);
        result = child_run(argv, &options);
        if (result.status != 2)
            fail_msg("%s: status %d: %s", cases[i].command, result.status, result.err);
        CHECK_CONTAINS(result.err, "/dev/stdout ");
        after = temp_read(path, &size_after);
        assert_int_equal(size, size_after);
        assert_memory_equal(before, after, size);
        child_result_deinit(&result);
        free(before);
        free(after);
        free(path);
    }
}

static void check_written(const struct analyze_scene *scene, const char *const *arguments)
{
    struct child_result result = run(scene, arguments);

    if (result.status != 0)
        fail_msg("status %d: %s", result.status, result.err);
    child_result_deinit(&result);
}

static void a_store_is_replaced_by_force_only(void **state)
{
    const struct analyze_scene *scene = *state;
    const char *const arguments[] = {"trace.json", "--list", "-o", "other.db", "--force", NULL};
    char *path = temp_path(scene->dir, "other.db"), *text;
    struct store *writer = NULL;
    struct child_result result;
    struct diag diag = {0};
    size_t size;

    CHECK_OK(store_open(path, STORE_WRITE, &writer, &diag));
    result = run(scene, arguments);
    assert_int_equal(result.status, 2);
    CHECK_CONTAINS(result.err, "is writing to other.db already, so it is not replaced");
    child_result_deinit(&result);
    store_close(&writer);
    check_written(scene, arguments);
    text = temp_read(path, &size);
    assert_null(memmem(text, size, "SQLite", 6));
    free(text);
    free(path);
}

static void a_link_that_leads_nowhere_stays_one(void **state)
{
    static const char *const arguments[][ARGUMENTS_MAX] = {
        {"trace.json", "--export", "chrome", "-o", "links/dangling"},
        {"trace.json", "--list", "-o", "links/dangling"},
    };
    const struct analyze_scene *scene = *state;
    struct stat status;

    CHECK_OK(mkdir("links", 0755));
    CHECK_OK(mkdir("elsewhere", 0755));
    CHECK_OK(symlink("next", "links/dangling"));
    CHECK_OK(symlink("../elsewhere/new", "links/next"));
    for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
        check_written(scene, arguments[i]);
        CHECK_OK(lstat("links/dangling", &status));
        assert_true(S_ISLNK(status.st_mode));
        CHECK_OK(lstat("links/next", &status));
        assert_true(S_ISLNK(status.st_mode));
        CHECK_OK(lstat("elsewhere/new", &status));
        assert_true(S_ISREG(status.st_mode) && status.st_size > 0);
        CHECK_OK(unlink("elsewhere/new"));
    }
    CHECK_OK(symlink("loop", "loop"));
    {
        const char *const loop[] = {"trace.json", "--list", "-o", "loop", NULL};
        struct child_result result = run(scene, loop);

        assert_int_equal(result.status, 4);
        CHECK_CONTAINS(result.err, "cannot write loop: Too many levels of symbolic links");
        child_result_deinit(&result);
    }
}

/* The bytes of a file whose name ends in .gz, unpacked, with a NUL behind. */
static char *unpack(const char *path, size_t *out_size)
{
    enum { UNPACKED_MAX = 8 << 20 };
    char *bytes = malloc(UNPACKED_MAX);
    gzFile file = gzopen(path, "rb");
    int length;

    assert_non_null(bytes);
    assert_non_null(file);
    length = gzread(file, bytes, UNPACKED_MAX - 1);
    if (gzdirect(file) || length <= 0)
        fail_msg("%s is not packed", path);
    gzclose(file);
    bytes[length] = '\0';
    *out_size = (size_t)length;
    return bytes;
}

/* All that writes what -o names, and the ending of its file. */
static const struct {
    const char *suffix;
    const char *arguments[ARGUMENTS_MAX - 2];
} packed[] = {
    {"", {"store.db"}},
    {".csv", {"store.db", "--format", "csv"}},
    {".json", {"store.db", "--format", "json"}},
    {".md", {"store.db", "--format", "markdown"}},
    {".html", {"store.db", "--format", "html"}},
    {".sql", {"store.db", "--report", "types", "--explain"}},
    {".txt", {"store.db", "--list"}},
    {".txt", {"store.db", "--sql", "SELECT 1"}},
    {".txt", {"store.db:2", "--compare", "base.db:2"}},
    {".json", {"store.db", "--export", "chrome"}},
    {".csv", {"store.db", "--export", "csv"}},
    {".folded", {"store.db", "--export", "folded"}},
    {".json", {"store.db", "--export", "megengine"}},
    {".pb", {"store.db", "--export", "pprof"}},
    {".json", {"store.db", "--export", "speedscope"}},
};

static void write_to(const struct analyze_scene *scene, const char *const *arguments,
                     const char *path)
{
    const char *argv[ARGUMENTS_MAX + 1] = {NULL};
    size_t count = 0;

    for (; arguments[count]; count++)
        argv[count] = arguments[count];
    argv[count++] = "-o";
    argv[count] = path;
    check_written(scene, argv);
}

/* What pprof reads is packed by itself, whatever its name. */
static char *read_plain(const char *path, size_t *out_size)
{
    char *bytes = temp_read(path, out_size);

    if (*out_size < 2 || memcmp(bytes, "\x1f\x8b", 2) != 0)
        return bytes;
    free(bytes);
    return unpack(path, out_size);
}

static void what_ends_in_gz_is_packed(void **state)
{
    const struct analyze_scene *scene = *state;

    for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
        char plain[32], small[40], *wanted, *got;
        size_t size, got_size;

        snprintf(plain, sizeof(plain), "plain%zu%s", i, packed[i].suffix);
        snprintf(small, sizeof(small), "packed%zu%s.gz", i, packed[i].suffix);
        write_to(scene, packed[i].arguments, plain);
        write_to(scene, packed[i].arguments, small);
        wanted = read_plain(plain, &size);
        got = unpack(small, &got_size);
        if (size != got_size || memcmp(wanted, got, size) != 0)
            fail_msg("%s is not %s, packed", small, plain);
        free(wanted);
        free(got);
    }
}

/* A store is a file of SQLite when it is unpacked. */
static void a_packed_store_is_one(void **state)
{
    static const char *const export[] = {"store.db", "--export", "sqlite", NULL};
    static const char *const ask[] = {"unpacked.db", "--report", "types", "--format", "csv", NULL};
    static const char *const ask_first[] = {"store.db", "--report", "types",
                                            "--format", "csv",      NULL};
    const struct analyze_scene *scene = *state;
    struct child_result first, second;
    struct stat status;
    size_t size;
    char *bytes;

    write_to(scene, export, "one.db.gz");
    CHECK_OK(stat("one.db.gz", &status));
    assert_int_equal(status.st_mode & 0777, 0600);
    bytes = unpack("one.db.gz", &size);
    free(temp_write(scene->dir, "unpacked.db", bytes, size));
    free(bytes);
    first = run(scene, ask_first);
    second = run(scene, ask);
    assert_int_equal(second.status, 0);
    assert_string_equal(second.out, first.out);
    child_result_deinit(&first);
    child_result_deinit(&second);
}

/* What was there stays until the report is whole. */
static void a_report_that_fails_leaves_what_was_there(void **state)
{
    const struct analyze_scene *scene = *state;
    const char *const arguments[] = {"store.db", "--type", "none", "-o", "old.txt", NULL};
    struct child_result result;
    size_t size;
    char *text;

    free(temp_write(scene->dir, "old.txt", "before", 6));
    result = run(scene, arguments);
    assert_int_equal(result.status, 1);
    text = temp_read("old.txt", &size);
    assert_string_equal(text, "before");
    free(text);
    child_result_deinit(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_stays),
        cmocka_unit_test(what_is_appended_to_stays),
        cmocka_unit_test(a_store_is_replaced_by_force_only),
        cmocka_unit_test(a_link_that_leads_nowhere_stays_one),
        cmocka_unit_test(what_ends_in_gz_is_packed),
        cmocka_unit_test(a_packed_store_is_one),
        cmocka_unit_test(a_report_that_fails_leaves_what_was_there),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
