"""One layer of a network as plain arithmetic on arrays of any kind, so that it can be traced and differentiated.

The formulas are those of `holokern.network.engine.advance`. Where a square root or a logarithm has no derivative, at
points that coincide, at antipodes and at zero vectors, its argument is replaced by a harmless one and the value chosen
by ``where``, so that no infinity reaches a derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

import numpy as np

from holokern.dual import DualTable
from holokern.errors import BadInput, Unsupported
from holokern.network.hidden_layer import HiddenLayer
from holokern.numeric import AnyArray, Array, Table, chebyshev_matrix

_DROPPED = 2e-14
"""Terms of tables that are left out, in float64: what rounding leaves of sums of them anyway."""


@dataclass(frozen=True)
class Side:
    """The points of one side of the matrix at one layer."""

    # c, zero: standard deviations, and where they are zero (None when a bias excludes that)
    c: AnyArray
    zero: AnyArray
    log_c: AnyArray  # log c
    basis: (
        AnyArray  # Chebyshev polynomials of log c mapped to [-1, 1] over the range of the layer, one row for each point
    )
    # norm, slope, mean, mean_slope: √w times n, d, E[σ(cz)] and E[σ′(cz)]
    norm: AnyArray
    slope: AnyArray
    mean: AnyArray
    mean_slope: AnyArray


@dataclass(frozen=True)
class Pairs:
    """θ, Σ and Θ of all pairs of points."""

    theta: AnyArray
    sigma: AnyArray
    tangent: AnyArray


@dataclass(frozen=True, eq=False)
class TableFunction:
    """One function of a table: for each panel of angles its ends, and Σ core[m, p, q] b_p(c1) b_q(c2) T_m(x)."""

    ends: tuple[tuple[float, float], ...]
    cores: tuple[Array, ...]
    functions: tuple[Array, ...]

    @classmethod
    def of(cls, table: Table, index: int, dropped: float) -> TableFunction:
        """Without the last terms in the angle if they are all below ``dropped``."""
        ends, cores, functions = [], [], []
        for t, tensors in enumerate(table.panels):
            if tensors is None:
                continue
            core = tensors[index].core
            heavy = np.nonzero(np.max(np.abs(core), axis=(0, 1)) > dropped)[0]
            ends.append((float(table.edges[t]), float(table.edges[t + 1])))
            cores.append(np.moveaxis(core, 2, 0)[: int(np.max(heavy, initial=0)) + 1])
            functions.append(tensors[index].functions)
        if all(len(core) == 1 for core in cores):
            # Nothing depends on the angle.
            return cls(((ends[0][0], ends[-1][1]),), (cores[0],), (functions[0],))
        return cls(tuple(ends), tuple(cores), tuple(functions))

    def __call__(self, xp: ModuleType, rows: Side, columns: Side, theta: AnyArray) -> AnyArray:
        """The function for all pairs."""
        result = None
        known: dict[int, tuple[AnyArray, AnyArray]] = {}
        for (low, high), core, functions in zip(self.ends, self.cores, self.functions, strict=True):
            if id(functions) not in known:
                known[id(functions)] = self._functions(xp, rows, functions), self._functions(xp, columns, functions)
            first, second = known[id(functions)]
            x = xp.clip((2.0 * theta - (low + high)) / (high - low), -1.0, 1.0)
            part = _clenshaw(xp, first[None, :, :] @ _constant(xp, core, x), second.T, x)
            result = part if result is None else xp.where(theta >= low, part, result)
        return result

    @staticmethod
    def _functions(xp: ModuleType, side: Side, functions: Array) -> AnyArray:
        # A homogeneous activation has but a constant, the same for all points.
        constant = _constant(xp, functions, side.basis)
        return constant if len(functions) == 1 else side.basis[:, : len(functions)] @ constant


@dataclass(frozen=True, eq=False)
class ArrayLayer:
    """A layer with all the numbers that its formulas need."""

    # layer, table: the layer, and the table of its activation on the deviations that it meets
    layer: HiddenLayer
    table: DualTable
    # gap, bend, slope: the functions W, H and K; K is not used when σ jumps
    gap: TableFunction
    bend: TableFunction
    slope: TableFunction
    radicals: Array  # Chebyshev coefficients in log c of log n, log d, E[σ(cz)]/n and E[σ′(cz)]/d, one row each
    ends: tuple[float, float]  # the smallest and the largest deviation that the layer serves

    def side(self, xp: ModuleType, c: AnyArray) -> Side:
        """What the layer needs to know of points with these deviations; NaN for those outside its range."""
        table, root = self.table, self.layer.weight**0.5
        span = table.table.range
        zero = None if is_given(self.layer.bias) else c == 0
        log_c = xp.log(c if zero is None else xp.where(zero, float(np.exp((span.low + span.high) / 2)), c))
        degree = table.homogeneity
        if degree is None and not span.is_point:
            place = (log_c - (span.low + span.high) / 2) * span.rate
            low, high = (float(np.log(end)) for end in self.ends)
            place = xp.where((log_c >= low - 1e-6) & (log_c <= high + 1e-6), place, float("nan"))
        else:
            place = 0.0 * log_c
        basis = _chebyshev(xp, place, self.radicals.shape[1])
        log_norm, log_slope, mean, mean_slope = (basis @ _constant(xp, row, c) for row in self.radicals)
        if degree is not None:
            log_norm, log_slope = log_norm + degree * log_c, log_slope + (degree - 1) * log_c
        norm, slope = xp.exp(log_norm), xp.exp(log_slope)
        parts = [norm, slope, mean * norm, mean_slope * slope]
        if zero is not None:
            at_zero = self.layer.dual.limits
            limits = (at_zero.norm, at_zero.slope, at_zero.mean, at_zero.mean_slope)
            parts = [xp.where(zero, limit, part) for limit, part in zip(limits, parts, strict=True)]
        return Side(c, zero, log_c, basis, *(root * part for part in parts))

    def next_variances(self, side: Side) -> AnyArray:
        """Variances after the layer."""
        variance = side.norm**2 + self.layer.bias**2
        return variance + side.c**2 if self.layer.residual else variance

    def __call__(self, xp: ModuleType, rows: Side, columns: Side, pairs: Pairs) -> Pairs:
        """θ, Σ and Θ after the layer; Θ is meaningless when σ jumps."""
        layer, whole = self.layer, self.table
        far = pairs.theta > np.pi / 2
        folded = xp.where(far, np.pi - pairs.theta, pairs.theta) if whole.fold else pairs.theta
        apart = rows.log_c[:, None] - columns.log_c[None, :]
        gap = apart**2 * self.gap(xp, rows, columns, folded) + folded**whole.power * self.bend(
            xp, rows, columns, folded
        )
        value = rows.norm[:, None] * columns.norm[None, :] * (1.0 - gap)
        flipped = far if whole.fold < 0 else None
        value = value if flipped is None else xp.where(flipped, -value, value)
        slope = 0.0 * folded
        if whole.has_slope:
            slope = rows.slope[:, None] * columns.slope[None, :] * self.slope(xp, rows, columns, folded)
            slope = xp.where(far, -slope, slope) if whole.fold > 0 else slope
        if is_given(layer.bias) or layer.residual:
            theta = self._joined(
                xp, rows, columns, gap if flipped is None else xp.where(flipped, 2.0 - gap, gap), pairs
            )
        else:
            theta = angle_of_gap(xp, gap)
            theta = theta if flipped is None else xp.where(flipped, np.pi - theta, theta)
        if rows.zero is not None:
            value, slope, theta = self._at_zero_vectors(xp, rows, columns, pairs, (value, slope, theta))
        value = value + layer.bias**2
        tangent = pairs.tangent * slope + value
        if layer.residual:
            return Pairs(theta, pairs.sigma + value, pairs.tangent + tangent)
        return Pairs(theta, value, tangent)

    def _joined(self, xp: ModuleType, rows: Side, columns: Side, gap: AnyArray, pairs: Pairs) -> AnyArray:
        """The angle between points of several parts: the formula of `holokern.network.engine.advance.advance`."""
        bias = self.layer.bias
        n, m = rows.norm[:, None], columns.norm[None, :]
        c, d = (rows.c[:, None], columns.c[None, :]) if self.layer.residual else (0.0, 0.0)
        square = (n * n + bias**2 + c * c) * (m * m + bias**2 + d * d)
        root = xp.sqrt(xp.where(square > 0, square, 1.0))
        crossed = (bias * (n - m)) ** 2 + (bias * (c - d)) ** 2 + (n * d - c * m) ** 2
        lost = n * m * gap + crossed / (root + n * m + bias**2 + c * d)
        if self.layer.residual:
            lost = lost + c * d * 2.0 * xp.sin(0.5 * pairs.theta) ** 2
        return xp.where(square > 0, angle_of_gap(xp, lost / root), np.pi / 2)

    def _at_zero_vectors(
        self, xp: ModuleType, rows: Side, columns: Side, pairs: Pairs, otherwise: tuple[AnyArray, AnyArray, AnyArray]
    ) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Value, slope and angle where a deviation is zero: the limit c → 0, to first order in the covariance.

        E[σ(u)σ(v)] ≈ σ(0) E[σ(v)] + Σ12 σ′(0) E[σ′(v)]; the second term is zero but has a derivative.
        """
        both = rows.zero[:, None] & columns.zero[None, :]
        either = rows.zero[:, None] | columns.zero[None, :]
        slope = rows.mean_slope[:, None] * columns.mean_slope[None, :]
        value = xp.where(both, rows.norm[:, None] * columns.norm[None, :], rows.mean[:, None] * columns.mean[None, :])
        value = value + xp.where(either, pairs.sigma, 0.0) * slope
        variances = [self.next_variances(side) for side in (rows, columns)]
        square = variances[0][:, None] * variances[1][None, :]
        ratio = value / xp.sqrt(xp.where(square > 0, square, 1.0))
        theta = angle_of_gap(xp, xp.where(either & ~both, 1.0 - ratio, 0.0))
        value, slope, theta = (
            xp.where(either, new, old) for new, old in zip((value, slope, theta), otherwise, strict=True)
        )
        return value, slope, theta


