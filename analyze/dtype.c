/* SPDX-License-Identifier: Apache-2.0 */
/* Spellings of element types: MegEngine's long names beside the short ones of the store. */
#include "analyze/dtype.h"

#include <stddef.h>
#include <strings.h>

const char *dtype_short(const char *name)
{
    static const char *const names[][2] = {
        {"Float32", "f32"}, {"Float16", "f16"},   {"BFloat16", "bf16"}, {"Float64", "f64"},
        {"Int8", "i8"},     {"Int16", "i16"},     {"Int32", "i32"},     {"Int64", "i64"},
        {"Uint8", "u8"},    {"Uint16", "u16"},    {"Uint32", "u32"},    {"Uint64", "u64"},
        {"Bool", "bool"},   {"Complex64", "c64"},
    };

    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(name, names[i][0]) == 0)
            return names[i][1];
    }
    return name;
}
