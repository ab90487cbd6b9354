"""Left ideals of the first Weyl algebra D₁ = Q⟨u, ∂⟩: Hermite-like bases, torsion and the Weyl closure.

By order in ∂ a left ideal I is a free Q[u]-module: with g_k a generator of the leading coefficients of the elements of
order k, any G_k of order k with leading coefficient g_k give a basis G_m, G_{m+1}, …, where g_{k+1} divides g_k and
G_{k+1} = ∂G_k may be taken once g_k is stable.  All of this file is linear algebra in that basis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from flint import fmpq, fmpq_poly

from holokern.errors import BadOperator
from holokern.numeric import bounded, charge, natural_roots, nullspace
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra
from holokern.weyl.rational.polynomials import multiplicity

# units of `holokern.numeric.charge` of a product of two coefficients of polynomials
_PRODUCT_WORK = 0.01

Row = list[fmpq_poly]
"""Coefficients a_0, …, a_k in Q[u] (``fmpq_poly``) of the operator Σ a_i ∂^i; the last one is not zero."""


class UnivariateIdeal:
    """A left ideal of a Weyl algebra in one variable, with its reduced basis by order.

    ``algebra``: in one variable.
    ``operators``: generators; none (or zeros) give the ideal (0).

    >>> from holokern.weyl import weyl_algebra
    >>> D1 = weyl_algebra("u", "D")
    >>> ideal = UnivariateIdeal(D1, [D1("u^2*D^2 - 2*u*D + 2"), D1("D^3")])
    >>> ideal.basis
    (u^2*D^2 - 2*u*D + 2, D^3)
    >>> D1("u*D^3") in ideal, D1("u*D - 1") in ideal
    (True, False)
    """

    __slots__ = ("_rows", "algebra")

    def __init__(self, algebra: WeylAlgebra, operators: Iterable[Operator] = ()) -> None:
        if algebra.dimension != 1:
            raise BadOperator(f"expected a Weyl algebra in one variable, got {' '.join(algebra.variables)}")
        self.algebra = algebra
        self._rows: dict[int, Row] = {}
        self._insert([algebra(operator).polynomials() for operator in operators])

    def extended(self, operators: Iterable[Operator]) -> UnivariateIdeal:
        """The ideal with more generators."""
        larger = UnivariateIdeal(self.algebra)
        larger._rows = {k: list(row) for k, row in self._rows.items()}
        larger._insert([self.algebra(operator).polynomials() for operator in operators])
        return larger

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def is_zero(self) -> bool:
        """Whether this is the ideal (0)."""
        return not self._rows

    @property
    def rank(self) -> int | None:
        """The least order of a non-zero element, dim over Q(u) of Q(u)⟨∂⟩/I; None for the ideal (0)."""
        return min(self._rows, default=None)

    @property
    def leading_coefficient(self) -> fmpq_poly:
        """The leading coefficient (``fmpq_poly``, monic) of the elements of least order; its roots hold all torsion."""
        if not self._rows:
            raise BadOperator("the ideal (0) has no leading coefficient")
        return self._rows[min(self._rows)][-1]

    @property
    def basis(self) -> tuple[Operator, ...]:
        """The reduced Gröbner basis for the order that compares ∂-exponents first, primitive, by increasing order."""
        chosen: list[Row] = []
        for k in sorted(self._rows):
            row = self._rows[k]
            if not chosen or row[-1].degree() < chosen[-1][-1].degree():
                chosen.append(row)
        return tuple(self._operator(row).primitive() for row in chosen)

    @property
    def stable_order(self) -> int:
        """The order from which on each row of :meth:`rows` is the derivative of the one before."""
        return max(self._rows, default=0)

    def rows(self) -> Iterator[Row]:
        """The basis G_m, G_{m+1}, … of the ideal as a module over Q[u], without end; nothing for the ideal (0)."""
        for k in sorted(self._rows):
            row = self._rows[k]
            yield list(row)
        while self._rows:
            row = _derived(row)
            yield list(row)

    def __contains__(self, operator: object) -> bool:
        return not self._reduce(self.algebra(operator).polynomials())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnivariateIdeal):
            return NotImplemented
        return self.algebra == other.algebra and self.basis == other.basis

    def __hash__(self) -> int:
        return hash((self.algebra, self.basis))

    def __repr__(self) -> str:
        return f"UnivariateIdeal({', '.join(map(str, self.basis)) or 0})"

    def reduce(self, operator: Operator) -> Operator:
        """The normal form modulo the ideal."""
        return self._operator(self._reduce(self.algebra(operator).polynomials()))

    def _operator(self, row: Row) -> Operator:
        terms: dict[Monomial, fmpq] = {(i, k): c for k, a in enumerate(row) for i, c in enumerate(a.coeffs()) if c != 0}
        return Operator(self.algebra, terms)

    # -- the basis by order ------------------------------------------------------------------------------------------

    def _row(self, k: int) -> Row:
        """G_k; above the stored rows it is a derivative of the last one."""
        top = max(self._rows)
        if k <= top:
            return self._rows[k]
        row = self._rows[top]
        for _ in range(k - top):
            row = _derived(row)
        return row

    def _reduce(self, row: Row) -> Row:
        row = list(row)
        if not self._rows:
            return row
        for k in range(len(row) - 1, min(self._rows) - 1, -1):
            # while rows are inserted some may still be missing
            if k >= len(row) or not row[k] or (k not in self._rows and k < max(self._rows)):
                continue
            divisor = self._row(k)
            quotient = row[k] // divisor[-1]
            if quotient:
                row = _minus(row, quotient, divisor)
        return row

    def _insert(self, pending: list[Row]) -> None:
        """Euclid's algorithm order by order, until the module is closed under ∂."""
        # low orders first: then a basis is taken as it is, and Euclid has little to do
        pending = sorted((row for row in pending if row), key=len, reverse=True)
        while pending:
            row = self._reduce(pending.pop())
            if not row:
                continue
            k = len(row) - 1
            top = max(self._rows, default=k)
            for higher in range(top + 1, k + 1):
                self._rows[higher] = self._row(higher)
            old = self._rows.get(k)
            if old is None:
                new = row
            else:
                _, s, t = row[-1].xgcd(old[-1])
                new = _minus(_scaled(s, row), -t, old)
                pending += [_minus(part, part[-1] // new[-1], new) for part in (row, old)]
            self._rows[k] = [a / new[-1].leading_coefficient() for a in new]
            if k < top:
                pending.append(_derived(self._rows[k]))
        self._tidy()

    def _tidy(self) -> None:
        """Drop rows that are derivatives of lower ones in effect, and reduce each row by the lower ones."""
        orders = sorted(self._rows)
        while len(orders) > 1 and self._rows[orders[-1]][-1].degree() == self._rows[orders[-2]][-1].degree():
            del self._rows[orders.pop()]
        for k in orders:
            row = self._rows.pop(k)
            lower = self._reduce(_trimmed(row[:-1]))
            self._rows[k] = [*lower, *[fmpq_poly()] * (len(row) - 1 - len(lower)), row[-1]]

    # -- torsion -----------------------------------------------------------------------------------------------------

    def torsion(self, q: fmpq_poly) -> list[Operator]:
        """Representatives of a Q-basis of {Q : qQ ∈ I} modulo I, for an irreducible polynomial q of Q[u].

        A combination Σ c_k G_k that vanishes modulo q gives such a Q, and only finitely many k take part: from the
        stable order on, the term of top order of ∂^j G modulo q is the indicial polynomial of q at j, so j is bounded
        by its integer roots [Tsai2000, §2].

        >>> from holokern.weyl import weyl_algebra
        >>> D1 = weyl_algebra("u", "D")
        >>> UnivariateIdeal(D1, [D1("u*D - 1")]).torsion(fmpq_poly([0, 1]))
        [D^2]
        """
        if not self._rows:
            return []
        low = min(self._rows)
        rows = list(islice(self.rows(), max(self._torsion_bound(q) + 1 - low, 0)))
        d = q.degree()
        width = max((len(row) for row in rows), default=0)
        matrix: list[list[fmpq]] = []
        powers = [fmpq_poly([0] * m + [1]) for m in range(d)]
        for row in rows:
            for power in powers:
                flat = [fmpq(0)] * (width * d)
                for i, a in enumerate(row):
                    for m, c in enumerate((power * a % q).coeffs()):
                        flat[i * d + m] = c
                matrix.append(flat)
        found: list[Row] = []
        for vector in nullspace(matrix):
            total: Row = []
            for k, row in enumerate(rows):
                factor = fmpq_poly(vector[k * d : (k + 1) * d])
                if factor:
                    total = _minus(total, -factor, row)
            quotient = self._reduce([a // q for a in total])
            if quotient:
                found.append(quotient)
        return [self._operator(row) for row in found]

    def _torsion_bound(self, q: fmpq_poly) -> int:
        top = max(self._rows)
        row = self._rows[top]
        if row[-1] % q:
            return top - 1
        powers = {i: multiplicity(a, q) for i, a in enumerate(row) if a}
        s = max(i - m for i, m in powers.items())
        indicial = [fmpq_poly()] * q.degree()
        for i in (i for i, m in powers.items() if m == i - s):
            a, binomial = row[i], fmpq_poly([1])
            for m in range(i - s):
                a = a.derivative()
                binomial = binomial * fmpq_poly([-m, 1]) / (m + 1)
            for m, c in enumerate((a % q).coeffs()):
                indicial[m] = indicial[m] + c * binomial
        last = max(natural_roots(indicial), default=-1)
        return top + max(last, top - 1 - s)

    def closure(self) -> UnivariateIdeal:
        """The Weyl closure Q(u)⟨∂⟩·I ∩ D₁, see :func:`weyl_closure`."""
        return self.saturated(lambda _, candidates: candidates)

    def saturated(self, accept: Callable[[fmpq_poly, list[Operator]], list[Operator]]) -> UnivariateIdeal:
        """Enlarge by torsion elements until ``accept(q, candidates)`` takes no more of them, at each irreducible q.

        The result I' ⊇ I has no torsion element that ``accept`` would take; if ``accept`` takes exactly the elements of
        an ideal J with I ⊆ J ⊆ closure of I, then I' = J.
        """
        ideal = self
        if ideal.is_zero:
            return ideal
        for q in factors(self.leading_coefficient):
            while True:
                candidates = ideal.torsion(q)
                taken = accept(q, candidates) if candidates else []
                if not taken:
                    break
                ideal = ideal.extended(taken)
        return ideal


@bounded
def weyl_closure(operators: Iterable[Operator]) -> tuple[Operator, ...]:
    """All operators of D₁ that lie in the ideal that ``operators`` generate over Q(u): {Q : fQ ∈ I for some f ≠ 0}.

    For a single ODE these are all operators that annihilate all of its local solutions at an ordinary point [Tsai2000].

    Parameters
    ----------
    operators : iterable of Operator
        At least one, all in one algebra with one variable.

    Returns
    -------
    tuple of Operator
        The reduced Gröbner basis for the order by ∂.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D1 = weyl_algebra("u", "D")
    >>> weyl_closure([D1("u^2*D^2 - 2*u*(1 - u^2)*D + 2*(1 - u^2)")])
    (u^2*D^2 + 2*u^3*D - 2*u*D - 2*u^2 + 2, D^3 + 4*u*D^2 + 4*u^2*D - 4*u)
    """
    generators = tuple(operators)
    if not generators:
        raise BadOperator("expected at least one operator to close; the closure of the ideal (0) is (0)")
    return UnivariateIdeal(generators[0].algebra, generators).closure().basis


# -- rows of polynomials ---------------------------------------------------------------------------------------------


def _trimmed(row: Row) -> Row:
    while row and not row[-1]:
        row.pop()
    return row


def _minus(row: Row, factor: fmpq_poly, other: Row) -> Row:
    """``row - factor * other``."""
    charge(sum(1 + _PRODUCT_WORK * (1 + factor.degree()) * (1 + a.degree()) for a in other))
    length = max(len(row), len(other))
    result = row + [fmpq_poly()] * (length - len(row))
    for i, a in enumerate(other):
        result[i] = result[i] - factor * a
    return _trimmed(result)


def _scaled(factor: fmpq_poly, row: Row) -> Row:
    return _trimmed([factor * a for a in row])


def _derived(row: Row) -> Row:
    """∂·row."""
    result = [a.derivative() for a in row] + [fmpq_poly()]
    for i, a in enumerate(row):
        result[i + 1] = result[i + 1] + a
    return result


def factors(a: fmpq_poly) -> list[fmpq_poly]:
    """The irreducible factors of a polynomial over Q, monic, each once."""
    return [fmpq_poly(p) / p.leading_coefficient() for p, _ in a.numer().factor()[1]]
