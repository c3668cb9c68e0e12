/* SPDX-License-Identifier: Apache-2.0 */
/* The last lines of optrace run: which sources the programs had, which they had not and why; what
 * their sessions are called. */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

enum { WORDS_MAX = 20 };

struct scene {
    char *dir, *optrace, *nvtx, *blas;
    char store[200], socket[200];
    const char *environment[5];
};

static int start(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->dir = temp_create();
    scene->optrace = place_program("client/cli/optrace");
    scene->nvtx = place_program("tests/flow/inject_nvtx_program");
    scene->blas = place_program("tests/flow/inject_blas_program");
    snprintf(scene->store, sizeof(scene->store), "OPTRACE_STORE=%s/default.db", scene->dir);
    snprintf(scene->socket, sizeof(scene->socket), "OPTRACE_SOCKET=%s/none.sock", scene->dir);
    scene->environment[0] = scene->store;
    scene->environment[1] = scene->socket;
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    struct scene *scene = *state;

    temp_destroy(&scene->dir);
    free(scene->optrace);
    free(scene->nvtx);
    free(scene->blas);
    free(scene);
    return 0;
}

/* `optrace run -f -o a.db` and these words; it ends well. */
static struct child_result run(const struct scene *scene, const char *const *words)
{
    const struct child_options options = {.environment = scene->environment,
                                          .directory = scene->dir};
    const char *argv[WORDS_MAX + 5] = {scene->optrace, "run", "-f", "-o", "a.db"};
    struct child_result result;

    for (size_t i = 0; words[i] && i < WORDS_MAX; i++)
        argv[i + 5] = words[i];
    result = child_run(argv, &options);
    if (result.status != 0)
        fail_msg("status %d: %s%s", result.status, result.out, result.err);
    return result;
}

#define RUN(state, ...) run(*(state), (const char *const[]){__VA_ARGS__, NULL})

/* Standard error has this in it, and at most four lines of ours. */
static void expect(struct child_result result, const char *text)
{
    unsigned lines = 0;

    CHECK_CONTAINS(result.err, text);
    for (const char *at = result.err; (at = strstr(at, "optrace: ")); at++)
        lines++;
    if (lines > 4)
        fail_msg("%u lines: %s", lines, result.err);
    child_result_deinit(&result);
}

static int64_t query(const struct scene *scene, const char *sql)
{
    struct optraced view = {.store = temp_path(scene->dir, "a.db")};
    const int64_t answer = optraced_query(&view, sql);

    free(view.store);
    return answer;
}

static void each_program_tells_its_sources(void **state)
{
    const struct scene *scene = *state;
    char command[600];

    expect(RUN(state, "--", scene->nvtx, "ranges"), "): nvtx\noptrace: recording took");
    snprintf(command, sizeof(command), "%s ranges & %s products; wait", scene->nvtx, scene->blas);
    expect(RUN(state, "--", "sh", "-c", command), "optrace: 2 sessions, ");
    expect(RUN(state, "--", "sh", "-c", command), "): blas");
    expect(RUN(state, "--", "sh", "-c", command), "): nvtx");
    expect(RUN(state, "--", "sh", "-c", command), " | inject_");
    snprintf(command, sizeof(command), "%s ranges; %s ranges", scene->nvtx, scene->nvtx);
    expect(RUN(state, "--", "sh", "-c", command), "optrace: 2 x inject_nvtx_program: nvtx\n");
    CHECK_U64((uint64_t)query(scene, "SELECT count(*) FROM op WHERE type = 'source'"), 2);
    CHECK_U64((uint64_t)query(scene, "SELECT count(*) FROM v_event WHERE op_type = 'source'"), 0);
}

static void what_was_asked_for_and_not_found_is_told(void **state)
{
    struct scene scene = *(struct scene *)*state;
    const char *const words[] = {"--sources", "itt,blas,nvtx,cuda", "--", scene.nvtx, "ranges",
                                 NULL};

    expect(run(&scene, words),
           "): nvtx; not itt (not called), blas (not called), cuda (--gpu is not given)\n");
    scene.environment[2] = "INTEL_LIBITTNOTIFY64=/opt/other.so";
    expect(run(&scene, words), "): nvtx; not itt (another tool has INTEL_LIBITTNOTIFY64), blas");
    expect(run(&scene, words), "; recorded by another tool, or by none: INTEL_LIBITTNOTIFY64 is "
                               "/opt/other.so\n");
}

