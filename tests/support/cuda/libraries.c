/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of NVIDIA's libraries, the real ones, where there is no device: libraries LIBRARY FUNCTION...
 * They fail, and their names are told all the same. Built by tests/flow/cuda_toolkit.py.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
        void *handle = NULL;
        int (*function)(void **);

        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        *(void **)&function = dlsym(library, argv[i + 1]);
        if (!function) {
            fprintf(stderr, "%s: no %s\n", argv[i], argv[i + 1]);
            return 1;
        }
        printf("%s %s\n", argv[i + 1], function(&handle) == 0 ? "succeeds" : "fails");
        fflush(stdout);
    }
    return 0;
}
