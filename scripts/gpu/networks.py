# SPDX-License-Identifier: Apache-2.0
"""Networks of today with random weights as ONNX models, written without any package, and the shapes of
which PyTorch makes the same: ResNet-50 (He et al. 2015, table 1, the stride on the 3x3 convolution, batch
normalisation folded into its convolution) and an encoder of Transformers (Vaswani et al. 2017, normalised
first, GELU)."""
import array
import math
import struct

from models import field, value_info, varint, weights

STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))  # blocks, width, stride of the first
EXPANSION, CLASSES = 4, 1000
FLOAT, INT64 = 1, 7
HALVES = {"float16": 10, "bfloat16": 16}
OPSET, ATTENTION_OPSET = 20, 23  # the first ones with Gelu, and with Attention
PIECE = 1 << 16  # weights repeat after so many: they are to be of a size, not to be different


def attribute(name, value):
    """An AttributeProto: an integer, a float or a list of integers."""
    if isinstance(value, list):
        return field(1, name) + b"".join(field(8, one & 2**64 - 1) for one in value) + field(20, 7)
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    return field(1, name) + field(3, value & 2**64 - 1) + field(20, 2)


class Graph:
    def __init__(self):
        self.nodes, self.tensors, self.count = [], [], 0

    def add(self, kind, inputs, outputs=1, **attributes):
        """The output's name, or the names of several."""
        self.count += 1
        names = [f"{kind.lower()}_{self.count}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(field(1, b"".join(field(1, one) for one in inputs) + b"".join(field(2, one) for one in names) +
                                field(3, f"{kind.lower()}_{self.count}") + field(4, kind) +
                                b"".join(field(5, attribute(*pair)) for pair in attributes.items())))
        return names if outputs > 1 else names[0]

    def tensor(self, dims, data, dtype=FLOAT):
        self.count += 1
        name = f"w_{self.count}"
        self.tensors.append(field(5, b"".join(field(1, dim) for dim in dims) + field(2, dtype) + field(8, name) +
                                  field(9, data)))
        return name

    def random(self, dims, spread):
        count = math.prod(dims)
        piece = weights(min(count, PIECE), spread, self.count)
        return self.tensor(dims, (piece * -(-count // PIECE))[:4 * count])

    def same(self, dims, number):
        return self.tensor(dims, array.array("f", [number] * math.prod(dims)).tobytes())

    def numbers(self, *numbers):
        return self.tensor((len(numbers),), array.array("q", numbers).tobytes(), INT64)

    def model(self, inputs, outputs, opset=OPSET):
        """Both as (name, dims) each, and where it is not FLOAT the type."""
        graph = b"".join([*self.nodes, field(2, "network"), *self.tensors, *(field(11, value_info(*one)) for one in inputs),
                          *(field(12, value_info(*one)) for one in outputs)])
        return field(1, 9) + field(7, graph) + field(8, field(1, "") + field(2, opset))


def convolution(graph, x, c_in, c_out, size, stride):
    weight = graph.random((c_out, c_in, size, size), math.sqrt(6 / (c_in * size * size)))
    return graph.add("Conv", [x, weight, graph.same((c_out,), 0.1)], strides=[stride] * 2, pads=[size // 2] * 4,
                     kernel_shape=[size] * 2)


def bottleneck(graph, x, c_in, width, stride):
    y = graph.add("Relu", [convolution(graph, x, c_in, width, 1, 1)])
    y = graph.add("Relu", [convolution(graph, y, width, width, 3, stride)])
    y = convolution(graph, y, width, width * EXPANSION, 1, 1)
    if stride != 1 or c_in != width * EXPANSION:
        x = convolution(graph, x, c_in, width * EXPANSION, 1, stride)
    return graph.add("Relu", [graph.add("Add", [y, x])])


def resnet50(batch, image=224):
    graph = Graph()
    x = graph.add("Relu", [convolution(graph, "x", 3, 64, 7, 2)])
    x = graph.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for blocks, width, stride in STAGES:
        for block in range(blocks):
            x = bottleneck(graph, x, channels, width, stride if block == 0 else 1)
            channels = width * EXPANSION
    x = graph.add("Flatten", [graph.add("GlobalAveragePool", [x])])
    x = graph.add("Gemm", [x, graph.random((CLASSES, channels), channels ** -0.5), graph.same((CLASSES,), 0.0)], transB=1)
    return graph.model([("x", (batch, 3, image, image))], [(x, (batch, CLASSES))])


def normalized(graph, x, width):
    return graph.add("LayerNormalization", [x, graph.same((width,), 1.0), graph.same((width,), 0.0)], axis=-1)


def dense(graph, x, c_in, c_out):
    return graph.add("Add", [graph.add("MatMul", [x, graph.random((c_in, c_out), c_in ** -0.5)]), graph.same((c_out,), 0.1)])


def attention(graph, q, k, v, size):
    """Of [batch, heads, rows, size] each, spelled out."""
    scores = graph.add("MatMul", [q, graph.add("Transpose", [k], perm=[0, 1, 3, 2])])
    scores = graph.add("Mul", [scores, graph.same((1,), size ** -0.5)])
    return graph.add("MatMul", [graph.add("Softmax", [scores], axis=-1), v])


def encoder(batch, rows=128, width=768, layers=12, heads=12):
    """BERT-base by default."""
    graph, x, size = Graph(), "x", width // heads
    parts, whole = graph.numbers(batch, rows, heads, size), graph.numbers(batch, rows, width)
    for _ in range(layers):
        y = normalized(graph, x, width)
        q, k, v = (graph.add("Transpose", [graph.add("Reshape", [dense(graph, y, width, width), parts])], perm=[0, 2, 1, 3])
                   for _ in range(3))
        y = graph.add("Transpose", [attention(graph, q, k, v, size)], perm=[0, 2, 1, 3])
        x = graph.add("Add", [x, dense(graph, graph.add("Reshape", [y, whole]), width, width)])
        y = dense(graph, normalized(graph, x, width), width, 4 * width)
        x = graph.add("Add", [x, dense(graph, graph.add("Gelu", [y]), 4 * width, width)])
    return graph.model([("x", (batch, rows, width))], [(x, (batch, rows, width))])


def one_attention(batch, heads=16, rows=1024, size=64):
    graph, dims = Graph(), (batch, heads, rows, size)
    y = attention(graph, "q", "k", "v", size)
    return graph.model([(name, dims) for name in "qkv"], [(y, dims)])


def stored_attention(batch, queries, keys, dtype, heads=16, size=64):
    """Attention of half precision as it is stored: its inputs are not converted."""
    graph, dtype = Graph(), HALVES[dtype]
    dims = [(batch, heads, rows, size) for rows in (queries, keys, keys)]
    y = graph.add("Attention", ["q", "k", "v"])
    return graph.model([(name, one, dtype) for name, one in zip("qkv", dims)], [(y, dims[0], dtype)], ATTENTION_OPSET)


def bound_by_memory(rows, width):
    """Operators that do little but move [rows, width], none of which another one can be made one with."""
    graph, dims = Graph(), (rows, width)
    outputs = [(graph.add("Add", ["x", "y"]), dims), (graph.add("Relu", ["x"]), dims),
               (graph.add("Softmax", ["x"], axis=-1), dims), (normalized(graph, "x", width), dims),
               (graph.add("Transpose", ["x"], perm=[1, 0]), (width, rows)),
               (graph.add("ReduceMax", ["x", graph.numbers(1)], keepdims=1), (rows, 1))]
    return graph.model([("x", dims), ("y", dims)], outputs)


NETWORKS = {"resnet50": resnet50, "encoder": encoder, "attention": one_attention}
