/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run: options, wiring, exit status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "base/text.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/layout_format.h"
#include "runtime/graph/run_limits.h"
#include "runtime/modes/calibrate.h"
#include "runtime/modes/check_ops.h"
#include "runtime/modes/fitting.h"
#include "runtime/modes/perf.h"
#include "runtime/modes/print_graph.h"
#include "runtime/modes/verify.h"
#include "runtime/onnx/dump.h"
#include "runtime/ops/extern_library.h"
#include "runtime/options.h"
#include "runtime/run.h"
#include "runtime/session/trace.h"
#include "runtime/tune/layout_choose.h"
#include "runtime/tune/tune.h"
#include "runtime/words.h"

/* What goes wrong in the machine and not in an input. */
static int exit_status(int error)
{
    switch (error) {
    case -ENOMEM:
    case -EAGAIN:
    case -EACCES:
    case -EPERM:
    case -EROFS:
    case -EIO:
    case -ENOSPC:
    case -EMFILE:
    case -ENFILE:
    case -ENODEV: /* --cuda */
        return EXIT_SYSTEM;
    case -ERANGE: /* --range */
    case -EBADE:  /* --check-var-value */
        return EXIT_NO;
    default:
        return EXIT_INPUT;
    }
}

/* A limit that was met is told in place of what came of it. */
static int complain(int status, const struct diag *given)
{
    struct diag copy = *given, *diag = &copy;

    if ((status == EXIT_INPUT || status == EXIT_SYSTEM) && limits_explain(diag))
        status = EXIT_INPUT;
    text_print(stderr, "%s: %s\n", load_and_run_command.name,
               diag->text[0] != '\0' ? diag->text : "something failed without saying what");
    return status;
}

/* Which threads compute. */
static struct exec_options exec_options_of(const struct run_options *options)
{
    int64_t threads =
        options->multithread_default >= 0 ? options->multithread_default : options->multithread;

    return (struct exec_options){
        .threads = threads > 0 ? (uint32_t)threads : 1,
        .is_inline = options->cpu_default || options->multithread_default >= 0,
        .is_recorded = options->record_comp_seq || options->record_comp_seq2,
        .is_lavish = options->disable_mem_opt,
        .cores = options->core_count > 0 ? options->cores : NULL,
        .kernels = options->tuning,
        .layouts = options->layouts ? layout_chooser(options->layouts) : NULL,
        .device = options->cuda ? &device_cuda : NULL,
        .device_number = options->cuda_number,
        .streams = options->streams > 0 ? (uint32_t)options->streams : 1,
        .offload = options->offload,
        .choice = &options->choice,
    };
}

static struct pass_options passes_of(const struct run_options *options)
{
    return (struct pass_options){
        .no_inference = options->no_inference,
        .no_nonlinearity = options->no_nonlinearity,
        .no_z = options->no_with_z,
        .no_preprocess = options->no_preprocess,
        .no_jit = options->no_jit,
        .trim = options->trim > 0 ? options->trim : 0,
        .output_names = options->output_names,
        .half = options->bf16                     ? DTYPE_BF16
                : options->fp16 || options->ioc16 ? DTYPE_F16
                                                  : DTYPE_NONE,
        .half_sums = options->cuda,
        .half_where_large = !options->cuda,
        .widens = !options->cuda,
        .no_lookups = options->cuda,
        .no_places = options->cuda,
        .folds_scales = options->cuda,
        .joins_gelu = options->cuda,
        .joins_half_attention = options->cuda,
        /* Products of tensor cores are faster than one pass without them. */
        .joins_attention = options->cuda && !options->bf16 && !options->fp16 && !options->ioc16 &&
                           !options->choice.allows_tf32,
    };
}

static enum trace_detail trace_detail_of(const struct run_options *options)
{
    return options->trace_detail < 0 ? TRACE_DEFAULT : (enum trace_detail)options->trace_detail;
}

static enum sanity_choice sanity_of(const struct run_options *options)
{
    if (options->cuda)
        return SANITY_OFF;
    return options->sanity_check ? SANITY_ON : options->no_sanity_check ? SANITY_OFF : SANITY_AUTO;
}

static int run_verify(const struct run_options *options, const char *model)
{
    struct verify_config config = {
        .model_path = model,
        .folder = options->verify,
        .rtol = options->rtol,
        .atol = options->atol,
        .rms_tol = options->rms_tol,
        .exec = exec_options_of(options),
        .passes = passes_of(options),
        .trace = !options->no_trace,
        .trace_detail = trace_detail_of(options),
        .json = options->json,
        .thread_count = options->thread > 0 ? (uint32_t)options->thread : 1,
        .shares = options->share_param_mem,
        .frees_graph = options->record_comp_seq2,
        .sanity = sanity_of(options),
    };
    struct diag diag = {0};
    int rc = verify(&config, stdout, &diag);

    if (rc < 0)
        return complain(exit_status(rc), &diag);
    return rc == 1 || options->disable_assert_throw ? EXIT_OK : EXIT_NO;
}

