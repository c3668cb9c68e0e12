/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CTranslate2, below faster-whisper: its operators and layers call each other across the border of
 * its library by C++ symbols, the virtual ones too. A step of a decoder and what an encoder makes of
 * its input are runs; of one in some each layer and each operator in it is an op.
 *
 * Hooks pass on all words that the called one may have, whatever of them it has: none has a number
 * among its arguments, none returns an object. They may be left by an exception, or a jump: then
 * nothing ends what they have begun, and what is called next on the thread finds it, by where on the
 * stack it is.
 */
#include "client/inject/ctranslate2.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/op_flop.h"
#include "client/inject/ctranslate2_layout.h"
#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/nodes.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/runs.h"
#include "client/inject/thread_memory.h"

enum { WORDS = 18, INPUTS = 2, DEPTH_MAX = 16, KEY_NAME = 109, KEY_OP = 110 };

#define WORD_PARAMETERS                                                                            \
    uintptr_t w0, uintptr_t w1, uintptr_t w2, uintptr_t w3, uintptr_t w4, uintptr_t w5,            \
        uintptr_t w6, uintptr_t w7, uintptr_t w8, uintptr_t w9, uintptr_t w10, uintptr_t w11,      \
        uintptr_t w12, uintptr_t w13, uintptr_t w14, uintptr_t w15, uintptr_t w16, uintptr_t w17
#define WORD_LIST w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, w16, w17

typedef uintptr_t call_type(WORD_PARAMETERS);

#define RUN(symbol, ...)   OT_HOOK call_type symbol;
#define LAYER(symbol, ...) OT_HOOK call_type symbol;
#include "client/inject/ctranslate2.def"
#undef RUN
#undef LAYER

#define RUN(symbol, ...)   AT_##symbol,
#define LAYER(symbol, ...) AT_##symbol,
enum {
#include "client/inject/ctranslate2.def"
    FUNCTION_COUNT
};
#undef RUN
#undef LAYER

static const struct function {
    const char *name;
    unsigned char inputs[INPUTS], output; /* among the words; 0: none */
    bool is_run;
} functions[FUNCTION_COUNT] = {
#define RUN(symbol, name, first, second, output)   {name, {first, second}, output, true},
#define LAYER(symbol, name, first, second, output) {name, {first, second}, output, false},
#include "client/inject/ctranslate2.def"
#undef RUN
#undef LAYER
};

static struct real reals[FUNCTION_COUNT] = {
#define RUN(symbol, ...)   {#symbol, (void (*)(void))symbol, {NULL}},
#define LAYER(symbol, ...) {#symbol, (void (*)(void))symbol, {NULL}},
#include "client/inject/ctranslate2.def"
#undef RUN
#undef LAYER
};

/* What an op is told apart by: unused tensors are of rank -1. */
struct op_key {
    uint32_t kind, function;
    uint32_t counts,
        padding; /* counts: its operations are counted here, not at one that it calls */
    struct ctranslate2_tensor inputs[INPUTS], output;
};

struct frame {
    uintptr_t place; /* on the stack */
    const uintptr_t *words;
    struct optrace_span span;
    struct op_key key;
    bool counts;
};

/* Of a thread, made with its first run: the run, and what of it is open. */
struct frames {
    uint32_t count, counting; /* counting: frames that count, and all inside of them does not */
    bool tells;
    struct optrace_run run;
    uint64_t start;
    struct frame items[DEPTH_MAX];
};

static OT_TLS struct frames *mine;
static pthread_once_t asked = PTHREAD_ONCE_INIT, found = PTHREAD_ONCE_INIT,
                      measured = PTHREAD_ONCE_INIT;
static bool is_wanted, has_layout;
static const void *place_of_library;
static void *library;                    /* its handle */
static call_type *known[FUNCTION_COUNT]; /* of those that were asked of it */
static struct nodes_place steps;

