# SPDX-License-Identifier: Apache-2.0
"""Random nodes of ai.onnx.ml. Of most of them ONNX Runtime's kernels know float32, float64, int64 and int32 rows."""
import numpy
from onnx import numpy_helper

from builder import BOOL, F32, F64, I32, I64, LEARNING, Unfit, learning_version
from operators import maker

ROWS = (F32, F32, F32, F64, I64, I32)


def learned(*names, weight=0.3):
    return maker(*(f"{LEARNING}.{name}" for name in names), since=9, weight=weight)


def add(b, op, inputs, outputs=1, **attributes):
    return b.add(op, inputs, outputs, domain=LEARNING, **attributes)


def rows_of(b, dtypes=ROWS, most=5, least=1):
    """A few features each."""
    dtype = b.rng.choice(dtypes)
    return b.leaf(b.random_array(dtype, [b.rng.randint(least, most), b.rng.randint(1, 5)]))


def reals(b, count, low=-2.0, high=2.0):
    return [round(b.rng.uniform(low, high), 3) for _ in range(count)]


@learned("Binarizer", "Scaler", "Normalizer", weight=0.6)
def make_scaler(b):
    op = b.rng.choice(["Binarizer", "Scaler", "Normalizer"])
    x = rows_of(b, (F32,) if op == "Binarizer" else ROWS)
    size = b.shape(x)[-1]
    if op == "Binarizer":
        add(b, op, [x], threshold=b.rng.choice([None, 0.0, 0.5, -1.0]))
    elif op == "Scaler":
        counts = [b.rng.choice([1, size]) for _ in range(2)] if b.rng.random() < 0.3 else [b.rng.choice([1, size])] * 2
        add(b, op, [x], offset=reals(b, counts[0]), scale=reals(b, counts[0]))
    else:
        add(b, op, [x], norm=b.rng.choice([None, "MAX", "L1", "L2"]))


@learned("Imputer", weight=0.4)
def make_imputer(b):
    if b.rng.random() < 0.6:
        x = b.random_array(F32, [b.rng.randint(1, 5), b.rng.randint(1, 5)])
        x[b.random_array(BOOL, x.shape)] = b.rng.choice([numpy.nan, 1.0])
        replaced = b.rng.choice([numpy.nan, 1.0])
        values = {"imputed_value_floats": reals(b, b.rng.choice([1, x.shape[-1]])), "replaced_value_float": replaced}
        if numpy.isnan(x).any() and not numpy.isnan(replaced):
            raise Unfit("no number is left")
    else:
        x = b.random_array(I64, [b.rng.randint(1, 5), b.rng.randint(1, 5)], 0, 4)
        values = {"imputed_value_int64s": [b.rng.randint(-5, 5) for _ in range(b.rng.choice([1, x.shape[-1]]))],
                  "replaced_value_int64": b.rng.randint(0, 3)}
    add(b, "Imputer", [b.leaf(x)], **values)


@learned("ArrayFeatureExtractor", "FeatureVectorizer", weight=0.5)
def make_extractor(b):
    if b.rng.random() < 0.5:
        x = b.pick((F32, F64, I64, I32), ranks=(1, 2, 3), test=lambda a: a.size > 0)
        size, count = b.shape(x)[-1], b.rng.randint(1, 4)
        add(b, "ArrayFeatureExtractor", [x, b.leaf(b.random_array(I64, b.rng.choice([[count], [1, count]]), 0, size))])
        return
    count, batch, dtype = b.rng.randint(1, 3), b.rng.randint(1, 4), b.rng.choice([F32, F64, I64, I32])
    sizes = [b.rng.randint(1, 4) for _ in range(count)]
    add(b, "FeatureVectorizer", [b.leaf(b.random_array(dtype, [batch, n])) for n in sizes], inputdimensions=sizes)


