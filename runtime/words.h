/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines as other tools' users write them, in the words of load_and_run's option table:
 *
 * - MIGraphX's commands in front: read, compile, run, perf, time, verify, params;
 * - its options that take two words: --dim-param NAME N, --load-arg NAME FILE, --dyn-input-dim NAME
 *   "[...]";
 * - gflags' --flagfile FILE (a flag on each line, # before comments), --fromenv a,b (--a=$FLAGS_a),
 *   --tryfromenv a,b (those that are set).
 */
#ifndef OPTRACE_RUNTIME_WORDS_H
#define OPTRACE_RUNTIME_WORDS_H

#include "base/diag.h"

/** Returns 0, -EOPNOTSUPP for a command that is not offered, -EINVAL, what reading a file gives, or
 *  -ENOMEM, with a sentence. *out_words, which ends in NULL, is for words_free(). */
int words_expand(int argc, char **argv, char ***out_words, int *out_count, struct diag *diag);
void words_free(char ***words);

#endif
