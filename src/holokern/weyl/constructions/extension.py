"""Algebraic functions: Q(x)[α]/(m), with derivatives."""

from __future__ import annotations

from dataclasses import dataclass

from holokern.errors import BadInput
from holokern.weyl.rational.fractions import FunctionField, RationalFunction, function_field


@dataclass(frozen=True)
class Extension:
    """The ring of polynomials in α modulo a polynomial; ``tail`` has α^d = Σ tail_i α^i.

    Examples
    --------
    >>> K = Extension.make(function_field("x"), "r", "r^2 - x")
    >>> (K("r") * K("r")).coordinates, K("1/r").coordinates, K("r").derivative("x").coordinates
    ((x, 0), (0, 1/x), (0, 1/(2*x)))
    """

    field: FunctionField
    name: str
    tail: tuple[RationalFunction, ...]

    @classmethod
    def make(cls, field: FunctionField, name: str, equation: str) -> Extension:
        """The extension by an algebraic function of the given name and equation; the field itself without a name."""
        if not name:
            return cls(field, "", (field.zero,))
        if name in field.variables:
            raise BadInput(f"the algebraic function {name!r} has the name of a variable")
        larger = function_field((*field.variables, name))
        polynomial = larger(equation)
        rows: dict[int, dict[tuple[int, ...], int]] = {}
        for key, c in polynomial.numerator.terms():
            rows.setdefault(int(key[-1]), {})[tuple(map(int, key[:-1]))] = int(c)
        degree = max(rows, default=0)
        if degree < 1:
            raise BadInput(f"expected a polynomial equation for {name!r}, got {equation!r}")
        lead = field(field.ctx.from_dict(rows[degree]))
        coefficients = [field(field.ctx.from_dict(rows.get(i, {}))) for i in range(degree)]
        return cls(field, name, tuple(-c / lead for c in coefficients))

    @property
    def degree(self) -> int:
        """The degree of α."""
        return len(self.tail)

    def power(self, k: int) -> Element:
        """α^k for k below the degree."""
        zero, one = self.field.zero, self.field.one
        return Element(self, tuple(one if i == k else zero for i in range(self.degree)))

    def __call__(self, value: object) -> Element:
        """A rational function of the variables and α, or a text of one, as an element."""
        if isinstance(value, str) and self.name:
            larger = function_field((*self.field.variables, self.name))
            images: dict[str, Element] = {v: self(self.field(v)) for v in self.field.variables}
            images[self.name] = self.power(1) if self.degree > 1 else Element(self, self.tail)
            found = larger(value).evaluate(images)
            return found if isinstance(found, Element) else self(self.field(found))
        return Element(self, (self.field(value), *[self.field.zero] * (self.degree - 1)))


@dataclass(frozen=True)
class Element:
    """Σ c_i α^i, by its coordinates c_i."""

    ring: Extension
    coordinates: tuple[RationalFunction, ...]

    def _read(self, other: object) -> Element:
        return other if isinstance(other, Element) else self.ring(self.ring.field(other))

    def __add__(self, other: object) -> Element:
        right = self._read(other)
        return Element(self.ring, tuple(a + b for a, b in zip(self.coordinates, right.coordinates, strict=True)))

    __radd__ = __add__

    def __mul__(self, other: object) -> Element:
        right = self._read(other)
        total = [self.ring.field.zero] * self.ring.degree
        shifted = right
        for k, c in enumerate(self.coordinates):
            if k:
                shifted = shifted._raised()
            if c:
                total = [a + c * b for a, b in zip(total, shifted.coordinates, strict=True)]
        return Element(self.ring, tuple(total))

    __rmul__ = __mul__

    def _raised(self) -> Element:
        """The product with α."""
        top = self.coordinates[-1]
        lower = (self.ring.field.zero, *self.coordinates[:-1])
        return Element(self.ring, tuple(a + top * t for a, t in zip(lower, self.ring.tail, strict=True)))

    def __truediv__(self, other: object) -> Element:
        return self * self._read(other).inverse()

    def __rtruediv__(self, other: object) -> Element:
        return self._read(other) * self.inverse()

    def inverse(self) -> Element:
        """1/self, by linear algebra; ZeroDivisionError for zero divisors."""
        from holokern.weyl.rational.matrices import inverse_matrix

        columns = [self]
        while len(columns) < self.ring.degree:
            columns.append(columns[-1]._raised())
        try:
            inverse = inverse_matrix(tuple(element.coordinates for element in columns))
        except BadInput:
            field = f"Q({', '.join(self.ring.field.variables)})[{self.ring.name}]"
            raise ZeroDivisionError(f"division by zero in {field}") from None
        return Element(self.ring, inverse[0])

    def derivative(self, variable: str) -> Element:
        """The derivative in a variable; α' follows from its equation."""
        ring = self.ring
        result = Element(ring, tuple(c.derivative(variable) for c in self.coordinates))
        inner = [k * c for k, c in enumerate(self.coordinates)][1:]
        if not any(inner):
            return result
        # m(α) = α^d - Σ t_i α^i = 0 gives α' = (Σ t_i' α^i)/(d α^(d-1) - Σ i t_i α^(i-1))
        top = Element(ring, tuple(t.derivative(variable) for t in ring.tail))
        slope = [-(i * t) for i, t in enumerate(ring.tail)][1:]
        bottom = Element(ring, (*slope, ring.field(ring.degree)))
        return result + Element(ring, (*inner, ring.field.zero)) * (top / bottom)