static void ask(void)
{
    is_wanted = recorder_wants("ctranslate2");
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

/* --- The library --- */

static uint32_t count_missing(void *of_library, bool only_runs)
{
    uint32_t count = 0;

    for (int i = 0; i < FUNCTION_COUNT; i++)
        count += (!only_runs || functions[i].is_run) && !dlsym(of_library, reals[i].name);
    return count;
}

/* Held: it stays for ever. */
static void find_library(void)
{
    Dl_info place;

    if (dladdr(place_of_library, &place) != 0)
        library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

/* The function that a caller asks for. One that jumps here shows who called it, which may be a hook:
 * then it is the one of the library that is known. */
static call_type *find_theirs(uint32_t which, const void *caller)
{
    call_type *theirs = __atomic_load_n(&known[which], __ATOMIC_RELAXED);

    if (theirs)
        return theirs;
    theirs = (call_type *)real_try(&reals[which], caller);
    if (LIKELY(theirs)) {
        if (UNLIKELY(!__atomic_load_n(&place_of_library, __ATOMIC_RELAXED)))
            __atomic_store_n(&place_of_library, (const void *)theirs, __ATOMIC_RELAXED);
        pthread_once(&found, find_library);
        return theirs;
    }
    if (library) {
        *(void **)&theirs = dlsym(library, reals[which].name);
        __atomic_store_n(&known[which], theirs, __ATOMIC_RELAXED);
    }
    return theirs ? theirs : (call_type *)real_find(&reals[which], caller);
}

static void find_layout(void)
{
    if (!library)
        return;
    has_layout = ctranslate2_layout_find(library);
    if (!has_layout)
        found_limit(FOUND_CTRANSLATE2, "names and times only: where tensors have their sizes is "
                                       "not known of this release");
    else if (count_missing(library, false) > 0)
        found_limit(FOUND_CTRANSLATE2, "of this release not all functions are known");
}

static int find_path(struct dl_phdr_info *info, size_t bytes, void *out_path)
{
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)bytes;
    if (!name || strncmp(name, "/libctranslate2", 15) != 0)
        return 0;
    *(const char **)out_path = info->dlpi_name;
    return 1;
}

void ctranslate2_look(void)
{
    static bool is_looked_at;
    const char *path = NULL;
    void *there;

    pthread_once(&asked, ask);
    if (!is_wanted || __atomic_load_n(&is_looked_at, __ATOMIC_RELAXED))
        return;
    dl_iterate_phdr(find_path, &path);
    there = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!there)
        return;
    if (!__atomic_exchange_n(&is_looked_at, true, __ATOMIC_RELAXED)) {
        uint32_t runs = 0;

        for (int i = 0; i < FUNCTION_COUNT; i++)
            runs += functions[i].is_run;
        if (count_missing(there, true) == runs && recorder_is_on()) {
            found_limit(FOUND_CTRANSLATE2, "nothing: its functions in this release are not known");
            found_say(FOUND_CTRANSLATE2);
        }
    }
    dlclose(there);
}

/* --- Ops --- */

static uint32_t dtype_of(int32_t type)
{
    static const uint8_t types[] = {OPTRACE_DTYPE_F32, OPTRACE_DTYPE_I8,  OPTRACE_DTYPE_I16,
                                    OPTRACE_DTYPE_I32, OPTRACE_DTYPE_F16, OPTRACE_DTYPE_BF16};

    return type >= 0 && (size_t)type < sizeof(types) ? types[type] : OPTRACE_DTYPE_UNKNOWN;
}

static struct op_flop_shape shape_of(const struct ctranslate2_tensor *tensor)
{
    struct op_flop_shape shape = {.rank = tensor->rank};

    for (int i = 0; i < tensor->rank; i++)
        shape.dims[i] = tensor->dims[i];
    return shape;
}

static struct optrace_tensor tensor_of(const struct ctranslate2_tensor *tensor)
{
    return (struct optrace_tensor){NULL, tensor->dims, (uint32_t)tensor->rank,
                                   dtype_of(tensor->dtype)};
}

static uint64_t define(const void *context)
{
    const struct op_key *key = context;
    const char *const name = functions[key->function].name;
    const struct op_flop_call call = {
        .name = name,
        .inputs = {shape_of(&key->inputs[0]), shape_of(&key->inputs[1])},
        .input_count = INPUTS,
        .output = shape_of(&key->output),
    };
    struct optrace_tensor inputs[INPUTS], output = tensor_of(&key->output);
    struct optrace_op_info info = OPTRACE_OP_INFO(name, name);
    uint32_t op = 0;

    info.inputs = inputs;
    for (int i = 0; i < INPUTS && key->inputs[i].rank >= 0; i++)
        inputs[info.input_count++] = tensor_of(&key->inputs[i]);
    info.outputs = &output;
    info.output_count = key->output.rank >= 0;
    if (key->counts)
        info.computation_flop = op_flop_ctranslate2(&call);
    return recorder.op_define(&info, &op) == 0 ? op : 0;
}

static uint64_t define_name(const void *context)
{
    const uint32_t *key = context;
    const char *const name = functions[key[1]].name;
    struct optrace_op_info info = OPTRACE_OP_INFO(name, name);
    uint32_t op = 0;

    found_say(FOUND_CTRANSLATE2);
    if (recorder.op_define(&info, &op) < 0)
        return 0;
    runs_note(op, name);
    return op;
}

static uint32_t name_of(uint32_t function)
{
    static uint32_t ops[FUNCTION_COUNT];
    const uint32_t key[2] = {KEY_NAME, function};
    uint32_t op = __atomic_load_n(&ops[function], __ATOMIC_RELAXED);

    if (UNLIKELY(!op)) {
        op = (uint32_t)names_find_always(key, sizeof(key), define_name, key);
        __atomic_store_n(&ops[function], op, __ATOMIC_RELAXED);
    }
    return op;
}

/* Whether the products in it are its own. */
static bool is_product(const char *name)
{
    return strcmp(name, "Dense") == 0 || strcmp(name, "Gemm") == 0 || strcmp(name, "MatMul") == 0 ||
           strcmp(name, "Conv1D") == 0;
}

