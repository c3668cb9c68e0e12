# SPDX-License-Identifier: Apache-2.0
"""Those of ai.onnx.ml among the groups of lowered.py: trees, texts, labels, encoders."""
import numpy as np
from onnx import helper

from lowered_group import LEARNING, MICROSOFT, Group


def learning():
    g = Group(learning=3)
    x, whole = g.feed(g.real(5, 3)), g.feed(g.random.integers(0, 5, (5, 2)).astype(np.int64))

    def numbers(count):
        return [float(n) for n in g.real(count)]

    def add(op, inputs, types=(1,), **attributes):
        g.add(op, inputs, types, LEARNING, **attributes)

    vectors = {"coefficients": numbers(4), "support_vectors": numbers(12), "n_supports": 4, "rho": numbers(1)}
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        add("SVMRegressor", [x], kernel_type=kernel, kernel_params=[0.4, 0.1, 2.0], **vectors)
    add("SVMRegressor", [x], kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], one_class=1, **vectors)
    for labels, transform in (([4, 2], "NONE"), ([4, 2], "LOGISTIC"), ([4, 2, 9], "NONE"), ([1, 0, 2, 5], "SOFTMAX")):
        count = len(labels)
        add("SVMClassifier", [x], (7, 1), kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], classlabels_ints=labels,
            vectors_per_class=[2] * count, support_vectors=numbers(6 * count), coefficients=numbers(2 * count * (count - 1)),
            rho=numbers(count * (count - 1) // 2), post_transform=transform)
    add("ArrayFeatureExtractor", [g.chain("Abs", [x]), g.constant([[2, 0]], np.int64)])
    add("LabelEncoder", [whole], (7,), keys_int64s=[4, 0, 2], values_int64s=[7, 8, 9], default_int64=-5)
    add("LabelEncoder", [whole], (1,), keys_int64s=[1, 3], values_floats=[0.5, 1.5], default_float=9.0)
    add("LabelEncoder", [g.feed(np.array([1.5, 2.0, -1.0], np.float32))], (7,), keys_floats=[2.0, 1.5], values_int64s=[3, 4])
    add("OneHotEncoder", [whole], cats_int64s=[0, 2, 4])
    g.add("CDist", [x, g.feed(g.real(4, 3))], metric="euclidean")
    g.add("CDist", [x, g.constant(g.real(2, 3))], metric="sqeuclidean")
    for labels in ([4, 2], [4, 2, 9], [1, 0, 2, 5, 7]):
        count = len(labels)
        pairs = count * (count - 1) // 2
        add("SVMClassifier", [x], (7, 1), kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], classlabels_ints=labels,
            vectors_per_class=[2] * count, support_vectors=numbers(6 * count), coefficients=numbers(2 * count * (count - 1)),
            rho=numbers(pairs), prob_a=numbers(pairs), prob_b=numbers(pairs))
    scores = g.chain("Identity", [x])
    g.maps(scores, 7, classlabels_int64s=[1, 4, 7])
    return g


def forest(random, features, trees, outputs, modes=("BRANCH_LEQ",)):
    """Trees that are three deep at most: lists of nodes, and of (tree, node, output, weight)."""
    nodes, weights = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                                      "missing_value_tracks_true")}, []

    def put(**fields):
        for name, value in fields.items():
            nodes[name].append(value)

    for tree in range(trees):
        waiting, following = [(0, 0)], 1
        while waiting:
            place, depth = waiting.pop(0)
            if depth < 3 and random.random() < 0.8 or place == 0:
                put(treeids=tree, nodeids=place, featureids=int(random.integers(features)), values=float(np.float32(random.normal())),
                    modes=str(random.choice(modes)), truenodeids=following, falsenodeids=following + 1,
                    missing_value_tracks_true=int(random.integers(2)))
                waiting += [(following, depth + 1), (following + 1, depth + 1)]
                following += 2
            else:
                put(treeids=tree, nodeids=place, featureids=0, values=0.0, modes="LEAF", truenodeids=0, falsenodeids=0,
                    missing_value_tracks_true=0)
                weights += [(tree, place, o, float(np.float32(random.normal()))) for o in outputs]
    return {f"nodes_{k}": v for k, v in nodes.items()}, weights


