/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that do at random what is hard to record, while they, their children and the daemon are
 * stopped and killed: each event is stored once, or counted as lost, or the store says that it does
 * not know how many are. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/flow/crash_check.h"
#include "tests/flow/crash_random.h"
#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { ROUNDS = 12, STEPS_MAX = 8, PAUSE_US_MAX = 200000 };

/* Of all rounds. */
struct tally {
    uint64_t events, missing;
    unsigned lives;
};

/* A program of the round. */
struct program {
    struct child child;
    char *notes_path;
    struct random_notes *notes; /* mapped */
    unsigned seed;
};

static void map_notes(struct program *program)
{
    int fd = open(program->notes_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *memory;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(struct random_notes)), 0);
    memory = mmap(NULL, sizeof(struct random_notes), PROT_READ, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    program->notes = memory;
    close(fd);
}

static void program_start(struct program *program, const struct optraced *daemon)
{
    static const char *const rings[] = {"64", "256", "4096", "65536"};
    char *path = place_program("tests/flow/crash_random_program");
    char seed[16], socket[300], ring[64];
    const char *argv[] = {path, NULL, seed, NULL};
    const char *environment[] = {socket, ring, NULL};
    struct child_options options = {.environment = environment};

    *program = (struct program){.notes_path = temp_path(daemon->dir, "notes"),
                                .seed = crash_random(1u << 30)};
    map_notes(program);
    argv[1] = program->notes_path;
    snprintf(seed, sizeof(seed), "%u", program->seed);
    snprintf(socket, sizeof(socket), "OPTRACE_SOCKET=%s", daemon->socket);
    snprintf(ring, sizeof(ring), "OPTRACE_RING_RECORDS=%s", rings[crash_random(4)]);
    child_start(&program->child, argv, &options);
    free(path);
}

static void program_deinit(struct program *program)
{
    child_deinit(&program->child);
    munmap(program->notes, sizeof(*program->notes));
    free(program->notes_path);
}

static uint32_t life_count(const struct random_notes *notes)
{
    uint32_t count = __atomic_load_n(&notes->life_count, __ATOMIC_ACQUIRE);

    return count < RANDOM_LIVES_MAX ? count : RANDOM_LIVES_MAX;
}

/* --- What is done to them --- */

static void pause_process(pid_t pid)
{
    kill(pid, SIGSTOP);
    crash_random_pause(PAUSE_US_MAX);
    kill(pid, SIGCONT);
}

static void disturb(struct optraced *daemon, const struct program *program)
{
    switch (crash_random(6)) {
    case 0:
        optraced_kill(daemon);
        crash_random_pause(crash_random(2) ? PAUSE_US_MAX : 0);
        optraced_start(daemon, NULL);
        break;
    case 1:
        assert_int_equal(optraced_stop(daemon), 0);
        crash_random_pause(crash_random(2) ? PAUSE_US_MAX : 0);
        optraced_start(daemon, NULL);
        break;
    case 2:
        pause_process(daemon->child.pid);
        break;
    case 3:
        pause_process(program->child.pid);
        break;
    case 4: /* killed before it has read what waits in its socket */
        kill(daemon->child.pid, SIGSTOP);
        crash_random_pause(PAUSE_US_MAX);
        optraced_kill(daemon);
        optraced_start(daemon, NULL);
        break;
    default:
        break;
    }
    crash_random_pause(PAUSE_US_MAX);
}

/* In peace, alone, or with the daemon. */
static void end_program(struct optraced *daemon, struct program *program)
{
    const unsigned how = crash_random(4);
    int status = 0;

    if (how == 0)
        optraced_kill(daemon);
    if (how == 1)
        kill(program->child.pid, SIGTERM);
    else
        child_kill(&program->child, SIGKILL);
    if (how == 0)
        optraced_start(daemon, NULL);
    if (how == 1)
        status = child_wait(&program->child, WAIT_MS);
    if (status != 0)
        fail_msg("seed %u: status %d: %s", program->seed, status, program->child.err);
}

static bool is_gone(void *context)
{
    const pid_t pid = *(const pid_t *)context;

    waitpid(pid, NULL, WNOHANG); /* orphans are this process's children */
    return kill(pid, 0) < 0 && errno == ESRCH;
}

/* Children end by themselves; one that has just begun may be about to have more. */
static void wait_for_lives(const struct program *program)
{
    for (uint32_t i = 0; i < life_count(program->notes); i++) {
        pid_t pid = __atomic_load_n(&program->notes->lives[i].pid, __ATOMIC_ACQUIRE);

        if (pid > 0 && !wait_until(is_gone, &pid, WAIT_MS))
            fail_msg("seed %u: pid %d does not end", program->seed, (int)pid);
    }
}

/* --- The check --- */

struct check {
    const struct program *program;
    sqlite3 *db;
    uint8_t *seen[RANDOM_LIVES_MAX][RANDOM_THREADS_MAX]; /* by number */
    uint64_t stored[RANDOM_LIVES_MAX];
};

