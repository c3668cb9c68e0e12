/* SPDX-License-Identifier: Apache-2.0 */
/* Saying how far something is. */
#include "base/progress.h"

#include "base/amount.h"
#include "base/clock.h"
#include "base/text.h"

#define SECOND_NS UINT64_C(1000000000)

static void say_bytes(FILE *out, double seconds, uint64_t done_bytes, uint64_t total_bytes)
{
    double rate = (double)done_bytes / seconds;
    char done[32], total[32], speed[32];

    text_print(out, "\r\033[Kreading: %s",
               amount_format_bytes(done, sizeof(done), (double)done_bytes));
    if (total_bytes >= done_bytes && rate > 0)
        text_print(out, " of %s, %.0f s left",
                   amount_format_bytes(total, sizeof(total), (double)total_bytes),
                   (double)(total_bytes - done_bytes) / rate);
    text_print(out, ", %s/s", amount_format_bytes(speed, sizeof(speed), rate));
}

static void say_share(FILE *out, double seconds, const char *what, double done, double total)
{
    text_print(out, "\r\033[K%s: %.0f %%", what, 100 * done / total);
    if (done > 0)
        text_print(out, ", %.0f s left", seconds * (total - done) / done);
}

void progress_say_at(struct progress *progress, uint64_t now_ns, const char *what, uint64_t done,
                     uint64_t total)
{
    double seconds;

    if (!progress->start_ns)
        progress->start_ns = now_ns;
    if (now_ns - progress->start_ns < SECOND_NS ||
        (progress->last_ns && now_ns - progress->last_ns < SECOND_NS / 10))
        return;
    progress->last_ns = now_ns;
    seconds = (double)(now_ns - progress->start_ns) / 1e9;
    if (!what)
        say_bytes(progress->out, seconds, done, total);
    else
        say_share(progress->out, seconds, what, (double)(done < total ? done : total),
                  (double)(total ? total : 1));
    fflush(progress->out);
}

void progress_update(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    struct progress *progress = context;

    if (progress->is_shown)
        progress_say_at(progress, ot_clock_ns(CLOCK_MONOTONIC), NULL, done_bytes, total_bytes);
}

void progress_share(struct progress *progress, const char *what, uint64_t done, uint64_t total)
{
    if (progress && progress->is_shown)
        progress_say_at(progress, ot_clock_ns(CLOCK_MONOTONIC), what, done, total);
}

void progress_end(struct progress *progress)
{
    if (!progress)
        return;
    if (progress->last_ns) {
        fprintf(progress->out, "\r\033[K");
        fflush(progress->out);
    }
    progress->start_ns = progress->last_ns = 0;
}