def trees():
    g = Group()
    x = g.real(40, 3)
    x[1, 0] = x[7, 2] = np.nan
    x = g.feed(x)
    every = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")

    def add(op, kind, outputs, types, modes=("BRANCH_LEQ",), change=float, features=None, **attributes):
        nodes, weights = forest(g.random, 3, 5, outputs, modes)
        columns = list(zip(*weights))
        attributes = {f"{kind}_treeids": columns[0], f"{kind}_nodeids": columns[1], f"{kind}_ids": columns[2],
                       f"{kind}_weights": [change(w) for w in columns[3]]} | ({"n_targets": 1} if kind == "target" else {}) | attributes
        g.add(op, [features or x], types, LEARNING, **nodes, **attributes)

    for mode in ("SUM", "AVERAGE", "MIN", "MAX"):
        add("TreeEnsembleRegressor", "target", [0], (1,), aggregate_function=mode)
        add("TreeEnsembleRegressor", "target", [0, 1, 2], (1,), every, n_targets=3, base_values=[0.5, 1.5, -2.0], aggregate_function=mode)
    add("TreeEnsembleRegressor", "target", [0, 1], (1,), n_targets=2, post_transform="LOGISTIC")
    add("TreeEnsembleClassifier", "class", [0, 1, 2], (7, 1), features=g.feed(g.random.integers(-2, 3, (9, 3)).astype(np.int64)),
        classlabels_int64s=[4, 7, 5])
    add("TreeEnsembleRegressor", "target", [0], (1,), features=g.feed(g.random.standard_normal((9, 3))))
    for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        add("TreeEnsembleClassifier", "class", [0, 1, 2], (7, 1), classlabels_int64s=[4, 7, 5], post_transform=transform)
    add("TreeEnsembleClassifier", "class", [0, 1, 2], (7, 1), classlabels_int64s=[4, 7, 5], base_values=[0.5, 0.1, -0.2])
    for transform in ("NONE", "LOGISTIC"):
        add("TreeEnsembleClassifier", "class", [0], (7, 1), classlabels_int64s=[0, 1], post_transform=transform)
        add("TreeEnsembleClassifier", "class", [0], (7, 1), classlabels_int64s=[3, 1], post_transform=transform, base_values=[0.3])
        add("TreeEnsembleClassifier", "class", [1], (7, 1), classlabels_int64s=[0, 1], post_transform=transform)
        add("TreeEnsembleClassifier", "class", [0], (7, 1), classlabels_int64s=[0, 1], post_transform=transform, change=lambda w: abs(w) / 5)
    return g


def boosted():
    """As LightGBM's are converted: scores, whose rank no input tells, by an operator set of before Slice had inputs."""
    g = Group(opset=9)
    nodes, weights = forest(g.random, 3, 5, [0])
    columns = list(zip(*weights))
    names = [g.chain("TreeEnsembleClassifier", [g.feed(g.real(40, 3))], 2, LEARNING, **nodes, class_treeids=columns[0], class_nodeids=columns[1],
                     class_ids=columns[2], class_weights=columns[3], classlabels_int64s=[0, 1])[1]]
    first = g.chain("ArrayFeatureExtractor", [names[0], g.constant([1], np.int64)], domain=LEARNING)
    g.add("Div", [first, g.constant(5.0)], domain="")
    g.add("ArrayFeatureExtractor", [first, g.constant([0, 0], np.int64)], domain=LEARNING)
    return g


def near_halves(g):
    """Features beside which float32 does not hold a threshold."""
    rows = np.round(g.random.standard_normal((40, 3)) * 2) / 2 + 1e-12 * g.random.integers(-1, 2, (40, 3))
    rows[1, 0] = np.nan
    return rows


def doubles(name, values):
    return {name: helper.make_tensor(name, 11, [len(values)], values)}


