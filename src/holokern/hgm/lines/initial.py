"""Points and initial values as users give them, in floats and in balls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import factorial, prod
from numbers import Number, Rational
from typing import TypeAlias

import numpy as np
from flint import acb, acb_mat, arb, fmpq, fmpz

from holokern.errors import BadInput, UnknownName
from holokern.hgm.steps.fixed_point import Ball
from holokern.hgm.steps.series import Array
from holokern.numeric import to_fraction
from holokern.pfaffian import PfaffianSystem, RationalFunction, UnexpandedSystem
from holokern.weyl import LeftIdeal, Operator, RationalIdeal, RationalOperator, exact_rational

Holonomic: TypeAlias = (
    LeftIdeal | RationalIdeal | PfaffianSystem | UnexpandedSystem | Operator | RationalOperator | Sequence[Operator]
)
"""What :func:`holokern.hgm.solve` takes as a system."""

Scalar: TypeAlias = complex | Fraction | str | arb | acb
Point: TypeAlias = Scalar | Sequence[Scalar] | Mapping[str, Scalar]
Values: TypeAlias = Sequence[Scalar] | Mapping[object, Scalar] | Callable[[], Sequence[Scalar]]

CONTRADICTION = 1e-7
"""Values that follow from each other may differ by rounding, times some condition."""

# singular values of the rows of initial values below this, relative to the largest, count as dependent
_DEPENDENT = 1e-10


def read_system(given: object, basis: object = None) -> PfaffianSystem:
    """The Pfaffian system of whatever stands for one."""
    from holokern.pfaffian import ideal_of, pfaffian

    if isinstance(given, UnexpandedSystem):
        raise BadInput(f"{given!r} is known on curves only; pull it back to one: system.pull_back(…)")
    if isinstance(given, PfaffianSystem):
        system = given if basis is None else given.change_basis(basis)
    else:
        ideal = ideal_of(given)
        if ideal is None:
            raise BadInput(
                f"expected a left ideal, an operator or a Pfaffian system, got {type(given).__name__}; "
                'make one with hk.weyl.weyl_algebra("x").ideal("dx^2 - x") or hk.pfaffian(...)'
            )
        system = pfaffian(ideal, basis=basis)
    if system.parameters:
        raise BadInput(
            f"the system has the parameters {', '.join(system.parameters)}; put numbers in with system.substitute(…)"
        )
    if system.scale is not None:
        raise BadInput(f"{system!r} is that of a rescaled activation; use hk.dual for its values")
    return system


def read_point(system: PfaffianSystem | UnexpandedSystem, given: object, what: str = "point") -> list[Scalar]:
    """The coordinates of a point: a number in one variable, a sequence, or numbers by name."""
    names = system.variables
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise UnknownName(f"expected the {what} as values of {', '.join(names)}, got {', '.join(map(str, given))}")
        return [given[name] for name in names]
    if isinstance(given, (Number, str, arb, acb, fmpq, fmpz)):
        given = [given]
    values = list(given) if isinstance(given, (Sequence, np.ndarray)) else []
    if len(values) != len(names):
        raise BadInput(f"expected the {what} as {len(names)} coordinates {', '.join(names)}, got {given!r}")
    return values


def as_ball(value: object) -> Ball:
    """A number as a ball; floats are taken as the numbers that they are."""
    if isinstance(value, (arb, acb)):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, Number) and not isinstance(value, Rational):
        number = complex(value)  # type: ignore[call-overload]
        if not np.isfinite(number):
            raise BadInput(f"expected a finite number, got {value!r}")
        return acb(number.real, number.imag) if isinstance(value, (complex, np.complexfloating)) else arb(number.real)
    try:
        return arb(exact_rational(value))
    except BadInput:
        raise BadInput(f"expected a number such as 0.5 or '1/3', or a ball, got {value!r}") from None


def value_at(function: RationalFunction, point: Sequence[Ball]) -> Ball:
    """A rational function at a point of balls."""
    return as_ball(function(*point))


def as_complex(value: object) -> complex:
    """A number as a complex float."""
    if isinstance(value, (float, complex, int)):
        ball = complex(value)
        if not np.isfinite(ball):
            raise BadInput(f"expected a finite number, got {value!r}")
        return ball
    ball = as_ball(value)
    return complex(ball) if isinstance(ball, acb) else complex(float(ball))


def start_vector(system: PfaffianSystem | UnexpandedSystem, point: Sequence[Scalar], values: object) -> list[Ball]:
    """F at the start as balls, at flint's working precision.

    Raises BadInput when there are too few values, or values that contradict each other.
    """
    if callable(values):
        values = values()
    if isinstance(values, Mapping):
        return _from_derivatives(system, point, values)
    if isinstance(values, (Number, str, arb, acb)):
        values = [values]
    given = list(values) if isinstance(values, (Sequence, np.ndarray)) else None
    if given is None or len(given) != system.rank:
        many = "no list" if given is None else f"{len(given)} value{'s' * (len(given) != 1)}"
        raise BadInput(
            f"expected {system.rank} initial values, of {', '.join(system.basis_text)}; got {many}. "
            "Give one for each, or a dictionary of operators and values"
        )
    return [as_ball(value) for value in given]


def _from_derivatives(
    system: PfaffianSystem | UnexpandedSystem, point: Sequence[Scalar], values: Mapping[object, Scalar]
) -> list[Ball]:
    """Solve for F from values of operators applied to the solution, or from Taylor coefficients."""
    where = [as_ball(x) for x in point]
    rows, known, names = [], [], []
    for key, value in values.items():
        operator, number = key, as_ball(value)
        if isinstance(key, tuple):
            if len(key) != len(where) or not all(isinstance(e, int) and e >= 0 for e in key):
                raise BadInput(f"expected {len(where)} exponents of a Taylor coefficient, got {key!r}")
            operator, number = system.algebra.from_terms({key: 1}), number * prod(factorial(e) for e in key)
        rows.append(row_values(system, operator, point))
        known.append(number)
        names.append(str(key))
    dense = np.array([[complex(acb(a)) for a in row] for row in rows]).reshape(len(rows), system.rank)
    chosen = _independent(dense)
    if len(chosen) < system.rank:
        raise BadInput(
            f"the values of {', '.join(names) or 'nothing'} fix only {len(chosen)} of the {system.rank} entries of F; "
            f"give values of more derivatives, for example of {', '.join(system.basis_text)}"
        )
    solution = acb_mat([[acb(a) for a in rows[i]] for i in chosen]).solve(acb_mat([[acb(known[i])] for i in chosen]))
    vector = [solution[i, 0] for i in range(system.rank)]
    for i, (numbers, value) in enumerate(zip(rows, known, strict=True)):
        parts = [acb(a) * f for a, f in zip(numbers, vector, strict=True)]
        follows = sum(parts, acb(0))
        scale = max(abs(complex(acb(value))), *(abs(complex(part)) for part in parts))
        if i not in chosen and abs(complex(follows - value)) > CONTRADICTION * scale:
            raise BadInput(
                f"the initial value {number_text(value)} of {names[i]} contradicts the system: from the values of "
                f"{', '.join(names[k] for k in chosen)} follows {number_text(follows)}; correct one of them"
            )
    real = all(not isinstance(a, acb) or a.imag == 0 for a in (*where, *known))
    return [entry.real for entry in vector] if real else vector


def row_values(system: PfaffianSystem | UnexpandedSystem, operator: object, point: Sequence[Scalar]) -> list[Ball]:
    """The row r with r·F = Pf at a point, in balls."""
    if isinstance(system, UnexpandedSystem):
        return [arb(c) for c in system.row_at(operator, [exactly(x) for x in point])]
    return [value_at(entry, [as_ball(x) for x in point]) for entry in system.row(operator)]


def as_fraction(value: object) -> Fraction | None:
    """A coordinate as the rational number that it is; None for complex numbers and for balls."""
    if isinstance(value, fmpq):
        return to_fraction(value)
    if isinstance(value, (np.floating, np.integer)):
        value = value.item()
    if not isinstance(value, (int, float, str, Fraction)):
        return None
    try:
        return Fraction(value)
    except (ValueError, OverflowError):
        return None


def exactly(value: object) -> Fraction:
    """A coordinate as a rational number; BadInput where it is none."""
    found = as_fraction(value)
    if found is None:
        raise BadInput(f"expected a rational coordinate for a system that is not expanded, got {value!r}")
    return found


def _independent(rows: Array) -> list[int]:
    """The first rows that are independent of those before them."""
    chosen: list[int] = []
    basis: list[Array] = []
    for i, row in enumerate(rows):
        size = np.linalg.norm(row)
        rest = row.astype(complex)
        for _ in range(2):
            for unit in basis:
                rest = rest - np.vdot(unit, rest) * unit
        if size and np.linalg.norm(rest) > _DEPENDENT * size and len(basis) < rows.shape[1]:
            chosen.append(i)
            basis.append(rest / np.linalg.norm(rest))
    return chosen


def number_text(value: object) -> str:
    """A number for messages, with six digits."""
    number = as_complex(value)
    return f"{number.real:.6g}" if not number.imag else f"{number:.6g}"
