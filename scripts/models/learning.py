# SPDX-License-Identifier: Apache-2.0
"""Models of scikit-learn as skl2onnx writes them."""
import warnings

import numpy
from skl2onnx import to_onnx
from sklearn import (cluster, cross_decomposition, decomposition, discriminant_analysis, ensemble, gaussian_process, impute, linear_model,
                     naive_bayes, neighbors, neural_network, pipeline, preprocessing, svm, tree)

warnings.filterwarnings("ignore")

ROWS, FEATURES = 60, 5


def data(classes):
    random = numpy.random.default_rng(7)
    x = random.standard_normal((ROWS, FEATURES)).astype(numpy.float32)
    centre = x[:, 0] + 0.5 * x[:, 1] ** 2 + 0.1 * random.standard_normal(ROWS)
    if classes == 0:
        return x, centre.astype(numpy.float32)
    return x, numpy.digitize(centre, numpy.quantile(centre, numpy.linspace(0, 1, classes + 1)[1:-1]))


def fitted(model, classes, **options):
    """A model with its inputs; where it has probabilities, as a matrix."""
    x, y = data(classes)
    model.fit(x, y)
    if classes and "options" not in options and "zipmap" not in options:
        options["options"] = {id(model): {"zipmap": False}}
    options.pop("zipmap", None)
    opset = options.pop("target_opset", 17)
    return to_onnx(model, x[:1], target_opset=opset, **options), {"X": x[:20]}


def transformed(model, x=None):
    x = data(0)[0] if x is None else x
    model.fit(x, data(0)[1])
    return to_onnx(model, x[:1], target_opset=17), {"X": x[:20]}


def holes():
    x = data(0)[0].copy()
    x[::7, 2] = numpy.nan
    return x


def whole():
    return numpy.random.default_rng(3).integers(0, 4, (ROWS, 3)).astype(numpy.int64)


MODELS = {
    "sk-tree-2": lambda: fitted(tree.DecisionTreeClassifier(max_depth=4, random_state=0), 2),
    "sk-tree-3": lambda: fitted(tree.DecisionTreeClassifier(max_depth=4, random_state=0), 3),
    "sk-tree-maps": lambda: fitted(tree.DecisionTreeClassifier(max_depth=3, random_state=0), 3, zipmap=True),
    "sk-tree-reals": lambda: fitted(tree.DecisionTreeRegressor(max_depth=5, random_state=0), 0),
    "sk-forest-2": lambda: fitted(ensemble.RandomForestClassifier(10, max_depth=4, random_state=0), 2),
    "sk-forest-3": lambda: fitted(ensemble.RandomForestClassifier(10, max_depth=4, random_state=0), 3),
    "sk-forest-reals": lambda: fitted(ensemble.RandomForestRegressor(10, max_depth=4, random_state=0), 0),
    "sk-forest-deep": lambda: fitted(ensemble.RandomForestClassifier(100, random_state=0), 3),
    "sk-extra-trees": lambda: fitted(ensemble.ExtraTreesClassifier(10, max_depth=4, random_state=0), 3),
    "sk-boosting-2": lambda: fitted(ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0), 2),
    "sk-boosting-3": lambda: fitted(ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0), 3),
    "sk-boosting-reals": lambda: fitted(ensemble.GradientBoostingRegressor(n_estimators=10, random_state=0), 0),
    "sk-ada-boost": lambda: fitted(ensemble.AdaBoostClassifier(n_estimators=5, random_state=0), 3),
    "sk-bagging": lambda: fitted(ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=3), 4, random_state=0), 2),
    "sk-voting": lambda: fitted(ensemble.VotingClassifier([("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=3, random_state=0))],
                                                          voting="soft", flatten_transform=False), 3),
    "sk-isolation": lambda: fitted(ensemble.IsolationForest(n_estimators=5, random_state=0), 0, target_opset={"": 17, "ai.onnx.ml": 3}),
    "sk-logistic-2": lambda: fitted(linear_model.LogisticRegression(), 2),
    "sk-logistic-3": lambda: fitted(linear_model.LogisticRegression(), 3),
    "sk-linear": lambda: fitted(linear_model.LinearRegression(), 0),
    "sk-ridge": lambda: fitted(linear_model.Ridge(), 0),
    "sk-sgd": lambda: fitted(linear_model.SGDClassifier(random_state=0), 3),
    "sk-svr-rbf": lambda: fitted(svm.SVR(), 0),
    "sk-svr-poly": lambda: fitted(svm.SVR(kernel="poly"), 0),
    "sk-svc-linear": lambda: fitted(svm.LinearSVC(random_state=0), 3, zipmap=True),
    "sk-svc-2": lambda: fitted(svm.SVC(random_state=0), 2),
    "sk-svc-3": lambda: fitted(svm.SVC(random_state=0), 3),
    "sk-svc-probable-2": lambda: fitted(svm.SVC(probability=True, random_state=0), 2),
    "sk-svc-probable-4": lambda: fitted(svm.NuSVC(nu=0.2, kernel="poly", probability=True, random_state=0), 4),
    "sk-one-class": lambda: fitted(svm.OneClassSVM(), 0),
    "sk-neighbours": lambda: fitted(neighbors.KNeighborsClassifier(3), 3),
    "sk-neighbours-reals": lambda: fitted(neighbors.KNeighborsRegressor(3), 0),
    "sk-bayes": lambda: fitted(naive_bayes.GaussianNB(), 3),
    "sk-bernoulli": lambda: fitted(naive_bayes.BernoulliNB(), 2),
    "sk-perceptron": lambda: fitted(neural_network.MLPClassifier(hidden_layer_sizes=(8,), max_iter=50, random_state=0), 3),
    "sk-perceptron-reals": lambda: fitted(neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=50, random_state=0), 0),
    "sk-discriminant": lambda: fitted(discriminant_analysis.LinearDiscriminantAnalysis(), 3),
    "sk-quadratic": lambda: fitted(discriminant_analysis.QuadraticDiscriminantAnalysis(), 3),
    "sk-gaussian": lambda: fitted(gaussian_process.GaussianProcessRegressor(random_state=0), 0),
    "sk-pls": lambda: fitted(cross_decomposition.PLSRegression(2), 0),
    "sk-means": lambda: fitted(cluster.KMeans(3, random_state=0), 0),
    "sk-components": lambda: transformed(decomposition.PCA(2)),
    "sk-scaler": lambda: transformed(preprocessing.StandardScaler()),
    "sk-robust": lambda: transformed(preprocessing.RobustScaler()),
    "sk-normal": lambda: transformed(preprocessing.Normalizer("l2")),
    "sk-binary": lambda: transformed(preprocessing.Binarizer(threshold=0.1)),
    "sk-bins": lambda: transformed(preprocessing.KBinsDiscretizer(3, encode="onehot-dense")),
    "sk-powers": lambda: transformed(preprocessing.PolynomialFeatures(2)),
    "sk-holes": lambda: transformed(impute.SimpleImputer(), holes()),
    "sk-one-hot": lambda: transformed(preprocessing.OneHotEncoder(sparse_output=False), whole()),
    "sk-ordinal": lambda: transformed(preprocessing.OrdinalEncoder(), whole()),
    "sk-pipeline": lambda: fitted(pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(3), linear_model.LogisticRegression()), 3,
                                  zipmap=True),
}
