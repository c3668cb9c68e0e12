/* SPDX-License-Identifier: Apache-2.0 */
/* Walking over the changes of a curve. */
#include "analyze/metrics/step_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int step_curve_add(struct step_curve *curve, int64_t time_ns, double change)
{
    return array_push(&curve->steps, ((struct curve_step){time_ns, change}));
}

static int compare_steps(const void *a, const void *b)
{
    const struct curve_step *left = a, *right = b;

    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return (left->change > right->change) - (left->change < right->change);
}

static int compare_rising(const void *a, const void *b)
{
    const struct curve_step *left = a, *right = b;

    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return (left->change < right->change) - (left->change > right->change);
}

void step_curve_sort_tail(struct step_curve *curve, size_t first, bool rises_first)
{
    int (*compare)(const void *, const void *) = rises_first ? compare_rising : compare_steps;
    struct curve_step *items = curve->steps.items;

    /* Mostly they are in order: sorting takes twice the memory. */
    for (size_t i = first + 1; i < curve->steps.count; i++) {
        if (compare(&items[i - 1], &items[i]) > 0) {
            qsort(items + first, curve->steps.count - first, sizeof(*items), compare);
            return;
        }
    }
}

void step_curve_sort(struct step_curve *curve, bool rises_first)
{
    step_curve_sort_tail(curve, 0, rises_first);
}

/* Where as much fell as rose, nothing is left, whatever the rounding of sums says. */
struct height {
    double value;
    int64_t open;
};

static void move(struct height *height, double change)
{
    height->open += (change > 0) - (change < 0);
    height->value = height->open ? height->value + change : 0;
}

struct curve_summary step_curve_summarize(const struct step_curve *curve, double threshold)
{
    struct curve_summary summary = {0};
    struct height height = {0};
    double area = 0;

    for (size_t i = 0; i < curve->steps.count; i++) {
        const struct curve_step *step = &curve->steps.items[i];
        double ns = i ? (double)(step->time_ns - curve->steps.items[i - 1].time_ns) : 0;

        area += height.value * ns;
        summary.at_least_ns += height.value >= threshold ? ns : 0;
        move(&height, step->change);
        summary.max = height.value > summary.max ? height.value : summary.max;
    }
    if (!curve->steps.count)
        return summary;
    summary.start_ns = curve->steps.items[0].time_ns;
    summary.end_ns = curve->steps.items[curve->steps.count - 1].time_ns;
    if (summary.end_ns > summary.start_ns)
        summary.mean = area / (double)(summary.end_ns - summary.start_ns);
    return summary;
}

/* The part that a time lies in; the end is in the last. */
static size_t part_of(int64_t time_ns, int64_t start_ns, double part_ns, size_t count)
{
    double place = part_ns > 0 ? (double)(time_ns - start_ns) / part_ns : 0;

    if (place < 0)
        return 0;
    return place >= (double)count ? count - 1 : (size_t)place;
}

/* A value that was held from one time to another, also for no time. */
static void hold(double value, double from_ns, double until_ns, double part_ns, size_t first,
                 size_t last, double *max, double *mean)
{
    for (size_t i = first; i <= last; i++) {
        double low = part_ns * (double)i, high = part_ns * (double)(i + 1);
        double from = from_ns > low ? from_ns : low, until = until_ns < high ? until_ns : high;

        max[i] = value > max[i] ? value : max[i];
        if (until > from)
            mean[i] += value * (until - from) / part_ns;
    }
}

void step_curve_fill(const struct step_curve *curve, int64_t start_ns, int64_t end_ns, double *max,
                     double *mean, size_t count)
{
    double part_ns = (double)(end_ns - start_ns) / (double)count;
    struct height height = {0};

    memset(max, 0, count * sizeof(*max));
    memset(mean, 0, count * sizeof(*mean));
    for (size_t i = 0; i < curve->steps.count; i++) {
        int64_t from_ns = curve->steps.items[i].time_ns;
        bool is_last = i + 1 == curve->steps.count;
        int64_t until_ns = is_last ? from_ns : curve->steps.items[i + 1].time_ns;

        move(&height, curve->steps.items[i].change);
        if (is_last || from_ns > end_ns || until_ns < start_ns)
            continue;
        hold(height.value, (double)(from_ns - start_ns), (double)(until_ns - start_ns), part_ns,
             part_of(from_ns, start_ns, part_ns, count),
             part_of(until_ns, start_ns, part_ns, count), max, mean);
    }
}

void step_curve_deinit(struct step_curve *curve)
{
    array_deinit(&curve->steps);
}

void step_curve_text(const double *values, size_t count, double most, bool is_ascii, char *text)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        double height = most > 0 ? ceil(values[i] * 8 / most) : 0;
        size_t level = height > 8 ? 8 : height > 0 ? (size_t)height : 0;

        text = stpcpy(text, is_ascii ? plain[level] : blocks[level]);
    }
}
