/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What names of C++ functions have in common with all others: that they return nothing, what they
 * take, the namespaces that they are of. Kernels of GPUs have names of hundreds of characters, of
 * which these are most; what tells them apart, the function and its template arguments, is left.
 */
#ifndef OPTRACE_ANALYZE_OUT_KERNEL_NAME_H
#define OPTRACE_ANALYZE_OUT_KERNEL_NAME_H

#include <stdbool.h>

/** Takes "void " and the parameters off, in place: "f<int>" of "void f<int>(int)". Returns whether
 *  there were any; names that are none of a function stay. */
bool kernel_name_strip_signature(char *name);

/** Takes namespaces off what has template arguments, in place: "f<g>" of "a::f<b::g>". Returns
 *  whether there were any. */
bool kernel_name_strip_scopes(char *name);

/** Whether its end says less than its beginning: the template arguments of a function, or the
 *  address of an object of Python's. */
bool kernel_name_is_head_first(const char *name);

#endif
