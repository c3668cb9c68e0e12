/* SPDX-License-Identifier: Apache-2.0 */
/* optrace run: record a program, with the daemon that listens or one of its own. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/desk.h"
#include "client/cli/private_daemon.h"
#include "client/cli/program_kind.h"
#include "client/cli/run_program.h"
#include "client/cli/run_settings.h"
#include "client/cli/run_summary.h"

struct run_options {
    const char *output, *store;
    struct run_wishes wishes;
    int gpu; /* 0: the host alone */
    bool force, quiet, print_env;
};

#define TARGET(field) offsetof(struct run_options, field)

static const char *const gpu_levels[] = {"host", "graph", "node", "memory", "all"};

static const struct option_spec specs[] = {
    {OPTION_STRING, "output", 'o', "FILE", NULL, "Record into this file by a daemon of its own.",
     TARGET(output)},
    {OPTION_FLAG, "force", 'f', NULL, NULL, "Replace a store that is there.", TARGET(force)},
    {OPTION_STRING, "store", 0, "FILE", NULL,
     "Add to this file. Without either: the daemon that listens, else one of its own, into the default "
     "store.",
     TARGET(store)},
    {OPTION_STRING, "sources", 0, "LIST", "all",
     "What to record by besides liboptrace: nvtx, itt, blas, cublas, onednn, cudnn, ort (ONNX "
     "Runtime), ggml (llama.cpp), torch, tensorflow, ctranslate2, cuda (see --gpu).",
     TARGET(wishes.sources)},
    {OPTION_STRING, "nodes", 0, "WHICH", "1/20",
     "Of which runs to record the nodes, too (ctranslate2, ggml, ort, tensorflow): off, all, or 1/N, "
     "the first and each N-th.",
     TARGET(wishes.nodes)},
    {OPTION_STRING, "max-cost", 0, "PERCENT", "2%",
     "What nodes may take of the time of all runs. With --nodes: no limit unless given.",
     TARGET(wishes.max_cost)},
    {OPTION_CHOICE, "gpu", 0, "LEVEL", "host",
     "CUDA, by CUPTI: graph (kernels, copies; a CUDA graph as one span), node (kernels of "
     "graphs), memory (too), all (and each call).",
     TARGET(gpu), "host|graph|node|memory|all"},
    {OPTION_FLAG, "inductor-kernels", 0, NULL, NULL,
     "Have torch.compile's CPU kernels tell their names.", TARGET(wishes.inductor_kernels)},
    {OPTION_STRING, "label", 0, "TEXT", NULL, "A name for its sessions, for --program of reports.",
     TARGET(wishes.label)},
    {OPTION_STRING, "runs-by", 0, "REGEX", NULL,
     "An op or label whose name matches begins a run, where its thread is in none.",
     TARGET(wishes.runs_by)},
    {OPTION_FLAG, "print-env", 0, NULL, NULL, "Run nothing; print the variables to record with.",
     TARGET(print_env)},
    {OPTION_FLAG, "quiet", 'q', NULL, NULL, "Print nothing when CMD has ended.", TARGET(quiet)},
};

