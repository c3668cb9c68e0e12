/* SPDX-License-Identifier: Apache-2.0 */
/* Opening stores: new ones, those of others, damaged ones, and who may write. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

static int make_place(void **state)
{
    *state = temp_create();
    return 0;
}

static int remove_place(void **state)
{
    temp_destroy((char **)state);
    return 0;
}

/* Open, expecting this error and a sentence with this part. */
static void check_refused(const char *path, enum store_mode mode, int error, const char *part)
{
    struct store *store = NULL;
    struct diag diag = {0};

    assert_int_equal(store_open(path, mode, &store, &diag), error);
    assert_null(store);
    CHECK_CONTAINS(diag.text, part);
    assert_null(strchr(diag.text, '\n'));
}

static void make_store(const char *path)
{
    struct store *store = store_support_open(path, STORE_WRITE);

    store_close(&store);
    assert_null(store);
}

static void a_new_store_is_private_and_complete(void **state)
{
    char *path = temp_path(*state, "a/b/store.db");
    char *wal = temp_path(*state, "a/b/store.db-wal");
    char *shm = temp_path(*state, "a/b/store.db-shm");
    struct store *store;
    struct stat status;

    umask(0);
    store = store_support_open(path, STORE_WRITE);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(wal, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(shm, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    CHECK_U64(store_support_int(store, "PRAGMA page_size"), 32768);
    CHECK_U64(store_support_int(store, "PRAGMA synchronous"), 1);
    CHECK_U64(store_support_int(store, "PRAGMA application_id"), 0x4f545243);
    CHECK_U64(store_support_int(
                  store, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode='wal'"),
              1);
    CHECK_U64(store_support_int(store, "SELECT value='1.4' FROM meta WHERE key='schema_version'"),
              1);
    store_close(&store);
    assert_int_equal(access(wal, F_OK), -1); /* all of it is in the file */

    store = store_support_open(path, STORE_READ);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM v_event"), 0);
    store_close(&store);
    free(shm);
    free(wal);
    free(path);
}

static void what_is_not_a_store_is_refused(void **state)
{
    static char junk[100000] = "SQLite format 4";
    char *path = temp_write(*state, "junk", junk, sizeof(junk));
    char *lock = temp_path(*state, "junk-lock");
    char *foreign = temp_path(*state, "foreign.db");
    char *fifo = temp_path(*state, "fifo");

    check_refused(path, STORE_READ, -EUCLEAN, "is not an SQLite file");
    check_refused(path, STORE_WRITE, -EUCLEAN, "is not an SQLite file");
    assert_int_equal(access(lock, F_OK), -1);
    store_support_run(foreign, "CREATE TABLE bookmark(url TEXT)");
    check_refused(foreign, STORE_READ, -EUCLEAN, "not a store of optrace");
    check_refused(foreign, STORE_WRITE, -EUCLEAN, "not a store of optrace");
    check_refused(*state, STORE_READ, -EISDIR, "is a directory");
    check_refused(*state, STORE_WRITE, -EISDIR, "is a directory");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    check_refused(fifo, STORE_READ, -EINVAL, "not a regular file");
    check_refused("", STORE_READ, -ENOENT, "empty");
    free(fifo);
    free(foreign);
    free(lock);
    free(path);
}

static void a_missing_store_is_made_only_for_writing(void **state)
{
    char *path = temp_path(*state, "none/store.db");
    char *below = temp_path(*state, "file/store.db");
    char *file = temp_write(*state, "file", "x", 1);

    check_refused(path, STORE_READ, -ENOENT, "No such file or directory");
    assert_int_equal(access(path, F_OK), -1);
    check_refused(below, STORE_WRITE, -ENOTDIR, "Not a directory");
    make_store(path);
    free(file);
    free(below);
    free(path);
}

static void an_empty_file_becomes_a_store(void **state)
{
    char *path = temp_write(*state, "store.db", "", 0);
    struct store *store;

    check_refused(path, STORE_READ, -ENOENT, "nothing was recorded");
    store = store_support_open(path, STORE_WRITE);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM session"), 0);
    store_close(&store);
    free(path);
}

static void names_that_sqlite_would_interpret_are_files(void **state)
{
    char *here = get_current_dir_name();
    struct store *store;

    assert_int_equal(chdir(*state), 0);
    make_store("file:x?mode=memory");
    assert_int_equal(access("file:x?mode=memory", F_OK), 0);
    store = store_support_open(":memory:", STORE_WRITE);
    assert_int_equal(access(":memory:", F_OK), 0);
    store_close(&store);
    assert_int_equal(chdir(here), 0);
    free(here);
}

static void only_one_may_write(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store *first = store_support_open(path, STORE_WRITE);
    struct store *reader;
    char pid_text[40];

    snprintf(pid_text, sizeof(pid_text), "process %ld is writing", (long)getpid());
    check_refused(path, STORE_WRITE, -EBUSY, pid_text);
    reader = store_support_open(path, STORE_READ);
    store_close(&reader);
    check_refused(path, STORE_WRITE, -EBUSY, pid_text);
    store_close(&first);
    first = store_support_open(path, STORE_WRITE);
    store_close(&first);
    free(path);
}

static void a_link_to_a_store_has_the_same_lock(void **state)
{
    char *path = temp_path(*state, "store.db");
    char *link_path = temp_path(*state, "link.db");
    struct store *store = store_support_open(path, STORE_WRITE);

    assert_int_equal(symlink(path, link_path), 0);
    check_refused(link_path, STORE_WRITE, -EBUSY, "is writing to");
    store_close(&store);
    store = store_support_open(link_path, STORE_WRITE);
    check_refused(path, STORE_WRITE, -EBUSY, "is writing to");
    store_close(&store);
    free(link_path);
    free(path);
}

static int hold_store(void *context)
{
    struct store *store = store_support_open(context, STORE_WRITE);

    printf("ready\n");
    fflush(stdout);
    pause();
    return store != NULL;
}

static void a_lock_dies_with_its_process(void **state)
{
    char *path = temp_path(*state, "store.db");
    char pid_text[40];
    struct child child;

    child_start_function(&child, hold_store, path);
    assert_true(child_wait_text(&child, "ready", WAIT_MS));
    snprintf(pid_text, sizeof(pid_text), "process %ld is writing", (long)child.pid);
    check_refused(path, STORE_WRITE, -EBUSY, pid_text);
    child_kill(&child, SIGKILL);
    make_store(path);
    child_deinit(&child);
    free(path);
}

static void a_newer_major_is_refused_and_a_newer_minor_is_not(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store *store;

    make_store(path);
    store_support_run(path, "UPDATE meta SET value='2.0' WHERE key='schema_version'");
    check_refused(path, STORE_READ, -EPROTO, "its schema version is 2.0, this program knows 1.4");
    check_refused(path, STORE_WRITE, -EPROTO, "newer optrace");
    store_support_run(path, "UPDATE meta SET value='1.7' WHERE key='schema_version'");
    store = store_support_open(path, STORE_READ);
    store_close(&store);
    store = store_support_open(path, STORE_WRITE);
    CHECK_U64(store_support_int(store, "SELECT value='1.7' FROM meta WHERE key='schema_version'"),
              1);
    store_close(&store);
    store_support_run(path, "UPDATE meta SET value='one' WHERE key='schema_version'");
    check_refused(path, STORE_READ, -EUCLEAN, "schema version is 'one'");
    free(path);
}

static void a_damaged_store_is_refused(void **state)
{
    char *path = temp_path(*state, "store.db");
    size_t size;
    char *bytes;

    make_store(path);
    bytes = temp_read(path, &size);
    memset(bytes + 100, 0xff, 200); /* the root of the schema */
    free(temp_write(*state, "store.db", bytes, size));
    check_refused(path, STORE_READ, -EUCLEAN, "is damaged");
    check_refused(path, STORE_WRITE, -EUCLEAN, "is damaged");
    free(temp_write(*state, "store.db", bytes, 50));
    check_refused(path, STORE_READ, -EUCLEAN, "is damaged");
    free(bytes);
    free(path);
}

/* A name that is no URI as it stands: on read-only media SQLite opens one. */
#define ODD_NAME "100%25 what? #1.db"

static char *shared_dir; /* what the child of the test below looks at */

static void permissions_hold(void **state)
{
    char *store_path = temp_path(shared_dir, ODD_NAME);
    char *secret = temp_path(shared_dir, "secret.db");
    char *new_path = temp_path(shared_dir, "new.db");
    struct store *store;

    store = store_support_open(store_path, STORE_READ);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM session"), 1);
    store_close(&store);
    check_refused(store_path, STORE_WRITE, -EACCES, store_path);
    check_refused(secret, STORE_READ, -EACCES, "ermission denied");
    check_refused(new_path, STORE_WRITE, -EACCES, "ermission denied");
    free(new_path);
    free(secret);
    free(store_path);
}

/* As somebody whom permissions bind. */
static int as_nobody(void *context)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(permissions_hold)};

    if (geteuid() == 0 && setuid(65534) != 0)
        return 77;
    return cmocka_run_group_tests_name("as nobody", tests, NULL, NULL);
}

static void a_read_only_directory_can_be_read(void **state)
{
    struct store_session session = {
        .session_id = 1, .start_ns = 1, .end_ns = STORE_NULL, .clock = "tsc", .source = "live"};
    struct diag diag = {0};
    struct store *store;
    struct child child;
    char *path = temp_path(*state, ODD_NAME);
    char *secret = temp_path(*state, "secret.db");
    int status;

    store = store_support_open(path, STORE_WRITE);
    CHECK_OK(store_begin(store, &diag));
    CHECK_OK(store_put_session(store, &session, &diag));
    CHECK_OK(store_commit(store, &diag));
    store_close(&store);
    make_store(secret);
    chmod(path, 0444);
    chmod(secret, 0000);
    chmod(*state, 0555);
    shared_dir = *state;
    child_start_function(&child, as_nobody, NULL);
    status = child_wait(&child, WAIT_MS);
    chmod(*state, 0755);
    if (status != 0)
        print_error("%s%s", child.out, child.err);
    assert_int_equal(status, 0);
    child_deinit(&child);
    free(secret);
    free(path);
}

static void the_default_path_follows_the_environment(void **state)
{
    char path[64];

    setenv("OPTRACE_STORE", "/x/y.db", 1);
    setenv("XDG_STATE_HOME", "/state", 1);
    setenv("HOME", "/home/me", 1);
    CHECK_OK(store_default_path(path, sizeof(path)));
    assert_string_equal(path, "/x/y.db");
    setenv("OPTRACE_STORE", "", 1);
    CHECK_OK(store_default_path(path, sizeof(path)));
    assert_string_equal(path, "/state/optrace/optrace.db");
    setenv("XDG_STATE_HOME", "relative", 1);
    CHECK_OK(store_default_path(path, sizeof(path)));
    assert_string_equal(path, "/home/me/.local/state/optrace/optrace.db");
    assert_int_equal(store_default_path(path, 20), -ENAMETOOLONG);
    unsetenv("HOME");
    CHECK_OK(store_default_path(path, sizeof(path)));
    assert_string_equal(path, "/var/lib/optrace/optrace.db");
}

int main(void)
{
#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        WITH_PLACE(a_new_store_is_private_and_complete),
        WITH_PLACE(what_is_not_a_store_is_refused),
        WITH_PLACE(a_missing_store_is_made_only_for_writing),
        WITH_PLACE(an_empty_file_becomes_a_store),
        WITH_PLACE(names_that_sqlite_would_interpret_are_files),
        WITH_PLACE(only_one_may_write),
        WITH_PLACE(a_link_to_a_store_has_the_same_lock),
        WITH_PLACE(a_lock_dies_with_its_process),
        WITH_PLACE(a_newer_major_is_refused_and_a_newer_minor_is_not),
        WITH_PLACE(a_damaged_store_is_refused),
        WITH_PLACE(a_read_only_directory_can_be_read),
        cmocka_unit_test(the_default_path_follows_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
