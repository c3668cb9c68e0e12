/* SPDX-License-Identifier: Apache-2.0 */
/* Opening libcudnn. */
#include "kernels/cuda/cudnn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static struct {
    pthread_mutex_t lock;
    struct dnn_library library;
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char file_name[] = "libcudnn.so.9";

static const char *look_up(struct dnn_library *library)
{
#define LOOK(name)                                                                                 \
    *(void **)&library->name = dlsym(library->library, #name);                                     \
    if (!library->name)                                                                            \
        return #name;
#define LOOK_STATUS(name, arguments) LOOK(name)
    LOOK(cudnnGetVersion)
    LOOK(cudnnGetErrorString)
    DNN_FUNCTIONS(LOOK_STATUS)
#undef LOOK_STATUS
#undef LOOK
    return NULL;
}

static int open_locked(char *out_text, size_t bytes)
{
    struct dnn_library library = {0};
    const char *missing;

    if (opened.library.library)
        return 0;
    library.library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
    if (!library.library) {
        snprintf(out_text, bytes, "%s cannot be opened", file_name);
        return -1;
    }
    missing = look_up(&library);
    if (missing) {
        snprintf(out_text, bytes, "the libcudnn on this machine has no %s", missing);
        dlclose(library.library);
        return -1;
    }
    opened.library = library;
    return 0;
}

const struct dnn_library *dnn_library_open(char *out_text, size_t bytes)
{
    int rc;

    pthread_mutex_lock(&opened.lock);
    rc = open_locked(out_text, bytes);
    pthread_mutex_unlock(&opened.lock);
    return rc == 0 ? &opened.library : NULL;
}
