/* SPDX-License-Identifier: Apache-2.0 */
/* A small library in place of libtorch_cpu: what programs of tests compute with. */
#ifndef OPTRACE_TESTS_SUPPORT_FAKE_TORCH_H
#define OPTRACE_TESTS_SUPPORT_FAKE_TORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_TORCH_F32 = 6, FAKE_TORCH_BF16 = 15, FAKE_TORCH_LABEL = 7 };

struct fake_torch_tensor {
    _Alignas(8) unsigned char bytes[512];
    int64_t outside[8];
};

struct fake_torch_op {
    const char *name;
    int scope; /* 0: an op */
    const struct fake_torch_tensor *inputs[8];
    size_t input_count;
    const struct fake_torch_tensor *output; /* NULL: none */
    bool is_transposed;                     /* in place 6 of the arguments, of which there are 7 */
    void (*body)(void *context);            /* what it calls; NULL: nothing */
    void *context;
};

/** A tensor of these dims; one of `own` sizes has them asked for by a virtual function. */
void fake_torch_tensor(struct fake_torch_tensor *out_tensor, int dtype, int rank,
                       const int64_t *dims, bool own);

void fake_torch_run(const struct fake_torch_op *op);

/** A product by the BLAS inside of the library, as its ops compute some. */
void fake_torch_product(void);

/** A product of these, and a transposed convolution of them, as models that are compiled beforehand
 *  have them computed. Returns what the called one made of its numbers. */
double fake_torch_addmm(struct fake_torch_tensor *result, struct fake_torch_tensor *a,
                        struct fake_torch_tensor *b);
double fake_torch_convolution(struct fake_torch_tensor *result, struct fake_torch_tensor *x,
                              struct fake_torch_tensor *w);

/** How often callbacks were called, and accessors or virtual functions for a tensor of the program. */
uint64_t fake_torch_calls(void);
uint64_t fake_torch_asked(void);

/** How many results were kept for callbacks; more than 1,000 where an object was not destroyed. */
uint64_t fake_torch_kept(void);

/** Begin or end to observe, as a program may, with results. */
void fake_torch_observe(bool begin);

#endif
