"""Restriction of a Pfaffian system to a curve: dF/dt = M(t) F, and the scalar ODE of one component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holokern.errors import BadInput
from holokern.pfaffian.ideal import matrices_along, read_images
from holokern.pfaffian.system import BasisElement, PfaffianSystem
from holokern.syntax import names_in, parse
from holokern.weyl import Entry, FunctionField, Operator, RationalFunction, function_field, rational_weyl_algebra

Row = list[RationalFunction]


@dataclass(frozen=True)
class CurveSystem:
    """The system dF/dt = M(t) F along a rational curve; made by :func:`restrict`.

    Attributes
    ----------
    parameter : str
        The name of t.
    curve : tuple of RationalFunction
        The coordinates as functions of t, in the order of ``variables``.
    matrix : tuple of tuples of RationalFunction
        M(t) over Q(t).
    variables, basis : tuple
        Those of the system that was restricted.
    """

    parameter: str
    curve: tuple[RationalFunction, ...]
    matrix: tuple[tuple[RationalFunction, ...], ...]
    variables: tuple[str, ...]
    basis: tuple[BasisElement, ...]

    @property
    def rank(self) -> int:
        """The size of M."""
        return len(self.matrix)

    @property
    def field(self) -> FunctionField:
        """The field Q(t)."""
        return function_field(self.parameter)

    def entry(self, row: Sequence[RationalFunction]) -> Entry:
        """The function r·F of a row r over Q(t)."""
        algebra = rational_weyl_algebra(self.parameter, "d" + self.parameter)
        return Entry(algebra, (self.matrix,), row)

    def scalar_ode(self, component: int | Sequence[object] = 0) -> Operator:
        """The ODE of least order of one component; see :func:`scalar_ode`."""
        return scalar_ode(self, component)


def restrict(
    system: PfaffianSystem, curve: Mapping[str, object] | Sequence[object], parameter: str | None = None
) -> CurveSystem:
    """Restrict a Pfaffian system to a rational curve.

    Parameters
    ----------
    system : PfaffianSystem
        Its ``variables``, ``matrices`` and ``basis`` are read.
    curve : mapping or sequence
        Each variable of the system as a rational function of the parameter: a text, a rational number or an element
        of Q(t).  For example ``{"x11": -1, "x12": "t", "x22": -1}``.
    parameter : str, optional
        The name of the parameter; when not given, the one name that the functions use, or "t".

    Raises
    ------
    SingularPath
        When the whole curve lies in the singular locus.
    """
    name, variables = _parameter(curve, parameter), system.variables
    if not isinstance(curve, Mapping):
        if len(curve) != len(variables):
            raise BadInput(f"expected {len(variables)} coordinates of a curve, got {len(curve)}")
        curve = dict(zip(variables, curve, strict=True))
    images = read_images(variables, curve, name)
    return CurveSystem(
        name, tuple(images.values()), matrices_along(system.matrices, images)[0], variables, tuple(system.basis)
    )


def scalar_ode(system: CurveSystem, component: int | Sequence[object] = 0) -> Operator:
    """The ODE of least order that a component y of F satisfies for every solution F.

    With y⁽ᵏ⁾ = L_k F, L_0 the unit vector and L_{k+1} = L_k' + L_k M, the first linear dependence of L_0, L_1, … over
    Q(t) is the ODE.  Its order is below the rank when the component is not a cyclic vector.

    Parameters
    ----------
    system : CurveSystem
    component : int or sequence
        The place of the component, or a row of coefficients in Q(t) for a combination of components.

    Returns
    -------
    Operator
        Of ``weyl_algebra(t, "d" + t)``, with coprime integer coefficients.

    Examples
    --------
    >>> from holokern.weyl import function_field
    >>> K = function_field("t")
    >>> rotation = ((K(0), K(1)), (K(-1), K(0)))
    >>> scalar_ode(CurveSystem("t", (), rotation, (), ()))
    dt^2 + 1
    """
    row = _start(system.field, system.rank, component)
    (monic,) = system.entry(row).annihilator().generators
    return monic.clear_denominators().primitive()


def _start(field: FunctionField, rank: int, component: int | Sequence[object]) -> Row:
    if isinstance(component, int):
        if not 0 <= component < rank:
            raise BadInput(f"expected a component between 0 and {rank - 1}, got {component}")
        return [field.one if k == component else field.zero for k in range(rank)]
    row = [field(entry) for entry in component]
    if len(row) != rank:
        raise BadInput(f"expected a row of {rank} coefficients, got {len(row)}")
    return row


def _parameter(curve: Mapping[str, object] | Sequence[object], parameter: str | None) -> str:
    values = list(curve.values()) if isinstance(curve, Mapping) else list(curve)
    fields = {value.field.variables for value in values if isinstance(value, RationalFunction)}
    fields |= {(name,) for value in values if isinstance(value, str) for name in names_in(parse(value, "curve"))}
    if len(fields) > 1 or any(len(names) != 1 for names in fields):
        raise BadInput("expected the coordinates of a curve in one field Q(t)")
    found = fields.pop()[0] if fields else None
    if parameter and found and parameter != found:
        raise BadInput(f"expected functions of {parameter!r}, got functions of {found!r}")
    return parameter or found or "t"
