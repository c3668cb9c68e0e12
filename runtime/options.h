/* SPDX-License-Identifier: Apache-2.0 */
/* What load_and_run's command line sets; the table is options.def. */
#ifndef OPTRACE_RUNTIME_OPTIONS_H
#define OPTRACE_RUNTIME_OPTIONS_H

#include "base/options.h"
#include "runtime/exec/backend.h"
#include "runtime/graph/run_limits.h"

/** -1 (and NULL): not given, where another option forbids or replaces it. */
enum { CORES_MAX = 1024 };

/** In the order of the choices of --layout-transform. */
enum layout_transform { TRANSFORM_CPU, TRANSFORM_CUDA, TRANSFORM_NHWC, TRANSFORM_NCHW };

struct run_options {
    int64_t iter;
    int64_t warmup_iter;
    int64_t thread;
    int64_t multithread, multithread_default;
    const char *max_memory, *max_time;
    struct limits limits; /* what these say */
    bool cpu_default;
    const char *core_ids;
    uint32_t cores[CORES_MAX]; /* what core_ids says */
    uint32_t core_count;
    bool cpu;
    struct option_list inputs;
    struct option_list input_dims;
    struct option_list dim_params, dynamic_dims, load_args, zeros, ones;
    const char *output_names;
    int64_t trim;
    bool bisect;
    double rms_tol;
    int64_t batch, batch_size;
    int64_t seed;
    const char *verify;
    int verify_against; /* 0: the reference kernels; -1 */
    double rtol;
    double atol;
    const char *profile;
    const char *profile_host;
    bool trace;
    bool no_trace;
    int trace_detail; /* enum trace_detail, or -1 */
    const char *counters;
    bool inference, nonlinearity, with_z, weight_preprocess, const_shape; /* effects to be told */
    bool ioc16, fp16, bf16;
    bool jit, preprocess; /* these, too */
    bool no_inference, no_nonlinearity, no_with_z, no_jit, no_preprocess;
    bool fitting, share_param_mem, record_comp_seq2, fake_first, sanity_check, no_sanity_check;
    bool fast_run, full_run, reproducible, batch_equal;
    const char *algo_policy;
    int64_t shared_batch, workspace_limit;
    const char *device;   /* in other words */
    const char *cuda;     /* the number as text, "" is 0; NULL: the CPU alone */
    uint32_t cuda_number; /* what run_options_check() makes of it */
    bool offload, tf32;
    struct device_choice choice; /* what run_options_check() makes of options */
    int64_t streams;
    int layout_transform; /* an enum layout_transform; -1 */
    const char *layout_dump;
    struct layout_choice *layouts; /* what main() makes of these; NULL: none of them is given */
    struct kernel_chooser *tuning; /* what main() makes of these; NULL: none of them is given */
    bool model_info, record_comp_seq, disable_mem_opt, wait_gdb, disable_assert_throw;
    const char *static_mem_info;
    bool perf_report, detailed, calibrate;
    const char *io_dump, *bin_io_dump, *bin_out_dump;
    const char *c_opr_lib, *c_opr_init;
    bool io_dump_stdout, io_dump_stderr, copy_to_host, check_dispatch;
    double range; /* 0: not checked */
    const char *check_var_value;
    int trace_eval;  /* enum trace_eval_level, or -1 */
    int print_graph; /* enum print_format, or -1 */
    int print_stage; /* enum print_stage, or -1 */
    bool json;
    bool verbose;
};

extern const struct option_command load_and_run_command;

struct run_options run_options_default(void);

/** Whether something looks at the steps of a run one by one, so that they cannot be handed over as
 *  one. */
bool run_options_need_steps(const struct run_options *options);

/** Whether kernels are chosen otherwise than by default. */
bool run_options_choose_kernels(const struct run_options *options);

/** Refuses what would be ignored, with -EINVAL and a sentence; sets what depends on other options
 *  or on the environment: no_trace where nothing is to be recorded, trace_eval. */
int run_options_check(struct run_options *options, struct diag *diag);

#endif
