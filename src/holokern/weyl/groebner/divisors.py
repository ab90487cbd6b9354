"""Which multiple of which polynomial has a given leading monomial."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from holokern.weyl.algebra.packing import Packing, Support
from holokern.weyl.algebra.weyl_algebra import Monomial

Fields = np.ndarray[Any, np.dtype[np.uint16]]
Masks = np.ndarray[Any, np.dtype[np.int64]]

_CHUNK = 1 << 22  # comparisons of exponents that are made in one array operation


class Multiple(NamedTuple):
    """The product of the polynomial number ``source`` by ∂^b from the left and then by the monomial code ``shift``."""

    source: int
    b: Monomial
    shift: int


class Divisors:
    """Some of the polynomials of a computation, searched by leading monomial; the first that divides is taken.

    Multiples in ``known``, from earlier searches, are taken without a search, and new ones are added.
    """

    def __init__(
        self,
        packing: Packing,
        supports: list[Support],
        basis: Iterable[int],
        known: dict[int, Multiple] | None = None,
    ) -> None:
        self._known = {} if known is None else known
        self._packing = packing
        self._supports = supports
        self._basis = list(basis)
        self._leads = [(supports[i].lead, i) for i in self._basis]
        self._derivations: dict[Monomial, int] = {}
        self._lead_fields = self._fields([lead for lead, _ in self._leads])
        self._lead_masks = _masks(self._lead_fields)

    def multiple(self, source: int, code: int) -> Multiple:
        """The multiple of polynomial ``source`` with the leading monomial ``code``."""
        n = self._packing.n
        quotient = code - self._supports[source].codes[0]
        return self._multiple(source, quotient, self._packing.decode(quotient)[n : 2 * n])

    def find(self, code: int) -> Multiple | None:
        """The multiple of one of the polynomials with the leading monomial ``code``, if there is one."""
        guard = self._packing.guard
        guarded = self._packing.exponents_part(code) | guard
        for lead, i in self._leads:
            if (guarded - lead) & guard == guard:
                return self.multiple(i, code)
        return None

    def find_all(self, codes: list[int]) -> list[Multiple | None]:
        """The same for many monomials at once."""
        known = self._known
        unknown = [code for code in codes if code not in known]
        for code, multiple in zip(unknown, self._search(unknown), strict=True):
            if multiple is not None:
                known[code] = multiple
        return [known.get(code) for code in codes]

    def _search(self, codes: list[int]) -> list[Multiple | None]:
        packing = self._packing
        found: list[Multiple | None] = [None] * len(codes)
        if not self._basis:
            return found
        places = packing.fields_of_derivations
        step = max(1, _CHUNK // len(self._basis))
        for start in range(0, len(codes), step):
            part = codes[start : start + step]
            fields = self._fields([packing.exponents_part(code) for code in part])
            # few leading monomials have all their variables in a monomial; only these are compared by exponents
            rows, columns = np.nonzero((self._lead_masks & ~_masks(fields)[:, None]) == 0)
            divides = np.all(fields[rows] >= self._lead_fields[columns], axis=1)
            hits, first = np.unique(rows[divides], return_index=True)
            choices = columns[divides][first]
            derivations = (fields[hits] - self._lead_fields[choices])[:, places].tolist()
            for hit, choice, b in zip(hits.tolist(), choices.tolist(), derivations, strict=True):
                source = self._basis[choice]
                quotient = part[hit] - self._supports[source].codes[0]
                found[start + hit] = self._multiple(source, quotient, tuple(b))
        return found

    def _multiple(self, source: int, quotient: int, b: Monomial) -> Multiple:
        code = self._derivations.get(b)
        if code is None:
            codes, n = self._packing.codes, self._packing.n
            code = self._derivations[b] = sum(e * codes[n + i] for i, e in enumerate(b) if e)
        return Multiple(source, b, quotient - code)

    def _fields(self, packed: list[int]) -> Fields:
        width = 2 * self._packing.size
        data = b"".join([exponents.to_bytes(width, "little") for exponents in packed])
        return np.frombuffer(data, dtype="<u2").reshape(len(packed), self._packing.size)


def _masks(fields: Fields) -> Masks:
    """Bit sets of the variables that occur, one a row; beyond 62 variables some share a bit, which does no harm."""
    bits = np.int64(1) << (np.arange(fields.shape[1], dtype=np.int64) % 62)
    masks: Masks = np.bitwise_or.reduce(np.where(fields > 0, bits, np.int64(0)), axis=1)
    return masks