def wide():
    """Trees of float64, whose numbers are tensors in place of lists."""
    g = Group(learning=3)
    x = g.feed(near_halves(g))

    def add(op, kind, outputs, types, modes=("BRANCH_LEQ",), base=None, **attributes):
        nodes, weights = forest(g.random, 3, 5, outputs, modes)
        splits = np.round(np.array(nodes.pop("nodes_values")) * 2) / 2
        columns = list(zip(*weights))
        g.add(op, [x], types, LEARNING, **nodes, **doubles("nodes_values_as_tensor", splits), **doubles(f"{kind}_weights_as_tensor", columns[3]),
              **(doubles("base_values_as_tensor", base) if base else {}), **{f"{kind}_treeids": columns[0], f"{kind}_nodeids": columns[1],
                                                                            f"{kind}_ids": columns[2]}, **attributes)

    every = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    add("TreeEnsembleRegressor", "target", [0, 1, 2], (1,), base=[0.5, 1.5, -2.0], n_targets=3)
    add("TreeEnsembleRegressor", "target", [0], (1,), every, n_targets=1, aggregate_function="MAX")
    add("TreeEnsembleClassifier", "class", [0, 1, 2], (7, 1), base=[0.5, 0.1, -0.2], classlabels_int64s=[4, 7, 5], post_transform="SOFTMAX")
    add("TreeEnsembleClassifier", "class", [0], (7, 1), base=[0.25], classlabels_int64s=[3, 1], post_transform="LOGISTIC")
    add("TreeEnsembleClassifier", "class", [1], (7, 1), classlabels_int64s=[3, 1])
    return g


def wide_ensembles():
    g = Group(learning=5)
    x = g.feed(near_halves(g))
    for way in range(4):
        g.add("TreeEnsemble", [x], (11,), LEARNING, n_targets=2, tree_roots=[0], nodes_featureids=[0, 1, 2], nodes_trueleafs=[0, 1, 1],
              nodes_truenodeids=[1, 0, 2], nodes_falseleafs=[0, 1, 1], nodes_falsenodeids=[2, 1, 3], leaf_targetids=[0, 1, 1, 0],
              nodes_modes=helper.make_tensor("nodes_modes", 2, [3], [way, 6, 1]), aggregate_function=way, **doubles("nodes_splits", [0.5, 0.0, -0.5]),
              **doubles("membership_values", [1.0, 3.0, np.nan]), **doubles("leaf_weights", [5.23, 12.12, -12.23 + 1e-12, 7.21]))
    return g


def alone():
    """As XGBoost's are converted: no standard operator set is imported."""
    g = Group(opset=0)
    nodes, weights = forest(g.random, 3, 5, [0])
    columns = list(zip(*weights))
    g.add("TreeEnsembleClassifier", [g.feed(g.real(40, 3))], (7, 1), LEARNING, **nodes, class_treeids=columns[0], class_nodeids=columns[1],
          class_ids=columns[2], class_weights=columns[3], classlabels_int64s=[0, 1], base_values=[0.3], post_transform="LOGISTIC")
    return g


def ensembles():
    """Trees of the newer operator, whose leaves stand apart; some nodes test for members."""
    g = Group(learning=5)
    x = np.round(g.real(40, 3) * 2) / 2
    x[1, 0] = x[7, 2] = np.nan
    x = g.feed(x.astype(np.float32))

    def leaf(leaves):
        leaves.append((int(g.random.integers(3)), float(np.float32(g.random.normal()))))
        return 1, len(leaves) - 1

    def branch(lists, members, leaves, modes, depth):
        """Appends a node with all that is in it, and tells its place."""
        place, mode = len(lists), int(g.random.choice(modes))
        lists.append(None)
        if mode == 6:
            members += [float(v) for v in g.random.integers(1, 4, g.random.integers(1, 4))] + [np.nan]  # all that ONNX Runtime takes
        split = float(np.round(g.random.normal() * 2) / 2)
        below = [leaf(leaves) if depth > 2 or g.random.random() < 0.3 else (0, branch(lists, members, leaves, modes, depth + 1))
                 for _ in range(2)]
        lists[place] = (int(g.random.integers(3)), mode, split, *below[0], *below[1], int(g.random.integers(2)))
        return place

    def add(modes, trees, **attributes):
        lists, members, leaves = [], [], []
        roots = [branch(lists, members, leaves, modes, 0) for _ in range(trees)]
        feature, mode, split, yes_leaf, yes, no_leaf, no, nan = zip(*lists)
        tensors = {"nodes_modes": (2, mode), "nodes_splits": (1, split), "leaf_weights": (1, [w for _, w in leaves])}
        if members:
            tensors["membership_values"] = (1, members)
        g.add("TreeEnsemble", [x], (1,), LEARNING, n_targets=3, tree_roots=roots, nodes_featureids=feature, nodes_trueleafs=yes_leaf,
              nodes_truenodeids=yes, nodes_falseleafs=no_leaf, nodes_falsenodeids=no, nodes_missing_value_tracks_true=nan,
              leaf_targetids=[t for t, _ in leaves], **{k: helper.make_tensor(k, t, [len(v)], v) for k, (t, v) in tensors.items()}, **attributes)

    for way in range(4):
        add([0], 4, aggregate_function=way)
        add(range(6), 3, aggregate_function=way)
    add([0, 6], 3)
    add(range(7), 5)
    return g


