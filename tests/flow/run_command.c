/* SPDX-License-Identifier: Apache-2.0 */
/* optrace run: what the program has of it, which is nothing, and what is left behind. */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { WORDS_MAX = 16 };

/* A folder, and the environment of commands in it: no daemon of anybody else. */
struct scene {
    char *dir, *optrace, *hello;
    char runtime[200], store[200], socket[200];
    const char *environment[8];
};

static int start(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->dir = temp_create();
    scene->optrace = place_program("client/cli/optrace");
    scene->hello = place_program("examples/hello");
    snprintf(scene->runtime, sizeof(scene->runtime), "XDG_RUNTIME_DIR=%s", scene->dir);
    snprintf(scene->store, sizeof(scene->store), "OPTRACE_STORE=%s/default.db", scene->dir);
    snprintf(scene->socket, sizeof(scene->socket), "OPTRACE_SOCKET=%s/none.sock", scene->dir);
    scene->environment[0] = scene->runtime;
    scene->environment[1] = scene->store;
    scene->environment[2] = scene->socket;
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    struct scene *scene = *state;

    temp_destroy(&scene->dir);
    free(scene->optrace);
    free(scene->hello);
    free(scene);
    return 0;
}

static struct child_options in(const struct scene *scene)
{
    return (struct child_options){.environment = scene->environment, .directory = scene->dir};
}

/* `optrace run` and these words. */
static void fill(const struct scene *scene, const char *const *words,
                 const char *argv[WORDS_MAX + 3])
{
    argv[0] = scene->optrace;
    argv[1] = "run";
    for (size_t i = 0; i == 0 || words[i - 1]; i++)
        argv[i + 2] = words[i];
}

static struct child_result run(const struct scene *scene, const char *const *words)
{
    const struct child_options options = in(scene);
    const char *argv[WORDS_MAX + 3];

    fill(scene, words, argv);
    return child_run(argv, &options);
}

static void begin(struct child *child, const struct scene *scene, const char *const *words)
{
    const struct child_options options = in(scene);
    const char *argv[WORDS_MAX + 3];

    fill(scene, words, argv);
    child_start(child, argv, &options);
}

#define LIST(...)       ((const char *const[]){__VA_ARGS__, NULL})
#define RUN(state, ...) run(*(state), LIST(__VA_ARGS__))

/* It ends so, and standard error is exactly that, or contains it when it ends in "...". */
static void expect(struct child_result result, int status, const char *err)
{
    const size_t length = strlen(err);

    if (result.status != status)
        fail_msg("status %d, not %d: %s%s", result.status, status, result.out, result.err);
    if (length > 3 && strcmp(err + length - 3, "...") == 0) {
        char *part = strndup(err, length - 3);

        CHECK_CONTAINS(result.err, part);
        free(part);
    } else {
        assert_string_equal(result.err, err);
    }
    child_result_deinit(&result);
}

/* The integer that a query on a store in the scene's folder answers. */
static int64_t query(const struct scene *scene, const char *store, const char *sql)
{
    struct optraced view = {.store = temp_path(scene->dir, store)};
    const int64_t answer = optraced_query(&view, sql);

    free(view.store);
    return answer;
}

/* Only what it was asked to leave. */
static void expect_left(const struct scene *scene, const char *pattern)
{
    char command[300];
    struct child_result result;

    snprintf(command, sizeof(command), "cd %s && ls -d optrace-run.* %s 2>/dev/null | wc -l",
             scene->dir, pattern);
    result = child_run(LIST("sh", "-c", command), NULL);
    assert_string_equal(result.out, "0\n");
    child_result_deinit(&result);
}

