/* SPDX-License-Identifier: Apache-2.0 */
/* Opening libcuda.so.1. */
#include "kernels/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static struct {
    pthread_mutex_t lock;
    struct cuda_driver driver;
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *look_up(struct cuda_driver *driver)
{
#define LOOK(name, arguments)                                                                      \
    *(void **)&driver->name = dlsym(driver->library, #name);                                       \
    if (!driver->name)                                                                             \
        return #name;
    CUDA_DRIVER_FUNCTIONS(LOOK)
#undef LOOK
    return NULL;
}

static int open_locked(char *out_text, size_t bytes)
{
    struct cuda_driver driver = {0};
    const char *missing;

    if (opened.driver.library)
        return 0;
    driver.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver.library) {
        snprintf(out_text, bytes,
                 "there is no driver of NVIDIA's on this machine: libcuda.so.1 cannot be opened");
        return -1;
    }
    missing = look_up(&driver);
    if (missing) {
        snprintf(out_text, bytes,
                 "the driver on this machine is too old: its libcuda.so.1 has no %s", missing);
        dlclose(driver.library);
        return -1;
    }
    opened.driver = driver;
    return 0;
}

const struct cuda_driver *cuda_driver_open(char *out_text, size_t bytes)
{
    int rc;

    pthread_mutex_lock(&opened.lock);
    rc = open_locked(out_text, bytes);
    pthread_mutex_unlock(&opened.lock);
    return rc == 0 ? &opened.driver : NULL;
}
