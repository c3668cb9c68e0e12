/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of sums that become bytes by what is known of their columns alone, as those of pixels channels-last are: it stays in
 * registers from row to row, and columns that are not there cost nothing. */
#include "kernels/cpu/int8_rows.h"

#include <string.h>

#include "kernels/cpu/isa.h"

#if defined(__x86_64__)

#include <immintrin.h>

enum { ABSOLUTE_MAXIMUM = 11, TO_NEAREST = 0, PARTS = INT8_LINE / INT8_UNIT };

#define INLINE ISA_TARGET_avx512 static inline __attribute__((always_inline))

ISA_TARGET_avx512 bool int8_rows_begin(struct int8_rows *out_rows, const struct int8_product *p,
                                       int64_t begin, int64_t end)
{
    static const int32_t none[INT8_LINE] = {0};
    double row_scale = p->is_quantised ? *p->row_scale : 0.0;
    uint32_t a_zero = p->a_zero ? (uint32_t)*p->a_zero : 0, k = (uint32_t)p->k;
    const int32_t *bias = p->column_bias ? p->column_bias + begin : none;
    const int32_t *sums = p->b_sums ? p->b_sums + begin : none;
    const int32_t *zeros = p->b_zero ? p->b_zero + begin * p->b_zero_step : none;
    int64_t columns = end - begin, zero_step = p->b_zero ? p->b_zero_step : 0;
    int are_odd = 0;

    if (!p->is_quantised || p->bias || p->pitch || p->a_zero_step != 0 || p->row_scale_step != 0 ||
        p->y_zero_step != 0 || p->column_scale_step != 1)
        return false;
    if (columns < INT8_LINE)
        memset(out_rows, 0, sizeof(*out_rows));
    out_rows->begin = begin;
    out_rows->columns = (int)columns;
    out_rows->zero = p->y_zero ? *p->y_zero : 0;
    out_rows->is_signed = p->y_type == KERNEL_I8;
    out_rows->has_zeros = p->b_zero != NULL;
    for (int64_t i = 0; i < columns && p->b_zero; i++)
        out_rows->zeros[i] = zeros[i * zero_step];
    if (!p->b_zero)
        memset(out_rows->zeros, 0, sizeof(out_rows->zeros));
#pragma omp simd reduction(| : are_odd)
    for (int64_t i = 0; i < columns; i++) {
        double scale = p->column_scale[begin + i] * row_scale;

        /* also what is no number; sums are int32 */
        are_odd |= !(scale > 1e-30) | !(scale <= 0.25);
        out_rows->exact[i] = scale;
        out_rows->scale[i] = (float)p->column_scale[begin + i] * (float)row_scale;
        out_rows->add[i] =
            (uint32_t)bias[i] - a_zero * ((uint32_t)sums[i] - k * (uint32_t)out_rows->zeros[i]);
    }
    return !are_odd;
}

/* 16 integers and how far any number was from one. */
INLINE __m512i quantise(__m512i sum, __m512 scale, __m512 *furthest)
{
    __m512 number = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);

    *furthest = _mm512_range_ps(*furthest, _mm512_reduce_ps(number, TO_NEAREST), ABSOLUTE_MAXIMUM);
    return _mm512_cvtps_epi32(number);
}

/* Where f32 may have rounded to the wrong integer. */
INLINE __m512i quantise_exactly(__m512i sum, const double *scale)
{
    __m512d low = _mm512_cvtepi32_pd(_mm512_castsi512_si256(sum));
    __m512d high = _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(sum, 1));
    __m256i whole = _mm512_cvtpd_epi32(_mm512_mul_pd(low, _mm512_load_pd(scale)));

    return _mm512_inserti64x4(
        _mm512_castsi256_si512(whole),
        _mm512_cvtpd_epi32(_mm512_mul_pd(high, _mm512_load_pd(scale + INT8_UNIT / 2))), 1);
}

/* 16 integers as bytes. */
INLINE __m128i narrow(__m512i whole, __m512i zero, bool is_signed)
{
    whole = _mm512_add_epi32(whole, zero);
    if (is_signed)
        return _mm512_cvtsepi32_epi8(whole);
    return _mm512_cvtusepi32_epi8(_mm512_max_epi32(whole, _mm512_setzero_si512()));
}

/* The same of two to four times as many; those that are not there are some others. */
INLINE __m512i narrow_all(const __m512i whole[PARTS], int parts, __m512i zeros, bool is_signed)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), zeros), high = low;

    if (parts > 2)
        high = _mm512_adds_epi16(_mm512_packs_epi32(whole[2], whole[parts - 1]), zeros);
    low = is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    return _mm512_permutexvar_epi32(order, low);
}

