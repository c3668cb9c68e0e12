/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the sample model in tests by cmocka. */
#ifndef OPTRACE_TESTS_SUPPORT_ONNX_SAMPLE_CHECK_H
#define OPTRACE_TESTS_SUPPORT_ONNX_SAMPLE_CHECK_H

#include "tests/support/check.h"

#include <stdlib.h>

#include "runtime/onnx/model.h"
#include "tests/support/onnx_sample.h"

/** model_onnx_parse() of the sample's bytes. */
static inline int onnx_sample_parse(const struct onnx_sample *sample, struct graph **out_graph,
                                    struct diag *diag)
{
    size_t size;
    uint8_t *bytes = onnx_sample_pack(sample, &size);
    int rc;

    assert_non_null(bytes);
    rc = model_onnx_parse(bytes, size, -1, out_graph, diag);
    free(bytes);
    return rc;
}

/** That it fails with `error` and a sentence that has `text`, and leaves no graph. */
static inline void onnx_sample_expect_failure(const struct onnx_sample *sample, int error,
                                              const char *text)
{
    struct graph *graph = NULL;
    struct diag diag = {0};
    int rc = onnx_sample_parse(sample, &graph, &diag);

    if (rc != error)
        fail_msg("%d instead of %d (%s): %s", rc, error, text, diag.text);
    CHECK_CONTAINS(diag.text, text);
    assert_null(graph);
}

#endif
