/* SPDX-License-Identifier: Apache-2.0 */
/* The worker that copies, its limits, and the hand-over. */
#include "daemon/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/amount.h"
#include "daemon/memory.h"
#include "daemon/privacy.h"
#include "schema/store/store.h"
#include "schema/wire/wire.h"

enum {
    TICKS_PER_WORD = 10,    /* of the timer, between two SAVED that say how far it is */
    STEPS_PER_LOOK = 20000, /* of SQLite, between two looks at the limits */
    PATH_BYTES = PATH_MAX + 16,
};
#define LOG_GROWTH_MAX UINT64_C(268435456)

enum save_state { SAVE_UNDER_WAY, SAVE_MADE, SAVE_HANDED_OVER };

struct save {
    uv_work_t work;
    struct saves *saves;
    struct save_client client; /* context NULL: it has left */
    enum save_state state;
    unsigned ticks, slot;
    bool is_cancelled; /* atomic */
    uint64_t bytes;    /* atomic: of the copy so far */
    /* What the worker reads. */
    char path[PATH_BYTES];
    struct command_selects selects;
    struct store_copy_select *wanted;
    struct store_copy_choice choice;
    uint64_t limit_bytes, log_limit_bytes;
    /* What it found. */
    const char *over; /* why it stopped; NULL: it did not */
    int error;
    size_t session_count;
    int own_fd, fd; /* of the copy: to take it back, and to hand over; -1 */
    struct diag diag;
};

/* --- Files --- */

static void fill_path(const struct saves *saves, unsigned slot, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s-save-%u", saves->store_path, slot);
}

/* The copy, and what SQLite and the store keep beside it. */
static void remove_files(const char *path)
{
    static const char *const suffixes[] = {"", "-lock", "-wal", "-shm", "-journal"};
    char name[PATH_BYTES + 16];

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        unlink(name);
    }
}

static uint64_t bytes_of(const char *path, const char *suffix)
{
    char name[PATH_BYTES + 16];
    struct stat info;

    snprintf(name, sizeof(name), "%s%s", path, suffix);
    return lstat(name, &info) == 0 ? (uint64_t)info.st_size : 0;
}

/* --- The worker --- */

/* Ends what SQLite does when this is not 0. */
static int look(void *context)
{
    struct save *save = context;
    const uint64_t bytes = bytes_of(save->path, "");

    __atomic_store_n(&save->bytes, bytes, __ATOMIC_RELAXED);
    if (bytes > save->limit_bytes)
        save->over = "there is no room for the copy beside the store";
    else if (bytes_of(save->saves->store_path, "-wal") > save->log_limit_bytes)
        save->over = "programs record faster than the copy is made";
    return save->over || __atomic_load_n(&save->is_cancelled, __ATOMIC_RELAXED);
}

static int copy(struct save *save, struct store *to, struct store *from)
{
    size_t known;
    int rc;

    sqlite3_progress_handler(store_handle(from), STEPS_PER_LOOK, look, save);
    sqlite3_progress_handler(store_handle(to), STEPS_PER_LOOK, look, save);
    /* A copy that fails is thrown away: it needs no journal, and whoever gets it no log. */
    sqlite3_exec(store_handle(to), "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL,
                 NULL, NULL);
    rc = store_begin(to, &save->diag);
    if (rc == 0)
        rc = store_copy_some(to, from, &save->choice, &save->session_count, &known, &save->diag);
    if (rc == 0)
        rc = store_commit(to, &save->diag);
    if (rc < 0)
        store_rollback(to);
    if (rc == 0 && look(save))
        rc = -EINTR;
    return rc;
}

