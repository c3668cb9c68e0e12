# SPDX-License-Identifier: Apache-2.0
"""Models for ONNX Runtime, byte by byte: Conv, Relu, GlobalAveragePool, Flatten, Gemm, Softmax; a chain of Neg."""
import struct


def varint(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, *dims):
    count = 1
    for dim in dims:
        count *= dim
    values = [((i * 7919 + len(name) * 31) % 200 - 100) / 1000 for i in range(count)]
    return b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name) + \
        field(9, struct.pack(f"<{count}f", *values))


def node(kind, name, inputs, output, **attributes):
    out = b"".join(field(1, value) for value in inputs) + field(2, output) + field(3, name) + field(4, kind)
    for key, value in attributes.items():
        attribute = field(1, key)
        if isinstance(value, int):
            attribute += field(3, value) + field(20, 2)
        else:
            attribute += b"".join(field(8, item) for item in value) + field(20, 7)
        out += field(5, attribute)
    return out


def value(name, *dims):
    shape = b"".join(field(1, field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def chain(length):
    """Next to nothing to compute, so that what a run and a node cost more is not lost in it."""
    names = ["x", *(f"t{i}" for i in range(length - 1)), "y"]
    graph = b"".join(field(1, node("Neg", f"neg{i}", [names[i]], names[i + 1])) for i in range(length))
    graph += field(2, "net") + field(11, value("x", 2, 10)) + field(12, value("y", 2, 10))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def model(size=32):
    nodes = [
        node("Conv", "conv0", ["x", "w0", "b0"], "c0", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", "relu0", ["c0"], "r0"),
        node("Conv", "conv1", ["r0", "w1"], "c1", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", "gap", ["c1"], "g"),
        node("Flatten", "flat", ["g"], "f"),
        node("Gemm", "fc", ["f", "w2", "b2"], "l", transB=1),
        node("Softmax", "prob", ["l"], "y"),
    ]
    graph = b"".join(field(1, item) for item in nodes) + field(2, "net")
    for name, dims in {"w0": (8, 3, 3, 3), "b0": (8,), "w1": (16, 8, 3, 3), "w2": (10, 16), "b2": (10,)}.items():
        graph += field(5, tensor(name, *dims))
    graph += field(11, value("x", 2, 3, size, size)) + field(12, value("y", 2, 10))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))