static int write_document(const struct run_config *config, const struct report *reports,
                          struct diag *diag)
{
    struct json_writer json;
    char text[300] = "not recording: --no-trace";
    int rc = 0;

    if (config->trace)
        trace_status(text, sizeof(text));
    json_init_file(&json, stdout);
    json_set_indent(&json, 3);
    json_begin_object(&json);
    json_key(&json, "version");
    json_int(&json, 1);
    json_key(&json, "model");
    json_string(&json, config->path);
    json_key(&json, "device");
    json_string(&json, config->exec.device ? config->exec.device->name : "cpu");
    json_key(&json, "seed");
    json_uint(&json, config->seed);
    json_key(&json, "trace");
    json_string(&json, text);
    json_key(&json, "threads");
    json_begin_array(&json);
    for (uint32_t i = 0; rc == 0 && i < config->thread_count; i++)
        rc = report_write_json(&json, &reports[i]);
    json_end_array(&json);
    json_end_object(&json);
    if (rc == 0)
        rc = json_finish(&json);
    return rc < 0 ? diag_set(diag, rc, "cannot write the result: %s", strerror(-rc)) : 0;
}

static int parse_inputs(const struct run_options *options, struct input_list *inputs,
                        struct diag *diag)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < options->inputs.count; i++)
        rc = input_parse(options->inputs.items[i], inputs, diag);
    for (size_t i = 0; rc == 0 && i < options->input_dims.count; i++)
        rc = input_parse_dim(options->input_dims.items[i], inputs, diag);
    for (size_t i = 0; rc == 0 && i < options->load_args.count; i++)
        rc = input_parse_load(options->load_args.items[i], inputs, diag);
    for (size_t i = 0; rc == 0 && i < options->dim_params.count; i++)
        rc = input_parse_param(options->dim_params.items[i], inputs, diag);
    for (size_t i = 0; rc == 0 && i < options->dynamic_dims.count; i++)
        rc = input_parse_dynamic(options->dynamic_dims.items[i],
                                 options->batch > 0 ? options->batch : 1, inputs, diag);
    for (size_t i = 0; rc == 0 && i < options->zeros.count; i++)
        rc = input_append_fill(options->zeros.items[i], 0, inputs, diag);
    for (size_t i = 0; rc == 0 && i < options->ones.count; i++)
        rc = input_append_fill(options->ones.items[i], 1, inputs, diag);
    if (rc == 0 && options->batch > 0)
        rc = input_append_batch(inputs, options->batch, diag);
    if (rc == 0 && options->batch_size > 0)
        rc = input_append_tiles(inputs, options->batch_size, diag);
    return rc;
}

static int run_timing(const struct run_options *options, const char *model)
{
    struct input_list inputs = {0};
    struct run_config config = {
        .path = model,
        .inputs = &inputs,
        .seed = options->seed > 0 ? (uint64_t)options->seed : 0,
        .thread_count = options->thread > 0 ? (uint32_t)options->thread : 1,
        .exec = exec_options_of(options),
        .passes = passes_of(options),
        .warmup_count = options->warmup_iter >= 0 ? (uint64_t)options->warmup_iter : 1,
        .run_count = options->iter >= 0 ? (uint64_t)options->iter : 10,
        .profile_path = options->profile ? options->profile : options->profile_host,
        .profile_device = options->profile != NULL,
        .trace = !options->no_trace,
        .trace_detail = trace_detail_of(options),
        .model_info = options->model_info,
        .json = options->json,
        .verbose = options->verbose,
        .effects = {.inference = options->inference,
                    .nonlinearity = options->nonlinearity,
                    .z = options->with_z,
                    .weights = options->weight_preprocess,
                    .shapes = options->const_shape,
                    .library = options->c_opr_lib != NULL,
                    .preprocess = options->preprocess,
                    .jit = options->jit,
                    .sharing = options->share_param_mem},
        .batch_size = options->batch_size > 0 ? options->batch_size : 0,
        .fake_first = options->fake_first,
        .frees_graph = options->record_comp_seq2,
        .sanity = sanity_of(options),
        .mem_info_folder = options->static_mem_info,
        .copy_to_host = options->copy_to_host,
        .tools =
            {
                .trace_eval =
                    (enum trace_eval_level)(options->trace_eval > 0 ? options->trace_eval : 0),
                .dump = {.path = options->io_dump,
                         .stream = options->io_dump_stdout   ? stdout
                                   : options->io_dump_stderr ? stderr
                                                             : NULL,
                         .folder = options->bin_io_dump,
                         .out_folder = options->bin_out_dump},
                .range = options->range,
                .check_var_value = options->check_var_value,
                .check_dispatch = options->check_dispatch,
            },
    };
    struct report *reports = calloc(config.thread_count, sizeof(*reports));
    struct diag diag = {0};
    int rc = !reports ? -ENOMEM : parse_inputs(options, &inputs, &diag);

    if (rc == 0)
        rc = run_model(&config, reports, &diag);
    if (rc == 0 && config.json)
        rc = write_document(&config, reports, &diag);
    for (uint32_t i = 0; reports && i < config.thread_count; i++)
        report_deinit(&reports[i]);
    free(reports);
    input_list_deinit(&inputs);
    return rc < 0 ? complain(exit_status(rc), &diag) : EXIT_OK;
}

