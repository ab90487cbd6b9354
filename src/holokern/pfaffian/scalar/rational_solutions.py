"""All rational solutions of a scalar ODE with polynomial coefficients."""

from __future__ import annotations

from flint import fmpz_mat, fmpz_mpoly, fmpz_poly

from holokern.errors import TooLarge
from holokern.pfaffian.scalar.exponents import coefficient_polynomials, local_exponents
from holokern.weyl import FunctionField, Operator, RationalFunction, function_field

# exact linear algebra of this size takes four seconds, of twice the size half a minute
_MAX_UNKNOWNS = 1000


def rational_solutions(operator: Operator) -> tuple[RationalFunction, ...]:
    """A basis over Q of the rational solutions.

    A pole can only be a zero of the leading coefficient, and its order is bounded by the least integer root of the
    indicial polynomial there; the degree is bounded by the exponents at infinity [Abramov1989].  What is left is linear
    algebra over Q.

    Parameters
    ----------
    operator : Operator
        Of a Weyl algebra in one variable, not 0.

    Returns
    -------
    tuple of RationalFunction
        Linearly independent; empty when there is none.

    Raises
    ------
    TooLarge
        When the exponents allow numerators of a degree beyond 1000.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> rational_solutions(weyl_algebra("t")("t^2*dt^2 + 3*t*dt - 3"))
    (1/t^3, t)
    """
    coefficients = coefficient_polynomials(operator)
    denominator = _denominator(operator, coefficients[-1])
    if denominator is None:
        return ()
    # at infinity y ~ t^(-ρ)
    degrees = [-root for root in local_exponents(operator, "oo").integers]
    degree = max(degrees, default=-1 - denominator.degree()) + denominator.degree()
    if degree < 0:
        return ()
    if degree > _MAX_UNKNOWNS:
        raise TooLarge(
            f"the exponents of {operator} allow rational solutions with numerators of degree {degree}; "
            f"at most {_MAX_UNKNOWNS} are searched"
        )
    field = function_field(operator.algebra.variables)
    bottom = _lift(field, denominator)
    return tuple(
        field.fraction(_lift(field, numerator), bottom) for numerator in _numerators(coefficients, denominator, degree)
    )


def _denominator(operator: Operator, leading: fmpz_poly) -> fmpz_poly | None:
    """A common denominator of all rational solutions, or None when there can be none."""
    _, factors = leading.factor()
    result = fmpz_poly([1])
    for factor, _ in factors:
        integers = local_exponents(operator, factor).integers
        if not integers:
            return None
        result = result * factor ** max(0, -integers[0])
    return result


def _numerators(coefficients: list[fmpz_poly], denominator: fmpz_poly, degree: int) -> list[fmpz_poly]:
    """The polynomials N of bounded degree with L(N / denominator) = 0."""
    columns = [_image(coefficients, fmpz_poly([0] * k + [1]), denominator) for k in range(degree + 1)]
    height = max(column.degree() for column in columns) + 1
    matrix = fmpz_mat(height, degree + 1, [int(column[i]) for i in range(height) for column in columns])
    kernel, nullity = matrix.nullspace()
    table = fmpz_mat(nullity, degree + 1, [int(kernel[i, j]) for j in range(nullity) for i in range(degree + 1)])
    # a reduced echelon form with the lowest powers as pivots gives short, reproducible generators
    reduced, _, _ = table.rref()
    rows = [fmpz_poly([int(reduced[i, j]) for j in range(degree + 1)]) for i in range(nullity)]
    return [row // (row.content() if row[row.degree()] > 0 else -row.content()) for row in rows]


def _image(coefficients: list[fmpz_poly], numerator: fmpz_poly, denominator: fmpz_poly) -> fmpz_poly:
    """L(numerator / denominator) times denominator^(order + 1)."""
    order = len(coefficients) - 1
    slope = denominator.derivative()
    total = fmpz_poly()
    for k, a in enumerate(coefficients):
        total = total + a * numerator * denominator ** (order - k)
        numerator = numerator.derivative() * denominator - (k + 1) * numerator * slope
    return total


def _lift(field: FunctionField, polynomial: fmpz_poly) -> fmpz_mpoly:
    lifted: fmpz_mpoly = field.ctx.from_dict({(k,): int(c) for k, c in enumerate(polynomial.coeffs()) if c})
    return lifted
