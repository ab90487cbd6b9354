"""Taylor expansion with HGM: representatives by transport, their neighbours by one expansion each.

From the vector H at a representative the Pfaffian system gives all its derivatives, hence the Taylor series along the
segment to a neighbour [SakodaTakayama2024, Sect 5].  The last terms of that series decide who is a neighbour.
"""

from __future__ import annotations

import numpy as np

from holokern.activation import Activation
from holokern.dual.methods.hgm import hgm
from holokern.dual.methods.polar import Start, arrived, crosses, polar_system, unscaled
from holokern.dual.value import Estimate
from holokern.errors import BadInput
from holokern.hgm import AnglePath, Numbers, SegmentPath, clusters, transport
from holokern.numeric import EPS, Array, Index

# the imaginary part of θ above zeros of D; 0.12 does as well, 0.5 makes errors of gelu 25 times as large
_HEIGHT = 0.25
# how far representatives stay from r = ±1, where D vanishes; 0.2 does as well
_CLEAR = 0.4
# radii 0.2, 0.05 and 0.0125; points that need smaller ones go alone
_ROUNDS = 3


def taylor(
    activation: Activation,
    c1: Array,
    c2: Array,
    theta: Array,
    tolerance: float,
    *,
    radius: float = 0.2,
    order: int = 24,
) -> tuple[Array, Array, Array, Array]:
    """k, k′ and their errors; see :func:`expand`."""
    return expand(activation, c1, c2, theta, tolerance, radius=radius, order=order)[0]


def expand(
    activation: Activation,
    c1: Array,
    c2: Array,
    theta: Array,
    tolerance: float,
    *,
    radius: float = 0.2,
    order: int = 24,
) -> tuple[tuple[Array, Array, Array, Array], Index]:
    """Expand from representatives; the index of each point's, -1 where it was transported after all, comes last.

    Parameters
    ----------
    radius : float
        Points closer than this in (log c1, log c2, θ) share a representative at first.  A point whose series does not
        converge then looks for another one.
    order : int
        The number of terms.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> _, origin = expand(activation("relu"), np.ones(3), np.ones(3), np.array([1.0, 1.01, 2.5]), 1e-12)
    >>> origin.tolist()
    [0, 0, 2]
    """
    if not radius > 0:
        raise BadInput(f"radius = {radius!r} is not positive; try 0.2")
    if not (isinstance(order, int) and order >= 4):
        raise BadInput(f"order = {order!r} is not an integer of at least 4; try 24")
    table = polar_system(activation)
    lifted = bool(np.any(crosses(AnglePath(table, c1, c2))))
    count = len(theta)
    result, representative = Estimate.empty(count), np.full(count, -1)
    coordinates = np.stack([np.log(c1), np.log(c2), theta], axis=1)
    todo = np.arange(count)
    for turn in range(_ROUNDS):
        if not len(todo):
            break
        chosen = clusters(coordinates[todo], radius / 4**turn)
        reps = np.unique(chosen)
        some = todo[reps]
        states, angle = _states(activation, c1[some], c2[some], theta[some], lifted)
        start = np.stack([c1[some], c2[some], angle], axis=1)[np.searchsorted(reps, chosen)]
        end = np.stack([c1[todo], c2[todo], theta[todo]], axis=1)
        path = SegmentPath(table, start, end)
        index = np.arange(len(todo))
        arrival = transport(
            path,
            np.zeros(len(todo)),
            states[np.searchsorted(reps, chosen)],
            index,
            np.ones(len(todo)),
            order=order,
            detour=lifted,
            most=1,
        )
        part = arrived(arrival, table.outputs)
        size = np.abs(part.k) + np.abs(part.kdot)
        settled = part.k_error + part.kdot_error <= np.maximum(tolerance, 1e-13) * size
        result.put(todo[settled], part.some(settled))
        representative[todo[settled]] = todo[chosen[settled]]
        todo = todo[~settled]
    found = unscaled(result, table, c1, c2, theta)
    if len(todo):
        # alone, or too close to a singular point for an expansion
        found.put(todo, Estimate(*hgm(activation, c1[todo], c2[todo], theta[todo], tolerance)))
    return found.arrays, representative


def _states(activation: Activation, c1: Array, c2: Array, theta: Array, lifted: bool) -> tuple[Numbers, Numbers]:
    """H with perturbations at each representative, kept away from det Σ = 0 and, if ``lifted``, from real θ."""
    table = polar_system(activation)
    angle: Numbers = np.clip(theta, _CLEAR, np.pi - _CLEAR) if table.ends else theta
    start: Numbers = np.full(len(theta), np.pi / 2)
    if lifted:
        angle, start = angle + 1j * _HEIGHT, start + 1j * _HEIGHT
    states = Start.of(activation, c1, c2, far=lifted).states(c1, c2, start)
    path = AnglePath(table, c1, c2)
    index = np.arange(len(theta))
    arrival = transport(path, start, states, index, angle, detour=lifted, every_entry=True, perturbed=False)
    value = arrival.value
    signs = np.random.default_rng(5).choice([-1.0, 1.0], size=value[:, :, 1:].shape)
    value[:, :, 1:] += signs * (8 * EPS * np.max(np.abs(value[:, :, :1]), axis=1, keepdims=True))
    return value, angle