static void a_program_is_recorded_into_a_file(void **state)
{
    const struct scene *scene = *state;
    struct child_result result = RUN(state, "-o", "a.db", "--", scene->hello);

    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "c[1] = 13890");
    CHECK_CONTAINS(result.err, "optrace: 1 session, 20 events, none lost, in a.db\n");
    CHECK_CONTAINS(result.err, "optrace: recording took about ");
    CHECK_CONTAINS(result.err, "optrace: see it with: profile_analyze a.db\n");
    CHECK_U64((uint64_t)query(scene, "a.db", "SELECT count(*) FROM run"), 10);
    CHECK_U64(
        (uint64_t)query(scene, "a.db", "SELECT count(*) FROM session WHERE end_reason = 'done'"),
        1);
    child_result_deinit(&result);
    expect_left(scene, "");
}

static void a_store_is_added_to_and_replaced_by_force_alone(void **state)
{
    const struct scene *scene = *state;

    expect(RUN(state, "-o", "b.db", scene->hello), 0, "1 session, ...");
    expect(RUN(state, "-o", "b.db", scene->hello), 4,
           "optrace run: b.db is there already; --force replaces it, --store in place of -o adds "
           "to it\n");
    expect(RUN(state, "--store", "b.db", scene->hello), 0, "1 session, 20 events, ...");
    CHECK_U64((uint64_t)query(scene, "b.db", "SELECT count(*) FROM session"), 2);
    expect(RUN(state, "-f", "-o", "b.db", scene->hello), 0, "1 session, ...");
    CHECK_U64((uint64_t)query(scene, "b.db", "SELECT count(*) FROM session"), 1);
    expect(RUN(state, "--force", "--store", "b.db", scene->hello), 2,
           "optrace run: --force replaces the file of --output...");
    expect(RUN(state, "--store", "b.db", scene->hello), 0, "1 session, 20 events, ...");
    CHECK_U64((uint64_t)query(scene, "b.db", "SELECT count(*) FROM session"), 2);
    expect(RUN(state, "-f", "-o", "b.db", "no-such-program"), 127,
           "optrace run: cannot run no-such-program: No such file or directory\n");
    CHECK_U64((uint64_t)query(scene, "b.db", "SELECT count(*) FROM session"), 2);
}

static void the_default_store_is_written_where_no_daemon_listens(void **state)
{
    const struct scene *scene = *state;

    expect(RUN(state, "--", scene->hello), 0, "see it with: profile_analyze\n...");
    CHECK_U64((uint64_t)query(scene, "default.db", "SELECT count(*) FROM session"), 1);
}

static void the_daemon_that_listens_records(void **state)
{
    struct scene scene = *(struct scene *)*state;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    snprintf(scene.socket, sizeof(scene.socket), "OPTRACE_SOCKET=%s", daemon.socket);
    scene.environment[2] = scene.socket;
    expect(run(&scene, LIST("--", scene.hello)), 0,
           "optrace: recorded by the daemon that listens on ...");
    expect(run(&scene, LIST("--", scene.hello)), 0, "optrace: see it with: profile_analyze /...");
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 2);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static void the_end_is_the_programs_own(void **state)
{
    expect(RUN(state, "-q", "-f", "-o", "c.db", "--", "sh", "-c", "exit 7"), 7, "");
    expect(RUN(state, "-q", "-f", "-o", "c.db", "--", "sh", "-c", "kill -TERM $$"), 128 + SIGTERM,
           "");
    expect(RUN(state, "-q", "-f", "-o", "c.db", "--", "sh", "-c", "kill -KILL $$"), 128 + SIGKILL,
           "");
    expect(RUN(state, "-q", "-f", "-o", "c.db", "--", "sh", "-c", "kill -SEGV $$"), 128 + SIGSEGV,
           "");
    expect(RUN(state, "-f", "-o", "c.db", "--", "true"), 0, "optrace: nothing was recorded...");
    expect_left(*state, "core*");
}