static void see(struct check *check, uint64_t id, int64_t pid)
{
    const struct random_notes *notes = check->program->notes;
    const uint32_t l = (uint32_t)(id >> 44) - 1, t = ((uint32_t)(id >> 32) & 0xfff) - 1;
    const uint32_t number = (uint32_t)id;
    const struct random_life *life = &notes->lives[l];
    uint8_t **seen;

    if (l >= life_count(notes) || t >= RANDOM_THREADS_MAX || t >= life->thread_count ||
        number == 0 || number > life->noted[t] + 1 || life->pid != pid)
        fail_msg("seed %u: invented: span %u of thread %u of life %u, under pid %lld",
                 check->program->seed, number, t, l, (long long)pid);
    seen = &check->seen[l][t];
    if (!*seen)
        *seen = calloc(life->noted[t] + 2, 1);
    assert_non_null(*seen);
    if ((*seen)[number]++)
        fail_msg("seed %u: span %u of thread %u of life %u is stored twice", check->program->seed,
                 number, t, l);
    check->stored[l] += number <= life->noted[t];
}

static int64_t ask(sqlite3 *db, const char *sql, int64_t pid, void (*take)(void *, sqlite3_stmt *),
                   void *context)
{
    sqlite3_stmt *row;
    int64_t number = 0;
    int rc;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_bind_int64(row, 1, pid);
    while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
        number = sqlite3_column_int64(row, 0);
        if (take)
            take(context, row);
    }
    if (rc != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_finalize(row);
    return number;
}

static void take_event(void *context, sqlite3_stmt *row)
{
    see(context, (uint64_t)sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1));
}

/* Of this life so many spans are missing: counted as lost, or unknown. */
static void check_said(const struct check *check, uint32_t l, uint64_t missing)
{
    const struct random_life *life = &check->program->notes->lives[l];
    const int64_t sessions =
        ask(check->db, "SELECT count(*) FROM session WHERE pid = ?", life->pid, NULL, NULL);
    const int64_t lost = ask(check->db,
                             "SELECT sum(lost_count) FROM gap JOIN session USING (session_id)"
                             " WHERE pid = ?",
                             life->pid, NULL, NULL);
    const int64_t unknown = ask(check->db,
                                "SELECT count(*) FROM gap JOIN session USING (session_id)"
                                " WHERE pid = ? AND lost_count IS NULL",
                                life->pid, NULL, NULL);

    if (unknown > 0 || (uint64_t)lost >= missing)
        return;
    /* Of a session that began shortly before the daemon was killed there may be no trace. */
    if ((uint64_t)sessions < life->session_count && (sessions > 0 || !life->is_known))
        return;
    /* It died before it had connected again. */
    if (!life->is_over && !life->is_known && life->has_closed)
        return;
    fail_msg(
        "seed %u: life %u, pid %d%s%s%s: %llu missing, %lld said to be lost, %lld of %u sessions",
        check->program->seed, l, life->pid, life->is_over ? ", over" : "",
        life->has_closed ? ", closed" : "", life->is_known ? ", known" : "",
        (unsigned long long)missing, (long long)lost, (long long)sessions, life->session_count);
}

static void check_lives(const struct optraced *daemon, const struct program *program,
                        struct tally *tally)
{
    static struct check check;

    memset(&check, 0, sizeof(check));
    check.program = program;
    assert_int_equal(sqlite3_open_v2(daemon->store, &check.db, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    ask(check.db,
        "SELECT correlation, pid FROM event JOIN lane USING (lane_id) JOIN session USING"
        " (session_id) WHERE correlation IS NOT NULL AND dur_ns IS NOT NULL AND ?",
        1, take_event, &check);
    for (uint32_t l = 0; l < life_count(program->notes); l++) {
        uint64_t noted = 0;

        for (uint32_t t = 0; t < RANDOM_THREADS_MAX; t++) {
            noted += program->notes->lives[l].noted[t];
            free(check.seen[l][t]);
        }
        if (check.stored[l] < noted)
            check_said(&check, l, noted - check.stored[l]);
        tally->events += check.stored[l];
        tally->missing += noted - check.stored[l];
        tally->lives++;
    }
    sqlite3_close(check.db);
}

static void one_round(struct tally *tally)
{
    struct program program;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    program_start(&program, &daemon);
    optraced_wait_for(&daemon, "SELECT count(*) > 0 FROM session", 1);
    for (unsigned i = crash_random(STEPS_MAX); i > 0; i--)
        disturb(&daemon, &program);
    end_program(&daemon, &program);
    wait_for_lives(&program);
    /* A daemon that begins looks at once who died while none was there; else it takes 10 s. */
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_start(&daemon, NULL);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL", 0);
    crash_check_integrity(&daemon);
    assert_int_equal(optraced_stop(&daemon), 0);
    check_lives(&daemon, &program, tally);
    program_deinit(&program);
    optraced_deinit(&daemon);
}

static void no_event_is_lost_silently(void **state)
{
    const unsigned rounds = crash_rounds(ROUNDS);
    struct tally tally = {0};

    for (unsigned i = 0; i < rounds; i++)
        one_round(&tally);
    printf("%u rounds, %u processes, %llu events compared, %llu missing and said\n", rounds,
           tally.lives, (unsigned long long)tally.events, (unsigned long long)tally.missing);
    assert_true(tally.events > rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_event_is_lost_silently),
    };

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    crash_choose_scenario();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
