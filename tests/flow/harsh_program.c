/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A traced program that is hard on the library in it: closes descriptors that it does not know and
 * opens its own in their place, lowers its limits, forks.
 *
 *     harsh_program sockets | files | streams | idle
 *     harsh_program random SEED STEPS [killed]
 *
 * Each process says "PID COUNT" at its end: the spans that it began and ended while it recorded,
 * each with a correlation of its own. Exit status 0, or SEED % 100; 1 when something was done to
 * what is the program's, with a line about it on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/optrace.h"

enum { FILES = 80, WAIT_MS = 60000 };

static uint32_t op;
static uint64_t span_count;
static bool is_killed; /* the daemon, now and then, until this program has said its count */
static int failures;

/* The leak checker stops all threads at the end, which what is done to this process may prevent; it
 * says so on stderr. Called by the address sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void record(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct optrace_span span = optrace_begin(op);

        if (span.id == 0)
            continue;
        optrace_span_correlate(span, __atomic_add_fetch(&span_count, 1, __ATOMIC_RELAXED));
        optrace_end(span);
    }
}

static void fail(const char *what, int number)
{
    fprintf(stderr, "harsh_program: fd %d %s\n", number, what);
    failures++;
}

static void start(void)
{
    const struct optrace_config config = {
        .exit_timeout_ms = WAIT_MS, .connect_timeout_ms = WAIT_MS, .ring_records = 4096};

    if (optrace_start(&config) < 0)
        exit(EXIT_FAILURE);
    op = optrace_label("work");
}

static void say(const char *line)
{
    const ssize_t length = (ssize_t)strlen(line);

    if (write(STDOUT_FILENO, line, (size_t)length) != length)
        failures++;
}

static void say_count(void)
{
    char line[64];

    snprintf(line, sizeof(line), "%d %llu\n", (int)getpid(), (unsigned long long)span_count);
    say(line);
}

/* --- What is the program's: files that must stay as they are. --- */

static struct own_file {
    int fd;
    ino_t inode;
} own[FILES];
static unsigned own_count;

static void own_file(int fd)
{
    struct stat status;

    if (fd < 0 || own_count == FILES || fstat(fd, &status) < 0)
        return;
    own[own_count++] = (struct own_file){fd, status.st_ino};
}

static int open_temporary(void)
{
    char name[] = "/tmp/harsh-XXXXXX";
    int fd = mkstemp(name);

    unlink(name);
    return fd;
}

static void open_files(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        own_file(open_temporary());
}

static void open_sockets(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0) {
            own_file(pair[0]);
            own_file(pair[1]);
        }
    }
}

