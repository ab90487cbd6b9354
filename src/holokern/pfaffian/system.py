"""The Pfaffian system dF = PF of a holonomic ideal or of a dual activation, in any number of coordinates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holokern.errors import BadInput, UnknownName
from holokern.pfaffian.coordinates import COORDINATES, Coordinates, Element, coordinates_named, read_basis
from holokern.pfaffian.evaluation import CompiledMatrices, ball_matrices, factored_denominator, nonzero_entries
from holokern.weyl import (
    Entry,
    Operator,
    RationalOperator,
    RationalWeylAlgebra,
    gauge_transform,
    inverse_matrix,
    multiply_matrices,
    rational_weyl_algebra,
    read_matrix,
)

if TYPE_CHECKING:
    from flint import arb, arb_mat

    from holokern.activation import ExactReal
    from holokern.pfaffian.evaluation import Entries
    from holokern.pfaffian.scalar.scalar_ode import CurveSystem
    from holokern.weyl import FunctionField, Matrix, RationalFunction

Number = TypeVar("Number", float, "arb")

BasisElement: TypeAlias = Element | Operator | RationalOperator | str
"""Exponents for a dual activation, an operator for an ideal, a name for given matrices."""


@dataclass(frozen=True)
class PfaffianSystem:
    """The integrable system ∂F/∂y = P_y F for each coordinate y; make one with :func:`holokern.pfaffian`.

    Attributes
    ----------
    coordinates : str
        "sigma" (F has entries E[∂_u^i ∂_v^j σ1(u)σ2(v)]) or "x" (unnormalised moments, the paper's convention) for a
        dual activation; "own" for an ideal or for given matrices, whose variables are the coordinates.
    basis : tuple
        The entries of F.  Of a dual activation: a pair (i, j) is ∂_u^i ∂_v^j under the expectation (in x: u^i v^j under
        the integral); a triple (p, q, r) is the derivative ∂11^p ∂12^q ∂22^r of the expectation.  Of an ideal: the
        operators that make F of a solution.  Of given matrices: names.
    matrices : tuple of matrices of RationalFunction
        P for each of the ``variables``.
    annihilators : tuple of tuples of operators
        The operators in u and D that were used for σ1 and σ2; or the generators of the ideal.
    scale : pair, optional
        κ1, κ2 when the system belongs to τ with σ(u) = τ(κu); :meth:`evaluate` takes it into account.
    frame : matrix of RationalFunction, optional
        When given, F is this matrix times the vector that ``basis`` describes (after a gauge transformation).
    function : tuple of RationalFunction, optional
        The row f with f·F = the solution itself; the first unit vector when not given.

    Examples
    --------
    >>> from holokern.pfaffian import pfaffian
    >>> s = pfaffian(operator="u*D - 1", coordinates="x", cache=False)
    >>> s.rank, s.basis_text
    (2, ('1', 'd12'))
    >>> s["x12"]
    ((0, 1), ((-4)/(x12^2 - x11*x22), (-5*x12)/(x12^2 - x11*x22)))
    >>> s.singular_locus
    (x11, x22, x12^2 - x11*x22)

    The Bessel equation, in a basis of choice:

    >>> from holokern.weyl import weyl_algebra
    >>> bessel = pfaffian(weyl_algebra("x").ideal("x^2*dx^2 + x*dx + x^2"), basis=["1", "x*dx"])
    >>> bessel["x"], bessel.singular_locus
    (((0, 1/x), (-x, 0)), (x,))
    """

    coordinates: str
    basis: tuple[BasisElement, ...]
    matrices: tuple[Matrix, ...]
    annihilators: tuple[tuple[Operator | RationalOperator, ...], ...] = ()
    scale: tuple[Fraction | ExactReal, Fraction | ExactReal] | None = None
    frame: Matrix | None = None
    function: tuple[RationalFunction, ...] | None = None

    @staticmethod
    def from_matrices(
        variables: str | Iterable[str],
        matrices: Sequence[object],
        names: Iterable[str] | None = None,
        parameters: str | Iterable[str] = (),
    ) -> PfaffianSystem:
        """The system with given matrices, one for each variable; the first entry of F is the function itself.

        Examples
        --------
        >>> s = PfaffianSystem.from_matrices("x y", [[["1/x"]], [["y"]]])
        >>> s.rank, s.singular_locus
        (1, (x,))
        """
        from holokern.pfaffian.ideal import from_matrices

        return from_matrices(variables, matrices, names, parameters)

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """The number of entries of F."""
        return len(self.basis)

    @property
    def of_dual_activation(self) -> bool:
        """Whether the coordinates are those of a dual activation, Σ or x."""
        return self.coordinates in COORDINATES

    @property
    def _system(self) -> Coordinates:
        if not self.of_dual_activation:
            raise BadInput(f"{self!r} is not the system of a dual activation; this is defined for those only")
        return coordinates_named(self.coordinates)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return self.field.variables[: len(self.matrices)]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The symbols in the entries that are not coordinates; see :meth:`substitute`."""
        return self.field.variables[len(self.matrices) :]

    @property
    def field(self) -> FunctionField:
        """The field of the entries of the matrices."""
        return self._system.field if self.of_dual_activation else self.matrices[0][0][0].field

    @property
    def algebra(self) -> RationalWeylAlgebra:
        """The rational Weyl algebra in the coordinates, with the names of derivations that the ideal has."""
        if not self.annihilators or self.of_dual_activation:
            return rational_weyl_algebra(self.variables, parameters=self.parameters)
        algebra = self.annihilators[0][0].algebra
        return algebra if isinstance(algebra, RationalWeylAlgebra) else rational_weyl_algebra(algebra)

    @property
    def basis_text(self) -> tuple[str, ...]:
        """The basis as text: in a and b (u and v) or d11, d12, d22 for dual activations, else operators or names."""
        return tuple(self._system.text(e) if isinstance(e, tuple) else str(e) for e in self.basis)

    @property
    def elements(self) -> tuple[Element, ...]:
        """The basis of a dual activation, as exponents."""
        return tuple(element for element in self.basis if isinstance(element, tuple))

    @property
    def monomials(self) -> tuple[tuple[Fraction, tuple[int, int]], ...]:
        """Every entry of F as factor and exponents of ∂_u, ∂_v (in x: of u, v); dual activations only."""
        return tuple(self._system.monomial(element) for element in self.elements)

    def __getitem__(self, variable: str) -> Matrix:
        """The matrix of one variable, by name."""
        if variable not in self.variables:
            raise UnknownName(f"unknown coordinate {variable!r}; this system has {', '.join(self.variables)}")
        return self.matrices[self.variables.index(variable)]

    @cached_property
    def _denominator(self) -> tuple[tuple[RationalFunction, int], ...]:
        return factored_denominator(self.matrices, self.field)

    @cached_property
    def entries(self) -> Entries:
        """By variable, row and column what is not zero: numerator, powers of the factors below it, constant below."""
        return nonzero_entries(self.matrices, [factor.numerator for factor in self.singular_locus])

    @property
    def singular_locus(self) -> tuple[RationalFunction, ...]:
        """The irreducible factors of the common denominator of all matrices; their zeros are the singular locus."""
        return tuple(factor for factor, _ in self._denominator)

    @property
    def multiplicities(self) -> tuple[int, ...]:
        """The power of each factor of :attr:`singular_locus` in the common denominator."""
        return tuple(power for _, power in self._denominator)

    @property
    def apparent_singularities(self) -> tuple[RationalFunction, ...]:
        """The factors of the singular locus that come from the choice of the basis only; solutions are regular there.

        Examples
        --------
        >>> from holokern.pfaffian import pfaffian
        >>> pfaffian(operator="u^2*(D^2 + 1)", cache=False).apparent_singularities
        (S12^2 + S11*S22,)
        """
        from holokern.pfaffian.ideal import genuine_factors

        genuine = genuine_factors(self)
        return tuple(factor for factor in self.singular_locus if factor.numerator not in genuine)

    def is_flat(self) -> bool:
        """Whether the system is integrable, by a checker that shares no code with the derivation."""
        from holokern.pfaffian.check.flatness import flatness

        return flatness(self.matrices, self.variables).flat

    # -- other bases and coordinates ---------------------------------------------------------------------------------

    def change_basis(self, basis: object) -> PfaffianSystem:
        """The system of the vector with the given basis, e.g. ``"1, a*b, a^2*b^2"``, ``"1, d12"``, ``"1, x*dx"``."""
        if not self.of_dual_activation:
            from holokern.pfaffian.ideal import change_basis

            return change_basis(self, basis)
        return self._derived(self._system, basis)

    def _derived(self, coordinates: Coordinates, basis: object) -> PfaffianSystem:
        from holokern.pfaffian.derivation.by_stein import derive

        elements = None if basis is None else read_basis(basis, coordinates)
        return replace(derive(*self._sides, coordinates, elements), scale=self.scale)

    @property
    def _sides(self) -> tuple[tuple[Operator, ...], tuple[Operator, ...]]:
        """The operators of σ1 and σ2."""
        left, right = (tuple(P for P in side if isinstance(P, Operator)) for side in self.annihilators)
        return left, right

    def row(self, operator: object) -> tuple[RationalFunction, ...]:
        """The row r with r·F = Pf, for an operator P in the coordinates and any solution f.

        Examples
        --------
        >>> from holokern.pfaffian import pfaffian
        >>> from holokern.weyl import weyl_algebra
        >>> pfaffian(weyl_algebra("x").ideal("dx^2 - x")).row("dx^3")
        (1, x)
        """
        entry = Entry(self.algebra, self.matrices, self.function_row)
        return tuple(entry.applied(entry.algebra(operator)))

    @property
    def function_row(self) -> tuple[RationalFunction, ...]:
        """The row f with f·F = the solution itself."""
        if self.function is not None:
            return self.function
        return tuple(self.field.one if i == 0 else self.field.zero for i in range(self.rank))

    def to_coordinates(self, coordinates: str, basis: object = None) -> PfaffianSystem:
        """The system in the other coordinates, in the natural basis there or, after :meth:`gauge`, in a given one."""
        target = coordinates_named(coordinates)
        if self.frame is not None and basis is None:
            raise BadInput("a gauge transformation has replaced the basis of this system; give a basis")
        if target == self._system and basis is None:
            return self
        return self._derived(target, basis)

    def gauge(self, transform: object) -> PfaffianSystem:
        """The system of TF for an invertible matrix T of rational functions: (∂T + TP)T⁻¹."""
        matrix = read_matrix(transform, self.rank, self.field)
        moved = gauge_transform(self.matrices, matrix, self.variables)
        frame = matrix if self.frame is None else multiply_matrices(matrix, self.frame)
        (row,) = multiply_matrices((self.function_row,), inverse_matrix(matrix))
        return replace(self, matrices=moved, frame=frame, function=row)

    def restrict(self, curve: Mapping[str, object] | Sequence[object], parameter: str | None = None) -> CurveSystem:
        """The system along a rational curve, from which scalar ODEs follow; see :meth:`pull_back` for surfaces."""
        from holokern.pfaffian.scalar.scalar_ode import restrict

        return restrict(self, curve, parameter)

    def substitute(
        self, values: Mapping[str, object] | None = None, *, check: bool = True, **named: object
    ) -> PfaffianSystem:
        """The system with values for some or all of its parameters, as a mapping or by name.

        It raises BadInput where a denominator vanishes, and for values that are exceptional for the ideal of the
        system, where the rank may be another one; ``check=False`` leaves out the latter.

        Examples
        --------
        >>> from holokern.weyl import gauss
        >>> from holokern.pfaffian import pfaffian
        >>> pfaffian(gauss("a", "b", "c")).substitute(a=1, b=1, c=2)["x"]
        ((0, 1), ((-1)/(x^2 - x), (-3*x + 2)/(x^2 - x)))
        """
        from holokern.pfaffian.ideal import substituted

        return substituted(self, {**values, **named} if isinstance(values, Mapping) else named or values, check)

    def pull_back(self, images: Mapping[str, object], parameters: str | Iterable[str]) -> PfaffianSystem:
        """The system of the same F on a subvariety: each coordinate as a rational function of the given parameters.

        It raises SingularPath when the subvariety lies in the singular locus.

        Examples
        --------
        >>> s = PfaffianSystem.from_matrices("x y", [[["1/x"]], [["1/y"]]])
        >>> s.pull_back({"x": "t", "y": "t^2"}, "t")["t"]
        ((3/t,),)
        """
        from holokern.pfaffian.ideal import pull_back_system

        return pull_back_system(self, images, parameters)

    # -- values ------------------------------------------------------------------------------------------------------
    @cached_property
    def _compiled(self) -> CompiledMatrices:
        return CompiledMatrices(self)

    def evaluate(self, *point: ArrayLike) -> NDArray[np.float64]:
        """The matrices at one point, or at arrays of points, in floating point.

        Parameters
        ----------
        *point : array_like
            The coordinates, which broadcast.

        Returns
        -------
        ndarray
            Of shape (coordinates, …, rank, rank); infinite or NaN on the singular locus.

        Examples
        --------
        >>> from holokern.pfaffian import pfaffian
        >>> pfaffian(operator="D - 1", cache=False).evaluate(1.0, 0.5, 1.0).ravel()
        array([0.5, 1. , 0.5])
        """
        self._expect_point(point)
        return self._compiled.floats(point, self.scaling(float))

    def evaluate_ball(self, *point: object) -> tuple[arb_mat, ...]:
        """The matrices at one point as ``arb_mat``, from balls or exact numbers, at flint's working precision."""
        self._expect_point(point)
        return ball_matrices(self, point)

    def scaling(self, number: Callable[[Any], Number]) -> tuple[list[Number], list[Number]] | None:
        """How coordinates (and derivatives), and entries of F change when σ(u) = τ(κu)."""
        if self.scale is None:
            return None
        k1, k2 = (number(k) for k in self.scale)
        k1, k2 = (1 / k1, 1 / k2) if self.coordinates == "x" else (k1, k2)
        stretch = [k1 * k1, k1 * k2, k2 * k2]
        return stretch, [k1**i * k2**j for _, (i, j) in self.monomials]

    def _expect_point(self, point: Sequence[object]) -> None:
        if self.parameters:
            raise BadInput(f"the system has the parameters {', '.join(self.parameters)}; substitute numbers for them")
        if len(point) != len(self.variables):
            names = ", ".join(self.variables)
            raise BadInput(f"expected {len(self.variables)} coordinates, {names}; got {len(point)} values")

    # -- writing -----------------------------------------------------------------------------------------------------

    def to_json(self, *, indent: int | None = None) -> str:
        """The system as JSON text, exactly; :meth:`from_json` reads it back."""
        from holokern.pfaffian.archive import to_json

        return to_json(self, indent=indent)

    @staticmethod
    def from_json(text: str) -> PfaffianSystem:
        """Read what :meth:`to_json` wrote; ArchiveError when the text is damaged or something else."""
        from holokern.pfaffian.archive import from_json

        return from_json(text)

    def latex(self) -> str:
        """LaTeX source of the matrices with their equations."""
        from holokern.pfaffian.typeset import latex

        return latex(self)

    def text(self) -> str:
        """The annihilators, rank, basis, matrices and singular locus as plain text."""
        from holokern.pfaffian.typeset import text

        return text(self)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __repr__(self) -> str:
        locus = ", ".join(map(str, self.singular_locus)) or "none"
        return (
            f"<PfaffianSystem of rank {self.rank} in {', '.join(self.variables)}; "
            f"basis {', '.join(self.basis_text)}; singular locus {locus}>"
        )
