"""σ(cx) and σ′(cx) for the deviations c of a table: few rows that stand for all of them.

The rows of σ(cx), divided by their norms, at Chebyshev nodes in log c are sums U V with few rows V. So k and k′ of all
pairs of deviations follow from the correlations of the rows V, whatever the angle. For angles away from 0 and π the
rows are Hermite coefficients, of which few count, and σ may break anywhere. For all angles they are values on a mesh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holokern.activation import Activation
from holokern.dual.quadrature.method import quadrature
from holokern.dual.quadrature.profile import profile_of
from holokern.dual.roughness import is_rough_at_ends
from holokern.dual.sampling.blur import Blur, BlurredRows
from holokern.dual.sampling.correlation import Correlation
from holokern.dual.sampling.mehler import HermiteRows, coefficients_on_mesh, terms_needed
from holokern.dual.sampling.mesh import Mesh
from holokern.dual.sampling.range_nodes import RangeNodes
from holokern.dual.tables.compressed import Compressed, compressed
from holokern.dual.tables.samples import (
    FURTHER,
    MOST_NODES,
    RESOLVED,
    TESTS,
    between_breaks,
    functions_of,
    mesh_for,
    nodes_between_breaks,
    on_mesh,
    reach_of,
    scale_of,
    scaled_functions,
)
from holokern.errors import PrecisionLost
from holokern.numeric import Array, Range
from holokern.progress import note

_OSCILLATING = 2000
"""Nodes of a mesh from which on it is taken to resolve oscillations."""

_PER_DEVIATION = 15
"""Nodes of a mesh that resolves oscillations, for each deviation that must be sampled: 12 to 13 were counted."""

_SLOW = 8000
"""Nodes of a mesh from which on a table for small angles takes more than about five seconds."""

_MOST_SAMPLES = 1 << 24
"""Of a table for all angles that oscillates: it takes about half a minute, and twice as many take a minute and more."""

_ASKED = 1e-13
"""Of quadrature, relative to the sizes, where it checks a table."""

_NODES_OF_A_BLUR = 5
"""Deviations that must be sampled while a break moves by the width of the blur."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Few rows for a range of deviations."""

    nodes: RangeNodes  # the nodes in log c
    functions: Array  # U: what the rows of σ(cx) over its norm at the nodes are in terms of few rows
    # those rows, in one group for σ and, unless σ jumps, another one for σ′
    correlation: Correlation | HermiteRows | BlurredRows
    constant: Array  # the coordinates of the constant function 1 of c, in the columns of U
    # norms, slopes, means: E[σ(cz)²]^(1/2), E[σ′(cz)²]^(1/2) and E[σ(cz)] at the nodes
    norms: Array
    slopes: Array
    means: Array
    scale: float  # the smallest width of a panel: σ(cx) varies on this scale


def mesh_rows(sigma: Activation, span: Range) -> Rows:
    """Rows for all angles, of an activation whose only break may be zero.

    Raises PrecisionLost if σ(cx) is too rough for a mesh or a series of bearable size, or its mass overflows.
    """
    mesh = mesh_for(sigma, span)
    oscillates, (low, high) = len(mesh.nodes) > _OSCILLATING, span.ends
    # What oscillates along the mesh does so as often in c.
    more = int(len(mesh.nodes) / _PER_DEVIATION * (1 - low / high)) if oscillates else 0
    if more * len(mesh.nodes) > _MOST_SAMPLES:
        raise PrecisionLost(
            f"{sigma} oscillates too often at deviations from {low:.4g} to {high:.4g} for a table of small angles; "
            "rescale the data (divide pixels by 255), or use method='quadrature'"
        )
    if len(mesh.nodes) > _SLOW and not span.is_point:
        note(
            f"{sigma} oscillates so often at deviations up to {high:.4g} that its table for small angles may "
            "take half a minute; it is kept on disk. Smaller norms, or engine='pairs' for few points, avoid it"
        )

    def sampled(c: Array, _: Range) -> tuple[Array, Array, Array]:
        values = np.stack([f(np.multiply.outer(c, mesh.nodes)) for f in functions_of(sigma)])
        features = values * np.sqrt(mesh.masses)
        return values, features, np.linalg.norm(features, axis=2)

    made = compressed(sigma, span, sampled, oscillates, more)
    means = made.values[0] @ mesh.masses
    correlation = Correlation(mesh, made.few_rows, bool(sigma.breaks))
    return _rows(made, correlation, means, float(np.min(np.diff(mesh.edges))))


