/* SPDX-License-Identifier: Apache-2.0 */
/* Batches to transactions, on a thread of its own; trying again while the store fails. */
#include "daemon/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/retain.h"
#include "schema/wire/wire.h"

static const uint64_t RETRY_FIRST_NS = UINT64_C(100000000);
static const uint64_t PLACE_NS = UINT64_C(500000000); /* look so often whether the file is there */
static const uint64_t RETRY_LAST_NS = UINT64_C(2000000000);
static const int64_t ROLLUP_ROW_NS = 150000; /* a row takes 3 us: 2 % of a core */

struct writer {
    struct writer_events events;
    struct store *store;
    struct retain retain; /* the thread's own */
    uv_async_t wake_loop;
    pthread_t thread;
    unsigned in_flight; /* loop's own */
    int trouble;        /* loop's own */

    pthread_mutex_t mutex; /* for all below */
    pthread_cond_t wake_writer;
    struct batch *todo, **todo_end;
    struct batch *done, **done_end;
    int error; /* of the latest try */
    char error_text[sizeof(((struct diag *)0)->text)];
    uint64_t busy_since_ns; /* at one try, or one slice of what is too old; 0: it waits */
    bool gives_up, stops;
    bool has_given_up; /* a batch: cursors in later ones would say that it was stored */
};

/* Puts all rows of one kind, in order. */
#define PUT_ALL(list, put)                                                                         \
    for (size_t i = 0; rc == 0 && i < (list).count; i++)                                           \
    rc = put(store, &(list).items[i], diag)

static int put_repeat(struct store *store, struct batch *batch, const struct store_run *run,
                      struct diag *diag)
{
    const struct store_gap gap = {.session_id = run->session_id,
                                  .lane_id = run->lane_id,
                                  .reason = ot_wire_loss_name(OT_LOSS_BAD_RECORD),
                                  .lost_count = 1,
                                  .start_ns = run->start_ns,
                                  .end_ns =
                                      run->end_ns == STORE_NULL ? run->start_ns : run->end_ns};

    batch_push(&batch->repeats, (struct batch_repeat){run->session_id, run->run});
    return store_add_gap(store, &gap, diag);
}

/* Only the store knows all numbers that a session has used, also before this daemon. */
static int put_runs(struct store *store, struct batch *batch, struct diag *diag)
{
    const size_t count = batch->runs.count;
    size_t done = 0, added;
    int rc = 0;

    batch->repeats.count = 0; /* of a try before */
    while (rc == 0 && done < count) {
        rc = store_add_runs(store, batch->runs.items + done, count - done, &added, diag);
        if (rc < 0)
            return rc;
        done += added;
        if (done < count)
            rc = put_repeat(store, batch, &batch->runs.items[done++], diag);
    }
    return rc;
}

static int put_rows(struct store *store, struct batch *batch, struct diag *diag)
{
    int rc = 0;

    PUT_ALL(batch->sessions, store_put_session);
    PUT_ALL(batch->models, store_put_model);
    PUT_ALL(batch->lanes, store_put_lane);
    PUT_ALL(batch->long_texts, store_put_text);
    PUT_ALL(batch->ops, store_put_op);
    if (rc == 0)
        rc = put_runs(store, batch, diag);
    if (rc == 0 && batch->events.count > 0)
        rc = store_add_events(store, batch->events.items, batch->events.count, diag);
    if (rc == 0 && batch->memory_events.count > 0)
        rc = store_add_memory_events(store, batch->memory_events.items, batch->memory_events.count,
                                     diag);
    if (rc == 0 && batch->counters.count > 0)
        rc = store_add_counters(store, batch->counters.items, batch->counters.count, diag);
    PUT_ALL(batch->gaps, store_add_gap);
    PUT_ALL(batch->cursors, store_put_cursor);
    for (size_t i = 0; rc == 0 && i < batch->gone_rings.count; i++)
        rc = store_drop_cursor(store, batch->gone_rings.items[i].session_id,
                               batch->gone_rings.items[i].ring_id, diag);
    for (size_t i = 0; rc == 0 && i < batch->ends.count; i++) {
        const struct batch_end *end = &batch->ends.items[i];

        rc = store_end_session(store, end->session_id, end->end_ns, end->reason, end->note, diag);
    }
    return rc;
}

