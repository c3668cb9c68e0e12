/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a real libcupti and no driver: bare LIBCUPTI. It calls the injector itself, as nobody
 * else does then. Built by tests/flow/cuda_toolkit.py.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *theirs = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL,
         *ours = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*initialize)(void) = NULL;

    if (ours)
        *(void **)&initialize = dlsym(ours, "InitializeInjection");
    if (!theirs || !initialize) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("%d\n", initialize());
    return 0;
}
