/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of load_and_run, and which options go together. */
#include "runtime/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "runtime/modes/checkers.h"
#include "runtime/modes/trace_eval.h"
#include "runtime/session/trace.h"

static const struct option_spec specs[] = {
#include "runtime/options.def"
};

static const char first_help[] =
    "load_and_run: load an ONNX model, run it, time it, check it\n"
    "\n"
    "Usage: load_and_run [OPTION...] MODEL.onnx\n"
    "\n"
    "Time it:\n"
    "  load_and_run m.onnx --iter 100       the time of each run, and a summary\n"
    "  load_and_run m.onnx --multithread 2  two threads compute each operator\n"
    "  load_and_run m.onnx --fast-run       time kernels first, take the fastest\n"
    "  load_and_run m.onnx --fitting        find the options that make it fastest\n"
    "  load_and_run m.onnx --perf-report    MIGraphX's report: each instruction\n"
    "  load_and_run --calibrate             what this machine can do at best\n"
    "\n"
    "Check it:\n"
    "  load_and_run m.onnx --verify DIR     against an ONNX test data set\n"
    "  load_and_run m.onnx --verify-against ref   each operator against its reference\n"
    "  load_and_run m.onnx --sanity-check   nothing is overwritten before it is read\n"
    "\n"
    "Look at it:\n"
    "  load_and_run m.onnx --model-info     inputs, outputs, the graph\n"
    "  load_and_run m.onnx --print-graph dot | dot -Tsvg > m.svg\n"
    "  load_and_run m.onnx --profile p.json then profile_analyze p.json\n"
    "\n"
    "Often used:\n"
    "  --input NAME:VALUE                   x:image.npy, x:1,2,3, x:{1,3,224,224}\n"
    "  --batch N, --seed N                  size and start of inputs without data\n"
    "  --thread N, --warmup-iter N          models side by side, untimed runs\n"
    "  --trace, --no-trace                  record to optraced: must, must not\n"
    "  --json, --verbose                    for scripts; what was chosen, on stderr\n"
    "\n"
    "More:\n"
    "  --help running, device, optimisation, kernels, input, checking, operators,\n"
    "         output, recording             the options of that kind\n"
    "  --help options                       all options; --help OPTION: one of them\n"
    "  man load_and_run                     all of it\n";

const struct option_command load_and_run_command = {
    .name = "load_and_run",
    .version = OPTRACE_VERSION,
    .purpose = "load an ONNX model, run it, time it, check it",
    .arguments = "MODEL.onnx",
    .options = specs,
    .option_count = sizeof(specs) / sizeof(specs[0]),
    .examples = "load_and_run model.onnx --iter 100 --multithread 2\n"
                "    Time a hundred runs on two threads.\n"
                "load_and_run model.onnx --verify case/test_data_set_0\n"
                "    Compare the outputs with what is expected.\n",
    .exit_text =
        "0  done\n"
        "1  --verify, --verify-against, --check-var-value: something differs; --range: a value "
        "lies "
        "outside\n"
        "2  wrong use of the command line\n"
        "3  a model or an input is missing, damaged, or not supported, or needs more than "
        "--max-memory, --max-time or --workspace-limit allow\n"
        "4  the system failed: no memory, no permission, disk full, no daemon for --trace\n"
        "5  an option of another tool that is not offered here\n",
    .see_also = "optraced(1), profile_analyze(1)",
    .max_arguments = 1,
    .first_help = first_help,
    .description =
        "Reads the model, infers shapes, optimises the graph, and runs it. Prints the time of each "
        "run from the first dispatch to the end of all work (e2e) and until all was dispatched "
        "(host), then a summary.\n\n"
        "Each operator, run and piece of memory is recorded to optraced when it listens.",
    .environment =
        "OPTRACE_SOCKET  path of the daemon's socket\n"
        "OPTRACE_DISABLE  anything but 0: do not record\n"
        "OPTRACE_SCHEDULE  runs to record: skip-first=10,wait=1,warmup=1,active=3\n"
        "OPTRACE_COUNTERS  CPU counters to record, where --counters is not given\n"
        "OPTRACE_CUPTI  the libcupti that times of --cuda are read from; none: events say them\n"
        "OPTRACE_TRACE_EVAL  level of --trace-eval, where that is not given\n",
};

