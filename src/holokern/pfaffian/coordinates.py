"""The two coordinate systems, Σ and the paper's x = -½Σ⁻¹, and elements of a basis in either.

In Σ the vector F has entries E[∂_u^i ∂_v^j σ1(u)σ2(v)]; Price's theorem gives ∂/∂Σ11 = a²/2, ∂/∂Σ12 = ab, ∂/∂Σ22 = b²/2
with a = ∂_u and b = ∂_v [Price1958].  In x it has the unnormalised moments ∫∫ u^i v^j σ1(u)σ2(v) e^Q du dv with
Q = x11 u² + 2 x12 uv + x22 v², and ∂/∂x11 = u², ∂/∂x12 = 2uv, ∂/∂x22 = v².
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from holokern.errors import BadInput, TooLarge, UnknownName
from holokern.weyl import FunctionField, RationalFunction, function_field, monomial_text

#: Exponents (i, j) of a^i b^j or u^i v^j, or (p, q, r) of ∂11^p ∂12^q ∂22^r.
Element = tuple[int, ...]
Matrix = tuple[tuple[RationalFunction, ...], ...]

_MAX_EXPONENT = 40  # a larger exponent is a slip: the derivation looks at degrees up to 60, and d12^40 has degree 80


@dataclass(frozen=True)
class Coordinates:
    """One of the two coordinate systems."""

    name: str  # "sigma" or "x"
    variables: tuple[str, str, str]  # names of the three coordinates
    # what the two letters of a monomial are called: a and b (derivatives), or u and v (moments)
    letters: tuple[str, str]
    weights: tuple[Fraction, Fraction, Fraction]  # the derivations are these multiples of a², ab, b² (of u², uv, v²)

    @property
    def field(self) -> FunctionField:
        """The field that the matrices live in."""
        return function_field(self.variables)

    def monomial(self, element: Element) -> tuple[Fraction, tuple[int, int]]:
        """A basis element as factor and monomial.

        >>> COORDINATES["x"].monomial((0, 2, 0))
        (Fraction(4, 1), (2, 2))
        """
        if len(element) == 2:
            return Fraction(1), (element[0], element[1])
        p, q, r = element
        factor = self.weights[0] ** p * self.weights[1] ** q * self.weights[2] ** r
        return factor, (2 * p + q, q + 2 * r)

    def text(self, element: Element) -> str:
        """A basis element as text that :func:`read_basis` reads.

        >>> COORDINATES["sigma"].text((2, 1)), COORDINATES["x"].text((0, 1, 0))
        ('a^2*b', 'd12')
        """
        names: Sequence[str] = self.letters if len(element) == 2 else ("d11", "d12", "d22")
        return monomial_text(names, element) or "1"


COORDINATES: Mapping[str, Coordinates] = {
    "sigma": Coordinates("sigma", ("S11", "S12", "S22"), ("a", "b"), (Fraction(1, 2), Fraction(1), Fraction(1, 2))),
    "x": Coordinates("x", ("x11", "x12", "x22"), ("u", "v"), (Fraction(1), Fraction(2), Fraction(1))),
}


def coordinates_named(name: object) -> Coordinates:
    """The coordinate system called ``name``: "sigma" (also "Sigma", "Σ") or "x".

    >>> coordinates_named("Σ").variables
    ('S11', 'S12', 'S22')
    """
    if isinstance(name, Coordinates):
        return name
    known = {"sigma": "sigma", "Sigma": "sigma", "Σ": "sigma", "x": "x"}
    if not isinstance(name, str) or name not in known:
        raise UnknownName(f"unknown coordinates {name!r}; choose 'sigma' (also 'Σ') or 'x'")
    return COORDINATES[known[name]]


def read_basis(given: object, coordinates: Coordinates) -> tuple[Element, ...]:
    """Read a basis: a text such as "1, d12", or a sequence of texts, of 1, and of tuples of exponents.

    >>> read_basis("1, d12, d11*d22", COORDINATES["x"])
    ((0, 0, 0), (0, 1, 0), (1, 0, 1))
    >>> read_basis([1, "a*b", (2, 2)], COORDINATES["sigma"])
    ((0, 0), (1, 1), (2, 2))
    """
    if isinstance(given, str):
        items: list[object] = [part for part in given.strip().strip("()[]").split(",") if part.strip()]
    elif isinstance(given, Iterable):
        items = list(given)
    else:
        raise BadInput(f"expected a basis such as '1, d12' or [(0, 0), (1, 1)], got {given!r}")
    elements = [_read_element(item, coordinates) for item in items]
    if not elements:
        raise BadInput("expected at least one element in the basis, got none")
    if {len(e) for e in elements if e is not None} >= {2, 3}:
        raise BadInput(
            f"a basis mixes the letters {', '.join(coordinates.letters)} with derivations d11, d12, d22; use one kind"
        )
    length = next((len(e) for e in elements if e is not None), 2 if coordinates.name == "sigma" else 3)
    basis = tuple((0,) * length if e is None else e for e in elements)
    places = [coordinates.monomial(e)[1] for e in basis]
    if len(set(places)) < len(places):
        raise BadInput(f"two elements of the basis {given!r} are multiples of each other; give independent ones")
    odd = [e for e, m in zip(basis, places, strict=True) if sum(m) % 2]
    if odd:
        raise BadInput(
            f"{coordinates.text(odd[0])} has odd degree; only even degrees are derivatives of the expectation"
        )
    return basis


def _read_element(item: object, coordinates: Coordinates) -> Element | None:
    """Exponents, or None for 1, which is of either kind."""
    if isinstance(item, str):
        found = _exponents(item, coordinates)
        letters, derivations = found[:2], found[2:]
        if any(letters) and any(derivations):
            raise BadInput(f"the basis element {item!r} mixes letters and derivations; use one kind")
        element = letters if any(letters) else derivations
    elif isinstance(item, int) and not isinstance(item, bool) and item == 1:
        return None
    elif isinstance(item, Sequence) and len(item) in (2, 3) and all(type(e) is int and e >= 0 for e in item):
        element = tuple(item)
        if max(element) > _MAX_EXPONENT:
            raise TooLarge(f"an exponent of the basis element {item!r} is above {_MAX_EXPONENT}")
        return element
    else:
        raise BadInput(f"expected a basis element such as 1, 'd12' or a tuple of exponents, got {item!r}")
    return element if any(element) else None


def _exponents(text: str, coordinates: Coordinates) -> Element:
    """The exponents of the letters and of the derivations in a text."""
    names = (*coordinates.letters, "d11", "d12", "d22")
    try:
        product = function_field(names)(text)
        ((key, c),) = product.numerator.terms()
    except (BadInput, ValueError):
        raise _unreadable(text, names) from None
    if c != 1 or not product.denominator.is_one() or max(key) > _MAX_EXPONENT:
        raise _unreadable(text, names)
    return tuple(map(int, key))


def _unreadable(text: str, names: Sequence[str]) -> BadInput:
    return BadInput(f"cannot read the basis element {text!r}; expected a product of powers of {', '.join(names)}")
