"""Points where kernels are delicate, of nearly one length so that activations compile quickly."""

import numpy as np
import pytest


@pytest.fixture
def delicate_points():
    """Six points, a copy, an antipode, a point 1e-9 away, a longer one in one direction, and a zero vector."""
    x = np.random.default_rng(0).standard_normal((6, 3))
    x *= np.linspace(0.9, 1.1, 6)[:, None] / np.linalg.norm(x, axis=1)[:, None]
    return np.concatenate([x, [x[4], -x[4], x[4] + 1e-9 * x[5], 1.1 * x[4] / np.linalg.norm(x[4]), 0 * x[4]]])


@pytest.fixture
def differences():
    """Central differences of Σ weights·kernel(x, y) in every coordinate of x, y being held."""

    def of(kernel, weights, x, y, step=1e-5):
        result = np.zeros_like(x)
        for i in range(len(x)):
            for j in range(x.shape[1]):
                moved = np.stack([x[i], x[i]])
                moved[:, j] += step, -step
                ahead, back = kernel(moved, y)
                result[i, j] = weights[i] @ (ahead - back) / (2 * step)
        return result

    return of