static __attribute__((noinline, cold)) void give_shapes_up(void)
{
    __atomic_store_n(&has_layout, false, __ATOMIC_RELAXED);
    found_limit(FOUND_CTRANSLATE2,
                "names and times only: its tensors are not where they were found to be");
}

static void read_tensor(const uintptr_t *words, unsigned place,
                        struct ctranslate2_tensor *out_tensor)
{
    const void *tensor = NULL;

    if (place)
        memcpy(&tensor, &words[place], sizeof(tensor));
    if (UNLIKELY(!ctranslate2_layout_read(tensor, out_tensor)))
        give_shapes_up();
}

static bool reads_shapes(void)
{
    return __atomic_load_n(&has_layout, __ATOMIC_RELAXED);
}

static void begin_op(struct frame *frame, uint32_t which)
{
    const struct function *const function = &functions[which];
    const uint32_t op = name_of(which);

    frame->counts = false;
    frame->key.kind = 0;
    if (reads_shapes()) {
        memset(&frame->key, 0, sizeof(frame->key));
        frame->key.kind = KEY_OP;
        frame->key.function = which;
        for (int i = 0; i < INPUTS; i++)
            read_tensor(frame->words, function->inputs[i], &frame->key.inputs[i]);
        frame->counts = is_product(function->name);
        frame->key.counts = frame->counts && mine->counting == 0;
        mine->counting += frame->counts;
    }
    frame->span = op ? op_begin(op) : (struct optrace_span){0, 0};
}

/* is_whole: it has come back, so that there is a result. */
static void end_op(struct frame *frame, bool is_whole)
{
    mine->counting -= frame->counts;
    if (!frame->span.id)
        return;
    if (is_whole && frame->key.kind && reads_shapes()) {
        read_tensor(frame->words, functions[frame->key.function].output, &frame->key.output);
        if (reads_shapes()) {
            const uint32_t op =
                (uint32_t)names_find(&frame->key, sizeof(frame->key), define, &frame->key);

            if (op)
                recorder.span_op(frame->span, op);
        }
    }
    op_end(frame->span);
}

/* --- Runs --- */

static void begin_run(void)
{
    pthread_once(&measured, find_layout);
    found_say(FOUND_CTRANSLATE2);
    mine->tells = nodes_turn(&steps);
    mine->counting = 0;
    mine->run = recorder.run_begin(0, mine->tells ? 0 : OPTRACE_WITHOUT_OPS);
    mine->start = nodes_start();
}

static void end_last(bool is_whole)
{
    struct frame *const frame = &mine->items[mine->count - 1];

    if (mine->tells)
        end_op(frame, is_whole);
    if (--mine->count > 0)
        return;
    if (is_whole)
        nodes_end(&steps, mine->tells, mine->start);
    recorder.run_end(mine->run);
}

/* Those that were left without a return: what is alive lies further up the stack. */
static inline void end_dead(uintptr_t here)
{
    while (UNLIKELY(mine->count > 0 && mine->items[mine->count - 1].place <= here))
        end_last(false);
}

static uintptr_t pass_on(call_type *theirs, const uintptr_t *w)
{
    return theirs(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
                  w[13], w[14], w[15], w[16], w[17]);
}

/* Whether it is recorded; what is dead by then is ended. */
static bool wants(const struct function *function, uintptr_t here)
{
    if (mine && mine->count > 0)
        end_dead(function->is_run ? UINTPTR_MAX : here); /* runs are in no other */
    if (mine && mine->count > 0)
        return mine->tells && mine->count < DEPTH_MAX;
    return function->is_run && recorder_is_on() && (mine || make_frames());
}

static __attribute__((noinline)) uintptr_t call(uint32_t which, const uintptr_t *words,
                                                const void *caller)
{
    call_type *const theirs = find_theirs(which, caller);
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct frame *frame;
    uintptr_t result;

    pthread_once(&asked, ask);
    if (!is_wanted || !wants(&functions[which], here))
        return pass_on(theirs, words);
    if (mine->count == 0)
        begin_run();
    frame = &mine->items[mine->count++];
    frame->place = here;
    frame->words = words;
    if (mine->tells)
        begin_op(frame, which);
    result = pass_on(theirs, words);
    end_dead(here - 1); /* left by an exception that this one caught */
    if (mine->count > 0 && mine->items[mine->count - 1].place == here)
        end_last(true);
    return result;
}

#define HOOK(symbol)                                                                               \
    uintptr_t symbol(WORD_PARAMETERS)                                                              \
    {                                                                                              \
        const uintptr_t words[WORDS] = {WORD_LIST};                                                \
                                                                                                   \
        return call(AT_##symbol, words, __builtin_return_address(0));                              \
    }
#define RUN(symbol, ...)   HOOK(symbol)
#define LAYER(symbol, ...) HOOK(symbol)
#include "client/inject/ctranslate2.def"
