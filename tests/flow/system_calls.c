/* SPDX-License-Identifier: Apache-2.0 */
/* A program under a filter that ends it at any system call but those of docs/system-calls.md, and
 * the few that it makes itself. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/wait.h"

/* Columns of the page: when a call is made. */
enum { START = 1, FIRST_RECORD = 2, HOUSEKEEPING = 4, END = 8, COLUMNS = 4, ANY_TIME = 15 };

#define CALL(name)                                                                                 \
    {                                                                                              \
#name, SYS_##name, 0                                                                       \
    }
static struct {
    const char *name;
    long number;
    unsigned when; /* as the page says */
} calls[] = {
    CALL(brk),       CALL(mmap),           CALL(munmap),          CALL(futex),
    CALL(access),    CALL(newfstatat),     CALL(openat),          CALL(read),
    CALL(close),     CALL(readlink),       CALL(uname),           CALL(getpid),
    CALL(geteuid),   CALL(getrandom),      CALL(clock_nanosleep), CALL(socket),
    CALL(connect),   CALL(fcntl),          CALL(sendmsg),         CALL(recvfrom),
    CALL(poll),      CALL(gettid),         CALL(prctl),           CALL(memfd_create),
    CALL(prlimit64), CALL(rt_sigprocmask), CALL(rt_sigtimedwait), CALL(ftruncate),
    CALL(madvise),   CALL(fallocate),
};

/* Of this program: threads, fork(), closefrom(), what it says, its end. */
static const long own_calls[] = {
    SYS_clone,    SYS_clone3,       SYS_rt_sigaction,    SYS_set_robust_list, SYS_rseq,
    SYS_mprotect, SYS_exit,         SYS_wait4,           SYS_close_range,     SYS_exit_group,
    SYS_write,    SYS_rt_sigreturn, SYS_restart_syscall, SYS_tgkill,
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]), OWN = sizeof(own_calls) / sizeof(own_calls[0]) };

/* `| `name` | x | | x | | text |` */
static bool parse_row(const char *line, char *out_name, unsigned *out_when)
{
    const char *at;

    if (sscanf(line, "| `%63[a-z0-9_]` |", out_name) != 1)
        return false;
    *out_when = 0;
    at = strchr(line + 1, '|');
    for (int i = 0; i < COLUMNS && at; i++) {
        *out_when |= strncmp(at, "| x |", 5) == 0 ? 1U << i : 0;
        at = strchr(at + 1, '|');
    }
    return true;
}

/* The page has a row for each of the calls here, and for no other. */
static int read_page(void **state)
{
    char *path = place_source("docs/system-calls.md"), line[512];
    FILE *file = fopen(path, "r");
    size_t rows = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        char name[64];
        unsigned when;
        bool is_known = false;

        if (!parse_row(line, name, &when))
            continue;
        for (size_t i = 0; i < CALLS; i++) {
            if (strcmp(calls[i].name, name) == 0) {
                is_known = true;
                calls[i].when = when;
            }
        }
        if (!is_known || when == 0)
            fail_msg("%s is listed and not tried, or has no column", name);
        rows++;
    }
    assert_int_equal(rows, CALLS);
    fclose(file);
    free(path);
    return 0;
}

