"""Rigorous Taylor steps for linear ODEs D_i(t) F_i' = Σ_j N_ij(t) F_j with polynomial coefficients, in flint's balls.

One step goes from t0 to t0 + h along a segment of the complex plane.  In x = (t - t0)/h a polynomial p(x) is computed
from the Taylor recurrence, without any bound.  Then its residual q = p' - Ap, A = N/D, is bounded in balls.  The error
e = f - p solves e' = Ae - q, and Gronwall's inequality on [0, 1] gives

    ‖e(1)‖ ≤ exp(∫μ) ‖e(0)‖ + exp(∫max(μ, 0)) max‖q‖

in a weighted maximum norm, μ the logarithmic norm of A.  Where the factor of ‖e(0)‖ is large, as on long steps of
oscillating solutions, the unit vectors go the step as well, and |M| takes its place, M the matrix of their ends.

So correctness rests on these bounds only: bad heuristics for step lengths and degrees cost time, never correctness.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from flint import acb, acb_poly, arb, ctx
from numpy.typing import NDArray

from holokern.errors import BadInput, PrecisionLost, SingularPath
from holokern.hgm.steps.fixed_point import COMPLEX, REAL, Arithmetic, Ball, BallRow, Polynomial, taylor_terms
from holokern.numeric import charge, working_precision

_STRIPS = 8  # bounds are taken strip by strip: two strips cost 50 bits of the result for gelu, 16 are no better than 8
_SHORTEST = 2.0**-40  # relative to t: where steps get so short the path runs into a singular point
_MOST_STEPS = 4000  # each step halves the distance to the end w = 0, so this serves 1 - |r| down to 2^-8000
# zeros of D seen from the target under a smaller angle (11°) to the real line would make steps very short
_SAFE_ANGLE = 0.2
# keeps weights of a reducible matrix within a factor of a thousand; 1e-6 and 1e-1 give much the same balls
_MIXING = 1e-3
_ITERATIONS = 60  # power iterations; 20 give the same balls, and 5 slightly wider ones
_ROUGH_BITS = 80  # bounds need no digits; with 40 bits or 160 the balls and the time are the same
# a step may magnify the defect by 2 to this part of the working precision; with 1/8 or 1/2 balls are as wide
_MAGNIFIED = 0.25
_LOOSE = 256  # beyond this factor the errors at the start of a step are multiplied by the transition matrix itself
_HOPELESS_BITS = 4000  # twice the precision that `enclose` works with at most: nothing could be left of such balls
# units of `holokern.numeric.work` of one term of one entry, and of its strips in one step
_TERM_WORK, _STRIP_WORK = 0.03, 4.0


def transport_balls(system: Sequence[BallRow], start: arb, end: arb, value: Sequence[arb]) -> list[arb]:
    """Carry F from ``start`` to ``end``, along the real line or round the zeros of D that lie on it.

    A detour gives the right value if F is analytic between it and the line; the caller must ensure that.

    Parameters
    ----------
    system : sequence of BallRow
        One equation an unknown; each keeps its own denominator, so that simple equations stay cheap.
    start, end : arb
    value : sequence of arb
        F at ``start``.

    Returns
    -------
    list of arb
        Balls that contain F at ``end``, computed at flint's working precision; wide if digits were lost.

    Raises
    ------
    SingularPath
        When D vanishes at an end, or so close to the path that steps become too short.
    PrecisionLost
        When more bits are lost than any reasonable working precision has.

    Examples
    --------
    >>> from flint import arb_poly
    >>> exponential = [BallRow(arb_poly([1]), {0: arb_poly([1])})]
    >>> transport_balls(exponential, arb(0), arb(1), [arb(1)])[0].overlaps(arb(1).exp())
    True
    """
    if len(value) != len(system):
        raise BadInput(f"expected {len(system)} initial values, got {len(value)}")
    singular = np.concatenate([_approximate_roots(row.denominator) for row in system])
    corners = _detour(float(start), float(end), singular)
    kind = COMPLEX if corners else REAL
    if corners:
        system = _complex(system)
    path = _Path(system, kind, singular)
    (state,) = _along(path, kind.number(start), [*map(acb, corners), kind.number(end)], [list(value)])
    return [entry.real for entry in state]


def carry_balls(system: Sequence[BallRow], columns: Sequence[Sequence[Ball]]) -> list[list[Ball]]:
    """Carry several solutions at once from t = 0 to t = 1, along the real line and nowhere else.

    ``system``: with real or complex polynomials in t.
    ``columns``: solutions at t = 0.
    Returns balls that contain them at t = 1.

    >>> turning = [BallRow(acb_poly([1]), {0: acb_poly([acb(0, 1)])})]
    >>> carry_balls(turning, [[acb(1)]])[0][0].overlaps(acb(arb(1).cos(), arb(1).sin()))
    True
    """
    polynomials = [p for row in system for p in (row.denominator, *row.entries.values())]
    numbers = [entry for column in columns for entry in column]
    real = not any(isinstance(p, acb_poly) for p in polynomials) and not any(isinstance(a, acb) for a in numbers)
    kind = REAL if real else COMPLEX
    singular = np.concatenate([_approximate_roots(row.denominator) for row in system])
    path = _Path(system if real else _complex(system), kind, singular)
    return _along(path, kind.number(0), [kind.number(1)], columns)


def _complex(system: Sequence[BallRow]) -> list[BallRow]:
    return [row.mapped(acb_poly) for row in system]


def _along(path: _Path, here: Ball, corners: Sequence[Ball], columns: Sequence[Sequence[Ball]]) -> list[list[Ball]]:
    """Go from corner to corner."""
    states = [[path.kind.number(entry) for entry in column] for column in columns]
    start = here
    for corner in corners:
        for _ in range(_MOST_STEPS):
            if here is corner:
                break
            here, states = _advance(path, here, corner, states)
            if any(entry.rad() > arb(2) ** _HOPELESS_BITS for state in states for entry in state):
                raise PrecisionLost("the error bounds of Taylor steps grow beyond all measure; use another method")
        else:
            raise SingularPath(f"more than {_MOST_STEPS} steps from {start.str(5)} to {corner.str(5)}: a singular path")
    return states


@dataclass(frozen=True)
class _Path:
    system: Sequence[BallRow]
    kind: Arithmetic
    singular: NDArray[np.complex128]

    @property
    def work(self) -> float:
        """Units of work of one solution on one step: about as many Taylor terms as bits, and the strips of bounds."""
        terms = sum(len(entry.coeffs()) for row in self.system for entry in row.entries.values())
        return terms * (_TERM_WORK * int(ctx.prec) + _STRIP_WORK)


def _detour(start: float, end: float, singular: NDArray[np.complex128]) -> list[complex]:
    """Corners above the real line when zeros of D crowd the path; none otherwise."""
    low, high = min(start, end), max(start, end)
    inside = singular[(singular.real > low) & (singular.real < high)]
    crowding = inside[np.abs(inside.imag) < _SAFE_ANGLE * np.abs(inside.real - end)]
    # zeros close to the target itself are what the shrinking steps are for
    crowding = crowding[np.abs(crowding - end) > 1e-3 * (high - low)]
    if not len(crowding):
        return []
    centre = complex(np.mean(crowding.real))
    height = 0.5 * min(abs(centre.real - end), abs(centre.real - start))
    return [centre.real + 1j * height]


def _advance(path: _Path, here: Ball, end: Ball, states: list[list[Ball]]) -> tuple[Ball, list[list[Ball]]]:
    """One step, of half the distance to the nearest zero of a denominator or shorter where that fails."""
    at = _centre(here)
    length = 0.5 * float(np.min(np.abs(path.singular - at), initial=np.inf))
    remaining = _centre(end) - at
    while length > _SHORTEST * max(abs(at), 1e-300):
        there = end
        if abs(remaining) > length:
            step = remaining / abs(remaining) * length
            there = here.mid() + path.kind.number(step if path.kind is COMPLEX else step.real)
        # also for a step that fails
        charge(len(states) * path.work, int(ctx.prec))
        try:
            return there, _step(path, here, there - here, states)
        except PrecisionLost:
            length = 0.5 * min(length, abs(remaining))
    raise SingularPath(f"the system is singular at or near t = {at:.6g}; choose another path")


def _centre(value: Ball) -> complex:
    return complex(value) if isinstance(value, acb) else complex(float(value))


def _step(path: _Path, here: Ball, h: Ball, states: list[list[Ball]]) -> list[list[Ball]]:
    kind = path.kind
    line = kind.polynomial([here, h])
    # in x = (t - here)/h, with h in the numerators
    rows = [
        BallRow(row.denominator(line), {j: entry(line) * h for j, entry in row.entries.items()}) for row in path.system
    ]
    weights = _balance(rows, kind)
    # a bound needs no digits
    with working_precision(_ROUGH_BITS):
        bound = _gronwall(rows, weights, kind)
    if bound.worst > arb(2) ** int(_MAGNIFIED * ctx.prec):
        raise PrecisionLost("the system is large on this step; take a shorter step")
    transition = None
    exact = all(entry.rad() == 0 for state in states for entry in state)
    if bound.total > _LOOSE and not exact:
        charge(len(rows) * path.work, int(ctx.prec))
        units = [[kind.number(int(i == j)) for i in range(len(rows))] for j in range(len(rows))]
        transition = [_moved(rows, unit, bound, weights, kind, None) for unit in units]
    return [_moved(rows, state, bound, weights, kind, transition) for state in states]


def _moved(
    rows: list[BallRow],
    state: list[Ball],
    bound: _Bound,
    weights: Sequence[arb],
    kind: Arithmetic,
    transition: list[list[Ball]] | None,
) -> list[Ball]:
    """One solution at the end of a step; ``transition`` has the ends of the unit vectors, when they are known."""
    start = [entry.mid() for entry in state]
    terms = taylor_terms(rows, start, kind)
    p = [kind.polynomial(list(column)) for column in zip(*terms, strict=True)]
    defect = _largest(_defects(rows, p), weights)
    # the polynomial begins next to the middle of a ball: its numbers are rounded
    gaps = [abs(entry - f[0]).upper() for entry, f in zip(state, p, strict=True)]
    inherited = bound.total * _largest(gaps, weights)
    errors = [(bound.worst * defect + inherited) * weight for weight in weights]
    if transition is not None:
        for i, weight in enumerate(weights):
            sharper = sum((abs(column[i]) * gap for column, gap in zip(transition, gaps, strict=True)), arb(0))
            errors[i] = errors[i].upper().min((bound.worst * defect * weight + sharper).upper())
    if not all(error.is_finite() for error in errors):
        raise PrecisionLost("the error bound of this step is infinite; take a shorter step")
    return [f(kind.number(1)) + kind.disc(error.upper()) for f, error in zip(p, errors, strict=True)]


def _defects(rows: list[BallRow], p: list[Polynomial]) -> list[arb]:
    """Bounds on [0, 1] of the entries of p' - N p / D: the sums of the coefficients of D p' - N p, over min |D|."""
    bounds = []
    for i, row in enumerate(rows):
        q = row.denominator * p[i].derivative()
        for j, entry in row.entries.items():
            q = q - entry * p[j]
        size = sum((abs(a) for a in q.coeffs()), arb(0)).upper()
        bounds.append((size / smallest_on_unit(row.denominator)).upper())
    return bounds


def smallest_on_unit(polynomial: Polynomial) -> arb:
    """A lower bound of |D| on [0, 1], strip by strip."""
    best: arb | None = None
    with working_precision(_ROUGH_BITS):
        for strip in _strips(polynomial):
            size = abs(strip[0]) - sum((abs(a) for a in strip.coeffs()[1:]), arb(0))
            best = size.lower() if best is None else best.min(size.lower())
    if best is None or not best > 0:
        raise PrecisionLost("the denominator may vanish on this step; take a shorter step")
    return best


def _strips(polynomial: Polynomial) -> Iterator[Polynomial]:
    """The polynomial on each of the strips of [0, 1], as a polynomial in [-1, 1]."""
    width = arb(1) / (2 * _STRIPS)
    for k in range(_STRIPS):
        yield polynomial(type(polynomial)([(2 * k + 1) * width, width]))


def _largest(sizes: Sequence[arb], weights: Sequence[arb]) -> arb:
    """The weighted maximum norm of a vector."""
    best = arb(0)
    for size, weight in zip(sizes, weights, strict=True):
        best = best.max((size / weight).upper())
    return best


def _balance(rows: list[BallRow], kind: Arithmetic) -> list[arb]:
    """Weights of a maximum norm in which A = N/D is small: nearly the Perron vector of |A| at the middle of the step.

    Any positive weights are right.  A constant mixed into |A| keeps those of a reducible matrix within reason.
    """
    half = kind.number(0.5)
    sizes = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        bottom = max(abs(_centre(row.denominator(half))), 1e-300)
        for j, entry in row.entries.items():
            sizes[i, j] = abs(_centre(entry(half))) / bottom
    largest = max(float(np.max(sizes)), 1e-300)
    if not np.isfinite(largest):
        # At a pole of A all weights are as good.
        return [arb(1)] * len(rows)
    sizes = sizes / largest + _MIXING
    vector = np.ones(len(sizes))
    for _ in range(_ITERATIONS):
        vector = sizes @ vector
        vector /= np.max(vector)
    return [arb(2) ** int(e) for e in np.round(np.log2(vector))]


@dataclass(frozen=True)
class _Bound:
    """exp of ∫μ over the step, and its largest value from any inner point to the end."""

    total: arb
    worst: arb


def _gronwall(rows: list[BallRow], weights: Sequence[arb], kind: Arithmetic) -> _Bound:
    """Integrate the logarithmic norm μ(A) = max_i (Re a_ii + Σ_(j≠i) |a_ij|), A = N/D, strip by strip."""
    rates = [arb(0)] * _STRIPS
    for i, row in enumerate(rows):
        totals = [arb(0)] * _STRIPS
        bottoms = [_range(strip, kind) for strip in _strips(row.denominator)]
        if any(bottom.contains(0) for bottom in bottoms):
            raise PrecisionLost("the denominator may vanish on this step; take a shorter step")
        for j, entry in row.entries.items():
            for k, strip in enumerate(_strips(entry)):
                a = _range(strip, kind) / bottoms[k]
                totals[k] += a.real.upper() if i == j else abs(a).upper() * weights[j] / weights[i]
        rates = [total if i == 0 else rate.max(total) for rate, total in zip(rates, totals, strict=True)]
    total = sum(rates, arb(0)) / _STRIPS
    worst = sum((rate.max(arb(0)) for rate in rates), arb(0)) / _STRIPS
    return _Bound(total.exp().upper(), worst.exp().upper())


def _range(polynomial: Polynomial, kind: Arithmetic) -> Ball:
    """A ball that contains the values of the polynomial on [-1, 1], in its Taylor form."""
    return polynomial[0] + kind.disc(sum((abs(a) for a in polynomial.coeffs()[1:]), arb(0)).upper())


def _approximate_roots(polynomial: Polynomial) -> NDArray[np.complex128]:
    """The zeros in floating point; they steer the path and the lengths of steps, and prove nothing."""
    values = np.array([_centre(polynomial[k].mid()) for k in range(polynomial.degree() + 1)][::-1])
    if len(values) < 2:
        return np.array([], dtype=complex)
    size = np.max(np.abs(values))
    if not 0 < size < np.inf:
        raise PrecisionLost(
            "the system along the path has numbers beyond floats; rescale the variables, or use method='quadrature'"
        )
    values = values / size
    values[np.abs(values) < 1e-25] = 0.0
    return np.roots(values).astype(complex)
