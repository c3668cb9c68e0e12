/* SPDX-License-Identifier: Apache-2.0 */
/* From a short list in a test to spans with all that reports need. */
#include "tests/support/hand_spans.h"

#include "analyze/query/span_tree.h"
#include "tests/support/check.h"

static int64_t known(int64_t value)
{
    return value ? value : STORE_NULL;
}

void hand_spans_build(struct spans_answer *answer, const struct span *spans, size_t count)
{
    bool has_runs = answer->runs.count || answer->basis.runs;

    for (size_t i = 0; i < count; i++) {
        struct span span = spans[i];

        span.order = (uint32_t)i;
        span.run = has_runs ? span.run : SPAN_NONE;
        span.correlation = known(span.correlation);
        span.kern_ns = known(span.kern_ns);
        span.bytes = known(span.bytes);
        CHECK_OK(array_push(&answer->spans, span));
    }
    CHECK_OK(span_tree_build(answer, false));
}

void hand_spans_drop(struct spans_answer *answer)
{
    array_deinit(&answer->spans);
    span_tree_deinit(answer);
}
