# SPDX-License-Identifier: Apache-2.0
"""Products, attention, recurrent layers, spectra, losses."""
import numpy as np

from .common import FLOATS, KINDS, Const, One, of_kinds, scalar, wide


def matrices(m, kind):
    def some(*shape):
        return m.of(kind, *shape, low=-9, high=9)

    yield One("128x768x768", "MatMul", [some(128, 768), Const(some(768, 768))])
    yield One("1x768x768", "MatMul", [some(1, 768), Const(some(768, 768))])
    yield One("12x128x64x128", "MatMul", [some(12, 128, 64), some(12, 64, 128)])
    yield One("64x8x16x8", "MatMul", [some(64, 8, 16), some(64, 16, 8)])
    yield One("64x256x256", "Gemm", [some(64, 256), Const(some(256, 256)), Const(some(256))], {"transB": 1})
    yield One("1x512x1000", "Gemm", [some(1, 512), Const(some(1000, 512)), Const(some(1000))], {"transB": 1})


EQUATIONS = {
    "bhid,bhjd->bhij": ((1, 12, 128, 64), (1, 12, 128, 64)),
    "bhij,bhjd->bhid": ((1, 12, 128, 128), (1, 12, 128, 64)),
    "bij,jk->bik": ((4, 128, 256), (256, 256)),
    "bthd,hde->bte": ((1, 128, 12, 64), (12, 64, 768)),
    "ij,ij->i": ((256, 1024), (256, 1024)),
    "i,j->ij": ((512,), (512,)),
    "ij,ij->ij": ((256, 1024), (256, 1024)),
    "ij->ji": ((512, 512),),
    "bijc->bjic": ((4, 64, 64, 32),),
    "ij->i": ((256, 1024),),
    "ij->j": ((256, 1024),),
    "ij->": ((256, 1024),),
    "ii->i": ((512, 512),),
}


def sums(m, kind):
    for equation, shapes in EQUATIONS.items():
        yield One(equation, "Einsum", [m.of(kind, *shape, low=-9, high=9) for shape in shapes], {"equation": equation})


def attention(m, kind):
    heads = [m.of(kind, 1, 12, 128, 64) for _ in range(3)]
    yield One("12 heads, 128x64", "Attention", heads, opset=23)
    yield One("12 heads, 128x64, causal", "Attention", heads, {"is_causal": 1}, opset=23)
    yield One("12 heads, 1x64 of 512", "Attention", [m.of(kind, 1, 12, 1, 64), m.of(kind, 1, 12, 512, 64), m.of(kind, 1, 12, 512, 64)], opset=23)
    tables = [m.of(kind, 128, 32), m.of(kind, 128, 32)]
    yield One("12 heads, 128x64", "RotaryEmbedding", [heads[0], *tables, np.arange(128, dtype=np.int64)[None]], opset=23)


def recurrent(m, kind):
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for name, steps, batch, size, ways in (("50 steps, 128", 50, 1, 128, 1), ("32 steps, batch 8, 64", 32, 8, 64, 1), ("50 steps, 64, both ways", 50, 1, 64, 2)):
            weights = [Const((m.of(kind, ways, gates * size, size) / 16).astype(KINDS[kind])) for _ in range(2)]
            yield One(name, op, [m.of(kind, steps, batch, size), *weights, Const(m.of(kind, ways, 2 * gates * size))],
                      {"hidden_size": size} | ({"direction": "bidirectional"} if ways == 2 else {}))


def spectra(m, kind):
    yield One("16x1024, of reals", "DFT", [m.of(kind, 16, 1024, 1)], {"axis": 1}, opset=17)
    yield One("16x1000, of reals, half", "DFT", [m.of(kind, 16, 1000, 1)], {"axis": 1, "onesided": 1}, opset=17)
    yield One("16x512, inverse", "DFT", [m.of(kind, 16, 512, 2)], {"axis": 1, "inverse": 1}, opset=17)
    yield One("16000 by 160, 400", "STFT", [m.of(kind, 1, 16000, 1), wide_scalar(160), Const(np.hanning(400).astype(KINDS[kind])), wide_scalar(400)])
    yield One("16x8x8", "Det", [m.of(kind, 16, 8, 8)])


def wide_scalar(number):
    return Const(np.array(number, np.int64))


def made(m, kind):
    if kind in ("i32", "i64"):
        counts = [np.array(n, KINDS[kind]) for n in (80, 400, 16000)]
        yield One("80 of 400", "MelWeightMatrix", [*counts, scalar(0), scalar(8000)])
        for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
            yield One("400", op, [np.array(400, KINDS[kind])])
    rows, classes = m.of(kind, 256, 1000), m.whole(1000, 256)
    yield One("256x1000", "NegativeLogLikelihoodLoss", [rows, classes])
    yield One("256x1000", "SoftmaxCrossEntropyLoss", [rows, classes])
    if kind in FLOATS:
        scale = Const(np.array(0.02, KINDS[kind]))
        yield One("1x64x56x56", "QuantizeLinear", [m.of(kind, 1, 64, 56, 56), scale, Const(np.array(120, np.uint8))], exact=False, opset=19)
        yield One("128x768 by columns", "QuantizeLinear", [m.of(kind, 128, 768), Const(m.within(kind, 0.01, 0.1, 768)), Const(np.zeros(768, np.int8))],
                  {"axis": 1}, exact=False, opset=19)
        yield One("128x768", "DynamicQuantizeLinear", [m.of(kind, 128, 768)], outputs=3, exact=False)


def cases():
    return (of_kinds(matrices) + of_kinds(sums) + of_kinds(attention) + of_kinds(recurrent) + of_kinds(spectra) + of_kinds(made))