/* The same command with and without. */
static void streams_are_the_programs_own(void **state)
{
    static const char command[] = "echo in | %s sh -c 'cat; echo err >&2; ls /proc/self/fd'";
    const struct scene *scene = *state;
    const struct child_options options = in(scene);
    struct child_result with, without;
    char text[400], ours[300];

    snprintf(text, sizeof(text), command, "");
    without = child_run(LIST("sh", "-c", text), &options);
    snprintf(ours, sizeof(ours), "%s run -q -o d.db --", scene->optrace);
    snprintf(text, sizeof(text), command, ours);
    with = child_run(LIST("sh", "-c", text), &options);
    CHECK_CONTAINS(without.out, "in\n0\n1\n");
    assert_string_equal(with.out, without.out);
    assert_string_equal(with.err, "err\n");
    child_result_deinit(&with);
    child_result_deinit(&without);
}

/* --- Signals --- */

/* No shell: one that waits for a child may take an interrupt for the child's. */
static void signals_are_passed_on(void **state)
{
    static const int signals[] = {SIGTERM, SIGHUP, SIGUSR1, SIGINT, SIGWINCH, SIGTSTP};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        char command[300], wanted[20];
        struct child child;

        snprintf(command, sizeof(command),
                 "import os, signal, time\n"
                 "def end(number, frame):\n"
                 "    os.write(1, b'got %%d' %% number)\n"
                 "    os._exit(3)\n"
                 "signal.signal(%d, end)\n"
                 "os.write(1, b'ready')\n"
                 "while True: time.sleep(0.01)\n",
                 signals[i]);
        snprintf(wanted, sizeof(wanted), "got %d", signals[i]);
        begin(&child, *state,
              LIST("-q", "-f", "-o", "e.db", "--", "/usr/bin/python3", "-c", command));
        assert_true(child_wait_text(&child, "ready", WAIT_MS));
        kill(child.pid, signals[i]);
        assert_int_equal(child_wait(&child, WAIT_MS), 3);
        CHECK_CONTAINS(child.out, wanted);
        child_deinit(&child);
    }
}

static void one_that_kills_the_program_kills_this_too(void **state)
{
    struct child child;

    begin(&child, *state,
          LIST("-q", "-f", "-o", "e.db", "--", "sh", "-c", "echo ready; exec sleep 60"));
    assert_true(child_wait_text(&child, "ready", WAIT_MS));
    kill(child.pid, SIGTERM);
    assert_int_equal(child_wait(&child, WAIT_MS), 128 + SIGTERM);
    child_deinit(&child);
    expect_left(*state, "");
}

static bool is_stopped(void *context)
{
    const struct child *child = context;
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child->pid;
}

/* As a shell's job, with a parent outside of its group: the kernel stops no others so. */
static int be_a_job(void *context)
{
    const struct scene *scene = context;
    const char *argv[WORDS_MAX + 3];

    fill(scene,
         LIST("-q", "-o", "f.db", "--", "sh", "-c", "echo ready; kill -TSTP $$; echo on; exit 5"),
         argv);
    for (size_t i = 0; scene->environment[i]; i++)
        putenv((char *)scene->environment[i]);
    if (setpgid(0, 0) < 0 || chdir(scene->dir) < 0)
        return 1;
    execv(argv[0], (char *const *)argv);
    return 1;
}

/* As a shell does it: the terminal stops the group, `fg` lets it go on. */
static void a_stop_of_the_terminal_is_seen_outside(void **state)
{
    struct child child;

    child_start_function(&child, be_a_job, *state);
    assert_true(child_wait_text(&child, "ready", WAIT_MS));
    assert_true(wait_until(is_stopped, &child, WAIT_MS));
    kill(child.pid, SIGCONT);
    assert_int_equal(child_wait(&child, WAIT_MS), 5);
    CHECK_CONTAINS(child.out, "on\n");
    child_deinit(&child);
}