static void allow_only_these(unsigned when)
{
    struct sock_filter code[2 * (CALLS + OWN) + 2];
    struct sock_fprog program = {.filter = code};
    size_t at = 0;

    code[at++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALLS + OWN; i++) {
        const long number = i < CALLS ? calls[i].number : own_calls[i - CALLS];

        if (i < CALLS && !(calls[i].when & when))
            continue;
        code[at++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    program.len = (unsigned short)at;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(9);
}

static uint32_t op;

static void record(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        optrace_end(optrace_begin(op));
}

static void *record_in_thread(void *context)
{
    record(300);
    return context;
}

static void run_threads(void)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, record_in_thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void say(const char *word)
{
    if (write(STDOUT_FILENO, word, strlen(word)) < 0)
        _exit(8);
}

/* All that the library does: also rings that are full, a schedule, a daemon that is killed and
 * comes back, descriptors that are closed, a child. Exit status 0, or that of what failed. */
static int do_everything(void *context)
{
    const struct optraced *daemon = context;
    const struct optrace_config config = {.socket_path = daemon->socket,
                                          .ring_records = 128,
                                          .connect_timeout_ms = WAIT_MS,
                                          .exit_timeout_ms = WAIT_MS,
                                          .schedule = "active=1000,repeat=1"};
    struct optrace_run run;
    int status;
    pid_t pid;

    allow_only_these(ANY_TIME);
    if (optrace_start(&config) < 0)
        return 2;
    op = optrace_label("work");
    run = optrace_run_begin(0, 0);
    record(1000);
    run_threads();
    if (optrace_flush(WAIT_MS) < 0)
        return 3;
    say("kill it\n");
    while (optrace_flush(10) == 0)
        record(10);
    say("start it\n");
    while (optrace_flush(WAIT_MS) < 0)
        record(10);
    closefrom(3);
    record(100);
    optrace_label("later");
    if (optrace_flush(WAIT_MS) < 0)
        return 4;
    run_threads();
    pid = fork();
    if (pid == 0) {
        record(10);
        exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return 5;
    optrace_run_end(run);
    optrace_stop();
    say("done\n");
    exit(0);
}

static void no_other_call_is_made(void **state)
{
    struct optraced daemon;
    struct child child;
    int status;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    child_start_function(&child, do_everything, &daemon);
    if (child_wait_text(&child, "kill it", WAIT_MS)) {
        optraced_kill(&daemon);
        if (child_wait_text(&child, "start it", WAIT_MS))
            optraced_start(&daemon, NULL);
    }
    status = child_wait(&child, WAIT_MS);
    if (status != 0)
        fail_msg("status %d (159 is SIGSYS) after: %s%s", status, child.out, child.err);
    CHECK_CONTAINS(child.out, "done");
    child_deinit(&child);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

static int start(const struct optraced *daemon)
{
    const struct optrace_config config = {.socket_path = daemon->socket,
                                          .ring_records = 128,
                                          .connect_timeout_ms = WAIT_MS,
                                          .exit_timeout_ms = WAIT_MS};

    if (optrace_start(&config) < 0)
        return 2;
    op = optrace_label("work");
    return 0;
}

static void record_in_handler(int signal)
{
    (void)signal;
    record(10);
}

/* raise() asks the kernel who this is. */
static void signal_this_thread(pid_t self)
{
    syscall(SYS_tgkill, self, self, SIGUSR1);
}

/* A filter that a program installs when it has started to record, and what it goes on with. */
static int filter_after_start(void *context)
{
    const pid_t self = getpid(); /* of the first thread, too */
    int rc = start(context), status;
    pid_t pid;

    if (rc != 0)
        return rc;
    signal(SIGUSR1, record_in_handler);
    allow_only_these(FIRST_RECORD | HOUSEKEEPING | END);
    signal_this_thread(self); /* the first record of the thread */
    record(1000);
    run_threads();
    pid = fork();
    if (pid == 0) {
        record(10);
        exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return 3;
    if (optrace_flush(WAIT_MS) < 0)
        return 4;
    say("done\n");
    exit(0); /* and its goodbye */
}

/* The same once each of its threads has recorded. */
static int filter_after_first_record(void *context)
{
    const pid_t self = getpid();
    int rc = start(context);

    if (rc != 0)
        return rc;
    signal(SIGUSR1, record_in_handler);
    record(10);
    allow_only_these(HOUSEKEEPING | END);
    for (int i = 0; i < 20; i++) {
        record(100);
        signal_this_thread(self);
        if (optrace_flush(WAIT_MS) < 0)
            return 3;
    }
    closefrom(3);
    record(100);
    if (optrace_flush(WAIT_MS) < 0)
        return 4;
    say("done\n");
    exit(0);
}

/* Nothing but the end. */
static int filter_before_stop(void *context)
{
    int rc = start(context);

    if (rc != 0)
        return rc;
    record(100);
    allow_only_these(END);
    optrace_stop();
    say("done\n");
    exit(0);
}

static int filter_before_exit(void *context)
{
    int rc = start(context);

    if (rc != 0)
        return rc;
    record(100);
    allow_only_these(END);
    say("done\n");
    exit(0);
}

static void calls_are_made_when_the_page_says(void **state)
{
    static const struct {
        const char *name;
        int (*run)(void *context);
    } programs[] = {
        {"after start", filter_after_start},
        {"after the first record", filter_after_first_record},
        {"before stop", filter_before_stop},
        {"before exit", filter_before_exit},
    };
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        struct child child;
        int status;

        child_start_function(&child, programs[i].run, &daemon);
        status = child_wait(&child, WAIT_MS);
        if (status != 0)
            fail_msg("a filter %s: status %d (159 is SIGSYS) after: %s%s", programs[i].name, status,
                     child.out, child.err);
        CHECK_CONTAINS(child.out, "done");
        child_deinit(&child);
    }
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_call_is_made),
        cmocka_unit_test(calls_are_made_when_the_page_says),
    };

    return cmocka_run_group_tests(tests, read_page, NULL);
}
