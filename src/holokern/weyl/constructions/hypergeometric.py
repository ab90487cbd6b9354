"""The hypergeometric systems of Gauss, Appell, Lauricella and GKZ, and hyperexponential functions; with symbols too.

A series Σ c(m) x^m whose quotients c(m + e_i)/c(m) = P_i(m)/((m_i + 1) Q_i(m)) are rational in m is annihilated by
∂_i Q_i(θ - e_i) - P_i(θ), where θ_i = x_i ∂_i [AppellKampe1926].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import prod
from operator import index
from typing import Any

from flint import fmpz_mat

from holokern.errors import BadInput
from holokern.numeric import bounded
from holokern.syntax import Syntax, names_in, parse
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order, grevlex
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, exact_rational, split_names, weyl_algebra
from holokern.weyl.groebner.basis import groebner_basis
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.rational.algebra import RationalOperator, RationalWeylAlgebra, rational_weyl_algebra
from holokern.weyl.rational.fractions import FunctionField, RationalFunction, read_function
from holokern.weyl.rational.ideal import RationalIdeal

Vector = tuple[int, ...]

_APPELL = {1: "D", 2: "A", 3: "B", 4: "C"}  # Appell's F1 to F4 are Lauricella's functions of two variables
_SHAPES = {"A": "1nn", "B": "nn1", "C": "11n", "D": "1n1"}  # of the three groups of parameters: one, or one a variable


def hypergeometric(
    upper: Sequence[object], lower: Sequence[object], variables: str | Iterable[str] | None = None
) -> LeftIdeal | RationalIdeal:
    """The equation of the generalised hypergeometric series pFq(upper; lower; x).

    Parameters
    ----------
    upper, lower : sequences of numbers or texts
        Exact numbers, or texts with symbols.
    variables : str, optional
        The name of the variable; x by default.

    Returns
    -------
    LeftIdeal or RationalIdeal
        The first for numbers; with symbols an ideal over Q(x, symbols).

    Examples
    --------
    >>> hypergeometric([], ["1/2"]).generators
    (x*dx^2 + 1/2*dx - 1,)
    """
    names = variable_names(variables, 1, ["x"])
    algebra, values = algebra_with(names, [*upper, *lower])
    x, dx = algebra.gens
    left: Any = prod((x * dx + b - 1 for b in values[len(upper) :]), start=dx)
    right: Any = prod((x * dx + a for a in values[: len(upper)]), start=algebra.one)
    return algebra.ideal(left - right)


def gauss(a: object, b: object, c: object, variables: str | Iterable[str] | None = None) -> LeftIdeal | RationalIdeal:
    """The equation of the Gauss function 2F1(a, b; c; x).

    Examples
    --------
    >>> gauss(1, "1/2", 2).generators
    (-x^2*dx^2 + x*dx^2 - 5/2*x*dx + 2*dx - 1/2,)
    >>> gauss("a", "b", "c").rank()
    2
    """
    return hypergeometric([a, b], [c], variables)


def appell(kind: int, *parameters: object, variables: str | Iterable[str] | None = None) -> LeftIdeal | RationalIdeal:
    """The system of Appell's function F1, F2, F3 or F4 of two variables.

    Parameters
    ----------
    kind : int
        1 to 4.
    parameters : numbers or texts
        F1: a, b1, b2, c; F2: a, b1, b2, c1, c2; F3: a1, a2, b1, b2, c; F4: a, b, c1, c2.
    variables : str, optional
        Names of the two variables; x and y by default.

    Examples
    --------
    >>> [appell(1, "a", "b1", "b2", "c").rank(), appell(4, 1, "1/2", "1/3", "1/5").rank()]
    [3, 4]
    """
    if kind not in _APPELL:
        raise BadInput(f"expected one of Appell's functions 1, 2, 3 or 4, got {kind!r}")
    shape = _SHAPES[_APPELL[kind]]
    sizes = [1 if letter == "1" else 2 for letter in shape]
    if len(parameters) != sum(sizes):
        raise BadInput(f"Appell's F{kind} has {sum(sizes)} parameters, got {len(parameters)}")
    first, second, third = ([*parameters[sum(sizes[:i]) : sum(sizes[: i + 1])]] for i in range(3))
    return lauricella(_APPELL[kind], first, second, third, variable_names(variables, 2, ["x", "y"]))


def lauricella(
    kind: str, first: object, second: object, third: object, variables: str | Iterable[str] | None = None
) -> LeftIdeal | RationalIdeal:
    """The system of Lauricella's function F_A, F_B, F_C or F_D of n variables.

    Parameters
    ----------
    kind : str
        ``"A"``, ``"B"``, ``"C"`` or ``"D"``.
    first, second, third : numbers, texts, or sequences of n of them
        A: a, (b_1, …, b_n), (c_1, …, c_n); B: (a_i), (b_i), c; C: a, b, (c_i); D: a, (b_i), c.
    variables : str, optional
        Names of the variables; x1, …, xn by default.

    Notes
    -----
    For F_D the equations (x_i - x_j)∂_i∂_j - b_j∂_i + b_i∂_j are added, so that the rank is n + 1 for all parameters.
    The ranks of the others are 2^n for generic parameters [AppellKampe1926].

    Examples
    --------
    >>> lauricella("D", "1/2", ["1/3", "1/5", "1/7"], 2).rank()
    4
    """
    if kind not in _SHAPES:
        raise BadInput(f"expected one of Lauricella's functions A, B, C or D, got {kind!r}")
    groups = [list(g) if isinstance(g, (list, tuple)) else [g] for g in (first, second, third)]
    n = max(len(g) for g in groups)
    for place, (letter, group) in enumerate(zip(_SHAPES[kind], groups, strict=True)):
        if len(group) != (1 if letter == "1" else n):
            raise BadInput(f"group {place + 1} of the parameters of F_{kind} in {n} variables has {len(group)} entries")
    names = variable_names(variables, n, [f"x{i + 1}" for i in range(n)])
    algebra, values = algebra_with(names, [value for group in groups for value in group])
    it = iter(values)
    one, two, three = ([next(it) for _ in group] for group in groups)
    x, d = algebra.gens[:n], algebra.gens[n:]
    theta: list[Any] = [x[i] * d[i] for i in range(n)]
    total: Any = sum(theta[1:], theta[0])
    operators = []
    for i in range(n):

        def rising(group: list[Any], i: int = i) -> Any:
            return total + group[0] if len(group) == 1 < n else theta[i] + group[i if len(group) > 1 else 0]

        # F_A, F_D, F_C: all but the last group rise upstairs; the last one, and the factorials, are downstairs
        operators.append(d[i] * (rising(three) - 1) - rising(one) * rising(two))
    if kind == "D":
        pairs = combinations(range(n), 2)
        operators += [(x[i] - x[j]) * d[i] * d[j] - two[j] * d[i] + two[i] * d[j] for i, j in pairs]
    return algebra.ideal(operators)


def variable_names(given: str | Iterable[str] | None, count: int, default: Sequence[str]) -> tuple[str, ...]:
    """The given names, one for each of ``count`` variables, or the default ones."""
    names = tuple(default) if given is None else split_names(given)
    if len(names) != count:
        raise BadInput(f"expected names of {count} variables, got {' '.join(names)!r}")
    return names


def algebra_with(
    variables: tuple[str, ...], values: Sequence[object]
) -> tuple[WeylAlgebra | RationalWeylAlgebra, list[Operator | RationalOperator]]:
    """The algebra in which all the values are constants, and the values as its elements.

    Numbers need the Weyl algebra over Q only; names in a text become parameters of the rational Weyl algebra.

    >>> algebra_with(("x",), ["1/2", 3])[1], algebra_with(("x",), ["a + 1", 3])[0].parameters
    ([1/2, 3], ('a',))
    """
    names: dict[str, None] = {}
    for value in values:
        if isinstance(value, str):
            names.update(dict.fromkeys(sorted(names_in(parse(value, "parameter")))))
        elif not isinstance(value, (int, Fraction)) or isinstance(value, bool):
            exact_rational(value)
    inner = weyl_algebra(variables)
    if not names:
        return inner, [inner(value) for value in values]
    outer = rational_weyl_algebra(inner, parameters=names)
    return outer, [outer(value) for value in values]


def hyperexponential(text: str, variables: str | Iterable[str]) -> RationalIdeal:
    """The ideal over Q(x), of rank 1, of a product of rational functions, their powers, and exponentials of them.

    Parameters
    ----------
    text : str
        Made of ``+ - * / ^``, ``exp`` and ``sqrt``; exponents may hold symbols, but no variables.
    variables : str or iterable of str
        The variables; all other names are parameters.

    Examples
    --------
    >>> hyperexponential("t^a*exp(-x*t)", "t x").generators
    (dt + (t*x - a)/t, dx + t)
    """
    if not isinstance(text, str):
        raise BadInput(f"expected a text such as 't^a*exp(-x*t)', got {text!r}")
    names = split_names(variables)
    tree = parse(text, "function")
    algebra = rational_weyl_algebra(names, parameters=sorted(names_in(tree) - set(names)))
    slopes = _logarithmic(tree, algebra.field, names)
    return algebra.ideal([algebra.gen(d) - s for d, s in zip(algebra.derivations, slopes, strict=True)])


def _logarithmic(node: Syntax, field: FunctionField, names: tuple[str, ...]) -> list[RationalFunction]:
    """The logarithmic derivatives in the variables."""
    if node.kind == "product":
        parts = [_logarithmic(part, field, names) for part in node.parts]
        return [sum(column, field.zero) for column in zip(*parts, strict=True)]
    if node.kind == "unary" and node.head in "+-/":
        inner = _logarithmic(node.parts[0], field, names)
        return [-slope for slope in inner] if node.head == "/" else inner
    if node.kind == "power":
        exponent = read_function(field, node.parts[1])
        if any(exponent.derivative(name) for name in names):
            raise BadInput(f"the exponent {exponent} depends on a variable; write exp(...) for that")
        return [exponent * slope for slope in _logarithmic(node.parts[0], field, names)]
    if node.kind == "call" and node.head == "sqrt" and len(node.parts) == 1:
        return [slope / 2 for slope in _logarithmic(node.parts[0], field, names)]
    if node.kind == "call" and node.head == "exp" and len(node.parts) == 1:
        function = read_function(field, node.parts[0])
        return [function.derivative(name) for name in names]
    function = read_function(field, node)
    if function.is_zero:
        raise BadInput("the function 0 has no logarithmic derivative")
    return [function.derivative(name) / function for name in names]


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
        return prod((derivation**e for derivation, e in zip(d, exponents, strict=True)), start=algebra.one)

    toric = [monomial(plus) - monomial(minus) for plus, minus in toric_ideal(rows)]
    theta = [variable * derivation for variable, derivation in zip(x, d, strict=True)]
    euler = [sum((a * t for a, t in zip(row, theta, strict=True)), -b) for row, b in zip(rows, values, strict=True)]
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
