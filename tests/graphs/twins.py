# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime runs in place of operators that it has on GPUs alone: standard ones, by what it documents."""
import numpy
import onnx
from onnx import helper, numpy_helper


class Twin:
    """The nodes that stand for one; how many dimensions its inputs have is known from what it is made for."""

    def __init__(self, node):
        self.node, self.nodes = node, []
        self.keep = {a.name: helper.get_attribute_value(a) for a in node.attribute}

    def name(self):
        return f"{next(n for n in self.node.output if n)}_twin{len(self.nodes)}"

    def add(self, op, inputs, output=None, **attributes):
        output = output or self.name()
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def split(self, x):
        """Halves of the last axis, in any operator set."""
        half = self.add("Div", [self.add("Gather", [self.add("Shape", [x]), self.constant([-1])]), self.constant([2])])
        whole = self.constant([2**31 - 1])
        zero, axis = self.constant([0]), self.constant([-1])
        return self.add("Slice", [x, zero, half, axis]), self.add("Slice", [x, half, whole, axis])

    def constant(self, numbers, dtype=numpy.int64):
        name = self.name()
        self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(numpy.array(numbers, dtype))))
        return name

    def swish(self, x):
        return self.add("Mul", [x, self.add("Sigmoid", [x])])

    def normalise(self, x):
        """Groups of channels of an image [batch, rows, columns, channels], or with the channels second."""
        node, keep = self.node, self.keep
        is_last = keep.get("channels_last", 1)
        x = self.add("Transpose", [x], perm=[0, 3, 1, 2]) if is_last else x
        ones, zeros = (self.constant([v] * keep["groups"], numpy.float32) for v in (1, 0))
        flat = self.add("Reshape", [x, self.constant([0, keep["groups"], -1])])
        normed = self.add("InstanceNormalization", [flat, ones, zeros], epsilon=keep.get("epsilon", 1e-5))
        y = self.add("Reshape", [normed, self.add("Shape", [x])])
        column = self.constant([-1, 1, 1])
        gamma, beta = (self.add("Reshape", [n, column]) for n in node.input[1:3])
        y = self.add("Add", [self.add("Mul", [y, gamma]), beta])
        y = self.swish(y) if keep.get("activation") else y
        self.add("Transpose", [y], node.output[0], perm=[0, 2, 3, 1]) if is_last else self.add("Identity", [y], node.output[0])


def bias_add(twin):
    x, bias, skip = twin.node.input
    twin.add("Add", [twin.add("Add", [x, bias]), skip], twin.node.output[0])


def bias_split_gelu(twin):
    left, right = twin.split(twin.add("Add", twin.node.input))
    scaled = twin.add("Mul", [right, twin.constant(0.5**0.5, numpy.float32)])
    gate = twin.add("Add", [twin.add("Erf", [scaled]), twin.constant(1, numpy.float32)])
    gelu = twin.add("Mul", [twin.add("Mul", [right, gate]), twin.constant(0.5, numpy.float32)])
    twin.add("Mul", [left, gelu], twin.node.output[0])


def nhwc_conv(twin):
    x, w, *bias = twin.node.input
    turned = [twin.add("Transpose", [v], perm=[0, 3, 1, 2]) for v in (x, w)]
    y = twin.add("Conv", [*turned, *bias], **twin.keep)
    twin.add("Transpose", [y], twin.node.output[0], perm=[0, 2, 3, 1])


def skip_group_norm(twin):
    """What is added has the shape of the image, or ones for its rows and columns, and channels last."""
    x, _, _, skip, bias = [*twin.node.input, ""][:5]
    total = twin.add("Add", [x, skip])
    if bias:
        total = twin.add("Add", [total, bias if twin.keep.get("channels_last", 1) else twin.add("Reshape", [bias, twin.constant([-1, 1, 1])])])
    if len(twin.node.output) > 1 and twin.node.output[1]:
        twin.add("Identity", [total], twin.node.output[1])
    twin.normalise(total)


