/* SPDX-License-Identifier: Apache-2.0 */
/* A small library in place of libctranslate2: what programs of tests compute with. */
#ifndef OPTRACE_TESTS_SUPPORT_FAKE_CTRANSLATE2_H
#define OPTRACE_TESTS_SUPPORT_FAKE_CTRANSLATE2_H

#include <setjmp.h>
#include <stdbool.h>

/** Steps of a decoder of two layers, with weights of this type (0: float32, 1: int8). With `leave` a
 *  layer is left by it, as by an exception. Returns the sum of what each function saw of its last
 *  arguments. */
long fake_ctranslate2_step(long step, int dtype, jmp_buf *leave);

/** One of an encoder. */
void fake_ctranslate2_encode(void);

/** A product outside of any step. */
void fake_ctranslate2_product(void);

#endif