static void what_is_too_old_is_told(void **state)
{
    char *program = place_program("tests/flow/inject_ort_loader");
    char *old = place_program("tests/flow/libinject_ort_17.so");
    char *new = place_program("tests/flow/libinject_ort_30.so");

    expect(RUN(state, "--", program, "17", old),
           "): ort 1.17.0 (runs only: nodes are told from 1.25 on)\n");
    expect(RUN(state, "--", program, "17", new), "): ort 1.30.0\n");
    free(new);
    free(old);
    free(program);
}

/* A program with the texts of a library that is in it. */
static void what_is_static_is_told(void **state)
{
    static const char text[] = "GGML_ASSERT(";
    const struct scene *scene = *state;
    size_t size;
    char *bytes, *path;

    bytes = temp_read("/bin/true", &size);
    bytes = realloc(bytes, size + sizeof(text));
    memcpy(bytes + size, text, sizeof(text));
    path = temp_write(scene->dir, "llama", bytes, size + sizeof(text));
    CHECK_OK(chmod(path, 0700));
    expect(RUN(state, "--", "./llama"), "optrace: nothing was recorded: ./llama has ggml in itself "
                                        "(static), where no hook gets in between\n");
    expect(RUN(state, "--sources", "nvtx", "--", "./llama"), "no process of it calls");
    free(path);
    free(bytes);
    bytes = temp_read(scene->nvtx, &size);
    bytes = realloc(bytes, size + sizeof(text));
    memcpy(bytes + size, text, sizeof(text));
    path = temp_write(scene->dir, "whisper", bytes, size + sizeof(text));
    CHECK_OK(chmod(path, 0700));
    expect(RUN(state, "--sources", "nvtx,ggml,torch", "--", "./whisper", "ranges"),
           "): nvtx; not ggml (static in whisper), torch (not called)\n");
    free(path);
    free(bytes);
}

/* What profile_analyze prints of the store with these options. */
static void expect_report(const struct scene *scene, const char *options, const char *text)
{
    char *analyze = place_program("analyze/profile_analyze"), command[600];
    struct child_result result;

    snprintf(command, sizeof(command), "%s %s/a.db %s", analyze, scene->dir, options);
    result = child_run((const char *const[]){"sh", "-c", command, NULL}, NULL);
    CHECK_CONTAINS(result.out, text);
    child_result_deinit(&result);
    free(analyze);
}

static void what_is_in_no_run_is_told_with_the_option(void **state)
{
    const struct scene *scene = *state;

    child_result_deinit(&(struct child_result[]){RUN(state, "--", scene->blas, "products")}[0]);
    expect_report(scene, "", "no runs (optrace run --runs-by makes some)");
    expect_report(
        scene, "--report types",
        "What ran outside of any run is in none: `optrace run --runs-by REGEX` begins one "
        "with each op or label of that name.");
    /* The source itself is no op. */
    expect_report(scene, "--list --format json", "\"op_count\": 4,");
    child_result_deinit(&(struct child_result[]){
        RUN(state, "--runs-by", "^zgemm", "--", scene->blas, "products")}[0]);
    expect_report(scene, "-t 3", "`optrace run --runs-by REGEX` begins one");
}

static void sessions_are_called_by_a_label(void **state)
{
    const struct scene *scene = *state;
    const struct child_options options = {.environment = scene->environment,
                                          .directory = scene->dir};
    struct child_result result;

    expect(RUN(state, "--label", "with it's cache", "--sources", "nvtx,blas", "--", scene->nvtx,
               "ranges"),
           "optrace: with it's cache (pid ");
    CHECK_U64((uint64_t)query(scene, "SELECT count(*) FROM session WHERE program ="
                                     " 'with it''s cache' AND command LIKE '%nvtx%'"),
              1);
    result = child_run(
        (const char *const[]){scene->optrace, "run", "--label", "a\nb", "true", NULL}, &options);
    assert_int_equal(result.status, 2);
    CHECK_CONTAINS(result.err, "--label takes a text of one line");
    child_result_deinit(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_program_tells_its_sources, start, stop),
        cmocka_unit_test_setup_teardown(what_was_asked_for_and_not_found_is_told, start, stop),
        cmocka_unit_test_setup_teardown(what_is_too_old_is_told, start, stop),
        cmocka_unit_test_setup_teardown(what_is_static_is_told, start, stop),
        cmocka_unit_test_setup_teardown(what_is_in_no_run_is_told_with_the_option, start, stop),
        cmocka_unit_test_setup_teardown(sessions_are_called_by_a_label, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
