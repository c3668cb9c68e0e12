/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the stores that examples of the documentation are run on: example_store FOLDER. */
#include <stdio.h>

#include "tests/support/counter_store.h"
#include "tests/support/rank_store.h"
#include "tests/support/run_store.h"
#include "tests/support/small_store.h"

#define MS     1e6
#define DAY_NS INT64_C(86400000000000)

enum { SIDE_SESSIONS = 5, HISTORY_SESSIONS = 12, CHANGED_SESSION = 7, PATH_BYTES = 4096 };

static const struct run_store_session net = {
    .start_ns = SMALL_STORE_START_NS,
    .host = "box",
    .program = "load_and_run",
    .command = "load_and_run net.onnx",
    .library = "liboptrace 0.1.0",
    .model = "net",
    .digest = "sha256:11",
    .ops =
        {
            {"conv1", "Conv", "[[1,3,224,224]]", NULL, NULL, 4 * MS},
            {"relu1", "Relu", "[[1,64,112,112]]", NULL, NULL, 0.5 * MS},
            {"fc1", "Gemm", "[[1,4096],[4096,512]]", NULL, NULL, 3 * MS},
            {"fc2", "Gemm", "[[1,512],[512,1000]]", NULL, NULL, 0.2 * MS},
        },
    .between_ns = 0.02 * MS,
    .run_count = 20,
    .warmup_count = 1,
    .noise = 0.02,
};

static char path[PATH_BYTES];

static const char *path_in(const char *folder, const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* base.db and new.db: five sessions each, recorded in turn; in new.db fc1 takes longer. */
static void make_sides(const char *folder)
{
    struct run_store_session base = net, new = net;

    new.library = "liboptrace 0.2.0";
    new.ops[2].ns *= 1.3;
    for (int i = 0; i < SIDE_SESSIONS; i++) {
        base.seed = 11 + 2 * (uint64_t)i;
        new.seed = base.seed + 1;
        new.start_ns = base.start_ns + INT64_C(30000000000);
        run_store_append(path_in(folder, "base.db"), &base);
        run_store_append(path_in(folder, "new.db"), &new);
        base.start_ns += INT64_C(60000000000);
    }
}

/* history.db: a session a day; from one on fc1 takes longer. */
static void make_history(const char *folder)
{
    struct run_store_session session = net;

    for (int i = 0; i < HISTORY_SESSIONS; i++) {
        session.seed = 101 + (uint64_t)i;
        if (i + 1 == CHANGED_SESSION) {
            session.library = "liboptrace 0.2.0";
            session.ops[2].ns *= 1.2;
        }
        run_store_append(path_in(folder, "history.db"), &session);
        session.start_ns += DAY_NS;
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: example_store FOLDER\n", stderr);
        return 2;
    }
    small_store_make(path_in(argv[1], "store.db"));
    small_store_make(path_in(argv[1], "counters.db"));
    counter_store_append(path);
    rank_store_make(path_in(argv[1], "workers.db"));
    make_sides(argv[1]);
    make_history(argv[1]);
    return 0;
}