struct run_options run_options_default(void)
{
    return (struct run_options){
        .iter = -1,
        .warmup_iter = -1,
        .thread = -1,
        .multithread = -1,
        .multithread_default = -1,
        .seed = -1,
        .batch = -1,
        .shared_batch = -1,
        .workspace_limit = -1,
        .streams = -1,
        .layout_transform = -1,
        .batch_size = -1,
        .trim = -1,
        .rtol = -1,
        .atol = -1,
        .rms_tol = -1,
        .verify_against = -1,
        .trace_eval = -1,
        .print_graph = -1,
        .print_stage = -1,
        .trace_detail = -1,
    };
}

/* What the program does, chosen by one option each; timing runs when none is given. */
struct mode {
    const char *name;
    const char *const *takes; /* options that it honours, besides those on devices and memory */
    bool records;
};

#define INPUT_WORDS                                                                                \
    "dim-param", "dyn-input-dim", "fill0", "fill1", "load-arg", "output-names", "trim"

static const char *const timing_takes[] = {
    "iter",
    "warmup-iter",
    "thread",
    "input",
    "input-dim",
    INPUT_WORDS,
    "batch",
    "batch-size",
    "seed",
    "share-param-mem",
    "profile",
    "profile-host",
    "model-info",
    "json",
    "verbose",
    "trace",
    "trace-detail",
    "counters",
    "trace-eval",
    "io-dump",
    "io-dump-stdout",
    "io-dump-stderr",
    "bin-io-dump",
    "bin-out-dump",
    "copy-to-host",
    "cuda",
    "enable-offload-copy",
    "streams",
    "tf32",
    "range",
    "check-dispatch",
    "check-var-value",
    "get-static-mem-info",
    "record-comp-seq",
    "record-comp-seq2",
    "fake-first",
    "fitting",
    "sanity-check",
    "no-sanity-check",
    "optimize-for-inference",
    "enable-fuse-conv-bias-nonlinearity",
    "enable-fuse-conv-bias-with-z",
    "enable-jit",
    "enable-fuse-preprocess",
    "enable-ioc16",
    "fp16",
    "bf16",
    "weight-preprocess",
    "const-shape",
    NULL,
};
static const char *const verify_takes[] = {
    "cuda",
    "enable-offload-copy",
    "streams",
    "tf32",
    "enable-ioc16",
    "fp16",
    "bf16",
    "rtol",
    "atol",
    "rms-tol",
    "json",
    "trace",
    "trace-detail",
    "disable-assert-throw",
    "counters",
    "thread",
    "share-param-mem",
    "record-comp-seq",
    "record-comp-seq2",
    "sanity-check",
    "no-sanity-check",
    NULL,
};
static const char *const check_takes[] = {
    "enable-ioc16", "fp16",   "bf16",       "rtol", "atol",    "input",
    "input-dim",    "batch",  "batch-size", "seed", "verbose", "disable-assert-throw",
    "rms-tol",      "bisect", INPUT_WORDS,  NULL,
};
static const char *const print_takes[] = {"enable-ioc16", "fp16",      "bf16",  "print-stage",
                                          "input",        "input-dim", "batch", "batch-size",
                                          INPUT_WORDS,    NULL};
static const char *const perf_takes[] = {
    "enable-ioc16", "fp16",       "bf16", "iter", "warmup-iter", "input",     "input-dim",
    "batch",        "batch-size", "seed", "json", "detailed",    INPUT_WORDS, NULL};

static const char *const calibrate_takes[] = {"cuda", "json", "trace", NULL};

