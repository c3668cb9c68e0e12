/* SPDX-License-Identifier: Apache-2.0 */
/* What options on memory and on the order of work have done. */
#include "runtime/modes/tell.h"

#include <inttypes.h>
#include <malloc.h>

#include "base/amount.h"
#include "base/text.h"

void run_tell_sharing(const struct graph *graph)
{
    uint32_t count = 0, all = 0;
    uint64_t bytes = 0, all_bytes = 0;
    char text[AMOUNT_BYTES], all_text[AMOUNT_BYTES];

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];
        uint64_t size = value->data ? (uint64_t)shape_bytes(&value->shape, value->dtype) : 0;

        all += value->data != NULL;
        all_bytes += size;
        count += value->is_shared;
        bytes += value->is_shared ? size : 0;
    }
    text_print(
        stderr,
        "load_and_run: --share-param-mem: %u of %u parameters, %s of %s, stay in the model's "
        "files\n",
        count, all, amount_format_bytes(text, sizeof(text), (double)bytes),
        amount_format_bytes(all_text, sizeof(all_text), (double)all_bytes));
}

void run_tell_recorded(const struct exec *exec, bool frees_graph, bool is_stepwise)
{
    text_print(stderr, "load_and_run: --%s: %u operators are handed over %s\n",
               frees_graph ? "record-comp-seq2" : "record-comp-seq", exec_step_count(exec),
               is_stepwise ? "one by one, as dumps look at each" : "as one");
}

void run_tell_sanity(enum sanity_choice choice, const struct sanity_result *result)
{
    char bytes[AMOUNT_BYTES], time[AMOUNT_BYTES];

    text_print(stderr,
               "load_and_run: %s: none of %" PRIu64 " tensors was changed before it was read, "
               "%s looked at in %s\n",
               choice == SANITY_ON ? "--sanity-check" : "sanity check", result->tensors,
               amount_format_bytes(bytes, sizeof(bytes), (double)result->bytes),
               amount_format_duration(time, sizeof(time), (double)result->time_ns));
}

void run_free_graph(struct session *session, bool is_told)
{
    size_t bytes = exec_release_graph(session->exec, session->graph);
    char text[AMOUNT_BYTES];

    malloc_trim(0);
    if (is_told)
        text_print(stderr, "load_and_run: --record-comp-seq2: %s of the graph are freed\n",
                   amount_format_bytes(text, sizeof(text), (double)bytes));
}

/* "12 of 14 products by cuBLASLt 13.2", and why not more. */
static void tell_library(const struct exec_library_facts *facts, const char *library,
                         const char *what)
{
    if (facts->steps.count == 0)
        return;
    if (!facts->name) {
        if (facts->problem)
            text_print(stderr,
                       "load_and_run: --cuda: %s is not used: %s; own kernels compute %u %s%s\n",
                       library, facts->problem, facts->steps.count, what,
                       facts->steps.count == 1 ? "" : "s");
        return;
    }
    text_print(stderr, "load_and_run: --cuda: %u of %u %ss by %s", facts->steps.by_library,
               facts->steps.count, what, facts->name);
    if (facts->timed > 0)
        text_print(stderr, ", chosen among %u ways that were timed", facts->timed);
    if (facts->recalled > 0)
        text_print(stderr, ", %u of them as the policy says", facts->recalled);
    text_print(stderr, "%s%s\n", facts->problem ? "; for others " : "",
               facts->problem ? facts->problem : "");
}

void run_tell_times(const struct exec *exec)
{
    char text[EXEC_TIMES_TEXT];

    if (exec_times_text(exec, text))
        text_print(stderr, "load_and_run: --cuda: %s\n", text);
}

void run_tell_resized(const struct exec *exec)
{
    const struct exec_step *step = exec_resized_step(exec);

    if (step)
        text_print(
            stderr,
            "load_and_run: node \"%s\" (%s): how much it finds hangs on the rounding of what it reads; "
            "it went by what was found before the run\n",
            step->name, step->type);
}

void run_tell_device(const struct exec *exec, uint32_t asked_streams)
{
    struct exec_device_facts facts = exec_device_facts(exec);
    char in[AMOUNT_BYTES], out[AMOUNT_BYTES], parameters[AMOUNT_BYTES], pinned[48] = "";

    if (!facts.description)
        return;
    if (facts.parameter_copies > 0)
        snprintf(pinned, sizeof(pinned), ", from pinned memory by %u %s", facts.parameter_copies,
                 facts.parameter_copies == 1 ? "copy" : "copies");
    text_print(
        stderr,
        "load_and_run: --cuda: %s: %u operators on it, %u on the CPU; %u copies in each run, "
        "%s to it and %s from it; %s of parameters copied once%s%s\n",
        facts.description, facts.device_steps, facts.host_steps, facts.copy_steps,
        amount_format_bytes(in, sizeof(in), (double)facts.copied_in_bytes),
        amount_format_bytes(out, sizeof(out), (double)facts.copied_out_bytes),
        amount_format_bytes(parameters, sizeof(parameters), (double)facts.parameter_bytes), pinned,
        facts.is_graph ? "; a run is one graph" : "");
    if (facts.half_steps + facts.half_converted_steps + facts.half_host_steps > 0)
        text_print(
            stderr,
            "load_and_run: --cuda: of operators over half precision the GPU computes %u as they "
            "are, and %u in float32, converting there; the CPU computes %u\n",
            facts.half_steps, facts.half_converted_steps, facts.half_host_steps);
    tell_library(&facts.products, "cuBLASLt", "product");
    tell_library(&facts.convolutions, "cuDNN", "convolution");
    if (asked_streams > 1)
        text_print(stderr,
                   "load_and_run: --streams: %u of %u are used, %u operators and copies run on "
                   "others than the first, with %u waits between them\n",
                   facts.streams, asked_streams, facts.beside_steps, facts.wait_count);
}
