"""Normalising constants on spheres: Fisher–Bingham, Bingham, von Mises–Fisher, in any dimension.

On the unit sphere of R^p let c(A, b) = ∫ exp(tᵀAt + bᵀt) |dt|.  As a contour integral

    c ∝ ∮ e^s det(s - A)^(-1/2) exp(bᵀ(s - A)⁻¹b / 4) ds,

so along the ray (τA, √τ b) the holonomic system of [Koyama2014] becomes an ODE in τ whose only singular point is 0,
also where eigenvalues of A coincide.  With R = (s - A)⁻¹ it has the integrals C of 1, a of R and M of (Rb)(Rb)ᵀ:

    a' = Aa + C,   M' = AM + b(ab)ᵀ,   τC = tr(a)/2 + tr(M)/4.

The solution that is wanted is τ^(p/2-1) times a power series.  Once a multiple of the identity makes A positive, all
its terms are positive: the sum at τ = 1 loses no digits.  The gradient of c is in the same vector, E[t] = ab/2C and
E[ttᵀ] = (2a + M)/4C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log, pi
from typing import TypeAlias

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import ArrayLike

from holokern.errors import BadInput, PrecisionLost, TooLarge
from holokern.hgm.lines.ball_lines import precisely
from holokern.hgm.lines.initial import Scalar, as_ball
from holokern.hgm.steps.series import Array
from holokern.numeric import EPS, working_precision
from holokern.weyl import LeftIdeal, weyl_algebra

Table: TypeAlias = Sequence[Sequence[Scalar]]
"""A matrix of numbers or balls, by rows."""

# terms of the series; the eigenvalues of A spread over as many units about, and this takes seconds
_MOST_TERMS = 200_000
_BLOCK = 16  # terms between two looks whether they are small, and whether numbers grow too large
_LARGE = 1e100  # floats above this are scaled down, far from overflow
_MOST_DIMENSIONS = 64  # dimensions of the space; beyond it the matrices in balls take long
_MOST_OF_IDEALS = 8  # those of the ideals: their systems are derived in a second up to here


@dataclass(frozen=True)
class LogConstant:
    """A constant c by its logarithm; arrays when there are many parameters.

    Attributes
    ----------
    log_value : array, or arb
        log c.
    error : array
        An estimate of the absolute error of log c, so of the relative error of c; the radius of a ball.
    """

    log_value: Array | arb
    error: Array | float

    @property
    def value(self) -> Array | arb:
        """The constant itself; infinite where it overflows."""
        value = self.log_value
        if isinstance(value, arb):
            # as many bits as the ball has, and some more
            exponent = int(value.rad().man_exp()[1]) if value.rad() > 0 else 0
            with working_precision(ctx.prec + max(0, -exponent)):
                return value.exp()
        with np.errstate(over="ignore"):
            found: Array = np.exp(value)
            return found


@dataclass(frozen=True)
class NormalisingConstant(LogConstant):
    """A normalising constant c with its gradient.

    Attributes
    ----------
    mean : array, (…, p)
        E[t], the gradient of log c in b.
    second : array, (…, p, p)
        E[ttᵀ], the gradient of log c in A.
    """

    mean: Array
    second: Array


def fisher_bingham(
    quadratic: ArrayLike | Table, linear: ArrayLike | Sequence[Scalar], *, balls: bool = False, digits: int = 30
) -> NormalisingConstant:
    """The normalising constant ∫ exp(tᵀAt + bᵀt) |dt| over the unit sphere of R^p, with its gradient.

    Parameters
    ----------
    quadratic : array_like, (…, p, p)
        A, symmetric.
    linear : array_like, (…, p)
        b.
    balls : bool
        Whether to prove the constant and its gradient.  Then there is one A and one b, whose entries may be floats
        (with their exact binary values), integers, fractions, texts such as "1/3", or balls.
    digits : int
        The least number of digits of the balls.

    Returns
    -------
    NormalisingConstant

    Raises
    ------
    BadInput
        If the shapes do not fit, or entries are not finite.
    TooLarge
        If the parameters are so large that the series would take too long.

    Examples
    --------
    >>> c = fisher_bingham(np.diag([1.0, -2.0, 0.5]), [0.3, 1.2, -0.7])
    >>> float(c.value.round(10)), c.mean.round(6).tolist()
    (17.5832933838, [0.12885, 0.182089, -0.242754])
    >>> print(fisher_bingham([[1, 0], [0, 0]], [0, 0], balls=True).value.str(20, radius=False))
    11.016859547772213323
    """
    if balls:
        return _proved(quadratic, linear, digits)
    A, b = _read(quadratic, linear)
    x, Q = np.linalg.eigh(A)
    y = np.einsum("...ji,...j->...i", Q, b)
    sums = _Sums(x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1]))
    shape = x.shape[:-1]
    mean = np.einsum("...ij,...j->...i", Q, sums.mean.reshape(x.shape))
    second = Q @ sums.second.reshape(A.shape) @ np.swapaxes(Q, -1, -2)
    return NormalisingConstant(sums.log_value.reshape(shape), sums.error.reshape(shape), mean, second)


def bingham(quadratic: ArrayLike | Table, *, balls: bool = False, digits: int = 30) -> NormalisingConstant:
    """The normalising constant of the Bingham distribution, ∫ exp(tᵀAt) |dt|; see :func:`fisher_bingham`.

    Examples
    --------
    >>> float(bingham(np.zeros((4, 4))).value.round(12))
    19.739208802179
    """
    return fisher_bingham(quadratic, np.zeros(np.asarray(quadratic).shape[:-1]), balls=balls, digits=digits)


def von_mises_fisher(
    linear: ArrayLike | Sequence[Scalar], *, balls: bool = False, digits: int = 30
) -> NormalisingConstant:
    """The normalising constant of the von Mises–Fisher distribution, ∫ exp(bᵀt) |dt|; see :func:`fisher_bingham`.

    Examples
    --------
    On S² it is 4π sinh(κ)/κ:

    >>> float((von_mises_fisher([0.0, 0.0, 2.0]).value - 4 * np.pi * np.sinh(2) / 2).round(12))
    0.0
    """
    shape = np.asarray(linear).shape
    return fisher_bingham(np.zeros((*shape, *shape[-1:])), linear, balls=balls, digits=digits)


def log_area(p: int) -> float:
    """The logarithm of the area of the unit sphere of R^p."""
    return log(2) + p / 2 * log(pi) - lgamma(p / 2)


def _read(quadratic: object, linear: object) -> tuple[Array, Array]:
    try:
        A, b = np.asarray(quadratic, dtype=float), np.asarray(linear, dtype=float)
    except (TypeError, ValueError):
        raise BadInput("expected a symmetric matrix A and a vector b of real numbers") from None
    if A.ndim < 2 or A.shape[-1] != A.shape[-2] or b.ndim < 1 or b.shape[-1] != A.shape[-1] or A.shape[-1] < 2:
        raise BadInput(f"expected A of shape (…, p, p) and b of shape (…, p), p ≥ 2; got {A.shape} and {b.shape}")
    if A.shape[-1] > _MOST_DIMENSIONS:
        raise TooLarge(f"spheres in {A.shape[-1]} dimensions are beyond the limit of {_MOST_DIMENSIONS}")
    if not (np.all(np.isfinite(A)) and np.all(np.isfinite(b))):
        raise BadInput("A or b has entries that are NaN or infinite; pass finite numbers")
    if not np.allclose(A, np.swapaxes(A, -1, -2), rtol=1e-12, atol=1e-12 * float(np.max(np.abs(A), initial=0.0))):
        raise BadInput("A is not symmetric; pass (A + A.T)/2 if that is meant")
    shape = np.broadcast_shapes(A.shape[:-2], b.shape[:-1])
    A = np.broadcast_to((A + np.swapaxes(A, -1, -2)) / 2, (*shape, *A.shape[-2:]))
    return A, np.broadcast_to(b, (*shape, b.shape[-1]))


class _Sums:
    """The series for A = diag(x), (tracks, p), where a is diagonal and M_ij = y_i y_j m_ij."""

    def __init__(self, x: Array, y: Array) -> None:
        half = x.shape[1] / 2
        shift = x.min(axis=1)
        x = x - shift[:, None]
        w = y * y
        expected = float(np.max(x.max(axis=1) + np.sqrt(w.sum(axis=1)), initial=0.0))
        if not expected < _MOST_TERMS / 8:
            raise TooLarge(
                f"eigenvalues of A that differ by {float(np.max(x)):.3g} and |b| up to "
                f"{float(np.max(np.sqrt(w.sum(axis=1)))):.3g} would take too many terms; use an asymptotic formula"
            )
        a = np.full_like(x, 1 / half)
        m = np.repeat(a[:, :, None], x.shape[1], axis=2) / (half + 1)
        total, first, second = np.ones(len(x)), a.copy(), m.copy()
        log_scale = np.zeros(len(x))
        n = 0
        for n in range(1, _MOST_TERMS):
            moved = x * a
            diagonal = np.einsum("ti,tii->t", w, m)
            c = moved.sum(axis=1) / (2 * n) + diagonal * (n + half) / (4 * n)
            a = (moved + c[:, None]) / (n + half)
            m = (x[:, :, None] * m + a[:, None, :]) / (n + half + 1)
            total += c
            first += a
            second += m
            if n % _BLOCK == 0:
                if np.all(c <= 1e-3 * EPS * total):
                    break
                large = np.where(total > _LARGE, 1 / total, 1.0)
                if np.any(large < 1):
                    a, first, m, second = (
                        part * large.reshape(-1, *(1,) * (part.ndim - 1)) for part in (a, first, m, second)
                    )
                    total, log_scale = total * large, log_scale - np.log(large)
        self.log_value = np.log(total) + log_scale + shift + log_area(x.shape[1])
        # every step of the recurrence rounds a few times, and so does the shift
        self.error = EPS * (8 * n + 4 * np.abs(shift) + np.abs(self.log_value))
        self.mean = y * first / (2 * total[:, None])
        self.second = y[:, :, None] * y[:, None, :] * second / (4 * total[:, None, None])
        i = np.arange(x.shape[1])
        self.second[:, i, i] += first / (2 * total[:, None])


def _proved(quadratic: object, linear: object, digits: int) -> NormalisingConstant:
    """The constant and its gradient in balls."""
    rows = [list(row) for row in quadratic] if isinstance(quadratic, (Sequence, np.ndarray)) else []
    vector = list(linear) if isinstance(linear, (Sequence, np.ndarray)) else []
    p = len(vector)
    if len(rows) != p or any(len(row) != p for row in rows):
        raise BadInput("expected one matrix A of shape (p, p) and one vector b of shape (p,) for balls")
    A, b = [[as_ball(a) for a in row] for row in rows], [as_ball(a) for a in vector]
    if any(not isinstance(a, arb) for row in (*A, b) for a in row):
        raise BadInput("expected a real symmetric matrix A and a real vector b")
    floats = np.array([[float(a) for a in row] for row in A])
    _read(floats, [float(a) for a in b])
    if any(not A[i][j].overlaps(A[j][i]) for i in range(p) for j in range(i)):
        raise BadInput("A is not symmetric; pass (A + A.T)/2 if that is meant")
    shift = float(np.linalg.eigvalsh(floats)[0])

    def summed() -> list[arb]:
        # fractions are read anew at every precision
        return _ball_sum([[as_ball(a) for a in row] for row in rows], [as_ball(a) for a in vector], shift)

    found = precisely(summed, digits)
    second = np.array(found[1 + p :], dtype=object).reshape(p, p)
    return NormalisingConstant(found[0], float(found[0].rad()), np.array(found[1 : 1 + p], dtype=object), second)


def _ball_sum(A: list[list[arb]], b: list[arb], shift: float) -> list[arb]:
    """The logarithm of c, E[t] and E[ttᵀ] by the series in balls, with a geometric bound of its tail."""
    p = len(b)
    half = arb(p) / 2
    matrix = arb_mat([[a - shift if i == j else a for j, a in enumerate(row)] for i, row in enumerate(A)])
    vector = arb_mat([[entry] for entry in b])
    one = arb_mat(p, p, 1)
    a, total = one / half, arb(1)
    m = vector * (a * vector).transpose() / (half + 1)
    first, second = a, m
    size, square = _norm(matrix), (p * sum((entry * entry for entry in b), arb(0))).upper()
    for n in range(1, _MOST_TERMS):
        moved = matrix * a
        c = moved.trace() / (2 * n) + m.trace() * (n + half) / (4 * n)
        a = (moved + one * c) / (n + half)
        m = (matrix * m + vector * (a * vector).transpose()) / (n + half + 1)
        total, first, second = total + c, first + a, second + m
        if n % _BLOCK == 0 and c < total * arb(2) ** (-ctx.prec):
            # with E = ‖a‖ + ‖M‖: c_(k+1) ≤ γ_k E_k and E_(k+1) ≤ r_k E_k, both decreasing
            k = n + 1
            gamma = size * p / (2 * k) + (1 + half / k) * p / 4
            ratio = (size + gamma) / (k + half) * (1 + square / (k + half + 1)) + size / (k + half + 1)
            if ratio.upper() < 0.5:
                rest = (_norm(a) + _norm(m)).upper()
                total = total + arb(0, (2 * gamma * rest).upper())
                tail = arb_mat([[arb(0, rest)] * p for _ in range(p)])
                first, second = first + tail, second + tail
                area = 2 * arb.pi() ** half / half.gamma()
                mean, square_mean = first * vector / (2 * total), (2 * first + second) / (4 * total)
                return [(total * area).log() + shift, *mean.entries(), *square_mean.entries()]
    raise PrecisionLost("the series of this normalising constant does not settle; give smaller parameters")


def _norm(matrix: arb_mat) -> arb:
    """The largest sum of a row."""
    best = arb(0)
    for row in matrix.tolist():
        best = best.max(sum((abs(entry) for entry in row), arb(0)).upper())
    return best


def fisher_bingham_ideal(p: int, *, diagonal: bool = True) -> LeftIdeal:
    """The holonomic ideal of c on the unit sphere of R^p [Koyama2014, Nakayama2011]; its rank is 2p.

    Parameters
    ----------
    p : int
    diagonal : bool
        c(diag(x), y) in x1, …, xp, y1, …, yp; or c(x, y) for symmetric x, in x11, x12, …, xpp and y.  From p = 3 on the
        matrices of the latter are too large to write down: see ``expand=False`` of :func:`holokern.pfaffian`.

    Examples
    --------
    >>> fisher_bingham_ideal(2).rank()
    4
    >>> fisher_bingham_ideal(2, diagonal=False).generators[3]
    dx11 + dx22 - 1
    """
    if not 2 <= p <= _MOST_OF_IDEALS:
        raise BadInput(f"expected a dimension p between 2 and {_MOST_OF_IDEALS}, got {p}")
    index = range(1, p + 1)
    pairs = [(i, j) for i in index for j in index if i < j]
    linear = [f"y{i}" for i in index]
    if diagonal:
        D = weyl_algebra([*(f"x{i}" for i in index), *linear])
        generators = [" + ".join(f"dx{i}" for i in index) + " - 1", *(f"dy{i}^2 - dx{i}" for i in index)]
        generators += [f"2*(x{j} - x{i})*dy{i}*dy{j} + y{j}*dy{i} - y{i}*dy{j}" for i, j in pairs]
        return D.ideal(*generators)

    def x(i: int, j: int) -> str:
        return f"x{min(i, j)}{max(i, j)}"

    entries = [(i, j) for i in index for j in index if i <= j]
    D = weyl_algebra([*(x(i, j) for i, j in entries), *linear])
    generators = [f"d{x(i, j)} - {1 + (i < j)}*dy{i}*dy{j}" for i, j in entries]
    generators += [" + ".join(f"d{x(i, i)}" for i in index) + " - 1"]
    for i, j in pairs:
        # the sphere is invariant under rotations in the plane of i and j
        turned = [f"2*({x(j, k)}*dy{i} - {x(i, k)}*dy{j})*dy{k}" for k in index]
        generators.append(" + ".join([*turned, f"y{j}*dy{i} - y{i}*dy{j}"]))
    return D.ideal(*generators)


def bingham_ideal(p: int) -> LeftIdeal:
    """The holonomic ideal of the Bingham constant c(diag(x), 0) on the sphere of R^p [SeiKume2015]; its rank is p.

    Examples
    --------
    >>> bingham_ideal(3).rank()
    3
    """
    if not 2 <= p <= _MOST_OF_IDEALS:
        raise BadInput(f"expected a dimension p between 2 and {_MOST_OF_IDEALS}, got {p}")
    index = range(1, p + 1)
    generators = [" + ".join(f"dx{i}" for i in index) + " - 1"]
    generators += [f"2*(x{i} - x{j})*dx{i}*dx{j} - dx{i} + dx{j}" for i in index for j in index if i < j]
    return weyl_algebra([f"x{i}" for i in index]).ideal(*generators)