def words():
    """Counts of n-grams, of numbers and of texts."""
    g = Group()
    pool = [3, 5, 1, 4, 3, 5, 5, 1, 5, 5, 5, 4, 3, 1]  # 4 of one number, 2 of two, 2 of three
    sizes = dict(ngram_counts=[0, 4, 8], pool_int64s=pool)
    x = g.feed(g.random.integers(1, 6, (4, 9)).astype(np.int64))
    row = g.feed(g.random.integers(1, 6, 12).astype(np.int32))
    names = g.feed(np.array([["e", "c", "e", "e"], ["a", "e", "zz", ""]], object))
    columns, weights = [2, 0, 1, 3, 7, 5, 6, 4], [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]
    for mode in ("TF", "IDF", "TFIDF"):
        for low, high, skips in ((1, 1, 0), (1, 1, 3), (1, 2, 1), (2, 3, 5), (1, 3, 2), (3, 3, 0)):
            g.add("TfIdfVectorizer", [x], domain="", mode=mode, min_gram_length=low, max_gram_length=high, max_skip_count=skips,
                  ngram_indexes=columns, weights=weights, **sizes)
        g.add("TfIdfVectorizer", [row], domain="", mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=1,
              ngram_indexes=[9, 0, 1, 3, 7, 5, 6, 4], **sizes)
        g.add("TfIdfVectorizer", [names], domain="", mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=1,
              ngram_counts=[0, 2], ngram_indexes=[1, 0, 2], pool_strings=["a", "e", "e", "e"], weights=[2.0, 3.0, 4.0])
    return g


def tokens():
    """As vectorisers of texts take them apart."""
    g = Group()
    x = g.feed(np.array(["the cat,sat", "a  b; ab", "", "\u00e4\u00f6 1_b\n\u00e9"], object))
    rows = g.feed(np.array([["aab ab", "x.y"], ["", "b-a1"]], object))
    ways = ({"tokenexp": "[a-zA-Z0-9_]+"}, {"tokenexp": "a|ab|aab"}, {"tokenexp": "a+?b*"}, {"tokenexp": "[a-z]*"}, {"tokenexp": "\\b[^ ]"}, {"tokenexp": "."},
            {"tokenexp": "zz"}, {"separators": [" "]}, {"separators": ["[,;] ?", " +", "^a"]}, {"separators": [""]}, {"separators": ["b", "a.", "[0-9]"]})
    for i, way in enumerate(ways):
        for texts_in in (x, rows):
            g.add("Tokenizer", [texts_in], (8,), mark=i % 2, pad_value="#" if i % 3 else "", mincharnum=1, **way)
    g.add("Tokenizer", [x], (8,), mark=1, pad_value="#", mincharnum=2, tokenexp="[^ ]+")
    g.add("Tokenizer", [x], (8,), mark=0, pad_value="#", mincharnum=3, separators=[" ", ","])
    words = g.chain("Tokenizer", [x], domain=MICROSOFT, mark=0, pad_value="#", mincharnum=1, tokenexp="[a-z]+")
    g.add("TfIdfVectorizer", [words], (1,), "", mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0],
          ngram_indexes=[0, 1, 2], pool_strings=["ab", "cat", "the"])
    return g