enum mode_index {
    MODE_TIMING,
    MODE_VERIFY,
    MODE_CHECK,
    MODE_PRINT,
    MODE_PERF,
    MODE_CALIBRATE,
    MODES
};

static const struct mode modes[MODES] = {
    [MODE_TIMING] = {"timing runs", timing_takes, true},
    [MODE_VERIFY] = {"--verify", verify_takes, true},
    [MODE_CHECK] = {"--verify-against", check_takes, false},
    [MODE_PRINT] = {"--print-graph", print_takes, false},
    [MODE_PERF] = {"--perf-report", perf_takes, false},
    [MODE_CALIBRATE] = {"--calibrate", calibrate_takes, true},
};

static bool takes(const struct mode *mode, const char *name)
{
    for (const char *const *taken = mode->takes; *taken; taken++) {
        if (strcmp(*taken, name) == 0)
            return true;
    }
    return false;
}

/* Which modes are asked for; -EINVAL when it is more than one. */
static int find_mode(const struct run_options *options, struct diag *diag)
{
    const bool asked[MODES] = {
        [MODE_VERIFY] = options->verify != NULL,  [MODE_CHECK] = options->verify_against >= 0,
        [MODE_PRINT] = options->print_graph >= 0, [MODE_PERF] = options->perf_report,
        [MODE_CALIBRATE] = options->calibrate,
    };
    int found = MODE_TIMING;

    for (int i = MODE_TIMING + 1; i < MODES; i++) {
        if (asked[i] && found != MODE_TIMING)
            return diag_set(diag, -EINVAL, "%s and %s exclude each other", modes[found].name,
                            modes[i].name);
        found = asked[i] ? i : found;
    }
    return found;
}

/* An option that the mode would ignore. */
static int check_given(const struct run_options *options, const struct mode *mode,
                       struct diag *diag)
{
    const struct {
        const char *name;
        bool given;
    } all[] = {
        {"iter", options->iter >= 0},
        {"warmup-iter", options->warmup_iter >= 0},
        {"thread", options->thread >= 0},
        {"input", options->inputs.count > 0},
        {"input-dim", options->input_dims.count > 0},
        {"dim-param", options->dim_params.count > 0},
        {"dyn-input-dim", options->dynamic_dims.count > 0},
        {"fill0", options->zeros.count > 0},
        {"fill1", options->ones.count > 0},
        {"load-arg", options->load_args.count > 0},
        {"output-names", options->output_names != NULL},
        {"trim", options->trim >= 0},
        {"bisect", options->bisect},
        {"rms-tol", options->rms_tol >= 0},
        {"batch", options->batch >= 0},
        {"batch-size", options->batch_size >= 0},
        {"share-param-mem", options->share_param_mem},
        {"seed", options->seed >= 0},
        {"rtol", options->rtol >= 0},
        {"atol", options->atol >= 0},
        {"profile", options->profile != NULL},
        {"profile-host", options->profile_host != NULL},
        {"model-info", options->model_info},
        {"print-stage", options->print_stage >= 0},
        {"detailed", options->detailed},
        {"trace-eval", options->trace_eval >= 0},
        {"io-dump", options->io_dump != NULL},
        {"io-dump-stdout", options->io_dump_stdout},
        {"io-dump-stderr", options->io_dump_stderr},
        {"bin-io-dump", options->bin_io_dump != NULL},
        {"bin-out-dump", options->bin_out_dump != NULL},
        {"copy-to-host", options->copy_to_host},
        {"cuda", options->cuda != NULL},
        {"enable-offload-copy", options->offload},
        {"streams", options->streams >= 0},
        {"tf32", options->tf32},
        {"get-static-mem-info", options->static_mem_info != NULL},
        {"record-comp-seq", options->record_comp_seq},
        {"record-comp-seq2", options->record_comp_seq2},
        {"fake-first", options->fake_first},
        {"fitting", options->fitting},
        {"sanity-check", options->sanity_check},
        {"no-sanity-check", options->no_sanity_check},
        {"optimize-for-inference", options->inference},
        {"enable-fuse-conv-bias-nonlinearity", options->nonlinearity},
        {"enable-fuse-conv-bias-with-z", options->with_z},
        {"enable-jit", options->jit},
        {"enable-ioc16", options->ioc16},
        {"fp16", options->fp16},
        {"bf16", options->bf16},
        {"enable-fuse-preprocess", options->preprocess},
        {"weight-preprocess", options->weight_preprocess},
        {"const-shape", options->const_shape},
        {"disable-assert-throw", options->disable_assert_throw},
        {"range", options->range > 0},
        {"check-var-value", options->check_var_value != NULL},
        {"check-dispatch", options->check_dispatch},
        {"json", options->json},
        {"verbose", options->verbose},
        {"trace", options->trace},
        {"trace-detail", options->trace_detail >= 0},
        {"counters", options->counters != NULL},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].given && !takes(mode, all[i].name))
            return diag_set(diag, -EINVAL, "--%s has no effect on %s", all[i].name, mode->name);
    }
    return 0;
}

