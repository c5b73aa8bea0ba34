"""Files of skl2onnx: pipelines of scikit-learn's estimators, their batch open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from making import Write, write_all
from onnx_oracle import oracle
from skl2onnx import to_onnx
from sklearn import (
    cluster,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    gaussian_process,
    linear_model,
    mixture,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    svm,
    tree,
)
from sklearn.pipeline import make_pipeline

P = preprocessing
ESTIMATORS: dict[str, Callable[[Random], Any]] = {
    "perceptron": lambda d: neural_network.MLPClassifier((d.randint(3, 9), 5), max_iter=5),
    "perceptron_regressor": lambda d: neural_network.MLPRegressor(
        hidden_layer_sizes=(d.randint(3, 9),), max_iter=5
    ),
    "logistic": lambda d: linear_model.LogisticRegression(),
    "linear": lambda d: linear_model.LinearRegression(),
    "ridge": lambda d: linear_model.RidgeClassifier(),
    "svc": lambda d: svm.SVC(kernel=d.choice(("rbf", "poly", "sigmoid"))),
    "linear_svc": lambda d: svm.LinearSVC(),
    "svr": lambda d: svm.SVR(),
    "forest": lambda d: ensemble.RandomForestClassifier(d.randint(2, 4), max_depth=3),
    "boosted": lambda d: ensemble.HistGradientBoostingRegressor(max_iter=3),
    "gradient": lambda d: ensemble.GradientBoostingClassifier(n_estimators=2),
    "tree": lambda d: tree.DecisionTreeRegressor(max_depth=d.randint(2, 4)),
    "means": lambda d: cluster.KMeans(d.randint(2, 4), n_init=1),
    "components": lambda d: decomposition.PCA(d.randint(2, 4)),
    "truncated": lambda d: decomposition.TruncatedSVD(2),
    "near": lambda d: neighbors.KNeighborsClassifier(d.randint(2, 4)),
    "near_regressor": lambda d: neighbors.KNeighborsRegressor(2),
    "gaussian": lambda d: gaussian_process.GaussianProcessRegressor(),
    "bayes": lambda d: naive_bayes.GaussianNB(),
    "mixture": lambda d: mixture.GaussianMixture(2),
    "discriminant": lambda d: discriminant_analysis.LinearDiscriminantAnalysis(),
    "quadratic": lambda d: discriminant_analysis.QuadraticDiscriminantAnalysis(),
    "scaled": lambda d: make_pipeline(
        P.StandardScaler(), neural_network.MLPClassifier((4,), max_iter=3)
    ),
    "prepared": lambda d: make_pipeline(
        P.MinMaxScaler(),
        P.PolynomialFeatures(2),
        feature_selection.VarianceThreshold(),
        P.Normalizer(),
    ),
    "robust": lambda d: make_pipeline(
        P.RobustScaler(), P.KBinsDiscretizer(3, encode="onehot-dense")
    ),
    "power": lambda d: make_pipeline(
        P.PowerTransformer(), decomposition.KernelPCA(2, kernel="rbf")
    ),
    "voting": lambda d: ensemble.VotingClassifier(
        [("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier(max_depth=2))],
        voting="soft",
        flatten_transform=False,
    ),
    "bagging": lambda d: ensemble.BaggingRegressor(linear_model.LinearRegression(), 2),
}


def _write(name: str, width: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        chance = np.random.default_rng(draw.randint(0, 999))
        x = chance.standard_normal((40, draw.randint(4, 7))).astype(width)
        y = (x[:, 0] + x[:, 1] ** 2 > 0.7).astype(np.int64)
        estimator = ESTIMATORS[name](draw).fit(x, y)
        options = {"zipmap": False} if hasattr(estimator, "predict_proba") else {}
        if name == "mixture":
            options = {}
        model = to_onnx(estimator, x[:1], options={id(estimator): options} if options else None)
        file = path.with_suffix(".onnx")
        file.write_bytes(model.SerializeToString())
        return oracle(file, [x[: draw.randint(1, 5)]])

    return write


if __name__ == "__main__":
    write_all(
        {name: _write(name, "float32") for name in ESTIMATORS}
        | {
            f"{name}-double": _write(name, "float64")
            for name in ("perceptron", "components", "near")
        }
    )
