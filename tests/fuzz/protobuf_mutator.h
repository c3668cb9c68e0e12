/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of protocol buffers that stay protocol buffers, for fuzz targets that read them. A bit
 * that flips mostly breaks the length of a message, and what lies behind the decoder is not
 * reached; here a field is left out, doubled, emptied, exchanged for a brother, or given a number
 * or a word that means something, and the lengths around it are written anew.
 */
#ifndef OPTRACE_TESTS_FUZZ_PROTOBUF_MUTATOR_H
#define OPTRACE_TESTS_FUZZ_PROTOBUF_MUTATOR_H

#include <stddef.h>
#include <stdint.h>

/** A word to put where one stands; `number` is drawn. Never NULL. */
typedef const char *protobuf_word_fn(uint32_t number);

/** Changes one field of the message in data[0..size) of a buffer of `max` bytes, by what `seed` draws.
 * Returns the new size, or 0 where the bytes are no message or the result has no room: data is as
 * it was. */
size_t protobuf_mutate(uint8_t *data, size_t size, size_t max, unsigned int seed,
                       protobuf_word_fn *word);

#endif
