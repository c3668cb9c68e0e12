/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with NVTX and without us: inject_nvtx_program SCENE [ARGUMENT]. Exits with 0 when what
 * the tool answers, if there is one, is what NVTX promises.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/nvtx_unit.h"

#define EXPECT(got, want)                                                                          \
    do {                                                                                           \
        const long long is = (got), should = (want);                                               \
                                                                                                   \
        if (nvtx_slot(nvtx_core, 9) && is != should) {                                             \
            fprintf(stderr, "%s: %lld, not %lld\n", #got, is, should);                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void ranges(void)
{
    void *one = nvtx_domain("one"), *two = nvtx_domain("two");
    void *registered = nvtx_register(one, "registered");
    char text[16];

    EXPECT(nvtx_tool_version, 3);
    EXPECT(nvtx_pop(), -1); /* with nothing pushed */
    EXPECT(nvtx_push("outer"), 0);
    EXPECT(nvtx_push("inner"), 1);
    nvtx_mark("here");
    EXPECT(nvtx_push_in(one, 3, registered, 0), 0); /* a stack per domain */
    EXPECT(nvtx_push_in(two, 1, "crossed", 0), 0);
    EXPECT(nvtx_pop_in(one), 0);
    EXPECT(nvtx_pop_in(two), 0);
    EXPECT(nvtx_pop_in(two), -1);
    EXPECT(nvtx_pop(), 1);
    EXPECT(nvtx_pop(), 0);
    EXPECT(nvtx_pop(), -1);
    EXPECT(nvtx_domain("one") == one, 1);
    EXPECT(nvtx_register(one, "registered") == registered, 1);
    nvtx_name_category(one, 7, "loading");
    nvtx_push_in(one, 1, "sorted", 7);
    nvtx_pop_in(one);
    nvtx_push_wide(L"wide \u00e9 \u4e16");
    nvtx_pop();
    for (int i = 0; i < 100; i++) { /* the same address, other contents */
        snprintf(text, sizeof(text), "step %d", i % 2);
        nvtx_push(text);
        nvtx_pop();
    }
    nvtx_push(NULL);
    nvtx_pop();
    nvtx_push_in(one, 1, NULL, 0);
    nvtx_pop_in(one);
    nvtx_push("");
    nvtx_pop();
    nvtx_push("bad \xff\xfe bytes \"quoted\"");
    nvtx_pop();
}

/* Texts that end where their page does, and nothing lies behind it: of each length one, three times, and
 * then what differs from it in its last character, or ends before. */
static void texts(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *const pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
        exit(1);
    for (size_t length = 2; length <= 80; length++) {
        char *const text = pages + page - length - 1;

        memset(text, 'a' + (int)(length % 26), length);
        for (int i = 0; i < 5; i++) {
            if (i == 3)
                text[length - 1] = '!';
            if (i == 4)
                text[length - 1] = '\0';
            nvtx_push(text);
            nvtx_pop();
        }
    }
}

static void deep(void)
{
    for (int i = 0; i < 200; i++)
        EXPECT(nvtx_push("level"), i);
    for (int i = 200; i-- > 0;)
        EXPECT(nvtx_pop(), i);
}

/* Deeper than any stack is kept. */
static void deepest(void)
{
    for (int i = 0; i < 5000; i++)
        EXPECT(nvtx_push("level"), i < 4096 ? i : -1);
    for (int i = 5000; i-- > 0;)
        EXPECT(nvtx_pop(), i < 4096 ? i : -1);
    EXPECT(nvtx_pop(), -1);
    EXPECT(nvtx_push("after"), 0);
    EXPECT(nvtx_pop(), 0);
}

/* Where nobody listens, as without a tool: nobody keeps track. */
static void unheard(void)
{
    void *one = nvtx_domain("one"), *registered = nvtx_register(one, "registered");

    for (int i = 0; i < 1000; i++) {
        EXPECT(nvtx_push("outer"), -2);
        EXPECT(nvtx_push_in(one, 3, registered, 0), -2);
        EXPECT(nvtx_pop_in(one), -1);
        EXPECT(nvtx_pop(), -1);
        EXPECT(nvtx_pop(), -1);
    }
}

/* What a library does as it is loaded. */
static void prepares(void)
{
    nvtx_register(nvtx_domain("prepared"), "a text");
    nvtx_name_category(nvtx_domain("prepared"), 1, "a category");
    nvtx_name_thread((uint32_t)syscall(SYS_gettid), "named");
}

static void large(void)
{
    char *text = malloc(1 << 20);

    memset(text, 'x', (1 << 20) - 1);
    text[(1 << 20) - 1] = '\0';
    for (int i = 0; i < 3; i++) {
        nvtx_push(text);
        nvtx_pop();
        nvtx_domain(text);
    }
    free(text);
}

/* More names than anybody wants to keep. */
static void many(void)
{
    char text[32];

    for (int i = 0; i < 140000; i++) {
        snprintf(text, sizeof(text), "item %d", i);
        nvtx_push(text);
        nvtx_pop();
    }
}

static void *end_elsewhere(void *range)
{
    nvtx_end(*(uint64_t *)range);
    return NULL;
}

static void anywhere(void)
{
    uint64_t first = nvtx_start("first"), second = nvtx_start("second"), third;
    pthread_t thread;

    EXPECT(first != second, 1);
    pthread_create(&thread, NULL, end_elsewhere, &first);
    pthread_join(thread, NULL);
    nvtx_end(first); /* again: nothing */
    third = nvtx_start("third");
    EXPECT(third != first, 1);
    nvtx_end(third);
    nvtx_end(second);
    nvtx_end(0);
    nvtx_end(UINT64_MAX);
}

static void *push_and_pop(void *context)
{
    nvtx_name_thread((uint32_t)syscall(SYS_gettid), "pusher");
    for (int i = 0; i < 500; i++) {
        nvtx_push("one of many");
        nvtx_push(i % 2 ? "odd" : "even");
        EXPECT(nvtx_pop(), 1);
        EXPECT(nvtx_pop(), 0);
    }
    nvtx_push("left open");
    return NULL;
}

static void threads(void)
{
    pthread_t ids[64];

    for (int i = 0; i < 64; i++)
        pthread_create(&ids[i], NULL, push_and_pop, NULL);
    for (int i = 0; i < 64; i++)
        pthread_join(ids[i], NULL);
}

static void units(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*work)(void);

    EXPECT(library != NULL, 1);
    *(void **)&work = dlsym(library, "unit_work");
    nvtx_push("before");
    work();
    work();
    nvtx_pop();
    dlclose(library);
    nvtx_push("after");
    nvtx_pop();
}

static void forks(void)
{
    uint64_t range = nvtx_start("of the parent");
    int status;
    pid_t pid;

    nvtx_push("around");
    pid = fork();
    if (pid == 0) {
        nvtx_end(range);
        EXPECT(nvtx_pop(), 0);
        nvtx_push("in the child");
        nvtx_pop();
        exit(3);
    }
    waitpid(pid, &status, 0);
    EXPECT(WEXITSTATUS(status), 3);
    nvtx_pop();
    nvtx_end(range);
}

int main(int argc, char **argv)
{
    const char *scene = argv[1];

    if (strcmp(scene, "ranges") == 0)
        ranges();
    else if (strcmp(scene, "deep") == 0)
        deep();
    else if (strcmp(scene, "texts") == 0)
        texts();
    else if (strcmp(scene, "deepest") == 0)
        deepest();
    else if (strcmp(scene, "unheard") == 0)
        unheard();
    else if (strcmp(scene, "prepares") == 0)
        prepares();
    else if (strcmp(scene, "large") == 0)
        large();
    else if (strcmp(scene, "many") == 0)
        many();
    else if (strcmp(scene, "anywhere") == 0)
        anywhere();
    else if (strcmp(scene, "threads") == 0)
        threads();
    else if (strcmp(scene, "units") == 0)
        units(argv[2]);
    else if (strcmp(scene, "forks") == 0)
        forks();
    else if (strcmp(scene, "killed") == 0) {
        nvtx_push("the last one");
        raise(SIGKILL);
    } else if (strcmp(scene, "closes") == 0) {
        nvtx_push("before");
        nvtx_pop();
        closefrom(3);
        nvtx_push("after");
        nvtx_pop();
    } else if (strcmp(scene, "executes") == 0) {
        nvtx_push("before");
        execl(argv[0], argv[0], "closes", (char *)NULL);
    }
    puts("done");
    return 0;
}