static bool has_rows(const struct batch *batch)
{
    return batch_row_count(batch) > 0 || batch->sessions.count > 0 || batch->models.count > 0 ||
           batch->ops.count > 0 || batch->lanes.count > 0 || batch->gaps.count > 0 ||
           batch->cursors.count > 0 || batch->ends.count > 0;
}

/* Rows are in the store, whatever becomes of this: only those who asked for the disk are told. */
static int sync_store(struct store *store)
{
    struct diag diag = {0};
    int rc = store_sync(store, &diag);

    if (rc < 0)
        log_say("a flush to the disk failed: %s", diag.text);
    return rc;
}

static int check_place(struct store *store, struct diag *diag)
{
    return store_is_in_place(store)
               ? 0
               : diag_set(diag, -ESTALE, "its file was deleted, renamed or replaced");
}

/* Begins the transaction of a batch, with room for it. Rows are not kept out because old ones
 * cannot be dropped: then retain_slice() says why. */
static int begin_batch(struct retain *retain, struct batch *batch, struct diag *diag)
{
    struct store *store = retain->store;
    struct diag ignored = {0};
    int rc = store_begin(store, diag);

    if (rc < 0 || batch_row_count(batch) == 0 ||
        retain_ahead(retain, batch_row_count(batch), &ignored) == 0)
        return rc;
    store_rollback(store);
    return store_begin(store, diag);
}

/* After a commit into a file that is not there any more, the rings keep what was in it. */
static int write_batch(struct retain *retain, struct batch *batch, struct diag *diag)
{
    struct store *store = retain->store;
    int rc = check_place(store, diag);

    if (rc < 0 || !has_rows(batch))
        return rc; /* without rows it only carries waiters */
    rc = begin_batch(retain, batch, diag);
    if (rc < 0)
        return rc;
    rc = put_rows(store, batch, diag);
    if (rc == 0)
        rc = check_place(store, diag);
    if (rc == 0)
        rc = store_commit(store, diag);
    if (rc < 0)
        store_rollback(store);
    return rc < 0 ? rc : check_place(store, diag);
}

/* --- The thread. Functions named ..._locked are called with the mutex held. --- */

static struct timespec time_after(uint64_t timeout_ns)
{
    uint64_t until_ns = ot_clock_ns(CLOCK_MONOTONIC) + timeout_ns;

    return (struct timespec){.tv_sec = (time_t)(until_ns / 1000000000),
                             .tv_nsec = (long)(until_ns % 1000000000)};
}

static void wait_locked(struct writer *writer, uint64_t timeout_ns)
{
    struct timespec until = time_after(timeout_ns);

    while (!writer->gives_up &&
           pthread_cond_timedwait(&writer->wake_writer, &writer->mutex, &until) == 0)
        ;
}

static void report_locked(struct writer *writer, int error, const struct diag *diag)
{
    if (writer->error == error)
        return;
    writer->error = error;
    memcpy(writer->error_text, diag->text, sizeof(writer->error_text));
    uv_async_send(&writer->wake_loop);
}

/* What the thread does without the mutex. */
static void begin_work_locked(struct writer *writer)
{
    writer->busy_since_ns = ot_clock_ns(CLOCK_MONOTONIC);
    pthread_mutex_unlock(&writer->mutex);
}

static void end_work_lock(struct writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    writer->busy_since_ns = 0;
}