@learned("LinearRegressor", weight=0.4)
def make_linear(b):
    x = rows_of(b, (F32,))
    size, targets = b.shape(x)[-1], b.rng.randint(1, 3)
    # One target alone ONNX Runtime leaves as it is.
    add(b, "LinearRegressor", [x], coefficients=reals(b, size * targets), intercepts=reals(b, targets) if b.rng.random() < 0.7 else None,
        targets=targets, post_transform=b.rng.choice([None, "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"] if targets > 1 else [None, "NONE"]))


def labels_of(b, count):
    """Attributes that name classes, which are numbers or texts."""
    kind = "ints" if b.rng.random() < 0.7 else "strings"
    return kind, b.rng.sample(range(-9, 10), count) if kind == "ints" else [f"c{i}" for i in range(count)]


@learned("LinearClassifier", weight=0.5)
def make_linear_classifier(b):
    x = rows_of(b)
    size, classes = b.shape(x)[-1], b.rng.choice([1, 2, 3, 4])
    kind, labels = labels_of(b, max(classes, 2))
    # Of one score ONNX Runtime makes nothing that is said anywhere of the other transforms.
    add(b, "LinearClassifier", [x], 2, coefficients=reals(b, size * classes), intercepts=reals(b, classes),
        post_transform=b.rng.choice([None, "NONE", "LOGISTIC"] + (["SOFTMAX", "SOFTMAX_ZERO"] if classes > 1 else [])), multi_class=b.rng.choice([None, 0, 1]),
        **{f"classlabels_{kind}": labels})


@learned("OneHotEncoder", "CategoryMapper", "LabelEncoder", weight=0.7)
def make_encoders(b):
    op = b.rng.choice(["OneHotEncoder", "CategoryMapper", "LabelEncoder", "LabelEncoder"])
    shape = list(b.dims(b.rng.choice([1, 1, 2])))
    count = b.rng.randint(1, 6)
    numbers = b.rng.sample(range(-4, 8), count)
    if b.rng.random() < 0.4:  # they follow each other
        numbers = list(range(numbers[0], numbers[0] + count))
    texts = [str(n) for n in numbers]
    given = b.random_array(I64, shape, -4, 8)

    def words():
        """Texts begin as numbers, as not all ways to give data to inputs know texts."""
        return b.add("Cast", [b.leaf(given)], to=8)

    if op == "OneHotEncoder":
        kind = b.rng.choice(["int64s", "strings", "reals"])
        x = words() if kind == "strings" else b.leaf(given if kind == "int64s" else given.astype(b.rng.choice([F32, F64, I32])))
        add(b, op, [x], **{"cats_strings": texts} if kind == "strings" else {"cats_int64s": numbers})
    elif op == "CategoryMapper" or learning_version(b.opset) == 1:
        mapping = {"classes_strings": texts} if op == "LabelEncoder" else {"cats_int64s": numbers, "cats_strings": texts}
        add(b, op, [words()], default_int64=b.rng.choice([None, -7]), **mapping)
    else:
        keys, values = b.rng.choice(["int64s", "int64s", "floats", "strings"]), b.rng.choice(["int64s", "floats"])
        known = {"int64s": numbers, "floats": [float(n) for n in numbers], "strings": texts}[keys]
        x = words() if keys == "strings" else b.leaf(given if keys == "int64s" else given.astype(F32))
        default = {"int64s": {"default_int64": b.rng.choice([None, 5])}, "floats": {"default_float": b.rng.choice([None, 0.5])}}[values]
        made = [b.rng.randint(-9, 9) for _ in range(count)] if values == "int64s" else reals(b, count)
        add(b, op, [x], **{f"keys_{keys}": known, f"values_{values}": made}, **default)


KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]


def kernel(b):
    return {"kernel_type": b.rng.choice(KERNELS), "kernel_params": [round(b.rng.uniform(0.1, 0.5), 3), round(b.rng.uniform(-0.5, 0.5), 3), 2.0]}


