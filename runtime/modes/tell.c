/* SPDX-License-Identifier: Apache-2.0 */
/* What options on memory and on the order of work have done. */
#include "base/text.h"
#include "runtime/modes/tell.h"

#include <inttypes.h>
#include <malloc.h>

void run_tell_sharing(const struct graph *graph)
{
    uint32_t count = 0, all = 0;
    uint64_t bytes = 0, all_bytes = 0;

    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];
        uint64_t size =
            value->data != NULL ? (uint64_t)shape_bytes(&value->shape, value->dtype) : 0;

        all += value->data != NULL;
        all_bytes += size;
        count += value->is_shared;
        bytes += value->is_shared ? size : 0;
    }
    fprintf(stderr,
            "load_and_run: --share-param-mem: %u of %u parameters, %.3f of %.3f MiB, stay in the "
            "model's files\n",
            count, all, (double)bytes / 1048576, (double)all_bytes / 1048576);
}

void run_tell_recorded(const struct exec *exec, bool frees_graph, bool is_stepwise)
{
    text_print(stderr, "load_and_run: --%s: %u operators are handed over %s\n",
               frees_graph ? "record-comp-seq2" : "record-comp-seq", exec_step_count(exec),
               is_stepwise ? "one by one, as dumps look at each" : "as one");
}

void run_tell_sanity(enum sanity_choice choice, const struct sanity_result *result)
{
    text_print(stderr,
               "load_and_run: %s: none of %" PRIu64 " tensors was changed before it was read, "
               "%.1f MiB looked at in %.3f ms\n",
               choice == SANITY_ON ? "--sanity-check" : "sanity check", result->tensors,
               (double)result->bytes / 1048576, (double)result->time_ns * 1e-6);
}

void run_free_graph(struct session *session, bool is_told)
{
    size_t bytes = exec_release_graph(session->exec, session->graph);

    malloc_trim(0);
    if (is_told)
        fprintf(stderr, "load_and_run: --record-comp-seq2: %.3f MiB of the graph are freed\n",
                (double)bytes / 1048576);
}