/* Tries until it is written or given up; the mutex is held between the tries. */
static void write_until_done_locked(struct writer *writer, struct batch *batch)
{
    uint64_t pause_ns = RETRY_FIRST_NS;

    for (;;) {
        struct diag diag = {0};
        bool is_last_try = writer->gives_up;

        begin_work_locked(writer);
        batch->status = write_batch(&writer->retain, batch, &diag);
        if (batch->status == -ENOSPC && retain_make_room(&writer->retain)) {
            diag.text[0] = '\0';
            batch->status = write_batch(&writer->retain, batch, &diag);
        }
        if (batch->status == 0 && batch->syncs)
            batch->sync_status = sync_store(writer->store);
        end_work_lock(writer);
        report_locked(writer, batch->status, &diag);
        if (batch->status == 0 || batch->status == -ESTALE || is_last_try)
            return;
        wait_locked(writer, pause_ns);
        pause_ns = pause_ns * 2 < RETRY_LAST_NS ? pause_ns * 2 : RETRY_LAST_NS;
    }
}

static void retain_locked(struct writer *writer, size_t batch_rows)
{
    begin_work_locked(writer);
    retain_slice(&writer->retain, batch_rows);
    end_work_lock(writer);
}

/* Whether the store still stands where it should; else the loop is told. */
static bool look_for_place_locked(struct writer *writer)
{
    struct diag diag = {0};
    int rc = check_place(writer->store, &diag);

    if (rc < 0)
        report_locked(writer, rc, &diag);
    return rc == 0;
}

/* They are in the events as well: who could not write them does it later, or the next daemon does.
 */
static void write_rollups_locked(struct writer *writer)
{
    struct diag diag = {0};

    begin_work_locked(writer);
    if (store_is_in_place(writer->store) && store_write_rollups(writer->store, &diag) < 0)
        log_detail("roll-ups wait: %s", diag.text);
    end_work_lock(writer);
}

/* Until there is a batch, or the writer stops. */
static void wait_for_work_locked(struct writer *writer)
{
    uint64_t retain_ns = ot_clock_ns(CLOCK_MONOTONIC) + retain_pause_ns(&writer->retain);

    while (!writer->todo && !writer->stops) {
        uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
        uint64_t pause_ns = retain_ns > now_ns ? retain_ns - now_ns : 0;
        struct timespec until = time_after(pause_ns < PLACE_NS ? pause_ns : PLACE_NS);
        int rc = 0;

        while (!writer->todo && !writer->stops && rc == 0)
            rc = pthread_cond_timedwait(&writer->wake_writer, &writer->mutex, &until);
        if (rc == 0 || !look_for_place_locked(writer))
            continue;
        if (store_rollups_are_due(writer->store))
            write_rollups_locked(writer);
        if (ot_clock_ns(CLOCK_MONOTONIC) >= retain_ns) {
            retain_locked(writer, 0);
            retain_ns = ot_clock_ns(CLOCK_MONOTONIC) + retain_pause_ns(&writer->retain);
        }
    }
}

static void *writer_main(void *argument)
{
    struct writer *writer = argument;

    pthread_mutex_lock(&writer->mutex);
    write_rollups_locked(writer); /* of a daemon that was killed */
    retain_locked(writer, 0);     /* the bounds may be new */
    for (;;) {
        struct batch *batch;
        size_t row_count;

        wait_for_work_locked(writer);
        batch = writer->todo;
        if (!batch)
            break;
        row_count = batch_row_count(batch);
        writer->todo = batch->next;
        if (!writer->todo)
            writer->todo_end = &writer->todo;
        batch->next = NULL;
        if (writer->has_given_up)
            batch->status = -ECANCELED;
        else
            write_until_done_locked(writer, batch);
        writer->has_given_up = batch->status < 0;
        *writer->done_end = batch;
        writer->done_end = &batch->next;
        uv_async_send(&writer->wake_loop);
        if (batch->status == 0)
            retain_locked(writer, row_count);
    }
    write_rollups_locked(writer);
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

/* --- The loop's side --- */

static void tell_trouble(struct writer *writer)
{
    char text[sizeof(writer->error_text)];
    int error;

    pthread_mutex_lock(&writer->mutex);
    error = writer->error;
    memcpy(text, writer->error_text, sizeof(text));
    pthread_mutex_unlock(&writer->mutex);
    if (error == writer->trouble)
        return;
    writer->trouble = error;
    writer->events.on_trouble(writer->events.context, error, text);
}

static void on_wake(uv_async_t *async)
{
    struct writer *writer = async->data;
    struct batch *batch;

    tell_trouble(writer);
    pthread_mutex_lock(&writer->mutex);
    batch = writer->done;
    writer->done = NULL;
    writer->done_end = &writer->done;
    pthread_mutex_unlock(&writer->mutex);
    while (batch) {
        struct batch *next = batch->next;

        batch->next = NULL;
        writer->in_flight--;
        writer->events.on_done(writer->events.context, batch);
        batch = next;
    }
}

static int start_thread(struct writer *writer)
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    int rc;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&writer->wake_writer, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&writer->mutex, NULL);
    sigfillset(&all); /* signals are the loop's business */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&writer->thread, NULL, writer_main, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -rc;
}

