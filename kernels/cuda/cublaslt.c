/* SPDX-License-Identifier: Apache-2.0 */
/* Opening libcublasLt. */
#include "kernels/cuda/cublaslt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static struct {
    pthread_mutex_t lock;
    struct lt_library library;
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Newest first. */
static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

static const char *look_up(struct lt_library *library)
{
#define LOOK(name)                                                                                 \
    *(void **)&library->name = dlsym(library->library, #name);                                     \
    if (!library->name)                                                                            \
        return #name;
#define LOOK_STATUS(name, arguments) LOOK(name)
    LOOK(cublasLtGetVersion)
    LOOK(cublasLtGetStatusName)
    LT_FUNCTIONS(LOOK_STATUS)
#undef LOOK_STATUS
#undef LOOK
    return NULL;
}

static int open_locked(char *out_text, size_t bytes)
{
    struct lt_library library = {0};
    const char *missing;

    if (opened.library.library)
        return 0;
    for (size_t i = 0; !library.library && i < sizeof(names) / sizeof(names[0]); i++)
        library.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library.library) {
        snprintf(out_text, bytes, "neither %s nor %s can be opened", names[0], names[1]);
        return -1;
    }
    missing = look_up(&library);
    if (missing) {
        snprintf(out_text, bytes, "the libcublasLt on this machine has no %s", missing);
        dlclose(library.library);
        return -1;
    }
    opened.library = library;
    return 0;
}

const struct lt_library *lt_library_open(char *out_text, size_t bytes)
{
    int rc;

    pthread_mutex_lock(&opened.lock);
    rc = open_locked(out_text, bytes);
    pthread_mutex_unlock(&opened.lock);
    return rc == 0 ? &opened.library : NULL;
}