const struct option_command run_command = {
    .name = "optrace run",
    .version = OPTRACE_VERSION,
    .purpose = "record a program",
    .arguments = "[--] CMD [ARGUMENT...]",
    .options = specs,
    .option_count = sizeof(specs) / sizeof(specs[0]),
    .examples = "optrace run -- python3 serve.py\n"
                "    record it, with the daemon that listens or one of its own\n"
                "optrace run -o a.db -- ./infer model.onnx\n"
                "    into a file; see it with profile_analyze a.db\n"
                "optrace run --print-env > recorded.env\n"
                "    for `docker run --env-file`, for EnvironmentFile= of a unit\n",
    .exit_text = "*    that of CMD; killed by a signal when CMD was\n"
                 "2    wrong use of the command line\n"
                 "3    FILE is not a store\n"
                 "4    no daemon can be started, FILE cannot be written or is there already\n"
                 "126  CMD cannot be run\n"
                 "127  CMD is not there\n",
    .description =
        "CMD has the streams, the terminal and the process group of this command. Signals that "
        "others send to it are passed on, but for SIGSTOP, which stops this command alone: stop "
        "the process group. When CMD has ended, at most four lines on standard error say what was "
        "recorded, what was lost, what recording took and how to look at it.\n\n"
        "Programs of CMD that go on when it has ended are recorded on; the daemon ends after the "
        "last of them.",
    .environment =
        "OPTRACE_SOCKET, OPTRACE_SOURCES, OPTRACE_NODES, OPTRACE_MAX_COST, OPTRACE_GPU, "
        "OPTRACE_RUNS_BY, OPTRACE_LABEL  set for CMD\n"
        "LD_PRELOAD  our library is added for CMD, behind what is there\n"
        "NVTX_INJECTION64_PATH, INTEL_LIBITTNOTIFY64, CUDA_INJECTION64_PATH (with --gpu)  "
        "set for CMD, unless they are: "
        "then another tool records by that way, and a line says so\n"
        "CUBLAS_NVTX_LEVEL, CUBLASLT_NVTX_LEVEL, CUDNN_NVTX_LEVEL, CUSPARSE_NVTX_LEVEL, "
        "CUSOLVERDN_NVTX_LEVEL  set for CMD, unless they are, so that these libraries name their "
        "calls; 0: they do not\n"
        "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE  set for CMD with --inductor-kernels, unless it is: "
        "then a line says so\n",
    .see_also = "profile_analyze(1), optraced(1)",
    .max_arguments = INT_MAX,
    .stop_at_argument = true,
};

/* Who records. */
struct recorder {
    bool is_private;
    struct private_daemon daemon;
    char socket[OT_LINK_PATH_BYTES];
    char store[PATH_MAX];
};

/* The daemon that listens, if it can be spoken to. */
static bool find_listening(struct recorder *recorder)
{
    struct desk_picture picture = {0};
    struct diag diag = {0};
    struct desk desk;
    bool is_there;

    if (desk_open(&desk, NULL, &diag) < 0)
        return false;
    is_there = desk_ask(&desk, &picture, &diag) == 0;
    if (is_there) {
        snprintf(recorder->socket, sizeof(recorder->socket), "%s", desk.path);
        snprintf(recorder->store, sizeof(recorder->store), "%s", picture.store_path);
    }
    desk_picture_deinit(&picture);
    desk_close(&desk);
    return is_there;
}

static int choose_recorder(const struct run_options *options, struct recorder *recorder,
                           struct diag *diag)
{
    int rc = 0;

    *recorder = (struct recorder){.is_private = true};
    if (!options->output && !options->store && find_listening(recorder)) {
        recorder->is_private = false;
        return 0;
    }
    if (options->output)
        rc = private_daemon_clear(options->output, options->force, diag);
    if (rc == 0)
        rc = private_daemon_start(&recorder->daemon,
                                  options->output ? options->output : options->store, diag);
    if (rc < 0)
        return rc;
    snprintf(recorder->socket, sizeof(recorder->socket), "%s", recorder->daemon.socket);
    snprintf(recorder->store, sizeof(recorder->store), "%s", recorder->daemon.store);
    return 0;
}

/* Says what there is to say; a program's exit status is its own whatever that is. */
static void end_recording(const struct run_options *options, struct recorder *recorder,
                          struct run_summary *summary)
{
    const char *named = options->output ? options->output : options->store;
    struct diag diag = {0};

    if (!recorder->is_private) {
        if (!options->quiet)
            text_print(stderr,
                       "optrace: recorded by the daemon that listens on %s, in %s\n"
                       "optrace: see it with: profile_analyze %s\n",
                       recorder->socket, recorder->store, recorder->store);
        return;
    }
    summary->store = named ? named : recorder->store;
    summary->is_default = !named;
    if (private_daemon_end(&recorder->daemon, &summary->left_count, &diag) < 0)
        text_print(stderr, "optrace: not all was recorded: %s\n", diag.text);
    else if (!options->quiet)
        run_summary_print(summary);
}

static int run_recorded(const struct run_options *options, char **argv, const char *path,
                        struct recorder *recorder, const struct run_settings *settings)
{
    struct run_summary summary = {.taken = settings->taken,
                                  .program = argv[0],
                                  .path = path,
                                  .label = options->wishes.label,
                                  .sources = options->wishes.sources,
                                  .has_gpu = options->wishes.gpu != NULL,
                                  .closed = program_kind_closed(path),
                                  .since_ns = ot_clock_ns(CLOCK_REALTIME)};
    struct run_program program;
    struct diag diag = {0};
    unsigned left_count;
    int status, rc;

