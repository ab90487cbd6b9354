"""The Fisher distribution on the rotations SO(3), through the Bingham distribution of quaternions.

The rotation R(q) of a unit quaternion q has quadratic entries, so tr(FᵀR(q)) = qᵀAq with a matrix A linear in F: the
normalising constant of exp(tr(FᵀR)) is a mean over S³, and E[R] is linear in E[qqᵀ] [Sei2013].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from holokern.errors import BadInput
from holokern.hgm.distributions.sphere import LogConstant, Table, fisher_bingham, log_area
from holokern.hgm.lines.initial import as_ball
from holokern.hgm.steps.series import Array
from holokern.numeric import working_precision

_EXACT_BITS = 400  # sums of floats are exact in as many bits, if their exponents are not extreme


@dataclass(frozen=True)
class RotationConstant(LogConstant):
    """The normalising constant of the Fisher distribution on SO(3), for the Haar measure of total mass 1.

    Attributes
    ----------
    mean : array, (…, 3, 3)
        E[R], the gradient of log c in F.
    """

    mean: Array


def quaternion_forms() -> Array:
    """The symmetric matrices T_ij with R_ij = qᵀT_ij q, (3, 3, 4, 4), for quaternions with the scalar part first.

    >>> np.einsum("a,ijab,b", [1, 0, 0, 0], quaternion_forms(), [1, 0, 0, 0]).astype(int).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    forms = np.zeros((3, 3, 4, 4), dtype=int)
    for i in range(3):
        forms[i, i] = -np.eye(4, dtype=int)
        forms[i, i, 0, 0] = forms[i, i, i + 1, i + 1] = 1
        j, k = (i + 1) % 3, (i + 2) % 3
        for sign, a, b in ((-1, i, j), (1, j, i)):
            # R_ij = 2 (q_i q_j ∓ q_0 q_k)
            for row, column, value in ((i + 1, j + 1, 1), (0, k + 1, sign)):
                forms[a, b, row, column] = forms[a, b, column, row] = value
    return forms


def fisher_rotation(parameter: ArrayLike | Table, *, balls: bool = False, digits: int = 30) -> RotationConstant:
    """The normalising constant ∫ exp(tr(FᵀR)) dR over the rotations R, with its gradient E[R].

    Parameters
    ----------
    parameter : array_like, (…, 3, 3)
        F, any real matrices; one of them for balls, as for :func:`holokern.hgm.fisher_bingham`.
    balls, digits
        Whether to prove the constant and its gradient, and to how many digits.

    Examples
    --------
    >>> c = fisher_rotation(np.eye(3))
    >>> float(c.value.round(10)), float(c.mean[0, 0].round(10))
    (1.8727560461, 0.4362631244)
    """
    forms = quaternion_forms()
    if balls:
        F = np.array(parameter, dtype=object)
        if F.shape != (3, 3):
            raise BadInput(f"expected one matrix of shape (3, 3) for balls, got shape {F.shape}")
        with working_precision(_EXACT_BITS + 4 * digits):
            quadratic = np.einsum("ij,ijab->ab", np.vectorize(as_ball, otypes=[object])(F), forms.astype(object))
        c = fisher_bingham(quadratic.tolist(), [0] * 4, balls=True, digits=digits)
        with working_precision(_EXACT_BITS + 4 * digits):
            log_value = c.log_value - (2 * arb.pi() ** 2).log()
        mean = np.einsum("ijab,ab->ij", forms.astype(object), c.second)
        return RotationConstant(log_value, float(log_value.rad()), mean)
    given = np.asarray(parameter, dtype=float)
    if given.ndim < 2 or given.shape[-2:] != (3, 3) or not np.all(np.isfinite(given)):
        raise BadInput(f"expected finite matrices of shape (…, 3, 3), got shape {given.shape}")
    c = fisher_bingham(np.einsum("...ij,ijab->...ab", given, forms), np.zeros(4))
    return RotationConstant(c.log_value - log_area(4), c.error, np.einsum("ijab,...ab->...ij", forms, c.second))