static int make_copy(struct save *save)
{
    struct store *from = NULL, *to = NULL;
    int rc;

    remove_files(save->path);
    rc = store_open(save->saves->store_path, STORE_READ, &from, &save->diag);
    if (rc == 0)
        rc = store_open(save->path, STORE_WRITE, &to, &save->diag);
    if (rc == 0)
        rc = copy(save, to, from);
    store_close(&from);
    store_close(&to);
    if (rc == 0) {
        save->own_fd = open(save->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        save->fd = open(save->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (save->own_fd < 0 || save->fd < 0)
            rc = diag_set(&save->diag, -errno, "the copy cannot be opened: %s", strerror(errno));
    }
    __atomic_store_n(&save->bytes, bytes_of(save->path, ""), __ATOMIC_RELAXED);
    remove_files(save->path);
    return rc;
}

static void work(uv_work_t *request)
{
    struct save *save = request->data;

    save->error = make_copy(save);
    if (save->error < 0 && save->over) {
        save->diag = (struct diag){0}; /* SQLite's says that it was interrupted */
        save->error = diag_set(&save->diag, -ENOSPC, "%s; choose fewer sessions", save->over);
    } else if (save->error == 0 && save->session_count == 0) {
        save->error = diag_set(&save->diag, -ENOENT, "no session matches that is yours to save");
    }
}

/* --- The loop --- */

static void destroy(struct save *save)
{
    save->saves->slots[save->slot] = NULL;
    if (save->own_fd >= 0) {
        /* Whoever still has it open has no more of the disk than that. */
        (void)!ftruncate(save->own_fd, 0);
        close(save->own_fd);
    }
    if (save->fd >= 0)
        close(save->fd);
    command_selects_deinit(&save->selects);
    free(save->wanted);
    free(save);
}

static int encode(const struct save *save, enum ot_wire_save_state state)
{
    const bool is_failed = state == OT_SAVE_FAILED;
    const struct ot_wire_saved saved = {
        .bytes = __atomic_load_n(&save->bytes, __ATOMIC_RELAXED),
        .session_count = state == OT_SAVE_DONE ? (uint32_t)save->session_count : 0,
        .state = state,
        .error = is_failed ? save->error : 0,
    };
    char text[OT_WIRE_REMARK_BYTES_MAX];
    struct ot_text words = {text, 0};

    if (is_failed)
        words.length =
            ot_wire_clean_text(save->diag.text, strlen(save->diag.text), text, sizeof(text));
    return ot_wire_encode_saved(&saved, words, save->client.scratch, OT_WIRE_FRAME_BYTES_MAX);
}

/* It is made, or it failed. Returns -EAGAIN when the controller must read first. */
static int hand_over(struct save *save)
{
    const struct save_client client = save->client;
    int length = encode(save, save->error < 0 ? OT_SAVE_FAILED : OT_SAVE_DONE);
    int rc;

    if (save->error < 0) {
        destroy(save); /* before anything can close the controller */
        return length < 0 ? length : client.send(client.context, client.scratch, (size_t)length);
    }
    rc = length < 0 ? length
                    : client.send_fd(client.context, client.scratch, (size_t)length, save->fd);
    if (rc == -EAGAIN)
        return rc;
    close(save->fd);
    save->fd = -1;
    save->state = SAVE_HANDED_OVER;
    return rc;
}

static void on_timer(uv_timer_t *timer)
{
    struct saves *saves = timer->data;
    bool has_more = false;

    for (size_t i = 0; i < SAVES_MAX; i++) {
        struct save *save = saves->slots[i];
        int length;

        if (!save || !save->client.context || save->state == SAVE_HANDED_OVER)
            continue;
        if (save->state == SAVE_MADE) {
            has_more |= hand_over(save) == -EAGAIN;
            continue;
        }
        has_more = true;
        if (++save->ticks % TICKS_PER_WORD != 0)
            continue;
        length = encode(save, OT_SAVE_UNDERWAY);
        if (length > 0)
            (void)save->client.send(save->client.context, save->client.scratch, (size_t)length);
    }
    if (!has_more)
        uv_timer_stop(timer);
}

static void after_work(uv_work_t *request, int status)
{
    struct save *save = request->data;

    save->state = SAVE_MADE;
    if (!save->client.context)
        destroy(save);
    else
        (void)hand_over(save); /* the timer tries again */
}

static struct save *find(const struct saves *saves, const void *context)
{
    for (size_t i = 0; i < SAVES_MAX; i++)
        if (saves->slots[i] && saves->slots[i]->client.context == context)
            return saves->slots[i];
    return NULL;
}

/* A copy may take half of what is free, and all copies together as much as the store. */
static int fill_limits(const struct saves *saves, struct save *save, struct diag *diag)
{
    const uint64_t budget = saves->budget_bytes;
    uint64_t others = 0, limit;
    struct statvfs disk;
    char folder[PATH_MAX];
    const char *slash = strrchr(saves->store_path, '/');

    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - saves->store_path + 1) : 1,
             slash ? saves->store_path : ".");
    if (statvfs(folder, &disk) < 0)
        return diag_set(diag, -errno, "%s: %s", folder, strerror(errno));
    limit = (uint64_t)disk.f_bavail * disk.f_frsize / 2;
    for (size_t i = 0; i < SAVES_MAX; i++)
        if (saves->slots[i])
            others += __atomic_load_n(&saves->slots[i]->bytes, __ATOMIC_RELAXED);
    if (budget && limit > (budget > others ? budget - others : 0))
        limit = budget > others ? budget - others : 0;
    save->limit_bytes = limit;
    /* The log cannot be emptied while it is read from. */
    save->log_limit_bytes =
        bytes_of(saves->store_path, "-wal") + (budget ? budget / 4 : LOG_GROWTH_MAX);
    return 0;
}