@lru_cache(maxsize=64)
def array_layer(layer: HiddenLayer, ends: tuple[float, float], eps: float) -> ArrayLayer:
    """A layer for deviations between ``ends``, in floats with the rounding ``eps``.

    Raises Unsupported if there is no table of its activation.
    """
    try:
        table = layer.dual.table(*ends)
    except Unsupported as error:
        raise Unsupported(
            f"{layer.activation} cannot be traced or differentiated ({error}); pass numpy arrays, or arrays outside of "
            "jit and without derivatives"
        ) from None
    indices, dropped = (0, 1, 2 if table.has_slope else 1), max(_DROPPED, eps / 8)
    gap, bend, slope = (TableFunction.of(table.table, index, dropped) for index in indices)
    return ArrayLayer(layer, table, gap, bend, slope, _radicals(layer, table), ends)


def as_floats(X: AnyArray, Y: AnyArray = None) -> tuple[ModuleType, list[AnyArray]]:
    """The namespace of one array or two, and the arrays as floating-point numbers of one type."""
    from array_api_compat import array_namespace

    given = [X] if Y is None else [X, Y]
    xp = array_namespace(*given)
    dtype = xp.result_type(*(array.dtype for array in given), xp.float32)
    if dtype not in (xp.float32, xp.float64):
        raise BadInput(f"the points are of type {dtype}; pass float32 or float64")
    return xp, [xp.astype(array, dtype) for array in given]


