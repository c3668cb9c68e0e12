/* SPDX-License-Identifier: Apache-2.0 */
/* docs/operators.md is what the operator table says: OPTRACE_GOLDEN_REWRITE=1 writes it anew. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "runtime/ops/lower/lower.h"
#include "runtime/ops/operators.h"

static const char head[] =
    "# Operators\n"
    "\n"
    "What `load_and_run` computes, out of the standard operator set of ONNX and, under its full\n"
    "name, out of ONNX Runtime's own. This page is generated\n"
    "from the operator table by the unit test `runtime_operators_doc`, which also finds out when "
    "it\n"
    "is not current; write it anew with `OPTRACE_GOLDEN_REWRITE=1`.\n"
    "\n"
    "- *Since* is the first operator set; all later forms of the operator are meant too.\n"
    "- *Types* are those of the first input; `any` is every type that ONNX tensors can have. Texts\n"
    "  are moved, replaced, sorted by Unique and compared by Equal, and what is in them is read by the\n"
    "  String operators, RegexFullMatch, Tokenizer and Cast ([decision 64](decisions/0064-texts-are-numbers.md)).\n"
    "- *Kernels* are entries of `struct kernel_table` in [kernels.h](../kernels/kernels.h), on the "
    "CPU;\n"
    "  those of a GPU are in gpu.md.\n"
    "- Sequences are their tensors: a sequence `x` as an input or output is `x[0]`, `x[1]` and so on\n"
    "  in options, files and results; an optional that holds a tensor is that tensor.\n"
    "- MaxUnpool's indices count in the output that it has, also where `output_shape` is given, as\n"
    "  ONNX Runtime and PyTorch have it; ONNX's reference evaluator counts in the shape without it.\n"
    "- A shape that depends on the content of an input (Reshape, Range, NonZero ...) is worked "
    "out\n"
    "  for the content that the input is bound to. Where a run then finds another size, as that hangs on\n"
    "  the rounding of a number, the operator goes by what was found before the run, and a line says so.\n"
    "- How many tensors a sequence has, and in which order, may be decided by constants and by whole\n"
    "  numbers and truths that are given as inputs: sizes of a split, turns of a Loop, the condition of\n"
    "  an If, positions.\n";

static const char refused[] =
    "\n"
    "## What is refused\n"
    "\n"
    "With exit status 3 and a sentence that names the node, its operator and its operator set:\n"
    "\n"
    "- operators that the table lacks, Gradient among them;\n"
    "- a Scan of operator set 8 over a batch that is not known to be 1, or with lengths;\n"
    "- sequences and optionals whose parts computed values decide, or inputs that are not given, but for\n"
    "  those that a Loop adds parts of one shape to and what a SplitToSequence makes; sequences of\n"
    "  sequences and maps as inputs and outputs; branches of an If on such a value whose sequences differ\n"
    "  in length;\n"
    "  functions for another version of the operator set in which one of their operators means something\n"
    "  else;\n"
    "- element types beyond float64, float32, float16, bfloat16, bool, int8 to int64 and uint8 to\n"
    "  uint64; float8, float4, int4 and int2 are only cast, quantised, moved and stored (a byte "
    "each);\n"
    "- attributes that an operator does not have, and words that are none of theirs;\n"
    "- tensors of more than 8 dimensions, convolutions and pools over more than 3 spatial ones;\n"
    "- a Dropout that trains with a ratio above 0, whose result is random;\n"
    "- LpPool of operator set 1, Upsample before 7, a scale of RMSNormalization in another type "
    "than its\n"
    "  input's;\n"
    "- in the pattern of a RegexFullMatch \\p, \\P and \\C; a StringNormalizer whose locale is Turkish,\n"
    "  Azerbaijani or Lithuanian; texts of more than 16 MiB that an operator makes;\n"
    "- bodies that are more than 8 deep, a Loop that does not end within 1,048,576 turns, a "
    "collected\n"
    "  value whose shape changes from turn to turn.\n"
    "\n"
    "## Operators\n"
    "\n"
    "| Operator | Since | Inputs | Outputs | Types | Kernels |\n"
    "| --- | --- | --- | --- | --- | --- |\n";

static const char lowered[] =
    "\n"
    "## Operators that become others\n"
    "\n"
    "What ONNX Runtime's optimisers and quantisers write, models of ai.onnx.ml, steps of training, scans,\n"
    "sequences and optionals are replaced by standard operators as a model is read, whatever its operator set\n"
    "([decision 48](decisions/0048-operators-become-others.md)). What of them is not supported is\n"
    "refused by name: positions without a known number of dimensions and a\n"
    "past that shares its buffer (but those of GroupQueryAttention, SparseAttention and\n"
    "DecoderMaskedMultiHeadAttention).\n"
    "\n"
    "| Operator | Becomes |\n"
    "| --- | --- |\n";

/* Lines of the list of cases that pass. */
static unsigned count_cases(void)
{
    const char *root = getenv("OPTRACE_SOURCE_ROOT");
    struct diag diag = {0};
    unsigned count = 0;
    char path[4096], *text;
    size_t size;

    assert_non_null(root);
    snprintf(path, sizeof(path), "%s/tests/golden/conformance_pass.txt", root);
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &diag));
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    free(text);
    return count;
}

