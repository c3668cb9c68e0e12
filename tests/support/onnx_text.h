/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX models from short texts, for tests of programs that read files:
 *
 *     opset 13
 *     opset 1 com.microsoft
 *     input x f32 2,3
 *     const w f32 3,4
 *     const k i64 2 = 5 6
 *     node MatMul x,w -> s
 *     node com.microsoft.FusedMatMul s,w -> y transB=1 alpha=0.5 mode="a" axes=[1,2]
 *     output y f32 2,4
 *     function my.F a,b -> c scale
 *     node Mul a,b -> c beta=@scale
 *     end
 *     body small
 *     node Neg a -> b
 *     output b
 *     end
 *     node If c -> b then_branch=$small else_branch=$large
 *
 * A constant without numbers holds made-up ones between -1 and 1. An output's type may be left out.
 * A scalar has no sizes; of an input one may be a name in small letters, and is open then. A function imports what the model does, and what is said in it. Of a
 * function its attributes stand behind its outputs, and a node inside refers to one by '@'; to a
 * body, which stands before it, by '$'.
 */
#ifndef OPTRACE_TESTS_SUPPORT_ONNX_TEXT_H
#define OPTRACE_TESTS_SUPPORT_ONNX_TEXT_H

#include <stddef.h>
#include <stdint.h>

/** The bytes of the model, which the caller frees. A mistake in the text ends the test. */
uint8_t *onnx_text_pack(const char *text, size_t *out_size);

/** A tensor, as of a data set: "f32 2,2 = 1 2 3 4". */
uint8_t *onnx_text_pack_tensor(const char *text, size_t *out_size);

#endif
