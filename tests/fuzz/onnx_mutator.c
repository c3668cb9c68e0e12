/* SPDX-License-Identifier: Apache-2.0 */
/* How the fuzzer changes models: mostly as messages, with the names of operators that we know. */
#include <stdint.h>
#include <string.h>

#include "runtime/ops/lower/lower.h"
#include "runtime/ops/operators.h"
#include "tests/fuzz/protobuf_mutator.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);

/* Models have type and domain apart. */
static const char *without_domain(const char *type)
{
    const char *dot = strrchr(type, '.');

    return dot ? dot + 1 : type;
}

static const char *word(uint32_t number)
{
    static const char *const domains[] = {"", "com.microsoft", "ai.onnx.ml", "com.microsoft.nchwc"};
    const uint32_t domain_count = sizeof(domains) / sizeof(domains[0]);
    uint32_t lowered = 0;
    struct operator_facts facts;

    while (lower_facts_at(lowered))
        lowered++;
    number %= domain_count + lowered + (uint32_t)operators_count();
    if (number < domain_count)
        return domains[number];
    number -= domain_count;
    if (number < lowered)
        return without_domain(lower_facts_at(number)->type);
    operators_get(number - lowered, &facts);
    return without_domain(facts.op_type);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
    size_t changed = 0;

    if (seed % 4 != 0) {
        for (unsigned int i = 0; i <= seed / 4 % 4; i++) {
            size_t now = protobuf_mutate(data, size, max, seed + i, word);

            if (now > 0)
                size = changed = now;
        }
    }
    return changed > 0 ? changed : LLVMFuzzerMutate(data, size, max);
}
