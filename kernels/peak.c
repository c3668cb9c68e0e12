/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring the machine's peak: independent chains of vector FMAs, and a streaming read. */
#include "kernels/peak.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    ROUNDS = 7,
    FMA_STEPS = 1 << 21,
    CHAINS = 12, /* more than latency (4) x ports (2), fewer than registers (16 for AVX2) */
    READ_BYTES = 64 << 20,
};

static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* Runs `steps` FMAs on each of CHAINS chains; returns lanes per vector. The sum in *sink keeps the
 * compiler from dropping the work. */
typedef size_t fma_chains_fn(size_t steps, float *sink);

static size_t fma_chains_generic(size_t steps, float *sink)
{
    float x[CHAINS];

    for (size_t c = 0; c < CHAINS; c++)
        x[c] = 1.0f + (float)c;
    for (size_t i = 0; i < steps; i++) {
        for (size_t c = 0; c < CHAINS; c++)
            x[c] = x[c] * 0.999f + 0.001f;
    }
    for (size_t c = 0; c < CHAINS; c++)
        *sink += x[c];
    return 1;
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static size_t fma_chains_avx512(size_t steps, float *sink)
{
    __m512 x[CHAINS];
    const __m512 factor = _mm512_set1_ps(0.999f), addend = _mm512_set1_ps(0.001f);

    for (size_t c = 0; c < CHAINS; c++)
        x[c] = _mm512_set1_ps(1.0f + (float)c);
    for (size_t i = 0; i < steps; i++) {
#pragma GCC unroll 12
        for (size_t c = 0; c < CHAINS; c++)
            x[c] = _mm512_fmadd_ps(x[c], factor, addend);
    }
    for (size_t c = 0; c < CHAINS; c++)
        *sink += _mm512_reduce_add_ps(x[c]);
    return 16;
}

__attribute__((target("avx2,fma"))) static size_t fma_chains_avx2(size_t steps, float *sink)
{
    __m256 x[CHAINS];
    const __m256 factor = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(0.001f);

    for (size_t c = 0; c < CHAINS; c++)
        x[c] = _mm256_set1_ps(1.0f + (float)c);
    for (size_t i = 0; i < steps; i++) {
#pragma GCC unroll 12
        for (size_t c = 0; c < CHAINS; c++)
            x[c] = _mm256_fmadd_ps(x[c], factor, addend);
    }
    for (size_t c = 0; c < CHAINS; c++)
        *sink += _mm256_cvtss_f32(x[c]);
    return 8;
}
#endif

static fma_chains_fn *choose_fma(const char **out_isa)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        *out_isa = "avx512f";
        return fma_chains_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *out_isa = "avx2+fma";
        return fma_chains_avx2;
    }
#endif
    *out_isa = "generic";
    return fma_chains_generic;
}

static uint64_t sum_words_generic(const uint64_t *words, size_t count)
{
    uint64_t sum[8] = {0};

    for (size_t i = 0; i + 8 <= count; i += 8) {
        for (size_t k = 0; k < 8; k++)
            sum[k] += words[i + k];
    }
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t sum_words_avx2(const uint64_t *words, size_t count)
{
    const __m256i *from = (const __m256i *)words;
    __m256i sum[8];
    uint64_t lanes[4], all = 0;

    for (size_t k = 0; k < 8; k++)
        sum[k] = _mm256_setzero_si256();
    for (size_t i = 0; i + 8 <= count / 4; i += 8) {
#pragma GCC unroll 8
        for (size_t k = 0; k < 8; k++)
            sum[k] = _mm256_add_epi64(sum[k], _mm256_loadu_si256(from + i + k));
    }
    for (size_t k = 0; k < 8; k++) {
        _mm256_storeu_si256((__m256i *)lanes, sum[k]);
        all += lanes[0] + lanes[1] + lanes[2] + lanes[3];
    }
    return all;
}
#endif

/* Reads so many words, a multiple of 32, as wide as this machine can. */
static uint64_t sum_words(const uint64_t *words, size_t count)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return sum_words_avx2(words, count);
#endif
    return sum_words_generic(words, count);
}

int peak_measure(struct peak *out_peak)
{
    struct peak peak = {0};
    fma_chains_fn *fma_chains = choose_fma(&peak.isa);
    uint64_t *words = malloc(READ_BYTES);
    volatile float float_sink;
    volatile uint64_t word_sink;

    if (!words)
        return -ENOMEM;
    memset(words, 1, READ_BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        float sink = 0;
        double begin = seconds();
        size_t lanes = fma_chains(FMA_STEPS, &sink);
        double flops = 2.0 * CHAINS * FMA_STEPS * (double)lanes / (seconds() - begin);

        float_sink = sink;
        if (flops > peak.f32_flops)
            peak.f32_flops = flops;
        begin = seconds();
        word_sink = sum_words(words, READ_BYTES / sizeof(*words));
        double bytes_s = READ_BYTES / (seconds() - begin);

        if (bytes_s > peak.read_bytes_s)
            peak.read_bytes_s = bytes_s;
    }
    (void)float_sink;
    (void)word_sink;
    free(words);
    *out_peak = peak;
    return 0;
}

/* --- Several threads. --- */

struct worker {
    pthread_t thread;
    struct peak peak;
    int rc;
};

static void *work(void *argument)
{
    struct worker *worker = argument;

    worker->rc = peak_measure(&worker->peak);
    return NULL;
}

int peak_measure_threads(size_t threads, struct peak *out_peak)
{
    struct worker *workers;
    struct peak sum = {0};
    size_t started = 0;
    int rc = 0;

    if (threads > PEAK_THREADS_MAX)
        threads = PEAK_THREADS_MAX;
    workers = calloc(threads ? threads : 1, sizeof(*workers));
    if (!workers)
        return -ENOMEM;
    for (; started < threads && rc == 0; started += rc == 0)
        rc = -pthread_create(&workers[started].thread, NULL, work, &workers[started]);
    for (size_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        rc = rc ? rc : workers[i].rc;
        sum.f32_flops += workers[i].peak.f32_flops;
        sum.read_bytes_s += workers[i].peak.read_bytes_s;
        sum.isa = workers[i].peak.isa;
    }
    free(workers);
    if (rc == 0)
        *out_peak = sum;
    return rc;
}

/* --- Caches. --- */

int peak_measure_read(size_t bytes, double *out_read_bytes_s)
{
    size_t count = bytes / sizeof(uint64_t), repeats = READ_BYTES / (bytes ? bytes : 1) + 1;
    uint64_t *words = malloc(bytes ? bytes : 1);
    volatile uint64_t sink = 0;
    double best = 0;

    if (!words)
        return -ENOMEM;
    memset(words, 1, bytes);
    for (int round = 0; round < ROUNDS; round++) {
        double begin = seconds(), bytes_s;

        for (size_t i = 0; i < repeats; i++)
            sink += sum_words(words, count);
        bytes_s = (double)bytes * (double)repeats / (seconds() - begin);
        best = bytes_s > best ? bytes_s : best;
    }
    (void)sink;
    free(words);
    *out_read_bytes_s = best;
    return 0;
}
