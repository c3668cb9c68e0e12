/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run: options, wiring, exit status. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit_status.h"
#include "runtime/options.h"
#include "runtime/print_graph.h"
#include "runtime/run.h"
#include "runtime/trace.h"
#include "runtime/verify.h"

static const struct option_spec specs[] = {
#include "runtime/options.def"
};

static const struct option_command command = {
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
        "1  --verify: an output differs\n"
        "2  wrong use of the command line\n"
        "3  a model or an input is missing, damaged, or not supported\n"
        "4  the system failed: no memory, no permission, disk full, no daemon for --trace\n",
    .see_also = "optraced(1), profile_analyze(1)",
    .max_arguments = 1,
    .description =
        "Reads the model, infers shapes, optimises the graph, and runs it. Prints the time of each "
        "run from the first dispatch to the end of all work (e2e) and until all was dispatched "
        "(host), then a summary.\n\n"
        "Each operator, run and piece of memory is recorded to optraced when it listens.",
    .environment = "OPTRACE_SOCKET  path of the daemon's socket\n"
                   "OPTRACE_DISABLE  anything but 0: do not record\n",
};

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
        return EXIT_SYSTEM;
    default:
        return EXIT_INPUT;
    }
}

static int complain(int status, const struct diag *diag)
{
    fprintf(stderr, "%s: %s\n", command.name,
            diag->text[0] != '\0' ? diag->text : "something failed without saying what");
    return status;
}

/* Options that exclude each other: one must not be accepted and then do nothing. */
static int check_options(const struct run_options *options, struct diag *diag)
{
    const struct {
        bool wrong;
        const char *sentence;
    } rules[] = {
        {options->trace && options->no_trace, "--trace and --no-trace exclude each other"},
        {options->profile != NULL && options->profile_host != NULL,
         "--profile and --profile-host exclude each other: --profile has the host's times too"},
        {(options->profile != NULL || options->profile_host != NULL) && options->thread > 1,
         "a profile describes one thread: --profile needs --thread 1"},
        {options->print_graph < 0 && options->print_stage >= 0,
         "--print-stage belongs to --print-graph"},
        {options->print_graph >= 0 &&
             (options->iter >= 0 || options->warmup_iter >= 0 || options->thread >= 0 ||
              options->seed >= 0 || options->profile != NULL || options->profile_host != NULL ||
              options->model_info || options->verbose || options->verify != NULL || options->json ||
              options->trace),
         "--print-graph does not run the model: it goes with --print-stage, --input and "
         "--multithread only"},
        {options->verify == NULL && (options->rtol >= 0 || options->atol >= 0),
         "--rtol and --atol belong to --verify"},
        {options->verify != NULL &&
             (options->iter >= 0 || options->warmup_iter >= 0 || options->thread >= 0 ||
              options->inputs.count > 0 || options->seed >= 0 || options->profile != NULL ||
              options->profile_host != NULL || options->model_info || options->verbose),
         "--verify runs each data set once: it goes with --multithread, --rtol, --atol, --json, "
         "--trace and --no-trace only"},
    };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].wrong)
            return diag_set(diag, -EINVAL, "%s", rules[i].sentence);
    }
    return 0;
}

static int run_verify(const struct run_options *options, const char *model)
{
    struct verify_config config = {
        .model_path = model,
        .folder = options->verify,
        .rtol = options->rtol,
        .atol = options->atol,
        .kernel_threads = options->multithread > 0 ? (uint32_t)options->multithread : 1,
        .trace = !options->no_trace,
        .json = options->json,
    };
    struct diag diag = {0};
    int rc = verify(&config, stdout, &diag);

    if (rc < 0)
        return complain(exit_status(rc), &diag);
    return rc == 1 ? EXIT_OK : EXIT_NO;
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
    json_string(&json, "cpu");
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
        .kernel_threads = options->multithread > 0 ? (uint32_t)options->multithread : 1,
        .warmup_count = options->warmup_iter >= 0 ? (uint64_t)options->warmup_iter : 1,
        .run_count = options->iter >= 0 ? (uint64_t)options->iter : 10,
        .profile_path = options->profile != NULL ? options->profile : options->profile_host,
        .profile_device = options->profile != NULL,
        .trace = !options->no_trace,
        .model_info = options->model_info,
        .json = options->json,
        .verbose = options->verbose,
    };
    struct report *reports = calloc(config.thread_count, sizeof(*reports));
    struct diag diag = {0};
    int rc = reports == NULL ? -ENOMEM : parse_inputs(options, &inputs, &diag);

    if (rc == 0)
        rc = run_model(&config, reports, &diag);
    if (rc == 0 && config.json)
        rc = write_document(&config, reports, &diag);
    for (uint32_t i = 0; reports != NULL && i < config.thread_count; i++)
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
        .kernel_threads = options->multithread > 0 ? (uint32_t)options->multithread : 1,
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

static int run_mode(const struct run_options *options, const char *model)
{
    if (options->print_graph >= 0)
        return run_print(options, model);
    return options->verify != NULL ? run_verify(options, model) : run_timing(options, model);
}

int main(int argc, char **argv)
{
    struct run_options options = {.iter = -1,
                                  .warmup_iter = -1,
                                  .thread = -1,
                                  .multithread = -1,
                                  .cpu = true,
                                  .seed = -1,
                                  .rtol = -1,
                                  .print_graph = -1,
                                  .print_stage = -1,
                                  .atol = -1};
    const char *model = NULL;
    struct diag diag = {0};
    int count = 0;
    int status;
    int rc = options_parse(&command, argc, argv, &options, &model, &count, &diag);

    if (rc == OPTIONS_SHOWN)
        return EXIT_OK;
    if (rc == OPTIONS_RUN && count == 0)
        rc = diag_set(&diag, -EINVAL, "which model? Give the path of an ONNX file");
    if (rc == OPTIONS_RUN)
        rc = check_options(&options, &diag);
    if (rc < 0)
        return options_complain(&command, &diag);
    options.no_trace = options.no_trace || options.print_graph >= 0; /* nothing runs */
    if (!options.no_trace && trace_start(options.trace, &diag) < 0)
        return complain(EXIT_SYSTEM, &diag);
    status = run_mode(&options, model);
    if (!options.no_trace)
        trace_stop();
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK) {
        diag_set(&diag, -EIO, "cannot write the result: %s", strerror(errno));
        status = complain(EXIT_SYSTEM, &diag);
    }
    return status;
}