def texts():
    """The inside of texts, where ONNX Runtime and the standard say the same."""
    g = Group(opset=20)
    numbers = [0, -0.0, 1.5, 1 / 3, 1e20, 1e-20, 123456789, -2.5e-7, np.nan, np.inf, -np.inf]
    for dtype in (np.float32, np.float64, np.float16):
        with np.errstate(over="ignore"):
            g.add("Cast", [g.feed(np.array(numbers, dtype))], (8,), "", to=8)
    for dtype in (np.int8, np.uint8, np.int64, np.uint64):
        limits = np.iinfo(dtype)
        g.add("Cast", [g.feed(np.array([limits.min, 7, limits.max], dtype))], (8,), "", to=8)
    g.add("Cast", [g.feed(np.array([True, False]))], (8,), "", to=8)
    read = g.feed(np.array([" 12", "-3.75", "77x", "+5", "300"], object))
    for to in (1, 2, 3, 5, 6, 7, 9, 10, 11, 12, 13):
        g.add("Cast", [read], (to,), "", to=to)
    g.add("Cast", [g.feed(np.array(["1e50", "nan", "-INF", ".5e-3", "0x1A"], object))], (1,), "", to=1)
    g.add("CastLike", [g.constant([3, -4], np.int64), read], (8,), "")
    words = g.feed(np.array([["emu", "Öre", ""], ["日本", "emu", "\U0001f600 ox"]], object))
    column = g.feed(np.array([["-"], [""]], object))
    joined = g.chain("StringConcat", [words, column])
    g.add("Identity", [joined], (8,), "")
    g.add("StringConcat", [g.constant("x", object), joined], (8,), "")
    g.add("StringConcat", [g.feed(np.zeros((0, 2), object)), g.constant(["x", "y"], object)], (8,), "")
    g.add("StringSplit", [g.constant(["a b  c", " lead", "", "   ", "one"], object)], (8, 7), "")
    g.add("StringSplit", [g.constant(["a, b, c", ", ", "aa,  b"], object)], (8, 7), "", delimiter=", ", maxsplit=1)
    g.add("StringSplit", [joined], (8, 7), "", delimiter="m")
    g.add("StringNormalizer", [g.constant(["emu", "Emu", "ox"], object)], (8,), "", is_case_sensitive=1, stopwords=["emu", "zzz"])
    g.add("StringNormalizer", [g.constant([["emu", "ox"]], object)], (8,), "", is_case_sensitive=1, stopwords=["ox", "emu"])
    for pattern in ("", "[a-z]+", "(?i)EMU|.* ox", "\\w{3}", "[^a-z]*", ".{2}", "(\\x{1F600}|ox| )+", "e.*"):
        g.add("RegexFullMatch", [words], (9,), "", pattern=pattern)
    g.add("Unique", [words], (8, 7, 7, 7), "")
    g.add("Unique", [words], (8, 7, 7, 7), "", sorted=0)
    g.add("Unique", [g.constant([["b", "a"], ["a", "z"], ["b", "a"]], object)], (8, 7, 7, 7), "", axis=0)
    return g


