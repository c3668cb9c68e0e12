/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that do the same job side by side, for the report on ranks. */
#ifndef OPTRACE_TESTS_SUPPORT_RANK_STORE_H
#define OPTRACE_TESTS_SUPPORT_RANK_STORE_H

/**
 * Make a file with six sessions of a made-up net, one rank each, of about 7.3 ms a run, noise
 * aside: 1 to 3 have a warm-up, then runs 2 to 9, and overlap; the times of 2 are noisy, and in 3
 * conv2 takes 30 % more. 4 has no runs. 5 has nine warm-ups, then runs 10 to 17, which overlap runs
 * 2 to 9 of session 1. 6 is like 1, a day later. Fails the test when it cannot.
 */
void rank_store_make(const char *path);

#endif
