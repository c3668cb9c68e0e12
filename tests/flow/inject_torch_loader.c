/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter: loads the extension that is named, and calls its first function. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*first)(const char *what) = NULL;

    if (module)
        *(void **)&first = dlsym(module, "PyInit_net");
    if (!first) {
        fprintf(stderr, "inject_torch_loader: no extension\n");
        return 1;
    }
    return first("");
}