static void ignored_signals_stay_ignored(void **state)
{
    const struct scene *scene = *state;
    const struct child_options options = in(scene);
    struct child_result result;

    result = child_run(LIST("env", "--default-signal", "--ignore-signal=HUP",
                            "--ignore-signal=CHLD", scene->optrace, "run", "-q", "-o", "g.db", "--",
                            "grep", "^Sig", "/proc/self/status"),
                       &options);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "SigIgn:\t0000000000010001\n");
    CHECK_CONTAINS(result.out, "SigBlk:\t0000000000000000\n");
    child_result_deinit(&result);
}

/* --- What else may be there --- */

static bool is_gone(void *context)
{
    return access(context, F_OK) < 0;
}

/* hello waits in the background for a word that comes after the command has ended. */
static void programs_that_stay_are_recorded_on(void **state)
{
    const struct scene *scene = *state;
    char *control = place_program("tests/flow/control_program");
    char command[500], folder[100] = "";
    struct child_result result;
    struct child child;

    /* 200 runs of 2 ms; the command itself ends as soon as the first is under way. */
    snprintf(command, sizeof(command),
             "%s stays 600 > out & until grep -q running out; do sleep 0.01; done;"
             " dirname $OPTRACE_SOCKET",
             control);
    begin(&child, scene, LIST("-o", "h.db", "--", "sh", "-c", command));
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    CHECK_CONTAINS(child.err, "optrace: 1 program is still recording there\n");
    assert_int_equal(sscanf(child.out, "%99s", folder), 1);
    assert_true(wait_until(is_gone, folder, WAIT_MS));
    CHECK_U64((uint64_t)query(scene, "h.db", "SELECT count(*) FROM run WHERE end_ns IS NOT NULL"),
              600);
    child_deinit(&child);
    result = RUN(state, "-f", "-o", "h.db", "--", "true"); /* it is free again */
    assert_int_equal(result.status, 0);
    child_result_deinit(&result);
    free(control);
}

static void a_killed_command_leaves_no_daemon(void **state)
{
    char folder[100] = "";
    struct child child;

    begin(&child, *state,
          LIST("-o", "i.db", "--", "sh", "-c", "dirname $OPTRACE_SOCKET; exec sleep 60"));
    assert_true(child_wait_text(&child, "\n", WAIT_MS));
    assert_int_equal(sscanf(child.out, "%99s", folder), 1);
    child_kill(&child, SIGKILL);
    assert_true(wait_until(is_gone, folder, WAIT_MS));
    child_deinit(&child);
}

static void what_is_killed_is_in_the_store(void **state)
{
    const struct scene *scene = *state;
    char *control = place_program("tests/flow/control_program");

    expect(RUN(state, "-o", "j.db", "--", "timeout", "-s", "KILL", "0.5", control, "killed"),
           128 + SIGKILL, "1 session, ...");
    assert_true(query(scene, "j.db", "SELECT count(*) FROM run WHERE end_ns IS NOT NULL") > 10);
    CHECK_U64(
        (uint64_t)query(scene, "j.db", "SELECT count(*) FROM session WHERE end_reason = 'died'"),
        1);
    free(control);
}

static void mistakes_are_one_sentence(void **state)
{
    const struct scene *scene = *state;

    free(temp_write(scene->dir, "text", "no store\n", 9));
    expect(RUN(state, "-o", "text", "--", "true"), 3,
           "optrace run: text is not a store of optrace, and is left as it is\n");
    expect(RUN(state, "-o", ".", "--", "true"), 3, "optrace run: . is not a regular file\n");
    expect(RUN(state, "--store", "text", "--", "true"), 4, "optrace run: the daemon: ...");
    expect(RUN(state, "-o", "/proc/nowhere.db", "--", "true"), 4,
           "optrace run: the daemon: cannot make /proc/nowhere.db...");
    expect(RUN(state, "-o", "k.db", "--", "./text"), 126,
           "optrace run: cannot run ./text: Permission denied\n");
    expect(RUN(state, "-o", "k.db"), 2, "optrace run: name the program to record...");
    expect(RUN(state, "-o", "k.db", "--store", "l.db", "true"), 2, "give one of them...");
    expect_left(scene, "k.db l.db");
}

