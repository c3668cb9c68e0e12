/* SPDX-License-Identifier: Apache-2.0 */
/* A program that loads modules, each with an ONNX Runtime: inject_ort_loader VERSION MODULE... */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        void *module = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        double (*work)(uint32_t);

        if (!module) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        *(void **)&work = dlsym(module, "module_work");
        printf("%g\n", work((uint32_t)atoi(argv[1])));
    }
    return 0;
}
