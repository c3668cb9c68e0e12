/* SPDX-License-Identifier: Apache-2.0 */
/* How many inputs a fuzz target's decoder accepted. The replay of a corpus fails when it is none: a
 * target that nothing gets into would never fail. */
#ifndef OPTRACE_TESTS_FUZZ_ACCEPTED_H
#define OPTRACE_TESTS_FUZZ_ACCEPTED_H

/* One for the program, whether it is linked with the fuzzer or with the replay. */
__attribute__((weak)) unsigned long fuzz_accepted_count;

/** To be called with what the decoder under test made of the input: whether it took all of it. */
static inline void fuzz_accepted(int is_accepted)
{
    fuzz_accepted_count += is_accepted != 0;
}

#endif
