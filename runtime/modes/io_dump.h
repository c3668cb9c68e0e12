/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --io-dump, --bin-io-dump, --bin-out-dump: what operators read and make, as text or as files that
 * scripts/compare-io compares. MegEngine's formats, with ids that do not change with optimisation:
 * a variable's is that of the value in the model file, an operator's its node's.
 *
 * Text, a block for each output of each step of each run:
 *
 *     var7 produced: name=y layout={1(3),3(1) Float32} owner_opr=conv1{Conv} opr3
 *      deps:
 *       [i0]var2: [1, 2, 3] s
 *      val: [0.5, 1, ...]min=.. max=.. mean=.. l2=.. sd=.. s
 *
 * Outputs that no step makes stand behind those of the steps: another view of what is there, with
 * its operator, or a constant ("owner_opr=y{Constant}") or an input ("x{Input}").
 *
 * values in %.4g, at most five; l2 is sqrt(mean(x^2)), sd the sample's deviation; inputs are read
 * before the operator runs. Not-a-number is in no statistic and counted as nan=N behind them.
 *
 * Binary, little-endian: u32 length of the name, u32 type code, u32 7, u32[7] shape with 0 behind
 * the last dimension, name, elements row-major. Types without a code in MegEngine have 200001
 * (float64), 200002 (int64), 200003 (uint32), 200004 (uint64), 200008 (string: of each element u32
 * its length, and its bytes).
 */
#ifndef OPTRACE_RUNTIME_MODES_IO_DUMP_H
#define OPTRACE_RUNTIME_MODES_IO_DUMP_H

#include <stdio.h>

#include "runtime/session/steps.h"

struct io_dump {
    FILE *text; /* NULL: none */
    bool owns_text;
    const char *folder;     /* of a file for each variable, "%06x" of its id; NULL: none */
    const char *out_folder; /* of a file for each output and run, "runR-varID"; NULL: none */
    uint64_t run;           /* counts from 0, warm-ups included */
    char *inputs;           /* text of what the step is about to read */
};

struct io_dump_config {
    const char *path; /* of the text; NULL: none */
    FILE *stream;     /* of the text, where there is no path; NULL: none */
    const char *folder, *out_folder;
};

/** True when anything is to be dumped. */
bool io_dump_is_wanted(const struct io_dump_config *config);

/** True when it takes to look at each step, and not at the outputs alone. */
bool io_dump_looks_inside(const struct io_dump_config *config);

/** Opens the file of the text. -EACCES, -ENOENT ... with a sentence; folders must exist. */
int io_dump_open(struct io_dump *dump, const struct io_dump_config *config, struct diag *diag);

/** The tool of an open dump, which must stay where it is: for all but the outputs' files. */
struct step_tool io_dump_tool(struct io_dump *dump);

/** After each run: the files of its outputs. -EIO and others with a sentence. */
int io_dump_outputs(struct io_dump *dump, const struct graph *graph, const struct exec *exec,
                    struct diag *diag);

/** Returns 0, or -EIO when something could not be written. {0} is allowed. */
int io_dump_close(struct io_dump *dump, struct diag *diag);

#endif
