"""Creative telescoping for hyperexponential functions: an operator for the integral, and a certificate that proves it.

A function f(t, x) is hyperexponential when its logarithmic derivatives are rational.  For L in x and ∂_x and a rational
function R with L f = ∂_t(R f) one has, over an interval whose ends do not depend on x,

    L ∫ f dt = [R f] at the upper end - [R f] at the lower end,

so L annihilates the integral when R f has the same value at both ends, and on closed curves [AlmkvistZeilberger1990].
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpz_mpoly, fmpz_mpoly_ctx

from holokern.errors import BadInput, CheckFailed, Unsupported
from holokern.numeric import Dependence, bounded
from holokern.weyl.algebra.weyl_algebra import fresh_names
from holokern.weyl.modules.ideal import LeftIdeal
from holokern.weyl.rational.algebra import RationalOperator, rational_weyl_algebra
from holokern.weyl.rational.fractions import FunctionField, RationalFunction, common_denominator
from holokern.weyl.rational.ideal import RationalIdeal, rational_extension
from holokern.weyl.rational.matrices import shortest
from holokern.weyl.rational.polynomials import by_powers, multiplicity

_MAX_ORDER = 8  # of the operators that are tried by default


@dataclass(frozen=True)
class Telescoper:
    """An operator L in one variable and a certificate R with L f = ∂_t(R f).

    ``integral`` is t.  The operator annihilates the integral of f over a path when R f has equal values at its ends.
    """

    operator: RationalOperator
    certificate: RationalFunction
    integral: str

    def __repr__(self) -> str:
        return f"<{self.operator} with ({self.operator})f = d/d{self.integral} of ({self.certificate})*f>"


@bounded
def telescoper(
    ideal: LeftIdeal | RationalIdeal, integral: str, variable: str, *, max_order: int = _MAX_ORDER
) -> Telescoper:
    """The operator of least order for ∫ f dt, f hyperexponential, with its certificate.

    Parameters
    ----------
    ideal : LeftIdeal or RationalIdeal
        Of rank 1: it annihilates a hyperexponential f.  Parameters may occur.
    integral : str
        The variable t of integration.
    variable : str
        The variable x of the operator; further variables are parameters of the result.
    max_order : int
        Where the search ends.

    Returns
    -------
    Telescoper
        Its identity L f = ∂_t(R f) has been checked.

    Raises
    ------
    BadInput
        When the rank is not 1.
    Unsupported
        When there is no telescoper of order up to ``max_order``.

    Examples
    --------
    The Gaussian integral ∫ exp(-x t²) dt, where R f = t exp(-x t²)/(2x) vanishes at both ends:

    >>> from holokern.weyl import hyperexponential
    >>> found = telescoper(hyperexponential("exp(-x*t^2)", "t x"), "t", "x")
    >>> found.operator, found.certificate
    (dx + 1/(2*x), t/(2*x))

    Euler's integral with symbols:

    >>> f = hyperexponential("t^(b-1)*(1-t)^(c-b-1)*(1-x*t)^(-a)", "t x")
    >>> telescoper(f, "t", "x").operator.clear_denominators()
    x^2*dx^2 - x*dx^2 + x*a*dx + x*b*dx + x*dx - c*dx + a*b
    """
    rational = rational_extension(ideal) if isinstance(ideal, LeftIdeal) else ideal
    names = rational.algebra.variables
    if integral not in names or variable not in names or integral == variable:
        raise BadInput(f"expected two different variables of {' '.join(names)}, got {integral!r} and {variable!r}")
    if rational.rank() != 1:
        raise BadInput(
            f"expected the ideal of a hyperexponential function, of rank 1; {ideal!r} has rank {rational.rank()}; "
            "ideal.integration(...) serves every holonomic ideal"
        )
    logarithmic = {name: rational.connection_matrices()[i][0][0] for i, name in enumerate(names)}
    search = _Search(rational.algebra.field, integral, variable, logarithmic[integral], logarithmic[variable])
    for order in range(max_order + 1):
        found = search.solve(order)
        if found is not None:
            return _checked(search, *found)
    raise Unsupported(f"{ideal!r} has no telescoper of order up to {max_order} for {integral}; raise max_order")


def _checked(search: _Search, coefficients: list[RationalFunction], certificate: RationalFunction) -> Telescoper:
    t = search.t
    left = sum((c * g for c, g in zip(coefficients, search.quotients, strict=False)), search.field.zero)
    if left != certificate.derivative(t) + search.a * certificate:
        raise CheckFailed(f"the certificate {certificate} does not fit its operator; this is a defect of the search")
    others = [name for name in search.field.variables if name not in (t, search.x)]
    algebra = rational_weyl_algebra([search.x], parameters=others)
    lead = coefficients[-1]
    terms: dict[tuple[int, ...], object] = {(i,): algebra.field(str(c / lead)) for i, c in enumerate(coefficients)}
    return Telescoper(algebra.from_terms(terms), certificate / lead, t)


class _Search:
    """What does not depend on the order: the field, the logarithmic derivatives, and (∂_x^i f)/f."""

    def __init__(self, field: FunctionField, t: str, x: str, a: RationalFunction, b: RationalFunction) -> None:
        self.field, self.t, self.x, self.a, self.b = field, t, x, a, b
        self.place = field.variables.index(t)
        self.quotients = [field.one]

    def solve(self, order: int) -> tuple[list[RationalFunction], RationalFunction] | None:
        """Coefficients c_i and R with Σ c_i (∂_x^i f)/f = R' + aR, the c_i free of t and c_order not zero, or None."""
        while len(self.quotients) <= order:
            last = self.quotients[-1]
            self.quotients.append(last.derivative(self.x) + self.b * last)
        used = self.quotients[: order + 1]
        denominator = self._denominator(used)
        degree = self._degree(used) + self._degree_of(denominator)
        t = self.field.gens[self.place]
        bottom = self.field(denominator)
        columns = list(used)
        powers = [t**k / bottom for k in range(degree + 1)]
        columns += [-(power.derivative(self.t) + self.a * power) for power in powers]
        vector = self._relation(columns, order)
        if vector is None:
            return None
        certificate = sum((c * power for c, power in zip(vector[order + 1 :], powers, strict=True)), self.field.zero)
        return vector[: order + 1], certificate

    def _degree_of(self, polynomial: fmpz_mpoly) -> int:
        return int(polynomial.degrees()[self.place])

    def _parts(self, polynomial: fmpz_mpoly) -> dict[int, fmpz_mpoly]:
        """The coefficients of the powers of t."""
        return {power: part for (power,), part in by_powers(polynomial, [self.place]).items()}

    def _order_at_infinity(self, function: RationalFunction) -> int:
        return self._degree_of(function.numerator) - self._degree_of(function.denominator)

    def _degree(self, used: list[RationalFunction]) -> int:
        """A bound for the degree in t of R, numerator minus denominator."""
        right = max(self._order_at_infinity(g) for g in used if g)
        growth = self._order_at_infinity(self.a) if self.a else -2
        if growth >= 0:
            return right - growth
        bound = max(right + 1, 0)
        if growth == -1:
            # t^k with k plus the leading coefficient of t·a equal to zero
            top, bottom = (
                self.field(self._parts(p)[self._degree_of(p)]) for p in (self.a.numerator, self.a.denominator)
            )
            value = (-top / bottom).constant_value()
            if value is not None and value.q == 1:
                bound = max(bound, int(value.p))
        return bound

    def _denominator(self, used: list[RationalFunction]) -> fmpz_mpoly:
        """The denominator of R in t: from the poles of the right side, and from residues of a that are integers."""
        common = common_denominator(self.field, used)
        bottom = self.a.denominator
        result = self.field.ctx.constant(1)
        for factor, _ in (common * bottom).factor()[1]:
            if self._degree_of(factor) < 1:
                continue
            poles, own = multiplicity(common, factor), multiplicity(bottom, factor)
            power = poles - max(own, 1)
            if own == 1:
                power = max(power, *self._residues(factor), 0)
            result = result * factor ** max(power, 0)
        return result

    def _residues(self, factor: fmpz_mpoly) -> list[int]:
        """The positive integers k for which f behaves like factor^k at the zeros of a simple pole of a."""
        names = self.field.variables
        ring = fmpz_mpoly_ctx.get((*names, *fresh_names(names, ["k"])), self.field.ctx.ordering())
        rest = self.a.denominator // factor

        k = ring.gens()[-1]
        top, moved, bottom, own = (
            p.project_to_context(ring) for p in (self.a.numerator, factor.derivative(self.place), rest, factor)
        )
        resultant = own.resultant(top - k * moved * bottom, self.field.variables[self.place])
        found = []
        for piece, _ in resultant.factor()[1]:
            terms = {tuple(map(int, key)): int(c) for key, c in piece.terms()}
            if all(not any(key[:-1]) and key[-1] <= 1 for key in terms):
                slope_k, constant = (sum(c for key, c in terms.items() if key[-1] == e) for e in (1, 0))
                if slope_k and constant % slope_k == 0 and -constant // slope_k > 0:
                    found.append(-constant // slope_k)
        return found

    def _relation(self, columns: list[RationalFunction], order: int) -> list[RationalFunction] | None:
        """A vector v free of t with Σ v_j columns_j = 0 and v_order not zero."""
        common = common_denominator(self.field, columns)
        search: Dependence[int, int, RationalFunction] = Dependence(self.field.one, shortest)
        relation = None
        # the wanted column comes last, so that it is expressed by the others
        for j in (*range(order + 1, len(columns)), *range(order + 1)):
            parts = self._parts(columns[j].numerator * (common // columns[j].denominator))
            vector = {power: self.field(part) for power, part in parts.items()}
            relation = search.add(j, vector)
        return None if relation is None else [relation.get(j, self.field.zero) for j in range(len(columns))]
