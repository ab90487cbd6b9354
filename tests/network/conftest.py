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
        moves = step * np.concatenate([np.eye(x.shape[1]), -np.eye(x.shape[1])])
        # All moved points in one matrix: one row of the result for each point, sign and coordinate.
        moved = kernel((x[:, None, :] + moves).reshape(-1, x.shape[1]), y)
        ahead, back = np.moveaxis(moved.reshape(len(x), 2, x.shape[1], len(y)), 1, 0)
        return np.einsum("ij,idj->id", weights[: len(x)], ahead - back) / (2 * step)

    return of