def hermite_rows(sigma: Activation, span: Range, smallest: float) -> Rows:
    """Rows for angles between ``smallest`` and its supplement.

    Raises PrecisionLost if σ(cx) is too rough for a mesh or a series of bearable size, or its mass overflows.
    """
    count = terms_needed(smallest)
    away = is_rough_at_ends(sigma)
    whole = None if away else mesh_for(sigma, span)
    oscillates = whole is not None and len(whole.nodes) > _OSCILLATING

    # Correlations at θ are products of coefficients that are damped by half a power of cos θ each.
    damping = float(np.sqrt(np.cos(smallest))) ** np.arange(float(count))

    def sampled(c: Array, part: Range) -> tuple[Array, Array, Array]:
        if whole is None:
            values, norms = between_breaks(count, sigma, c)
        else:
            values, norms = on_mesh(count, mesh_for(sigma, part, FURTHER) if oscillates else whole, sigma, c)
        return values, values * damping, norms

    made = compressed(sigma, span, sampled, oscillates)
    scale = smallest if whole is None else float(np.min(np.diff(whole.edges)))
    return _rows(made, HermiteRows(made.few_rows), made.values[0][:, 0], scale)


def blurred_rows(sigma: Activation, span: Range, smallest: float) -> Rows:
    """Rows for angles from ``smallest`` on, whatever the breaks: blurred by half of that angle, none is left.

    Raises PrecisionLost if σ(cx) is too rough for a mesh or a series of bearable size, or its mass overflows.
    """
    blur = Blur(smallest)
    profile, c = profile_of(sigma), np.exp(np.unique(np.linspace(span.low, span.high, TESTS)))
    reach = float(np.max(reach_of(sigma, c)))
    ends = [np.sort(b / np.exp([span.low, span.high])) for b in profile.breaks]
    functions = scaled_functions(sigma, c[None], np.array([reach]))
    scale = float(scale_of(sigma, c[-1]))
    resolved = Mesh.resolving(functions, reach, RESOLVED, MOST_NODES, str(sigma), blur.resolved, scale)
    mesh = blur.mesh(resolved, ends)

    def sampled(c: Array, _: Range) -> tuple[Array, Array, Array]:
        nodes = nodes_between_breaks(sigma, c, reach + blur.reach, blur.panel)
        values = blur.values(mesh, nodes.x, nodes.weights, nodes.first, nodes.values)
        return values, values * np.sqrt(mesh.masses), nodes.norms

    moves = sum(float(high - low) for low, high in ends) / blur.width
    made = compressed(sigma, span, sampled, False, int(_NODES_OF_A_BLUR * moves))
    means = made.values[0] @ mesh.masses
    return _rows(made, BlurredRows(blur, Correlation(mesh, made.few_rows, False)), means, smallest)


def checking_rows(sigma: Activation, c: Array, smallest: float) -> Correlation | HermiteRows:
    """Rows for single deviations, made in another way than those of tables: a finer mesh, or finer panels."""
    if is_rough_at_ends(sigma):
        return HermiteRows(between_breaks(2 * terms_needed(smallest), sigma, c)[0])
    ends = np.log(np.array([np.min(c), np.max(c)]))
    coarse = mesh_for(sigma, Range(*ends)).edges
    mesh = Mesh(np.sort(np.concatenate([coarse, (coarse[1:] + coarse[:-1]) / 2])))
    values = np.stack([f(np.multiply.outer(c, mesh.nodes)) for f in functions_of(sigma)])
    if smallest and len(mesh.nodes) > 2 * _OSCILLATING:
        return HermiteRows(coefficients_on_mesh(mesh, values, terms_needed(smallest)))
    return Correlation(mesh, values, bool(sigma.breaks))


def by_quadrature(sigma: Activation, c: Array) -> Callable[[float], tuple[Array, Array]]:
    """Correlations at θ and π - θ as a table for small angles has them, every pair by itself."""
    rows, columns = np.triu_indices(len(c))

    def at(theta: float) -> tuple[Array, Array]:
        found = []
        for angle in (theta, np.pi - theta):
            both = np.empty((len(functions_of(sigma)), len(c), len(c)))
            values = quadrature(sigma, c[rows], c[columns], np.full(len(rows), angle), _ASKED)
            for one, value in zip(both, values[:2], strict=False):
                one[rows, columns] = one[columns, rows] = value
            found.append(both)
        return found[0], found[1]

    return at


def _rows(made: Compressed, correlation: Correlation | HermiteRows | BlurredRows, means: Array, scale: float) -> Rows:
    constant = made.functions.T @ np.ones(len(means))
    slopes = made.norms[-1] if len(made.norms) > 1 else np.ones(len(means))
    return Rows(made.nodes, made.functions, correlation, constant, made.norms[0], slopes, means, scale)
