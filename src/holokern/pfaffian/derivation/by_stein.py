"""From annihilators to a Pfaffian system, by Stein's and Price's relations and interpolation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from holokern.errors import BadOperator
from holokern.numeric import bounded
from holokern.pfaffian.coordinates import Coordinates, Element
from holokern.pfaffian.derivation.quotient import PRIMES, STEPS, Quotient, quotient
from holokern.pfaffian.derivation.reconstruct import reconstruct
from holokern.pfaffian.derivation.relations import Pair, Presentation, expected_locus, integer_terms
from holokern.pfaffian.system import PfaffianSystem
from holokern.progress import report
from holokern.weyl import Matrix, Operator, RationalFunction, bernstein_basis, inverse_fourier_transform, weyl_algebra

# a limit of time: D^4 - u takes a second, D^8 - u (rank 64) a dozen, and a dense one of this degree far too long
_MAX_OPERATOR_DEGREE = 24


def read_operators(given: object) -> tuple[Operator, ...]:
    """Operators in u and D from a text, an operator, or a list of them.

    >>> read_operators(["u*D - 1", "D^2"])
    (u*D - 1, D^2)
    """
    algebra = weyl_algebra("u", "D")
    if isinstance(given, (str, Operator)):
        given = [given]
    if not isinstance(given, Iterable):
        raise BadOperator(f"expected an operator in u and D, as a text such as 'u*D - 1', got {given!r}")
    operators = []
    for item in given:
        if not isinstance(item, (str, Operator)):
            raise BadOperator(f"expected an operator in u and D, as a text such as 'u*D - 1', got {item!r}")
        operators.append(algebra(item))
    if not operators:
        raise BadOperator("expected at least one operator, got an empty list")
    too_high = [P for P in operators if P.degree > _MAX_OPERATOR_DEGREE]
    if too_high:
        raise BadOperator(
            f"an operator of degree {too_high[0].degree} in u and D together is beyond the limit "
            f"of {_MAX_OPERATOR_DEGREE}; simplify it"
        )
    return tuple(operators)


def height(operators: Iterable[Operator]) -> int:
    """The number of bits of the largest coefficient, denominators cleared.

    >>> height(read_operators("u*D/3 - 5"))
    4
    """
    return max((abs(c).bit_length() for P in operators for c in integer_terms(P).values()), default=0)


def present(left: Sequence[Operator], right: Sequence[Operator], coordinates: Coordinates) -> Presentation:
    """The relations of the operators, in the form that suits the coordinates.

    In x the letters stand for u and v, which is the Fourier transform of the situation in Σ with 2x for Σ.
    """
    sides = []
    for operators in (left, right):
        moved = [inverse_fourier_transform(P) for P in operators] if coordinates.name == "x" else list(operators)
        sides.append(bernstein_basis(moved))
    return Presentation(sides[0], sides[1], 2 if coordinates.name == "x" else 1)


@bounded
def derive(
    left: Sequence[Operator],
    right: Sequence[Operator],
    coordinates: Coordinates,
    basis: Sequence[Element] | None = None,
) -> PfaffianSystem:
    """The Pfaffian system of E[σ1(u)σ2(v)] for all σ1, σ2 that the operators annihilate.

    ``left``, ``right``: generators of annihilators of σ1 and σ2, in u and D.
    ``coordinates``: those of the result.
    ``basis``: the entries of F; see :class:`PfaffianSystem`.
    Raises NotHolonomic if one side has only the operator 0; BadInput if the basis is none, or only the function 0 is
    annihilated; TooLarge if large coefficients make the derivation too long.
    """
    presentation = present(left, right, coordinates)
    wanted = None if basis is None else [coordinates.monomial(element)[1] for element in basis]
    report("finding the rank and a basis")
    found = quotient(presentation, wanted)
    report(f"finding the matrices of rank {len(found.basis)}")
    entries = reconstruct(
        found.normal_forms,
        coordinates.field,
        expected_locus(presentation, coordinates.field),
        PRIMES,
        bits=height((*presentation.left, *presentation.right)),
    )
    elements = _natural_basis(found.basis, coordinates) if basis is None else tuple(basis)
    return PfaffianSystem(
        coordinates=coordinates.name,
        basis=elements,
        matrices=_matrices(found, entries, elements, coordinates),
        annihilators=(tuple(left), tuple(right)),
    )


def _natural_basis(monomials: Sequence[Pair], coordinates: Coordinates) -> tuple[Element, ...]:
    """Monomials in a and b for Σ; derivations for x, as in the paper."""
    if coordinates.name == "sigma":
        return tuple(monomials)
    return tuple(((i - min(i, j)) // 2, min(i, j), (j - min(i, j)) // 2) for i, j in monomials)


def _matrices(
    found: Quotient, entries: list[RationalFunction], basis: Sequence[Element], coordinates: Coordinates
) -> tuple[Matrix, Matrix, Matrix]:
    """The matrix of each derivation: multiply every basis element by a², ab or b² and take its normal form."""
    field = coordinates.field
    rank = found.rank
    place = {monomial: k for k, monomial in enumerate(found.basis)}
    normal_form = {m: entries[k * rank : (k + 1) * rank] for k, m in enumerate(found.targets)}
    for monomial, k in place.items():
        normal_form[monomial] = [field.one if k == j else field.zero for j in range(rank)]
    factors = [coordinates.monomial(element)[0] for element in basis]

    def row(k: int, step: Pair, weight: Fraction) -> tuple[RationalFunction, ...]:
        i, j = found.basis[k]
        values = normal_form[i + step[0], j + step[1]]
        return tuple(value * (factors[k] * weight / factors[m]) if value else value for m, value in enumerate(values))

    first, second, third = (
        tuple(row(k, step, weight) for k in range(rank))
        for step, weight in zip(STEPS, coordinates.weights, strict=True)
    )
    return first, second, third