/* A combination that makes no sense. */
struct rule {
    bool wrong;
    const char *sentence;
};

static int check_rules(const struct rule *rules, size_t count, struct diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        if (rules[i].wrong)
            return diag_set(diag, -EINVAL, "%s", rules[i].sentence);
    }
    return 0;
}

/* Dumps of each operator. */
static bool dumps_inside(const struct run_options *options)
{
    return options->io_dump || options->io_dump_stdout || options->io_dump_stderr ||
           options->bin_io_dump;
}

/* Other than by dumps. */
static bool checks_inside(const struct run_options *options)
{
    return options->range > 0 || options->check_var_value || options->trace_eval > 0;
}

/* Dumps and checks: they follow one thread. */
static bool looks_inside(const struct run_options *options)
{
    return dumps_inside(options) || options->bin_out_dump || checks_inside(options);
}

/* Observers of the execution, or all but. */
static bool observes(const struct run_options *options)
{
    return options->profile || options->profile_host || options->trace ||
           options->trace_detail >= 0 || options->counters;
}

bool run_options_need_steps(const struct run_options *options)
{
    return looks_inside(options) || observes(options);
}

/* Steps of a GPU's graph note their moments themselves. */
static bool records_graph(const struct run_options *options)
{
    return options->cuda && options->trace && options->record_comp_seq &&
           !options->record_comp_seq2 && !options->profile && !options->profile_host &&
           options->trace_detail < 0 && !options->counters;
}

/* How the steps of a run are handed over, and what is special about the first one. */
static int check_sequence(const struct run_options *options, struct diag *diag)
{
    bool is_recorded = options->record_comp_seq || options->record_comp_seq2;
    const struct rule rules[] = {
        {is_recorded && ((observes(options) && !records_graph(options)) || checks_inside(options)),
         "--record-comp-seq runs all operators as one: it does not go with --trace, "
         "--trace-detail, --counters, --trace-eval, profiles and checks, which look at each; with "
         "--cuda the first goes with --trace"},
        {options->record_comp_seq2 && dumps_inside(options),
         "--record-comp-seq2 frees parameters that --io-dump and --bin-io-dump would write: leave "
         "one out, or dump the outputs alone with --bin-out-dump"},
        {options->record_comp_seq && options->record_comp_seq2,
         "--record-comp-seq and --record-comp-seq2 exclude each other: the second does all that "
         "the first does"},
        {options->record_comp_seq2 && options->fake_first,
         "--record-comp-seq2 and --fake-first exclude each other"},
        {options->record_comp_seq2 && !options->no_sanity_check,
         "--record-comp-seq2 frees what the check of the first run looks at: it needs "
         "--no-sanity-check"},
        {options->sanity_check && options->no_sanity_check,
         "--sanity-check and --no-sanity-check exclude each other"},
        {options->fake_first && options->warmup_iter == 0,
         "--fake-first makes the first warm-up, and --warmup-iter 0 leaves none"},
    };

    return check_rules(rules, sizeof(rules) / sizeof(rules[0]), diag);
}