static void settings_are_printed(void **state)
{
    struct scene scene = *(struct scene *)*state;
    struct child_result result = run(&scene, LIST("--print-env"));

    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "NVTX_INJECTION64_PATH=/");
    CHECK_CONTAINS(result.out, "INTEL_LIBITTNOTIFY64=/");
    CHECK_LACKS(result.out, "OPTRACE_SOCKET");
    CHECK_LACKS(result.out, "CUDA");
    CHECK_LACKS(result.out, "TORCHINDUCTOR");
    CHECK_CONTAINS(result.out, "CUBLAS_NVTX_LEVEL=2\nCUBLASLT_NVTX_LEVEL=1\nCUDNN_NVTX_LEVEL=2\n");
    child_result_deinit(&result);
    scene.environment[3] = "CUBLAS_NVTX_LEVEL=0";
    result = run(&scene, LIST("--print-env", "--sources", "nvtx"));
    CHECK_LACKS(result.out, "CUBLAS_NVTX_LEVEL");
    CHECK_CONTAINS(result.out, "CUDNN_NVTX_LEVEL=2\n");
    child_result_deinit(&result);
    scene.environment[3] = NULL;
    result = run(&scene, LIST("--print-env", "--sources", "itt"));
    CHECK_LACKS(result.out, "NVTX_LEVEL");
    child_result_deinit(&result);
    result = run(&scene, LIST("--print-env", "--gpu", "node"));
    CHECK_CONTAINS(result.out, "OPTRACE_GPU=node\n");
    CHECK_CONTAINS(result.out, "CUDA_INJECTION64_PATH=/");
    child_result_deinit(&result);
    result = run(&scene, LIST("--print-env", "--inductor-kernels"));
    CHECK_CONTAINS(result.out, "\nTORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1\n");
    assert_string_equal(result.err, "");
    child_result_deinit(&result);
    scene.environment[3] = "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=0";
    result = run(&scene, LIST("--print-env", "--inductor-kernels"));
    CHECK_LACKS(result.out, "TORCHINDUCTOR");
    assert_string_equal(result.err, "optrace run: left as it is: "
                                    "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE is 0\n");
    child_result_deinit(&result);
    scene.environment[3] = "NVTX_INJECTION64_PATH=/opt/other.so";
    result = run(&scene, LIST("--print-env", "--sources", "nvtx"));
    assert_string_equal(result.out, "OPTRACE_SOURCES=nvtx\n");
    assert_string_equal(result.err, "optrace run: left as it is: NVTX_INJECTION64_PATH is"
                                    " /opt/other.so\n");
    child_result_deinit(&result);
    expect(run(&scene, LIST("-o", "n.db", "--", "sh", "-c", "echo $NVTX_INJECTION64_PATH >&2")), 0,
           "/opt/other.so\noptrace: recorded by another tool, or by none: NVTX_INJECTION64_PATH is"
           " /opt/other.so\n...");
    expect(
        run(&scene, LIST("--sources", "itt,rocm", "true")), 2,
        "optrace run: --sources takes a list of nvtx, itt, blas, onednn, ort, ggml, torch, tensorflow, "
        "ctranslate2, cublas, cudnn and cuda, not "
        "'rocm'\n...");
    expect(run(&scene, LIST("--nodes", "2/3", "true")), 2,
           "optrace run: --nodes takes off, all, or 1/N, as in 1/20 for one run in twenty, not "
           "'2/3'\n...");
    expect(run(&scene, LIST("--runs-by", "(step", "true")), 2,
           "optrace run: --runs-by takes a regular expression, not '(step': ...");
    expect(run(&scene, LIST("--print-env", "true")), 2, "optrace run: --print-env runs nothing...");
}

