/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals as inputs of models, and their files. */
#include "tests/support/check.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/onnx/model.h"
#include "runtime/onnx/tensor.h"
#include "tests/support/onnx_sample_check.h"

/* What stands in sequence_type or optional_type: the type of the elements. */
static void set_inner(struct onnx_sample *s, bool is_optional, const char *bytes, size_t size)
{
    ProtobufCBinaryData inner = {size, (uint8_t *)bytes};

    s->outputs[0]->type = NULL; /* it was the same */
    s->type.tensor_type = NULL;
    s->type.has_sequence_type = !is_optional;
    s->type.has_optional_type = is_optional;
    s->type.sequence_type = inner;
    s->type.optional_type = inner;
}

static void sequences_become_their_tensors(void **state)
{
    static const char tensor[] = "\x0a\x04\x0a\x02\x08\x01", nested[] = "\x0a\x02\x22\x00";
    static const char mapped[] = "\x0a\x02\x2a\x00",
                      of_sequence[] = "\x0a\x08\x22\x06\x0a\x04\x0a\x02\x08\x01";
    struct onnx_sample s;
    struct graph *graph;
    struct diag diag = {0};

    onnx_sample_init(&s);
    set_inner(&s, false, tensor, 6);
    CHECK_OK(onnx_sample_parse(&s, &graph, &diag));
    assert_int_equal(graph->input_count, 1);
    assert_string_equal(graph->inputs[0]->name, "x[0]");
    assert_int_equal(graph->inputs[0]->dtype, DTYPE_F32);
    assert_int_equal(graph->input_ports.count, 1);
    assert_true(graph->input_ports.items[0].is_sequence);
    assert_int_equal(graph->output_ports.count, 0);
    graph_destroy(&graph);
    set_inner(&s, true, of_sequence, 10);
    CHECK_OK(onnx_sample_parse(&s, &graph, &diag));
    assert_string_equal(graph->inputs[0]->name, "x[0]");
    assert_true(graph->input_ports.items[0].is_optional);
    graph_destroy(&graph);
    set_inner(&s, true, tensor, 6);
    CHECK_OK(onnx_sample_parse(&s, &graph, &diag));
    assert_string_equal(graph->inputs[0]->name, "x");
    graph_destroy(&graph);
    set_inner(&s, false, nested, 4);
    onnx_sample_expect_failure(&s, -ENOTSUP, "no sequence of tensors");
    set_inner(&s, false, mapped, 4);
    onnx_sample_expect_failure(&s, -ENOTSUP, "no sequence of tensors");
    set_inner(&s, false, tensor, 5);
    onnx_sample_expect_failure(&s, -EINVAL, "");
    set_inner(&s, true, NULL, 0);
    onnx_sample_expect_failure(&s, -EINVAL, "the type is empty");
}

static void expect_parts(const char *bytes, size_t size, bool is_sequence, bool is_optional,
                         int error, size_t count, bool is_empty)
{
    struct onnx_parts parts;
    struct diag diag = {0};
    int rc =
        onnx_parts_parse((const uint8_t *)bytes, size, is_sequence, is_optional, &parts, &diag);

    if (rc != error)
        fail_msg("%d instead of %d: %s", rc, error, diag.text);
    if (rc < 0)
        return;
    assert_int_equal(parts.count, count);
    assert_int_equal(parts.is_empty, is_empty);
    onnx_parts_deinit(&parts);
}

/* Tensors of one uint8 in raw_data. */
#define A_TENSOR "\x08\x01\x10\x02\x4a\x01\x05"

static void files_of_sequences_are_read(void **state)
{
    static const char two[] = "\x10\x01\x1a\x07" A_TENSOR "\x1a\x07" A_TENSOR;
    static const char none[] = "\x10\x01", of_maps[] = "\x10\x04",
                      broken[] = "\x10\x01\x1a\x04\x08\x02\x10\x02";
    static const char held[] = "\x10\x01\x1a\x07" A_TENSOR, lacking[] = "\x10\x00";
    static const char several[] = "\x10\x03\x2a\x0b\x10\x01\x1a\x07" A_TENSOR;

    expect_parts(two, sizeof(two) - 1, true, false, 0, 2, false);
    expect_parts(none, sizeof(none) - 1, true, false, 0, 0, false);
    expect_parts(of_maps, sizeof(of_maps) - 1, true, false, -ENOTSUP, 0, false);
    expect_parts(broken, sizeof(broken) - 1, true, false, -EINVAL, 0, false);
    expect_parts("", 0, true, false, -EINVAL, 0, false);
    expect_parts(held, sizeof(held) - 1, false, true, 0, 1, false);
    expect_parts(held, sizeof(held) - 1, true, true, -EINVAL, 0, false);
    expect_parts(lacking, sizeof(lacking) - 1, false, true, 0, 0, true);
    expect_parts(lacking, sizeof(lacking) - 1, true, true, 0, 0, true);
    expect_parts(several, sizeof(several) - 1, true, true, 0, 1, false);
    expect_parts(several, sizeof(several) - 1, false, true, -EINVAL, 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_become_their_tensors),
        cmocka_unit_test(files_of_sequences_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
