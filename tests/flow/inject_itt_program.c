/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with the static part of ITT and without us: a list of functions, a tool that is looked
 * for at the first call. inject_itt_program SCENE
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_openvino.h"

struct id {
    unsigned long long words[3];
};
static const struct id no_id;

struct domain {
    volatile int flags;
    const char *name;
    void *wide;
    int extra1;
    void *extra2;
    struct domain *next;
};

struct handle {
    const char *text;
    void *wide;
    int extra1;
    void *extra2;
    struct handle *next;
};

struct api {
    const char *name;
    void **place;
    void *init, *null;
    int group;
};

/* --- The static part: each function is NULL until there is a tool --- */

static struct domain *(*domain_create)(const char *);
static struct handle *(*handle_create)(const char *);
static void (*task_begin)(const struct domain *, struct id, struct id, struct handle *);
static void (*task_end)(const struct domain *);
static void (*begin_overlapped)(const struct domain *, struct id, struct id, struct handle *);
static void (*end_overlapped)(const struct domain *, struct id);
static void (*marker)(const struct domain *, struct id, struct handle *, int);
static void (*frame_begin)(const struct domain *, struct id *);
static void (*frame_end)(const struct domain *, struct id *);
static int (*event_create)(const char *, int);
static int (*event_start)(int);
static int (*event_end)(int);
static void (*set_name)(const char *);
static void (*unknown)(void);

static struct api apis[] = {
    {"__itt_domain_create", (void **)&domain_create, NULL, NULL, 0},
    {"__itt_string_handle_create", (void **)&handle_create, NULL, NULL, 0},
    {"__itt_task_begin", (void **)&task_begin, NULL, NULL, 0},
    {"__itt_task_end", (void **)&task_end, NULL, NULL, 0},
    {"__itt_task_begin_overlapped", (void **)&begin_overlapped, NULL, NULL, 0},
    {"__itt_task_end_overlapped", (void **)&end_overlapped, NULL, NULL, 0},
    {"__itt_marker", (void **)&marker, NULL, NULL, 0},
    {"__itt_frame_begin_v3", (void **)&frame_begin, NULL, NULL, 0},
    {"__itt_frame_end_v3", (void **)&frame_end, NULL, NULL, 0},
    {"__itt_event_create", (void **)&event_create, NULL, NULL, 0},
    {"__itt_event_start", (void **)&event_start, NULL, NULL, 0},
    {"__itt_event_end", (void **)&event_end, NULL, NULL, 0},
    {"__itt_thread_set_name", (void **)&set_name, NULL, NULL, 0},
    {"__itt_of_the_future", (void **)&unknown, NULL, NULL, 0},
    {NULL, NULL, NULL, NULL, 0},
};

static struct {
    unsigned char magic[8];
    unsigned long major, minor, build;
    volatile long api_initialized, mutex_initialized, atomic_counter;
    pthread_mutex_t mutex;
    void *lib, *error_handler;
    const char **dll_path;
    struct api *apis;
} library = {.major = 3, .minor = 24, .apis = apis};

static int look_for_tool(void)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
    void (*init)(void *, int);

    *(void **)&init = tool ? dlsym(tool, "__itt_api_init") : NULL;
    if (init)
        init(&library, 0);
    return task_begin != NULL;
}

/* --- What it does --- */

static void work(void)
{
    struct domain *domain = domain_create("dnnl::primitive"), *other = domain_create("other");
    struct handle *outer = handle_create("convolution"), *inner = handle_create("reorder");
    struct id one = {{1, 2, 3}}, two = {{1, 2, 4}};
    int event = event_create("an event", 8);

    set_name("worker");
    if (!domain->flags || handle_create("convolution") != outer || unknown || event <= 0 ||
        event_create("an event", 8) != event || event_create("another", 7) == event)
        exit(1);
    task_end(domain); /* with nothing begun */
    for (int i = 0; i < 10; i++) {
        task_begin(domain, no_id, no_id, outer);
        task_begin(domain, no_id, no_id, inner);
        task_end(domain);
        task_end(domain);
        task_begin(other, no_id, no_id, outer); /* the same text in another domain */
        task_end(other);
    }
    begin_overlapped(domain, one, no_id, outer);
    begin_overlapped(domain, two, no_id, outer);
    end_overlapped(domain, one);
    end_overlapped(domain, two);
    end_overlapped(domain, two);
    marker(domain, no_id, handle_create("here"), 1);
    frame_begin(domain, NULL);
    frame_end(domain, NULL);
    event_start(event);
    event_end(event);
    event_start(77);
    event_end(77);
}

static const struct fake_node nodes[] = {
    {"image", {NULL, NULL, "[1,3,16,16]"}},
    {"conv0", {"[1,3,16,16]", "[8,3,3,3]", "[1,8,16,16]"}},
    {"conv1", {"[1..4,8,16,16]", "[4,8,3,3]", "[?,4,16,16]"}},
};
static const struct fake_node others[] = {{"conv0", {"[1,3,8,8]", "[8,3,3,3]", "[1,8,8,8]"}}};
static const struct fake_model first_model = {nodes, 3, 0}, other_model = {others, 1, 0},
                               refused_model = {nodes, 3, -1};

static void make_request(const struct fake_model *model)
{
    int result;

    if (fake_openvino_create(&result, &model) != &result || fake_openvino_nodes != 0)
        exit(1);
}

/* As OpenVINO has it on processors. Another model has a layer of a name that the first has. */
static void infer(void)
{
    struct domain *run = domain_create("ov::phases::cpu::inference");
    struct domain *class = domain_create("ov::op::cpu::exec");
    struct domain *layer = domain_create("ov::op::cpu::details");
    struct domain *part = domain_create("dnnl::primitive::execute");

    make_request(&first_model);
    make_request(&first_model);
    make_request(&refused_model);
    for (int i = 0; i < 5; i++) {
        if (i == 3)
            make_request(&other_model);
        task_begin(run, no_id, no_id, handle_create("SyncInferenceCPU::infer::Model1"));
        for (int k = 0; k < 2; k++) {
            task_begin(class, no_id, no_id, handle_create("Convolution::execute"));
            task_begin(layer, no_id, no_id, handle_create(k == 0 ? "conv0" : "conv1"));
            task_begin(part, no_id, no_id, handle_create("sdpa"));
            task_end(part);
            task_end(layer);
            task_end(class);
        }
        task_end(run);
    }
    task_begin(part, no_id, no_id, handle_create("reorder")); /* of another library */
    task_end(part);
}

/* As OpenVINO had it up to 2025.4. */
static void infer_by_class(void)
{
    struct domain *class = domain_create("ov::Op::exec");
    struct domain *part = domain_create("dnnl::primitive::execute");

    for (int i = 0; i < 5; i++) {
        task_begin(class, no_id, no_id, handle_create("Convolution"));
        task_begin(part, no_id, no_id, handle_create("convolution"));
        task_end(part);
        task_end(class);
    }
}

int main(int argc, char **argv)
{
    if (strcmp(argv[1], "openvino") == 0 && look_for_tool()) {
        infer();
    } else if (strcmp(argv[1], "classes") == 0 && look_for_tool()) {
        infer_by_class();
    } else if (strcmp(argv[1], "none") != 0 && look_for_tool()) {
        work();
        if (strcmp(argv[1], "killed") == 0)
            task_begin(domain_create("dnnl::primitive"), no_id, no_id, handle_create("the last"));
    }
    puts("done");
    fflush(stdout);
    if (strcmp(argv[1], "killed") == 0)
        raise(SIGKILL);
    return 0;
}
