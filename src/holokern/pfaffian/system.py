"""The Pfaffian system dF = PF of a dual activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holokern.errors import BadInput, UnknownName
from holokern.pfaffian.coordinates import Coordinates, Element, coordinates_named, pull_back, read_basis
from holokern.pfaffian.evaluation import CompiledMatrices, split_off
from holokern.pfaffian.gauge import Matrix, gauge_transform, multiply, read_matrix
from holokern.weyl import Operator
from holokern.weyl.rational.fractions import FunctionField, RationalFunction

if TYPE_CHECKING:
    from flint import arb, arb_mat

    from holokern.activation import ExactReal
    from holokern.pfaffian.scalar.scalar_ode import CurveSystem

__all__ = ["PfaffianSystem"]

Number = TypeVar("Number", float, "arb")


@dataclass(frozen=True)
class PfaffianSystem:
    """The integrable system ∂F/∂y = P_y F for each of the three coordinates y; make one with :func:`holokern.pfaffian`.

    Attributes
    ----------
    coordinates : str
        "sigma" (F has entries E[∂_u^i ∂_v^j σ1(u)σ2(v)]) or "x" (unnormalised moments, the paper's convention).
    basis : tuple of tuples of int
        The entries of F.  A pair (i, j) is ∂_u^i ∂_v^j under the expectation (in x: u^i v^j under the integral); a
        triple (p, q, r) is the derivative ∂11^p ∂12^q ∂22^r of the expectation.
    matrices : tuple of three matrices of RationalFunction
        P for each of the ``variables``.
    annihilators : pair of tuples of Operator
        The operators in u and D that were used for σ1 and σ2.
    scale : pair, optional
        κ1, κ2 when the system belongs to τ with σ(u) = τ(κu); :meth:`evaluate` takes it into account.
    frame : matrix of RationalFunction, optional
        When given, F is this matrix times the vector that ``basis`` describes (after a gauge transformation).

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
    """

    coordinates: str
    basis: tuple[Element, ...]
    matrices: tuple[Matrix, Matrix, Matrix]
    annihilators: tuple[tuple[Operator, ...], tuple[Operator, ...]]
    scale: tuple[Fraction | ExactReal, Fraction | ExactReal] | None = None
    frame: Matrix | None = None

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """The number of entries of F."""
        return len(self.basis)

    @property
    def _system(self) -> Coordinates:
        return coordinates_named(self.coordinates)

    @property
    def variables(self) -> tuple[str, str, str]:
        """The names of the coordinates."""
        return self._system.variables

    @property
    def field(self) -> FunctionField:
        """The field of the entries of the matrices."""
        return self._system.field

    @property
    def basis_text(self) -> tuple[str, ...]:
        """The basis as text, in a and b (u and v) or in the derivations d11, d12, d22."""
        return tuple(self._system.text(element) for element in self.basis)

    @property
    def monomials(self) -> tuple[tuple[Fraction, tuple[int, int]], ...]:
        """Every entry of F as factor and exponents of ∂_u, ∂_v (in x: of u, v)."""
        return tuple(self._system.monomial(element) for element in self.basis)

    def __getitem__(self, variable: str) -> Matrix:
        """The matrix of one variable, by name."""
        if variable not in self.variables:
            raise UnknownName(f"unknown coordinate {variable!r}; this system has {', '.join(self.variables)}")
        return self.matrices[self.variables.index(variable)]

    @cached_property
    def _denominator(self) -> tuple[tuple[RationalFunction, int], ...]:
        """Irreducible factors of the common denominator with their multiplicities."""
        found: dict[RationalFunction, int] = {}
        seen = {self.field(entry.denominator) for matrix in self.matrices for row in matrix for entry in row}
        for denominator in sorted(seen, key=lambda f: len(f.numerator)):
            powers, rest = split_off(denominator.numerator, [factor.numerator for factor in found])
            for factor, power in zip(list(found), powers, strict=True):
                found[factor] = max(found[factor], power)
            for new, power in rest.factor()[1]:
                found[self.field(-new if new.leading_coefficient() < 0 else new)] = int(power)
        order = sorted(found, key=lambda f: (f.numerator.total_degree(), len(f.numerator), str(f)))
        return tuple((factor, found[factor]) for factor in order)

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
        """The factors of the singular locus that only the choice of the basis brings in; solutions are regular there.

        Examples
        --------
        >>> from holokern.pfaffian import pfaffian
        >>> pfaffian(operator="u^2*(D^2 + 1)", cache=False).apparent_singularities
        (S12^2 + S11*S22,)
        """
        from holokern.pfaffian.derivation.by_stein import present
        from holokern.pfaffian.derivation.locus import expected_locus

        genuine = expected_locus(present(*self.annihilators, self._system), self.field)
        return tuple(factor for factor in self.singular_locus if factor.numerator not in genuine)

    def is_flat(self) -> bool:
        """Whether the system is integrable, by a checker that shares no code with the derivation."""
        from holokern.pfaffian.check.flatness import is_flat

        return is_flat(self)

    # -- other bases and coordinates ---------------------------------------------------------------------------------

    def change_basis(self, basis: object) -> PfaffianSystem:
        """The system of the vector with the given basis, e.g. ``"1, a*b, a^2*b^2"`` or ``"1, d12"``."""
        from holokern.pfaffian.derivation.by_stein import derive

        elements = read_basis(basis, self._system)
        return replace(derive(*self.annihilators, self._system, elements), scale=self.scale)

    def to_coordinates(self, coordinates: str, basis: object = None) -> PfaffianSystem:
        """The system in the other coordinates, in the natural basis there or in the one given.

        A system that went through :meth:`gauge` keeps its vector, multiplied by the ratio of the normalisations.
        """
        target = coordinates_named(coordinates)
        if self.frame is not None and basis is None:
            raise BadInput(
                "a gauge transformation has replaced the basis of this system; use pulled_back, or give a basis"
            )
        if target == self._system and basis is None:
            return self
        from holokern.pfaffian.derivation.by_stein import derive

        elements = None if basis is None else read_basis(basis, target)
        return replace(derive(*self.annihilators, target, elements), scale=self.scale)

    def pulled_back(self) -> tuple[Matrix, ...]:
        """The matrices of the same vector in the other coordinates, multiplied by the ratio of the normalisations."""
        other = coordinates_named("x" if self.coordinates == "sigma" else "sigma")
        return pull_back(self.matrices, self._system, other)

    def gauge(self, transform: object) -> PfaffianSystem:
        """The system of TF for an invertible matrix T of rational functions: (∂T + TP)T⁻¹."""
        matrix = read_matrix(transform, self.rank, self.field)
        first, second, third = gauge_transform(self.matrices, matrix, self.variables)
        frame = matrix if self.frame is None else multiply(matrix, self.frame)
        return replace(self, matrices=(first, second, third), frame=frame)

    def restrict(self, curve: Mapping[str, object] | Sequence[object], parameter: str | None = None) -> CurveSystem:
        """The system along a rational curve, from which scalar ODEs follow."""
        from holokern.pfaffian.scalar.scalar_ode import restrict

        return restrict(self, curve, parameter)

    # -- values ------------------------------------------------------------------------------------------------------

    @cached_property
    def _compiled(self) -> CompiledMatrices:
        return CompiledMatrices(self.matrices, [factor.numerator for factor in self.singular_locus])

    def evaluate(self, *point: ArrayLike) -> NDArray[np.float64]:
        """The matrices at one point, or at arrays of points, in floating point.

        Parameters
        ----------
        *point : array_like
            The three coordinates, which broadcast.

        Returns
        -------
        ndarray
            Of shape (3, …, rank, rank); infinite or NaN on the singular locus.

        Examples
        --------
        >>> from holokern.pfaffian import pfaffian
        >>> pfaffian(operator="D - 1", cache=False).evaluate(1.0, 0.5, 1.0).ravel()
        array([0.5, 1. , 0.5])
        """
        self._expect_three(point)
        if self.scale is None:
            return self._compiled.floats(*point)
        stretch, left, outer = self._scaling(float)
        values = self._compiled.floats(
            *(np.asarray(x, dtype=np.float64) * k for x, k in zip(point, stretch, strict=True))
        )
        diagonal = np.array(left)
        factors = np.array(outer).reshape(3, *(1,) * (values.ndim - 1))
        scaled: NDArray[np.float64] = values * factors * (diagonal[:, None] / diagonal[None, :])
        return scaled

    def evaluate_ball(self, *point: object) -> tuple[arb_mat, ...]:
        """The matrices at one point as three ``arb_mat``, from balls or exact numbers, at flint's working precision."""
        self._expect_three(point)
        if self.scale is None:
            return self._compiled.balls(point)
        from flint import arb, arb_mat

        stretch, diagonal, outer = self._scaling(_as_ball)
        moved = [_as_ball(x) * k for x, k in zip(point, stretch, strict=True)]
        result = []
        for matrix, factor in zip(self._compiled.balls(moved), outer, strict=True):
            rows = matrix.tolist()
            result.append(
                arb_mat(
                    [
                        [arb(rows[i][j]) * factor * diagonal[i] / diagonal[j] for j in range(self.rank)]
                        for i in range(self.rank)
                    ]
                )
            )
        return tuple(result)

    def _scaling(self, number: Callable[[Any], Number]) -> tuple[list[Number], list[Number], list[Number]]:
        """How coordinates, entries of F and derivatives change when σ(u) = τ(κu)."""
        assert self.scale is not None
        k1, k2 = (number(k) for k in self.scale)
        if self.coordinates == "x":
            k1, k2 = 1 / k1, 1 / k2
        stretch = [k1 * k1, k1 * k2, k2 * k2]
        diagonal = [k1**i * k2**j for _, (i, j) in self.monomials]
        return stretch, diagonal, stretch

    def _expect_three(self, point: Sequence[object]) -> None:
        if len(point) != 3:
            raise BadInput(f"expected the three coordinates {', '.join(self.variables)}, got {len(point)} values")

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
        """LaTeX source of the three matrices with their equations."""
        from holokern.pfaffian.typeset import latex

        return latex(self)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __repr__(self) -> str:
        locus = ", ".join(map(str, self.singular_locus)) or "none"
        return (
            f"<PfaffianSystem of rank {self.rank} in {', '.join(self.variables)}; "
            f"basis {', '.join(self.basis_text)}; singular locus {locus}>"
        )


def _as_ball(value: object) -> arb:
    from holokern.pfaffian.evaluation import ball

    return ball(value)
