/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of signal processing: sums of cosines. */
#include <math.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

struct window {
    const char *type;
    double parts[3]; /* parts[0] - parts[1] cos(a) + parts[2] cos(2 a) */
};

static const struct window windows[] = {
    {"BlackmanWindow", {0.42, 0.5, 0.08}},
    {"HammingWindow", {25.0 / 46.0, 21.0 / 46.0, 0.0}},
    {"HannWindow", {0.5, 0.5, 0.0}},
};

static struct value *wave(struct lower *l, struct value *angle, double times)
{
    return lower_one(l, "Cos", lower_two(l, "Mul", angle, lower_double(l, times)));
}

/* In float64, so that the end of a long window is as exact as its beginning. */
static void lower_window(struct lower *l)
{
    static const int64_t none;
    static const double whole_turn = 2.0 * M_PI;
    int64_t type = node_int(l->node, "output_datatype", DTYPE_F32);
    bool is_periodic = node_int(l->node, "periodic", 1) != 0;
    const double *parts = windows[0].parts;
    struct value *size = lower_reshape(l, lower_input(l, 0), &none, 0), *range[3], *angle, *y;

    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
        if (strcmp(windows[i].type, l->node->op_type) == 0)
            parts = windows[i].parts;
    if (type != DTYPE_F32 && type != DTYPE_F64 && type != DTYPE_F16 && type != DTYPE_BF16)
        lower_refuse(l, "its result has element type %lld", (long long)type);
    size = lower_cast(l, size, DTYPE_F64);
    range[0] = lower_double(l, 0.0);
    range[1] = size;
    range[2] = lower_double(l, 1.0);
    if (!is_periodic)
        size = lower_two(l, "Sub", size, lower_double(l, 1.0));
    angle = lower_two(l, "Div", lower_op(l, "Range", range, 3), size);
    y = lower_two(l, "Mul", wave(l, angle, whole_turn), lower_double(l, -parts[1]));
    y = lower_two(l, "Add", y, lower_double(l, parts[0]));
    if (parts[2] != 0.0)
        y = lower_two(
            l, "Add", y,
            lower_two(l, "Mul", wave(l, angle, 2.0 * whole_turn), lower_double(l, parts[2])));
    lower_done(l, 0, lower_cast(l, y, (enum dtype)type));
}

#define WINDOW(type)                                                                               \
    {                                                                                              \
        {type, "Range, Cos, Mul, Add"}, 1, 1, 1, "output_datatype periodic", lower_window          \
    }

const struct lower_rule lower_windows[] = {
    WINDOW("BlackmanWindow"),
    WINDOW("HammingWindow"),
    WINDOW("HannWindow"),
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
