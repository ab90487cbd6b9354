"""A function that is known by its values alone: any callable on arrays, as an activation.

Exact algebra has nothing to work with here; the numerical methods do, as long as σ is a smooth function of one number
between its breaks.  That is probed when the activation is made, and breaks that nobody named are looked for.  σ′ comes
from automatic differentiation, from a complex step or, where neither works, from Chebyshev series; then its noise
counts in the errors of k′.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from holokern.activation.foreign.find_breaks import MOST_BREAKS, TooManyBreaks, resolved_line
from holokern.activation.foreign.line import Line, NumericalSlope, Rough, quotient, quotient_noise
from holokern.activation.named import read_rational
from holokern.activation.values.evaluate import UNITS, on_floats
from holokern.errors import BadInput, Unsupported
from holokern.numeric import Array

if TYPE_CHECKING:
    from holokern.activation.expression import Expression
    from holokern.activation.ode.ode_activation import OdeActivation
    from holokern.activation.ring.breaks import Break

    Function: TypeAlias = "Expression | OdeActivation | SampledFunction"

Values = Callable[[Array], Array]
# of arrays of NumPy, JAX or PyTorch
Foreign = Callable[[Any], Any]

_REACH = 16.0137  # where smoothness is probed: a normal variable of deviation 1 stays well inside
# how far σ′ may be from the derivative of an interpolation of σ, which carries this much noise itself
_AGREEMENT = 1e-8
_STEP = 1e-30  # the step of the complex derivative: its square is below every rounding
_JUMP = 1e-9  # a jump of σ or σ′ smaller than this, relative to the values around, is rounding
# points without a pattern, between which a function that mixes them would show it
_PROBES = np.array([-3.217, 2.843, -0.5113, 0.3371, 1.229, -1.771, 5.113])


@dataclass(frozen=True, eq=False)
class SampledFunction:
    """The verbs of an activation for a callable; two of them are equal only when they are the same object."""

    label: str
    values: Values
    given_breaks: tuple[Fraction, ...] = ()
    values_noise: Values | None = None
    slope: Callable[[], SampledFunction] | None = None  # makes the derivative, whatever its label

    def __call__(self, x: Any) -> Any:
        """The value: a float for a scalar, else an array of the shape of ``x``; float32 stays float32."""
        return on_floats(x, lambda u: np.asarray(self.values(u), dtype=float))

    def noise(self, x: Array) -> Array:
        """How far the values may be off: some units in the last place, more where they are derivatives of a series."""
        if self.values_noise is None:
            return np.asarray(UNITS * np.abs(self(x)))
        points = np.asarray(x, dtype=float)
        return np.asarray(self.values_noise(points.ravel())).reshape(points.shape)

    @cached_property
    def derivative(self) -> SampledFunction:
        """The derivative between the breaks.

        A second derivative is a difference quotient of about ten digits: enough for the methods, which only weigh
        rounding errors by it, and too little for k′ of the derivative itself.
        """
        label = f"the derivative of {self.label}"
        if self.slope is not None:
            return replace(self.slope(), label=label)
        noise = quotient_noise(self.values, self.noise)
        return SampledFunction(label, quotient(self.values), self.given_breaks, noise)

    @property
    def breaks(self) -> tuple[Break, ...]:
        """The breaks that were given or found."""
        return self.given_breaks

    @cached_property
    def jump_order(self) -> int | None:
        """0 or 1 where σ or σ′ jumps at a break, 2 for breaks with neither, None without breaks."""
        if not self.given_breaks:
            return None
        for order, function in enumerate((self, self.derivative)):
            for b in map(float, self.given_breaks):
                step = max(abs(b), 1.0) * 1e-12
                left, right = function(np.array([b - step, b + step]))
                if abs(right - left) > _JUMP * (1 + abs(left) + abs(right)):
                    return order
        return 2

    @property
    def parity(self) -> None:
        """Unknown: values at some points prove no symmetry."""
        return

    @property
    def is_holonomic(self) -> bool:
        """Always False: no equation is known."""
        return False

    @property
    def annihilator(self) -> NoReturn:
        """Not known."""
        raise self._unsupported("so no differential equation of it is known")

    @property
    def annihilator_scale(self) -> None:
        """Not known."""
        return

    def ball(self, x: object, precision: int = 128) -> NoReturn:
        """Not known."""
        raise self._unsupported("so no ball of it can be proved")

    def _unsupported(self, reason: str) -> Unsupported:
        return Unsupported(
            f"{self.label} is known by its values alone, {reason}; numerical methods serve it: hk.dual(activation, "
            '..., method="quadrature"); for more, give it as an expression in u'
        )

    def shift(self, c: object) -> SampledFunction:
        """The function at u + c."""
        step = read_rational(c, "the shift")
        return self._moved(f"({self.label} at u + {step})", Fraction(1), step)

    def scale(self, c: object) -> SampledFunction:
        """The function at c·u."""
        factor = read_rational(c, "the scale")
        if not factor:
            raise BadInput("the scale of an activation must not be zero")
        return self._moved(f"({self.label} at {factor}*u)", factor, Fraction(0))

    def _moved(self, label: str, a: Fraction, b: Fraction, times: float = 1.0) -> SampledFunction:
        """A multiple of the function at a·u + b."""
        rate, step = float(a), float(b)
        return SampledFunction(
            label,
            lambda u: times * self(rate * u + step),
            tuple(sorted((place - b) / a for place in self.given_breaks)),
            lambda u: abs(times) * self.noise(rate * u + step),
            lambda: self.derivative._moved("", a, b, times * rate),
        )

    def __add__(self, other: Function | Fraction) -> SampledFunction:
        f, g = self, _function(other)

        def noise(u: Array) -> Array:
            return np.asarray(f.noise(u) + g.noise(u))

        return f._combined(g, "+", lambda u: f(u) + g(u), noise, lambda: f.derivative + g.derivative)

    __radd__ = __add__

    def __mul__(self, other: Function | Fraction) -> SampledFunction:
        f, g = self, _function(other)

        def noise(u: Array) -> Array:
            return np.asarray(f.noise(u) * np.abs(g(u)) + np.abs(f(u)) * g.noise(u))

        return f._combined(g, "*", lambda u: f(u) * g(u), noise, lambda: f.derivative * g + f * g.derivative)

    __rmul__ = __mul__

    def _combined(
        self, other: Function, sign: str, values: Values, noise: Values, slope: Callable[[], SampledFunction]
    ) -> SampledFunction:
        breaks = [b for b in other.breaks if isinstance(b, Fraction)]
        if len(breaks) < len(other.breaks):
            raise Unsupported(f"{self.label} cannot be combined with a function whose breaks are irrational")
        label = f"({self.label} {sign} {getattr(other, 'label', 'an activation')})"
        return SampledFunction(label, values, tuple(sorted({*self.given_breaks, *breaks})), noise, slope)

    def latex(self) -> str:
        """The name."""
        return f"\\sigma(u) = \\text{{{self.label}}}(u)"


def sampled(source: Foreign, breaks: object = (), derivative: object = None) -> SampledFunction:
    """An activation from a callable on arrays.

    ``source``: a function of one real number that also takes arrays, of NumPy, PyTorch or JAX.
    ``breaks``: where it is not smooth, such as kinks and jumps.  Up to eight more are found between -16 and 16.
    ``derivative``: its derivative between the breaks.  Without it PyTorch and JAX differentiate their own functions, a
    function of NumPy that takes complex numbers is differentiated by a complex step, and any other by Chebyshev series
    on panels, which loses some digits; ``noise`` of the derivative says how many.
    Raises BadInput for a callable that is no function of one number, has fewer than 15 digits or is not smooth between
    the breaks.

    >>> bump = sampled(lambda u: np.exp(-(u**4)))
    >>> round(bump.derivative(1.0) * np.e, 12)
    -4.0
    >>> sampled(lambda u: np.maximum(u, 0.3)).breaks
    (Fraction(3, 10),)
    """
    if isinstance(source, type):
        raise BadInput(f"{source.__name__} is a class; make an object of it first: hk.activation({source.__name__}())")
    label = str(getattr(source, "__name__", type(source).__name__))
    label = "the function given" if label == "<lambda>" else label
    places = _breaks(breaks)
    values, slopes = _values(source, label)
    line, places = _line(values, places, label, _written(source))
    if derivative is not None:
        if not callable(derivative):
            raise BadInput(f"the derivative of {label} must be a callable, got {type(derivative).__name__}")
        slopes = [("the derivative given", _values(derivative, f"the derivative of {label}")[0])]
    for name, slope in slopes:
        if _agree(slope, line):
            return SampledFunction(label, values, places, slope=partial(SampledFunction, label, slope, places))
        if derivative is not None:
            raise BadInput(f"{name} is not that of {label}; they differ by more than {_AGREEMENT:.0e}")
    numerical = NumericalSlope(line, [float(b) for b in places])
    slope_of = partial(SampledFunction, label, numerical, places, numerical.noise)
    return SampledFunction(label, values, places, slope=slope_of)


def _breaks(breaks: object) -> tuple[Fraction, ...]:
    if isinstance(breaks, str) or not isinstance(breaks, Iterable):
        raise BadInput(f"breaks must be a sequence of numbers such as [0, 1], got {type(breaks).__name__}")
    return tuple(sorted({read_rational(b, "a break") for b in breaks}))


def _values(source: Foreign, label: str) -> tuple[Values, list[tuple[str, Values]]]:
    """The function on float64 arrays, checked, and the ways to differentiate it."""
    problem: Exception | None = None
    tensors_first = any(str(kind.__module__).startswith("torch.") for kind in type(source).__mro__)
    for adapt in (_torch, _numpy) if tensors_first else (_numpy, _torch):
        try:
            values, slopes = adapt(source, label)
            with np.errstate(all="ignore"):
                found, again, part = values(_PROBES), values(_PROBES), values(_PROBES[2:4])
        except BadInput:
            raise
        except Exception as error:
            problem = problem or error
            continue
        if np.shape(found) != _PROBES.shape:
            raise BadInput(f"{label} turns {len(_PROBES)} numbers into shape {np.shape(found)}; it must be elementwise")
        if not np.array_equal(found, again, equal_nan=True):
            raise BadInput(f"{label} gives another value each time; an activation is a fixed function")
        if not np.allclose(found[2:4], part, rtol=1e-12, atol=0, equal_nan=True):
            raise BadInput(f"{label} mixes the entries of an array; an activation is a function of one number")
        return values, slopes
    raise BadInput(
        f"{label} cannot be called on an array of numbers ({problem!s:.120}); give an expression in u, or vectorise "
        f"it: hk.activation(np.vectorize({_written(source)}, otypes=[float]))"
    )


def _numpy(source: Foreign, label: str) -> tuple[Values, list[tuple[str, Values]]]:
    given = source(_PROBES.copy())
    home = type(given).__module__.partition(".")[0]
    kind = np.asarray(given).dtype
    if kind.kind not in "fiub":
        raise BadInput(f"{label} returns {kind}, not real numbers")
    if kind.kind == "f" and kind.itemsize < 8:
        hint = "jax.config.update('jax_enable_x64', True)" if home.startswith("jax") else "float64 throughout"
        raise BadInput(f"{label} computes in {kind}, which has too few digits; use {hint}, or give an expression")

    def values(u: Array) -> Array:
        return np.asarray(source(u), dtype=float)

    def complex_step(u: Array) -> Array:
        return np.asarray(np.imag(source(u + 1j * _STEP)) / _STEP)

    if home.startswith("jax"):
        jax = sys.modules["jax"]
        return values, [("automatic differentiation", lambda u: jax.jvp(source, (u,), (np.ones_like(u),))[1])]
    return values, [("a complex step", complex_step)]


def _torch(source: Foreign, label: str) -> tuple[Values, list[tuple[str, Values]]]:
    torch = sys.modules.get("torch")
    if torch is None:
        raise TypeError("it takes no arrays of NumPy")
    if any(weight.dtype != torch.float64 for weight in getattr(source, "parameters", list)()):
        raise BadInput(f"{label} has weights of fewer digits than float64; convert it by .double()")

    def slope(u: Array) -> Array:
        tensor = torch.tensor(u, dtype=torch.float64, requires_grad=True)
        with torch.enable_grad():
            (found,) = torch.autograd.grad(source(tensor).sum(), tensor)
        return np.asarray(found)

    def values(u: Array) -> Array:
        with torch.no_grad():
            found = source(torch.tensor(u, dtype=torch.float64))
        if found.dtype != torch.float64:
            raise BadInput(f"{label} computes in {found.dtype}, which has too few digits; use float64")
        return np.asarray(found)

    return values, [("automatic differentiation", slope)]


def _line(values: Values, places: tuple[Fraction, ...], label: str, written: str) -> tuple[Line, tuple[Fraction, ...]]:
    try:
        with np.errstate(all="ignore"):
            return resolved_line(values, places, _REACH)
    except TooManyBreaks:
        raise BadInput(
            f"{label} has more than {MOST_BREAKS} kinks or jumps between -16 and 16, so more may lie beyond; name all "
            f"that matter: hk.activation({written}, breaks=[...])"
        ) from None
    except Rough as rough:
        point = round((rough.low + rough.high) / 2, 6) + 0.0
        raise BadInput(
            f"{label} is not smooth near u = {point:g}, and not on either side of it: it may be infinite there, have "
            "an infinite slope, oscillate too fast or have too few correct digits; give it as an expression in u"
        ) from None


def _function(operand: Function | Fraction) -> Function:
    """The operand; a number as the constant function."""
    if not isinstance(operand, Fraction):
        return operand
    constant = float(operand)
    zero = SampledFunction("0", np.zeros_like)
    return SampledFunction(str(operand), lambda u: np.full_like(u, constant), slope=lambda: zero)


def _written(source: object) -> str:
    """What to call the function in a line of code that a message shows: its own name if it has one."""
    name = str(getattr(source, "__name__", ""))
    return name if name.isidentifier() else "f"


def _agree(slope: Values, line: Line) -> bool:
    """Whether it is the derivative of the interpolation, at points inside every panel that are no nodes."""
    shares = np.array([0.11, 0.37, 0.5, 0.71, 0.93])
    u = (line.lows[:, None] + (line.highs - line.lows)[:, None] * shares).ravel()
    expected = line.derivative(u)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a function that drops the imaginary part says so, and is found out below
            found = np.asarray(slope(u), dtype=float)
    except Exception:
        return False
    # the noise of the interpolation is that of the values over the width of the panel
    width = np.repeat(line.highs - line.lows, len(shares))
    scale = 1 + np.abs(expected) + np.abs(line.function(u)) / width
    return bool(found.shape == u.shape and np.all(np.abs(found - expected) <= _AGREEMENT * scale))
