"""Support vector machines on a kernel matrix that are solved to the end: libsvm, and an interior point where it stalls.

Steps of libsvm grow with the condition of the kernel and with C, up to 1e8 for sets of a few thousand points. An
interior point takes about twenty factorisations whatever the condition, so it finishes what libsvm did not. Both solve
the same convex problem, whose decision function is unique, so the accuracy does not tell which of them was used.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

MOST_STEPS = 20_000
"""Steps of libsvm for each pair of classes; an interior point costs as much as a few times so many."""
MOST_FACTORISATIONS = 60
TOLERANCE = 1e-7
"""Relative gap between the primal and the dual objective; libsvm's own criterion is about 1e-3."""


@dataclass(frozen=True)
class Labels:
    """Predicted labels, how many pairs of classes were left to the interior point, and how many it did not solve."""

    predicted: np.ndarray
    finished_inside: int
    unsolved: int


def fit_predict(train: np.ndarray, y: np.ndarray, test: np.ndarray, cost: float) -> Labels:
    """Train on the kernel matrix ``train`` with labels ``y``; predict the rows of ``test`` (test × training points)."""
    machine = SVC(kernel="precomputed", C=cost, max_iter=MOST_STEPS, cache_size=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(train, y)
    if not machine.fit_status_:
        return Labels(machine.predict(test), 0, 0)
    classes = np.unique(y)
    votes = np.zeros((len(test), len(classes)))
    stopped = finished = unsolved = 0
    for pair, (i, j) in enumerate(combinations(range(len(classes)), 2)):
        mine = np.flatnonzero((y == classes[i]) | (y == classes[j]))
        signs = np.where(y[mine] == classes[i], 1.0, -1.0)
        stopped = machine.n_iter_[pair] >= MOST_STEPS
        if stopped:
            weights, offset, solved = interior_point(train[np.ix_(mine, mine)], signs, cost)
            finished += 1
            unsolved += not solved
        else:
            weights, offset = _of_libsvm(machine, pair, (i, j), len(y), mine)
        won = test[:, mine] @ weights + offset > 0
        votes[:, i] += won
        votes[:, j] += ~won
    return Labels(classes[np.argmax(votes, axis=1)], finished, unsolved)


def _of_libsvm(
    machine: SVC, pair: int, classes: tuple[int, int], size: int, mine: np.ndarray
) -> tuple[np.ndarray, float]:
    """Weights and offset of one pair of classes, positive for the first of them, from libsvm's packed coefficients."""
    i, j = classes
    ends = np.concatenate([[0], np.cumsum(machine.n_support_)])
    weights = np.zeros(size)
    # Row j-1 of the coefficients of class i is its machine against class j, and row i those of class j.
    for own, row in ((i, j - 1), (j, i)):
        place = slice(ends[own], ends[own + 1])
        weights[machine.support_[place]] = machine.dual_coef_[row, place]
    offset = machine.intercept_[pair]
    if len(machine.classes_) == 2:
        # scikit-learn turns the sign for two classes, so that positive means the second one.
        return -weights[mine], -float(offset)
    return weights[mine], float(offset)


def interior_point(kernel: np.ndarray, signs: np.ndarray, cost: float) -> tuple[np.ndarray, float, bool]:
    """Weights aᵢyᵢ and offset b of max Σa - ½ aᵀQa, 0 <= a <= C, yᵀa = 0, by Mehrotra's predictor and corrector.

    The variables are t = a/C in [0, 1]. Third value: whether the gap came below the tolerance.
    """
    quadratic = kernel * (cost * np.outer(signs, signs))
    ridge = 1e-13 * float(np.trace(quadratic))
    t, b = np.full(len(signs), 0.5), 0.0
    scale = max(1.0, float(np.max(np.abs(quadratic @ t - 1.0))))
    low, high = np.full(len(t), scale), np.full(len(t), scale)
    for _ in range(MOST_FACTORISATIONS):
        image = quadratic @ t
        residual = image - 1.0 + b * signs - low + high
        balance = float(signs @ t)
        gap = float(low @ t + high @ (1.0 - t))
        size = 1.0 + abs(float(np.sum(t)) - 0.5 * float(t @ image))
        if gap < TOLERANCE * size and np.max(np.abs(residual)) < 1e-6 * scale and abs(balance) < 1e-8 * len(t):
            return cost * t * signs, b, True
        diagonal = low / t + high / (1.0 - t)
        matrix = quadratic.copy()
        matrix.flat[:: len(t) + 1] += diagonal + ridge
        try:
            factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            break
        toward = cho_solve(factor, signs, check_finite=False)
        centre = gap / (2 * len(t))

        def direction(
            aim: float,
            second: tuple[np.ndarray | float, np.ndarray | float],
            factor=factor,
            toward=toward,
            now=(t, low, high, residual, balance),
        ) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
            t, low, high, residual, balance = now
            first = aim - low * t - second[0]
            last = aim - high * (1.0 - t) - second[1]
            right = -residual + first / t - last / (1.0 - t)
            base = cho_solve(factor, right, check_finite=False)
            move_b = (float(signs @ base) + balance) / float(signs @ toward)
            move = base - move_b * toward
            return move, move_b, (first - low * move) / t, (last + high * move) / (1.0 - t)

        move, move_b, move_low, move_high = direction(0.0, (0.0, 0.0))
        length = _room((t, move), (1.0 - t, -move), (low, move_low), (high, move_high))
        ahead = (low + length * move_low) @ (t + length * move) + (high + length * move_high) @ (1 - t - length * move)
        aim = centre * (max(float(ahead), 0.0) / gap) ** 3
        move, move_b, move_low, move_high = direction(aim, (move_low * move, -move_high * move))
        length = 0.995 * _room((t, move), (1.0 - t, -move), (low, move_low), (high, move_high))
        t, b = t + length * move, b + length * move_b
        low, high = low + length * move_low, high + length * move_high
    return cost * t * signs, b, gap < 1e-3 * size


def _room(*pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """How far, at most 1, all of these stay positive along their moves."""
    steps = [np.min(-now[move < 0] / move[move < 0], initial=1.0) for now, move in pairs]
    return float(min(steps))