static int run_print(const struct run_options *options, const char *model)
{
    struct input_list inputs = {0};
    struct print_config config = {
        .path = model,
        .inputs = &inputs,
        .exec = exec_options_of(options),
        .passes = passes_of(options),
        .format = (enum print_format)options->print_graph,
        .stage = options->print_stage < 0 ? PRINT_BOTH : (enum print_stage)options->print_stage,
    };
    struct diag diag = {0};
    int rc = parse_inputs(options, &inputs, &diag);

    if (rc == 0)
        rc = print_graph(&config, stdout, &diag);
    input_list_deinit(&inputs);
    return rc < 0 ? complain(exit_status(rc), &diag) : EXIT_OK;
}

static int run_perf(const struct run_options *options, const char *model)
{
    struct input_list inputs = {0};
    struct perf_config config = {
        .path = model,
        .inputs = &inputs,
        .seed = options->seed > 0 ? (uint64_t)options->seed : 0,
        .exec = exec_options_of(options),
        .passes = passes_of(options),
        .warmup_count = options->warmup_iter >= 0 ? (uint64_t)options->warmup_iter : 1,
        .run_count = options->iter > 0 ? (uint64_t)options->iter : 100,
        .detailed = options->detailed,
        .json = options->json,
    };
    struct diag diag = {0};
    int rc = parse_inputs(options, &inputs, &diag);

    if (rc == 0)
        rc = perf_report(&config, stdout, &diag);
    input_list_deinit(&inputs);
    return rc < 0 ? complain(exit_status(rc), &diag) : EXIT_OK;
}

static int run_check(const struct run_options *options, const char *model)
{
    struct input_list inputs = {0};
    struct check_config config = {
        .path = model,
        .inputs = &inputs,
        .seed = options->seed > 0 ? (uint64_t)options->seed : 0,
        .exec = exec_options_of(options),
        .passes = passes_of(options),
        .rtol = options->rtol,
        .atol = options->atol,
        .rms_tol = options->rms_tol,
        .verbose = options->verbose,
    };
    struct diag diag = {0};
    int rc = parse_inputs(options, &inputs, &diag);

    if (rc == 0)
        rc = check_ops(&config, stdout, &diag);
    input_list_deinit(&inputs);
    if (rc < 0)
        return complain(exit_status(rc), &diag);
    return rc == 1 || options->disable_assert_throw ? EXIT_OK : EXIT_NO;
}

static void warn(const struct diag *diag)
{
    complain(EXIT_OK, diag);
}

static int run_calibrate(const struct run_options *options)
{
    struct diag diag = {0};
    int rc = options->cuda ? calibrate_device(&device_cuda, options->cuda_number, options->json,
                                              stdout, &diag)
                           : calibrate(options->json, stdout, &diag);

    return rc < 0 ? complain(exit_status(rc), &diag) : EXIT_OK;
}

static int run_mode(const struct run_options *options, const char *model)
{
    if (options->calibrate)
        return run_calibrate(options);
    if (options->print_graph >= 0)
        return run_print(options, model);
    if (options->perf_report)
        return run_perf(options, model);
    if (options->verify_against >= 0)
        return run_check(options, model);
    return options->verify ? run_verify(options, model) : run_timing(options, model);
}

