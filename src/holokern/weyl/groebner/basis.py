"""Left Gröbner bases over Q: F4 modulo word-size primes, lifted by the Chinese remainder theorem."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from flint import fmpq

from holokern.errors import BadInput, CheckFailed
from holokern.numeric import Lifted, Lifting, bounded
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.orders import Order
from holokern.weyl.algebra.packing import Packing
from holokern.weyl.algebra.weyl_algebra import Monomial
from holokern.weyl.groebner.division import PackedDivider
from holokern.weyl.groebner.exact import check_s_pairs, exact_basis
from holokern.weyl.groebner.f4 import F4Run, UnluckyPrime
from holokern.weyl.groebner.modular import Residues, random_primes

_MAX_PRIMES = 400  # coefficients of up to about 6000 bits, numerator and denominator each


@bounded
def groebner_basis(
    generators: Sequence[Operator], order: Order, *, certified: bool = False, shifts: Collection[int] = ()
) -> list[Operator]:
    """A left Gröbner basis of the ideal of ``generators``; the reduced one for a well order.

    For an order that is not a well order the basis is computed in the homogenised Weyl algebra and dehomogenised
    [SST2000, Sect. 1.2].  Elements are monic and sorted by leading monomial.

    Parameters
    ----------
    generators : sequence of Operator
        Operators of one Weyl algebra; zeros are dropped.
    order : Order
        Any order of that algebra.
    certified : bool
        Prove the result over Q before it is returned; see the notes.
    shifts : collection of int
        Places i at which [∂_i, x_i] = x_i holds instead of 1; the names stand for other operators then, and products
        of these ``generators`` must not be made with ``*``.  Only for well orders.

    Raises
    ------
    CheckFailed
        When no basis passes its checks, because its coefficients are too large for the available primes.

    Notes
    -----
    The basis is computed by F4 [Faugere1999] modulo primes of 31 bits that are drawn at random.  The run modulo the
    first prime is recorded and replayed modulo the others, until the rational reconstruction agrees with a prime that
    it was not made from.  The first replay and the last one repeat every reduction, even those to zero.  When a replay
    differs from the record, all primes are dropped and the computation begins again.

    Before a basis is returned, each generator has been reduced to zero over Q, so the ideal of the basis contains the
    ideal of the generators.  All S-pairs have been reduced to zero modulo two primes at least.  Without ``certified``
    it is not proved that the S-pairs vanish over Q, and that the basis lies in the ideal.  A wrong answer needs primes
    that divide certain non-zero integers.  An integer of B bits is divisible by at most B/30 of the 50 million primes,
    so a random prime misleads with a probability of at most B/30 in 50 million.  Losing an S-polynomial needs two such
    primes, a wrong coefficient only one.

    With ``certified`` the recorded run is repeated with rational numbers, so every element lies in the ideal by
    construction, and Buchberger's criterion is checked by division over Q.  This proof uses no primes.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> from holokern.weyl.algebra.orders import grevlex
    >>> D = weyl_algebra("x y")
    >>> groebner_basis([D("x*dx - 1"), D("dx^2 - dy")], grevlex(D), certified=True)
    [dy, dx^2, x*dx - 1]
    """
    operators = [f for f in generators if f]
    if not operators:
        return []
    algebra = operators[0].algebra
    if order.size != 2 * algebra.dimension or any(f.algebra != algebra for f in operators):
        raise BadInput("expected operators and an order of one and the same Weyl algebra")
    packing = Packing(order, not order.is_well_order, shifts)
    basis = _lift(packing, [packing.pack(f) for f in operators], certified)
    size = order.size
    return [Operator(algebra, {packing.decode(code)[:size]: c for code, c in terms.items()}) for terms in basis]


@bounded
def leading_parts(generators: Sequence[Operator], order: Order) -> list[tuple[int, list[dict[Monomial, int]]]]:
    """The left Gröbner basis modulo two random primes: for each the prime, and the elements with their residues.

    What depends on the leading monomials alone, such as dimensions and ranks, needs no lifting to Q.  As with a basis
    that is not certified, the two runs agree in every reduction, and that they agree with Q is not proved.
    """
    operators = [f for f in generators if f]
    packing = Packing(order, not order.is_well_order)
    packed = [packing.pack(f) for f in operators]
    primes = (p for p in random_primes() if not _divides_a_coefficient(p, packed))
    while True:
        first, second = next(primes), next(primes)
        run = F4Run(packing, packed, first)
        try:
            both = ((first, run.values), (second, run.replay(second, True)))
        except UnluckyPrime:
            continue
        keys = [[packing.decode(code)[: order.size] for code in codes] for codes in run.codes]
        return [
            (p, [dict(zip(row, residues.tolist(), strict=True)) for row, residues in zip(keys, values, strict=True)])
            for p, values in both
        ]


def _lift(packing: Packing, generators: list[dict[int, fmpq]], certified: bool) -> list[dict[int, fmpq]]:
    """The reduced basis over Q, from its images modulo primes."""
    run: F4Run | None = None
    lifting = Lifting()
    guess: Lifted | None = None
    thorough = True  # the first replay, and the last one
    for p in islice(random_primes(), _MAX_PRIMES):
        if _divides_a_coefficient(p, generators):
            continue
        try:
            if run is None:
                run = F4Run(packing, generators, p)
                values = run.values
            else:
                values = run.replay(p, thorough)
                if guess is not None and _agrees(guess, values, p):
                    rows = ([fmpq(top, bottom) for top in tops] for tops, bottom in guess)
                    basis = [dict(zip(codes, row, strict=True)) for codes, row in zip(run.codes, rows, strict=True)]
                    if thorough:
                        _verify(packing, run, basis, certified)
                        return basis
                    thorough = True
                    continue
                thorough = False
        except UnluckyPrime:
            # Either prime may be the unlucky one: begin again, so that two agreeing primes are needed.
            run, lifting, guess, thorough = None, Lifting(), None, True
            continue
        lifting.add([row.tolist() for row in values], p)
        guess = lifting.lifted()
    raise CheckFailed(
        f"the Gröbner basis of {len(generators)} generators was not found with {_MAX_PRIMES} primes: its coefficients "
        "are too large; try another order, or other generators of the same ideal"
    )


def _divides_a_coefficient(p: int, generators: list[dict[int, fmpq]]) -> bool:
    return any(c.p % p == 0 or c.q % p == 0 for terms in generators for c in terms.values())


def _verify(packing: Packing, run: F4Run, basis: list[dict[int, fmpq]], certified: bool) -> None:
    """Over Q: the generators lie in the ideal of the basis; ``certified`` adds the converse and the S-pairs."""
    divider = PackedDivider(packing, basis)
    if any(divider.divide(terms) for terms in run.generators):
        raise UnluckyPrime
    if certified and (exact_basis(run) != basis or not check_s_pairs(packing, basis)):
        raise UnluckyPrime


def _agrees(guess: Lifted, values: list[Residues], p: int) -> bool:
    return all(
        (top - bottom * residue) % p == 0
        for (tops, bottom), residues in zip(guess, values, strict=True)
        for top, residue in zip(tops, residues.tolist(), strict=True)
    )