static void free_writer(uv_handle_t *handle)
{
    free(handle->data);
}

int writer_start(uv_loop_t *loop, struct store *store, const struct store_bounds *bounds,
                 const struct writer_events *events, struct writer **out_writer, struct diag *diag)
{
    struct writer *writer = memory_zeroed(1, sizeof(*writer));
    int rc;

    writer->events = *events;
    writer->store = store;
    store_delay_rollups(store, ROLLUP_ROW_NS);
    writer->retain.store = store;
    writer->todo_end = &writer->todo;
    writer->done_end = &writer->done;
    rc = bounds ? retain_init(&writer->retain, bounds, diag) : 0;
    if (rc < 0) {
        free(writer);
        return rc;
    }
    rc = uv_async_init(loop, &writer->wake_loop, on_wake);
    if (rc < 0) {
        free(writer);
        return diag_set(diag, rc, "cannot start the writer: %s", uv_strerror(rc));
    }
    writer->wake_loop.data = writer;
    rc = start_thread(writer);
    if (rc < 0) {
        uv_close((uv_handle_t *)&writer->wake_loop, free_writer);
        return diag_set(diag, rc, "cannot start the writer: %s", strerror(-rc));
    }
    *out_writer = writer;
    return 0;
}

int64_t writer_batch_bytes(const struct writer *writer)
{
    return writer->retain.shares.batch_bytes ? writer->retain.shares.batch_bytes : INT64_MAX;
}

int64_t writer_pages_bytes(const struct writer *writer)
{
    return writer->retain.shares.pages_bytes;
}

bool writer_has_room(const struct writer *writer)
{
    return writer->in_flight < WRITER_QUEUE_MAX;
}

bool writer_is_busy(const struct writer *writer)
{
    return writer->in_flight > 0;
}

int writer_trouble(const struct writer *writer)
{
    return writer->trouble;
}

uint64_t writer_busy_ns(struct writer *writer)
{
    uint64_t since_ns;

    pthread_mutex_lock(&writer->mutex);
    since_ns = writer->busy_since_ns;
    pthread_mutex_unlock(&writer->mutex);
    return since_ns > 0 ? ot_clock_ns(CLOCK_MONOTONIC) - since_ns : 0;
}

void writer_submit(struct writer *writer, struct batch *batch)
{
    writer->in_flight++;
    batch->next = NULL;
    pthread_mutex_lock(&writer->mutex);
    *writer->todo_end = batch;
    writer->todo_end = &batch->next;
    pthread_cond_signal(&writer->wake_writer);
    pthread_mutex_unlock(&writer->mutex);
}

void writer_give_up(struct writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    writer->gives_up = true;
    pthread_cond_signal(&writer->wake_writer);
    pthread_mutex_unlock(&writer->mutex);
}

void writer_stop(struct writer **writer_at)
{
    struct writer *writer = *writer_at;

    *writer_at = NULL;
    if (!writer)
        return;
    pthread_mutex_lock(&writer->mutex);
    writer->stops = true;
    pthread_cond_signal(&writer->wake_writer);
    pthread_mutex_unlock(&writer->mutex);
    pthread_join(writer->thread, NULL);
    pthread_mutex_destroy(&writer->mutex);
    pthread_cond_destroy(&writer->wake_writer);
    uv_close((uv_handle_t *)&writer->wake_loop, free_writer);
}
