"""Difference equations of Hermite coefficients, derived from annihilating operators.

Write h_n(c) = E[∂^n σ(cz)] with z ~ N(0, 1), so that E[He_n(z) σ(cz)] = c^n h_n(c).  Stein's lemma moves u to the
left of the derivatives, E[∂^n u f] = c² E[∂^(n+1) f] + n E[∂^(n-1) f], and every P with Pσ = 0 becomes a linear
recurrence for h_n at once [Stein1981, Lemma 1].  Several operators give several recurrences; their greatest common
right divisor is the shortest consequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from flint import arb, fmpq, fmpq_poly, fmpz_mpoly

from holokern.errors import BadInput, NotHolonomic
from holokern.numeric import Dependence, natural_roots
from holokern.weyl import FunctionField, Operator, RationalFunction, exact_rational, function_field, weyl_algebra

Shift = tuple[RationalFunction, ...]
# terms of all coefficients: from here on the Euclidean algorithm swells, and the longer recurrence is kept
_LARGEST = 600


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The equation Σ_k p_k(n, c²) h_(n+k) = 0, true for every n ≥ ``start``."""

    coefficients: tuple[RationalFunction, ...]  # the coprime polynomials p_0, …, p_order in n and c2 = c²
    start: int = 0  # from which n on the equation is proved

    @property
    def order(self) -> int:
        """How far the equation reaches."""
        return len(self.coefficients) - 1

    def is_right_divisor_of(self, other: Recurrence) -> bool:
        """Whether ``other`` is a left multiple of this equation, hence follows from it."""
        _, rest = _divide(other.coefficients, self.coefficients)
        return not rest

    def hermite_form(self, c: arb) -> list[list[arb]]:
        """The same equation for E[He_n(z) σ(cz)]: for each k the coefficients in n of p_k(n, c²) c^(order-k).

        Examples
        --------
        >>> hermite_recurrence(["u*D - 1"]).hermite_form(arb(1))
        [[-1.00000000000000, 1.00000000000000], [0], [1.00000000000000]]
        """
        return [_in_n(p, c * c, c ** (self.order - k)) for k, p in enumerate(self.coefficients)]

    def __str__(self) -> str:
        places = [f"h[n+{k}]" if k else "h[n]" for k in range(len(self.coefficients))]
        terms = [h if p == 1 else f"({p})*{h}" for p, h in zip(self.coefficients, places, strict=True) if p]
        return " + ".join(reversed(terms)) + " = 0"


def hermite_recurrence(operators: Iterable[Operator | str], c2: object = None) -> Recurrence:
    """Derive the shortest recurrence of h_n(c) = E[∂^n σ(cz)] that follows from Pσ = 0 for the given P.

    Parameters
    ----------
    operators : iterable of Operator or str
        Annihilators of σ in ``weyl_algebra("u", "D")``.
    c2 : rational number, optional
        Derive at this variance c² only; needed where the leading coefficient of the general equation vanishes.

    Returns
    -------
    Recurrence

    Notes
    -----
    The greatest common right divisor G of the recurrences is computed over Q(n, c²), so it holds for all large n.  It
    holds for a smaller n too unless a polynomial in n alone vanishes there, which ``start`` tells; other exceptions
    concern isolated c only, where the equation holds by continuity of h_n in c.  Where the coefficients of G would
    become huge the shortest of the given recurrences is kept.

    Examples
    --------
    >>> print(hermite_recurrence(["u*(D^2 + 1)"]))
    (c2)*h[n+4] + (n + c2 + 1)*h[n+2] + (n + 1)*h[n] = 0
    """
    algebra = weyl_algebra("u", "D")
    given = tuple(P for P in (algebra(P) for P in operators) if P)
    if not given:
        raise NotHolonomic("a recurrence of Hermite coefficients needs a non-zero operator that annihilates σ")
    return _derive(given, None if c2 is None else exact_rational(c2))


@lru_cache(maxsize=256)
def _derive(operators: tuple[Operator, ...], c2: fmpq | None) -> Recurrence:
    field = function_field("n c2")
    variance = field.gens[1] if c2 is None else field(c2)
    found = sorted((_stein(P, field, variance) for P in operators), key=lambda pair: (len(pair[0]), _size(pair[0])))
    shortest, start = found[0]
    best = _primitive(shortest)
    for row, first in found[1:]:
        divisor = _common_divisor(best, row)
        if divisor is None or len(divisor) == len(best):
            continue
        best, start = divisor, max(start, first)
    start = max(start, _exceptions(shortest, best))
    # from its first term on: p_j h_(n+j) + … becomes an equation from h_n on, true j later
    low = next(k for k, value in enumerate(best) if value)
    best, start = tuple(_shifted(value, -low) for value in best[low:]), start + low
    while start > 0 and _follows(best, start - 1, operators, field, variance):
        start -= 1
    return Recurrence(best, start)


def _stein(P: Operator, field: FunctionField, variance: RationalFunction) -> tuple[Shift, int]:
    """The shift operator of E[∂^(n+m) P σ] = 0, with m such that h_n occurs and nothing before; and its first n."""
    n = field.gens[0]
    row = _stein_row(P, n, field, variance)
    m = -min(row)
    if m:
        row = _stein_row(P, n + m, field, variance)
    return _trim(tuple(row.get(k - m, field.zero) for k in range(max(row) + m + 1))), max(-m, 0)