def is_given(bias: AnyArray) -> bool:
    """Whether there is a bias: a positive number, or an array that an optimiser moves."""
    return not (isinstance(bias, (int, float)) and bias == 0)


def safe_root(xp: ModuleType, square: AnyArray) -> AnyArray:
    """The square root, with derivative zero where the square is not positive."""
    positive = square > 0
    return xp.where(positive, xp.sqrt(xp.where(positive, square, 1.0)), 0.0)


def angle_of_gap(xp: ModuleType, gap: AnyArray) -> AnyArray:
    """The angle θ from 1 - cos θ by half-angle chords; its derivative counts as zero at θ = 0 and θ = π.

    That is right for functions that are smooth in the points, and the middle of the derivatives in all directions
    for those with a tip there.
    """
    return 2.0 * xp.atan2(safe_root(xp, gap), safe_root(xp, 2.0 - gap))


def _radicals(layer: HiddenLayer, table: DualTable) -> Array:
    """Series of log n, log d, E[σ(cz)]/n and E[σ′(cz)]/d on the nodes of the table."""
    count = len(table.log_norm.coefficients)
    c = np.exp(table.table.range.nodes(count))
    ratio = layer.dual.mean_slopes(c) / table.slope_norms(c)
    rows = [table.log_norm.coefficients, table.log_slope.coefficients, table.mean.coefficients]
    return np.stack([*rows, chebyshev_matrix(count) @ ratio])


def _chebyshev(xp: ModuleType, x: AnyArray, count: int) -> AnyArray:
    """T_0(x), …, one column each, by T_{n+m} = 2 T_n T_m - T_{n-m}: twice as many columns with every step."""
    found = xp.stack([0.0 * x + 1.0, x], axis=1)
    while found.shape[1] < count:
        last = found[:, -1:]
        found = xp.concat([found, 2.0 * last * found[:, 1:] - xp.flip(found, axis=1)[:, 1:]], axis=1)
    return found[:, :count]


def _clenshaw(xp: ModuleType, left: AnyArray, right: AnyArray, x: AnyArray) -> AnyArray:
    """Σ_m (left[m] @ right) T_m(x); a loop of XLA in JAX, which compiles a written-out one for minutes."""
    from array_api_compat import is_jax_namespace

    def step(state: tuple[AnyArray, AnyArray], part: AnyArray) -> tuple[tuple[AnyArray, AnyArray], None]:
        now, before = state
        return (part @ right + 2.0 * x * now - before, now), None

    if left.shape[0] == 1:
        return left[0] @ right + 0.0 * x
    state = (0.0 * x, 0.0 * x)
    if is_jax_namespace(xp):
        from jax import lax

        state, _ = lax.scan(step, state, left[1:], reverse=True)
    else:
        for m in range(left.shape[0] - 1, 0, -1):
            state, _ = step(state, left[m])
    return left[0] @ right + x * state[0] - state[1]


def _constant(xp: ModuleType, array: Array, like: AnyArray) -> AnyArray:
    from array_api_compat import device

    return xp.asarray(array, dtype=like.dtype, device=device(like))
