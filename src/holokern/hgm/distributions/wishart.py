"""The largest root of a real Wishart matrix.

With the eigenvalues β of Σ⁻¹/2 its distribution function is a multiple of
x^(nm/2) e^(-x tr β) 1F1((m+1)/2; (n+m+1)/2; xβ) [Muirhead1982, Cor. 9.7.2].  Muirhead's equations for this function of
a matrix argument have rank 2^m, with square-free derivatives for a basis [Hashiguchi2013].  For
G_J = (Π_(i∈J) y_i ∂_i) 1F1 on the ray y = xβ they are

    x G' = (A0 + x A1) G

with constant matrices.  The eigenvalues of A0 are 0 and negative, so G is the only power series with G_∅(0) = 1, by
(k - A0) g_k = A1 g_(k-1), and all its terms are positive.  Equal eigenvalues, where the equations are singular and the
function is not, are served by the mean over a circle of complex parameters round them.

In balls, since a < c and zonal polynomials have positive coefficients, the terms of degree k are at most
(Σ|y_i|)^k/k! [Muirhead1982, Sect. 7.2], which bounds the tail.  The mean of f(y + zv) over K points of the circle
|z| = ρ is f(y) up to the coefficients of z^K, z^2K, …; they are at most f(y + Rv) (ρ/R)^K, … for every R > ρ and v ≥ 0,
again because f has positive coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from flint import acb, acb_mat, arb, ctx
from numpy.typing import ArrayLike

from holokern.errors import BadInput, PrecisionLost, TooLarge
from holokern.hgm.distributions.covariance import covariance_matrices
from holokern.hgm.lines.ball_lines import precisely
from holokern.hgm.lines.initial import Scalar, as_ball
from holokern.hgm.steps.series import Array
from holokern.numeric import EPS

MOST = 6
"""The largest dimension; the rank doubles with each one."""

# eigenvalues with relative gaps above this lose less than two digits for m = 5 (measured), so no circle is needed
_APART = 0.1
_CONTENT = 1e-12  # an estimate of the relative error with which one is content
# radii of circles, in units of √(x β): growth on the circle and rounding inside balance near 2 (measured for m ≤ 5)
_RADII = (2.0, 1.0, 0.5)
_MOST_TERMS = 6000  # terms; about x tr β of them matter
_LARGE = 1e100  # floats above this are scaled down, far from overflow
_PERTURBED = 3  # columns that carry rounding errors along


@dataclass(frozen=True)
class LargestRootValue:
    """Values of the distribution function of the largest root.

    Attributes
    ----------
    value : array, or arb
        P(ℓ1 < x).
    error : array
        An estimate of its absolute error; the radius of a ball.
    density : array, optional
        Its derivative in x; floats only.
    """

    value: Array | arb
    error: Array | float
    density: Array | None = None


@dataclass(frozen=True)
class LargestRoot:
    """The distribution of the largest root of W ~ W_m(n, Σ), ready for many x; made by :func:`largest_root`."""

    degrees: Scalar
    beta: Array
    variances: tuple[Scalar, ...] | None = None

    def __call__(self, x: ArrayLike | Scalar, *, balls: bool = False, digits: int = 30) -> LargestRootValue:
        """P(ℓ1 < x) at one x or at many, which share one series; proved balls at one x, if Σ is diagonal."""
        if balls:
            if self.variances is None:
                raise BadInput("balls need a diagonal Σ; give the diagonal matrix of its exact eigenvalues instead")
            variances = self.variances

            def compute() -> list[arb]:
                # fractions are read anew at every precision
                return [_probability([as_ball(v) for v in variances], as_ball(self.degrees), as_ball(x), digits)]

            (ball,) = precisely(compute, digits)
            return LargestRootValue(ball, float(ball.rad()))
        points = np.asarray(x, dtype=float)
        if not np.all(np.isfinite(points)):
            raise BadInput("expected finite x, got NaN or infinity")
        inside = points > 0
        value, error, density = (np.zeros(points.shape) for _ in range(3))
        if np.any(inside):
            value[inside], error[inside], density[inside] = self._at(points[inside])
        return LargestRootValue(value, error, density)

    def _at(self, x: Array) -> tuple[Array, Array, Array]:
        from scipy.special import multigammaln

        m, n = len(self.beta), float(as_ball(self.degrees))
        top = float(np.max(x))
        a, c = (m + 1) / 2, (n + m + 1) / 2
        total = float(self.beta.sum()) * x
        logs = m * n / 2 * np.log(x) + n / 2 * float(np.sum(np.log(self.beta)))
        front = float(multigammaln(a, m) - multigammaln(c, m)) + logs - total
        log_f, slope, rounding = _best_series(self.beta * top, a, c).at(x / top)
        relative = 5 * rounding + 4 * EPS * (np.abs(front) + np.abs(log_f) + np.abs(logs))
        value = np.exp(front + log_f)
        # d log P = (nm/2 - tr y + θ log f) d log x
        density = value * (n * m / 2 - total + slope) / x
        return np.minimum(value, 1.0), value * relative, np.maximum(density, 0.0)


def largest_root(covariance: ArrayLike, degrees: Scalar) -> LargestRoot:
    """The distribution of the largest eigenvalue of a Wishart matrix W_m(n, Σ).

    Parameters
    ----------
    covariance : array_like, (m, m)
        Σ, symmetric and positive definite, m ≤ 6; fractions and texts such as "1/3" are exact in balls.
    degrees : number
        n, the degrees of freedom, above m - 1.

    Returns
    -------
    LargestRoot
        Call it with x for P(ℓ1 < x).

    Examples
    --------
    >>> law = largest_root(np.diag([1.0, 2.0]), 6)
    >>> p = law([10.0, 20.0])
    >>> p.value.round(10).tolist()
    [0.3098623322, 0.8318234837]
    >>> print(law(20, balls=True).value.str(20, radius=False))
    0.83182348368144077136
    """
    given: Array = np.array(covariance, dtype=object)
    S = covariance_matrices(np.vectorize(lambda entry: float(as_ball(entry)), otypes=[float])(given), MOST)
    if S.ndim != 2:
        raise BadInput(f"expected one covariance matrix, got shape {S.shape}")
    count = float(as_ball(degrees))
    if not (np.isfinite(count) and count > len(S) - 1):
        raise BadInput(f"expected more than {len(S) - 1} degrees of freedom, got {degrees}")
    diagonal = np.count_nonzero(S - np.diag(np.diag(S))) == 0
    variances = tuple(given[i, i] for i in range(len(S))) if diagonal else None
    return LargestRoot(degrees, np.sort(1 / (2 * np.linalg.eigvalsh(S))), variances)


@dataclass(frozen=True)
class _RaySeries:
    """Logarithms of the coefficients of 1F1 on a ray, and their perturbations, relative to them, (terms, columns)."""

    logs: Array
    perturbed: Array

    @property
    def doubt(self) -> float:
        """An estimate of the relative error of the sum at the end of the ray."""
        return float(np.max(self.at(np.ones(1))[2]))

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """The logarithm of f, θ log f and the relative error at fractions s of the ray."""
        k = np.arange(len(self.logs))
        terms = self.logs + k * np.log(s)[:, None]
        top = np.max(terms, axis=1, keepdims=True)
        weights = np.exp(terms - top)
        total = weights.sum(axis=1)
        spread = np.sqrt(np.mean((weights @ self.perturbed) ** 2, axis=1)) / total
        return np.log(total) + top[:, 0], weights @ k / total, spread


def _best_series(y: Array, a: float, c: float) -> _RaySeries:
    """Directly where the parameters are well apart, else by means over circles; the one with the least doubt."""
    y = np.sort(y)
    gaps = np.diff(y)
    if not len(gaps) or np.min(gaps) > _APART * np.max(y):
        return _series(y[None], a, c)
    best: _RaySeries | None = None
    for way in [0.0, *_RADII] if np.min(gaps) > 0 else _RADII:
        found = _series(_on_circle(y, way), a, c)
        if best is None or found.doubt < best.doubt:
            best = found
        if best.doubt < _CONTENT:
            break
    assert best is not None
    return best


def _on_circle(y: Array, way: float) -> Array:
    """Parameters y + zv, z on half of a circle; f(y + zv) is analytic in z, so its mean over the circle is f(y)."""
    if not way:
        return y[None]
    radius = max(4.0, way * float(np.sqrt(np.max(y))))
    count = 24 + 4 * int(radius)
    direction = np.arange(len(y)) - (len(y) - 1) / 2
    circle = radius * np.exp(2j * np.pi * (np.arange(count // 2) + 0.5) / count)
    return np.asarray(y + circle[:, None] * direction / np.max(np.abs(direction)))


def _series(y: Array, a: float, c: float) -> _RaySeries:
    """The mean of the power series along the rays to the rows of y."""
    if 2 * np.max(np.abs(y).sum(axis=1)) > _MOST_TERMS:
        raise TooLarge(
            f"x tr Σ⁻¹ = {2 * float(np.max(y.real.sum(axis=1))):.3g} is too large for the series; P is 1 or 0 there"
        )
    first, second = ray_system(y, a, c)
    size = first.shape[1]
    g = np.zeros((len(y), size, 1 + _PERTURBED), dtype=first.dtype)
    g[:, 0, 0] = 1
    random = np.random.default_rng(1)
    sizes, unit = np.abs(second), np.eye(size)
    logs, perturbed, scale, total = [0.0], [np.zeros(_PERTURBED)], 0.0, 1.0
    for n in range(1, _MOST_TERMS):
        matrix = n * unit - first
        right = second @ g
        # the residual of a solution is a rounding error of the products in it
        noise = np.abs(matrix) @ np.abs(g[:, :, :1]) + sizes @ np.abs(g[:, :, :1])
        right[:, :, 1:] += noise * random.choice([-EPS, EPS], size=(size, _PERTURBED))
        g = np.linalg.solve(matrix, right)
        mean = np.mean(g[:, 0].real, axis=0)
        if not mean[0] > 0:
            # rounding has taken over: the doubt of this series is infinite
            return _RaySeries(np.array(logs), np.full((len(logs), _PERTURBED), np.inf))
        logs.append(float(np.log(mean[0])) + scale)
        perturbed.append(mean[1:] / mean[0])
        total += mean[0]
        if n > 8 and n * mean[0] < 1e-2 * EPS * total:
            break
        if total > _LARGE:
            g, scale, total = g / total, scale + float(np.log(total)), 1.0
    return _RaySeries(np.array(logs), np.array(perturbed))


def ray_system(beta: Array, a: float | arb, c: float | arb) -> tuple[Array, Array]:
    """A0 and A1 of x G' = (A0 + x A1) G for G_J = (Π y_i ∂_i) 1F1(a; c; y), y = xβ, J the subsets by size.

    For each row of ``beta``; balls are welcome in an array of objects.

    >>> [part[0].tolist() for part in ray_system(np.array([[2.0]]), 1.0, 3.0)]
    [[[0.0, 1.0], [0.0, -2.0]], [[0.0, 0.0], [2.0, 2.0]]]
    """
    return _Muirhead(beta, a, c).matrices()


class _Muirhead:
    """Muirhead's equations, differentiated [Muirhead1982, Thm 7.5.5].

    y_i∂_i²f + (c - (m-1)/2 - y_i)∂_i f + ½Σ_j (y_i∂_i - y_j∂_j)f/(y_i - y_j) = af.
    """

    def __init__(self, beta: Array, a: float | arb, c: float | arb) -> None:
        self.beta, self.a = beta, a
        self.m = beta.shape[1]
        self.shift = c - (self.m - 1) / 2
        subsets = [frozenset(s) for k in range(self.m + 1) for s in combinations(range(self.m), k)]
        self.place = {subset: i for i, subset in enumerate(subsets)}
        self.kind = beta.dtype if beta.dtype == object else np.result_type(beta, float)
        self.known: dict[tuple[int, frozenset[int]], Array] = {}

    def matrices(self) -> tuple[Array, Array]:
        size = len(self.place)
        result = np.zeros((2, len(self.beta), size, size), dtype=self.kind)
        for J, row in self.place.items():
            total = len(J) * self._unit(J)
            for i in range(self.m):
                total = total + (self._double(i, J - {i}) if i in J else self._unit(J | {i}))
            result[:, :, row] = total
        return result[0], result[1]

    def _unit(self, J: frozenset[int], power: int = 0, factor: Array | arb | float = 1.0) -> Array:
        """The row of x^power G_J times a factor: its constant and its linear part."""
        row = np.zeros((2, len(self.beta), len(self.place)), dtype=self.kind)
        row[power, :, self.place[J]] = factor
        return row

    def _double(self, i: int, K: frozenset[int]) -> Array:
        """(Π_(j∈K) y_j∂_j) y_i²∂_i² f, by the i-th equation, differentiated by the variables in K."""
        if (i, K) in self.known:
            return self.known[i, K]
        J, beta = K | {i}, self.beta.T
        row = self._unit(K, 1, self.a * beta[i]) - self._unit(J, 0, self.shift) + self._unit(J, 1, beta[i])
        for j in range(self.m):
            if j == i:
                continue
            quotient = (beta[i] / (2 * (beta[i] - beta[j])))[:, None]
            if j not in K:
                row = row - quotient * (self._unit(J) - self._unit(K | {j}))
            else:
                square = (beta[i] * beta[j] / (2 * (beta[i] - beta[j]) ** 2))[:, None]
                row = row - square * (self._unit((K - {j}) | {i}) - self._unit(K))
                row = row - quotient * (self._unit(J) - self._unit(K) - self._double(j, K - {j}))
        self.known[i, K] = row
        return row


_MOST_BALL_TERMS = 20_000  # terms of a series; about x tr β and half the bits matter
_BLOCK = 8  # terms between two looks at the tail
# the radii ρ and R of the circle and of the bound: smaller ones make balls wide, and each point gains two bits
_RADIUS, _BOUND = 4.0, 16.0
# bits of f(y + Rv) beyond those of f(y), for each variable: half of 16/log 2; and some to spare
_GROWTH_BITS, _SPARE_BITS = 12, 20


def _probability(variances: Sequence[arb], n: arb, x: arb, digits: int) -> arb:
    m = len(variances)
    y = sorted((x / (2 * v) for v in variances), key=float)
    a, c = arb(m + 1) / 2, (n + m + 1) / 2
    total = sum(y, arb(0))
    front = _log_gamma(m, a) - _log_gamma(m, c) + n / 2 * sum((entry.log() for entry in y), arb(0)) - total
    distinct = all(not one.overlaps(other) for one, other in pairwise(y))
    value = _sum([acb(entry) for entry in y], a, c).real if distinct else _mean(y, a, c, digits)
    return front.exp() * value


def _log_gamma(m: int, a: arb) -> arb:
    """The logarithm of the multivariate gamma function."""
    whole = arb(m * (m - 1)) / 4 * arb.pi().log()
    return sum(((a - arb(i) / 2).lgamma() for i in range(m)), whole)


def _mean(y: Sequence[arb], a: arb, c: arb, digits: int) -> arb:
    """The value at y from a circle of parameters."""
    m = len(y)
    direction = [arb(i) / (m - 1) for i in range(m)]
    count = 2 * (1 + (int(3.33 * digits) + m * _GROWTH_BITS + _SPARE_BITS) // 4)
    total = arb(0)
    # the points come in conjugate pairs
    for k in range(count // 2):
        turn = acb(0, arb.pi() * (2 * k + 1) / count).exp() * _RADIUS
        total += _sum([acb(entry) + turn * v for entry, v in zip(y, direction, strict=True)], a, c).real
    bound = abs(_sum([acb(entry + _BOUND * v) for entry, v in zip(y, direction, strict=True)], a, c)).upper()
    ratio = arb(_RADIUS / _BOUND) ** count
    return total * 2 / count + arb(0, (bound * ratio / (1 - ratio)).upper())


def _sum(y: Sequence[acb], a: arb, c: arb) -> acb:
    """1F1(a; c; y) by its series along the ray."""
    first, second = (acb_mat(part[0].tolist()) for part in ray_system(np.array([list(y)], dtype=object), a, c))
    size = first.nrows()
    unit = acb_mat(size, size, 1)
    g = acb_mat([[acb(int(i == 0))] for i in range(size)])
    total = acb(1)
    size_of_y = sum((abs(entry) for entry in y), arb(0)).upper()
    for n in range(1, _MOST_BALL_TERMS):
        g = (unit * n - first).solve(second * g)
        total += g[0, 0]
        if n % _BLOCK == 0 and n > 2 * size_of_y:
            # the terms beyond fall by half at least
            rest = (2 * size_of_y ** (n + 1) / arb.fac_ui(n + 1)).upper()
            if rest < arb(2) ** (-ctx.prec):
                return total + acb(arb(0, rest), arb(0, rest))
    raise PrecisionLost("the series of the largest root does not settle; give a smaller x")
