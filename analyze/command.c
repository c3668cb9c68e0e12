/* SPDX-License-Identifier: Apache-2.0 */
/* The option table of profile_analyze: parser, --help, man page and completion come from it. */
#include "analyze/command.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/reports/honoured.h"
#include "analyze/reports/report.h"

#define TARGET(field) .target = offsetof(struct analyze_options, field)

static const struct option_spec option_table[] = {
    {OPTION_GROUP, "What to read", .value_name = "reading"},
    {OPTION_STRING, "session", .value_name = "ID", .default_text = "last",
     .help = "Which sessions of a store: a number (see --list), numbers such as 1,4..6, last, all, "
             "or -1 for the last, -2 for the one before it.",
     TARGET(session)},
    {OPTION_STRING, "program", .value_name = "NAME",
     .help = "Only sessions of the program of this name; of them the last, unless --session or "
             "--since choose.",
     TARGET(program)},
    {OPTION_STRING, "since", .value_name = "TIME",
     .help = "Only sessions that started at TIME or later, all of them unless --session chooses: "
             "today, yesterday, 2h or 3d ago, 2026-01-31, 2026-01-31T08:00.",
     TARGET(since)},
    {OPTION_STRING, "runs", .value_name = "A..B",
     .help = "Only these runs, counting from 1, warm-ups among them included; A.., ..B and A work "
             "too. Without it every run counts that ended and is no warm-up.",
     TARGET(runs)},
    {OPTION_STRING, "time", .value_name = "FROM..TO",
     .help = "Only what starts in this window: 1.5s..2s or 200ms.. after the session's start, "
             "-10s.. before its end, @SECONDS since 1970, or 2026-01-31T08:00:00[Z]. Values are "
             "then totals over the window.",
     TARGET(time)},
    {OPTION_FLAG, "lenient",
     .help = "Of a damaged file of another tool, keep what could be read; the note of --list says "
             "where the damage is.",
     TARGET(lenient)},
    {OPTION_STRING, "sample", .value_name = "TIME",
     .help =
         "Of folded stacks, such as py-spy's raw ones, the time that a count of one stands for: "
         "10ms where there were 100 samples a second. Without it times are shown as counts of "
         "samples.",
     TARGET(sample)},
    {OPTION_FLAG, "import",
     .help = "Put the files given into the store of --into instead of reporting on one: a file of "
             "another tool becomes a session, of a store all sessions are copied, but for those "
             "that are there already. So recordings of several hosts come together.",
     TARGET(import)},
    {OPTION_STRING, "into", .value_name = "STORE",
     .help = "With --import: the store, made when missing. A store that a daemon is writing to "
             "cannot be imported into.",
     TARGET(into)},
    {OPTION_FLAG, "progress",
     .help = "Say on standard error how far reading and writing are, from the first second on. "
             "That is done on a terminal anyway, unless --no-progress is given.",
     TARGET(progress), .flags = OPTION_NEGATABLE},
    {OPTION_FLAG, "warmup", .help = "Count warm-up runs too.", TARGET(warmup)},
    {OPTION_FLAG, "total",
     .help = "Show totals over all that is counted, ops outside of runs included. Without it "
             "time, computation and memory are those of one run on average.",
     TARGET(total)},
    {OPTION_FLAG, "exact",
     .help =
         "Read every event. Without it, ops of a whole session of a million events or more come "
         "from its totals: the same numbers, at once, also of events that are not stored any "
         "more, but for the share of the time that operators cover, which the first answer has of "
         "the last runs.",
     TARGET(exact)},

    {OPTION_GROUP, "Which operators", .value_name = "operators"},
#define TARGET_LIST(id)   TARGET(filters[FILTER_##id])
#define TARGET_STRING(id) TARGET(filters[FILTER_##id].items[0])
#define FILTER(id, kind, option, value, text, ...)                                                 \
    {OPTION_##kind, option, .value_name = value, .help = text, TARGET_##kind(id)},
#include "analyze/query/filters.def"
#undef FILTER
    {OPTION_FLOAT, "min-time", .value_name = "SECONDS", .default_text = "-inf",
     .help = "Only lines that take at least this long; where lines are not about times (advice, "
             "memory, overview, ranks), only operators that do.",
     TARGET(min_time_s)},
    {OPTION_FLOAT, "max-time", .value_name = "SECONDS", .default_text = "inf",
     .help = "Only what takes at most this long, likewise.", TARGET(max_time_s)},

    {OPTION_GROUP, "Lines of the table", .value_name = "lines"},
    {OPTION_INT, "top", 't', "N", "3 of ops, else as many as the report thinks right",
     "Lines to show; 0 shows all, a negative number drops that many from the end.", TARGET(top)},
    {OPTION_STRING, "order-by", .value_name = "[+]COLUMN", .default_text = "time",
     .help = "Sort by this column, the largest first, or the smallest first with a +; lines "
             "without a value come last. The columns of each report are listed below.",
     TARGET(order_by)},
    {OPTION_STRING, "group-by", .value_name = "WHAT", .default_text = "name",
     .help =
         "Of averages: name; shape, and the shapes of the inputs; stack:N, and the N nearest "
         "frames of the call stack; shape,stack:N, both; module, lines of modules alone. Of kernels: name, or launch, and grid "
         "and block sizes. Of ops: name, or params, and kernels are a line for each set of launch "
         "parameters. Of "
         "memory: name, type, label, shape, or category, which is what the program itself calls "
         "it (weights), else how long it lives. Of sequences: type, which is their default, or "
         "name.",
     TARGET(group_by)},
    {OPTION_STRING, "sort-by", .value_name = "KEY",
     .help = "Of averages: --order-by in PyTorch's words, such as self_cpu_time_total.",
     TARGET(sort_by)},
    {OPTION_INT, "row-limit", .value_name = "N",
     .help = "Of averages: --top in PyTorch's words; -1 shows all.", TARGET(row_limit)},
    {OPTION_CHOICE, "top-end-key", .value_name = "KEY", .default_text = "end",
     .help = "Which time of an operator to show: end, from its start to its end without nested "
             "operators; kern, from its start to its first kernel, which is waiting and "
             "preparation; exec, from its first kernel to its end. Percentages are of the total "
             "of end in each case.",
     TARGET(top_end_key), .choices = "end|kern|exec"},
    {OPTION_CHOICE, "aggregate", .value_name = "HOW",
     .help = "Make one line of all operators: time, computation and memory become their max, min, "
             "sum or mean, over those that have a value; FLOP/s and bandwidth follow from these.",
     TARGET(aggregate), .choices = "max|min|sum|mean"},
    {OPTION_CHOICE, "aggregate-by", .value_name = "WHAT",
     .help = "With --aggregate: one line for each type.", TARGET(aggregate_by), .choices = "type"},

    {OPTION_GROUP, "What to show", .value_name = "showing"},
    {OPTION_STRING, "report", .value_name = "NAME",
     .default_text = "brief; ops where an option is about it, page with --format html",
     .help = "Which report; they are listed below.", TARGET(report), .choices = "reports"},
    {OPTION_FLAG, "show-host", .help = "Show the table of host times after that of the device.",
     TARGET(show_host)},
    {OPTION_CHOICE, "print-only", .value_name = "PART", .help = "Show this part only.",
     TARGET(print_only), .choices = "summary|device|host"},
    {OPTION_FLAG, "copy-time",
     .help = "Add total and mean time of the operators of type Copy to the summary, and how long "
             "they waited.",
     TARGET(copy_time)},
    {OPTION_INT, "batch", .value_name = "N", .default_text = "that of the model's input",
     .help = "Of --report summary: inputs that one run takes together, for the rate.",
     TARGET(batch)},
    {OPTION_FLAG, "detailed",
     .help =
         "Of --report summary: operators of a type whose shapes differ are lines of their own in "
         "the sums by type.",
     TARGET(detailed)},
    {OPTION_CHOICE, "detail", .value_name = "LEVEL", .default_text = "default",
     .help = "Of --report events, as Paddle's tracer_option: default shows types of operators, "
             "labels and copies; op phases and kernels, too; all single operators, calls of a "
             "runtime and functions of Python, too.",
     TARGET(detail), .choices = "default|op|all"},
    {OPTION_FLAG, "per-thread", .help = "Of --report events: each thread for itself.",
     TARGET(per_thread)},
    {OPTION_CHOICE, "sorted-by", .value_name = "KEY", .default_text = "total",
     .help =
         "Of --report events, as Paddle's sorted_key: the largest first, with min the smallest; "
         "default is the order in which events first ended.",
     TARGET(sorted_by), .choices = "default|calls|total|max|min|ave"},
    {OPTION_CHOICE, "state", .value_name = "STATE", .default_text = "that with more time",
     .help = "Of --report events, as Paddle's state: which time total, min, max and average are "
             "of: cpu, host time; gpu, time of the device work launched in it; all, both added.",
     TARGET(state), .choices = "cpu|gpu|all"},
    {OPTION_LIST, "what-if", .value_name = "REGEX=FACTOR",
     .help = "Of --report critical: how long the run would take if operators whose name matches "
             "from its first character on, and what runs or is launched in them, were so many "
             "times as fast: conv.*=2 halves their time, inf takes it away; may be given again, "
             "the first that matches counts.",
     TARGET(what_if)},
    {OPTION_FLAG, "dump-only-opr",
     .help = "Instead of the table, print name, type and id of each operator on a line.",
     TARGET(dump_only_opr)},
    {OPTION_FLAG, "explain",
     .help = "After the report, print the SQL on the store's tables and views that gives the same "
             "numbers, with the names of the report's columns, for all lines, whatever --top and "
             "--order-by are; a comment before it says what SQL cannot tell.",
     TARGET(explain)},
    {OPTION_FLAG, "strict",
     .help =
         "Exit with status 1 when anything is missing in what is shown: events that were lost, "
         "spans that never ended, damage. Events that were dropped to keep the store within its "
         "bounds are named, and are no reason.",
     TARGET(strict)},
    {OPTION_FLAG, "list", .help = "List the sessions of the store.", TARGET(list)},
    {OPTION_STRING, "sql", .value_name = "QUERY",
     .help =
         "Run a query that only reads, on the tables and views of schema/store/store.md, whatever "
         "the source is.",
     TARGET(sql)},

    {OPTION_GROUP, "Comparing", .value_name = "comparing"},
    {OPTION_STRING, "compare", .value_name = "BASE",
     .help = "Compare with this recording instead: a file, a file and its sessions (a.db:3, "
             "a.db:all, run.json), or sessions of the store that is read (3). Exit status 1 when "
             "something got slower. A verdict takes 5 sessions a side, or fewer with earlier ones "
             "like them in the store.",
     TARGET(compare)},
    {OPTION_FLAG, "history",
     .help = "All sessions of a model in the order of time, and in which of them an operator "
             "changed; of the model of the last session, unless --model names one.",
     TARGET(history)},
    {OPTION_STRING, "model", .value_name = "NAME",
     .help = "With --history: a model's name or digest.", TARGET(model)},
    {OPTION_FLOAT, "threshold", .value_name = "PERCENT", .default_text = "3",
     .help = "With --compare and --history: a change of the median counts from here on.", .min = 0,
     .max = 1e6, TARGET(threshold_percent)},
    {OPTION_FLOAT, "alpha", .value_name = "P", .default_text = "0.01, with --history 0.05",
     .help = "With --compare and --history: how often what does not differ may be told apart, all "
             "operators together.",
     .min = 0, .max = 1, TARGET(alpha)},

    {OPTION_GROUP, "For other programs", .value_name = "programs"},
    {OPTION_STRING, "export", .value_name = "NAME",
     .help = "Instead of a report, write what is selected for another program, one by one and not "
             "summed up: everything of the session, warm-ups too, unless --runs or --time choose. "
             "The formats are listed below. It goes to standard output or to the file of -o, which "
             "appears only when it is whole, compressed when its name ends in .gz.",
     TARGET(export), .choices = "exports"},
    {OPTION_CHOICE, "weight", .value_name = "WHAT",
     .help = "What one execution weighs in an export of stacks: time, its own on a host thread; "
             "device, its time on a device; calls; bytes, read and written or copied; alloc, "
             "memory taken.",
     TARGET(weight), .choices = "time|device|calls|bytes|alloc"},
    {OPTION_STRING, "append", .value_name = "FILE",
     .help = "Of --export chrome: add to this trace, which was begun so too or is made now.",
     TARGET(append)},

    {OPTION_FLOAT, "peak-flops", .value_name = "FLOP/S",
     .help = "Of roofline: operations per second that the machine can do, such as 2.5e11, in place "
             "of what load_and_run --calibrate recorded.",
     TARGET(peak_flops), .min = 1, .max = 1e30},
    {OPTION_FLOAT, "peak-bandwidth", .value_name = "BYTES/S",
     .help = "Of roofline: bytes per second that it can read.", TARGET(peak_bandwidth), .min = 1,
     .max = 1e30},

    {OPTION_GROUP, "How to show it", .value_name = "formats"},
    {OPTION_CHOICE, "format", .value_name = "FORMAT", .default_text = "table",
     .help = "table for people; markdown for people who write to others; html "
             "for a browser, in one file that needs no network; json and csv for "
             "programs, with unrounded numbers whose unit stands in the name.",
     TARGET(format), .choices = "table|json|csv|markdown|html"},
    {OPTION_FLAG, "confluence", .help = "Write tables as Confluence and Jira read them.",
     TARGET(wiki)},
    {OPTION_FLAG, "wiki", .help = "The same as --confluence.", TARGET(wiki)},
    {OPTION_FLAG, "ascii", .help = "Draw tables without box-drawing characters.", TARGET(ascii)},
    {OPTION_FLAG, "notes",
     .help = "Show all notes below the tables; without it those that matter most, on three lines.",
     TARGET(notes)},
    {OPTION_INT, "width", .value_name = "N", .default_text = "that of the terminal",
     .help =
         "Columns that tables should fit in: long names lose what they have in common, and columns "
         "that matter less go, as far as that takes. 0 leaves all, as where the output is no "
         "terminal.",
     TARGET(width), .min = 0, .max = 100000},
    {OPTION_CHOICE, "color", .value_name = "WHEN", .default_text = "auto",
     .help = "Colour: auto uses it on a terminal unless NO_COLOR is set.", TARGET(color),
     .choices = "auto|always|never"},
    {OPTION_STRING, "output", 'o', "FILE", NULL,
     "Write the report to FILE, packed where its name ends in .gz. What is read is never "
     "written to, and a store that is there only with --force.",
     TARGET(output)},
    {OPTION_FLAG, "force", .help = "Let --output replace a store, by anything but --export sqlite.",
     TARGET(force)},
};

static const struct option_topic topics[] = {
    {"Reports (--report NAME)", report_print_kinds, "reports"},
    {"Columns of reports, to order by; the unit stands in the name", report_print_columns,
     "columns"},
    {"Exports (--export NAME)", export_print_kinds, "exports"},
    {"Sources, detected by their content", source_print_formats, "sources"},
};

static const char first_help[] =
    "profile_analyze: say where the time and the memory of a model went\n"
    "\n"
    "Usage: profile_analyze [OPTION...] [FILE]\n"
    "\n"
    "FILE is a store of optraced (a.db, or a.db:3 for its session 3) or a profile of\n"
    "PyTorch, ONNX Runtime, Nsight Systems, MegEngine or others. Without it the\n"
    "default store is read.\n"
    "\n"
    "Ask:\n"
    "  profile_analyze                      what ran last, where time and memory went\n"
    "  profile_analyze --list               which sessions there are\n"
    "  profile_analyze --report ops -t 10   the ten dearest operators\n"
    "  profile_analyze --report runs        which runs were slow, and why\n"
    "  profile_analyze --report memory      who holds the memory\n"
    "  profile_analyze --report advice      what to do\n"
    "  profile_analyze --compare OLD NEW    what got slower, and how sure that is\n"
    "  profile_analyze --format html -o out/html/page.html     a page with charts\n"
    "  profile_analyze --export chrome -o t.json.gz   for Perfetto\n"
    "\n"
    "Choose what it is about:\n"
    "  --session ID                         3, 1,4..6, -1, last, all\n"
    "  --program NAME, --since TIME         sessions of a program, since yesterday\n"
    "  --runs A..B, --time FROM..TO         parts of a session\n"
    "  --type TYPE, --opr-name REGEX        operators\n"
    "\n"
    "Choose how it is shown:\n"
    "  -t N, --order-by COLUMN              how many lines, and which first\n"
    "  --notes                              all that there is to say below a table\n"
    "  --format table|json|csv|markdown|html, -o FILE\n"
    "\n"
    "More:\n"
    "  --help reports                       all reports; --help NAME: one of them\n"
    "  --help options                       all options; --help OPTION: one of them\n"
    "  --help columns, exports, sources     to order by, to write, to read\n"
    "  man profile_analyze                  all of it\n";

const struct option_command analyze_command = {
    .name = "profile_analyze",
    .version = OPTRACE_VERSION,
    .purpose = "say where the time and the memory of a model went, from what optraced recorded or "
               "from a profile of another tool",
    .arguments = "[FILE]...",
    .options = option_table,
    .option_count = sizeof(option_table) / sizeof(option_table[0]),
    .examples = "profile_analyze\n"
                "    what ran last, how long it took, where the time and the memory went\n"
                "profile_analyze -t 3\n"
                "    the three operators of the last session that took most device time\n"
                "profile_analyze -t 5 --aggregate-by type --aggregate sum\n"
                "    the five types that took most time\n"
                "profile_analyze -t 3 --order-by memory\n"
                "    the three operators that move most bytes; +memory: fewest\n"
                "profile_analyze profile.json --opr-name \"conv.*\" --min-time 1e-4 -t 0\n"
                "    all operators of a MegEngine profile called conv... of 0.1 ms or more\n"
                "profile_analyze --compare base.db new.db\n"
                "    what got slower, by how much and how sure; status 1 when anything did\n"
                "profile_analyze --export chrome -o trace.json.gz\n"
                "    the last session for Perfetto and chrome://tracing\n"
                "profile_analyze --sql 'SELECT type, count(*) FROM op GROUP BY type'\n"
                "    any question in SQL\n",
    .exit_text = "0  the report was written\n"
                 "1  nothing matches: no session, no operator; with --compare, something got "
                 "slower; with --strict, something is missing in the report\n"
                 "2  wrong use of the command line\n"
                 "3  the source is missing, damaged, of another format or too new\n"
                 "4  the system failed: no permission, no memory, disk full\n",
    .see_also = "optraced(1), load_and_run(1), optrace(1)",
    .first_help = first_help,
    .help_on = report_print_help,
    .topics = topics,
    .topic_count = sizeof(topics) / sizeof(topics[0]),
    .max_arguments = ANALYZE_FILES_MAX,
    .description =
        "FILE is a store that optraced keeps, the JSON that MegEngine's load_and_run --profile "
        "writes, or a Chrome trace such as PyTorch's, compressed by gzip or not; it is detected "
        "by its content. Without FILE the default store is read. FILE may name sessions of it: "
        "store.db:3, store.db:1,4..6, store.db:all; 3 alone is session 3 of the default store.\n"
        "\n"
        "An operator's time is the mean of one run over all counted runs: all its calls together, "
        "divided by the number of runs. Warm-up runs are left out. On the host, the time of "
        "operators nested inside is left out, so that the lines add up to the total; FLOP/s and "
        "bandwidth of what a device computes stand in the device table only. Sources "
        "without runs, --time, --total and --session all show totals instead; the notes under a "
        "report say which. Host and device times are never added together.\n"
        "\n"
        "profile_analyze --help NAME shows a page on each report: what it answers, an example, its "
        "columns, its options, and what it is as JSON.\n"
        "\n"
        "Each report ends with what it does not show: events that were lost, spans that never "
        "ended, and how much of the wall time operators cover.",
    .environment = "COLUMNS  width of the terminal, in place of what it says itself\n"
                   "OPTRACE_STORE  the store to read when no FILE is given\n"
                   "XDG_STATE_HOME  directory of the default store, optrace/optrace.db\n"
                   "NO_COLOR  when not empty, --color auto uses none\n",
};

/* What is given beside an import, which reports nothing. */
static int check_import(const struct analyze_options *options, int file_count, struct diag *diag)
{
    static const struct report_kind nothing = {.subject = REPORT_OF_STORE};
    const char *useless = analyze_options_useless(options, &nothing), *modes[ANALYZE_MODES_MAX];

    if (analyze_options_modes(options, modes))
        useless = modes[0];
    if (useless)
        return diag_set(diag, -EINVAL, "--%s has no effect on --import", useless);
    if (!options->into || !file_count)
        return diag_set(diag, -EINVAL, "--import needs %s",
                        file_count ? "--into STORE" : "files to import");
    return 0;
}

static int check_report(const struct analyze_options *options, struct diag *diag)
{
    const char *useless, *modes[ANALYZE_MODES_MAX];
    const struct report_kind *kind;

    if (analyze_options_modes(options, modes) > 1)
        return diag_set(diag, -EINVAL, "--%s has no effect on --%s", modes[0], modes[1]);
    kind = report_kind_of(options, diag);
    if (!kind)
        return -EINVAL;
    useless = analyze_options_useless(options, kind);
    if (useless)
        return diag_set(diag, -EINVAL, "--%s has no effect on --%s%s", useless,
                        kind->mode ? kind->mode : "report ", kind->mode ? "" : kind->name);
    if (options->export)
        return export_check_options(options, diag);
    useless = options->explain ? report_explain_refused(options, kind) : NULL;
    if (useless)
        return diag_set(diag, -EINVAL, "--%s has no effect on --explain of %s%s: give it without",
                        useless, kind->mode ? "--" : "report ",
                        kind->mode ? kind->mode : kind->name);
    if (options->sort_by && options->order_by)
        return diag_set(diag, -EINVAL, "--sort-by and --order-by mean the same: give one");
    if (options->row_limit != TOP_OF_REPORT && options->top != TOP_OF_REPORT)
        return diag_set(diag, -EINVAL, "--row-limit and --top mean the same: give one");
    if (options->row_limit != TOP_OF_REPORT && (options->row_limit < -1 || !options->row_limit))
        return diag_set(diag, -EINVAL, "--row-limit is a number of rows, or -1 for all");
    if (kind->lines.columns && (options->order_by || options->sort_by))
        return lines_check_order(kind->lines.columns, kind->lines.column_count,
                                 options->order_by ? options->order_by : options->sort_by, diag);
    return 0;
}

int analyze_options_check(const struct analyze_options *options, const char *const *files,
                          int file_count, struct diag *diag)
{
    int rc =
        options->import ? check_import(options, file_count, diag) : check_report(options, diag);

    if (rc < 0)
        return rc;
    if (options->force && !options->output)
        return diag_set(diag, -EINVAL, "--force goes with --output FILE");
    if (options->into && !options->import)
        return diag_set(diag, -EINVAL, "--into has no effect without --import");
    if (file_count > 1 && !options->import)
        return diag_set(diag, -EINVAL, "unexpected argument '%s'", files[1]);
    if (options->wiki && options->format != 0)
        return diag_set(diag, -EINVAL, "--wiki is a format of its own: leave out --format");
    if (options->notes && (options->wiki || options->format != OUT_FORMAT_TABLE))
        return diag_set(diag, -EINVAL,
                        "--notes is about tables on the screen: other formats have "
                        "all notes");
    if (options->width >= 0 && (options->wiki || options->format != OUT_FORMAT_TABLE))
        return diag_set(diag, -EINVAL,
                        "--width is about tables on the screen: it has no effect on "
                        "other formats");
    if (options->sorted_by != CHOICE_NONE && options->order_by)
        return diag_set(diag, -EINVAL, "--sorted-by and --order-by say the same: give one");
    if (options->batch != BATCH_OF_MODEL && options->batch < 1)
        return diag_set(diag, -EINVAL, "--batch takes a number of 1 or more");
    if (options->aggregate_by != CHOICE_NONE && options->aggregate == CHOICE_NONE)
        return diag_set(diag, -EINVAL, "--aggregate-by needs --aggregate max, min, sum or mean");
    return 0;
}
