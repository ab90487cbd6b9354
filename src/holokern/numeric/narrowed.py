"""A table to fewer digits: one panel in place of several, and fewer terms."""

from __future__ import annotations

import numpy as np

from holokern.numeric.chebyshev import chebyshev_matrix
from holokern.numeric.panels import Array
from holokern.numeric.table import Table, Tensor, fit_angles

_COUNTS = (12, 16, 24, 36)
"""Terms in the angle that are tried."""

_NODES = (8, 12, 18, 27, 40)
"""Nodes in ℓ that are tried."""


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
