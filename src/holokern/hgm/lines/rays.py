"""Rays from points of the singular locus: solutions begin and end there as series in one variable.

On a ray every entry of F satisfies an ODE, whose solutions :func:`frobenius` sums with proved tails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flint import acb, acb_mat, arb

from holokern.errors import BadInput, SingularPath, Unsupported
from holokern.hgm.lines.frobenius import LocalBasis, frobenius
from holokern.hgm.lines.initial import as_fraction, value_at
from holokern.hgm.steps.fixed_point import Ball
from holokern.numeric import to_fmpq
from holokern.pfaffian import CurveSystem, PfaffianSystem, RationalFunction
from holokern.weyl import derivatives_of

_TURNS = 8  # directions that are tried; generic ones are good
_REACH = 0.5  # the ray is summed this far out, relative to the radius of convergence


@dataclass(frozen=True)
class Ray:
    """The points point + t·direction, t > 0."""

    system: PfaffianSystem
    # the direction does not stay in the singular locus
    point: tuple[Fraction, ...]
    direction: tuple[Fraction, ...]

    @cached_property
    def curve(self) -> CurveSystem:
        """The system on the ray."""
        pairs = zip(self.system.variables, self.point, self.direction, strict=True)
        return self.system.restrict({name: f"({p}) + ({v})*t" for name, p, v in pairs}, "t")

    @cached_property
    def bases(self) -> list[LocalBasis]:
        """The solutions at t = 0 of the ODE of every entry of F."""
        return [frobenius(self.curve.scalar_ode(i), 0) for i in range(self.system.rank)]

    @cached_property
    def reach(self) -> Fraction:
        """A parameter where all series converge fast."""
        radius = min(2.0, *(basis.radius for basis in self.bases))
        return Fraction(_REACH * radius).limit_denominator(1 << 12)

    @property
    def near(self) -> list[Fraction]:
        """The point at :attr:`reach`, a regular one."""
        return [p + self.reach * v for p, v in zip(self.point, self.direction, strict=True)]


def ray_towards(system: PfaffianSystem, point: Sequence[Fraction], goal: Sequence[complex]) -> Ray:
    """The ray from a point roughly towards a goal, in small numbers, on a line that is not in the singular locus."""
    away = [complex(g).real - float(p) for g, p in zip(goal, point, strict=True)]
    longest = max(map(abs, away)) or 1.0
    rough = [Fraction(round(4 * a / longest), 4) for a in away]
    for turn in range(_TURNS):
        found = tuple(r + Fraction(turn * (i + 1), 4) for i, r in enumerate(rough))
        # a polynomial that vanishes at so many points of the line vanishes on all of it
        most = max((f.numerator.total_degree() for f in system.singular_locus), default=0)
        places = [[p + k * v for p, v in zip(point, found, strict=True)] for k in range(1, most + 2)]
        if any(found) and all(any(f(*place) for place in places) for f in system.singular_locus):
            return Ray(system, tuple(point), found)
    raise BadInput(f"every ray from {', '.join(map(str, point))} lies in the singular locus; start elsewhere")


@dataclass(frozen=True)
class Landing:
    """Limits at the beginning of a ray, a point of the singular locus, from F at a regular point of the ray."""

    ray: Ray
    rows: tuple[tuple[RationalFunction, ...], ...]  # what is wanted, as combinations of the entries of F

    @property
    def _where(self) -> str:
        return ", ".join(f"{n} = {p}" for n, p in zip(self.ray.system.variables, self.ray.point, strict=True))

    @cached_property
    def _wanted(self) -> list[tuple[LocalBasis, list[Sequence[RationalFunction]]]]:
        """For each row its solutions at t = 0, and the rows of its derivatives along the ray."""
        curve = self.ray.curve
        images = dict(zip(self.ray.system.variables, curve.curve, strict=True))
        found = []
        for row in self.rows:
            first: Sequence[RationalFunction] = [entry.substitute(images) for entry in row]
            basis = frobenius(curve.scalar_ode(first), 0)
            self._expect_limits(basis)
            derivatives = derivatives_of(first, curve.entry(first).derivative)
            found.append((basis, [derivatives((k,)) for k in range(len(basis))]))
        return found

    def _expect_limits(self, basis: LocalBasis) -> None:
        for rho, k in basis.exponents:
            low = float(acb(rho.value()).real)
            if low < 0 or (low == 0 and (k or rho.rational != 0)):
                raise SingularPath(
                    f"the target {self._where} lies on the singular locus, and solutions have the exponent {rho}"
                    f"{' with logarithms' * bool(k)} there, so values need not exist; take a target close to it"
                )

    def check(self) -> None:
        """Raise SingularPath unless what is wanted has limits."""
        try:
            if not self._wanted or not self.ray.bases:
                raise BadInput("expected something that is wanted at the target, got an empty list")
        except Unsupported:
            raise SingularPath(
                f"the target {self._where} is an irregular singular point, where solutions need not have limits; "
                "take a target close to it"
            ) from None

    def limits(self, vector: Sequence[Ball]) -> list[Ball]:
        """The limits at t = 0, from F at ``ray.near``."""
        reach = self.ray.reach
        t = arb(to_fmpq(reach))
        found: list[Ball] = []
        for basis, derivatives in self._wanted:
            size = len(basis)
            known = [
                sum((value_at(c, [t]) * f for c, f in zip(row, vector, strict=True) if c), arb(0))
                for row in derivatives
            ]
            jets = basis.jets(t)
            matrix = acb_mat([[acb(jets[j][k]) for j in range(size)] for k in range(size)])
            solved = matrix.solve(acb_mat([[acb(a)] for a in known]))
            total = acb(0)
            for j, (rho, _) in enumerate(basis.exponents):
                if rho.rational == 0:
                    total = total + solved[j, 0]
            found.append(total.real if all(isinstance(f, arb) for f in vector) else total)
        return found


def landing(
    system: PfaffianSystem,
    end: Sequence[object],
    origin: Sequence[complex],
    rows: Sequence[tuple[RationalFunction, ...]] | None,
) -> Landing | None:
    """How to arrive at a rational point of the singular locus where solutions are regular; None for other points."""
    exact = [as_fraction(x) for x in end]
    here = [x for x in exact if x is not None]
    if len(here) < len(exact):
        return None
    met = [f for f in system.singular_locus if not f(*here)]
    if not met:
        return None
    if len(here) > 1:
        # a limit on one ray is a value only where solutions are analytic
        try:
            apparent = system.apparent_singularities
        except BadInput:
            return None
        if any(f not in apparent for f in met):
            return None
    units = tuple(
        tuple(system.field.one if i == j else system.field.zero for j in range(system.rank)) for i in range(system.rank)
    )
    found = Landing(ray_towards(system, here, origin), units if rows is None else tuple(rows))
    found.check()
    return found
