/* SPDX-License-Identifier: Apache-2.0 */
/* An extension with PyTorch, and without us; what it does is chosen by a word. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/fake_torch.h"

static struct fake_torch_tensor image, filter, bias, features, row, weights, sums, large, strange;

__attribute__((visibility("default"))) int PyInit_net(const char *what);

static void make_tensors(void)
{
#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]){__VA_ARGS__}
    fake_torch_tensor(&image, FAKE_TORCH_F32, DIMS(2, 3, 32, 32), false);
    fake_torch_tensor(&filter, FAKE_TORCH_F32, DIMS(8, 3, 3, 3), false);
    fake_torch_tensor(&bias, FAKE_TORCH_F32, DIMS(8), false);
    fake_torch_tensor(&features, FAKE_TORCH_F32, DIMS(2, 8, 15, 15), false);
    fake_torch_tensor(&row, FAKE_TORCH_BF16, DIMS(2, 64), false);
    fake_torch_tensor(&weights, FAKE_TORCH_BF16, DIMS(64, 10), false);
    fake_torch_tensor(&sums, FAKE_TORCH_BF16, DIMS(2, 10), false);
    fake_torch_tensor(&large, FAKE_TORCH_F32, DIMS(2, 3, 4, 5, 6, 7), false);
    fake_torch_tensor(&strange, FAKE_TORCH_F32, DIMS(9, 9), true);
#undef DIMS
}

static void inner_convolution(void *context)
{
    fake_torch_run(&(struct fake_torch_op){.name = "aten::convolution",
                                           .inputs = {&image, &filter, &bias},
                                           .input_count = 3,
                                           .output = &features,
                                           .body = context ? *(void (**)(void *))context : NULL});
}

static void multiply(void *context)
{
    (void)context;
    fake_torch_product();
}

static void inner_product(void *context)
{
    (void)context;
    fake_torch_run(&(struct fake_torch_op){.name = "aten::addmm",
                                           .inputs = {NULL, &row, &weights},
                                           .input_count = 3,
                                           .output = &sums,
                                           .body = multiply});
}

static void convolve(void (*inside)(void *))
{
    fake_torch_run(&(struct fake_torch_op){.name = "aten::conv2d",
                                           .inputs = {&image, &filter, &bias},
                                           .input_count = 3,
                                           .output = &features,
                                           .body = inner_convolution,
                                           .context = inside ? &inside : NULL});
}

static void step(void *context)
{
    (void)context;
    convolve(NULL);
    fake_torch_run(&(struct fake_torch_op){.name = "aten::convolution",
                                           .inputs = {&features, &filter, NULL},
                                           .input_count = 3,
                                           .output = &image,
                                           .is_transposed = true});
    fake_torch_run(&(struct fake_torch_op){.name = "aten::linear",
                                           .inputs = {&row, &weights},
                                           .input_count = 2,
                                           .output = &sums,
                                           .body = inner_product});
    fake_torch_run(&(struct fake_torch_op){
        .name = "aten::sum", .inputs = {&large}, .input_count = 1, .output = &bias});
    fake_torch_run(&(struct fake_torch_op){
        .name = "aten::neg", .inputs = {&strange}, .input_count = 1, .output = &strange});
}

static void run_one(const char *name, const struct fake_torch_tensor *input,
                    const struct fake_torch_tensor *output)
{
    fake_torch_run(&(struct fake_torch_op){
        .name = name, .inputs = {input}, .input_count = 1, .output = output});
}

/* In a label: what is printed is the same without us. */
static void say_kept(void)
{
    char text[32];

    snprintf(text, sizeof(text), "%d results kept", (int)fake_torch_kept());
    fake_torch_run(&(struct fake_torch_op){.name = text, .scope = FAKE_TORCH_LABEL});
}

/* What works on its argument, and what only seems to; then with another who wants results. */
static void work_in_place(void)
{
    for (int i = 0; i < 4; i++) {
        run_one("aten::relu_", &features, &features);
        run_one("aten::unsqueeze_", &row, &weights);
        run_one("aten::t_", &row, &weights);
        run_one("aten::detach_", &large, &large);
        run_one("aten::abs_", &strange, &strange); /* of sizes that are not known */
        run_one("aten::neg_", NULL, &features);
        run_one("own::relu_", &row, &weights);
    }
    say_kept();
    fake_torch_observe(true);
    run_one("aten::relu_", &bias, &bias);
    fake_torch_observe(false);
    run_one("aten::sigmoid_", &bias, &bias);
    say_kept();
}

static void *add_often(void *context)
{
    (void)context;
    for (int i = 0; i < 50; i++)
        fake_torch_run(&(struct fake_torch_op){.name = "aten::add",
                                               .inputs = {&features, &features},
                                               .input_count = 2,
                                               .output = &features});
    return NULL;
}

static void die(void *context)
{
    (void)context;
    raise(SIGKILL);
}

static void run_steps(void)
{
    char label[16];
    pthread_t thread;

    pthread_create(&thread, NULL, add_often, NULL);
    for (int i = 0; i < 3; i++) { /* labels in memory that is used again */
        snprintf(label, sizeof(label), "step %d", i);
        fake_torch_run(
            &(struct fake_torch_op){.name = label, .scope = FAKE_TORCH_LABEL, .body = step});
    }
    pthread_join(thread, NULL);
}

int PyInit_net(const char *what)
{
    make_tensors();
    if (strcmp(what, "die") == 0)
        convolve(die);
    else if (strcmp(what, "beforehand") == 0)
        for (int i = 0; i < 4; i++)
            printf("%g %.1f\n", fake_torch_addmm(&sums, &row, &weights),
                   fake_torch_convolution(&image, &features, &filter));
    else if (strcmp(what, "in-place") == 0)
        work_in_place();
    else if (strcmp(what, "often") == 0)
        for (int i = 0; i < 2000; i++)
            add_often(NULL);
    else
        run_steps();
    if (strcmp(what, "often") == 0)
        printf("%s\n", fake_torch_calls() < 2000 ? "few calls" : "many calls");
    printf("%d tensors asked\n", (int)fake_torch_asked());
    return 0;
}