static int check_together(const struct run_options *options, struct diag *diag)
{
    int text_dumps = (options->io_dump != NULL) + options->io_dump_stdout + options->io_dump_stderr;
    bool looks = looks_inside(options);
    bool has_profile = options->profile || options->profile_host;
    const struct rule rules[] = {
        {options->trace && options->no_trace, "--trace and --no-trace exclude each other"},
        {options->trace_detail >= 0 && options->no_trace,
         "--trace-detail and --no-trace exclude each other"},
        {options->counters && options->no_trace, "--counters and --no-trace exclude each other"},
        {options->profile && options->profile_host,
         "--profile and --profile-host exclude each other: --profile has the host's times too"},
        {has_profile && options->thread > 1,
         "a profile describes one thread: --profile needs --thread 1"},
        {(options->trace_eval > 0 || options->io_dump_stdout) && options->json,
         "--trace-eval and --io-dump-stdout print text: they do not go with --json"},
        {text_dumps > 1, "--io-dump, --io-dump-stdout and --io-dump-stderr exclude each other"},
        {options->thread > 1 && looks, "dumps and checks follow one thread: they need --thread 1"},
        {options->copy_to_host && looks,
         "--copy-to-host is about the time of runs, which dumps and checks change: leave one out"},
        {options->multithread >= 0 && options->multithread_default >= 0,
         "--multithread and --multithread-default exclude each other"},
        {options->cpu_default && (options->multithread >= 0 || options->multithread_default >= 0),
         "--cpu-default is one thread without a queue: --multithread-default N is more of them"},
        {options->core_ids && options->multithread < 0 && options->multithread_default < 0,
         "--multi-thread-core-ids needs --multithread or --multithread-default"},
        {options->inference && options->no_inference,
         "--optimize-for-inference and --no-optimize-for-inference exclude each other"},
        {options->nonlinearity && options->no_nonlinearity,
         "--enable-fuse-conv-bias-nonlinearity and its opposite exclude each other"},
        {options->with_z && options->no_with_z,
         "--enable-fuse-conv-bias-with-z and its opposite exclude each other"},
        {options->preprocess && options->no_preprocess,
         "--enable-fuse-preprocess and its opposite exclude each other"},
        {options->bf16 && (options->fp16 || options->ioc16),
         "--bf16 and --fp16 (--enable-ioc16) exclude each other"},
        {options->jit && options->no_jit, "--enable-jit and --no-enable-jit exclude each other"},
        {options->c_opr_init && !options->c_opr_lib, "--c-opr-init-interface needs --c-opr-lib"},
        {options->c_opr_lib && options->calibrate, "--c-opr-lib has no effect on --calibrate"},
        {options->batch >= 0 && options->batch_size >= 0,
         "--batch and --batch-size exclude each other"},
        {options->rms_tol >= 0 && (options->rtol >= 0 || options->atol >= 0),
         "--rms-tol is in place of --rtol and --atol"},
        {options->dynamic_dims.count > 0 && options->batch_size >= 0,
         "--dyn-input-dim takes the size of --batch: --batch-size excludes it"},
        {options->perf_report && options->iter == 0, "--perf-report needs --iter 1 or more"},
    };
    int rc = check_rules(rules, sizeof(rules) / sizeof(rules[0]), diag);

    return rc < 0 ? rc : check_sequence(options, diag);
}

