/* SPDX-License-Identifier: Apache-2.0 */
/* Types that are stored only, the truth: the nearest number is looked for among all. */
#include "kernels/kernels.h"
#include "kernels/ref/number.h"
#include "kernels/ref/small.h"

#include <math.h>

/* sign, exponent, fraction. */
struct form {
    int fraction, bias;
    uint8_t largest;       /* the code of the largest number */
    uint8_t infinity, nan; /* 0: there is none */
    bool has_one_zero;     /* a negative zero is the one NaN */
};

static const struct form *form_of(enum kernel_dtype dtype)
{
    static const struct form forms[] = {
        [KERNEL_F8E4M3FN - KERNEL_DTYPES] = {3, 7, 0x7e, 0, 0x7f, false},
        [KERNEL_F8E4M3FNUZ - KERNEL_DTYPES] = {3, 8, 0x7f, 0, 0x80, true},
        [KERNEL_F8E5M2 - KERNEL_DTYPES] = {2, 15, 0x7b, 0x7c, 0x7e, false},
        [KERNEL_F8E5M2FNUZ - KERNEL_DTYPES] = {2, 16, 0x7f, 0, 0x80, true},
        [KERNEL_F4E2M1 - KERNEL_DTYPES] = {1, 1, 0x7, 0, 0, false},
    };

    return &forms[dtype - KERNEL_DTYPES];
}

static bool is_integer(enum kernel_dtype dtype)
{
    return !kernel_dtype_is_real(dtype) &&
           (dtype < KERNEL_DTYPES || (dtype >= KERNEL_I4 && dtype <= KERNEL_U2));
}

/* The number of a code without its sign, at most the largest. */
static double magnitude(uint8_t code, const struct form *form)
{
    int exponent = code >> form->fraction, fraction = code & ((1 << form->fraction) - 1);

    return exponent
               ? ldexp(fraction + (1 << form->fraction), exponent - form->bias - form->fraction)
               : ldexp(fraction, 1 - form->bias - form->fraction);
}

double ref_small_to_f64(uint8_t code, enum kernel_dtype dtype)
{
    uint8_t sign = dtype == KERNEL_F4E2M1 ? 8 : 0x80, size = code & (uint8_t)(sign - 1);
    const struct form *form;
    double number;

    if (dtype == KERNEL_F8E8M0)
        return code == 0xff ? (double)NAN : ldexp(1.0, code - 127);
    form = form_of(dtype);
    if (form->has_one_zero && code == 0x80)
        return (double)NAN;
    if (size > form->largest)
        number = form->infinity && size == form->infinity ? (double)INFINITY : (double)NAN;
    else
        number = magnitude(size, form);
    return code & sign ? -number : number;
}

/* The exponent alone. What is below the smallest is that, as is 0. */
static uint8_t power_code(double number, const struct kernel_cast_small *how)
{
    double low, above;
    int code;

    if (isnan(number) || (isinf(number) && !how->saturates))
        return 0xff;
    number = fabs(number);
    if (number > 0x1p127)
        return how->saturates || (how->rounding == SMALL_DOWN && number < 0x1p128) ? 0xfe
               : how->rounding == SMALL_NEAREST && number < 0x1.8p127              ? 0xfe
                                                                                   : 0xff;
    if (number <= 0x1p-127)
        return 0;
    code = ilogb(number) + 127;
    low = ldexp(1.0, code - 127);
    above = number - low;
    if (how->rounding == SMALL_NEAREST ? above >= 0.5 * low
                                       : how->rounding == SMALL_UP && above > 0.0)
        code++;
    return (uint8_t)code;
}

uint8_t ref_small_code(double number, const struct kernel_cast_small *how)
{
    uint8_t sign = how->to == KERNEL_F4E2M1 ? 8 : 0x80, best = 0;
    const struct form *form;
    double size = fabs(number), beyond;

    if (how->to == KERNEL_F8E8M0)
        return power_code(number, how);
    form = form_of(how->to);
    sign = signbit(number) ? sign : 0;
    if (isnan(number))
        return form->has_one_zero ? form->nan : form->nan ? form->nan | sign : 8;
    /* Where the next number would be, if there were one. */
    beyond = magnitude((uint8_t)(form->largest + 1), form);
    if (form->largest == 0x7f)
        beyond = 2.0 * magnitude(form->largest, form) - magnitude(form->largest - 1, form);
    for (uint8_t code = 1; code <= form->largest; code++) {
        double here = fabs(magnitude(code, form) - size),
               before = fabs(magnitude(best, form) - size);

        if (here < before || (here == before && code % 2 == 0))
            best = code;
    }
    if (!how->saturates && how->to != KERNEL_F4E2M1 &&
        (isinf(size) || beyond - size < size - magnitude(form->largest, form) ||
         (beyond - size == size - magnitude(form->largest, form) && form->largest % 2 == 1)))
        return form->has_one_zero ? form->nan
                                  : (form->infinity ? form->infinity : form->nan) | sign;
    if (isinf(size))
        best = form->largest;
    return best == 0 && form->has_one_zero ? 0 : best | sign;
}

/* The low bits of an integer as a small one. */
static int64_t wrap(int64_t number, enum kernel_dtype to)
{
    int bits = to == KERNEL_I4 || to == KERNEL_U4 ? 4 : 2;
    int64_t low = number & ((1 << bits) - 1);

    if (to != KERNEL_I4 && to != KERNEL_I2)
        return low;
    return low >= 1 << (bits - 1) ? low - (1 << bits) : low;
}

static void cast_one(void *y, const void *x, int64_t i, const struct kernel_cast_small *s)
{
    if (is_integer(s->to) && (is_integer(s->from) || s->to >= KERNEL_DTYPES)) {
        int64_t number = 0;

        if (is_integer(s->from))
            number = ref_get_i64(x, s->from, i);
        else
            ref_set_f64(&number, KERNEL_I64, 0, ref_get_f64(x, s->from, i));
        if (s->to == KERNEL_BOOL)
            number = number != 0;
        else if (s->to >= KERNEL_DTYPES)
            number = wrap(number, s->to);
        ref_set_i64(y, s->to, i, number);
    } else if (is_integer(s->to) || s->to < KERNEL_DTYPES) {
        ref_set_f64(y, s->to, i, ref_get_f64(x, s->from, i));
    } else {
        ((uint8_t *)y)[i] = ref_small_code(ref_get_f64(x, s->from, i), s);
    }
}

void cast_small_ref(void *y, const void *x, size_t count, const struct kernel_cast_small *shape)
{
    for (int64_t i = 0; i < (int64_t)count; i++)
        cast_one(y, x, i, shape);
}