def _stein_row(
    P: Operator, n: RationalFunction, field: FunctionField, variance: RationalFunction
) -> dict[int, RationalFunction]:
    """The coefficients of h_(n+k) in E[∂^n P σ], by E[∂^n u f] = c² E[∂^(n+1) f] + n E[∂^(n-1) f]."""
    total: dict[int, RationalFunction] = {}
    for (alpha, beta), coefficient in P:
        row = {0: field.one}
        for _ in range(alpha):
            moved: dict[int, RationalFunction] = {}
            for shift, value in row.items():
                moved[shift + 1] = moved.get(shift + 1, field.zero) + value * variance
                moved[shift - 1] = moved.get(shift - 1, field.zero) + value * (n + shift)
            row = moved
        for shift, value in row.items():
            total[shift + beta] = total.get(shift + beta, field.zero) + value * coefficient
    return {shift: value for shift, value in total.items() if value}


def _follows(
    row: Shift, n: int, operators: tuple[Operator, ...], field: FunctionField, variance: RationalFunction
) -> bool:
    """Whether the equation at this one n is a combination of the relations E[∂^j P σ] = 0, j ≥ 0."""
    reach = n + len(row)
    relations = [
        {shift + j: value for shift, value in _stein_row(P, field(j), field, variance).items()}
        for P in operators
        for j in range(reach + 2)
    ]
    at_n = {"n": field(n), "c2": field.gens[1]}
    wanted = {n + k: value.substitute(at_n) for k, value in enumerate(row)}
    search: Dependence[int, int, RationalFunction] = Dependence(field.one, max)
    for name, relation in enumerate(relations):
        search.add(name, relation)
    return search.add(-1, wanted) is not None


def _common_divisor(left: Shift, right: Shift) -> Shift | None:
    """The greatest common right divisor, primitive; None when the coefficients grow beyond measure on the way."""
    a, b = (left, right) if len(left) >= len(right) else (right, left)
    while b:
        if _size(b) > _LARGEST:
            return None
        rest = _divide(a, b)[1]
        a, b = b, _primitive(rest) if rest else ()
    return _primitive(a)


def _exceptions(multiple: Shift, divisor: Shift) -> int:
    """From which n on the divisor G of a true equation P = QG is true, given that it is for large n.

    g = Gh solves Qg = 0 and vanishes for large n.  Backwards, q_0(n) g_n = -Σ_(k≥1) q_k(n) g_(n+k) = 0, so g_n = 0
    unless q_0 or a denominator of Q vanishes at n for every c.
    """
    quotient, _ = _divide(multiple, divisor)
    roots = [_first_good(quotient[0].numerator), *(_first_good(q.denominator) for q in quotient)]
    return max(roots)


def _size(row: Shift) -> int:
    """How many terms the coefficients have together."""
    return sum(len(q.numerator) + len(q.denominator) for q in row)


def _primitive(row: Shift) -> Shift:
    """Clear denominators and contents."""
    field = row[0].field
    common = field.ctx.constant(1)
    for q in row:
        common = common * (q.denominator // common.gcd(q.denominator))
    tops = [(q * field(common)).numerator for q in row]
    content = tops[-1]
    for top in tops:
        content = content.gcd(top)
    if (tops[-1] // content).leading_coefficient() < 0:
        content = -content
    return tuple(field(top // content) for top in tops)


def _first_good(polynomial: fmpz_mpoly) -> int:
    """One more than the largest non-negative integer n at which the polynomial vanishes for every c."""
    powers = dict[int, dict[int, int]]()
    for key, coefficient in polynomial.terms():
        powers.setdefault(int(key[1]), {})[int(key[0])] = int(coefficient)
    in_n = [fmpq_poly([terms.get(n, 0) for n in range(max(terms) + 1)]) for terms in powers.values()]
    return 1 + max(natural_roots(in_n), default=-1)


def _shifted(value: RationalFunction, m: int) -> RationalFunction:
    if m == 0 or value.constant_value() is not None:
        return value
    n, c2 = value.field.gens
    return value.substitute({"n": n + m, "c2": c2})


def _divide(a: Sequence[RationalFunction], b: Sequence[RationalFunction]) -> tuple[Shift, Shift]:
    """Quotient and remainder with a = q b + rest."""
    rest = list(a)
    quotient = [b[0].field.zero] * max(len(a) - len(b) + 1, 0)
    for m in range(len(a) - len(b), -1, -1):
        factor = rest[m + len(b) - 1] / _shifted(b[-1], m)
        if factor:
            quotient[m] = factor
            for k, value in enumerate(b):
                rest[m + k] = rest[m + k] - factor * _shifted(value, m)
    return _trim(tuple(quotient)), _trim(tuple(rest))


def _trim(row: Shift) -> Shift:
    length = len(row)
    while length and not row[length - 1]:
        length -= 1
    return row[:length]


def _in_n(p: RationalFunction, c2: arb, factor: arb) -> list[arb]:
    """The coefficients of the polynomial p(n, c2)·factor in n."""
    if p.denominator.degrees() != (0, 0):
        raise BadInput(f"expected a polynomial in n and c2, got {p}")
    values: dict[int, arb] = {}
    for key, coefficient in p.numerator.terms():
        i, j = (int(e) for e in key)
        values[i] = values.get(i, arb(0)) + arb(coefficient) * c2**j
    top = max(values, default=0)
    return [values.get(i, arb(0)) * factor for i in range(top + 1)]
