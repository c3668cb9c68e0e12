/* SPDX-License-Identifier: Apache-2.0 */
/* Starting optraced for one command, and waiting for its end. */
#include "client/cli/private_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "client/cli/desk.h"
#include "client/cli/siblings.h"

enum {
    START_PAUSE_MS = 5,
    START_LOOKS = 4000,   /* a store that must be brought along takes its time */
    LEAVE_PAUSE_MS = 20,  /* the daemon hears of a program's end a moment later */
    LEAVE_LOOKS = 25,     /* then who is there stays */
    STORE_ID_OFFSET = 68, /* SQLite's application id, big-endian: "OTRC" */
    HEADER_BYTES = 100,
};

static void remove_folder(const struct private_daemon *daemon)
{
    static const char *const names[] = {"log", "socket", "socket.lock"};
    char path[sizeof(daemon->folder) + 16];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", daemon->folder, names[i]);
        unlink(path);
    }
    rmdir(daemon->folder);
}

/* --- The daemon's own process, and the keeper --- */

static void run_daemon(const struct private_daemon *daemon, const char *store, int starter_fd)
{
    char path[PATH_MAX], number[16];
    const char *arguments[] = {"optraced", "--foreground", "--until-closed",
                               number,     "--socket",     daemon->socket,
                               "--store",  store,          NULL};

    snprintf(number, sizeof(number), "%d", starter_fd);
    fcntl(starter_fd, F_SETFD, 0);
    if (!store)
        arguments[6] = NULL;
    unsetenv("NOTIFY_SOCKET"); /* a service manager's words are for this command */
    unsetenv("LISTEN_FDS");
    if (siblings_find("optraced", "../../daemon", path) == 0)
        execv(path, (char *const *)arguments);
    execvp("optraced", (char *const *)arguments);
    text_print(stderr, "optraced: cannot be run: %s\n", strerror(errno));
    _exit(127);
}

/* Out of the terminal's reach, without the program's streams: who reads them waits for their end.
 */
static _Noreturn void keep(const struct private_daemon *daemon, const char *store, int starter_fd)
{
    char log[sizeof(daemon->folder) + 8];
    int status = 0, log_fd;
    sigset_t none;
    pid_t pid;

    setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    snprintf(log, sizeof(log), "%s/log", daemon->folder);
    log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0 || dup2(log_fd, STDERR_FILENO) < 0 || dup2(log_fd, STDOUT_FILENO) < 0)
        _exit(127);
    close(log_fd);
    log_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (log_fd >= 0)
        dup2(log_fd, STDIN_FILENO);
    close_range(STDERR_FILENO + 1, (unsigned)starter_fd - 1, 0);
    close_range((unsigned)starter_fd + 1, UINT_MAX, 0);
    pid = fork();
    if (pid == 0)
        run_daemon(daemon, store, starter_fd);
    close(starter_fd);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        remove_folder(daemon);
    _exit(pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127);
}

/* --- Around it --- */

static int make_folder(struct private_daemon *daemon, struct diag *diag)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat status;

    /* A socket's name holds 107 bytes. */
    if (!runtime || runtime[0] != '/' || strlen(runtime) > 30 || stat(runtime, &status) < 0 ||
        !S_ISDIR(status.st_mode) || access(runtime, W_OK) < 0)
        runtime = "/tmp";
    snprintf(daemon->folder, sizeof(daemon->folder), "%s/optrace-run.XXXXXX", runtime);
    if (!mkdtemp(daemon->folder))
        return diag_set(diag, -errno, "cannot make a folder in %s for the daemon's socket: %s",
                        runtime, strerror(errno));
    snprintf(daemon->socket, sizeof(daemon->socket), "%s/socket", daemon->folder);
    return 0;
}

/* What the daemon said last, and its folder goes. */
static int explain(struct private_daemon *daemon, struct diag *diag)
{
    char path[sizeof(daemon->folder) + 8], line[500] = "", last[500] = "it did not say why";
    const char *text = last;
    FILE *log;

    snprintf(path, sizeof(path), "%s/log", daemon->folder);
    log = fopen(path, "re");
    while (log && fgets(line, sizeof(line), log)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0])
            memcpy(last, line, sizeof(last));
    }
    if (log)
        fclose(log);
    remove_folder(daemon);
    if (strncmp(text, "optraced: ", strlen("optraced: ")) == 0)
        text += strlen("optraced: ");
    return diag_set(diag, -EIO, "the daemon: %s", text);
}

/* Whether it takes programs already; its store's path then. */
static bool is_ready(struct private_daemon *daemon)
{
    struct desk_picture picture = {0};
    struct diag diag = {0};
    struct desk desk;
    bool is_there;

    if (access(daemon->socket, F_OK) < 0 || desk_open(&desk, daemon->socket, &diag) < 0)
        return false;
    is_there = desk_ask(&desk, &picture, &diag) == 0;
    if (is_there)
        snprintf(daemon->store, sizeof(daemon->store), "%s", picture.store_path);
    desk_picture_deinit(&picture);
    desk_close(&desk);
    return is_there;
}

