/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for cases that a kernel gets wrong or crashes on: random ones of every operation and
 * version, under every limit that oneDNN can be given on instruction sets.
 *
 * Each stretch of cases runs in a process of its own, which a crash ends, not the search: what the
 * process draws lies in memory that it shares. A case that failed is made smaller by lowering its
 * draws one by one, each time in a new process, as long as it goes on to fail in the same way.
 * oneDNN reads the limit once a process, so nothing of it may be called before the fork.
 */
#include <errno.h>
#include <inttypes.h>
#include <oneapi/dnnl/dnnl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kernels/harness.h"

enum {
    CASE_SECONDS = 120, /* a case that takes longer hangs; sanitizers are slow */
    TRIALS_MAX = 400,   /* processes to make one case smaller */
    SHOWN_MAX = 3,      /* findings of one kernel that are made smaller and printed */
    SEEN_MAX = 512,
    STATUS_WRONG = 10, /* of a child; a sanitizer's own is 1 */
    STATUS_ABSENT = 11,
};

static const struct isa {
    const char *name;
    dnnl_cpu_isa_t isa;
} isas[] = {
    {"default", dnnl_cpu_isa_all},
    {"SSE41", dnnl_cpu_isa_sse41},
    {"AVX", dnnl_cpu_isa_avx},
    {"AVX2", dnnl_cpu_isa_avx2},
    {"AVX512_CORE", dnnl_cpu_isa_avx512_core},
};
enum { ISA_COUNT = sizeof(isas) / sizeof(isas[0]) };

/* A case, apart from its draws. */
struct subject {
    int isa, op, level;
    uint64_t seed;
};

struct seen {
    char op[TEST_KERNEL_BYTES], kernel[TEST_KERNEL_BYTES];
    uint64_t cases;
    int findings;
};

/* What children write and the parent reads. */
struct shared {
    struct subject subject;
    struct test test;
    uint64_t cases;
    struct seen seen[SEEN_MAX];
    int seen_count;
};

struct hunt {
    const struct test_search *search;
    struct shared *shared;
    bool is_absent[ISA_COUNT];
    uint64_t next; /* number of the next case */
    int findings;
};

static struct shared *map_shared(void)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED) {
        fprintf(stderr, "kernels: no memory to share\n");
        exit(EXIT_FAILURE);
    }
    return shared;
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In a child, or before anything of oneDNN was called. */
static bool limit_isa(int isa)
{
    if (isas[isa].isa == dnnl_cpu_isa_all)
        unsetenv("ONEDNN_MAX_CPU_ISA");
    else
        setenv("ONEDNN_MAX_CPU_ISA", isas[isa].name, 1);
    unsetenv("DNNL_MAX_CPU_ISA");
    return isas[isa].isa == dnnl_cpu_isa_all || dnnl_get_effective_cpu_isa() == isas[isa].isa;
}

/* Cases */

static const char *kernel_name(const struct test *test)
{
    return test->kernel[0] ? test->kernel : test->version;
}

static void count_case(struct shared *shared)
{
    struct seen *seen = shared->seen;
    const char *kernel = kernel_name(&shared->test);
    int i = 0;

    shared->cases++;
    while (i < shared->seen_count &&
           (strcmp(seen[i].kernel, kernel) != 0 || strcmp(seen[i].op, shared->test.op) != 0))
        i++;
    if (i == SEEN_MAX)
        return;
    if (i == shared->seen_count) {
        snprintf(seen[i].op, sizeof(seen[i].op), "%s", shared->test.op);
        snprintf(seen[i].kernel, sizeof(seen[i].kernel), "%s", kernel);
        shared->seen_count++;
    }
    seen[i].cases++;
}

/* In a child. */
static bool run_subject(struct shared *shared)
{
    struct kernel_table table;

    if (!test_has_level(test_op_at(shared->subject.op), shared->subject.level, &table))
        return true;
    shared->test.seed = shared->subject.seed;
    alarm(CASE_SECONDS);
    test_case(&shared->test, test_op_at(shared->subject.op), &table);
    alarm(0);
    return !shared->test.failed;
}

static void set_test(struct test *test, const struct test_draws *given)
{
    *test = (struct test){.is_wide = true, .is_quiet = true};
    if (given) {
        test->draws = *given;
        test->draws.given = given->count;
    }
}

