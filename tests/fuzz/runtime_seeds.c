/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the seeds of the runtime's fuzz targets: tests/fuzz/runtime_seeds tests/fuzz/corpus */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/seed.h"
#include "tests/support/onnx_sample.h"

static void write_seed(const char *folder, const char *target, const char *name, const void *bytes,
                       size_t size)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, target);
    if (mkdir(path, 0777) < 0 && errno != EEXIST) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    seed_write(path, name, bytes, size);
}

static void write_model(const char *folder, const char *name, const struct onnx_sample *sample)
{
    size_t size;
    uint8_t *bytes = onnx_sample_pack(sample, &size);

    if (!bytes)
        exit(1);
    write_seed(folder, "onnx", name, bytes, size);
    free(bytes);
}

/* The sample with another first node, over the same initialiser. */
static void write_operator(const char *folder, char *op_type, char *attribute, const int64_t *ints,
                           size_t count)
{
    struct onnx_sample s;
    int64_t copy[8];

    onnx_sample_init(&s);
    s.nodes[0].op_type = op_type;
    s.shape.n_dim = 4;
    s.weight.n_dims = 4;
    s.weight_dims[0] = 1;
    s.weight_dims[1] = 3;
    s.weight_dims[2] = 1;
    s.weight_dims[3] = 2;
    s.graph.n_output = 1;
    s.output.type = NULL;
    if (attribute) {
        memcpy(copy, ints, count * sizeof(copy[0]));
        s.nodes[0].n_attribute = 1;
        s.attribute.name = attribute;
        s.attribute.has_type = 1;
        s.attribute.type = count == 1 ? 2 : 7;
        s.attribute.has_i = count == 1;
        s.attribute.i = copy[0];
        s.attribute.ints = copy;
        s.attribute.n_ints = count == 1 ? 0 : count;
    }
    write_model(folder, op_type, &s);
}

static void write_models(const char *folder)
{
    static const int64_t zero[] = {0};
    static const int64_t two[] = {2, 2};
    struct onnx_control_sample control;
    struct onnx_sample s;
    size_t size;
    uint8_t tensor[256];

    onnx_sample_init(&s);
    write_model(folder, "sample", &s);
    size = onnx__tensor_proto__pack(&s.weight, tensor);
    write_seed(folder, "onnx", "tensor", tensor, size);
    s.weight.has_data_location = 1;
    s.weight.data_location = 1;
    write_model(folder, "external", &s);
    write_operator(folder, "Conv", "strides", two, 2);
    write_operator(folder, "Concat", "axis", zero, 1);
    write_operator(folder, "MatMul", NULL, NULL, 0);
    write_operator(folder, "MaxPool", "kernel_shape", two, 2);
    write_operator(folder, "Gather", "axis", zero, 1);
    write_operator(folder, "ConvTranspose", "output_shape", two, 2);
    write_operator(folder, "LpPool", "kernel_shape", two, 2);
    onnx_control_sample_init(&control);
    write_model(folder, "If", &control.outer);
}

static void write_text(const char *folder, const char *target, const char *name, const char *text)
{
    write_seed(folder, target, name, text, strlen(text));
}

static void write_npy(const char *folder, const char *name, const char *header, size_t data_bytes)
{
    uint8_t bytes[256] = "\x93NUMPY\x01";
    size_t length = strlen(header);

    bytes[8] = (uint8_t)length;
    memcpy(bytes + 10, header, length);
    write_seed(folder, "input_npy", name, bytes, 10 + length + data_bytes);
}

int main(int argc, char **argv)
{
    const char *folder = argv[1];

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    write_models(folder);
    write_text(folder, "input_json", "float",
               "{\"x\": {\"shape\": [2, 2], \"type\": \"float32\", \"raw\": [1, 2.5, -3e2, 0]}}");
    write_text(
        folder, "input_json", "two",
        "{\"a\": {\"shape\": [], \"type\": \"int8\", \"raw\": [7]}, \"b\\u0041\": {\"type\": "
        "\"bool\", \"raw\": [true], \"shape\": [1]}}");
    write_text(folder, "input_text", "nested", "[[1,2],[3,4.5]]");
    write_text(folder, "input_text", "shape", "{1, 3, 224}");
    write_npy(folder, "float", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24);
    write_npy(folder, "fortran", "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2)}", 8);
    write_text(folder, "input_pnm", "grey", "P5\n# note\n2 2\n255\nabcd");
    write_text(folder, "input_pnm", "colour", "P6 1 1 65535 abcdef");
    return 0;
}