static void check_files(void)
{
    for (unsigned i = 0; i < own_count; i++) {
        struct stat status;
        char byte;

        if (fstat(own[i].fd, &status) < 0 || status.st_ino != own[i].inode)
            fail("was closed", own[i].fd);
        else if (S_ISSOCK(status.st_mode)
                     ? recv(own[i].fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN
                     : status.st_size > 0)
            fail("was written to", own[i].fd);
    }
}

static void close_all(void)
{
    closefrom(3);
    own_count = 0;
}

/* --- Cases. --- */

static void *record_100(void *context)
{
    record(100);
    return context;
}

/* Rings and socket are closed, and something else of the program lies there. The flushes connect
 * again; so the daemon hears of the ring again, and of new ones. */
static void close_and_open(void (*open_own)(unsigned))
{
    pthread_t thread;

    start();
    record(1000);
    close_all();
    open_own(35);
    record(500);
    for (int round = 0; round < 3; round++) {
        if (optrace_flush(WAIT_MS) < 0)
            fail("flush", round);
        record(100);
        optrace_label(round ? "late" : "later");
    }
    if (pthread_create(&thread, NULL, record_100, NULL) == 0)
        pthread_join(thread, NULL);
    check_files();
    optrace_stop();
    check_files();
}

static void *record_and_wait(void *context)
{
    record(1000);
    say("recorded\n");
    for (;;)
        pause();
    return context;
}

/* A thread records when SIGUSR1 comes, and never again; then its ring is closed. The other one goes
 * on without end, with spans that have no correlation. */
static void be_idle(void)
{
    pthread_t thread;
    sigset_t signals;
    int number;

    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    start();
    say("started\n");
    sigwait(&signals, &number);
    if (pthread_create(&thread, NULL, record_and_wait, NULL) != 0)
        exit(EXIT_FAILURE);
    while (__atomic_load_n(&span_count, __ATOMIC_RELAXED) < 1000)
        usleep(1000);
    sigwait(&signals, &number);
    close_all();
    say("closed\n");
    for (;;) {
        optrace_end(optrace_begin(op));
        usleep(1000);
    }
}

/* Started without standard streams: what is opened next is one. */
static void open_streams(void)
{
    const int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

    for (int fd = 0; fd < 3; fd++)
        close(fd);
    start();
    record(10);
    for (int fd = 0; fd < 3; fd++) {
        if (open("/dev/null", O_RDWR) != fd)
            fail("is not the program's", fd);
    }
    record(10);
    optrace_stop();
    dup2(saved, STDOUT_FILENO);
}

/* --- At random. --- */

static unsigned random_state;

static unsigned choose(unsigned limit)
{
    return (unsigned)rand_r(&random_state) % limit;
}

static void set_limit(__rlimit_resource_t what, rlim_t value)
{
    struct rlimit limit;

    getrlimit(what, &limit);
    limit.rlim_cur = value < limit.rlim_max ? value : limit.rlim_max;
    setrlimit(what, &limit);
}

static void take_a_number(void)
{
    const int wanted = 3 + (int)choose(80), fd = open_temporary();

    for (unsigned i = 0; i < own_count; i++) {
        if (own[i].fd == wanted)
            own[i] = own[--own_count];
    }
    if (fd >= 0 && fd != wanted && dup2(fd, wanted) == wanted)
        own_file(wanted);
    close(fd);
}

/* A daemon that is killed after this process has ended takes with it what it has not committed. So
 * all of it must be in the store, also what comes of rings that this daemon does not have. */
static void commit(void)
{
    for (int round = 0; is_killed && round < 3; round++) {
        while (optrace_flush(WAIT_MS) < 0 && optrace_level() != OPTRACE_OFF)
            usleep(1000);
    }
}

static void fork_once(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        span_count = 0;
        failures = 0;
        if (choose(2))
            close_all();
        record(choose(300));
        if (choose(2))
            close_all();
        record(choose(300));
        set_limit(RLIMIT_NOFILE, RLIM_INFINITY);
        commit();
        say_count();
        exit(failures ? 1 : 0);
    }
    if (pid > 0) {
        int status;

        waitpid(pid, &status, 0);
        if (status != 0)
            fail("child ended", status);
    }
}

static void *record_some(void *context)
{
    for (unsigned i = 0; i < 20; i++) {
        record(50);
        usleep(200);
    }
    return context;
}

static void record_in_a_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, record_some, NULL) == 0)
        pthread_join(thread, NULL);
}

static void step(void)
{
    switch (choose(10)) {
    case 0:
        close_all();
        break;
    case 1:
        take_a_number();
        break;
    case 2:
        open_files(choose(40));
        break;
    case 3:
        set_limit(RLIMIT_FSIZE, choose(2) ? choose(1 << 20) : RLIM_INFINITY);
        break;
    case 4:
        set_limit(RLIMIT_NOFILE, choose(2) ? choose(40) : RLIM_INFINITY);
        break;
    case 5:
        fork_once();
        break;
    case 6:
        optrace_flush(choose(100));
        break;
    case 7:
        record_in_a_thread();
        break;
    case 8:
        optrace_label(choose(2) ? "one" : "other");
        break;
    default:
        usleep(choose(20000));
    }
    record(choose(400));
}

static void be_random(unsigned seed, unsigned steps)
{
    static pthread_t worker;
    const bool has_worker = seed % 2;

    random_state = seed;
    start();
    if (has_worker)
        pthread_create(&worker, NULL, record_some, NULL);
    for (unsigned i = 0; i < steps; i++)
        step();
    if (has_worker)
        pthread_join(worker, NULL);
    set_limit(RLIMIT_NOFILE, RLIM_INFINITY);
    set_limit(RLIMIT_FSIZE, RLIM_INFINITY);
    check_files();
    commit();
    say_count();
    optrace_stop();
    check_files();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    unsigned seed = 0;

    if (strcmp(what, "sockets") == 0) {
        close_and_open(open_sockets);
    } else if (strcmp(what, "files") == 0) {
        close_and_open(open_files);
    } else if (strcmp(what, "streams") == 0) {
        open_streams();
    } else if (strcmp(what, "idle") == 0) {
        be_idle();
    } else if (strcmp(what, "random") == 0 && argc >= 4) {
        seed = (unsigned)strtoul(argv[2], NULL, 10);
        is_killed = argc > 4;
        be_random(seed, (unsigned)strtoul(argv[3], NULL, 10));
    } else {
        return 2;
    }
    if (strcmp(what, "random") != 0)
        say_count();
    return failures ? 1 : (int)(seed % 100);
}