def bias_softmax(twin):
    twin.add("Softmax", [twin.add("Add", twin.node.input)], twin.node.output[0], axis=twin.keep["axis"])


def gemm_fast_gelu(twin):
    x, w, *bias = twin.node.input
    product = twin.add("MatMul", [x, w])
    twin.nodes.append(helper.make_node("FastGelu", [product, *bias], list(twin.node.output), domain="com.microsoft"))


def complex_product(twin):
    """Of pairs [real, imaginary] along the last axis."""
    (p, q), (r, s) = (twin.split(v) for v in twin.node.input)
    signs = ("Add", "Sub") if twin.node.op_type == "ComplexMulConj" else ("Sub", "Add")
    real = twin.add(signs[0], [twin.add("Mul", [p, r]), twin.add("Mul", [q, s])])
    imaginary = twin.add(signs[1], [twin.add("Mul", [q, r]), twin.add("Mul", [p, s])])
    twin.add("Concat", [real, imaginary], twin.node.output[0], axis=-1)


def unpacked_attention(twin):
    """What is packed [batch, steps, heads, 3 (or 2: keys and values alone), size] apart."""
    inputs = list(twin.node.input) + [""] * (3 - len(twin.node.input))
    places = [0, 1, 2] if not inputs[1] else [1, 2]
    packed = inputs[places[0]]
    for i, place in enumerate(places):
        part = twin.add("Gather", [packed, twin.constant(i)], axis=3)
        inputs[place] = twin.add("Reshape", [part, twin.constant([0, 0, -1])])
    twin.nodes.append(helper.make_node("MultiHeadAttention", inputs, list(twin.node.output), domain="com.microsoft", **twin.keep))


def normed_heads(twin):
    """Queries and keys are normed by heads before they are turned."""
    inputs = list(twin.node.input)
    epsilon = twin.keep.pop("qk_norm_epsilon", 1e-6)
    heads = [twin.keep["num_heads"], twin.keep["kv_num_heads"]]
    for i in (0, 1):
        apart = twin.add("Reshape", [inputs[i], twin.constant([0, 0, heads[i], -1])])
        normed = twin.add("SimplifiedLayerNormalization", [apart, inputs[14 + i]], axis=-1, epsilon=epsilon)
        inputs[i] = twin.add("Reshape", [normed, twin.constant([0, 0, -1])])
    inputs = inputs[:14]
    twin.nodes.append(helper.make_node("GroupQueryAttention", inputs, list(twin.node.output), domain="com.microsoft", **twin.keep))


def is_packed(node):
    """Keys are left out, or values are."""
    return node.op_type == "MultiHeadAttention" and ("" in node.input[1:3] or len(node.input) < 3)


def twin_of(node):
    if node.domain != "com.microsoft":
        return None
    if node.op_type == "GroupQueryAttention" and len(node.input) > 14:
        return normed_heads
    return unpacked_attention if is_packed(node) else TWINS.get(node.op_type)


TWINS = {"BiasSoftmax": bias_softmax, "GemmFastGelu": gemm_fast_gelu, "ComplexMul": complex_product, "ComplexMulConj": complex_product,
         "BiasAdd": bias_add, "BiasSplitGelu": bias_split_gelu, "NhwcConv": nhwc_conv, "SkipGroupNorm": skip_group_norm,
         "GroupNorm": lambda twin: twin.normalise(twin.node.input[0])}


def with_twins(model):
    """The model, or one in which standard operators stand for what ONNX Runtime's CPU does not have."""
    if not any(twin_of(node) for node in model.graph.node):
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.node[:]
    for node in model.graph.node:
        make = twin_of(node)
        if make:
            twin = Twin(node)
            make(twin)
            made.graph.node.extend(twin.nodes)
        else:
            made.graph.node.append(node)
    return made
