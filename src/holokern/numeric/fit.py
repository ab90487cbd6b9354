"""Panels of angles and fits on them, and a table to fewer digits: one panel in place of several, and fewer terms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holokern.numeric.chebyshev import chebyshev_matrix, chebyshev_nodes
from holokern.numeric.panels import Array
from holokern.numeric.table import Table, Tensor

_COUNTS = (12, 16, 24, 36)
"""Terms in the angle that are tried."""

_NODES = (8, 12, 18, 27, 40)
"""Nodes in ℓ that are tried."""


def graded_edges(first: float, folded: bool) -> Array:
    """Ends of panels on [0, π], or on [0, π/2] if folded, that double in width from ``first`` at the ends.

    Examples
    --------
    >>> graded_edges(0.1, True).round(3).tolist()
    [0.0, 0.1, 0.2, 0.4, 0.942, 1.571]
    """
    ends = [0.0]
    while first < 0.45:
        ends.append(first)
        first *= 2
    if not ends[1:]:
        ends.append(0.4)
    # Two or three panels of about equal worth in the middle: the functions are smoothest there.
    half = [*ends, ends[-1] + 0.463 * (np.pi / 2 - ends[-1])]
    if folded:
        return np.array([*half, np.pi / 2])
    return np.concatenate([half, np.pi - np.array(half)[::-1]])


def fit_angles(
    sample: Callable[[Array], Array], low: float, high: float, counts: tuple[int, ...], negligible: Array | float
) -> tuple[Array, bool]:
    """Chebyshev coefficients in θ on [low, high], along the last axis, and whether the last ones are negligible.

    ``sample`` gives values with the angles in the last axis. The first of the ``counts`` that suffices is taken.
    ``negligible`` is what the last coefficients may be, broadcast over the values.
    """
    for count in counts:
        theta = (low + high + (high - low) * chebyshev_nodes(count)) / 2
        coefficients = sample(theta) @ chebyshev_matrix(count).T
        if np.all(np.abs(coefficients[..., -2:]) <= negligible):
            return coefficients, True
    return coefficients, False


def narrowed(table: Table, low: float, high: float, tolerance: float) -> Table | None:
    """A table with one panel of angles from ``low`` to ``high``, with errors of about ``tolerance``.

    None if the table has no values there, or if it takes too many terms.
    """
    for count in (1,) if table.range.is_point else _NODES:
        logs = table.range.nodes(count)
        first, second = (logs[index].ravel() for index in np.indices((count, count)))

        def sample(theta: Array, first: Array = first, second: Array = second, count: int = count) -> Array:
            rows, columns = np.repeat(first, len(theta)), np.repeat(second, len(theta))
            return table(rows, columns, np.tile(theta, len(first))).reshape(-1, count, count, len(theta))

        coefficients, settled = fit_angles(sample, low, high, _COUNTS, tolerance)
        if not settled:
            return None
        matrix = chebyshev_matrix(count)
        tensor = np.einsum("pa,qb,kabm->kpqm", matrix, matrix, coefficients, optimize=True)
        if count == 1 or np.max(np.abs(tensor[:, -2:])) <= tolerance:
            panel = tuple(Tensor(np.eye(count), one).compressed(0.1 * tolerance) for one in tensor)
            return Table(table.range, np.array([0.0, low, high, np.pi]), (None, panel, None))
    return None
