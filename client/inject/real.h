/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function that a caller would have got without us. Two libraries of one process may have two of
 * a name, each for itself, so that the answer depends on who calls.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_REAL_H
#define OPTRACE_CLIENT_INJECT_REAL_H

enum { REAL_CALLERS = 64 };

/** Of a hook; all zero at first. */
struct real {
    const char *name;
    void (*hook)(void);
    struct real_caller *callers[REAL_CALLERS];
};

/** The other one's function. Ends the program, which called what there is not, when there is none.
 *  caller  __builtin_return_address(0) of the hook */
void (*real_find(struct real *real, const void *caller))(void);

/** The same, NULL when there is none. */
void (*real_try(struct real *real, const void *caller))(void);

typedef void *real_dlsym_type(void *handle, const char *name);

/** The C library's dlsym(), which symbols.c stands in front of. */
real_dlsym_type *real_dlsym(void);

/** By that; RTLD_NEXT is after this library. */
void *real_symbol(void *handle, const char *name);

#endif