/* A copy of a program with this mode; without an interpreter it passes for a static program. */
static void copy_program(const struct scene *scene, const char *from, const char *name, mode_t mode,
                         bool is_static)
{
    size_t size;
    char *bytes = temp_read(from, &size), *path;
    Elf64_Ehdr head;

    memcpy(&head, bytes, sizeof(head));
    for (size_t i = 0; is_static && i < head.e_phnum; i++) {
        Elf64_Phdr part;
        char *place = bytes + head.e_phoff + i * head.e_phentsize;

        memcpy(&part, place, sizeof(part));
        if (part.p_type == PT_INTERP)
            part.p_type = PT_NULL;
        memcpy(place, &part, sizeof(part));
    }
    path = temp_write(scene->dir, name, bytes, size);
    if (geteuid() == 0 && mode & S_ISUID)
        CHECK_OK(chown(path, 65534, 65534));
    CHECK_OK(chmod(path, mode));
    free(path);
    free(bytes);
}

static void closed_programs_are_told(void **state)
{
    copy_program(*state, "/bin/true", "static", 0700, true);
    expect(RUN(state, "-o", "o.db", "--", "./static"), 128 + SIGSEGV,
           "optrace: nothing was recorded: ./static is a static program, into which no library "
           "gets\n");
    if (geteuid() != 0)
        return;
    copy_program(*state, "/bin/true", "setuid", 04755, false);
    expect(RUN(state, "-f", "-o", "o.db", "--", "./setuid"), 0,
           "optrace: nothing was recorded: ./setuid runs with rights that its caller has not, into "
           "which no library gets\n");
}

static void what_is_preloaded_stays(void **state)
{
    static const char other[] = "/lib/x86_64-linux-gnu/libm.so.6";
    struct scene scene = *(struct scene *)*state;
    char variable[100], wanted[100];
    struct child_result result;

    if (access(other, R_OK) < 0)
        CHECK_SKIP("there is no library to preload");
    snprintf(variable, sizeof(variable), "LD_PRELOAD=%s", other);
    snprintf(wanted, sizeof(wanted), "LD_PRELOAD=%s:/", other);
    scene.environment[3] = variable;
    result = run(&scene, LIST("--print-env"));
    CHECK_CONTAINS(result.out, wanted);
    child_result_deinit(&result);
    result = run(&scene, LIST("--print-env", "--sources", "itt"));
    CHECK_LACKS(result.out, "LD_PRELOAD");
    child_result_deinit(&result);
}

static void two_commands_do_not_share_a_file(void **state)
{
    struct child child;

    begin(&child, *state, LIST("-o", "m.db", "--", "sh", "-c", "echo ready; exec sleep 60"));
    assert_true(child_wait_text(&child, "ready", WAIT_MS));
    expect(RUN(state, "-o", "m.db", "--", "true"), 4,
           "optrace run: a daemon is writing to m.db already\n");
    child_kill(&child, SIGTERM);
    child_deinit(&child);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_program_is_recorded_into_a_file),
        CASE(a_store_is_added_to_and_replaced_by_force_alone),
        CASE(the_default_store_is_written_where_no_daemon_listens),
        CASE(the_daemon_that_listens_records),
        CASE(the_end_is_the_programs_own),
        CASE(streams_are_the_programs_own),
        CASE(signals_are_passed_on),
        CASE(one_that_kills_the_program_kills_this_too),
        CASE(a_stop_of_the_terminal_is_seen_outside),
        CASE(ignored_signals_stay_ignored),
        CASE(programs_that_stay_are_recorded_on),
        CASE(a_killed_command_leaves_no_daemon),
        CASE(what_is_killed_is_in_the_store),
        CASE(mistakes_are_one_sentence),
        CASE(settings_are_printed),
        CASE(closed_programs_are_told),
        CASE(what_is_preloaded_stays),
        CASE(two_commands_do_not_share_a_file),
    };

    return AT_ONCE_RUN(tests, 4);
}
