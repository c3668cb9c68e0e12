/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch, by the callbacks of its RecordFunction, which are entered by C++ symbols of libtorch_cpu:
 * each op as it begins and ends on its thread, and what a program labels with record_function. While
 * nobody listens one op in a thousand asks whether somebody does, and the others are not called here.
 */
#include "client/inject/torch.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/nodes.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"
#include "client/inject/thread_memory.h"
#include "client/inject/torch_layout.h"
#include "client/inject/cupti/work.h"
#include "client/inject/torch_ops.h"
#include "client/inject/torch_outputs.h"

#if defined(__x86_64__) &&                                                                         \
    defined(__linux__) /* where a result of class type goes is known for it */

enum {
    SCOPE_LABEL = 7,
    FRAMES_MAX = 128, /* the client records 120 at once */
    KEY_ROOM = 24 * 1024,
    OFF_MAX = 256, /* calls that found nobody listening, before they become few */
    NAME_MAX = 512,
};
#define SAMPLED 0.001

static struct {
    struct torch_callbacks callbacks;
    const char *(*name)(const void *function);
} torch;

struct frame {
    const void *function;
    const struct torch_name *name;
    struct optrace_span span;
    uint32_t key_at, key_bytes; /* 0 bytes: no shapes */
    uint32_t counted;           /* by the thread when it began */
    enum op_flop_place place;
    bool counts;
    bool is_call;        /* told by torch_call_begin() */
    bool is_left;        /* its result is its first argument, and not kept */
    uint32_t cuda_calls; /* of the thread, before */
};

/* Of a thread; made with its first op. */
struct frames {
    uint32_t count, over; /* over: more that are open, of which nothing is known */
    uint32_t outer;       /* of those that count, and all inside of them does not */
    uint32_t counted;     /* how many have */
    uint32_t key_top;
    struct frame items[FRAMES_MAX];
    _Alignas(8) char keys[KEY_ROOM];
};

static OT_TLS struct frames *mine;

/* Under the lock: which callbacks are in libtorch, and whether it has been found. */
static uint64_t handles[2]; /* 0: none */
static bool is_found, is_full, is_refused;
static bool has_layout; /* shapes are read */
static uint32_t off_calls;
static void *torch_library; /* set before is_found */

static void *start_sampled(void **out_context, const void *function);
static void *start_op(void **out_context, const void *function);
static void *start_label(void **out_context, const void *function);
static void end_any(const void *function, void *context);

/* --- Callbacks --- */

/* Needs the lock. */
static void remove_all(void)
{
    for (int i = 0; i < 2; i++) {
        if (handles[i])
            torch.callbacks.remove(handles[i]);
        handles[i] = 0;
    }
}

/* Needs the lock. Labels are told from ops by which callback hears of them. */
static void add(bool full)
{
    const bool shapes = __atomic_load_n(&has_layout, __ATOMIC_RELAXED);
    struct torch_callback ops = {full ? start_op : start_sampled,
                                 end_any,
                                 full ? 1.0 : SAMPLED,
                                 {true, true, true, false, false, false, false, !full, true, true},
                                 full && shapes,
                                 full && shapes,
                                 false,
                                 ""};
    struct torch_callback labels = {start_label, end_any, 1.0,   {[SCOPE_LABEL] = true},
                                    false,       false,   false, ""};

    handles[0] = torch.callbacks.add(ops);
    handles[1] = full ? torch.callbacks.add(labels) : 0;
    __atomic_store_n(&is_full, full, __ATOMIC_RELAXED);
}

/* Hear of all ops, or of few. From within a callback, too; where another thread does it, that is
 * enough. */
static __attribute__((noinline, cold)) void listen(bool full)
{
    if (!recorder_try_lock(RECORDER_LOCK_TORCH))
        return;
    if (!is_refused && __atomic_load_n(&is_full, __ATOMIC_RELAXED) != full) {
        remove_all();
        add(full);
        __atomic_store_n(&off_calls, 0, __ATOMIC_RELAXED);
    }
    recorder_unlock(RECORDER_LOCK_TORCH);
}

