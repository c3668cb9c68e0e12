/* SPDX-License-Identifier: Apache-2.0 */
/* optraced, the collector daemon: options, signals, wiring. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/exit_status.h"
#include "daemon/listener.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/process.h"
#include "daemon/settings.h"

enum { SIGNAL_COUNT = 3 };

struct daemon {
    struct settings settings;
    uv_loop_t loop;
    uv_signal_t signals[SIGNAL_COUNT];
    struct store *store;
    struct collector *collector;
    struct producer_group producers;
    struct listener listener;
    bool has_served; /* a session has come and gone */
    bool is_stopping;
};

/* Nothing new comes in; what is there is committed, then on_empty() is called. */
static void stop(struct daemon *daemon)
{
    if (daemon->is_stopping)
        return;
    daemon->is_stopping = true;
    notify_send("STOPPING=1");
    listener_stop(&daemon->listener);
    producer_stop_reading(&daemon->producers);
    collector_stop(daemon->collector);
}

static void end_when_served(struct daemon *daemon)
{
    if (daemon->settings.once && daemon->has_served && daemon->producers.count == 0 &&
        collector_is_empty(daemon->collector))
        stop(daemon);
}

static void on_left(void *context)
{
    end_when_served(context);
}

static void on_empty(void *context)
{
    struct daemon *daemon = context;

    daemon->has_served = true;
    if (!daemon->is_stopping) {
        end_when_served(daemon);
        return;
    }
    producer_close_all(&daemon->producers);
    collector_destroy(&daemon->collector);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        uv_close((uv_handle_t *)&daemon->signals[i], NULL);
}

static void on_room(void *context)
{
    struct daemon *daemon = context;

    producer_on_room(&daemon->producers);
}

static void on_signal(uv_signal_t *handle, int number)
{
    if (number == SIGHUP)
        log_reopen();
    else
        stop(handle->data);
}

static int open_socket(struct daemon *daemon, struct diag *diag)
{
    const struct settings *settings = &daemon->settings;
    int fd = notify_take_socket();

    return fd >= 0 ? listener_adopt(&daemon->listener, fd, settings->group, diag)
                   : listener_open(&daemon->listener, settings->socket_path, settings->group, diag);
}

/* On failure, what was opened but the socket stays so: the process ends. */
static int start(struct daemon *daemon, struct diag *diag)
{
    static const int numbers[SIGNAL_COUNT] = {SIGTERM, SIGINT, SIGHUP};
    const struct collector_events events = {daemon, producer_on_flushed, producer_on_nonsense,
                                            on_room, on_empty};
    const char *store_path = daemon->settings.store_path;
    int rc = open_socket(daemon, diag);

    if (rc == 0)
        rc = store_open(store_path, STORE_WRITE, &daemon->store, diag);
    if (rc == 0)
        rc = uv_loop_init(&daemon->loop);
    if (rc == 0)
        rc = collector_create(&daemon->loop, daemon->store, store_path, &events, &daemon->collector,
                              diag);
    if (rc < 0)
        return rc;
    producer_group_init(&daemon->producers, &daemon->loop, daemon->collector,
                        (uint32_t)daemon->settings.level);
    daemon->producers.context = daemon;
    daemon->producers.on_left = on_left;
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        uv_signal_init(&daemon->loop, &daemon->signals[i]);
        daemon->signals[i].data = daemon;
        uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
    }
    return listener_start(&daemon->listener, &daemon->loop, &daemon->producers, diag);
}

static void run(struct daemon *daemon, int ready_fd)
{
    const struct settings *settings = &daemon->settings;

    process_write_pid(settings->pid_path);
    notify_send("READY=1");
    log_detail("ready: %s -> %s", settings->socket_path, settings->store_path);
    if (ready_fd >= 0)
        process_say_ready(ready_fd);
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    uv_loop_close(&daemon->loop);
    producer_group_deinit(&daemon->producers);
    store_close(&daemon->store);
    listener_close(&daemon->listener);
    process_remove_pid(settings->pid_path);
}

/* What a failed start means to the caller of the command. */
static int exit_status(int rc)
{
    switch (rc) {
    case -ENAMETOOLONG:
        return EXIT_USAGE;
    case -EPROTO:
    case -EUCLEAN:
    case -EISDIR:
    case -EINVAL:
        return EXIT_INPUT;
    default:
        return EXIT_SYSTEM;
    }
}

int main(int argc, char **argv)
{
    static struct daemon daemon = {.listener = {.fd = -1, .lock_fd = -1}};
    struct diag diag = {0};
    int ready_fd = -1, status, rc;

    if (settings_read(argc, argv, &daemon.settings, &status) != 0)
        return status;
    if (!daemon.settings.foreground && (ready_fd = process_go_background()) < 0) {
        fprintf(stderr, "optraced: cannot go into the background: %s\n", strerror(-ready_fd));
        return EXIT_SYSTEM;
    }
    signal(SIGPIPE, SIG_IGN);
    process_raise_file_limit();
    log_set_verbose(daemon.settings.verbose);
    rc = start(&daemon, &diag);
    if (rc == 0 && daemon.settings.log_path)
        rc = log_open(daemon.settings.log_path, &diag);
    if (rc < 0) {
        fprintf(stderr, "optraced: %s\n", diag.text[0] ? diag.text : strerror(-rc));
        listener_close(&daemon.listener);
        return exit_status(rc);
    }
    run(&daemon, ready_fd);
    return EXIT_OK;
}
