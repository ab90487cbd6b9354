"""Rigorous Taylor steps for linear ODEs D(t) F' = N(t) F with polynomial coefficients, in flint's balls.

One step goes from t0 to t0 + h along a segment of the complex plane.  In x = (t - t0)/h a polynomial p(x) is computed
from the Taylor recurrence on midpoints, without any claim.  Then its residual q = D p' - N p is computed in balls.  The
error e = f - p solves D e' = N e - q, and Gronwall's inequality on [0, 1] gives

    ‖e(1)‖ ≤ exp(∫μ) ‖e(0)‖ + exp(∫max(μ, 0)) Σ‖q_m‖ / min|D|

in a weighted maximum norm, μ the logarithmic norm of N/D.

So correctness rests on the last line only: heuristics for step lengths and degrees risk speed, never truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import acb, acb_mat, acb_poly, arb, arb_mat, arb_poly, ctx

from holokern.errors import BadInput, PrecisionLost, SingularPath

__all__ = ["BallSystem", "transport_balls"]

_STRIPS = 8
_BLOCK = 16
_SHORTEST = 2.0**-40
_MOST_STEPS = 4000
_SAFE_ANGLE = 0.2
_MIXING = 1e-3
_ITERATIONS = 60
_ROUGH_BITS = 80


@dataclass(frozen=True)
class BallSystem:
    """The system D(t) F' = N(t) F.

    Attributes
    ----------
    denominator : arb_poly
        D.
    numerators : square matrix (sequence of rows) of arb_poly
        N.
    """

    denominator: Any
    numerators: Sequence[Sequence[Any]]

    @property
    def rank(self) -> int:
        """The number of unknown functions."""
        return len(self.numerators)

    @property
    def degree(self) -> int:
        """The largest degree of D and of the entries of N."""
        return max(self.denominator.degree(), *(entry.degree() for row in self.numerators for entry in row), 0)


def transport_balls(system: BallSystem, start: arb, end: arb, value: Sequence[arb]) -> list[arb]:
    """Carry F from ``start`` to ``end``, along the real line or round the zeros of D that lie on it.

    A detour is right when F is analytic between it and the line; the caller answers for that.

    Parameters
    ----------
    system : BallSystem
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

    Examples
    --------
    >>> exponential = BallSystem(arb_poly([1]), [[arb_poly([1])]])
    >>> transport_balls(exponential, arb(0), arb(1), [arb(1)])[0].overlaps(arb(1).exp())
    True
    """
    if len(value) != system.rank:
        raise BadInput(f"expected {system.rank} initial values, got {len(value)}")
    singular = _approximate_roots(system.denominator)
    corners = _detour(float(start), float(end), singular)
    arithmetic = _COMPLEX if corners else _REAL
    if corners:
        system = BallSystem(
            acb_poly(system.denominator), [[acb_poly(entry) for entry in row] for row in system.numerators]
        )
    state = arithmetic.matrix([[entry] for entry in value])
    here = arithmetic.number(start)
    for corner in [*map(acb, corners), arithmetic.number(end)]:
        for _ in range(_MOST_STEPS):
            if here is corner:
                break
            state, here = _advance(system, arithmetic, here, corner, singular, state)
        else:
            raise SingularPath(
                f"more than {_MOST_STEPS} steps from {start.str(5)} to {end.str(5)}; the path is singular"
            )
    return [state[i, 0].real for i in range(system.rank)]


@dataclass(frozen=True)
class _Arithmetic:
    number: Any
    polynomial: Any
    matrix: Any


_REAL = _Arithmetic(arb, arb_poly, arb_mat)
_COMPLEX = _Arithmetic(acb, acb_poly, acb_mat)


def _detour(start: float, end: float, singular: Any) -> list[complex]:
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


def _advance(system: BallSystem, kind: _Arithmetic, here: Any, end: Any, singular: Any, state: Any) -> Any:
    """One step, of half the distance to the nearest zero of D or shorter where that fails."""
    at = _centre(here)
    length = 0.5 * float(np.min(np.abs(singular - at), initial=np.inf))
    remaining = _centre(end) - at
    while length > _SHORTEST * max(abs(at), 1e-300):
        last = abs(remaining) <= length
        there = end if last else kind.number(here.mid()) + kind.number(_as(kind, remaining / abs(remaining) * length))
        try:
            return _step(system, kind, here, there - here, state), there
        except PrecisionLost:
            length = 0.5 * min(length, abs(remaining))
    raise SingularPath(f"the system is singular at or near t = {at:.6g}; choose another path")


def _centre(value: Any) -> complex:
    return complex(value) if isinstance(value, acb) else complex(float(value))


def _as(kind: _Arithmetic, value: complex) -> Any:
    return value if kind is _COMPLEX else value.real


def _step(system: BallSystem, kind: _Arithmetic, here: Any, h: Any, value: Any) -> Any:
    line = kind.polynomial([here, h])
    bottom = system.denominator(line)
    tops = [[entry(line) * h for entry in row] for row in system.numerators]
    degree = system.degree
    columns = [kind.matrix([[entry[j] for entry in row] for row in tops]) for j in range(degree + 1)]
    inherited = [abs(row[0]).upper() for row in (value - value.mid()).tolist()]
    weights = _balance(tops, bottom, kind)
    # a bound needs no digits
    with ctx.workprec(_ROUGH_BITS):
        bound = _gronwall(tops, bottom, weights, kind)
    terms = _taylor(columns, [bottom[j] for j in range(degree + 1)], value.mid())
    p = [kind.polynomial([term[i, 0] for term in terms]) for i in range(system.rank)]
    defect = _largest(_defect(bottom, tops, p), weights)
    error = (bound.whole * _largest(inherited, weights) + bound.worst * defect / bound.smallest).upper()
    if not error.is_finite():
        raise PrecisionLost("the error bound of this step is infinite; take a shorter step")
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    discs = [arb(0, error * weight) for weight in weights]
    return total + kind.matrix([[disc if kind is _REAL else acb(disc, disc)] for disc in discs])


def _taylor(columns: list[Any], bottoms: list[Any], start: Any) -> list[Any]:
    """Approximate Taylor coefficients by D_0 (m+1) f_(m+1) = Σ_j N_j f_(m-j) - Σ_(j≥1) D_j (m+1-j) f_(m+1-j)."""
    columns = [column.mid() for column in columns]
    bottoms = [value.mid() for value in bottoms]
    used = [j for j in range(len(columns)) if not bottoms[j].is_zero() or _norm(columns[j]) > 0]
    reach = max(used) + 1
    terms, scaled = [start], [start * 0]
    enough = arb(2) ** (-ctx.prec) * _norm(start)
    most = 64 + 4 * ctx.prec
    while len(terms) % _BLOCK or any(_norm(term) > enough for term in terms[-reach:]):
        m = len(terms) - 1
        if m >= most:
            raise PrecisionLost("the Taylor series of this step converges too slowly; take a shorter step")
        total = scaled[0]
        for j in used:
            if j <= m:
                total = total + columns[j] * terms[m - j]
                if j:
                    total = total - scaled[m + 1 - j] * bottoms[j]
        scaled.append((total / bottoms[0]).mid())
        terms.append((scaled[-1] / (m + 1)).mid())
    return terms


def _defect(bottom: Any, tops: Any, p: list[Any]) -> list[arb]:
    """Bounds of the entries of D p' - N p on [0, 1]: the sums of the absolute values of their coefficients."""
    bounds = []
    for i, row in enumerate(tops):
        q = bottom * p[i].derivative()
        for entry, factor in zip(row, p, strict=True):
            if entry.degree() >= 0:
                q = q - entry * factor
        bounds.append(sum((abs(a) for a in q.coeffs()), arb(0)).upper())
    return bounds