/* Take everything back: this is not what we know. */
static __attribute__((noinline, cold)) void refuse(void)
{
    recorder_lock(RECORDER_LOCK_TORCH);
    is_refused = true;
    remove_all();
    recorder_unlock(RECORDER_LOCK_TORCH);
}

static void *start_sampled(void **out_context, const void *function)
{
    *out_context = NULL;
    (void)function;
    if (recorder_is_on())
        listen(true);
    return out_context;
}

/* --- Threads --- */

static void forget_frames(void *context)
{
    mine = NULL;
    free(context);
}

static __attribute__((noinline, cold)) struct frames *make_frames(void)
{
    static struct thread_memory memory = {forget_frames, 0};

    mine = thread_memory_make(&memory, sizeof(*mine));
    return mine;
}

/* --- Shapes --- */

/* As of nodes: names and times cost half of what all costs. */
static bool wants_shapes(void)
{
    return nodes_every() != 0;
}

static uint64_t make_mark(const void *context)
{
    return recorder.name(OPTRACE_MARK, context);
}

/* Once in a process: why there are no shapes. */
static __attribute__((noinline, cold)) void say(const char *text)
{
    static bool is_said;

    if (!__atomic_exchange_n(&is_said, true, __ATOMIC_RELAXED))
        recorder.mark((uint32_t)names_find_always(text, strlen(text), make_mark, text));
}

static __attribute__((noinline, cold)) void give_shapes_up(void)
{
    __atomic_store_n(&recorder_counted_end, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&has_layout, false, __ATOMIC_RELAXED);
    found_limit(FOUND_TORCH, "names and times only: its values are not where they were found");
    say("PyTorch: names and times only, its values are not where they were found to be");
}

static void begin_key(struct frames *all, struct frame *frame, struct torch_values inputs)
{
    struct torch_key *key;

    if (all->key_top + TORCH_KEY_BYTES_MAX > KEY_ROOM)
        return;
    key = (struct torch_key *)(void *)(all->keys + all->key_top);
    frame->key_at = all->key_top;
    frame->cuda_calls = cupti_calls_of_thread;
    frame->key_bytes = (uint32_t)torch_key_begin(key, frame->name, inputs);
    all->key_top += TORCH_KEY_BYTES_MAX; /* room for the result */
    if (UNLIKELY(torch_layout_is_broken()))
        give_shapes_up();
}

/* Of an op in place, where what it works on is seen. */
static void leave_result(struct frames *all, struct frame *frame)
{
    const struct torch_key *key = (struct torch_key *)(void *)(all->keys + frame->key_at);

    frame->is_left = torch_key_is_in_place(key) && torch_outputs_leave(frame->function);
}

/* Which of those that call each other counts. */
static void begin_counting(struct frames *all, struct frame *frame)
{
    frame->place = frame->name->place;
    frame->counted = all->counted;
    frame->counts = frame->place != OP_FLOP_NOWHERE && all->outer == 0;
    all->outer += frame->place == OP_FLOP_OUTERMOST;
}

static void end_counting(struct frames *all, struct frame *frame)
{
    all->outer -= frame->place == OP_FLOP_OUTERMOST;
    if (frame->place == OP_FLOP_INNERMOST && frame->counted != all->counted)
        frame->counts = false;
    all->counted += frame->counts;
}

/* What it is, now that the result is there. */
static void end_key_of(struct frames *all, struct frame *frame, struct torch_values outputs)
{
    struct torch_key *key = (struct torch_key *)(void *)(all->keys + frame->key_at);
    size_t bytes;

    key->counts = frame->counts;
    key->is_launched = frame->cuda_calls != cupti_calls_of_thread;
    bytes = frame->is_left && outputs.count == 0 ? torch_key_end_in_place(key, frame->key_bytes)
                                                 : torch_key_end(key, frame->key_bytes, outputs);
    if (UNLIKELY(torch_layout_is_broken())) {
        give_shapes_up();
        return;
    }
    recorder.span_op(frame->span, torch_op_find(key, bytes));
}