def labels():
    """Classifiers whose labels are texts, and what moves, compares and replaces texts."""
    g = Group(learning=4, opset=19)
    x, names = g.feed(g.real(7, 4)), ["lynx", "Öre", "", "emu"]
    transforms = ("NONE", "SOFTMAX", "LOGISTIC")
    for count, transform in zip((3, 2, 4), transforms):
        g.add("LinearClassifier", [x], (8, 1), LEARNING, coefficients=g.random.standard_normal(4 * count).tolist(),
              intercepts=g.random.standard_normal(count).tolist(), classlabels_strings=names[:count], post_transform=transform)
    kernel = dict(kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], support_vectors=g.random.standard_normal(24).tolist(),
                  vectors_per_class=[2, 1, 3], rho=g.random.standard_normal(3).tolist())
    g.add("SVMClassifier", [x], (8, 1), LEARNING, coefficients=g.random.standard_normal(12).tolist(), classlabels_strings=names[:3], **kernel)
    nodes, weights = forest(g.random, 3, 4, [0, 1, 2], ("BRANCH_LEQ",))
    columns = dict(zip(("class_treeids", "class_nodeids", "class_ids", "class_weights"), zip(*weights)))
    label, scores = g.chain("TreeEnsembleClassifier", [x], 2, LEARNING, classlabels_strings=sorted(names[:3]), **nodes, **columns)
    g.maps(scores, 8, classlabels_strings=sorted(names[:3]))
    g.add("Identity", [label], (8,), "")
    g.add("ArrayFeatureExtractor", [g.constant([names], object), g.feed(np.array([3, 1, 1], np.int64))], (8,), LEARNING)
    words = g.feed(np.array([["emu", "Öre", "ox"], ["lynx", "", "emu"]], object))
    same = g.chain("Equal", [words, g.constant("emu", object)])
    g.add("Cast", [same], (1,), "", to=1)
    g.add("Where", [same, g.constant(["a", "b", "c"], object), words], (8,), "")
    g.add("Cast", [g.chain("Reshape", [g.chain("Transpose", [words]), g.constant([-1], np.int64)])], (8,), "", to=8)
    row = g.chain("Slice", [words, *(g.constant([at], np.int64) for at in (1, 2, 0))])
    g.add("Concat", [g.constant([names], object), g.chain("Concat", [row, row], axis=1)], (8,), "", axis=1)
    g.add("LabelEncoder", [words], (7,), LEARNING, keys_strings=names, values_int64s=[4, 3, 2, 1], default_int64=-5)
    g.add("LabelEncoder", [words], (1,), LEARNING, keys_strings=names, values_floats=[0.5, 1.5, 2.5, 3.5], default_float=-1.0)
    g.add("LabelEncoder", [words], (8,), LEARNING, keys_strings=names[:2], values_strings=["cat", "coin"])
    g.add("LabelEncoder", [g.feed(np.array([2, 9, 0], np.int64))], (8,), LEARNING, keys_int64s=[0, 1, 2], values_strings=names[:3], default_string="none")
    g.add("LabelEncoder", [words], (7,), LEARNING, keys_tensor=helper.make_tensor("k", 8, [4], [n.encode() for n in names]),
          values_tensor=helper.make_tensor("v", 7, [4], [8, 7, 6, 5]), default_tensor=helper.make_tensor("d", 7, [1], [-3]))
    g.add("OneHotEncoder", [words], (1,), LEARNING, cats_strings=names, zeros=1)
    return g


def mappers():
    g = Group()
    words, places = g.feed(np.array(["emu", "ox", "lynx"], object)), g.feed(np.array([1, 5, 7], np.int64))
    lists = dict(cats_strings=["lynx", "emu"], cats_int64s=[7, 1])
    g.add("CategoryMapper", [words], (7,), LEARNING, default_int64=-9, **lists)
    g.add("CategoryMapper", [places], (8,), LEARNING, default_string="none", **lists)
    g.add("LabelEncoder", [words], (7,), LEARNING, classes_strings=["ox", "emu"], default_int64=-2)
    g.add("LabelEncoder", [places], (8,), LEARNING, classes_strings=["ox", "emu"])
    return g


def encoders():
    """Keys and values of other types, with a default and without."""
    g = Group(learning=4)
    words, wide = g.feed(np.array(["emu", "ox", "lynx"], object)), g.feed(np.array([1.5, -2.0, 3.0], np.float64))
    names = helper.make_tensor("k", 8, [2], [b"lynx", b"emu"])

    def values(kind, numbers, name="v"):
        return helper.make_tensor(name, kind, [len(numbers)], numbers)

    g.add("LabelEncoder", [words], (5,), LEARNING, keys_tensor=names, values_tensor=values(5, [7, -8]), default_tensor=values(5, [42], "d"))
    g.add("LabelEncoder", [words], (5,), LEARNING, keys_tensor=names, values_tensor=values(5, [7, -8]))
    g.add("LabelEncoder", [wide], (11,), LEARNING, keys_tensor=values(11, [1.5, 3.0], "k"), values_tensor=values(11, [0.25, 1e200]),
          default_tensor=values(11, [1e-300], "d"))
    g.add("LabelEncoder", [wide], (11,), LEARNING, keys_tensor=values(11, [1.5, 3.0], "k"), values_tensor=values(11, [0.25, 1e200]))
    return g