    rc = run_program_start(&program, argv, (const char *const *)settings->items, &diag);
    if (rc != 0) {
        text_print(stderr, "optrace run: %s\n", diag.text);
        if (recorder->is_private)
            private_daemon_end(&recorder->daemon, &left_count, &diag);
        return rc < 0 ? EXIT_SYSTEM : rc;
    }
    status = run_program_wait(&program);
    end_recording(options, recorder, &summary);
    fflush(NULL);
    return run_program_end_like(&program, status);
}

static int fail(int rc, struct diag *diag)
{
    commands_fail(&run_command, rc, diag);
    return rc == -EEXIST || rc == -EINVAL ? EXIT_INPUT : EXIT_SYSTEM;
}

static int run(const struct run_options *options, char **argv)
{
    struct run_settings settings = {{NULL}, NULL};
    struct recorder recorder;
    struct diag diag = {0};
    char path[PATH_MAX];
    int rc;

    rc = run_program_find(argv[0], path, &diag); /* before a file is replaced for nothing */
    if (rc > 0) {
        text_print(stderr, "optrace run: %s\n", diag.text);
        return rc;
    }
    rc = run_settings_fill(&options->wishes, NULL, &settings, &diag); /* the same */
    run_settings_deinit(&settings);
    if (rc == -EINVAL)
        return options_complain(&run_command, &diag);
    if (rc == 0)
        rc = choose_recorder(options, &recorder, &diag);
    if (rc < 0)
        return fail(rc, &diag);
    rc = run_settings_fill(&options->wishes, recorder.socket, &settings, &diag);
    rc = rc < 0 ? fail(rc, &diag) : run_recorded(options, argv, path, &recorder, &settings);
    run_settings_deinit(&settings);
    return rc;
}

/* With the socket of the daemon that listens; a private one there is for running only. */
static int print_settings(const struct run_options *options)
{
    struct recorder recorder = {.is_private = true};
    struct run_settings settings;
    struct diag diag = {0};
    int rc;

    rc = run_settings_fill(&options->wishes, find_listening(&recorder) ? recorder.socket : NULL,
                           &settings, &diag);
    if (rc == 0)
        run_settings_print(&settings);
    if (rc == 0 && settings.taken)
        text_print(stderr, "optrace run: left as it is: %s\n", settings.taken);
    run_settings_deinit(&settings);
    if (rc == -EINVAL)
        return options_complain(&run_command, &diag);
    return rc < 0 ? fail(rc, &diag) : EXIT_OK;
}

int run_main(int argc, char **argv)
{
    struct run_options options = {0};
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    struct diag diag = {0};
    int word_count = 0, rc;

    if (!words) {
        fputs("optrace run: out of memory\n", stderr);
        return EXIT_SYSTEM;
    }
    rc = options_parse(&run_command, argc, argv, &options, words, &word_count, &diag);
    free(words);
    if (rc == OPTIONS_SHOWN)
        return EXIT_OK;
    if (rc == 0 && word_count == 0 && !options.print_env)
        rc = diag_set(&diag, -EINVAL, "name the program to record, as in: optrace run -- CMD");
    if (rc == 0 && options.output && options.store)
        rc = diag_set(&diag, -EINVAL,
                      "--output is a file of its own, --store one to add to: "
                      "give one of them");
    if (rc == 0 && options.force && !options.output)
        rc = diag_set(&diag, -EINVAL, "--force replaces the file of --output");
    if (rc == 0 && options.print_env && (word_count || options.output || options.store))
        rc = diag_set(&diag, -EINVAL, "--print-env runs nothing and records into no file");
    if (rc < 0)
        return options_complain(&run_command, &diag);
    if (options.wishes.sources && strcmp(options.wishes.sources, "all") == 0)
        options.wishes.sources = NULL;
    options.wishes.gpu = options.gpu ? gpu_levels[options.gpu] : NULL;
    if (options.print_env)
        return print_settings(&options);
    return run(&options, argv + argc - word_count);
}