/* parts: registers of a row, a constant wherever this is inlined, and so are is_signed and has_zeros. */
INLINE void finish(const struct int8_rows *rows, const struct int8_product *p, int64_t row,
                   int64_t row_end, const int32_t *sums, int parts, bool is_signed, bool has_zeros)
{
    const __m512i zero = _mm512_set1_epi32(rows->zero);
    const __m512i zeros = _mm512_set1_epi16((int16_t)rows->zero);
    const __mmask64 kept = UINT64_MAX >> (INT8_LINE - rows->columns);
    uint8_t *y = (uint8_t *)p->y + row * p->y_line + rows->begin;
    __m512i add[PARTS], whole[PARTS];
    __m512 scale[PARTS];

#define EACH(DO)                                                                                   \
    DO(0);                                                                                         \
    if (parts > 1)                                                                                 \
        DO(1);                                                                                     \
    if (parts > 2)                                                                                 \
        DO(2);                                                                                     \
    if (parts > 3)                                                                                 \
    DO(3)
#define LOAD(i)                                                                                    \
    do {                                                                                           \
        add[i] = _mm512_load_si512(rows->add + (i)*INT8_UNIT);                                     \
        scale[i] = _mm512_load_ps(rows->scale + (i)*INT8_UNIT);                                    \
    } while (0)
#define SUM(i)                                                                                     \
    do {                                                                                           \
        sum[i] = _mm512_add_epi32(_mm512_loadu_si512(sums + (i)*INT8_UNIT), add[i]);               \
        if (has_zeros)                                                                             \
            sum[i] = _mm512_sub_epi32(                                                             \
                sum[i],                                                                            \
                _mm512_mullo_epi32(a_sum, _mm512_load_si512(rows->zeros + (i)*INT8_UNIT)));        \
    } while (0)
#define QUANTISE(i) whole[i] = quantise(sum[i], scale[i], &furthest)
#define EXACTLY(i)  whole[i] = quantise_exactly(sum[i], rows->exact + (i)*INT8_UNIT)

    EACH(LOAD);
    for (; row < row_end; row++, sums += INT8_LINE, y += p->y_line) {
        __m512i a_sum = has_zeros ? _mm512_set1_epi32(p->a_sums[row]) : zero, sum[PARTS];
        __m512 furthest = _mm512_setzero_ps();

        EACH(SUM);
        EACH(QUANTISE);
        if (_mm512_cmp_ps_mask(furthest, _mm512_set1_ps(0.4999f), _CMP_GT_OQ)) {
            EACH(EXACTLY);
        }
        if (parts == 1)
            _mm_mask_storeu_epi8(y, (__mmask16)kept, narrow(whole[0], zero, is_signed));
        else
            _mm512_mask_storeu_epi8(y, kept, narrow_all(whole, parts, zeros, is_signed));
    }
#undef EACH
#undef LOAD
#undef SUM
#undef QUANTISE
#undef EXACTLY
}

#define PARTS_OF(n)                                                                                \
    case n:                                                                                        \
        if (rows->is_signed && rows->has_zeros)                                                    \
            finish(rows, p, row, row_end, sums, n, true, true);                                    \
        else if (rows->is_signed)                                                                  \
            finish(rows, p, row, row_end, sums, n, true, false);                                   \
        else if (rows->has_zeros)                                                                  \
            finish(rows, p, row, row_end, sums, n, false, true);                                   \
        else                                                                                       \
            finish(rows, p, row, row_end, sums, n, false, false);                                  \
        break

ISA_TARGET_avx512 void int8_rows_finish(const struct int8_rows *rows, const struct int8_product *p,
                                        int64_t row, int64_t row_end, const int32_t *sums)
{
    switch ((rows->columns + INT8_UNIT - 1) / INT8_UNIT) {
        PARTS_OF(1);
        PARTS_OF(2);
        PARTS_OF(3);
        PARTS_OF(4);
    }
}

void int8_rows_all(const struct int8_product *p, int64_t row, int64_t row_end, int64_t begin,
                   int64_t end, int32_t *sums)
{
    struct int8_rows rows;

    if (int8_rows_begin(&rows, p, begin, end))
        int8_rows_finish(&rows, p, row, row_end, sums);
    else
        int8_finish_rows_avx512(p, row, row_end, begin, end, sums);
}

#endif
