/* SPDX-License-Identifier: Apache-2.0 */
/* A program that loads modules, each with its own BLAS: inject_blas_loader MODULE... */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void work_of(const char *path)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    double (*work)(double *);
    double c[4] = {0};

    if (!module) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&work = dlsym(module, "module_work");
    for (int i = 0; i < 3; i++)
        printf("%g", work(c));
    printf(" %g\n", c[1]);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        work_of(argv[i]);
    return 0;
}
