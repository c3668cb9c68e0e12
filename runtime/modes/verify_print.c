/* SPDX-License-Identifier: Apache-2.0 */
/* What --verify prints: a line per output, or one JSON document. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "runtime/graph/texts.h"
#include "runtime/modes/verify_print.h"

void verify_print_begin(struct verify_printer *printer, FILE *out, bool is_json)
{
    *printer = (struct verify_printer){.out = out, .is_json = is_json};
    json_init_memory(&printer->json);
    if (!is_json)
        return;
    json_set_indent(&printer->json, 3);
    json_begin_object(&printer->json);
    json_key(&printer->json, "version");
    json_int(&printer->json, 1);
    json_key(&printer->json, "data_sets");
    json_begin_array(&printer->json);
}

void verify_print_set(struct verify_printer *printer, const char *name)
{
    printer->set = name;
    printer->set_failed = false;
    if (!printer->is_json)
        return;
    json_begin_object(&printer->json);
    json_key(&printer->json, "name");
    json_string(&printer->json, name);
    json_key(&printer->json, "outputs");
    json_begin_array(&printer->json);
}

static void write_dims(struct json_writer *json, const char *key, const struct shape *shape)
{
    json_key(json, key);
    json_begin_array(json);
    for (int i = 0; i < shape->rank; i++)
        json_int(json, shape->dims[i]);
    json_end_array(json);
}

static void write_form(struct json_writer *json, const char *key, const struct tensor_view *tensor)
{
    json_key(json, key);
    json_begin_object(json);
    json_key(json, "dtype");
    json_string(json, dtype_name(tensor->dtype));
    write_dims(json, "shape", &tensor->shape);
    json_end_object(json);
}

/* The text of an element of a tensor of strings. */
static const char *text_of(long double number)
{
    size_t length;

    return texts_get((int64_t)number, &length);
}

static void write_number(struct json_writer *json, const struct tensor_view *tensor,
                         long double number)
{
    if (tensor->dtype == DTYPE_STRING)
        json_string(json, text_of(number));
    else
        json_double(json, (double)number);
}

static void write_worst(struct json_writer *json, const struct tensor_view *expected,
                        const struct comparison *comparison)
{
    int64_t index = comparison->worst_index;
    struct shape position = {.rank = expected->shape.rank};

    json_key(json, "worst");
    if (index < 0) {
        json_null(json);
        return;
    }
    for (int i = position.rank - 1; i >= 0; i--) {
        position.dims[i] = index % expected->shape.dims[i];
        index /= expected->shape.dims[i];
    }
    json_begin_object(json);
    write_dims(json, "index", &position);
    json_key(json, "expected");
    write_number(json, expected, comparison->worst_expected);
    json_key(json, "got");
    write_number(json, expected, comparison->worst_got);
    json_key(json, "error");
    json_double(json, comparison->worst_error);
    json_key(json, "allowed");
    json_double(json, comparison->worst_allowed);
    json_end_object(json);
}

static void write_output(struct verify_printer *printer, const char *name,
                         const struct tensor_view *got, const struct tensor_view *expected,
                         const struct comparison *comparison)
{
    struct json_writer *json = &printer->json;

    json_begin_object(json);
    json_key(json, "name");
    json_string(json, name);
    json_key(json, "passed");
    json_bool(json, comparison_passed(comparison));
    write_form(json, "got", got);
    write_form(json, "expected", expected);
    json_key(json, "element_count");
    json_int(json, comparison->count);
    json_key(json, "mismatch_count");
    json_int(json, comparison->mismatches);
    json_key(json, "rms");
    json_double(json, comparison->rms);
    write_worst(json, expected, comparison);
    json_end_object(json);
}

static void print_worst(FILE *out, const struct tensor_view *expected,
                        const struct comparison *comparison)
{
    char text[SHAPE_TEXT_BYTES];

    if (comparison->worst_index < 0)
        return;
    if (comparison->rms > 0)
        text_print(out, "; root mean square %.3g", comparison->rms);
    if (expected->dtype == DTYPE_STRING) {
        if (comparison->mismatches > 0)
            text_print(out, "; at %s: expected \"%s\", got \"%s\"",
                       compare_index_text(&expected->shape, comparison->worst_index, text),
                       text_of(comparison->worst_expected), text_of(comparison->worst_got));
        return;
    }
    text_print(out, "; worst at %s: expected %.9Lg, got %.9Lg, error %.3g, allowed %.3g",
               compare_index_text(&expected->shape, comparison->worst_index, text),
               comparison->worst_expected, comparison->worst_got, comparison->worst_error,
               comparison->worst_allowed);
}

static void print_output(struct verify_printer *printer, const char *name,
                         const struct tensor_view *got, const struct tensor_view *expected,
                         const struct comparison *comparison)
{
    char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
    FILE *out = printer->out;

    text_print(out, "%s: output '%s': ", printer->set, name);
    if (!comparison->same_form) {
        text_print(out, "DIFFERS: expected %s %s, got %s %s\n", dtype_name(expected->dtype),
                   shape_text(&expected->shape, a), dtype_name(got->dtype),
                   shape_text(&got->shape, b));
        return;
    }
    if (comparison->mismatches > 0)
        fprintf(out, "DIFFERS in %" PRId64 " of %" PRId64 " elements", comparison->mismatches,
                comparison->count);
    else
        text_print(out, "ok, %s %s", dtype_name(got->dtype), shape_text(&got->shape, a));
    print_worst(out, expected, comparison);
    fputc('\n', out);
}

void verify_print_output(struct verify_printer *printer, const char *name,
                         const struct tensor_view *got, const struct tensor_view *expected,
                         const struct comparison *comparison)
{
    printer->set_failed |= !comparison_passed(comparison);
    if (printer->is_json)
        write_output(printer, name, got, expected, comparison);
    else
        print_output(printer, name, got, expected, comparison);
}

void verify_print_set_end(struct verify_printer *printer)
{
    printer->set_count++;
    printer->failed_count += printer->set_failed;
    if (!printer->is_json)
        return;
    json_end_array(&printer->json);
    json_key(&printer->json, "passed");
    json_bool(&printer->json, !printer->set_failed);
    json_end_object(&printer->json);
}

int verify_print_end(struct verify_printer *printer, bool passed,
                     const struct verify_tolerance *tolerance)
{
    struct json_writer *json = &printer->json;
    char *text;
    int rc;

    if (!printer->is_json) {
        text_print(printer->out, "%s: %u of %u data sets agree within ",
                   passed ? "passed" : "FAILED", printer->set_count - printer->failed_count,
                   printer->set_count);
        verify_tolerance_print(tolerance, printer->out);
        fputc('\n', printer->out);
        return fflush(printer->out) != 0 ? -errno : 0;
    }
    json_end_array(json);
    verify_tolerance_write(tolerance, json);
    json_key(json, "passed");
    json_bool(json, passed);
    json_end_object(json);
    rc = json_finish(json);
    if (rc < 0)
        return rc;
    text = json_take(json, NULL);
    rc = text_put_page(text, printer->out) < 0 || fflush(printer->out) != 0 ? -errno : 0;
    free(text);
    return rc;
}

void verify_print_deinit(struct verify_printer *printer)
{
    json_deinit(&printer->json);
}
