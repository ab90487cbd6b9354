"""Left Gröbner bases over Q: F4 modulo word-size primes, lifted by the Chinese remainder theorem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holokern.errors import BadInput, CheckFailed
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order
from holokern.weyl.algebra.packing import Packing
from holokern.weyl.groebner.division import PackedDivider
from holokern.weyl.groebner.f4 import F4Run, UnluckyPrime
from holokern.weyl.groebner.modular import Residues, primes, reconstruct

__all__ = ["groebner_basis"]

_MAX_PRIMES = 400


def groebner_basis(generators: Sequence[Operator], order: Order) -> list[Operator]:
    """A left Gröbner basis of the ideal of ``generators``; the reduced one for a well order.

    For an order that is not a well order the basis is computed in the homogenised Weyl algebra and dehomogenised
    [SST2000, Sect. 1.2].  Elements are monic and sorted by leading monomial.

    The basis is computed by F4 [Faugere1999] modulo primes; the first run is recorded and replayed modulo the others
    until the rational reconstruction agrees with one more prime and reduces the generators to zero over Q.  So the
    generators certainly lie in the ideal of the result; the rest is wrong with a probability of about 2^-31, and
    :mod:`holokern.weyl.groebner.checker` can prove it.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.algebra.orders import grevlex
    >>> D = weyl_algebra("x y")
    >>> groebner_basis([D("x*dx - 1"), D("dx^2 - dy")], grevlex(D))
    [dy, dx^2, x*dx - 1]
    """
    operators = [f for f in generators if f]
    if not operators:
        return []
    algebra = operators[0].algebra
    if order.size != 2 * algebra.dimension or any(f.algebra != algebra for f in operators):
        raise BadInput("expected operators and an order of one and the same Weyl algebra")
    packing = Packing(order, not order.is_well_order)
    basis = _lift(packing, [packing.pack(f) for f in operators])
    size = order.size
    return [Operator(algebra, {packing.decode(code)[:size]: c for code, c in terms.items()}) for terms in basis]


def _lift(packing: Packing, generators: list[dict[int, Any]]) -> list[dict[int, Any]]:
    """The reduced basis over Q, from its images modulo primes."""
    run: F4Run | None = None
    combined: list[list[int]] = []
    modulus = 1
    guess: list[list[Any]] | None = None
    for count, p in enumerate(primes()):
        if count > _MAX_PRIMES:
            raise CheckFailed(
                f"the Gröbner basis was not found with {_MAX_PRIMES} primes; its coefficients are too large"
            )
        try:
            if run is None:
                run = F4Run(packing, generators, p)
                values = run.values
            else:
                values = run.replay(p)
        except UnluckyPrime:
            # Either prime may be the unlucky one: begin again, so that two agreeing primes are needed.
            run, combined, modulus, guess = None, [], 1, None
            continue
        if guess is not None and _agrees(guess, values, p):
            basis = [dict(zip(codes, row, strict=True)) for codes, row in zip(run.codes, guess, strict=True)]
            divider = PackedDivider(packing, basis)
            if not any(divider.divide(terms) for terms in generators):
                return basis
        combined = _combine(combined, modulus, values, p)
        modulus *= p
        guess = _guess(combined, modulus)
    raise AssertionError("unreachable")


def _combine(combined: list[list[int]], modulus: int, values: list[Residues], p: int) -> list[list[int]]:
    fresh = [row.tolist() for row in values]
    if not combined:
        return fresh
    inverse = pow(modulus, -1, p)
    return [
        [a + modulus * ((b - a) * inverse % p) for a, b in zip(row, new, strict=True)]
        for row, new in zip(combined, fresh, strict=True)
    ]


def _guess(combined: list[list[int]], modulus: int) -> list[list[Any]] | None:
    found = []
    for row in combined:
        numbers = []
        for residue in row:
            number = reconstruct(residue, modulus)
            if number is None:
                return None
            numbers.append(number)
        found.append(numbers)
    return found


def _agrees(guess: list[list[Any]], values: list[Residues], p: int) -> bool:
    for numbers, residues in zip(guess, values, strict=True):
        for number, residue in zip(numbers, residues.tolist(), strict=True):
            if (int(number.p) - int(number.q) * residue) % p:
                return False
    return True