@learned("SVMRegressor", "SVMClassifier", weight=0.6)
def make_svm(b):
    x = rows_of(b, (F32, F32, F64, I64, I32) if (is_classifier := b.rng.random() < 0.5) else (F32,))
    size = b.shape(x)[-1]
    if not is_classifier:
        is_linear, count = b.rng.random() < 0.2, b.rng.randint(1, 5)
        attributes = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0], "coefficients": reals(b, size), "n_supports": 0} if is_linear else \
            {**kernel(b), "coefficients": reals(b, count), "support_vectors": reals(b, count * size), "n_supports": count}
        # Neither reference has a post_transform of it.
        add(b, "SVMRegressor", [x], rho=reals(b, 1), post_transform=b.rng.choice([None, "NONE"]), one_class=b.rng.choice([None, 0, 1]),
            **attributes)
        return
    classes = b.rng.choice([2, 2, 3])
    kind, labels = labels_of(b, classes)
    each = [b.rng.randint(1, 3) for _ in range(classes)]
    pairs = classes * (classes - 1) // 2
    attributes = {**kernel(b), "coefficients": reals(b, (classes - 1) * sum(each)), "support_vectors": reals(b, sum(each) * size),
                  "vectors_per_class": each, "rho": reals(b, pairs)}
    if b.rng.random() < 0.4:
        attributes.update(prob_a=reals(b, pairs, -2, -0.5), prob_b=reals(b, pairs, -0.5, 0.5))
    add(b, "SVMClassifier", [x], 2, post_transform=b.rng.choice([None, "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]),
        **attributes, **{f"classlabels_{kind}": labels})


# --- Trees ---


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


class Forest:
    """Nodes of random trees, by attribute."""

    def __init__(self, b, size, trees, modes):
        self.b, self.size, self.modes = b, size, modes
        self.nodes, self.leaves = [], []
        for tree in range(trees):
            self.ids = 0
            self.grow(tree, 0)

    def grow(self, tree, depth):
        b, place = self.b, self.ids
        self.ids += 1
        row = {"treeids": tree, "nodeids": place, "featureids": 0, "values": 0.0, "modes": "LEAF", "truenodeids": 0, "falsenodeids": 0,
               "missing_value_tracks_true": 0, "hitrates": 1.0}
        self.nodes.append(row)
        if depth >= 4 or depth and b.rng.random() < 0.35:
            self.leaves.append((tree, place))
            return place
        row.update(featureids=b.rng.randrange(self.size), values=b.rng.randint(-8, 8) / 4, modes=b.rng.choice(self.modes),
                   missing_value_tracks_true=b.rng.randint(0, 1))
        row["truenodeids"] = self.grow(tree, depth + 1)
        row["falsenodeids"] = self.grow(tree, depth + 1)
        return place

    def attributes(self):
        names = [n for n in self.nodes[0] if n not in ("hitrates",)]
        return {f"nodes_{name}": [row[name] for row in self.nodes] for name in names}


def forest_rows(b):
    x = b.random_array(b.rng.choice([F32, F32, F32, F64, I64, I32]), [b.rng.choice([1, 2, 5, 20, 40]), b.rng.randint(1, 5)], -3, 3)
    if x.dtype.kind == "f":
        # Between the values of nodes: what is on one of them goes elsewhere as its last bit changes. Whole numbers are.
        x = numpy.round(x * 4) / 4 + x.dtype.type(0.125)
        if b.rng.random() < 0.2:
            x[0, 0] = numpy.nan
    return x


def votes(b, forest, columns, prefix, is_whole=False):
    """What each leaf gives, of one column or several. Of two classes all have the same one: where leaves have both, ONNX
    Runtime's labels are 0 and 1, whatever they are called. Of more, all: it does not choose a class that no leaf of a
    row has, though it is better than 0."""
    only = [b.rng.randrange(2)] if prefix == "class" and columns == 2 else range(columns) if prefix == "class" or is_whole else None
    listed = [(tree, node, column) for tree, node in forest.leaves for column in
              only or (range(columns) if b.rng.random() < 0.3 else [b.rng.randrange(columns)])]
    return {f"{prefix}_treeids": [v[0] for v in listed], f"{prefix}_nodeids": [v[1] for v in listed], f"{prefix}_ids": [v[2] for v in listed],
            f"{prefix}_weights": reals(b, len(listed))}


@learned("TreeEnsembleRegressor", "TreeEnsembleClassifier", weight=0.8)
def make_trees(b):
    if learning_version(b.opset) >= 5:
        raise Unfit("an older operator")
    x = forest_rows(b)
    forest = Forest(b, x.shape[1], b.rng.randint(1, 5), MODES if b.rng.random() < 0.3 else [b.rng.choice(MODES)])
    attributes = forest.attributes()
    if b.rng.random() < 0.5:
        targets = b.rng.randint(1, 3)
        # One target alone ONNX Runtime leaves as it is, and a base value it adds where a leaf has the target.
        bases = reals(b, targets) if b.rng.random() < 0.4 else None
        add(b, "TreeEnsembleRegressor", [b.leaf(x)], n_targets=targets, aggregate_function=b.rng.choice([None, "SUM", "AVERAGE", "MIN", "MAX"]),
            base_values=bases,
            post_transform=b.rng.choice([None, "NONE"] + (["LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"] if targets > 1 else [])),
            **attributes, **votes(b, forest, targets, "target", is_whole=bases is not None))
        return
    classes = b.rng.choice([2, 2, 3])
    kind, labels = labels_of(b, classes)
    # What two classes and two base values mean the standard leaves open, as ONNX Runtime's source says.
    bases = reals(b, classes) if classes > 2 and b.rng.random() < 0.3 else None
    add(b, "TreeEnsembleClassifier", [b.leaf(x)], 2, base_values=bases,
        post_transform=b.rng.choice([None, "NONE", "LOGISTIC", "SOFTMAX"]), **attributes, **votes(b, forest, classes, "class"),
        **{f"classlabels_{'int64s' if kind == 'ints' else kind}": labels})


@learned("TreeEnsemble", weight=1.0)
def make_tree_ensemble(b):
    if learning_version(b.opset) < 5:
        raise Unfit("a newer operator")
    dtype, size, targets = b.rng.choice([F32, F32, F64]), b.rng.randint(1, 5), b.rng.randint(1, 3)
    x = b.random_array(dtype, [b.rng.choice([1, 2, 5, 20, 40]), size], -3, 3)
    inner, leaves, roots = [], [], []

    def grow(depth):
        if depth >= 4 or depth and b.rng.random() < 0.35:
            leaves.append((b.rng.randrange(targets), b.rng.uniform(-2, 2)))
            return len(leaves) - 1, 1
        row = [b.rng.randrange(size), b.rng.randint(-8, 8) / 4, b.rng.randint(0, 5), b.rng.randint(0, 1), None, None]
        place = len(inner)
        inner.append(row)
        row[4], row[5] = grow(depth + 1), grow(depth + 1)
        return place, 0

    for _ in range(b.rng.randint(1, 4)):
        roots.append(grow(0)[0])

    def tensor(values, dtype=dtype):
        return numpy_helper.from_array(numpy.array(values, dtype))

    columns = list(zip(*inner))
    # A post_transform's numbers mean one thing in the standard, another in ONNX Runtime.
    add(b, "TreeEnsemble", [b.leaf(x)], n_targets=targets, aggregate_function=b.rng.choice([None, 0, 1, 2, 3]),
        nodes_featureids=columns[0], nodes_splits=tensor(columns[1]),
        nodes_modes=tensor(columns[2], numpy.uint8), nodes_missing_value_tracks_true=columns[3],
        nodes_truenodeids=[c[0] for c in columns[4]], nodes_trueleafs=[c[1] for c in columns[4]],
        nodes_falsenodeids=[c[0] for c in columns[5]], nodes_falseleafs=[c[1] for c in columns[5]],
        leaf_targetids=[leaf[0] for leaf in leaves], leaf_weights=tensor([leaf[1] for leaf in leaves]), tree_roots=roots)
