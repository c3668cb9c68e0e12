/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: whether a kernel gives a sample the same bits whatever stands beside it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tune/private.h"

/* One kernel, made for one batch. */
struct trial {
    struct subject subject;
    struct call call;
    size_t bytes; /* of output 0 */
};

static int make_trial(struct trial *trial, const struct tune_job *job, const struct tune_op *op,
                      const struct call_version *version, int64_t batch, struct diag *diag)
{
    int rc = subject_init(&trial->subject, job, &job->steps[op->first_step], batch, diag);

    if (rc == 0)
        rc = call_bind_version(&trial->subject.request, trial->subject.is_plan, version,
                               &trial->call);
    if (rc == 0)
        trial->bytes =
            (size_t)shape_bytes(&trial->subject.outputs[0].shape, trial->subject.outputs[0].dtype);
    return rc;
}

static void drop_trial(struct trial *trial)
{
    call_deinit(&trial->call);
    subject_deinit(&trial->subject);
}

/* Whether the second of the samples that `two` computes has a part of its own of an input. One of a
 * single row, which all samples share, is as long for one of them: only the two tell them apart. */
static bool has_samples(const struct trial *one, const struct trial *two, uint32_t input)
{
    const struct tensor_view *of_one = &one->subject.inputs[input];
    const struct tensor_view *of_two = &two->subject.inputs[input];
    int list;

    return !of_one->data && tune_memory_is_random(of_one->dtype, &list) && of_one->shape.rank > 0 &&
           of_one->shape.dims[0] < of_two->shape.dims[0];
}

/* Output 0 as it was made of the inputs at sample `at` of the memory, which holds those of `two`; y
 * has what the output lies over before. */
static int run_trial(struct trial *trial, const struct trial *two, struct tune_memory *memory,
                     int64_t at, char *y)
{
    const struct node *node = trial->subject.request.node;
    int rc = tune_memory_place(memory, &trial->subject, &trial->call);

    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct tensor_view *view = &trial->subject.inputs[i];

        if (at > 0 && has_samples(trial, two, i))
            memory->input_list[i] = (const char *)memory->input_list[i] +
                                    (size_t)at * (size_t)shape_bytes(&view->shape, view->dtype);
    }
    memory->output_list[0] = y;
    return call_run(&trial->call);
}

static void fill(char *bytes, size_t size)
{
    uint32_t state = 7;

    for (size_t i = 0; i + sizeof(float) <= size; i += sizeof(float)) {
        float number;

        state = state * 1664525u + 1013904223u;
        number = (float)(state >> 8) / (float)(1u << 23) - 1.0f;
        memcpy(bytes + i, &number, sizeof(number));
    }
}

/* Two samples together, twice, and each alone. */
static int compare(struct trial *one, struct trial *two, struct tune_memory *memory)
{
    char *before = aligned_alloc(64, (two->bytes + 63) / 64 * 64 + 64);
    char *together = aligned_alloc(64, (two->bytes + 63) / 64 * 64 + 64);
    char *alone = aligned_alloc(64, (two->bytes + 63) / 64 * 64 + 64);
    int rc = before && together && alone ? 0 : -ENOMEM;
    bool is_same = true;

    if (rc == 0) {
        fill(before, two->bytes);
        memcpy(together, before, two->bytes);
        memcpy(alone, before, two->bytes);
        rc = run_trial(two, two, memory, 0, together);
    }
    if (rc == 0)
        rc = run_trial(two, two, memory, 0, alone);
    if (rc == 0)
        is_same = memcmp(together, alone, two->bytes) == 0;
    for (int64_t at = 0; rc == 0 && is_same && at < 2; at++) {
        const char *part = together + (size_t)at * one->bytes;

        memcpy(alone, before + (size_t)at * one->bytes, one->bytes);
        rc = run_trial(one, two, memory, at, alone);
        is_same = rc == 0 && memcmp(alone, part, one->bytes) == 0;
    }
    free(before);
    free(together);
    free(alone);
    return rc < 0 ? rc : is_same;
}

int tune_prove(const struct tune_job *job, const struct tune_op *op,
               const struct call_version *version)
{
    struct trial one = {0}, two = {0};
    struct tune_memory memory = {0};
    struct diag nothing = {0};
    int rc;

    if (!op->subject.has_batch)
        return 1;
    rc = make_trial(&two, job, op, version, 2, &nothing);
    if (rc == 0)
        rc = make_trial(&one, job, op, version, 1, &nothing);
    if (rc == 0)
        rc = two.bytes == 2 * one.bytes && two.subject.output_layouts[0].order[0] == 0 &&
                     two.subject.input_layouts[0].order[0] == 0
                 ? compare(&one, &two, &memory)
                 : 0;
    else
        rc = rc == -ENOMEM ? rc : 0;
    drop_trial(&one);
    drop_trial(&two);
    tune_memory_deinit(&memory);
    return rc == -EIO || rc == -EINVAL || rc == -ESTALE ? 0 : rc;
}
