# SPDX-License-Identifier: Apache-2.0
"""Every operator that ONNX Runtime's CPU provider may run, for every element type that ONNX gives it.

Groups make the product of their operators and the types of common.KINDS; what a schema forbids goes at once, what one
of the two refuses is told when it is tried.
"""
import importlib

GROUPS = ("elements", "along", "moves", "images", "products", "eights", "microsoft", "learning")

# Operators of docs/operators.md that have no case, and why.
WITHOUT = {
    "results are random": "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    "as fast as their bodies": "If Loop Scan SequenceMap ai.onnx.preview.FlexAttention",
    "of sequences and optionals": "ConcatFromSequence OptionalGetElement OptionalHasElement SequenceAt SequenceLength ai.onnx.ml.ZipMap",
    "of texts": "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer ai.onnx.ml.CategoryMapper com.microsoft.Tokenizer",
    "constants, which are folded": "Constant",
    "of operator sets before 11": "Affine Crop DynamicSlice ImageScaler ParametricSoftplus Scale ScaledTanh Scatter",
    "not in ONNX Runtime 1.32": "BitCast CausalConvWithState CumProd LinearAttention SwiGLU",
    "not in ONNX Runtime's CPU provider": "com.microsoft.BiasAdd com.microsoft.BiasSoftmax com.microsoft.BiasSplitGelu com.microsoft.ComplexMul "
        "com.microsoft.ComplexMulConj com.microsoft.GemmFastGelu com.microsoft.GroupNorm com.microsoft.NhwcConv com.microsoft.SkipGroupNorm",
    "of training": "ai.onnx.preview.training.Adagrad ai.onnx.preview.training.Adam ai.onnx.preview.training.Momentum",
    "layouts that ONNX Runtime makes for itself": "com.microsoft.nchwc.AveragePool com.microsoft.nchwc.Conv com.microsoft.nchwc.GlobalAveragePool "
        "com.microsoft.nchwc.GlobalMaxPool com.microsoft.nchwc.MaxPool com.microsoft.nchwc.ReorderInput com.microsoft.nchwc.ReorderOutput "
        "com.microsoft.nchwc.Upsample",
    "as a standard operator that has cases": "ai.onnx.ml.TreeEnsemble com.microsoft.ConvTransposeWithDynamicPads com.microsoft.DequantizeLinear "
        "com.microsoft.MatMulInteger16 com.microsoft.QuantizeLinear com.microsoft.Range com.microsoft.UnfoldTensor",
    "rare, and without a case yet": "com.microsoft.CropAndResize com.microsoft.LinearAttentionGate com.microsoft.MRotaryEmbedding com.microsoft.NGramRepeatBlock "
        "com.microsoft.QEmbedLayerNormalization",
    "bound to its past in ONNX Runtime": "com.microsoft.SparseAttention",
    "of no model": "optrace.BlockMatMul optrace.ExpertMatMul optrace.PairwiseCoupling optrace.QuantizedLSTM",
}


def allowed(case):
    """Whether ONNX gives the operator these types. What has no schema is left to ONNX Runtime."""
    import onnx

    try:
        schema = onnx.defs.get_schema(case.op, case.opset, case.domain)
    except onnx.defs.SchemaError:
        return True
    for index, value in enumerate(case.inputs):
        dtype = getattr(value, "array", value)
        if dtype is None:
            continue
        place = min(index, len(schema.inputs) - 1)
        name = onnx.helper.tensor_dtype_to_string(onnx.helper.np_dtype_to_tensor_dtype(dtype.dtype))
        if f"tensor({onnx_name(name)})" not in schema.inputs[place].types:
            return False
    return True


def onnx_name(name):
    """TensorProto.INT64 as types of schemas have it."""
    return name.rsplit(".", 1)[-1].lower()


def cases(groups=GROUPS):
    made = []
    for group in groups:
        for case in importlib.import_module(f"every.{group}").cases():
            case.group = group
            if allowed(case):
                made.append(case)
    return made


def without_case(operators, made):
    """Operators out of docs/operators.md that neither a case nor WITHOUT has."""
    have = {f"{c.domain}.{c.op}" if c.domain else c.op for c in made} | {op for names in WITHOUT.values() for op in names.split()}
    return sorted(set(operators) - have)


def operators_of(page):
    """Names out of the tables of docs/operators.md."""
    first = (line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| "))
    return [name for name in first if name[:1].isalpha() and name != "Operator"]