static void fill_choice(struct save *save, uint64_t since_ns)
{
    const struct command_selects *selects = &save->selects;

    save->wanted = memory_zeroed(selects->count + 1, sizeof(*save->wanted));
    for (size_t i = 0; i < selects->count; i++) {
        const struct command_select *select = &selects->items[i];
        const bool is_pid = select->kind == OT_SELECT_PID;
        const bool is_session = select->kind == OT_SELECT_SESSION;

        save->wanted[i] = (struct store_copy_select){
            .pid = is_pid ? (int64_t)select->number : STORE_NULL,
            .session_id = is_session ? (int64_t)select->number : STORE_NULL,
            .program = is_pid || is_session ? NULL : select->program,
        };
    }
    save->choice = (struct store_copy_choice){
        .uid = privacy_is_trusted(save->client.uid) ? STORE_NULL : save->client.uid,
        .since_ns = (int64_t)since_ns,
        .selects = save->wanted,
        .select_count = selects->count};
}

int saves_begin(struct saves *saves, const struct save_client *client,
                const struct command_selects *selects, uint64_t since_ns, struct diag *diag)
{
    struct save *save = find(saves, client->context);
    unsigned slot = 0;
    int rc;

    if (save && save->state != SAVE_HANDED_OVER)
        return diag_set(diag, -EBUSY, "a copy is being made already");
    if (save)
        destroy(save);
    for (size_t i = 0; i < SAVES_MAX; i++)
        if (saves->slots[i] && saves->slots[i]->client.uid == client->uid)
            return diag_set(diag, -EBUSY,
                            "user %u saves sessions already; try again when that has "
                            "ended",
                            (unsigned)client->uid);
    while (slot < SAVES_MAX && saves->slots[slot])
        slot++;
    if (slot == SAVES_MAX)
        return diag_set(diag, -EBUSY, "%d users save sessions already; try again later", SAVES_MAX);
    save = memory_zeroed(1, sizeof(*save));
    *save = (struct save){.saves = saves, .client = *client, .slot = slot, .own_fd = -1, .fd = -1};
    rc = fill_limits(saves, save, diag);
    if (rc < 0) {
        free(save);
        return rc;
    }
    for (size_t i = 0; i < selects->count; i++) {
        struct command_select select = selects->items[i];

        select.program = strdup(select.program ? select.program : "");
        memory_must(select.program ? array_push(&save->selects, select) : -ENOMEM);
    }
    fill_choice(save, since_ns);
    fill_path(saves, slot, save->path);
    saves->slots[slot] = save;
    save->work.data = save;
    rc = uv_queue_work(saves->loop, &save->work, work, after_work);
    if (rc < 0) {
        destroy(save);
        return diag_set(diag, rc, "the copy cannot be begun: %s", uv_strerror(rc));
    }
    uv_timer_start(&saves->timer, on_timer, SAVE_PAUSE_MS, SAVE_PAUSE_MS);
    return 0;
}

void saves_forget(struct saves *saves, const void *context)
{
    struct save *save = find(saves, context);

    if (!save)
        return;
    save->client.context = NULL;
    if (save->state == SAVE_UNDER_WAY)
        __atomic_store_n(&save->is_cancelled, true, __ATOMIC_RELAXED);
    else
        destroy(save);
}

bool saves_is_under_way(const struct saves *saves, const void *context)
{
    const struct save *save = find(saves, context);

    return save && save->state != SAVE_HANDED_OVER;
}

bool saves_is_handed_over(const struct saves *saves, const void *context)
{
    const struct save *save = find(saves, context);

    return save && save->state == SAVE_HANDED_OVER;
}

void saves_init(struct saves *saves, uv_loop_t *loop, const char *store_path, uint64_t budget_bytes)
{
    char path[PATH_BYTES];

    *saves = (struct saves){.loop = loop, .store_path = store_path, .budget_bytes = budget_bytes};
    uv_timer_init(loop, &saves->timer);
    saves->timer.data = saves;
    for (unsigned slot = 0; slot < SAVES_MAX; slot++) {
        fill_path(saves, slot, path);
        remove_files(path);
    }
}

void saves_close(struct saves *saves)
{
    for (size_t i = 0; i < SAVES_MAX; i++)
        if (saves->slots[i] && saves->slots[i]->client.context)
            saves_forget(saves, saves->slots[i]->client.context);
    uv_close((uv_handle_t *)&saves->timer, NULL);
}
