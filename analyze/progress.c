/* SPDX-License-Identifier: Apache-2.0 */
/* Saying how far reading is. */
#include "analyze/progress.h"

#include "base/amount.h"
#include "base/clock.h"
#include "base/text.h"

#define SECOND_NS UINT64_C(1000000000)

void progress_update_at(struct progress *progress, uint64_t now_ns, uint64_t done_bytes,
                        uint64_t total_bytes)
{
    char done[32], total[32], speed[32];
    double seconds, rate;

    if (!progress->is_shown)
        return;
    if (!progress->start_ns)
        progress->start_ns = now_ns;
    if (now_ns - progress->start_ns < SECOND_NS ||
        (progress->last_ns && now_ns - progress->last_ns < SECOND_NS / 10))
        return;
    progress->last_ns = now_ns;
    seconds = (double)(now_ns - progress->start_ns) / 1e9;
    rate = (double)done_bytes / seconds;
    text_print(progress->out, "\r\033[Kreading: %s",
               amount_format_bytes(done, sizeof(done), (double)done_bytes));
    if (total_bytes >= done_bytes && rate > 0)
        text_print(progress->out, " of %s, %.0f s left",
                   amount_format_bytes(total, sizeof(total), (double)total_bytes),
                   (double)(total_bytes - done_bytes) / rate);
    text_print(progress->out, ", %s/s", amount_format_bytes(speed, sizeof(speed), rate));
    fflush(progress->out);
}

void progress_update(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    progress_update_at(context, ot_clock_ns(CLOCK_MONOTONIC), done_bytes, total_bytes);
}

void progress_end(struct progress *progress)
{
    if (progress->last_ns) {
        fprintf(progress->out, "\r\033[K");
        fflush(progress->out);
    }
    progress->start_ns = progress->last_ns = 0;
}