def _largest(sizes: Sequence[arb], weights: Sequence[arb]) -> arb:
    """The weighted maximum norm of a vector."""
    best = arb(0)
    for size, weight in zip(sizes, weights, strict=True):
        best = best.max((size / weight).upper())
    return best


def _balance(tops: Any, bottom: Any, kind: _Arithmetic) -> list[arb]:
    """Weights of a maximum norm in which A = N/D is small: nearly the Perron vector of |A| at the middle of the step.

    Any positive weights are right.  A constant mixed into |A| keeps those of a reducible matrix within reason.
    """
    half = kind.number(0.5)
    middle = max(abs(_centre(bottom(half))), 1e-300)
    sizes = np.array([[abs(_centre(entry(half))) for entry in row] for row in tops]) / middle
    sizes += _MIXING * max(float(np.max(sizes)), 1e-300)
    vector = np.ones(len(sizes))
    for _ in range(_ITERATIONS):
        vector = sizes @ vector
        vector /= np.max(vector)
    return [arb(2) ** int(e) for e in np.round(np.log2(vector))]


@dataclass(frozen=True)
class _Bound:
    """exp of ∫μ over the step, its largest value from any inner point to the end, and a lower bound of |D|."""

    whole: arb
    worst: arb
    smallest: arb


def _gronwall(tops: Any, bottom: Any, weights: Sequence[arb], kind: _Arithmetic) -> _Bound:
    """Integrate the logarithmic norm μ(A) = max_i (Re a_ii + Σ_(j≠i) |a_ij|), A = N/D, strip by strip."""
    whole, worst, smallest = arb(0), arb(0), None
    width = arb(1) / (2 * _STRIPS)
    for k in range(_STRIPS):
        strip = kind.polynomial([(2 * k + 1) * width, width])
        low = _range(bottom(strip), kind)
        if low.contains(0):
            raise PrecisionLost("the denominator may vanish on this step; take a shorter step")
        rate = None
        for i, row in enumerate(tops):
            total = arb(0)
            for j, entry in enumerate(row):
                if entry.degree() >= 0:
                    a = _range(entry(strip), kind) / low
                    total += a.real.upper() if i == j else abs(a).upper() * weights[j] / weights[i]
            rate = total if rate is None else rate.max(total)
        whole += rate / _STRIPS
        worst += rate.max(arb(0)) / _STRIPS
        size = abs(low).lower()
        smallest = size if smallest is None else smallest.min(size)
    return _Bound(whole.exp().upper(), worst.exp().upper(), smallest)


def _range(polynomial: Any, kind: _Arithmetic) -> Any:
    """A ball that contains the values of the polynomial on [-1, 1], in its Taylor form."""
    spread = sum((abs(a) for a in polynomial.coeffs()[1:]), arb(0)).upper()
    disc = arb(0, spread)
    return polynomial[0] + (disc if kind is _REAL else acb(disc, disc))


def _norm(matrix: Any) -> arb:
    """An upper bound of the largest row sum of absolute values."""
    best = arb(0)
    for row in matrix.tolist():
        best = best.max(sum((abs(entry) for entry in row), arb(0)).upper())
    return best


def _approximate_roots(polynomial: Any) -> Any:
    """The zeros in floating point; they steer the path and the lengths of steps, and prove nothing."""
    values = np.array([float(polynomial[k].mid()) for k in range(polynomial.degree() + 1)][::-1])
    if len(values) < 2:
        return np.array([], dtype=complex)
    values[np.abs(values) < 1e-25 * np.max(np.abs(values))] = 0.0
    return np.roots(values).astype(complex)
