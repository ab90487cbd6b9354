"""Classification: equality with kernel ridge on signs, leave-one-out labels, accuracy on bundled data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holokern.model import NNGPClassifier, NTKClassifier
from holokern.network import Network


def test_decisions_equal_kernel_ridge_on_signs(points, others):
    labels = np.argmax(points[:, :3], axis=1)
    network = Network("relu", 2)
    signs = np.where(labels[:, None] == np.arange(3), 1.0, -1.0)
    theirs = KernelRidge(kernel="precomputed", alpha=0.01).fit(network.ntk(points), signs)
    ours = NTKClassifier("relu", depth=2).fit(points, labels)
    np.testing.assert_allclose(ours.decision_function(others), theirs.predict(network.ntk(others, points)), atol=1e-8)


@pytest.mark.parametrize("cls", [NTKClassifier, NNGPClassifier])
@pytest.mark.parametrize("classes", [2, 3])
def test_leave_one_out_labels_equal_refitting(cls, classes, points):
    labels = np.argmax(points[:, :classes], axis=1)
    model = cls("relu", depth=1, alpha=0.1).fit(points, labels)
    refitted = [
        clone(model).fit(np.delete(points, i, 0), np.delete(labels, i)).predict(points[[i]])[0]
        for i in range(len(points))
    ]
    assert model.leave_one_out().tolist() == refitted


def test_ridge_is_chosen_by_leave_one_out(points):
    labels = np.argmax(points[:, :2], axis=1)
    model = NTKClassifier("relu", depth=1, alpha=[1e-3, 1e-1, 1e1]).fit(points, labels)
    assert model.alpha_ in {1e-3, 1e-1, 1e1}
    assert model.loo_errors_.shape == (3,)


def test_probabilities_come_from_scikit_learns_calibration(points):
    labels = np.where(points[:, 0] > 0, "right", "left")
    model = CalibratedClassifierCV(NTKClassifier("relu", depth=1, alpha=0.1), cv=3).fit(points, labels)
    probabilities = model.predict_proba(points)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.mean(model.predict(points) == labels) > 0.8


def test_digits():
    X, y = load_digits(return_X_y=True)
    X, held, y, truth = train_test_split(X[:1000] / 16, y[:1000], random_state=0)
    assert NTKClassifier("relu", depth=3, alpha=1e-2).fit(X, y).score(held, truth) > 0.97


def test_breast_cancer_in_a_pipeline():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), NTKClassifier("relu", depth=2, alpha=1.0))
    assert np.mean(cross_val_score(model, X, y, cv=5)) > 0.95
