"""σ(cx) and σ′(cx) at many deviations c: on a mesh, or on panels that end at the breaks of each deviation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from holokern.activation import Activation
from holokern.dual.quadrature.profile import HALF_RANGE, profile_of
from holokern.dual.quadrature.sides import Side
from holokern.dual.roughness import has_infinite_slope, is_rough_at_ends
from holokern.dual.sampling.mehler import coefficients_on_mesh, hermite_sums_of_rows, terms_needed
from holokern.dual.sampling.mesh import Mesh, Scaled
from holokern.numeric import Array, Index, Range, between, how_many_fit, legendre_rule

RESOLVED = 4e-15
"""What the mesh may leave out of σ(cx), relative to its norm."""

MOST_NODES = 150_000
"""Nodes of a mesh, beyond which a table takes longer than integrals pair by pair."""

FURTHER = 3.3
"""How much further nodes reach for Hermite coefficients, whose integrands decay like the density's root."""

_SMALL = 1e-3
"""Deviations below this are no closer to zero than any mesh looks."""

_AT_ONCE = 1 << 22
"""Values that are sampled at a time: 32 megabytes."""

TESTS = 9
"""Deviations at which the mesh is made; those between them oscillate no faster."""

_SIMILAR = 0.35
"""Deviations within a factor of 1.4 share panels, which are somewhat narrower or reach farther than each needs."""

_ARRAYS_OF_NODES = 6
"""Of nodes that differ with the deviation, in memory at a time: ends, nodes, weights, owners, values of σ and σ′."""

_FEW_TERMS = 16
"""Terms for which panels are as narrow as moments need: 2.25 deviations."""

_NODES, _PHASE = 24, 9.0
"""Nodes of a panel that ends at breaks, and radians of a Hermite function there: degree 47 in all."""


def scaled_norms(values: Array, mesh: Mesh) -> Array:
    """E[f²]^(1/2) of rows on a mesh; squares neither overflow nor underflow."""
    size = np.max(np.abs(values), axis=1, keepdims=True)
    safe = np.where((size > 0) & np.isfinite(size), size, 1.0)
    return np.asarray(safe[:, 0] * np.sqrt(np.sum((values / safe) ** 2 * mesh.masses, axis=1)))