/* --- Ops --- */

/* Printable, as names are; else this is another function than we think. */
static bool is_name(const char *text)
{
    size_t length = 0;

    if (!text)
        return false;
    for (; text[length] && length < NAME_MAX; length++) {
        if ((unsigned char)text[length] < 0x20)
            return false;
    }
    return length > 0;
}

static bool is_checked;

static __attribute__((noinline, cold)) bool check_first(const void *function)
{
    if (!is_name(torch.name(function))) {
        refuse();
        return false;
    }
    if (wants_shapes() && !has_layout && torch_layout_is_expected())
        say("PyTorch: names and times only, the layout of its tensors is not known");
    __atomic_store_n(&is_checked, true, __ATOMIC_RELAXED);
    return true;
}

static __attribute__((noinline, cold)) void note_off(void)
{
    if (__atomic_add_fetch(&off_calls, 1, __ATOMIC_RELAXED) >= OFF_MAX)
        listen(false);
}

/* NULL: there is no room for it. */
static inline struct frame *push(struct frames *all, const void *function,
                                 const struct torch_name *name)
{
    struct frame *frame;

    if (UNLIKELY(all->count == FRAMES_MAX)) {
        all->over++;
        return NULL;
    }
    frame = &all->items[all->count++];
    frame->function = function;
    frame->name = name;
    frame->key_bytes = 0;
    frame->is_call = frame->is_left = false;
    begin_counting(all, frame);
    return frame;
}

static inline void begin(const void *function, bool is_label)
{
    struct frames *const all = mine ? mine : make_frames();
    const struct torch_name *name;
    struct frame *frame;

    if (UNLIKELY(!all))
        return;
    if (UNLIKELY(!__atomic_load_n(&is_checked, __ATOMIC_RELAXED)) && !check_first(function))
        return;
    name = torch_name_find(torch.name(function), is_label);
    if (UNLIKELY(all->count > 0 && all->items[all->count - 1].is_call &&
                 all->items[all->count - 1].name == name))
        return; /* the same, once more */
    frame = push(all, function, name);
    if (UNLIKELY(!frame))
        return;
    if (!is_label && __atomic_load_n(&has_layout, __ATOMIC_RELAXED)) {
        begin_key(all, frame, torch_layout_inputs(function));
        if (name->is_in_place && frame->key_bytes)
            leave_result(all, frame);
    }
    frame->span = frame->name->op ? op_begin(frame->name->op) : (struct optrace_span){0, 0};
}

static void *start_op(void **out_context, const void *function)
{
    *out_context = NULL;
    if (LIKELY(recorder_is_on()))
        begin(function, false);
    else
        note_off();
    return out_context;
}

static void *start_label(void **out_context, const void *function)
{
    *out_context = NULL;
    if (LIKELY(recorder_is_on()))
        begin(function, true);
    else
        note_off();
    return out_context;
}

/* The frame of a function; those above it, which ended elsewhere or never, are dropped. */
static struct frame *find_frame(struct frames *all, const void *function)
{
    uint32_t i = all->count;

    while (i > 0 && all->items[i - 1].function != function)
        i--;
    if (i == 0)
        return NULL;
    while (all->count > i) {
        struct frame *above = &all->items[--all->count];

        all->outer -= above->place == OP_FLOP_OUTERMOST;
    }
    return &all->items[i - 1];
}

static inline void end(const void *function, const struct torch_values *outputs)
{
    struct frames *const all = mine;
    struct frame *frame;

    if (!all || all->count == 0)
        return;
    frame = find_frame(all, function);
    if (!frame) {
        all->over -= all->over > 0;
        return;
    }
    all->over = 0;
    all->count--;
    end_counting(all, frame);
    if (frame->key_bytes) {
        all->key_top = frame->key_at;
        if (frame->span.id && __atomic_load_n(&has_layout, __ATOMIC_RELAXED))
            end_key_of(all, frame, outputs ? *outputs : torch_layout_outputs(function));
    }
    if (frame->span.id)
        op_end(frame->span);
}