static int wait_until_ready(struct private_daemon *daemon, struct diag *diag)
{
    for (int look = 0; look < START_LOOKS; look++) {
        int status;

        if (is_ready(daemon))
            return 0;
        if (waitpid(daemon->keeper, &status, WNOHANG) == daemon->keeper) {
            close(daemon->starter_fd);
            return explain(daemon, diag);
        }
        poll(NULL, 0, START_PAUSE_MS);
    }
    close(daemon->starter_fd);
    return diag_set(diag, -ETIMEDOUT, "the daemon on %s does not answer", daemon->socket);
}

int private_daemon_start(struct private_daemon *daemon, const char *store, struct diag *diag)
{
    int ends[2];
    int rc;

    *daemon = (struct private_daemon){.starter_fd = -1};
    rc = make_folder(daemon, diag);
    if (rc < 0)
        return rc;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        rc = diag_set(diag, -errno, "cannot start a daemon: %s", strerror(errno));
        remove_folder(daemon);
        return rc;
    }
    daemon->starter_fd = ends[1];
    fflush(NULL);
    daemon->keeper = fork();
    if (daemon->keeper == 0)
        keep(daemon, store, ends[0]);
    close(ends[0]);
    if (daemon->keeper < 0) {
        rc = diag_set(diag, -errno, "cannot start a daemon: %s", strerror(errno));
        close(ends[1]);
        remove_folder(daemon);
        return rc;
    }
    return wait_until_ready(daemon, diag);
}

/* Programs that are connected now; 0 also when the daemon does not answer. */
static unsigned count_connected(const struct private_daemon *daemon)
{
    struct desk_picture picture = {0};
    struct diag diag = {0};
    struct desk desk;
    unsigned count = 0;

    if (desk_open(&desk, daemon->socket, &diag) < 0)
        return 0;
    if (desk_ask(&desk, &picture, &diag) == 0) {
        for (size_t i = 0; i < picture.sessions.count; i++)
            count += (picture.sessions.items[i].fixed.flags & OT_SESSION_CONNECTED) != 0;
    }
    desk_picture_deinit(&picture);
    desk_close(&desk);
    return count;
}

int private_daemon_end(struct private_daemon *daemon, unsigned *out_left_count, struct diag *diag)
{
    unsigned left_count = count_connected(daemon);
    int status = 0;

    for (int look = 0; left_count > 0 && look < LEAVE_LOOKS; look++) {
        poll(NULL, 0, LEAVE_PAUSE_MS);
        left_count = count_connected(daemon);
    }
    *out_left_count = left_count;
    close(daemon->starter_fd);
    if (left_count > 0)
        return 0;
    while (waitpid(daemon->keeper, &status, 0) < 0) {
        if (errno != EINTR)
            return diag_set(diag, -errno, "cannot wait for the daemon: %s", strerror(errno));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : explain(daemon, diag);
}

/* --- A file to be written anew --- */

/* In a store that a daemon left when it was killed, the number may stand in the log alone. */
static bool is_store(const char *path, const unsigned char header[HEADER_BYTES], ssize_t length)
{
    char lock[PATH_MAX + 8];

    if (length < HEADER_BYTES || memcmp(header, "SQLite format 3", 16) != 0)
        return false;
    snprintf(lock, sizeof(lock), "%s-lock", path);
    return memcmp(header + STORE_ID_OFFSET, "OTRC", 4) == 0 || access(lock, F_OK) == 0;
}

/* As optraced takes it: a lock of the open file description on PATH-lock. */
static bool is_being_written(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char name[PATH_MAX + 8];
    bool is_locked;
    int fd;

    snprintf(name, sizeof(name), "%s-lock", path);
    fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    is_locked = fcntl(fd, F_OFD_SETLK, &lock) < 0 && (errno == EAGAIN || errno == EACCES);
    close(fd);
    return is_locked;
}

int private_daemon_clear(const char *path, bool replace, struct diag *diag)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    unsigned char header[HEADER_BYTES];
    char name[PATH_MAX + 16];
    struct stat info;
    ssize_t length;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT
                   ? 0
                   : diag_set(diag, -errno, "cannot write %s: %s", path, strerror(errno));
    length = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? read(fd, header, sizeof(header)) : -1;
    close(fd);
    if (length < 0)
        return diag_set(diag, -EINVAL, "%s is not a regular file", path);
    if (is_being_written(path))
        return diag_set(diag, -EBUSY, "a daemon is writing to %s already", path);
    if (length > 0 && !is_store(path, header, length))
        return diag_set(diag, -EEXIST, "%s is not a store of optrace, and is left as it is", path);
    if (length > 0 && !replace)
        return diag_set(
            diag, -ENOTEMPTY,
            "%s is there already; --force replaces it, --store in place of -o adds to it", path);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        if (unlink(name) < 0 && errno != ENOENT)
            return diag_set(diag, -errno, "cannot write %s anew: %s", path, strerror(errno));
    }
    return 0;
}
