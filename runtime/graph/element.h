/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of a tensor as numbers, whatever their type: for input text, comparison and
 * printing, not for kernels. A long double holds every value of every type exactly. */
#ifndef OPTRACE_RUNTIME_GRAPH_ELEMENT_H
#define OPTRACE_RUNTIME_GRAPH_ELEMENT_H

#include "runtime/graph/graph.h"

/** Element `index` of data; 0 for a type that no value can have. */
long double element_get(const void *data, enum dtype dtype, int64_t index);

/** Store a number as element `index`. Returns false, and stores nothing, when the type cannot hold
 *  it: integers and bools must be exact; floating types round, but a finite number must stay one;
 *  those of eight bits and fewer take the nearest that they have.
 */
bool element_set(void *data, enum dtype dtype, int64_t index, long double number);

bool element_is_float(enum dtype dtype);

#endif