static void end_any(const void *function, void *context)
{
    (void)context;
    end(function, NULL);
}

/* --- Ops that are told here --- */

void (*torch_function(const char *name))(void)
{
    void (*found)(void) = NULL;

    if (__atomic_load_n(&is_found, __ATOMIC_ACQUIRE) && torch_library)
        *(void **)&found = dlsym(torch_library, name);
    return found;
}

bool torch_call_begin(const void *call, const char *name, struct torch_values inputs)
{
    struct frames *all;
    struct frame *frame;

    if (!__atomic_load_n(&is_found, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&is_refused, __ATOMIC_RELAXED))
        return false;
    all = mine ? mine : make_frames();
    if (!all)
        return false;
    frame = push(all, call, torch_name_find(name, false));
    if (!frame) {
        all->over--;
        return false;
    }
    frame->is_call = true;
    if (__atomic_load_n(&has_layout, __ATOMIC_RELAXED))
        begin_key(all, frame, inputs);
    frame->span = frame->name->op ? op_begin(frame->name->op) : (struct optrace_span){0, 0};
    return true;
}

void torch_call_end(const void *call, struct torch_values outputs)
{
    end(call, &outputs);
}

/* --- Finding it --- */

struct place {
    const char *path; /* NULL: it is not there */
    uintptr_t begin, end;
};

static int find_place(struct dl_phdr_info *info, size_t bytes, void *out_place)
{
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    struct place *place = out_place;

    (void)bytes;
    if (!name || strncmp(name, "/libtorch_cpu", 13) != 0)
        return 0;
    place->path = info->dlpi_name;
    place->begin = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t end =
            info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;

        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > place->end)
            place->end = end;
    }
    return 1;
}

/* Needs the lock. */
static void open_library(void *library, const struct place *place)
{
    *(void **)&torch.callbacks.add =
        dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
    *(void **)&torch.callbacks.remove = dlsym(library, "_ZN2at14removeCallbackEm");
    *(void **)&torch.name = dlsym(library, "_ZNK2at14RecordFunction4nameEv");
    if (!torch.callbacks.add || !torch.callbacks.remove || !torch.name) {
        is_refused = true;
        found_absent(FOUND_TORCH, "libtorch_cpu has no callbacks of this kind");
        return;
    }
    has_layout = wants_shapes() && torch_layout_find(library);
    if (has_layout)
        torch_outputs_find(library, &torch.callbacks);
    if (wants_shapes() && !has_layout)
        found_limit(FOUND_TORCH, "names and times only: no shapes are told before 2.2");
    if (has_layout) { /* ops have their FLOP, and the BLAS inside of the library is part of them */
        __atomic_store_n(&recorder_counted_begin, place->begin, __ATOMIC_RELAXED);
        __atomic_store_n(&recorder_counted_end, place->end, __ATOMIC_RELAXED);
    }
    add(true);
}

void torch_look(void)
{
    struct place place = {NULL, 0, 0};
    void *library;

    if (__atomic_load_n(&is_found, __ATOMIC_ACQUIRE) || !recorder_wants("torch"))
        return;
    dl_iterate_phdr(find_place, &place);
    library = place.path ? dlopen(place.path, RTLD_LAZY | RTLD_NOLOAD)
                         : NULL; /* held: it stays for ever */
    if (!library)
        return;
    recorder_lock(RECORDER_LOCK_TORCH);
    if (!is_found) {
        torch_library = library;
        open_library(library, &place);
        __atomic_store_n(&is_found, true, __ATOMIC_RELEASE);
    }
    recorder_unlock(RECORDER_LOCK_TORCH);
}

/* Of programs that are linked with it: all that the program needs is there, and has begun before
 * what is preloaded. Nothing is opened by this. */
__attribute__((constructor)) static void look_at_start(void)
{
    torch_look();
}

#else

void torch_look(void)
{
}

#endif
