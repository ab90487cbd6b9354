"""The intersection of a left ideal with the Weyl algebra in some of the variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holokern.errors import BadInput, UnknownName
from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra, split_names

if TYPE_CHECKING:
    from holokern.weyl.modules.ideal import LeftIdeal


def contraction(ideal: LeftIdeal, variables: str | Iterable[str]) -> tuple[WeylAlgebra, list[Operator]]:
    """The smaller algebra, and the reduced Gröbner basis for grevlex of the intersection with it."""
    keep, known = split_names(variables), ideal.algebra.variables
    for name in keep:
        if name not in known:
            raise UnknownName(f"unknown variable {name!r}; this Weyl algebra has {' '.join(known)}")
    if not keep:
        raise BadInput("expected at least one variable to keep")
    places = [i for i, name in enumerate(known) if name in keep]
    pairs = list(zip(known, ideal.algebra.derivations, strict=True))
    smaller = WeylAlgebra(tuple(pairs[i][0] for i in places), tuple(pairs[i][1] for i in places))
    names = [name for i, pair in enumerate(pairs) if i not in places for name in pair]
    every = [*places, *(i + len(known) for i in places)]
    found = [{tuple(key[i] for i in every): c for key, c in g} for g in ideal.eliminate(names)]
    return smaller, [Operator(smaller, terms) for terms in found]