/* Half of the cases go to what has kernels of oneDNN. */
static void choose(const struct test_search *search, uint64_t number, struct subject *out_subject)
{
    int chosen[256], count = 0;
    uint64_t random = mix(search->seed * 0x9e3779b97f4a7c15u + number);
    const struct test_op *op;
    bool prefers = random % 2;
    struct kernel_table table;
    int level;

    for (int i = 0; (op = test_op_at(i)); i++)
        if (test_is_asked(op, search->op) && (!prefers || op->entry == TEST_ALWAYS || search->op) &&
            count < (int)(sizeof(chosen) / sizeof(chosen[0])))
            chosen[count++] = i;
    out_subject->op = chosen[(random >> 1) % (uint64_t)count];
    level = KERNEL_LEVEL_PORTABLE + (int)((random >> 24) % (KERNEL_LEVELS - KERNEL_LEVEL_PORTABLE));
    out_subject->level =
        test_has_level(test_op_at(out_subject->op), level, &table) ? level : KERNEL_LEVEL_PORTABLE;
    out_subject->seed = mix(random);
}

/* Processes */

/* What the child ends with; negative: minus the signal. */
static int run_child(struct shared *shared, void (*work)(struct shared *, void *), void *user,
                     int isa)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child < 0) {
        fprintf(stderr, "kernels: cannot fork: %s\n", strerror(errno));
        exit(EXIT_FAILURE);
    }
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr) || !limit_isa(isa))
            _exit(STATUS_ABSENT);
        work(shared, user);
        _exit(shared->test.failed ? STATUS_WRONG : 0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

struct stretch {
    const struct hunt *hunt;
    int isa;
    double end;
};

/* Random cases until the time is over, or one fails. */
static void run_stretch(struct shared *shared, void *user)
{
    const struct stretch *stretch = user;
    uint64_t first = shared->cases;

    do {
        choose(stretch->hunt->search, stretch->hunt->next + shared->cases - first,
               &shared->subject);
        shared->subject.isa = stretch->isa;
        set_test(&shared->test, NULL);
        run_subject(shared);
        count_case(shared);
    } while (!shared->test.failed && test_now() < stretch->end);
}

static void run_given(struct shared *shared, void *user)
{
    struct test_draws given = *(const struct test_draws *)user;

    set_test(&shared->test, &given);
    run_subject(shared);
}

/* Smaller cases */

/* Whether the case still fails so with one draw lower; then that is the case. */
static bool lower(struct shared *shared, struct test_draws *draws, int at, int64_t value, int how)
{
    struct test_draws trial = *draws;

    trial.values[at] = value;
    if (run_child(shared, run_given, &trial, shared->subject.isa) != how)
        return false;
    *draws = shared->test.draws; /* as they were drawn: others may have changed with it */
    return true;
}

static void make_smaller(struct shared *shared, int how)
{
    struct test_draws draws = shared->test.draws;
    int trials = 0;
    bool is_lower = true;

    while (is_lower && trials < TRIALS_MAX) {
        is_lower = false;
        for (int i = 0; i < draws.count && trials < TRIALS_MAX; i++) {
            int64_t low = draws.lows[i], step = draws.values[i] - low;

            /* All of it, half of it, ..., one. */
            for (; step > 0 && trials < TRIALS_MAX; step /= 2) {
                if (i >= draws.count || draws.values[i] - step < draws.lows[i])
                    continue;
                trials++;
                is_lower |= lower(shared, &draws, i, draws.values[i] - step, how);
            }
        }
    }
    run_child(shared, run_given, &draws, shared->subject.isa); /* its text and message */
}

/* Findings */

static const char *say_how(int how, const struct test *test, char *out, size_t bytes)
{
    if (how == STATUS_WRONG)
        snprintf(out, bytes, "%s", test->message);
    else if (how == -SIGALRM)
        snprintf(out, bytes, "hangs");
    else if (how < 0)
        snprintf(out, bytes, "ended by signal %d (%s)", -how, strsignal(-how));
    else
        snprintf(out, bytes, "ended with status %d", how);
    return out;
}

static void print_line(const struct subject *subject, const struct test *test)
{
    printf("%s %s %d %" PRIu64 " ", test_op_at(subject->op)->name, isas[subject->isa].name,
           subject->level, subject->seed);
    for (int i = 0; i < test->draws.count; i++)
        printf("%s%" PRId64, i ? "," : "", test->draws.values[i]);
    printf(" | %s\n", test->text);
}

static struct seen *find_seen(struct shared *shared, const char *op, const char *kernel)
{
    for (int i = 0; i < shared->seen_count; i++)
        if (strcmp(shared->seen[i].op, op) == 0 && strcmp(shared->seen[i].kernel, kernel) == 0)
            return &shared->seen[i];
    return NULL;
}

static void report(struct hunt *hunt, int how)
{
    struct shared *shared = hunt->shared;
    const char *op = test_op_at(shared->subject.op)->name;
    char kernel[TEST_KERNEL_BYTES], text[300];
    struct seen *seen;

    if (how != STATUS_WRONG) /* it had no time to */
        count_case(shared);
    snprintf(kernel, sizeof(kernel), "%s", kernel_name(&shared->test));
    seen = find_seen(shared, op, kernel);
    hunt->findings++;
    if (seen && seen->findings++ >= SHOWN_MAX)
        return;
    make_smaller(shared, how);
    printf("FOUND %s %s, %s: %s\n  ", op, kernel_name(&shared->test),
           isas[shared->subject.isa].name, say_how(how, &shared->test, text, sizeof(text)));
    print_line(&shared->subject, &shared->test);
}

/* The search */

static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return !list;
}

