"""Automorphisms of the Weyl algebra: the Fourier transform in chosen variables, and translation of variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from holokern.errors import BadInput
from holokern.weyl.algebra.operator import Operator, substituted
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, exact_rational, split_names
from holokern.weyl.modules.ideal import LeftIdeal

What = TypeVar("What", Operator, LeftIdeal)


def chosen_variables(algebra: WeylAlgebra, names: str | Iterable[str]) -> tuple[int, ...]:
    """The places of the named variables in the algebra, in the algebra's order.

    >>> from holokern.weyl import weyl_algebra
    >>> chosen_variables(weyl_algebra("x y z"), "z x")
    (0, 2)
    """
    if isinstance(names, Mapping):
        raise BadInput(
            f"expected names of variables without values, got {dict(names)!r}; only restriction takes values"
        )
    wanted = set(split_names(names))
    unknown = sorted(str(name) for name in wanted if name not in algebra.variables)
    if unknown:
        raise BadInput(f"{unknown[0]!r} is no variable of this Weyl algebra; it has {' '.join(algebra.variables)}")
    if not wanted:
        raise BadInput(f"expected the name of at least one of the variables {' '.join(algebra.variables)}")
    return tuple(i for i, name in enumerate(algebra.variables) if name in wanted)


def fourier_transform(what: What, names: str | Iterable[str] | None = None) -> What:
    """The automorphism x_i → -∂_i, ∂_i → x_i in the named variables [SST2000, §5.5].

    The variables keep their names.  If P annihilates f(t), then its transform annihilates the Laplace integral
    ∫ f(t) exp(-t x) dt, as long as boundary terms vanish.

    Parameters
    ----------
    what : Operator or LeftIdeal
        What to transform.
    names : str or iterable of str, optional
        The variables to transform; all by default.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> fourier_transform(weyl_algebra("x")("x^2 - dx"))
    dx^2 - x
    """
    return _transform(what, names, -1)


def inverse_fourier_transform(what: What, names: str | Iterable[str] | None = None) -> What:
    """The inverse of :func:`fourier_transform`: x_i → ∂_i, ∂_i → -x_i in the named variables.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> P = weyl_algebra("x y")("x*dx + x^2*y*dy - 3")
    >>> inverse_fourier_transform(fourier_transform(P, "x"), "x") == P
    True
    """
    return _transform(what, names, 1)


def _transform(what: What, names: str | Iterable[str] | None, sign: int) -> What:
    """Put x → sign·∂ and ∂ → -sign·x at the places of the names."""
    algebra, n = what.algebra, what.algebra.dimension
    variables, derivations = list(algebra.gens[:n]), list(algebra.gens[n:])
    for i in chosen_variables(algebra, algebra.variables if names is None else names):
        variables[i], derivations[i] = sign * derivations[i], -sign * variables[i]
    return _image(what, variables, derivations)


def _image(what: What, variables: Sequence[Operator], derivations: Sequence[Operator]) -> What:
    """The image of an operator, or the ideal of the images."""
    if isinstance(what, Operator):
        return substituted(what, variables, derivations, what.algebra)
    images = [substituted(g, variables, derivations, what.algebra) for g in what.generators]
    return LeftIdeal(what.algebra, images, certified=what.certified)


def translate(what: What, shifts: Mapping[str, object]) -> What:
    """The automorphism x_i → x_i + a_i, ∂_i → ∂_i: what annihilates f(x) becomes what annihilates f(x + a).

    Parameters
    ----------
    what : Operator or LeftIdeal
        What to translate.
    shifts : mapping from str to rational number
        The numbers a_i, exact: an int, a Fraction or a text such as ``"1/3"``; variables that are not named stay.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> translate(weyl_algebra("x")("x^2*dx - 1"), {"x": 1})
    x^2*dx + 2*x*dx + dx - 1
    """
    if not isinstance(shifts, Mapping):
        raise BadInput(f"expected a mapping from names to numbers, such as {{'x': 1}}, got {shifts!r}")
    algebra, n = what.algebra, what.algebra.dimension
    variables = list(algebra.gens[:n])
    for i in chosen_variables(algebra, list(shifts)):
        variables[i] = variables[i] + exact_rational(shifts[algebra.variables[i]])
    return _image(what, variables, algebra.gens[n:])
