"""The vector F of a Pfaffian system by independent quadrature, and the check dF = PF against it.

Derivatives of σ are moved to the Gaussian: E[∂_u^i ∂_v^j σ1(u)σ2(v)] = E[σ1(u)σ2(v) H_ij(u, v; Σ)] with the bivariate
Hermite polynomials H_ij, so jumps and δ's need nothing special.  By Price's theorem derivatives of F in Σ are again
such expectations, so there are no finite differences.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import SupportsFloat

import numpy as np
from flint import Ordering, fmpq, fmpz_mpoly, fmpz_mpoly_ctx
from numpy.typing import NDArray

from holokern.errors import BadInput, CheckFailed, PrecisionLost
from holokern.numeric import Array
from holokern.pfaffian.check.quadrature import Function, hermite_moments
from holokern.pfaffian.system import PfaffianSystem
from holokern.weyl import RationalFunction

Element = tuple[int, ...]

_TOLERANCE = 1e-9  # named activations leave at most 6e-14 (selu); a wrong entry leaves about 1
_NOISE_FACTOR = 100.0  # the noise is an estimate, so a residual of many times as much still proves nothing
_POWER = 1e-6  # with more noise beside the terms a wrong entry could hide, so the check refuses to decide
_SHRINKS = 6  # deviations are halved up to five times, for σ like exp(a u²) that has moments at small ones only
_SPREAD = 2.5  # the farthest break lies about so many deviations away: both of its sides then have weight


def numeric_vector(
    activation: Function,
    other: Function | None,
    basis: Sequence[Element],
    point: Sequence[SupportsFloat],
    *,
    coordinates: str = "sigma",
) -> tuple[Array, Array]:
    """Evaluate the entries of F by quadrature.

    ``activation``, ``other``: σ1 and σ2 (None for σ2 = σ1); their ``breaks``, if any, are respected.
    ``basis``: in the coordinates "sigma" a pair (i, j) means E[∂_u^i ∂_v^j σ1σ2] and a triple (e11, e12, e22) means
    ∂11^e11 ∂12^e12 ∂22^e22 k.  In "x" a pair (i, j) means the integral g with u^i v^j under it, and a triple the
    derivative of g.
    ``point``: Σ11, Σ12, Σ22 or x11, x12, x22.
    Returns values, errors: the entries and an estimate of their quadrature and rounding errors.

    >>> relu = lambda u: np.maximum(u, 0)
    >>> values, errors = numeric_vector(relu, None, [(0, 0), (1, 1)], (1, 0, 1))
    >>> [round(float(v), 10) for v in values]
    [0.1591549431, 0.25]
    """
    terms = [_term(element, coordinates) for element in basis]
    values, errors = _expectations(activation, other, terms, point, coordinates).T
    return values, errors


def check_against_numbers(
    system: PfaffianSystem,
    activation: Function,
    other: Function | None = None,
    points: Sequence[Sequence[object]] | int = 2,
) -> float:
    """Check dF = PF for a system with a monomial basis at a few covariances; return the worst relative residual.

    ``system``: its ``coordinates``, ``basis``, ``matrices`` and (if present) ``scale`` are read.
    ``activation``, ``other``: σ1 and σ2 (None for σ2 = σ1).
    ``points``: how many random but reproducible covariances to use, or exact points in the coordinates of the system.
    Raises CheckFailed when a row of dF - PF is not zero; the message names the row, the point and the residual;
    PrecisionLost when the quadrature is not accurate enough to decide.
    """
    other = activation if other is None else other
    kappa = _scales(getattr(system, "scale", None))
    first, second = _unscaled(activation, kappa[0]), _unscaled(other, kappa[1])
    if isinstance(points, int):
        wanted = points
        candidates = iter(random_points(first, second, 4 * points + 4))
        exact = (_to_coordinates(p, system.coordinates) for p in candidates)
        return _check_many(system, first, second, exact, wanted, may_shrink=True)
    given = [_fractions(point) for point in points]
    return _check_many(system, first, second, iter(given), len(given), may_shrink=False)


def random_points(first: Function, second: Function, count: int) -> list[Point]:
    """Reproducible random rational covariances, spread so that the breaks of both functions matter.

    >>> points = random_points(np.sin, np.sin, 3)
    >>> all(s11 * s22 > s12 * s12 > 0 for s11, s12, s22 in points)
    True
    """
    source = random.Random(20240229)
    sizes = []
    for function in (first, second):
        far = max((abs(float(b)) for b in getattr(function, "breaks", ())), default=0.0)
        sizes.append(Fraction(max(1, round((far / _SPREAD) ** 2))))
    found: list[Point] = []
    while len(found) < count:
        s11, s22 = (size * Fraction(source.randint(11, 23), 16) for size in sizes)
        sign = 1 if len(found) % 2 else -1
        # a dyadic number near r c1 c2; a small r keeps the Hermite polynomials tame
        target = source.uniform(0.2, 0.45) * float(s11 * s22) ** 0.5
        found.append((s11, Fraction(sign * max(1, round(target * 16)), 16), s22))
    return found


def _check_many(
    system: PfaffianSystem, first: Function, second: Function, points: Iterable[Point], wanted: int, *, may_shrink: bool
) -> float:
    worst, done = 0.0, 0
    for point in points:
        if done == wanted:
            break
        for halvings in range(_SHRINKS):
            scaled = tuple(x / 4**halvings if system.coordinates == "sigma" else x * 4**halvings for x in point)
            matrices = matrices_at([*system.matrices, *_frames(system)], scaled)
            if matrices is None:
                break
            try:
                worst = max(worst, _check_one(system, first, second, scaled, matrices))
            except PrecisionLost as error:
                # a function that grows like exp(a u²) has expectations at small covariances only
                if not may_shrink or halvings == _SHRINKS - 1:
                    raise PrecisionLost(f"{error}; check=False skips the numerical check of a system") from None
                continue
            done += 1
            break
    if done < wanted:
        raise CheckFailed(
            f"only {done} of {wanted} points of the numerical check avoid the singular locus of the system; "
            "give other points"
        )
    return worst


def _check_one(system: PfaffianSystem, first: Function, second: Function, point: Point, matrices: list[Array]) -> float:
    rank = len(system.basis)
    elements = [_term(e, system.coordinates) for e in system.basis if isinstance(e, tuple)]
    rules = _PRICE if system.coordinates == "sigma" else _MOMENT
    moves = [rules[name[-2:]] for name in system.variables]
    wanted = [*elements, *((c * f, (i + di, j + dj)) for f, (di, dj) in moves for c, (i, j) in elements)]
    vectors = _expectations(first, second, wanted, point, system.coordinates).reshape(-1, rank, 2)
    if len(matrices) > len(moves):
        vectors = _moved(vectors, matrices[len(moves) :])
    values, errors = vectors[0].T
    rows = [
        (name, np.abs(vector[:, 0] - matrix @ values), *_sizes(matrix, vector, values, errors))
        for name, matrix, vector in zip(system.variables, matrices, vectors[1:], strict=False)
    ]
    # derivatives may vanish identically, all of them for a constant: the noise is compared with the largest term of
    # all, and with the derivatives that a function of the size of F can be expected to have
    natural = float(np.max(np.abs(values), initial=0.0)) / max(abs(float(x)) for x in point)
    top = max((float(np.max(scale)) for *_, scale in rows), default=0.0)
    top = max(top, natural)
    if top == 0:
        return 0.0
    loudest = max(float(np.max(noise)) for _, _, noise, _ in rows)
    if not loudest <= _POWER * top:
        raise PrecisionLost(
            f"the numerical check cannot decide at {_show(point)}: noise {loudest:.1e} beside values of {top:.1e}"
        )
    for name, residual, noise, scale in rows:
        bad = residual > _TOLERANCE * scale + _NOISE_FACTOR * noise
        if np.any(bad):
            row = int(np.argmax(bad))
            raise CheckFailed(
                f"row {row + 1} of the matrix for d/d{name} contradicts the numbers at "
                f"{_show(point)}: residual {residual[row]:.3e} beside terms of {scale[row]:.3e}; "
                "the annihilators do not annihilate the function as a distribution, or the derivation is wrong"
            )
    return max(float(np.max(residual)) for _, residual, _, _ in rows) / top


def _sizes(matrix: Array, vector: Array, values: Array, errors: Array) -> tuple[Array, Array]:
    """The error of each row of dF - PF, and the size of its terms."""
    noise = vector[:, 1] + np.abs(matrix) @ errors
    return noise, np.abs(vector[:, 0]) + np.abs(matrix) @ np.abs(values)


def _moved(vectors: Array, frames: list[Array]) -> Array:
    """The values, derivatives and errors of TF from those of F and from T and its derivatives."""
    frame, *slopes = frames
    moved = [_linear(frame, vectors[0])]
    for slope, vector in zip(slopes, vectors[1:], strict=True):
        moved.append(_linear(frame, vector) + _linear(slope, vectors[0]))
    return np.array(moved)


def _linear(matrix: Array, vector: Array) -> Array:
    return np.stack([matrix @ vector[:, 0], np.abs(matrix) @ vector[:, 1]], axis=1)


# d/dΣ11 = a²/2, d/dΣ12 = ab, d/dΣ22 = b²/2 [Price1958]; d/dx11 = u², d/dx12 = 2uv, d/dx22 = v² under the integral
_PRICE = {"11": (0.5, (2, 0)), "12": (1.0, (1, 1)), "22": (0.5, (0, 2))}
# in the coordinates x the derivations multiply by u², 2uv, v² under the integral
_MOMENT = {"11": (1.0, (2, 0)), "12": (2.0, (1, 1)), "22": (1.0, (0, 2))}


def _term(element: Element, coordinates: str) -> tuple[float, tuple[int, int]]:
    """A basis element as factor · monomial in (a, b) or (u, v)."""
    if coordinates not in ("sigma", "x"):
        raise BadInput(f"expected coordinates 'sigma' or 'x', got {coordinates!r}")
    if len(element) == 2:
        return 1.0, (element[0], element[1])
    if len(element) != 3:
        raise BadInput(f"expected a pair or a triple of exponents as a basis element, got {element!r}")
    factor, total = 1.0, (0, 0)
    rules = _PRICE if coordinates == "sigma" else _MOMENT
    for exponent, (c, (i, j)) in zip(element, rules.values(), strict=True):
        factor *= c**exponent
        total = (total[0] + i * exponent, total[1] + j * exponent)
    return factor, total


class _Polynomials:
    """H_ij(u, v; Σ) or u^i v^j as coefficients of He_p(u/c1) He_q(v/c2)."""

    def __init__(self, covariance: tuple[float, float, float], coordinates: str) -> None:
        s11, s12, s22 = covariance
        self.deviations = (s11**0.5, s22**0.5)
        correlation = s12 / (self.deviations[0] * self.deviations[1])
        gap = 1 - correlation**2
        # z = R⁻¹ (x, y) drives the Hermite recurrence; for plain moments z is (x, y) and nothing is subtracted
        self.inverse = ((1 / gap, -correlation / gap), (-correlation / gap, 1 / gap))
        self.moments = coordinates == "x"
        self.known: dict[tuple[int, int], Array] = {(0, 0): np.ones((1, 1))}

    def __call__(self, i: int, j: int) -> Array:
        power = 1 if self.moments else -1
        scale = self.deviations[0] ** (power * i) * self.deviations[1] ** (power * j)
        return np.asarray(scale * self._standard(i, j))

    def _standard(self, i: int, j: int) -> Array:
        if (i, j) not in self.known:
            axis = 0 if i else 1
            lower = (i - 1, j) if i else (i, j - 1)
            base = self._standard(*lower)
            self.known[i, j] = _times(base, axis) if self.moments else self._next_hermite(base, lower, axis)
        return self.known[i, j]

    def _next_hermite(self, base: Array, lower: tuple[int, int], axis: int) -> Array:
        """H_{m+e} = z_e H_m - Σ_f m_f Q_ef H_{m-f}, since H_m = (-∂)^m φ / φ."""
        row = self.inverse[axis]
        total: Array = row[0] * _times(base, 0) + row[1] * _times(base, 1)
        for f in (0, 1):
            if lower[f]:
                below = self._standard(lower[0] - (f == 0), lower[1] - (f == 1))
                total[: below.shape[0], : below.shape[1]] -= lower[f] * row[f] * below
        return total


def _times(coefficients: Array, axis: int) -> Array:
    """Multiply by x (axis 0) or y (axis 1): x He_p = He_{p+1} + p He_{p-1}."""
    table = coefficients if axis == 0 else coefficients.T
    result = np.zeros((table.shape[0] + 1, table.shape[1] + 1))
    result[1:, :-1] += table
    result[: table.shape[0] - 1, :-1] += np.arange(1, table.shape[0])[:, None] * table[1:]
    return np.asarray(result if axis == 0 else result.T)


def _expectations(
    first: Function,
    second: Function | None,
    terms: Sequence[tuple[float, tuple[int, int]]],
    point: Sequence[SupportsFloat],
    coordinates: str,
) -> Array:
    """Values and errors, (terms, 2): expectations at the covariance of ``point``, unnormalised integrals in x."""
    second = first if second is None else second
    covariance, weight = tuple(float(x) for x in point), 1.0
    if coordinates == "x":
        x11, x12, x22 = covariance
        det = x11 * x22 - x12 * x12
        if not (det > 0 and x11 < 0):
            raise BadInput(f"expected a negative definite x, got {covariance}")
        covariance, weight = (-x22 / (2 * det), x12 / (2 * det), -x11 / (2 * det)), float(np.pi / np.sqrt(det))
    degree = max((i + j for _, (i, j) in terms), default=0)
    breaks = [getattr(function, "breaks", ()) for function in (first, second)]
    moments = hermite_moments(first, second, covariance, degree, breaks=breaks[0], other_breaks=breaks[1])
    polynomials = _Polynomials(moments.covariance, coordinates)
    return np.array([moments.apply(weight * c * polynomials(i, j)) for c, (i, j) in terms])


def _to_coordinates(point: Point, coordinates: str) -> Point:
    if coordinates == "sigma":
        return point
    s11, s12, s22 = point
    det = s11 * s22 - s12 * s12
    return -s22 / (2 * det), s12 / (2 * det), -s11 / (2 * det)


def _frames(system: PfaffianSystem) -> list[Table]:
    """The matrix T when F is T times the vector of the basis, and its derivatives."""
    frame = getattr(system, "frame", None)
    if frame is None:
        return []
    slopes = [[[entry.derivative(name) for entry in row] for row in frame] for name in system.variables]
    return [frame, *slopes]


def _fractions(point: Sequence[object]) -> Point:
    if len(point) != 3:
        raise BadInput(f"expected three coordinates, got {point!r}")
    try:
        x, y, z = (Fraction(str(value)) for value in point)
    except ValueError:
        raise BadInput(f"expected exact rational coordinates, got {point!r}") from None
    return x, y, z


def _scales(scale: tuple[SupportsFloat, SupportsFloat] | None) -> tuple[float, float]:
    """The factors κ with σ(u) = τ(κu), where the system belongs to τ."""
    if scale is None:
        return 1.0, 1.0
    pair = tuple(scale) if isinstance(scale, (tuple, list)) else (scale, scale)
    return float(pair[0]), float(pair[1])


class _Unscaled:
    """τ(u) = σ(u/κ)."""

    def __init__(self, function: Function, kappa: float) -> None:
        self.function, self.kappa = function, kappa
        self.breaks = tuple(float(b) * kappa for b in getattr(function, "breaks", ()))

    def __call__(self, u: Array) -> Array:
        return self.function(u / self.kappa)


def _unscaled(function: Function, kappa: float) -> Function:
    return function if kappa == 1.0 else _Unscaled(function, kappa)


def _show(point: Point) -> str:
    return "(" + ", ".join(str(x) for x in point) + ")"


Point = tuple[Fraction, Fraction, Fraction]
#: A matrix of rational functions.
Table = Sequence[Sequence["RationalFunction"]]


def matrices_at(matrices: Sequence[Table], point: Point) -> list[NDArray[np.float64]] | None:
    """The matrices at an exact point, or None on their singular locus; exact until the last division."""
    common = lcm(*(x.denominator for x in point))
    line = fmpz_mpoly_ctx.get(("t",), Ordering.lex)
    (t,) = line.gens()
    images = [int(x * common) * t for x in point]

    def value(polynomial: fmpz_mpoly) -> fmpq:
        # on the ray through the point the polynomial has one variable t, to be taken at 1/common
        terms = polynomial.compose(*images, ctx=line).to_dict().items()
        return sum((fmpq(c, common ** int(e)) for (e,), c in terms), fmpq(0))

    result = []
    for matrix in matrices:
        table = np.zeros((len(matrix), len(matrix)))
        for i, row in enumerate(matrix):
            for j, entry in enumerate(row):
                bottom = value(entry.denominator)
                if bottom == 0:
                    return None
                quotient = value(entry.numerator) / bottom
                table[i, j] = int(quotient.p) / int(quotient.q)
        result.append(table)
    return result