static int check_names(const struct test_search *search)
{
    bool has_isa = false, has_op = false;
    const struct test_op *op;

    for (int i = 0; i < ISA_COUNT; i++)
        has_isa |= is_listed(search->isas, isas[i].name);
    for (int i = 0; (op = test_op_at(i)); i++)
        has_op |= test_is_asked(op, search->op);
    if (has_isa && has_op)
        return 0;
    fprintf(stderr, "kernels: no %s '%s'\n", has_op ? "instruction set" : "operation",
            has_op ? search->isas : search->op);
    return 2;
}

static int compare_seen(const void *a, const void *b)
{
    const struct seen *left = a, *right = b;
    int order = strcmp(left->op, right->op);

    return order ? order : strcmp(left->kernel, right->kernel);
}

static int sum_up(const struct hunt *hunt, double seconds)
{
    struct shared *shared = hunt->shared;
    int tried = 0;

    qsort(shared->seen, (size_t)shared->seen_count, sizeof(shared->seen[0]), compare_seen);
    for (int i = 0; hunt->search->with_kernels && i < shared->seen_count; i++)
        printf("%8" PRIu64 " %-18s %s%s\n", shared->seen[i].cases, shared->seen[i].op,
               shared->seen[i].kernel, shared->seen[i].findings ? "  FOUND" : "");
    printf("seed %" PRIu64 ", %.0f s: %" PRIu64 " cases (%.0f a minute) of %d kernels under",
           hunt->search->seed, seconds, shared->cases, (double)shared->cases / seconds * 60.0,
           shared->seen_count);
    for (int i = 0; i < ISA_COUNT; i++)
        if (is_listed(hunt->search->isas, isas[i].name) && !hunt->is_absent[i])
            printf("%s %s", tried++ ? "," : "", isas[i].name);
    printf(": %d finding%s\n", hunt->findings, hunt->findings == 1 ? "" : "s");
    for (int i = 0; i < ISA_COUNT; i++)
        if (hunt->is_absent[i])
            printf("%s: not on this machine\n", isas[i].name);
    return hunt->findings ? 1 : tried ? 0 : 3;
}

int test_search(const struct test_search *search)
{
    struct hunt hunt = {.search = search, .shared = map_shared()};
    double start = test_now(), end = start + search->seconds;
    double slice = search->seconds / ISA_COUNT / 2.0;
    int rc = check_names(search), status = 0;

    if (rc != 0)
        return rc;
    slice = slice > 30.0 ? 30.0 : slice < 0.5 ? 0.5 : slice;
    for (int turn = 0; test_now() < end; turn++) {
        int isa = turn % ISA_COUNT;
        struct stretch stretch = {&hunt, isa, test_now() + slice};
        uint64_t before = hunt.shared->cases;

        if (turn >= ISA_COUNT && hunt.shared->cases == 0)
            break; /* none of them is here */
        if (search->findings > 0 && hunt.findings >= search->findings)
            break;
        if (!is_listed(search->isas, isas[isa].name) || hunt.is_absent[isa])
            continue;
        stretch.end = stretch.end < end ? stretch.end : end;
        status = run_child(hunt.shared, run_stretch, &stretch, isa);
        hunt.is_absent[isa] = status == STATUS_ABSENT;
        if (status != 0 && status != STATUS_ABSENT)
            report(&hunt, status);
        hunt.next += hunt.shared->cases - before;
    }
    return sum_up(&hunt, test_now() - start);
}