/* "0,2,3" into cores; there must be as many as threads. */
static int parse_cores(struct run_options *options, struct diag *diag)
{
    int64_t threads =
        options->multithread_default >= 0 ? options->multithread_default : options->multithread;
    const char *text = options->core_ids;

    for (;;) {
        char *end;
        unsigned long core = strtoul(text, &end, 10);

        if (end == text || text[0] == '-' || core > UINT32_MAX || (*end != ',' && *end != '\0') ||
            options->core_count == CORES_MAX)
            return diag_set(diag, -EINVAL,
                            "--multi-thread-core-ids takes numbers of cores with commas between, "
                            "not \"%s\"",
                            options->core_ids);
        options->cores[options->core_count++] = (uint32_t)core;
        if (*end == '\0')
            break;
        text = end + 1;
    }
    if (options->core_count != (uint64_t)threads)
        return diag_set(diag, -EINVAL, "--multi-thread-core-ids names %u cores for %lld threads",
                        options->core_count, (long long)threads);
    return 0;
}

bool run_options_choose_kernels(const struct run_options *options)
{
    return options->fast_run || options->full_run || options->algo_policy ||
           options->reproducible || options->batch_equal || options->workspace_limit >= 0;
}

/* How kernels are chosen. */
static int check_choice(const struct run_options *options, struct diag *diag)
{
    bool is_timed = options->fast_run || options->full_run;
    const struct rule rules[] = {
        {options->fast_run && options->full_run,
         "--fast-run and --full-run exclude each other: the second times all that the first does"},
        {options->shared_batch > 0 && !is_timed && !options->algo_policy,
         "--fast-run-shared-batch-size needs --fast-run, --full-run or --fast-run-algo-policy"},
        {options->calibrate &&
             (run_options_choose_kernels(options) || options->layout_transform >= 0),
         "--calibrate runs no model: options that choose kernels have no effect on it"},
        {options->layout_dump && options->layout_transform < 0 &&
             !(options->cuda && (options->fast_run || options->algo_policy)),
         "--layout-transform-dump needs --layout-transform, or --cuda with --fast-run or "
         "--fast-run-algo-policy"},
    };

    return check_rules(rules, sizeof(rules) / sizeof(rules[0]), diag);
}

/* --device in the words of the others. */
static int take_device(struct run_options *options, struct diag *diag)
{
    const char *device = options->device;

    if (options->cpu && options->cuda)
        return diag_set(diag, -EINVAL, "--cpu and --cuda exclude each other");
    if (device && (options->cpu || options->cuda))
        return diag_set(diag, -EINVAL, "--device says what --cpu and --cuda say: leave one out");
    if (!device || strcmp(device, "cpu") == 0)
        return 0;
    if (strcmp(device, "cuda") == 0)
        options->cuda = "";
    else if (strncmp(device, "cuda:", 5) == 0 && device[5] != '\0')
        options->cuda = device + 5;
    else
        return diag_set(diag, -EINVAL, "--device takes cpu, cuda or cuda:ID, not \"%s\"", device);
    return 0;
}

