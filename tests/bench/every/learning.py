# SPDX-License-Identifier: Apache-2.0
"""Operators of ai.onnx.ml, on numbers."""
import numpy as np

from .common import KINDS, Const, One, of_kinds

ROWS, FEATURES = 1000, 20


def trees(m, count, depth, outputs, prefix):
    """Full ones, a leaf with a weight for each output."""
    inner, last = 2 ** depth - 1, 2 ** (depth + 1) - 1
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
    leaves = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        nodes["treeids"] += [tree] * last
        nodes["nodeids"] += range(last)
        nodes["featureids"] += [int(n) for n in m.random.integers(0, FEATURES, inner)] + [0] * (last - inner)
        nodes["values"] += [float(n) for n in m.real(inner)] + [0.0] * (last - inner)
        nodes["modes"] += ["BRANCH_LEQ"] * inner + ["LEAF"] * (last - inner)
        nodes["truenodeids"] += [2 * n + 1 for n in range(inner)] + [0] * (last - inner)
        nodes["falsenodeids"] += [2 * n + 2 for n in range(inner)] + [0] * (last - inner)
        for leaf in range(inner, last):
            leaves["treeids"] += [tree] * outputs
            leaves["nodeids"] += [leaf] * outputs
            leaves["ids"] += range(outputs)
            leaves["weights"] += [float(n) for n in m.real(outputs)]
    return {f"nodes_{k}": v for k, v in nodes.items()} | {f"{prefix}_{k}": v for k, v in leaves.items()}


def one(name, op, inputs, types, **attributes):
    return One(name, op, inputs, attributes, len(types), domain="ai.onnx.ml", types=types)


def models(m, kind):
    x, real = m.of(kind, ROWS, FEATURES), [np.float32]
    both = [np.int64, np.float32]

    def numbers(count):
        return [float(n) for n in m.real(count)]

    for name, given in (("1000x20", x), ("1x20", x[:1])):
        yield one(f"{name}, 100 trees of 6", "TreeEnsembleRegressor", [given], real, n_targets=1, **trees(m, 100, 6, 1, "target"))
        yield one(f"{name}, 100 trees of 6, 3 classes", "TreeEnsembleClassifier", [given], both, classlabels_int64s=[0, 1, 2], post_transform="SOFTMAX",
                  **trees(m, 100, 6, 3, "class"))
        yield one(name, "LinearRegressor", [given], real, coefficients=numbers(FEATURES), intercepts=numbers(1))
        yield one(f"{name}, 3 classes", "LinearClassifier", [given], both, coefficients=numbers(3 * FEATURES), intercepts=numbers(3),
                  classlabels_ints=[0, 1, 2], multi_class=1, post_transform="SOFTMAX")
        yield one(f"{name}, 50 vectors", "SVMRegressor", [given], real, kernel_type="RBF", kernel_params=[0.05, 0.0, 3.0], coefficients=numbers(50),
                  support_vectors=numbers(50 * FEATURES), n_supports=50, rho=numbers(1))
        yield one(f"{name}, 3 classes of 20", "SVMClassifier", [given], both, kernel_type="RBF", kernel_params=[0.05, 0.0, 3.0],
                  classlabels_ints=[0, 1, 2], vectors_per_class=[20] * 3, support_vectors=numbers(60 * FEATURES), coefficients=numbers(120), rho=numbers(3))
        yield one(f"{name}, 2 classes of 20, SOFTMAX", "SVMClassifier", [given], both, kernel_type="RBF", kernel_params=[0.05, 0.0, 3.0],
                  classlabels_ints=[0, 1], vectors_per_class=[20] * 2, support_vectors=numbers(40 * FEATURES), coefficients=numbers(40), rho=numbers(1),
                  post_transform="SOFTMAX")
        yield one(name, "Scaler", [given], real, offset=numbers(FEATURES), scale=numbers(FEATURES))
    for norm in ("MAX", "L1", "L2"):
        yield one(f"1000x20, {norm}", "Normalizer", [x], real, norm=norm)
    yield one("1000x20", "Binarizer", [x], [KINDS[kind]], threshold=0.25)
    yield one("1000x20, 5 columns", "ArrayFeatureExtractor", [x, Const(np.array([1, 4, 5, 9, 17], np.int64))], [KINDS[kind]])
    yield one("1000x20 of two", "FeatureVectorizer", [x, x], real, inputdimensions=[FEATURES, FEATURES])
    if kind == "f32":
        yield one("1000x20", "Imputer", [np.where(np.abs(x) < 0.3, np.float32(np.nan), x)], real, imputed_value_floats=numbers(FEATURES),
                  replaced_value_float=float("nan"))
    if kind == "i64":
        small = m.whole(20, ROWS, 4)
        yield one("1000x4, 20 keys", "LabelEncoder", [small], [np.int64], keys_int64s=list(range(20)), values_int64s=list(range(5, 25)))
        yield one("1000, 20", "OneHotEncoder", [small[:, 0].copy()], real, cats_int64s=list(range(20)), zeros=1)


def cases():
    return of_kinds(models, "f32", "f64", "i32", "i64")
