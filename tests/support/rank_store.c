/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of one job, one of them late. */
#include "tests/support/rank_store.h"

#include "tests/support/run_store.h"

#define MS       1e6
#define MS_NS    INT64_C(1000000)
#define START_NS INT64_C(1769846400000000000)
#define DAY_NS   INT64_C(86400000000000)

static const struct run_store_session plain_rank = {
    .start_ns = START_NS,
    .host = "box",
    .program = "load_and_run",
    .command = "load_and_run net.onnx",
    .library = "liboptrace 0.1.0",
    .model = "net",
    .digest = "sha256:11",
    .ops =
        {
            {"conv1", "Conv", "[[1,3,224,224]]", NULL, NULL, 4 * MS},
            {"conv2", "Conv", "[[1,64,56,56]]", NULL, NULL, 3 * MS},
            {"fc", "Gemm", "[[1,512],[512,1000]]", NULL, NULL, 0.2 * MS},
        },
    .between_ns = 0.02 * MS,
    .run_count = 8,
    .warmup_count = 1,
    .noise = 0.02,
    .seed = 1,
};

void rank_store_make(const char *path)
{
    struct run_store_session rank = plain_rank;

    run_store_append(path, &rank);
    rank.start_ns += MS_NS;
    rank.noise = 0.15;
    rank.seed = 2;
    run_store_append(path, &rank);
    rank = plain_rank;
    rank.start_ns += 2 * MS_NS;
    rank.ops[1].ns *= 1.3;
    rank.seed = 3;
    run_store_append(path, &rank);
    rank = plain_rank;
    rank.run_count = rank.warmup_count = 0;
    run_store_append(path, &rank);
    rank = plain_rank;
    rank.start_ns -= 8 * 15 * MS_NS; /* of the warm-ups more than the others have */
    rank.warmup_count = 9;
    rank.noise = 0.05;
    rank.seed = 5;
    run_store_append(path, &rank);
    rank = plain_rank;
    rank.start_ns += DAY_NS;
    rank.seed = 6;
    run_store_append(path, &rank);
}
