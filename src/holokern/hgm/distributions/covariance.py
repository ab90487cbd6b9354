"""What the distributions of normal vectors ask of a covariance matrix."""

from __future__ import annotations

import numpy as np

from holokern.errors import BadInput
from holokern.hgm.steps.series import Array


def covariance_matrices(given: object, most: int) -> Array:
    """Covariance matrices, (…, d, d), with d up to ``most``.

    Raises BadInput unless they are square, finite, symmetric and positive definite.

    >>> covariance_matrices([[2, 1], [1, 2]], 8).shape
    (2, 2)
    """
    try:
        matrix = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise BadInput("expected a covariance matrix of real numbers") from None
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or not 1 <= matrix.shape[-1] <= most:
        raise BadInput(f"expected a square covariance matrix of size 1 to {most}, got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        raise BadInput("the covariance matrix has entries that are NaN or infinite; pass finite numbers")
    turned = np.swapaxes(matrix, -1, -2)
    if not np.allclose(matrix, turned, rtol=1e-12, atol=1e-12 * float(np.max(np.abs(matrix)))):
        raise BadInput("the covariance matrix is not symmetric; pass (S + S.T)/2 if that is meant")
    if not float(np.min(np.linalg.eigvalsh(matrix))) > 0:
        raise BadInput("the covariance matrix is not positive definite; drop dependent coordinates")
    return matrix
