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

typedef int onnx_sample_parse_fn(const uint8_t *bytes, size_t size, int folder_fd,
                                 struct graph **out_graph, struct diag *diag);

/** That it fails with `error` and a sentence that has `text`, and leaves no graph, whether
 *  parameters are copied or left where they are. */
static inline void onnx_sample_expect_failure(const struct onnx_sample *sample, int error,
                                              const char *text)
{
    onnx_sample_parse_fn *const ways[] = {model_onnx_parse, model_onnx_parse_shared};
    size_t size;
    uint8_t *bytes = onnx_sample_pack(sample, &size);

    assert_non_null(bytes);
    for (size_t i = 0; i < 2; i++) {
        struct graph *graph = NULL;
        struct diag diag = {0};
        int rc = ways[i](bytes, size, -1, &graph, &diag);

        if (rc != error)
            fail_msg("%d instead of %d (%s): %s", rc, error, text, diag.text);
        CHECK_CONTAINS(diag.text, text);
        assert_null(graph);
    }
    free(bytes);
}

#endif