def moments_of_many(sigma: Activation, c: Array) -> tuple[Array, Array, Array]:
    """E[σ(cz)²]^(1/2), E[σ′(cz)²]^(1/2) (1 if σ jumps) and E[σ(cz)] for many deviations together."""
    if is_rough_at_ends(sigma):
        terms, norms = between_breaks(_FEW_TERMS, sigma, c)
        return norms[0], norms[1] if len(norms) > 1 else np.ones(len(c)), terms[0, :, 0]
    mesh = mesh_for(sigma, Range(float(np.log(np.min(c))), float(np.log(np.max(c)))))
    found = np.ones((3, len(c)))
    # Some deviations at a time, to bound the memory.
    some = max(1, _AT_ONCE // len(mesh.nodes))
    for start in range(0, len(c), some):
        part = slice(start, start + some)
        u = np.multiply.outer(c[part], mesh.nodes)
        for row, function in enumerate(functions_of(sigma)):
            values = function(u)
            found[row, part] = scaled_norms(values, mesh)
            if row == 0:
                found[2, part] = values @ mesh.masses
    return found[0], found[1], found[2]


def hermite_rows_at(sigma: Activation, c: Array, smallest: float) -> Array:
    """Hermite coefficients of σ(cx) and, unless σ jumps, of σ′(cx), whatever the breaks: (functions, c, terms)."""
    return between_breaks(terms_needed(smallest), sigma, c)[0]


def functions_of(sigma: Activation) -> tuple[Activation, ...]:
    """σ and, unless it jumps, σ′."""
    return (sigma,) if has_infinite_slope(sigma) else (sigma, sigma.derivative)


def reach_of(sigma: Activation, c: Array) -> Array:
    """How many deviations out σ(cx)² has its mass."""
    side = Side.of(profile_of(sigma), c)
    return np.asarray(HALF_RANGE + np.maximum(side.left, side.right))


def scale_of(sigma: Activation, c: Array) -> Array:
    """How close to zero σ(cx) must be looked at; for small deviations that is far."""
    return np.asarray(profile_of(sigma).scale / np.maximum(c, _SMALL))


def mesh_for(sigma: Activation, span: Range, further: float = 0.0) -> Mesh:
    """A mesh that resolves an activation whose only break may be zero at all deviations of a range."""
    tests = np.exp(np.unique(np.linspace(span.low, span.high, TESTS)))
    reach = float(np.max(reach_of(sigma, tests))) + further
    functions = scaled_functions(sigma, tests[None], np.array([reach]))
    return Mesh.resolving(functions, reach, RESOLVED, MOST_NODES, str(sigma), scale=float(scale_of(sigma, tests[-1])))


def scaled_functions(sigma: Activation, tests: Array, reach: Array) -> list[Scaled]:
    """σ(cx) and σ′(cx) over their norms, at some deviations for each mesh: ``tests`` has one row for each."""
    # Dense next to zero, where σ(cx) may be a needle.
    scale = scale_of(sigma, np.max(tests, axis=1, keepdims=True))
    t = np.linspace(-1.0, 1.0, 2001) * np.arcsinh(reach[:, None] / scale)
    x, steps = scale * np.sinh(t), scale * np.cosh(t) * (t[:, 1:2] - t[:, :1])
    root = np.exp(-x * x / 4) * np.sqrt(steps / np.sqrt(2 * np.pi))
    functions: list[Scaled] = []
    for function in functions_of(sigma):
        with np.errstate(all="ignore"):
            values = np.nan_to_num(function(tests[:, :, None] * x[:, None]) * root[:, None])
        norm = np.sqrt(np.sum(values**2, axis=2))
        functions.append(partial(_scaled, function, tests.T, np.where(norm > 0, norm, 1.0).T))
    return functions


def _scaled(function: Activation, c: Array, scale: Array, x: Array, owner: Index) -> Array:
    here, size = (some[:, None, owner, None] for some in (c, scale))
    return np.asarray(function(here * x) / size)


def on_mesh(count: int, mesh: Mesh, sigma: Activation, c: Array) -> tuple[Array, Array]:
    """Hermite coefficients of σ(cx) and, unless σ jumps, of σ′(cx), and their norms."""
    values = np.stack([function(np.multiply.outer(c, mesh.nodes)) for function in functions_of(sigma)])
    return coefficients_on_mesh(mesh, values, count), np.linalg.norm(values * np.sqrt(mesh.masses), axis=2)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Gauss–Legendre nodes of several deviations, those of each on panels that end at its breaks."""

    # x, weights: the nodes, and weights of dx
    x: Array
    weights: Array
    first: Index  # where those of each deviation begin, and the end
    values: Array  # σ(cx) and, unless σ jumps, σ′(cx), one row each

    @property
    def norms(self) -> Array:
        """E[σ(cx)²]^(1/2) and E[σ′(cx)²]^(1/2), one column for each deviation."""
        heavy = self.values**2 * (self.weights * np.exp(-self.x * self.x / 2) / np.sqrt(2 * np.pi))
        return np.asarray(np.sqrt(np.add.reduceat(heavy, self.first[:-1], axis=1)))


def nodes_between_breaks(sigma: Activation, c: Array, reach: float, width: float) -> Nodes:
    """Nodes up to ``reach`` at least, on panels no wider than ``width``; similar deviations share values of σ."""
    profile = profile_of(sigma)
    smooth = profile.panels(reach * float(np.max(c)))
    ends = np.concatenate([profile.breaks, smooth.ends, profile.deep_ends])
    t, w = legendre_rule(_NODES)
    found: list[tuple[Array, Array, Array]] = [(c, c, c)] * len(c)
    group = np.floor(np.log(c / np.min(c)) / _SIMILAR)
    for one in np.unique(group):
        some = np.flatnonzero(group == one)
        far = reach * float(np.max(c[some]))
        grid = np.linspace(-far, far, 1 + int(np.ceil(2 * far / (width * float(np.min(c[some]))))))
        panels = between(np.concatenate([grid, ends[np.abs(ends) < far]])[None])
        how_many_fit(8 * _NODES * len(panels) * len(some), _ARRAYS_OF_NODES, f"{sigma} at {len(c)} deviations")
        u, mass = (panels.start[:, None] + panels.width[:, None] * t).ravel(), (panels.width[:, None] * w).ravel()
        values = np.stack([f(u) for f in functions_of(sigma)])
        for row in some:
            found[row] = u / c[row], mass / c[row], values
    x, weights, rows = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
    return Nodes(x, weights, np.concatenate([[0], np.cumsum([len(one[0]) for one in found])]), rows)


def between_breaks(count: int, sigma: Activation, c: Array) -> tuple[Array, Array]:
    """Hermite coefficients of σ(cx) and σ′(cx) with breaks anywhere, and their norms."""
    reach = float(np.max(reach_of(sigma, c))) + FURTHER
    functions, width = len(functions_of(sigma)), _PHASE / np.sqrt(count)
    coefficients, norms = np.empty((functions, len(c), count)), np.empty((functions, len(c)))
    # Some deviations at a time, to bound the memory.
    step = max(1, int(_AT_ONCE // (_NODES * 2 * reach / width)))
    for start in range(0, len(c), step):
        some = slice(start, start + step)
        nodes = nodes_between_breaks(sigma, c[some], reach, width)
        coefficients[:, some] = hermite_sums_of_rows(nodes.values, nodes.x, nodes.weights, nodes.first, count)
        norms[:, some] = nodes.norms
    return coefficients, norms
