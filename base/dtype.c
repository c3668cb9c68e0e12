/* SPDX-License-Identifier: Apache-2.0 */
/* Spellings of element types: those of MegEngine, of PyTorch (of C++, c10 and its own) and of ONNX
 * Runtime beside the short ones of the store. */
#include "base/dtype.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* MegEngine's first. */
static const char *const names[][2] = {
    {"Float32", "f32"},      {"Float16", "f16"},
    {"BFloat16", "bf16"},    {"Float64", "f64"},
    {"Int8", "i8"},          {"Int16", "i16"},
    {"Int32", "i32"},        {"Int64", "i64"},
    {"Uint8", "u8"},         {"Uint16", "u16"},
    {"Uint32", "u32"},       {"Uint64", "u64"},
    {"Bool", "bool"},        {"Complex64", "c64"},
    {"float", "f32"},        {"double", "f64"},
    {"c10::Half", "f16"},    {"c10::BFloat16", "bf16"},
    {"int", "i32"},          {"long int", "i64"},
    {"long", "i64"},         {"short", "i16"},
    {"short int", "i16"},    {"signed char", "i8"},
    {"unsigned char", "u8"}, {"c10::complex<float>", "c64"},
    {"Half", "f16"},         {"Byte", "u8"},
    {"Char", "i8"},
};

const char *dtype_short(const char *name)
{
    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(name, names[i][0]) == 0)
            return names[i][1];
    }
    return name;
}

const char *dtype_megengine(const char *name)
{
    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i][1]) == 0)
            return names[i][0];
    }
    return name;
}
