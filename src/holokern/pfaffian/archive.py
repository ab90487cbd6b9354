"""Pfaffian systems as JSON: exact, versioned, and checked on the way in.

Every polynomial is stored once, as a list of [coefficient, exponents] with the coefficient as text; a matrix entry is a
pair of places in that list.  A digest over the content tells damaged files from good ones.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from math import inf
from typing import Any

from flint import fmpz_mpoly

from holokern.activation import ExactReal, Opaque, exact
from holokern.errors import ArchiveError, HolokernError
from holokern.pfaffian.system import PfaffianSystem
from holokern.weyl import FunctionField, Matrix, RationalFunction, function_field, rational_weyl_algebra, weyl_algebra

FORMAT = "holokern.pfaffian"
VERSION = 1
Json = str | int | list[Any] | dict[str, Any]
_HIGHEST = 10_000  # exponents of a polynomial; those of derived systems stay below a hundred
# what reading a system with wrong content can raise
_DAMAGE = (KeyError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError, RecursionError, HolokernError)
_ALGEBRA = weyl_algebra("u", "D")  # annihilators are written in u and D
# the names in either coordinates; a file with others is damaged
_VARIABLES = {"sigma": ("S11", "S12", "S22"), "x": ("x11", "x12", "x22")}


def to_json(system: PfaffianSystem, *, indent: int | None = None) -> str:
    """A system as JSON text; :func:`from_json` gives back an equal system.

    ``indent``: passed to :func:`json.dumps`.
    """
    table = _Polynomials()
    matrices = [table.matrix(matrix) for matrix in system.matrices]
    content: dict[str, Any] = {
        "coordinates": system.coordinates,
        "variables": list(system.variables),
        "basis": [list(e) if isinstance(e, tuple) else str(e) for e in system.basis],
        "annihilators": [[str(operator) for operator in operators] for operators in system.annihilators],
        "scale": None if system.scale is None else [_number_record(part) for part in system.scale],
        "frame": None if system.frame is None else table.matrix(system.frame),
        "function": None if system.function is None else table.matrix((system.function,))[0],
        "matrices": matrices,
        "polynomials": table.stored,
    }
    if not system.of_dual_activation:
        # none for a system that is given by its matrices
        sides = system.annihilators
        content["derivations"] = list(sides[0][0].algebra.derivations) if sides else None
        content["parameters"] = list(system.parameters)
    return json.dumps({"format": FORMAT, "version": VERSION, "digest": _digest(content), **content}, indent=indent)


def from_json(text: str) -> PfaffianSystem:
    """Read what :func:`to_json` wrote.

    Raises ArchiveError when the text is not JSON, not of this format, of another version, or damaged.
    """
    if not isinstance(text, (str, bytes)):
        raise ArchiveError(f"expected JSON text, got {type(text).__name__}; give the text of the file")
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        raise ArchiveError("the text is not JSON; write systems with to_json()") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ArchiveError(f"the JSON is not a Pfaffian system of holokern: expected the format {FORMAT!r}")
    if record.get("version") != VERSION:
        raise ArchiveError(
            f"the system has version {record.get('version')!r} of the format, and this holokern reads {VERSION}; "
            "derive it anew"
        )
    content = {key: value for key, value in record.items() if key not in ("format", "version", "digest")}
    if record.get("digest") != _digest(content):
        raise ArchiveError("the system is damaged: its digest does not match its content; derive it anew")
    try:
        return _decode(content)
    except _DAMAGE as error:
        raise ArchiveError(f"the system is damaged ({error}); derive it anew") from None


class _Polynomials:
    """Polynomials in the order of their first use."""

    def __init__(self) -> None:
        self.places: dict[tuple[tuple[str, tuple[int, ...]], ...], int] = {}
        self.stored: list[list[Any]] = []

    def place(self, polynomial: fmpz_mpoly) -> int:
        terms = tuple((str(c), tuple(map(int, key))) for key, c in polynomial.terms())
        if terms not in self.places:
            self.places[terms] = len(self.stored)
            self.stored.append([[c, list(key)] for c, key in terms])
        return self.places[terms]

    def matrix(self, matrix: Matrix) -> list[list[list[int]]]:
        return [[[self.place(entry.numerator), self.place(entry.denominator)] for entry in row] for row in matrix]


def _decode(content: dict[str, Any]) -> PfaffianSystem:
    from holokern.pfaffian.system import PfaffianSystem

    coordinates = content["coordinates"]
    variables = tuple(content["variables"])
    if coordinates != "own" and variables != _VARIABLES[coordinates]:
        raise ValueError(f"expected the variables {_VARIABLES[coordinates]}, got {variables}")
    field = function_field((*variables, *content.get("parameters", ())))
    polynomials = [_polynomial(field, terms) for terms in content["polynomials"]]
    basis, annihilators = _operators(content, variables)
    size = len(basis)
    matrices = tuple(_matrix(field, polynomials, rows, size) for rows in content["matrices"])
    if len(matrices) != len(variables):
        raise ValueError(f"expected {len(variables)} matrices, got {len(matrices)}")
    if content["scale"] is not None and not all(0 < abs(float(_read_number(part))) < inf for part in content["scale"]):
        raise ValueError("a scale is zero or infinite")
    scale, frame, function = content["scale"], content["frame"], content.get("function")
    return PfaffianSystem(
        coordinates=coordinates,
        basis=basis,
        matrices=matrices,
        annihilators=annihilators,
        scale=None if scale is None else (_read_number(scale[0]), _read_number(scale[1])),
        frame=None if frame is None else _matrix(field, polynomials, frame, size),
        function=None if function is None else tuple(_entry(field, polynomials, place) for place in function),
    )


def _operators(content: dict[str, Any], variables: tuple[str, ...]) -> tuple[Any, Any]:
    """The basis and the annihilators."""
    if content["coordinates"] != "own":
        left, right = (tuple(_ALGEBRA(text) for text in texts) for texts in content["annihilators"])
        return tuple(_exponents(element) for element in content["basis"]), (left, right)
    if content["derivations"] is None:
        return tuple(map(str, content["basis"])), ()
    algebra = weyl_algebra(variables, content["derivations"])
    rational = rational_weyl_algebra(algebra, parameters=content.get("parameters", ()))
    (texts,) = content["annihilators"]
    operators = tuple(rational(text) for text in texts)
    if not rational.parameters and all(c.denominator.is_one() for P in operators for _, c in P):
        return tuple(rational(text) for text in content["basis"]), (tuple(algebra(text) for text in texts),)
    return tuple(rational(text) for text in content["basis"]), (operators,)


def _matrix(field: FunctionField, polynomials: list[fmpz_mpoly], rows: list[Any], size: int) -> Matrix:
    if len(rows) != size or any(len(row) != size for row in rows):
        raise ValueError("a matrix does not fit the basis")
    return tuple(tuple(_entry(field, polynomials, place) for place in row) for row in rows)


def _polynomial(field: FunctionField, terms: list[Any]) -> fmpz_mpoly:
    found = {_exponents(key): int(c) for c, key in terms}
    if len(found) != len(terms) or any(len(key) != len(field.variables) for key in found):
        raise ValueError("a polynomial has repeated or misshapen terms")
    polynomial: fmpz_mpoly = field.ctx.from_dict(found)
    return polynomial


def _exponents(key: list[Any]) -> tuple[int, ...]:
    if not all(type(e) is int and 0 <= e <= _HIGHEST for e in key):
        raise ValueError(f"expected integer exponents from 0 to {_HIGHEST}, got {key}")
    return tuple(key)


def _entry(field: FunctionField, polynomials: list[fmpz_mpoly], place: list[int]) -> RationalFunction:
    top, bottom = place
    if min(top, bottom) < 0:
        raise ValueError("a place in the list of polynomials is negative")
    return field.fraction(polynomials[top], polynomials[bottom])


def _number_record(number: Fraction | ExactReal) -> Json:
    """A rational number as text; another exact constant as its terms."""
    if isinstance(number, ExactReal) and number.rational is None:
        return [[str(c), [[_base_record(base), str(e)] for base, e in key]] for key, c in number.terms.items()]
    return str(number)


def _base_record(base: Opaque | str | int) -> Json:
    if isinstance(base, Opaque):
        return {"name": base.name, "args": [_number_record(arg) for arg in base.args]}
    return base


def _read_number(record: Any) -> Fraction | ExactReal:
    if isinstance(record, str):
        return Fraction(record)
    return ExactReal({tuple((_read_base(b), Fraction(e)) for b, e in key): Fraction(c) for c, key in record})


def _read_base(record: Any) -> Opaque | str | int:
    if isinstance(record, dict):
        return Opaque(record["name"], tuple(exact(_read_number(arg)) for arg in record["args"]))
    if not isinstance(record, (str, int)):
        raise ValueError(f"expected the base of an exact constant, got {record!r}")
    return record


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
