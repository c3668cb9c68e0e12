/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was seen before, by content: an op's id, or the address of an object, for a key of bytes.
 * Finding takes no lock; what is added stays for the life of the process.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_NAMES_H
#define OPTRACE_CLIENT_INJECT_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum {
    NAMES_KEY_BYTES = 1024, /* longer texts are cut */
    NAMES_MAX = 1 << 17,    /* then what is new is not kept */
};

/** Makes the value of a key that is seen for the first time; 0 where it cannot be made. One thread
 *  at a time. One that needs the recorder is called for while that is open. */
typedef uint64_t names_make(const void *context);

/** The value of a key of at most NAMES_KEY_BYTES, made unless it is there; 0: it cannot be made. */
uint64_t names_find(const void *key, size_t bytes, names_make *make, const void *context);

/** The same, where the key is likely the one of the last call with this place, which several threads
 *  may share; NULL in it to begin with. */
struct names_entry;
uint64_t names_find_again(const struct names_entry **last, const void *key, size_t bytes,
                          names_make *make, const void *context);

/** The same, kept also when NAMES_MAX are there: for the few that stand for all others. */
uint64_t names_find_always(const void *key, size_t bytes, names_make *make, const void *context);

/** The value of a key that is there already; 0: it is not. Also for one that makes a value. */
uint64_t names_known(const void *key, size_t bytes);

/** Define the op of a text: a label or a mark, in a domain (NULL: none) and a category (NULL: none).
 *  0 when it cannot be. */
struct names_text {
    const char *text;
    const char *domain;   /* name of it */
    const char *category; /* name of it */
    uint32_t type;        /* enum optrace_name_type */
};
uint32_t names_define(const struct names_text *text);

#endif
