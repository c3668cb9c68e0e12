/* SPDX-License-Identifier: Apache-2.0 */
/* Wiring, signals, the orderly end. */
#include "daemon/service.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "daemon/health.h"
#include "daemon/listener.h"
#include "daemon/log.h"
#include "daemon/process.h"
#include "daemon/usage.h"

enum { SIGNAL_COUNT = 3, SERVICE_AGAIN = 1 };

struct service {
    const struct settings *settings;
    uv_loop_t loop;
    uv_signal_t signals[SIGNAL_COUNT];
    struct store *store;
    struct collector *collector;
    struct producer_group producers;
    struct listener listener;
    struct diag diag; /* why not all was stored */
    int rc;
    struct health health;
    struct usage usage;
    uv_poll_t starter;    /* of settings->starter_fd */
    bool watches_starter; /* its handle is open */
    bool has_no_starter;  /* it has closed its end: who is not here will not come */
    bool has_served;      /* a session has come and gone */
    bool has_lost_store;
    bool is_stopping;
};

/* Nothing new comes in; what is there is committed, then on_empty() is called. */
static void stop(struct service *service)
{
    if (service->is_stopping)
        return;
    service->is_stopping = true;
    notify_send("STOPPING=1");
    listener_stop(&service->listener);
    producer_stop_reading(&service->producers);
    collector_stop(service->collector);
}

static void end_when_served(struct service *service)
{
    const bool is_over =
        service->has_no_starter || (service->settings->once && service->has_served);

    if (is_over && service->producers.count == 0 && collector_is_empty(service->collector))
        stop(service);
}

static void forget_starter(struct service *service)
{
    if (service->watches_starter)
        uv_close((uv_handle_t *)&service->starter, NULL);
    service->watches_starter = false;
}

/* Nothing is ever written to it: it is readable when its other end is closed. */
static void on_starter(uv_poll_t *handle, int status, int events)
{
    struct service *service = handle->data;
    char byte;

    if (status == 0 && read((int)service->settings->starter_fd, &byte, 1) > 0)
        return;
    forget_starter(service);
    service->has_no_starter = true;
    end_when_served(service);
}

static int watch_starter(struct service *service, struct diag *diag)
{
    const int fd = (int)service->settings->starter_fd;
    int rc;

    if (fd < 0)
        return 0;
    rc = uv_poll_init(&service->loop, &service->starter, fd);
    if (rc == 0) {
        service->starter.data = service;
        service->watches_starter = true;
        rc = uv_poll_start(&service->starter, UV_READABLE | UV_DISCONNECT, on_starter);
    }
    return rc < 0 ? diag_set(diag, rc, "--until-closed %d: %s", fd, uv_strerror(rc)) : 0;
}

static void on_left(void *context)
{
    end_when_served(context);
}

static void on_empty(void *context)
{
    struct service *service = context;

    service->has_served = true;
    if (!service->is_stopping) {
        end_when_served(service);
        return;
    }
    service->rc = collector_check_stored(service->collector, &service->diag);
    if (service->rc < 0 && (service->settings->log_path || service->has_lost_store))
        log_say("%s", service->diag.text); /* main() says it on stderr */
    producer_close_all(&service->producers);
    usage_stop(&service->usage);
    forget_starter(service);
    collector_destroy(&service->collector);
    health_stop(&service->health);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        uv_close((uv_handle_t *)&service->signals[i], NULL);
}

static void on_lost_store(void *context, const char *text)
{
    struct service *service = context;
    const bool begins_anew = service->settings->on_lost_store == LOST_STORE_NEW;

    log_say("%s: %s; %s", service->settings->store_path, text,
            begins_anew ? "going on in a new one" : "ending, as --on-lost-store says");
    service->has_lost_store = true;
    stop(service);
}

static void on_room(void *context)
{
    struct service *service = context;

    producer_on_room(&service->producers);
}

static void on_signal(uv_signal_t *handle, int number)
{
    if (number == SIGHUP)
        log_reopen();
    else
        stop(handle->data);
}

static int open_socket(struct service *service, int adopted_fd, struct diag *diag)
{
    const struct settings *settings = service->settings;

    return adopted_fd >= 0
               ? listener_adopt(&service->listener, adopted_fd, settings->group, diag)
               : listener_open(&service->listener, settings->socket_path, settings->group, diag);
}

