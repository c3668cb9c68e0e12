# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime's quantisers and optimisers make of networks."""
import pathlib
import tempfile

import numpy
import onnx
import onnxruntime
from onnxruntime import quantization

import networks


def files(proto, work):
    """What `work` makes of a file, with another name to write to."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = (str(pathlib.Path(folder) / name) for name in ("before.onnx", "after.onnx"))
        onnx.save(proto, before)
        work(before, after)
        return onnx.load(after)


class Samples(quantization.CalibrationDataReader):
    def __init__(self, feeds):
        self.left = [feeds]

    def get_next(self):
        return self.left.pop() if self.left else None


def static(name, form, **options):
    def make():
        proto, feeds = networks.MODELS[name]()
        return files(proto, lambda a, b: quantization.quantize_static(a, b, Samples(feeds), quant_format=getattr(quantization.QuantFormat, form),
                                                                      **options)), feeds
    return make


def dynamic(name, **options):
    def make():
        proto, feeds = networks.MODELS[name]()
        return files(proto, lambda a, b: quantization.quantize_dynamic(a, b, **options)), feeds
    return make


def by_blocks(name, **options):
    def make():
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        proto, feeds = networks.MODELS[name]()
        work = MatMulNBitsQuantizer(proto, **options)
        work.process()
        return work.model.model, feeds
    return make


def fused(name, kind):
    """kind: whose rules; those of GPT-2 stop at a Gemm without bias, as today's exporter writes it, in ONNX Runtime 1.32."""
    def make():
        from onnxruntime.transformers import optimizer
        proto, feeds = networks.MODELS[name]()

        def work(before, after):
            optimizer.optimize_model(before, kind, num_heads=4, hidden_size=32, opt_level=0).save_model_to_file(after)
        return files(proto, work), feeds
    return make


def of_session(name, level):
    """Of a network, or of what another entry of this table makes."""
    def make():
        proto, feeds = (MODELS if name in MODELS else networks.MODELS)[name]()

        def work(before, after):
            wishes = onnxruntime.SessionOptions()
            wishes.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
            wishes.optimized_model_filepath = after
            onnxruntime.InferenceSession(before, wishes, providers=["CPUExecutionProvider"])
        return files(proto, work), feeds
    return make


# Weights of 7 bits, as ONNX Runtime advises for processors without VNNI, where its sums of 8 bits saturate: results of full range
# are off by up to 50 quanta there, and tell nothing.
SEVEN_BITS = {"reduce_range": True}
BYTES = {"activation_type": quantization.QuantType.QUInt8, "weight_type": quantization.QuantType.QInt8, **SEVEN_BITS}
SIGNED = {"activation_type": quantization.QuantType.QInt8, "weight_type": quantization.QuantType.QInt8, **SEVEN_BITS}

MODELS = {
    "resnet18-qdq": static("resnet18", "QDQ", **BYTES), "resnet18-qdq-channels": static("resnet18", "QDQ", per_channel=True, **SIGNED),
    "resnet18-operators": static("resnet18", "QOperator", **BYTES), "mobilenet-v3-qdq": static("mobilenet-v3", "QDQ", **BYTES),
    "vit-qdq": static("vit", "QDQ", **BYTES), "u-net-operators": static("u-net", "QOperator", **BYTES),
    "bert-dynamic": dynamic("bert", **SEVEN_BITS), "gpt2-dynamic": dynamic("gpt2", **SEVEN_BITS), "lstm-dynamic": dynamic("lstm-both-ways", **SEVEN_BITS),
    "llama-4-bits": by_blocks("llama", block_size=32, is_symmetric=True), "bert-4-bits": by_blocks("bert", block_size=32, is_symmetric=False),
    "bert-fused": fused("bert-traced", "bert"), "gpt2-fused": fused("gpt2", "bert"), "vit-fused": fused("vit", "vit"),
    "bert-session": of_session("bert", "ORT_ENABLE_EXTENDED"), "resnet18-session": of_session("resnet18", "ORT_ENABLE_EXTENDED"),
    "llama-session": of_session("llama", "ORT_ENABLE_EXTENDED"), "resnet18-qdq-session": of_session("resnet18-qdq", "ORT_ENABLE_EXTENDED"),
    "resnet18-blocks": of_session("resnet18", "ORT_ENABLE_ALL"),
}