static void print_range(FILE *out, uint32_t low, uint32_t high)
{
    if (high == OPERATOR_ANY)
        fprintf(out, " %u or more |", low);
    else if (low == high)
        fprintf(out, " %u |", low);
    else
        fprintf(out, " %u to %u |", low, high);
}

static char *render(void)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    fputs(head, out);
    fprintf(out,
            "\nOf the public conformance cases %u pass: those in "
            "`tests/golden/conformance_pass.txt`.\n`scripts/conformance` runs them, and says of "
            "each other one why it does not.\n",
            count_cases());
    fputs(refused, out);
    for (size_t i = 0; i < operators_count(); i++) {
        struct operator_facts facts;

        operators_get(i, &facts);
        fprintf(out, "| %s | %u |", facts.op_type, facts.since);
        print_range(out, facts.inputs_min, facts.inputs_max);
        print_range(out, 1, facts.outputs_max);
        fprintf(out, " %s | %s |\n", facts.types, facts.kernels);
    }
    fputs(lowered, out);
    for (size_t i = 0; lower_facts_at(i); i++)
        fprintf(out, "| %s | %s |\n", lower_facts_at(i)->type, lower_facts_at(i)->becomes);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_page_is_current(void **state)
{
    const char *root = getenv("OPTRACE_SOURCE_ROOT");
    struct diag diag = {0};
    char *want = render(), *got;
    char path[4096];
    size_t size;
    FILE *out;

    assert_non_null(root);
    snprintf(path, sizeof(path), "%s/docs/operators.md", root);
    if (getenv("OPTRACE_GOLDEN_REWRITE")) {
        out = fopen(path, "w");
        assert_non_null(out);
        fputs(want, out);
        assert_int_equal(fclose(out), 0);
    }
    CHECK_OK(file_read(path, 1 << 20, &got, &size, &diag));
    if (size != strlen(want) || memcmp(got, want, size) != 0)
        fail_msg("docs/operators.md is not current: run this test with OPTRACE_GOLDEN_REWRITE=1");
    free(got);
    free(want);
}

/* An operator that is in the table must be computed by something. */
static void each_operator_has_kernels(void **state)
{
    for (size_t i = 0; i < operators_count(); i++) {
        struct operator_facts facts;

        operators_get(i, &facts);
        if (strstr(facts.kernels, "folded") && strcmp(facts.op_type, "Constant") != 0)
            fail_msg("%s is in the table of shapes, but nothing computes it", facts.op_type);
    }
}

static void logic_takes_bools(void **state)
{
    static const char *const logical[] = {"And", "Or", "Xor", "Not"};
    size_t found = 0;

    for (size_t i = 0; i < operators_count(); i++) {
        struct operator_facts facts;

        operators_get(i, &facts);
        for (size_t k = 0; k < 4; k++) {
            if (strcmp(facts.op_type, logical[k]) != 0)
                continue;
            assert_string_equal(facts.types, "bool");
            found++;
        }
    }
    assert_int_equal(found, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_current),
        cmocka_unit_test(each_operator_has_kernels),
        cmocka_unit_test(logic_takes_bools),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
