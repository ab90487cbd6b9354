"""Expectations of functions of one normal variable, and limits of those of two at the angles 0 and π."""

from __future__ import annotations

import numpy as np

from holokern.dual.quadrature.sides import Moments, Resolution, Side, Terms, cut_line, expectations, outer_range
from holokern.numeric import Array, Index

# of the integrals over a line, whose panels are halved until they settle: 12 take longer, 36 about as long
_NODES = 24
# relative change at which halving stops; 1e-12 and 1e-15 gave the same values for named activations
_SETTLED = 1e-14
# a relative change that may be noise
_NOISE = 1e-9
# panels in all from which on they are not halved any more: twelve million values
_MOST_PANELS = 1 << 19
# 64 panels in the place of one; what is still not settled has a singularity that halving does not resolve
_MOST_HALVINGS = 7


def diagonal(f: Side, g: Side, sign: int, resolution: Resolution | None = None) -> Moments:
    """E[f(x) g(±x)] and E[ḟ(x) ġ(±x)]: the limits of `pair` at θ = 0 and θ = π.

    Without a resolution here and below, panels are halved until the integrals do not change any more.
    """
    same = sign == 1 and g.profile is f.profile and np.array_equal(g.c, f.c)

    def products(x: Array, owner: Index) -> tuple[Array, ...]:
        here = f.value(x, owner), f.slope(x, owner)
        there = here if same else (g.value(sign * x, owner), g.slope(sign * x, owner))
        k, kdot = here[0] * there[0], here[1] * there[1]
        return k, kdot, np.abs(k), np.abs(kdot)

    return Moments(*_on_line(f, g, sign, resolution, products))


def energy(f: Side, resolution: Resolution | None = None, *, slope: bool = False) -> Array:
    """E[f(x)²], or E[ḟ(x)²]."""
    function = f.slope if slope else f.value
    return _on_line(f, f, 1, resolution, lambda x, owner: (function(x, owner) ** 2,))[0]


def mean(f: Side) -> Array:
    """E[f(x)]."""
    return _on_line(f, f, 1, None, lambda x, owner: (f.value(x, owner), np.abs(f.value(x, owner))))[0]


def distance(f: Side, g: Side, scales: tuple[Array, Array]) -> Array:
    """E[(f(x)/n₁ - g(x)/n₂)²]/2, without cancellation where f and g are nearly the same."""

    def squares(x: Array, owner: Index) -> tuple[Array, ...]:
        n1, n2 = (scale[owner][:, None] for scale in scales)
        return ((f.value(x, owner) / n1 - g.value(x, owner) / n2) ** 2 / 2,)

    return _on_line(f, g, 1, None, squares)[0]


def _on_line(f: Side, g: Side, sign: int, resolution: Resolution | None, terms: Terms) -> list[Array]:
    """Expectations of functions of x that are smooth between the breaks of f(x) and of g(±x)."""
    low, high = outer_range(f, g, np.full((len(f.c), 1), float(sign)))
    deep = [np.broadcast_to(side.profile.deep_ends, (len(f.c), len(side.profile.deep_ends))) for side in (f, g)]
    splits = f.breaks, f.smoothness.ends, sign * g.breaks, sign * g.smoothness.ends, *deep
    panels = cut_line(low, high, *splits)
    if resolution is not None:
        return expectations(panels.halved(resolution.halvings), resolution.nodes, terms, len(f.c))
    before = expectations(panels, _NODES, terms, len(f.c))
    last = np.full(len(f.c), np.inf)
    for halvings in range(1, _MOST_HALVINGS):
        after = expectations(panels.halved(halvings), _NODES, terms, len(f.c))
        scale = np.max(np.abs(after), axis=0)
        moved = np.max(np.abs(np.subtract(after, before)), axis=0)
        # where a change is small and does not fall any more, it is the noise of the values
        noise = (moved <= _NOISE * scale) & (moved > last / 4)
        if np.all((moved <= _SETTLED * scale) | noise) or len(panels) << halvings > _MOST_PANELS:
            break
        before, last = after, moved
    return after
