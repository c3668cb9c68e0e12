/* SPDX-License-Identifier: Apache-2.0 */
/* Starting optraced for a test, asking its store. */
#include "tests/support/optraced.h"

#include <signal.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { ARGUMENTS_MAX = 24 };

void optraced_init(struct optraced *daemon)
{
    memset(daemon, 0, sizeof(*daemon));
    daemon->dir = temp_create();
    daemon->socket = temp_path(daemon->dir, "o.sock");
    daemon->store = temp_path(daemon->dir, "o.db");
}

void optraced_spawn(struct optraced *daemon, const char *const *arguments)
{
    char *program = place_program("daemon/optraced");
    const char *argv[ARGUMENTS_MAX + 8] = {program,   "--foreground", "--socket", daemon->socket,
                                           "--store", daemon->store,  "--verbose"};
    size_t count = 7;

    for (size_t i = 0; arguments && arguments[i] && i < ARGUMENTS_MAX; i++)
        argv[count++] = arguments[i];
    child_deinit(&daemon->child);
    child_start(&daemon->child, argv, NULL);
    free(program);
}

void optraced_start(struct optraced *daemon, const char *const *arguments)
{
    optraced_spawn(daemon, arguments);
    if (!child_wait_text(&daemon->child, "ready: ", WAIT_MS))
        fail_msg("optraced did not start: %s", daemon->child.err);
}

int optraced_stop(struct optraced *daemon)
{
    return child_kill(&daemon->child, SIGTERM);
}

void optraced_kill(struct optraced *daemon)
{
    child_kill(&daemon->child, SIGKILL);
}

void optraced_deinit(struct optraced *daemon)
{
    child_deinit(&daemon->child);
    temp_destroy(&daemon->dir);
    free(daemon->socket);
    free(daemon->store);
}

/* A query on the store of a daemon. */
struct question {
    const struct optraced *daemon;
    const char *sql;
    sqlite3 *db;
    sqlite3_stmt *row;
};

static void question_open(struct question *question)
{
    const char *store = question->daemon->store;

    if (sqlite3_open_v2(store, &question->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        fail_msg("%s: %s", store, sqlite3_errmsg(question->db));
    sqlite3_busy_timeout(question->db, (int)WAIT_MS);
    if (sqlite3_prepare_v2(question->db, question->sql, -1, &question->row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", question->sql, sqlite3_errmsg(question->db));
}

static void question_close(struct question *question)
{
    sqlite3_finalize(question->row);
    sqlite3_close(question->db);
}

/* The only value of the only row, by `take`, which copies it. */
static void question_ask(struct question *question, void (*take)(sqlite3_stmt *row, void *out),
                         void *out)
{
    if (sqlite3_step(question->row) != SQLITE_ROW)
        fail_msg("%s: %s", question->sql, sqlite3_errmsg(question->db));
    take(question->row, out);
    sqlite3_reset(question->row);
}

static void ask_once(const struct optraced *daemon, const char *sql,
                     void (*take)(sqlite3_stmt *row, void *out), void *out)
{
    struct question question = {.daemon = daemon, .sql = sql};

    question_open(&question);
    question_ask(&question, take, out);
    question_close(&question);
}

static void take_int(sqlite3_stmt *row, void *out)
{
    int64_t *number = out;

    *number = sqlite3_column_type(row, 0) == SQLITE_NULL ? -1 : sqlite3_column_int64(row, 0);
}

static void take_text(sqlite3_stmt *row, void *out)
{
    const char *text = (const char *)sqlite3_column_text(row, 0);

    *(char **)out = strdup(text ? text : "");
}

int64_t optraced_query(const struct optraced *daemon, const char *sql)
{
    int64_t number;

    ask_once(daemon, sql, take_int, &number);
    return number;
}

char *optraced_query_text(const struct optraced *daemon, const char *sql)
{
    char *text;

    ask_once(daemon, sql, take_text, &text);
    return text;
}

struct wanted {
    struct question question;
    ino_t file; /* that it is asked of */
    int64_t number;
};

static ino_t store_file(const struct optraced *daemon)
{
    struct stat status;

    return stat(daemon->store, &status) < 0 ? 0 : status.st_ino;
}

/* The question stays open, since to open it is to read the whole schema, a hundred times what asking
 * takes; unless the daemon has begun another store. */
static bool has_wanted(void *context)
{
    struct wanted *wanted = context;
    ino_t file = store_file(wanted->question.daemon);
    int64_t number;

    if (file != wanted->file) {
        question_close(&wanted->question);
        question_open(&wanted->question);
        wanted->file = file;
    }
    question_ask(&wanted->question, take_int, &number);
    return number == wanted->number;
}

void optraced_wait_for(const struct optraced *daemon, const char *sql, int64_t number)
{
    struct wanted wanted = {.question = {.daemon = daemon, .sql = sql}, .number = number};

    wanted.file = store_file(daemon);
    question_open(&wanted.question);
    if (!wait_until(has_wanted, &wanted, WAIT_MS))
        fail_msg("%s: %lld, not %lld", sql, (long long)optraced_query(daemon, sql),
                 (long long)number);
    question_close(&wanted.question);
}

unsigned optraced_count_log(struct optraced *daemon, const char *text)
{
    unsigned count = 0;

    child_drain(&daemon->child);
    for (const char *at = daemon->child.err; at && *text && (at = strstr(at, text)); at++)
        count++;
    return count;
}

struct wanted_log {
    struct optraced *daemon;
    const char *text;
    unsigned count;
};

static bool has_logged(void *context)
{
    const struct wanted_log *wanted = context;

    return optraced_count_log(wanted->daemon, wanted->text) >= wanted->count;
}

void optraced_expect_log(struct optraced *daemon, const char *text, unsigned count)
{
    struct wanted_log wanted = {daemon, text, count};

    wait_until(has_logged, &wanted, WAIT_MS);
    if (optraced_count_log(daemon, text) != count)
        fail_msg("\"%s\" was logged %u times, not %u: %s", text, optraced_count_log(daemon, text),
                 count, daemon->child.err);
}
