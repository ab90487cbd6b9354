"""Closed forms written out: k and k′ as text and LaTeX, derived symbolically and apart from the numerical formulas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holokern.activation import ClosedTerm, ClosedTerms, closed_terms
from holokern.activation import activation as as_activation
from holokern.dual.closed.method import has_no_closed_form
from holokern.errors import Unsupported

if TYPE_CHECKING:
    from sympy import Expr

    from holokern.activation import ExactReal

#: "sin" or "cos", and the frequency.
Wave = tuple[str, "Expr"]


@dataclass(frozen=True)
class ClosedForm:
    """Closed forms of k and k′ in c1, c2 and θ, with r = cos θ.

    ``Phi`` is the standard normal distribution function, ``Phi_2(h, k, r)`` the bivariate one with correlation r.

    Attributes
    ----------
    k, kdot
        SymPy expressions in the symbols c1, c2, theta; ``str`` gives text.
    """

    k: Expr
    kdot: Expr

    @property
    def k_latex(self) -> str:
        """K in LaTeX."""
        return _latex(self.k)

    @property
    def kdot_latex(self) -> str:
        """k′ in LaTeX."""
        return _latex(self.kdot)

    def __repr__(self) -> str:
        return f"k = {self.k}\nkdot = {self.kdot}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle k = {self.k_latex},\\quad k' = {self.kdot_latex}$"


def closed_form(activation: object) -> ClosedForm:
    """The closed form of the dual activation.

    Raises
    ------
    Unsupported
        If the activation has none here, with the reason.

    Examples
    --------
    >>> closed_form("relu")
    k = c1*c2*((pi - theta)*cos(theta) + sin(theta))/(2*pi)
    kdot = (-theta/pi + 1)/2
    """
    sigma = as_activation(activation)
    terms = closed_terms(sigma)
    reason = has_no_closed_form(sigma)
    if isinstance(terms, str) or reason is not None:
        raise Unsupported(f"{sigma} has no closed form: {reason}")
    return _Writer(terms).form()


def _latex(expression: Expr) -> str:
    import sympy

    names = {sympy.Symbol("c1", positive=True): "c_1", sympy.Symbol("c2", positive=True): "c_2"}
    return str(sympy.latex(expression, symbol_names=names))


@dataclass(frozen=True)
class _Law:
    """Variances, covariance and angle of a centred normal law as expressions."""

    first: Expr
    second: Expr
    covariance: Expr
    theta: Expr
    sin: Expr

    @property
    def deviations(self) -> tuple[Expr, Expr]:
        import sympy

        return sympy.sqrt(self.first), sympy.sqrt(self.second)

    def reflected(self) -> _Law:
        """The law of (u, -v)."""
        import sympy

        return _Law(self.first, self.second, -self.covariance, sympy.pi - self.theta, self.sin)

    def swapped(self) -> _Law:
        """The law of (v, u)."""
        return _Law(self.second, self.first, self.covariance, self.theta, self.sin)

    def form(self, a: Expr, b: Expr) -> Expr:
        """(a, b) Σ (a, b)ᵀ."""
        return a**2 * self.first + 2 * a * b * self.covariance + b**2 * self.second


class _Writer:
    """Sums over pairs of terms; every E[u h] is reduced by [Stein1981] until no power is left."""

    def __init__(self, terms: ClosedTerms) -> None:
        import sympy

        self.sp = sympy
        self.terms = terms
        self.scale = self._number(terms.scale)
        self.theta = sympy.Symbol("theta", positive=True)
        self.c1, self.c2 = (sympy.Symbol(name, positive=True) for name in ("c1", "c2"))
        first, second = self.scale * self.c1, self.scale * self.c2
        cos, sin = sympy.cos(self.theta), sympy.sin(self.theta)
        self.law = _Law(first**2, second**2, first * second * cos, self.theta, sin)

    def form(self) -> ClosedForm:
        k = self._sum(self.terms.value)
        kdot = self._sum(self.terms.slope) + self._deltas()
        return ClosedForm(self._tidy(k), self._tidy(self.scale**2 * kdot))

    def _tidy(self, expression: Expr) -> Expr:
        sp = self.sp
        expanded = sp.expand(expression, power_base=False, power_exp=False)
        # θ and π stay together: (π - θ) is the opening of the quadrant.
        opening = sp.Symbol("opening")
        collected = sp.collect(sp.expand(expanded.subs(self.theta, sp.pi - opening)), opening)
        candidates = [
            sp.factor_terms(expanded),
            sp.factor_terms(collected.subs(opening, sp.pi - self.theta)),
        ]
        return min(candidates, key=lambda e: (sp.count_ops(e), len(str(e))))

    def _number(self, value: ExactReal) -> Expr:
        """An exact constant as a SymPy number."""
        return value.as_sympy()

    def _sum(self, terms: Iterable[ClosedTerm]) -> Expr:
        terms = tuple(terms)
        pair = {"halves": self._halves, "smooth": self._smooth, "erf": self._erf}[self.terms.family]
        return sum(
            (self._number(s.coefficient * t.coefficient) * pair(s, t) for s in terms for t in terms), self.sp.S(0)
        )

    def _times_gaussian(self, law: _Law, q1: Expr, q2: Expr) -> tuple[Expr, _Law]:
        """The mass and the law after multiplication by exp(q₁u² + q₂v²)."""
        sp = self.sp
        if q1 == 0 and q2 == 0:
            return sp.S(1), law
        det = law.first * law.second * law.sin**2
        mass = 1 - 2 * q1 * law.first - 2 * q2 * law.second + 4 * q1 * q2 * det
        first, second = (law.first - 2 * q2 * det) / mass, (law.second - 2 * q1 * det) / mass
        cos = law.covariance / sp.sqrt((law.first - 2 * q2 * det) * (law.second - 2 * q1 * det))
        sine = sp.sqrt(det * mass / ((law.first - 2 * q2 * det) * (law.second - 2 * q1 * det)))
        return 1 / sp.sqrt(mass), _Law(first, second, law.covariance / mass, sp.acos(cos), sine)

    # -- half-lines ---------------------------------------------------------------------------------------------------

    def _halves(self, s: ClosedTerm, t: ClosedTerm) -> Expr:
        mass, law = self._times_gaussian(self.law, self.sp.Rational(s.bend), self.sp.Rational(t.bend))
        if s.side * t.side < 0:
            law = law.reflected()
        rates = s.side * self.sp.Rational(s.rate), t.side * self.sp.Rational(t.rate)
        return s.side**s.power * t.side**t.power * mass * self._quadrant((s.power, t.power), rates, law)

    def _quadrant(self, powers: tuple[int, int], rates: tuple[Expr, Expr], law: _Law) -> Expr:
        """E[u^m v^n exp(au + bv); u, v > 0]."""
        sp = self.sp
        (m, n), (a, b) = powers, rates
        if m == n == 0:
            return self._probability(a, b, law)
        if m == 0:
            return self._quadrant((n, m), (b, a), law.swapped())
        total = sp.S(0)
        for factor, rest in (
            ((m - 1) * law.first, (m - 2, n)),
            (a * law.first + b * law.covariance, (m - 1, n)),
            (n * law.covariance, (m - 1, n - 1)),
        ):
            if factor != 0:
                total += factor * self._quadrant(rest, rates, law)
        # The derivative of the indicator function of u > 0 is δ(u), which survives only without a power of u.
        c1, c2 = law.deviations
        if m == 1:
            total += law.first / (sp.sqrt(2 * sp.pi) * c1) * self._half_line(n, b, law.second * law.sin**2)
        if n == 0:
            total += law.covariance / (sp.sqrt(2 * sp.pi) * c2) * self._half_line(m - 1, a, law.first * law.sin**2)
        return total

    def _probability(self, a: Expr, b: Expr, law: _Law) -> Expr:
        sp = self.sp
        if a == 0 and b == 0:
            return (sp.pi - law.theta) / (2 * sp.pi)
        c1, c2 = law.deviations
        h, k = (a * law.first + b * law.covariance) / c1, (b * law.second + a * law.covariance) / c2
        correlation = law.covariance / (c1 * c2)
        return sp.exp(law.form(a, b) / 2) * sp.Function("Phi_2")(sp.expand(h), sp.expand(k), correlation)

    def _half_line(self, n: int, b: Expr, variance: Expr) -> Expr:
        """E[v^n exp(bv); v > 0] for a centred normal v."""
        sp = self.sp
        deviation = sp.sqrt(variance).subs(sp.Abs(sp.sin(self.theta)), sp.sin(self.theta))
        if n == 0:
            return sp.Rational(1, 2) if b == 0 else sp.exp(b**2 * variance / 2) * sp.Function("Phi")(b * deviation)
        total = b * self._half_line(n - 1, b, variance)
        total += 1 / (sp.sqrt(2 * sp.pi) * deviation) if n == 1 else (n - 1) * self._half_line(n - 2, b, variance)
        return variance * total

    def _deltas(self) -> Expr:
        """The terms of k′ with a δ at a jump at zero."""
        sp = self.sp
        jump = self._number(self.terms.jump)
        if jump == 0:
            return sp.S(0)
        c1, c2 = self.law.deviations
        total = jump**2 / (2 * sp.pi * c1 * c2 * self.law.sin)
        for c, variance in ((c1, self.law.second), (c2, self.law.first)):
            for term in self.terms.slope:
                q, given = sp.Rational(term.bend), variance * self.law.sin**2
                mass = 1 - 2 * q * given
                mean = self._half_line(term.power, term.side * sp.Rational(term.rate), given / mass) / sp.sqrt(mass)
                factor = self._number(term.coefficient) * term.side**term.power
                total += jump / (sp.sqrt(2 * sp.pi) * c) * factor * mean
        return total

    # -- the whole line -----------------------------------------------------------------------------------------------

    def _smooth(self, s: ClosedTerm, t: ClosedTerm) -> Expr:
        sp = self.sp
        mass, law = self._times_gaussian(self.law, sp.Rational(s.bend), sp.Rational(t.bend))
        waves = (s.wave or "cos", sp.Rational(s.frequency)), (t.wave or "cos", sp.Rational(t.frequency))
        rates = sp.Rational(s.rate), sp.Rational(t.rate)
        return mass * self._wave_moment((s.power, t.power), rates, waves, law)

    def _wave_moment(
        self, powers: tuple[int, int], rates: tuple[Expr, Expr], waves: tuple[Wave, Wave], law: _Law
    ) -> Expr:
        """E[u^m v^n exp(au + bv) wave(fu) wave(gv)]."""
        (m, n), (a, b) = powers, rates
        if m == n == 0:
            return self._wave_mean(rates, waves, law)
        if m == 0:
            return self._wave_moment((n, m), (b, a), waves[::-1], law.swapped())
        total = self.sp.S(0)
        for factor, rest, turned in (
            ((m - 1) * law.first, (m - 2, n), waves),
            (a * law.first + b * law.covariance, (m - 1, n), waves),
            (n * law.covariance, (m - 1, n - 1), waves),
            (_turn(waves[0])[0] * law.first, (m - 1, n), (_turn(waves[0])[1], waves[1])),
            (_turn(waves[1])[0] * law.covariance, (m - 1, n), (waves[0], _turn(waves[1])[1])),
        ):
            if factor != 0:
                total += factor * self._wave_moment(rest, rates, turned, law)
        return total

    def _wave_mean(self, rates: tuple[Expr, Expr], waves: tuple[Wave, Wave], law: _Law) -> Expr:
        sp = self.sp
        (a, b), ((left, f), (right, g)) = rates, waves
        if a == b == 0:
            damping = sp.exp(-(f**2 * law.first + g**2 * law.second) / 2)
            if left != right:
                return sp.S(0)
            return damping * (sp.cosh if left == "cos" else sp.sinh)(f * g * law.covariance)
        total = sp.S(0)
        for sign in (1, -1):
            phase = a * f * law.first + (a * sign * g + b * f) * law.covariance + b * sign * g * law.second
            height = sp.exp((law.form(a, b) - law.form(f, sign * g)) / 2) / 2
            # Products of waves as waves of fu ± gv.
            if left == right:
                total += height * sp.cos(phase) * (1 if left == "cos" else -sign)
            else:
                total += height * sp.sin(phase) * (1 if left == "sin" else sign)
        return total

    def _erf(self, s: ClosedTerm, t: ClosedTerm) -> Expr:
        sp = self.sp
        factors = [
            _Factor(
                x.power,
                sp.Rational(x.rate),
                sp.Rational(x.bend),
                sp.S(0) if x.erf is None else self._number(x.erf),
                self._number(x.offset),
            )
            for x in (s, t)
        ]
        return self._erf_moment(factors[0], factors[1])

    def _erf_moment(self, f: _Factor, g: _Factor) -> Expr:
        """E[f(u) g(v)] by E[u h] = μ E[h] + Σ₁₁ E[∂h/∂u] + Σ₁₂ E[∂h/∂v]."""
        sp = self.sp
        mass, law = self._times_gaussian(self.law, f.bend, g.bend)
        mass *= sp.exp(law.form(f.rate, g.rate) / 2)
        means = law.first * f.rate + law.covariance * g.rate, law.covariance * f.rate + law.second * g.rate
        if f.power == g.power == 0:
            return mass * self._erf_mean(f, g, law, means)
        if f.power:
            mean, left, right, to_u, to_v = means[0], f.lowered(), g, law.first, law.covariance
        else:
            mean, left, right, to_u, to_v = means[1], f, g.lowered(), law.covariance, law.second
        total = sp.S(0) if mean == 0 else mean * self._erf_moment(left, right)
        total += sum(c * to_u * self._erf_moment(d, right) for c, d in self._derivatives(left))
        return total + sum(c * to_v * self._erf_moment(left, d) for c, d in self._derivatives(right))

    def _derivatives(self, f: _Factor) -> list[tuple[Expr, _Factor]]:
        sp = self.sp
        result = []
        if f.power:
            result.append((sp.S(f.power), f.lowered()))
        if f.slope != 0:
            rate, bend = f.rate - 2 * f.slope * f.offset, f.bend - f.slope**2
            height = 2 * f.slope / sp.sqrt(sp.pi) * sp.exp(-(f.offset**2))
            result.append((height, _Factor(f.power, rate, bend, sp.S(0), sp.S(0))))
        return result

    def _erf_mean(self, f: _Factor, g: _Factor, law: _Law, means: tuple[Expr, Expr]) -> Expr:
        sp = self.sp
        spreads = [sp.sqrt(1 + 2 * x.slope**2 * v) for x, v in ((f, law.first), (g, law.second))]
        h, k = ((x.offset + x.slope * m) / s for x, m, s in zip((f, g), means, spreads, strict=True))
        if f.slope == 0 or g.slope == 0:
            return (sp.erf(h) if f.slope != 0 else 1) * (sp.erf(k) if g.slope != 0 else 1)
        correlation = sp.simplify(2 * f.slope * g.slope * law.covariance / (spreads[0] * spreads[1]))
        if h == 0 and k == 0:
            return 2 / sp.pi * sp.asin(correlation)
        h, k = sp.sqrt(2) * h, sp.sqrt(2) * k
        normal = sp.Function("Phi")
        return 4 * sp.Function("Phi_2")(h, k, correlation) - 2 * normal(h) - 2 * normal(k) + 1


@dataclass(frozen=True)
class _Factor:
    """u^power · exp(rate·u + bend·u²) · erf(slope·u + offset) in SymPy numbers; no error function if the slope is 0."""

    power: int
    rate: Expr
    bend: Expr
    slope: Expr
    offset: Expr

    def lowered(self) -> _Factor:
        """One power less."""
        return _Factor(self.power - 1, self.rate, self.bend, self.slope, self.offset)


def _turn(wave: Wave) -> tuple[Expr, Wave]:
    """The derivative of a wave: factor and wave."""
    name, frequency = wave
    return (-frequency, ("sin", frequency)) if name == "cos" else (frequency, ("cos", frequency))