/* What was found before */

/* "op isa level seed draws | text"; returns 0, or -1 when it is no such line. */
static int parse_line(const char *line, struct subject *out_subject, struct test_draws *out_draws,
                      const char **out_text)
{
    char op[64], isa[32];
    int used = 0;
    const char *at;

    *out_subject = (struct subject){.isa = -1, .op = -1};
    *out_draws = (struct test_draws){0};
    if (sscanf(line, "%63s %31s %d %" SCNu64 " %n", op, isa, &out_subject->level,
               &out_subject->seed, &used) != 4)
        return -1;
    for (int i = 0; i < ISA_COUNT; i++)
        if (strcmp(isas[i].name, isa) == 0)
            out_subject->isa = i;
    for (int i = 0; test_op_at(i); i++)
        if (strcmp(test_op_at(i)->name, op) == 0)
            out_subject->op = i;
    for (at = line + used; *at && *at != ' ' && out_draws->count < TEST_DRAWS_MAX;) {
        char *end;

        out_draws->values[out_draws->count++] = strtoll(at, &end, 10);
        if (end == at)
            return -1;
        at = *end == ',' ? end + 1 : end;
    }
    *out_text = strncmp(at, " | ", 3) == 0 ? at + 3 : NULL;
    return out_subject->isa < 0 || out_subject->op < 0 || !*out_text ? -1 : 0;
}

/* By all kernels that are listed now: which one it was is on no list any more. */
static void run_all_given(struct shared *shared, void *user)
{
    struct test_draws given = *(const struct test_draws *)user;

    set_test(&shared->test, &given);
    shared->test.takes_all = true;
    run_subject(shared);
}

/* Returns whether it is as it should be. */
static bool replay(struct shared *shared, const char *line, int *skipped)
{
    struct test_draws draws;
    const char *text;
    char how[300];
    int status;

    if (parse_line(line, &shared->subject, &draws, &text) < 0) {
        printf("FAIL: no case: %s\n", line);
        return false;
    }
    shared->test.text[0] = '\0';
    status = run_child(shared, run_all_given, &draws, shared->subject.isa);
    if (status == STATUS_ABSENT || (status == 0 && shared->test.text[0] == '\0')) {
        (*skipped)++;
        return true;
    }
    if (status != 0)
        printf("FAIL %s: %s\n  %s\n", kernel_name(&shared->test),
               say_how(status, &shared->test, how, sizeof(how)), line);
    /* The draws mean something else since the operation draws otherwise. */
    else if (strcmp(shared->test.text, text) != 0)
        printf("FAIL: the case is now '%s'\n  %s\n", shared->test.text, line);
    return status == 0 && strcmp(shared->test.text, text) == 0;
}

int test_replay(const char *path)
{
    struct shared *shared = map_shared();
    char line[2048];
    int cases = 0, failed = 0, skipped = 0;
    FILE *file = fopen(path, "re");

    if (!file) {
        fprintf(stderr, "kernels: %s: %s\n", path, strerror(errno));
        return 3;
    }
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        cases++;
        failed += !replay(shared, line, &skipped);
    }
    fclose(file);
    printf("%d cases that were found before: %d failed, %d not of this machine\n", cases, failed,
           skipped);
    return failed ? 1 : cases ? 0 : 3;
}

int test_replay_line(const char *line)
{
    struct shared *shared = map_shared();
    struct test_draws draws;
    const char *text;

    if (parse_line(line, &shared->subject, &draws, &text) < 0) {
        fprintf(stderr, "kernels: no case: %s\n", line);
        return 2;
    }
    if (!limit_isa(shared->subject.isa)) {
        fprintf(stderr, "kernels: %s is not on this machine\n", isas[shared->subject.isa].name);
        return 3;
    }
    run_all_given(shared, &draws);
    printf("%s by %s: %s\n", shared->test.text, kernel_name(&shared->test),
           shared->test.failed ? shared->test.message : "ok");
    return shared->test.failed;
}