/* On standard output as elsewhere, where no document is printed there. */
static int open_library(const struct run_options *options, struct diag *diag)
{
    bool is_document = options->json || options->print_graph >= 0;
    FILE *out = is_document ? stderr : stdout;
    uint32_t extras;
    int rc;

    if (!options->c_opr_lib)
        return 0;
    rc = extern_library_open(
        options->c_opr_lib,
        options->c_opr_init ? options->c_opr_init : EXTERN_LIBRARY_INIT_INTERFACE, &extras, diag);
    if (rc < 0)
        return rc;
    text_print(out, "loaded C opr library: %s\n", options->c_opr_lib);
    for (int i = 0; i < EXTERN_LIBRARY_EXTRAS; i++)
        if (extras & 1u << i)
            text_print(out, "get %s from: %s\n", extern_library_extras[i], options->c_opr_lib);
    return 0;
}

/* Options that the command line decides about are not tried. */
static bool may_try(const void *user, const char *name)
{
    const struct run_options *options = user;
    const struct {
        const char *name;
        bool is_decided;
    } decided[] = {
        {"record-comp-seq", run_options_need_steps(options)},
        {"no-enable-jit", options->jit},
        {"no-enable-fuse-conv-bias-with-z", options->with_z},
        {"no-enable-fuse-conv-bias-nonlinearity", options->nonlinearity},
        {"no-optimize-for-inference", options->inference},
    };

    for (size_t i = 0; i < sizeof(decided) / sizeof(decided[0]); i++) {
        if (strcmp(decided[i].name, name) == 0)
            return !decided[i].is_decided;
    }
    return true;
}

static void take_setup(struct run_options *options, const struct fitting_setup *best)
{
    bool is_inline = best->exec.is_inline && !exec_options_of(options).is_inline;

    if (is_inline && options->multithread >= 0) {
        options->multithread_default = options->multithread;
        options->multithread = -1;
    } else if (is_inline) {
        options->cpu_default = true;
    }
    if (best->exec.is_recorded && !options->record_comp_seq2)
        options->record_comp_seq = options->no_trace = true;
    options->disable_mem_opt = best->exec.is_lavish;
    options->share_param_mem = best->shares;
    options->no_jit = best->passes.no_jit;
    options->no_with_z = best->passes.no_z;
    options->no_nonlinearity = best->passes.no_nonlinearity;
    options->no_inference = best->passes.no_inference;
}

/* Before anything is recorded. */
static int fit(struct run_options *options, const char *model, struct diag *diag)
{
    struct input_list inputs = {0};
    char inline_option[40] = "cpu-default";
    struct fitting_config config = {
        .path = model,
        .inputs = &inputs,
        .seed = options->seed > 0 ? (uint64_t)options->seed : 0,
        .base = {exec_options_of(options), passes_of(options), options->share_param_mem},
        .may_try = may_try,
        .user = options,
        .inline_option = inline_option,
    };
    struct fitting_setup best;
    int rc = parse_inputs(options, &inputs, diag);

    if (options->multithread >= 0)
        snprintf(inline_option, sizeof(inline_option), "multithread-default=%lld",
                 (long long)options->multithread);
    if (rc == 0)
        rc = fitting_run(&config, options->json ? stderr : stdout, &best, diag);
    if (rc == 0)
        take_setup(options, &best);
    input_list_deinit(&inputs);
    return rc;
}

static int open_tuning(struct run_options *options, struct diag *diag)
{
    struct tune_options tune = {
        .run = options->full_run   ? TUNE_FULL
               : options->fast_run ? TUNE_FAST
                                   : TUNE_NOTHING,
        .policy_path = options->algo_policy,
        .reproducible = options->reproducible,
        .batch_equal = options->batch_equal,
        .shared_batch = options->shared_batch > 0 ? options->shared_batch : 0,
        .workspace_limit =
            options->workspace_limit >= 0 ? (uint64_t)options->workspace_limit : UINT64_MAX,
        .is_verbose = options->verbose,
        .shows_progress = isatty(STDERR_FILENO),
        .out = stderr,
    };

    if (options->cuda)
        return options->algo_policy ? device_memory_open(options->algo_policy, options->fast_run,
                                                         &options->choice.memory, diag)
                                    : 0;
    return run_options_choose_kernels(options) ? tuning_create(&tune, &options->tuning, diag) : 0;
}

/* What was chosen becomes a part of a copy of the model. */
static int dump_layouts(const struct run_options *options, const char *model)
{
    struct diag diag = {0};
    int rc;

    if (options->layout_dump && !options->layouts->text && options->layouts->chooser.yields) {
        diag_set(&diag, -EINVAL,
                 "--layout-transform-dump: no layouts were chosen: the model's metadata says them");
        return complain(EXIT_INPUT, &diag);
    }
    if (!options->layout_dump || !options->layouts->text)
        return EXIT_OK;
    rc = onnx_dump(model, options->layout_dump, FORMAT_KEY, options->layouts->text, &diag);
    return rc < 0 ? complain(exit_status(rc), &diag) : EXIT_OK;
}

