/* SPDX-License-Identifier: Apache-2.0 */
/* A program with TensorFlow, and without us: inject_tensorflow_program [own], with a profile of its
 * own around the second half. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct handle {
    int64_t rank, dims[4];
};

struct op {
    const char *name;
    struct handle inputs[2];
    int input_count;
};

void TFE_Execute(struct op *op, void **results, int *result_count, int *status);
void TF_SessionRun(void *session, const void *options, const void *inputs,
                   void *const *input_values, int input_count, const void *outputs,
                   void **output_values, int output_count, const void *const *targets,
                   int target_count, void *metadata, int *status);
bool start(int level, uint64_t filter) __asm__("_ZN3tsl8profiler15TraceMeRecorder5StartEim");
void *stop(void *out_events) __asm__("_ZN3tsl8profiler15TraceMeRecorder4StopEv");

static int run_all(void)
{
    struct op function = {.name = "__inference_f_23"},
              product = {.name = "MatMul", .inputs = {{2, {2, 8}}, {2, {8, 4}}}, .input_count = 2},
              convolution = {.name = "Conv2D",
                             .inputs = {{4, {1, 6, 6, 3}}, {4, {3, 3, 3, 4}}},
                             .input_count = 2};
    void *results[1];
    int result_count, status, sum = 0;

    for (int i = 0; i < 10; i++) {
        TFE_Execute(&function, NULL, &result_count, &status);
        sum += result_count + status;
        TFE_Execute(&product, NULL, &result_count, &status);
        sum += result_count + status;
        TFE_Execute(&convolution, results, &result_count, &status);
        sum += result_count + status;
    }
    for (int i = 0; i < 5; i++) {
        TF_SessionRun(NULL, NULL, NULL, NULL, 1, NULL, NULL, 2, NULL, 3, NULL, &status);
        sum += status;
    }
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t kept = 0;
    bool has_begun = false;

    printf("%d\n", run_all());
    if (argc > 1) {
        has_begun = start(3, 0);
        printf("%d\n", run_all());
        stop(&kept);
    }
    printf("%d %llu\n", has_begun, (unsigned long long)kept);
    return 0;
}
