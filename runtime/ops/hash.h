/* SPDX-License-Identifier: Apache-2.0 */
/* MurmurHash3 of 32 bits, as Austin Appleby defined it for x86. Any thread. */
#ifndef OPTRACE_RUNTIME_OPS_HASH_H
#define OPTRACE_RUNTIME_OPS_HASH_H

#include <stddef.h>
#include <stdint.h>

/** Of so many bytes, of which each four are a number with the lowest byte first. */
uint32_t hash_murmur3(const void *bytes, size_t length, uint32_t seed);

/** Of each of `count` elements of so many bytes, one behind the other. */
void hash_murmur3_each(uint32_t *y, const void *elements, size_t count, size_t bytes,
                       uint32_t seed);

#endif
