"""GKZ (A-hypergeometric) systems: the toric ideal of an integer matrix, and its Euler operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from flint import fmpz_mat

from holokern.errors import BadInput
from holokern.numeric import bounded
from holokern.weyl.algebra.orders import Order, grevlex
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.rational.ideal import RationalIdeal
from holokern.weyl.systems.hypergeometric import algebra_with, variable_names

Vector = tuple[int, ...]


def gkz(
    matrix: Sequence[Sequence[int]], beta: Sequence[object], variables: str | Iterable[str] | None = None
) -> LeftIdeal | RationalIdeal:
    """The GKZ system H_A(β): the toric ideal of A in the derivations, and Σ_j a_ij x_j ∂_j - β_i [SST2000, §3.1].

    Parameters
    ----------
    matrix : d rows of n integers
        A; its columns are the exponents.
    beta : sequence of d numbers or texts
        Exact numbers, or texts with symbols.
    variables : str, optional
        Names of the variables; x1, …, xn by default.

    Returns
    -------
    LeftIdeal or RationalIdeal
        The first for numbers; with symbols an ideal over Q(x, symbols).

    Examples
    --------
    The roots of a quadratic equation, β = (0, -1), and the rank jump of the pinched quartic at β = (1, 2)
    [SST2000, Ex. 4.2.7]:

    >>> gkz([[1, 1, 1], [0, 1, 2]], [0, -1]).generators
    (-dx1*dx3 + dx2^2, x1*dx1 + x2*dx2 + x3*dx3, x2*dx2 + 2*x3*dx3 + 1)
    >>> A = [[1, 1, 1, 1], [0, 1, 3, 4]]
    >>> gkz(A, [1, 2]).rank(), gkz(A, [1, 0]).rank()
    (5, 4)
    """
    rows = _checked(matrix)
    if len(beta) != len(rows):
        raise BadInput(f"expected {len(rows)} entries of beta, one for each row of the matrix, got {len(beta)}")
    n = len(rows[0])
    names = variable_names(variables, n, [f"x{i + 1}" for i in range(n)])
    algebra, values = algebra_with(names, beta)
    x: Sequence[Any] = algebra.gens[:n]
    d: Sequence[Any] = algebra.gens[n:]

    def monomial(exponents: Sequence[int]) -> Any:
        result: Any = algebra.one
        for derivation, e in zip(d, exponents, strict=True):
            result = result * derivation**e
        return result

    toric = [monomial(plus) - monomial(minus) for plus, minus in toric_ideal(rows)]
    euler = []
    for row, value in zip(rows, values, strict=True):
        total: Any = -value
        for a, variable, derivation in zip(row, x, d, strict=True):
            total = total + a * variable * derivation
        euler.append(total)
    return algebra.ideal([*toric, *euler])


@bounded
def toric_ideal(matrix: Sequence[Sequence[int]]) -> list[tuple[Vector, Vector]]:
    """Binomials y^u - y^v, as pairs (u, v), that generate the toric ideal of an integer matrix, a Gröbner basis.

    The lattice ideal of a short basis of the kernel is saturated by one variable after the other: in a graded order in
    which that variable is the smallest, dividing a Gröbner basis by it is enough [Sturmfels1996, Ch. 12].

    Examples
    --------
    >>> toric_ideal([[1, 1, 1], [0, 1, 2]])
    [((0, 2, 0), (1, 0, 1))]
    """
    rows = _checked(matrix)
    n = len(rows[0])
    moves = _kernel(rows)
    if not moves:
        return []
    # an extra variable makes the binomials homogeneous where A does not
    graded = all(sum(move) == 0 for move in moves)
    vectors = [move if graded else (*move, -sum(move)) for move in moves]
    size = n if graded else n + 1
    ring = WeylAlgebra(tuple(f"y{i}" for i in range(size)), tuple(f"unused{i}" for i in range(size)))
    pairs = [(tuple(max(e, 0) for e in v), tuple(max(-e, 0) for e in v)) for v in vectors]
    for last in range(size):
        smallest = tuple(-int(i == last) for i in range(2 * size))
        order = Order(f"grevlex, y{last} smallest", 2 * size, ((1,) * (2 * size), smallest), True)
        pairs = [_without(pair, last) for pair in _basis(ring, pairs, order)]
    if not graded:
        pairs = [(plus[:n], minus[:n]) for plus, minus in pairs]
        ring = WeylAlgebra(ring.variables[:n], ring.derivations[:n])
    return _basis(ring, pairs, grevlex(ring))


def _checked(matrix: Sequence[Sequence[int]]) -> list[list[int]]:
    try:
        rows = [[index(a) for a in row] for row in matrix]
    except TypeError:
        raise BadInput(f"expected integers in the matrix, got {matrix!r}") from None
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise BadInput(f"expected a matrix as rows of integers of one length, got {matrix!r}")
    return rows


def _kernel(rows: list[list[int]]) -> list[Vector]:
    """A short basis of the integer vectors u with A u = 0: LLL on the identity beside a large multiple of A."""
    n, d = len(rows[0]), len(rows)
    # any other lattice vector is longer than the kernel's short ones can be, by Hadamard's bound
    scale = 2**n * (1 + max(abs(a) for row in rows for a in row)) ** (d + 1) * (n + 1) ** d
    table = [[int(i == j) for j in range(n)] + [scale * row[i] for row in rows] for i in range(n)]
    reduced = fmpz_mat(table).lll().tolist()
    return [tuple(int(e) for e in v[:n]) for v in reduced if not any(v[n:])]


def _basis(ring: WeylAlgebra, pairs: list[tuple[Vector, Vector]], order: Order) -> list[tuple[Vector, Vector]]:
    """The reduced Gröbner basis of binomials."""
    n, none = ring.dimension, (0,) * ring.dimension
    binomials = [ring.from_terms({plus + none: 1, minus + none: -1}) for plus, minus in pairs if plus != minus]
    found = []
    for g in groebner_basis(binomials, order):
        lead, tail = sorted(g.terms, key=order.key, reverse=True)
        found.append((lead[:n], tail[:n]))
    return found


def _without(pair: tuple[Vector, Vector], place: int) -> tuple[Vector, Vector]:
    """The binomial divided by the largest power of one variable."""
    common = min(exponents[place] for exponents in pair)
    plus, minus = ((*e[:place], e[place] - common, *e[place + 1 :]) for e in pair)
    return plus, minus
