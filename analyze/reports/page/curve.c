/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of steps with a bound on their points. */
#include "analyze/reports/page/page.h"

void page_curve_begin(struct page_curve *curve, size_t point_count, int64_t length_ns, size_t most)
{
    *curve = (struct page_curve){.stretch_ns = 1};
    if (point_count > most)
        curve->stretch_ns = length_ns / (int64_t)(most / 2) + 1;
}

int page_curve_add(struct page_curve *curve, int64_t time_ns, double value)
{
    struct page_point *points = curve->points.items;
    size_t count = curve->points.count;
    const struct page_point point = {time_ns, value};
    int64_t stretch = time_ns / curve->stretch_ns;

    curve->point_count++;
    if (count >= 2 && points[count - 2].time_ns / curve->stretch_ns == stretch) {
        if (points[count - 1].value > points[count - 2].value)
            points[count - 2] = points[count - 1];
        points[count - 1] = point;
        return 0;
    }
    return array_push(&curve->points, point);
}
