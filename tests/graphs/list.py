# SPDX-License-Identifier: Apache-2.0
"""What random graphs are made of: makers by name, and operators of docs/operators.md that no maker makes, with the
reason. Exit status: 1 where an operator has neither a maker nor a reason, or both; 2 where --known names a maker
that is none."""
import argparse
import pathlib
import re
import sys

import operators_control  # noqa: F401 (it fills the table)
from operators import MAKERS

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "operators.md"

CHANCE, PARTS = "its results are random", "it makes or takes sequences, optionals or maps"
NEWER, PREVIEW = "it is newer than the operator sets of random graphs", "standard.py has cases of previews"
BLOCKS = "how many channels a block has is the processor's choice in ONNX Runtime"
WITHOUT = {
    "Bernoulli": CHANCE, "Multinomial": CHANCE, "RandomNormal": CHANCE, "RandomNormalLike": CHANCE, "RandomUniform": CHANCE,
    "RandomUniformLike": CHANCE,
    "ConcatFromSequence": PARTS, "OptionalGetElement": PARTS, "OptionalHasElement": PARTS, "SequenceAt": PARTS,
    "SequenceLength": PARTS, "SequenceMap": PARTS, "ai.onnx.ml.ZipMap": PARTS,
    "BitCast": NEWER, "CausalConvWithState": NEWER, "LinearAttention": NEWER, "SwiGLU": NEWER,
    "ai.onnx.preview.FlexAttention": PREVIEW, "ai.onnx.preview.training.Adagrad": PREVIEW,
    "ai.onnx.preview.training.Adam": PREVIEW, "ai.onnx.preview.training.Momentum": PREVIEW,
    **{f"com.microsoft.nchwc.{name}": BLOCKS for name in (
        "AveragePool", "Conv", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "ReorderInput", "ReorderOutput", "Upsample")},
    "Constant": "every maker of a constant may make one",
    "StringNormalizer": "what of texts the references agree about is in cases", "com.microsoft.Tokenizer": "lowered.py has cases of texts",
    "com.microsoft.SparseAttention": "ONNX Runtime wants its past to lie where it is written to",
    "optrace.BlockMatMul": "it is what a MatMulNBits becomes",
    "optrace.ExpertMatMul": "it is what MoE and QMoE become",
    "optrace.PairwiseCoupling": "it is what an SVMClassifier becomes",
    "optrace.QuantizedLSTM": "it is what a DynamicQuantizeLSTM becomes",
}


def known():
    """Full names of all operators on the page."""
    return set(re.findall(r"^\| ((?:[\w.]+\.)?[A-Z]\w+) \|", PAGE.read_text(), re.MULTILINE)) - {"Operator"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--known", default="", help="say nothing but which of these makers are none")
    options = parser.parse_args()
    if options.known:
        wrong = [name for name in options.known.split(",") if name not in MAKERS]
        if wrong:
            print(f"fuzz-graphs: no maker is called {', '.join(wrong)}; --list names them", file=sys.stderr)
        return 2 if wrong else 0
    print("\n".join(sorted(MAKERS)))
    rc = 0
    for name in sorted(known() | set(WITHOUT)):
        if (name in MAKERS) == (name in WITHOUT) or name not in known():
            print(f"{name} has {'a maker and a reason for none' if name in MAKERS else 'no maker, and no reason for that'}")
            rc = 1
        elif name in WITHOUT:
            print(f"{name} has no maker: {WITHOUT[name]}")
    return rc


if __name__ == "__main__":
    sys.exit(main())
