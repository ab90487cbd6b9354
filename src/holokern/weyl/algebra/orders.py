"""Orders on the monomials x^α ∂^β: an order is a sort key, so the leading monomial is a ``max``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holokern.errors import BadInput, UnknownName
from holokern.weyl.algebra.weyl_algebra import Monomial, WeylAlgebra, split_names

_MAX_WEIGHT = 1_000_000  # rows of an order are packed into 48 bits, exponents into 15


@dataclass(frozen=True, slots=True)
class Order:
    """A multiplicative total order on the monomials of a Weyl algebra.

    Monomials are compared by the rows of an integer matrix, one after the other; ties are broken lexicographically,
    or reverse lexicographically when ``reverse`` is set.  An order is admissible when x_i ∂_i > 1 for every i; it is a
    well order when every generator is > 1 as well.  Admissible orders that are not well orders, such as those of the
    weights (-w, w), are handled in the homogenised Weyl algebra [SST2000, Sect. 1.2].

    Parameters
    ----------
    name : str
        The name of the order in messages.
    size : int
        2n, the number of exponents.
    rows : tuple of tuples of int
        The matrix; each row has ``size`` entries.
    reverse : bool
        Break ties by the reverse lexicographic order.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> order = grevlex(weyl_algebra("x y"))
    >>> max([(2, 0, 0, 0), (0, 1, 1, 1)], key=order.key)
    (0, 1, 1, 1)
    """

    name: str
    size: int
    rows: tuple[tuple[int, ...], ...]
    reverse: bool

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != self.size or not all(isinstance(w, int) and abs(w) <= _MAX_WEIGHT for w in row):
                raise BadInput(f"expected {self.size} integer weights of size at most {_MAX_WEIGHT}, got {row}")
        n, one = self.size // 2, self.key((0,) * self.size)
        for i in range(n):
            product = tuple(int(j in (i, n + i)) for j in range(self.size))
            if self.key(product) <= one:
                raise BadInput(f"the order {self.name} puts x∂ below 1; expected weights (u, v) with u + v >= 0")

    def key(self, monomial: Monomial) -> tuple[int, ...]:
        """The sort key of a monomial."""
        head = [sum(w * e for w, e in zip(row, monomial, strict=True)) for row in self.rows]
        tail = [-e for e in reversed(monomial)] if self.reverse else monomial
        return (*head, *tail)

    @property
    def is_well_order(self) -> bool:
        """Whether every generator is larger than 1, so that division ends."""
        one = self.key((0,) * self.size)
        gens = (tuple(int(j == i) for j in range(self.size)) for i in range(self.size))
        return all(self.key(gen) > one for gen in gens)


def lex(algebra: WeylAlgebra, names: str | Iterable[str] | None = None) -> Order:
    """The lexicographic order, with the generators sorted as in ``names`` (largest first; x before ∂ by default).

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> terms = D("x + dx^2").terms
    >>> max(terms, key=lex(D).key), max(terms, key=lex(D, "dx x").key)
    ((1, 0), (0, 2))
    """
    size = 2 * algebra.dimension
    if names is None:
        return Order("lex", size, (), False)
    rows = tuple(tuple(int(j == place) for j in range(size)) for place in _places(algebra, names))
    return Order("lex", size, rows, False)


def grevlex(algebra: WeylAlgebra) -> Order:
    """The graded reverse lexicographic order; the degree counts x and ∂ alike (Bernstein filtration)."""
    size = 2 * algebra.dimension
    return Order("grevlex", size, ((1,) * size,), True)


def elimination(algebra: WeylAlgebra, names: str | Iterable[str]) -> Order:
    """The block order in which each generator in ``names`` is larger than everything in the other generators."""
    size = 2 * algebra.dimension
    places = set(_places(algebra, names))
    first = tuple(int(j in places) for j in range(size))
    return Order("elimination", size, (first, tuple(1 - e for e in first)), True)


def weight_order(algebra: WeylAlgebra, weights: Sequence[int], tie: Order | None = None) -> Order:
    """Compare by the 2n ``weights`` (u, v), u + v >= 0, then by ``tie`` (grevlex by default).

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> weight_order(D, (-1, 1)).is_well_order, weight_order(D, (0, 1)).is_well_order
    (False, True)
    """
    breaker = grevlex(algebra) if tie is None else tie
    weights = tuple(int(w) if isinstance(w, int) else w for w in weights)
    size = 2 * algebra.dimension
    if len(weights) != size:
        raise BadInput(f"expected {size} weights (u, v) for {' '.join(algebra.variables)}, got {weights}")
    if breaker.size != size:
        raise BadInput(f"the tie breaker {breaker.name} is an order on {breaker.size} generators, expected {size}")
    return Order(f"weight {weights}", size, (weights, *breaker.rows), breaker.reverse)


def order_filtration(algebra: WeylAlgebra) -> Order:
    """The order of the weights (0, 1): first the order of the operator, then grevlex."""
    n = algebra.dimension
    return weight_order(algebra, (0,) * n + (1,) * n)


def derivations_first(algebra: WeylAlgebra) -> Order:
    """Compare the derivations by grevlex, then the variables by grevlex: the order behind bases over Q(x)."""
    n = algebra.dimension
    last_first = [tuple(-int(j == i) for j in range(2 * n)) for i in reversed(range(n, 2 * n))]
    rows = ((0,) * n + (1,) * n, *last_first, (1,) * n + (0,) * n)
    return Order("derivations first", 2 * n, rows, True)


def as_order(algebra: WeylAlgebra, order: Order | str | Sequence[int] | None) -> Order:
    """Read an order given as an :class:`Order`, a name or 2n weights.

    The names are ``"grevlex"`` (also called ``"degrevlex"``), ``"lex"`` and ``"order"``.
    """
    if order is None:
        return grevlex(algebra)
    if isinstance(order, Order):
        if order.size != 2 * algebra.dimension:
            raise BadInput(f"the order {order.name} compares {order.size} exponents, expected {2 * algebra.dimension}")
        return order
    if isinstance(order, str):
        named = {"grevlex": grevlex, "degrevlex": grevlex, "lex": lex, "order": order_filtration}
        if order not in named:
            raise UnknownName(f"unknown order {order!r}; expected one of {', '.join(named)}, weights or an Order")
        return named[order](algebra)
    return weight_order(algebra, tuple(order))


def _places(algebra: WeylAlgebra, names: str | Iterable[str]) -> list[int]:
    known = (*algebra.variables, *algebra.derivations)
    wanted = split_names(names)
    for name in wanted:
        if name not in known:
            raise UnknownName(f"unknown generator {name!r}; this Weyl algebra has {' '.join(known)}")
    if len(set(wanted)) < len(wanted):
        raise BadInput(f"expected distinct generators, got {' '.join(wanted)}")
    return [known.index(name) for name in wanted]
