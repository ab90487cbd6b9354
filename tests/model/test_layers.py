"""Estimators of networks that are given by layers: images instead of rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import holokern as hk
from holokern import layers as L


def images(count=24):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(count, 4, 4, 2))
    return x, np.sum(x[:, 1:3, 1:3, 0], axis=(1, 2))


def conv():
    return L.Serial(L.Conv(3, 1.4, 0.1), L.Activation("relu"), L.GlobalAvgPool(), L.Dense())


@pytest.mark.parametrize("solver", ["cholesky", "nystrom", "cg"])
def test_regressors_take_layers_and_images(solver):
    x, y = images()
    model = hk.NTKRegressor(conv(), alpha=0.1, solver=solver, n_landmarks=20, random_state=0).fit(x[:18], y[:18])
    kernel = hk.Network(conv())
    weights = np.linalg.solve(kernel.ntk(x[:18]) + 0.1 * np.eye(18), y[:18])
    tolerance = 0.3 if solver == "nystrom" else 1e-6
    assert model.predict(x[18:]) == pytest.approx(kernel.ntk(x[18:], x[:18]) @ weights, abs=tolerance)


def test_classifiers_and_ensembles_take_networks_of_layers():
    x, y = images()
    net = hk.Network(conv())
    found = hk.NNGPClassifier(net, alpha=0.1).fit(x, y > 0)
    assert np.mean(found.predict(x) == (y > 0)) > 0.8
    ensemble = hk.GradientDescentEnsemble(net, alpha=0.1).fit(x[:18], y[:18])
    assert ensemble.predict(x[18:]).shape == (6,)


def test_layers_survive_clones_and_cross_validation():
    x, y = images()
    model = hk.NNGPRegressor(conv(), alpha=0.1)
    assert clone(model).activation == model.activation
    assert cross_val_score(model, x, y, cv=3).shape == (3,)


def test_rows_are_refused_where_images_are_due():
    with pytest.raises(hk.errors.BadInput, match="no positions"):
        hk.NTKRegressor(conv()).fit(np.ones((5, 3)), np.arange(5.0))
