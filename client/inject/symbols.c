/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym() in front of the C library's: an interpreter that has loaded an extension asks for its first
 * function, and all libraries that it needs are there by then. The caller stays the caller, because
 * the answer may depend on it (RTLD_NEXT): the arguments are put back, and the real one jumped to.
 */
#include <dlfcn.h>

#include "client/inject/ctranslate2.h"
#include "client/inject/cupti/yield.h"
#include "client/inject/ort.h"
#include "client/inject/python_ort.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"
#include "client/inject/torch.h"

#if defined(__x86_64__) && defined(__linux__)

real_dlsym_type *symbols_before(const char *name, void *handle);

/* A sanitizer that is not ready yet asks here for the functions that it stands in front of, those of
 * string.h among them. */
static bool begins_with(const char *text, const char *start)
{
    while (*start && *text == *start) {
        text++;
        start++;
    }
    return !*start;
}

static bool is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static bool is_first_of_extension(const char *name)
{
    return begins_with(name, "PyInit_") || is_same(name, "JNI_OnLoad");
}

/* Of a library that was loaded by hand: who calls makes no difference. */
static void *find_ort(void *handle, const char *name)
{
    return ort_stand_in(real_dlsym()(handle, name));
}

static void *find_python_ort(void *handle, const char *name)
{
    return python_ort_stand_in(real_dlsym()(handle, name));
}

static void *find_cupti(void *handle, const char *name)
{
    return cupti_stand_in(name, real_dlsym()(handle, name));
}

/* What to go on with. */
__attribute__((visibility("hidden"), used)) real_dlsym_type *symbols_before(const char *name,
                                                                            void *handle)
{
    if (name && is_first_of_extension(name)) {
        torch_look();
        ctranslate2_look();
    }
    if (name && UNLIKELY(is_same(name, "OrtGetApiBase")) && handle != RTLD_NEXT &&
        handle != RTLD_DEFAULT)
        return find_ort;
    if (name && UNLIKELY(is_same(name, PYTHON_ORT_INIT)))
        return find_python_ort;
    if (name && UNLIKELY(begins_with(name, "cupti")) && handle != RTLD_NEXT &&
        handle != RTLD_DEFAULT)
        return find_cupti;
    return real_dlsym();
}

__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    xchgq %rsi, %rdi\n"
        "    call symbols_before\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    jmp *%rax\n"
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");

#endif