static void wait_for_debugger(void)
{
    fprintf(stderr, "wait for gdb attach (pid=%d): ", (int)getpid());
    getchar();
}

/* Times of a GPU, for --fast-run or from its policy, are also those of layouts. */
static void set_layouts(struct run_options *options, struct layout_choice *layouts)
{
    const bool is_told = options->layout_transform >= 0;
    const bool is_timed = options->cuda && (options->fast_run || options->algo_policy);

    layouts->is_verbose = options->verbose;
    layouts->on_device = options->cuda ? &options->choice : NULL;
    layouts->wish = options->layout_transform == TRANSFORM_NHWC   ? LAYOUT_NHWC
                    : options->layout_transform == TRANSFORM_NCHW ? LAYOUT_NCHW
                                                                  : LAYOUT_BY_TIME;
    if (!is_told && is_timed) {
        layouts->chooser.yields = true;
        layouts->only_recalls = !options->fast_run;
        layouts->option = options->fast_run ? "--fast-run" : "--fast-run-algo-policy";
    }
    options->layouts = is_told || is_timed ? layouts : NULL;
}

static int run_command(int argc, char **argv)
{
    struct run_options options = run_options_default();
    const char *model = NULL;
    struct diag diag = {0};
    struct layout_choice layouts = {.out = stderr, .lock = PTHREAD_MUTEX_INITIALIZER};
    int count = 0, status;
    int rc = options_parse(&load_and_run_command, argc, argv, &options, &model, &count, &diag);

    if (rc == OPTIONS_SHOWN)
        return EXIT_OK;
    if (rc == OPTIONS_RUN && options.calibrate && count > 0)
        rc = diag_set(&diag, -EINVAL, "--calibrate measures the machine: it takes no model");
    if (rc == OPTIONS_RUN && !options.calibrate && count == 0)
        rc = diag_set(&diag, -EINVAL, "which model? Give the path of an ONNX file");
    if (rc == OPTIONS_RUN)
        rc = run_options_check(&options, &diag);
    if (rc == -EOPNOTSUPP)
        return complain(EXIT_REFUSED, &diag);
    if (rc < 0)
        return options_complain(&load_and_run_command, &diag);
    if (options.wait_gdb)
        wait_for_debugger();
    rc = limits_start(&options.limits, &diag);
    if (rc == 0)
        rc = open_library(&options, &diag);
    if (rc == 0 && options.fitting)
        rc = fit(&options, model, &diag);
    set_layouts(&options, &layouts);
    if (rc == 0)
        rc = open_tuning(&options, &diag);
    if (rc < 0) {
        extern_library_close();
        return complain(exit_status(rc), &diag);
    }
    rc = options.no_trace
             ? 0
             : trace_start(&(struct trace_config){options.trace, options.counters, warn}, &diag);
    if (rc < 0) {
        tuning_destroy(&options.tuning);
        device_memory_close(&options.choice.memory);
        extern_library_close();
        return complain(EXIT_SYSTEM, &diag);
    }
    status = run_mode(&options, model);
    if (trace_is_refused())
        status = EXIT_SYSTEM;
    if (status == EXIT_OK)
        status = dump_layouts(&options, model);
    tuning_destroy(&options.tuning);
    device_memory_close(&options.choice.memory);
    free(layouts.text);
    if (!options.no_trace)
        trace_stop();
    extern_library_close();
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK) {
        diag_set(&diag, -EIO, "cannot write the result: %s", strerror(errno));
        status = complain(EXIT_SYSTEM, &diag);
    }
    return status;
}

int main(int argc, char **argv)
{
    char **expanded = NULL, **words = NULL;
    struct diag diag = {0};
    int count = 0, word_count, status;
    int rc = words_expand(argc, argv, &expanded, &count, &diag);

    if (rc == -EOPNOTSUPP || rc == -EINVAL) {
        status = complain(rc == -EINVAL ? EXIT_USAGE : EXIT_REFUSED, &diag);
    } else if (rc < 0) {
        status = complain(exit_status(rc), &diag);
    } else if (input_join_words(count, expanded, &words, &word_count) < 0) {
        fprintf(stderr, "load_and_run: no memory for the command line\n");
        status = EXIT_SYSTEM;
    } else {
        status = run_command(word_count, words);
        limits_stop();
    }
    input_free_words(&words);
    words_free(&expanded);
    return status;
}