/* On a GPU. */
static int check_cuda(struct run_options *options, struct diag *diag)
{
    bool is_cuda = options->cuda != NULL;
    const struct rule rules[] = {
        {options->offload && !is_cuda, "--enable-offload-copy needs --cuda"},
        {options->streams >= 0 && !is_cuda, "--streams are those of a GPU: it needs --cuda"},
        {options->offload && options->copy_to_host,
         "--enable-offload-copy copies the outputs as --copy-to-host does: leave one out"},
        {options->offload && (options->record_comp_seq || options->record_comp_seq2),
         "--record-comp-seq keeps what the GPU does, which copies of --enable-offload-copy are no "
         "part of: leave one out"},
        {is_cuda && (options->cpu_default || options->multithread_default >= 0),
         "--cuda hands work to the GPU from the thread that dispatches: it goes with --multithread "
         "alone, for what the CPU computes"},
        {options->tf32 && !is_cuda, "--tf32 is of a GPU: it needs --cuda"},
        {is_cuda && (options->full_run || options->reproducible || options->batch_equal ||
                     options->shared_batch > 0),
         "--full-run, --reproducible, --binary-equal-between-batch and shared batches choose among "
         "the CPU's kernels: they do not go with --cuda, which has --fast-run, its policies and "
         "--workspace-limit"},
        {is_cuda && options->layout_transform == TRANSFORM_CPU,
         "--layout-transform cpu chooses for the CPU: with --cuda it is --layout-transform cuda"},
        {!is_cuda && options->layout_transform == TRANSFORM_CUDA,
         "--layout-transform cuda chooses for a GPU: it needs --cuda"},
        {is_cuda && options->fitting, "--fitting tries options of the CPU: it does not go with "
                                      "--cuda"},
        {is_cuda && options->counters,
         "--counters are those of the CPU that runs an operator: they do not go with --cuda"},
        {is_cuda && options->fake_first,
         "--fake-first touches memory of the CPU: it does not go with --cuda"},
        {is_cuda && options->sanity_check,
         "--sanity-check looks at memory of the CPU: it does not go with --cuda"},
        {is_cuda && options->c_opr_lib,
         "operators of --c-opr-lib compute on the CPU: it does not go with --cuda"},
    };
    char *end = NULL;
    unsigned long number = is_cuda ? strtoul(options->cuda, &end, 10) : 0;
    int rc = check_rules(rules, sizeof(rules) / sizeof(rules[0]), diag);

    if (rc == 0 && is_cuda &&
        (*end != '\0' || number > INT32_MAX || options->cuda[0] == '-' || options->cuda[0] == '+'))
        return diag_set(diag, -EINVAL, "--cuda takes the number of a GPU, not \"%s\"",
                        options->cuda);
    options->cuda_number = (uint32_t)number;
    options->choice = (struct device_choice){
        .times = options->fast_run,
        .allows_tf32 = options->tf32,
        .workspace_limit =
            options->workspace_limit >= 0 ? (uint64_t)options->workspace_limit : UINT64_MAX,
    };
    return rc;
}

static int parse_limits(struct run_options *options, struct diag *diag)
{
    int64_t bytes = 0, ns = 0;
    int rc = 0;

    options->limits.is_share = !options->max_memory;
    if (options->max_memory)
        rc = amount_parse_bytes("--max-memory", options->max_memory, &bytes, diag);
    if (rc == 0 && options->max_time)
        rc = amount_parse_duration("--max-time", options->max_time, &ns, diag);
    options->limits.memory_bytes =
        options->limits.is_share ? limits_share_of_machine() : (uint64_t)bytes;
    options->limits.time_ns = (uint64_t)ns;
    return rc;
}

int run_options_check(struct run_options *options, struct diag *diag)
{
    const char *level = getenv("OPTRACE_TRACE_EVAL");
    int mode, rc;

    rc = take_device(options, diag);
    if (rc < 0)
        return rc;
    if (options->bisect && options->verify_against < 0)
        options->verify_against = 0;
    mode = find_mode(options, diag);
    rc = mode < 0 ? mode : check_given(options, &modes[mode], diag);

    if (rc == 0)
        rc = check_together(options, diag);
    if (rc == 0)
        rc = check_choice(options, diag);
    if (rc == 0)
        rc = check_cuda(options, diag);
    if (rc == 0)
        rc = parse_limits(options, diag);
    if (rc == 0 && options->core_ids)
        rc = parse_cores(options, diag);
    if (rc == 0 && options->counters)
        rc = trace_check_counters(options->counters, diag);
    if (rc == 0 && options->check_var_value)
        rc = value_checker_parse(options->check_var_value, &(struct value_checker){0}, diag);
    if (rc == 0 && options->trace_eval < 0 && mode == MODE_TIMING && !options->json) {
        options->trace_eval = TRACE_EVAL_OFF;
        if (level && level[0] != '\0')
            options->trace_eval = trace_eval_parse(level, "OPTRACE_TRACE_EVAL", diag);
        rc = options->trace_eval < 0 ? options->trace_eval : 0;
    }
    if (rc == 0 && (!modes[mode].records ||
                    ((options->record_comp_seq || options->record_comp_seq2) && !options->trace)))
        options->no_trace = true;
    return rc;
}