static void adopt_rings(struct service *service, struct notify_fds *fds)
{
    for (size_t i = 0; i < fds->kept.count; i++) {
        collector_adopt_ring(service->collector, &fds->kept.items[i]);
        close(fds->kept.items[i].fd);
    }
    array_deinit(&fds->kept);
}

static int open_store(struct service *service, struct diag *diag)
{
    const struct collector_events events = {service,
                                            producer_on_flushed,
                                            producer_on_nonsense,
                                            producer_on_replaced,
                                            on_room,
                                            producer_on_turn,
                                            on_empty,
                                            on_lost_store};
    struct collector_store store = {.path = service->settings->store_path,
                                    .bounds = service->settings->bounds};
    int rc = store_open(store.path, STORE_WRITE, &service->store, diag);

    store.store = service->store;
    return rc < 0 ? rc
                  : collector_create(&service->loop, &store, &events, &service->collector, diag);
}

static uint64_t writer_ns(void *context)
{
    const struct service *service = context;

    return collector_writer_ns(service->collector);
}

static int start(struct service *service, struct diag *diag)
{
    static const int numbers[SIGNAL_COUNT] = {SIGTERM, SIGINT, SIGHUP};
    struct notify_fds fds;
    int rc;

    notify_take_fds(&fds);
    rc = watch_starter(service, diag);
    if (rc == 0)
        rc = open_socket(service, fds.socket, diag);
    if (rc == 0)
        rc = open_store(service, diag);
    if (rc == 0 && service->settings->log_path)
        rc = log_open(service->settings->log_path, diag);
    if (rc < 0) {
        forget_starter(service);
        array_deinit(&fds.kept); /* the process ends, the service manager keeps them */
        return rc;
    }
    adopt_rings(service, &fds);
    producer_group_init(&service->producers, &service->loop, service->collector, service->settings);
    service->producers.context = service;
    service->producers.on_left = on_left;
    rc = listener_start(&service->listener, &service->loop, &service->producers, diag);
    for (size_t i = 0; rc == 0 && i < SIGNAL_COUNT; i++) {
        uv_signal_init(&service->loop, &service->signals[i]);
        service->signals[i].data = service;
        uv_signal_start(&service->signals[i], on_signal, numbers[i]);
    }
    health_start(&service->health, &service->loop, writer_ns, service);
    service->producers.host.health = &service->health;
    usage_start(&service->usage, &service->loop, service->collector, service->settings->store_path,
                (uint64_t)service->settings->bounds.budget_bytes);
    service->producers.host.usage = &service->usage;
    return rc;
}

/* After the loop, and after a start that failed halfway. */
static void close_all(struct service *service)
{
    collector_destroy(&service->collector);
    uv_run(&service->loop, UV_RUN_DEFAULT); /* handles that are being closed */
    uv_loop_close(&service->loop);
    producer_group_deinit(&service->producers);
    store_close(&service->store);
    listener_close(&service->listener);
}

/* Until it is told to end (0), or SERVICE_AGAIN. */
static int run_once(const struct settings *settings, int ready_fd, struct diag *diag)
{
    struct service service = {.settings = settings, .listener = {.fd = -1, .lock_fd = -1}};
    int rc = uv_loop_init(&service.loop);

    if (rc < 0)
        return diag_set(diag, rc, "cannot make a loop: %s", uv_strerror(rc));
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is a full disk, see writer.h */
    rc = start(&service, diag);
    if (rc == 0) {
        process_write_pid(settings->pid_path);
        notify_send("READY=1");
        log_detail("ready: %s -> %s", settings->socket_path, settings->store_path);
        if (ready_fd >= 0)
            process_say_ready(ready_fd);
        uv_run(&service.loop, UV_RUN_DEFAULT);
    }
    close_all(&service);
    if (rc < 0 && log_has_file())
        log_say("%s", diag->text); /* main() says it on stderr, which nobody may read */
    if (rc < 0)
        return rc;
    process_remove_pid(settings->pid_path);
    if (service.has_lost_store && settings->on_lost_store == LOST_STORE_NEW)
        return SERVICE_AGAIN;
    if (service.rc < 0)
        diag_set(diag, service.rc, "%s", service.diag.text);
    else if (service.has_lost_store)
        return diag_set(diag, -ESTALE, "%s was deleted, renamed or replaced", settings->store_path);
    return service.rc;
}

int service_run(const struct settings *settings, int ready_fd, struct diag *diag)
{
    int rc = run_once(settings, ready_fd, diag);

    while (rc == SERVICE_AGAIN)
        rc = run_once(settings, -1, diag);
    return rc;
}
