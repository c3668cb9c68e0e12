/* SPDX-License-Identifier: Apache-2.0 */
/* Which peaks hold, and how a chart shows them. */
#include "analyze/reports/roofline_machine.h"
#include "base/text_buffer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool roofline_is_of_host(const struct op_row *op)
{
    return !op->device || strncmp(op->device, "cpu", 3) == 0;
}

const struct roofline_peaks *roofline_peaks_of(const struct roofline_machine *machine,
                                               const struct op_row *op)
{
    if (!machine->threads || roofline_is_of_host(op))
        return &machine->peaks;
    return machine->device_session_id != STORE_NULL && strncmp(op->device, "cuda", 4) == 0
               ? &machine->device
               : NULL;
}

bool roofline_is_timed(const struct op_row *op)
{
    return op->cost[OP_DEVICE].calls || roofline_is_of_host(op);
}

static const struct session_row *first_session(const struct report *report)
{
    const struct session_row *rows = report->sessions->rows.items;

    while (rows->session_id != report->session_ids[0])
        rows++;
    return rows;
}

int roofline_find_machine(const struct report *report, double fastest_flop_per_s,
                          struct roofline_machine *out_machine, struct diag *diag)
{
    const struct analyze_options *options = report->options;
    const char *host = first_session(report)->host;
    struct calibration calibration;
    const struct calibrated_peaks *peaks = &calibration.one;
    int rc = query_calibration(report->source->store, host, &calibration, diag);

    if (rc < 0)
        return rc;
    /* Faster than one thread can be: it was not one thread. */
    if (fastest_flop_per_s > 1.05 * calibration.one.flop_per_s)
        peaks = &calibration.all;
    *out_machine = (struct roofline_machine){
        .peaks = {peaks->flop_per_s, peaks->bytes_per_s},
        .threads = peaks == &calibration.one ? "1 thread" : "all threads",
        .host = host ? host : "it",
        .session_id = calibration.session_id,
        .device = {calibration.device.flop_per_s, calibration.device.bytes_per_s},
        .device_session_id = calibration.device_session_id,
    };
    if (!isnan(options->peak_flops))
        out_machine->peaks.flop_per_s = options->peak_flops;
    if (!isnan(options->peak_bandwidth))
        out_machine->peaks.bytes_per_s = options->peak_bandwidth;
    if (!isnan(options->peak_flops) || !isnan(options->peak_bandwidth))
        out_machine->threads = NULL;
    return 0;
}

static void add_guide(struct roofline_guides *guides, const char *threads, enum out_kind kind,
                      double peak)
{
    struct out_value value = out_number(kind, peak);
    struct text_buffer text = {0};
    char *title = guides->titles[guides->count];

    if (isnan(peak))
        return;
    out_format_inline(&text, &value);
    snprintf(title, sizeof(guides->titles[0]), "%s%s%s", text_buffer_text(&text),
             threads ? ", " : "", threads ? threads : "");
    text_buffer_deinit(&text);
    guides->guides[guides->count++] =
        (struct out_guide){title, peak, .is_slope = kind == OUT_BYTE_RATE};
}

void roofline_make_guides(const struct roofline_machine *machine,
                          struct roofline_guides *out_guides)
{
    out_guides->count = 0;
    add_guide(out_guides, machine->threads, OUT_FLOP_RATE, machine->peaks.flop_per_s);
    add_guide(out_guides, machine->threads, OUT_BYTE_RATE, machine->peaks.bytes_per_s);
}
