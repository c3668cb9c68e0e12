/* SPDX-License-Identifier: Apache-2.0 */
/* fprintf() for texts from outside: the format is cut at its conversions, and what stands for %s is
 * written as it may be shown. */
#include <assert.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { SPEC_BYTES = 48 };

/* "%-*.3lld", with the numbers that stand for '*' put in. */
struct spec {
    char text[SPEC_BYTES];
    size_t length;
    bool is_left;
    int width, precision; /* -1: none */
    char size[3];         /* "", "h", "ll", ... */
    char kind;            /* 'd' */
};

static void append(struct spec *spec, char byte)
{
    assert(spec->length + 1 < sizeof(spec->text));
    spec->text[spec->length++] = byte;
    spec->text[spec->length] = '\0';
}

/* Digits, or the next argument for '*'; at most a million columns. */
static const char *read_count(const char *at, int *out_count, va_list *args)
{
    int count = 0;

    if (*at == '*') {
        *out_count = va_arg(*args, int);
        return at + 1;
    }
    for (; *at >= '0' && *at <= '9'; at++)
        count = count < 100000 ? count * 10 + *at - '0' : count;
    *out_count = count;
    return at;
}

/* What stands behind a '%'. Returns where it ends. */
static const char *read_spec(const char *at, struct spec *spec, va_list *args)
{
    *spec = (struct spec){.width = -1, .precision = -1};
    append(spec, '%');
    for (; *at != '\0' && strchr("-+ #0", *at); at++) {
        spec->is_left = spec->is_left || *at == '-';
        append(spec, *at);
    }
    if (*at == '*' || (*at >= '1' && *at <= '9'))
        at = read_count(at, &spec->width, args);
    if (spec->width < -1) { /* as the standard has it for '*' */
        append(spec, '-');
        spec->is_left = true;
        spec->width = -spec->width;
    }
    if (*at == '.')
        at = read_count(at + 1, &spec->precision, args);
    for (size_t i = 0; i < sizeof(spec->size) - 1 && *at != '\0' && strchr("hlzjtL", *at); i++)
        spec->size[i] = *at++;
    spec->kind = *at;
    assert(*at != '\0' && "a conversion that does not end");
    return at + 1;
}

static void finish_spec(struct spec *spec)
{
    char counts[SPEC_BYTES / 2] = "";

    if (spec->width >= 0 && spec->precision >= 0)
        snprintf(counts, sizeof(counts), "%d.%d", spec->width, spec->precision);
    else if (spec->width >= 0)
        snprintf(counts, sizeof(counts), "%d", spec->width);
    else if (spec->precision >= 0)
        snprintf(counts, sizeof(counts), ".%d", spec->precision);
    for (const char *at = counts; *at != '\0'; at++)
        append(spec, *at);
    for (const char *at = spec->size; *at != '\0'; at++)
        append(spec, *at);
    append(spec, spec->kind);
}

static size_t shown_columns(const char *text, size_t length)
{
    char shown[TEXT_SHOWN_BYTES];
    size_t columns = 0;

    for (size_t at = 0; at < length;) {
        at += text_show_next(text + at, length - at, shown);
        columns += text_columns(shown, strlen(shown));
    }
    return columns;
}

static int pad(size_t columns, FILE *stream)
{
    for (size_t i = 0; i < columns; i++)
        if (putc(' ', stream) == EOF)
            return EOF;
    return 0;
}

static int print_text(const struct spec *spec, const char *text, FILE *stream)
{
    size_t length, columns, width = spec->width > 0 ? (size_t)spec->width : 0;
    int rc;

    if (!text)
        text = "(null)";
    length = spec->precision >= 0 ? strnlen(text, (size_t)spec->precision) : strlen(text);
    columns = width ? shown_columns(text, length) : 0;
    width = width > columns ? width - columns : 0;
    rc = spec->is_left ? 0 : pad(width, stream);
    if (rc == 0)
        rc = text_put_some(text, length, stream);
    if (rc == 0 && spec->is_left)
        rc = pad(width, stream);
    return rc;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int print_integer(const struct spec *spec, va_list *args, FILE *stream)
{
    switch (spec->size[0]) {
    case 'l':
        return spec->size[1] == 'l' ? fprintf(stream, spec->text, va_arg(*args, long long))
                                    : fprintf(stream, spec->text, va_arg(*args, long));
    case 'j':
        return fprintf(stream, spec->text, va_arg(*args, intmax_t));
    case 'z':
        return fprintf(stream, spec->text, va_arg(*args, size_t));
    case 't':
        return fprintf(stream, spec->text, va_arg(*args, ptrdiff_t));
    default:
        return fprintf(stream, spec->text, va_arg(*args, int));
    }
}

static int print_one(struct spec *spec, va_list *args, FILE *stream)
{
    finish_spec(spec);
    switch (spec->kind) {
    case '%':
        return putc('%', stream);
    case 's':
        return print_text(spec, va_arg(*args, const char *), stream);
    case 'c':
        return fprintf(stream, spec->text, va_arg(*args, int));
    case 'p':
        return fprintf(stream, spec->text, va_arg(*args, void *));
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
        return print_integer(spec, args, stream);
    default:
        assert(strchr("aAeEfFgG", spec->kind));
        return spec->size[0] == 'L' ? fprintf(stream, spec->text, va_arg(*args, long double))
                                    : fprintf(stream, spec->text, va_arg(*args, double));
    }
}

#pragma GCC diagnostic pop

static int print_pieces(FILE *stream, const char *format, va_list *args)
{
    struct spec spec;
    int rc = 0;

    while (rc >= 0 && *format != '\0') {
        size_t plain = strcspn(format, "%");

        if (plain > 0 && fwrite(format, 1, plain, stream) != plain)
            rc = EOF;
        format += plain;
        if (*format == '\0' || rc < 0)
            break;
        format = read_spec(format + 1, &spec, args);
        rc = print_one(&spec, args, stream);
    }
    return rc < 0 ? EOF : 0;
}

/* In one piece, so that lines of several programs do not mix. */
static int print_at_once(FILE *stream, FILE *memory, char **text, const size_t *length,
                         const char *format, va_list *args)
{
    int rc = print_pieces(memory, format, args);

    if (fclose(memory) != 0)
        rc = EOF;
    else if (rc == 0 && fwrite(*text, 1, *length, stream) != *length)
        rc = EOF;
    free(*text);
    return rc;
}

int text_print(FILE *stream, const char *format, ...)
{
    /* Each piece would be a write() of its own; a buffer not used yet has no size either. */
    const bool is_unbuffered = __fbufsize(stream) <= 1;
    char *text = NULL;
    size_t length = 0;
    FILE *memory = is_unbuffered ? open_memstream(&text, &length) : NULL;
    va_list args;
    int rc;

    va_start(args, format);
    rc = memory ? print_at_once(stream, memory, &text, &length, format, &args)
                : print_pieces(stream, format, &args);
    va_end(args);
    return rc;
}
