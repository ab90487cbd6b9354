"""Every engine on norms over a factor of 100, against a recursion by quadrature that keeps the digits of angles.

The reference carries both gaps 1 - s cos θ, s = ±1, through the layers. Small ones are never taken as differences:
with e = 1 for θ < π/2 and e = -1 else, f = σ(c1 z), g = σ(e c2 z), n1 = |f|, n2 = |g| in the Gaussian space,

    1 - s k/(n1 n2) = |f/n1 - s g/n2|²/2 + s e c1 c2/(n1 n2) ∫ sin t k′(t) dt,   t between θ and its nearer end,

by ∂k/∂θ = -c1 c2 sin θ k′, and a bias β counts as one more feature.
"""

from __future__ import annotations

import numpy as np
import pytest

from holokern.activation import activation
from holokern.activation.catalogue import ALIASES, REGISTRY
from holokern.dual.dual import dual
from holokern.dual.quadrature.profile import profile_of
from holokern.network import Network

TOLERANCE = 1e-11
PROMISED = 1e-12
"""The reference itself must report errors below this."""
NEAR = 1e-5
"""Gaps below this are integrated; above it a difference leaves θ with an error below 1e-13."""
BIAS = 0.3
PARAMETERS = {
    "polynomial": {"coefficients": [1, -1, "1/2"]},
    "monomial": {"degree": 3},
    "hermite": {"degree": 3},
    "rectified_polynomial": {"coefficients": [0, 1, "1/3"]},
}
NAMES = [name for name in REGISTRY if name not in ALIASES]
# exp squared at a deviation of 10 is e^200; a second layer would exceed the range of floats.
ONE_LAYER = {"exp"}
ENGINES = ("pairs", "layers", "network")
SHORT = {"step", "relu", "tanh", "resin", "hardtanh"}
SHORT_SIMILAR = {"abs", "elu", "silu", "hardtanh"}
"""A few of every kind, on a wide and on a narrow range; the others are slow. `test_three_layers` has elu."""
QUICK = (5,)


def named(name):
    return activation(name, **PARAMETERS.get(name, {}))


def delicate(seed=7, norms=(10 / 128, 0.7, 2.5)):
    """Short to long points, one parallel to the first, then 1e-9 away, a copy, an antipode and a zero vector."""
    x = np.random.default_rng(seed).standard_normal((len(norms), 4))
    x *= (np.array(norms) / np.linalg.norm(x, axis=1))[:, None]
    # 128 is a power of two, so that the parallel point is one in floats too.
    return np.concatenate([x, [128 * x[0], x[1] + 1e-9 * x[2], x[2], -x[2], 0 * x[0]]])


class Recursion:
    """Σ and Θ of all pairs i ≤ j, layer by layer."""

    def __init__(self, net, x):
        (self.spec,) = set(net.hidden_layers)
        self.sigma = self.spec.activation
        self.pairs = np.triu_indices(len(x))
        full = np.column_stack([x, np.full(len(x), self.spec.bias)]).astype(np.longdouble)
        lengths = np.sqrt(np.sum(full**2, axis=1))
        self.deviations, self.exact = lengths.astype(float), lengths
        first, second = ((full / np.where(lengths > 0, lengths, 1)[:, None])[index] for index in self.pairs)
        gaps = [(np.sum((first - sign * second) ** 2, axis=1) / 2).astype(float) for sign in (1, -1)]
        self.gaps = self._zero_vectors(gaps)
        self.tangent = np.prod(self.of_pairs(self.deviations), axis=0) * (1 - self.gaps[0])

    def of_pairs(self, values):
        return values[self.pairs[0]], values[self.pairs[1]]

    def layer(self):
        """(Σ, Θ) after one more layer, as matrices."""
        weight, bias = self.spec.weight, self.spec.bias
        theta = angle(*self.gaps)
        found = dual(self.sigma, *self.of_pairs(self.deviations), theta=theta, method="quadrature")
        own = self.pairs[0] == self.pairs[1]
        norms = np.sqrt(found.k[own])
        self._trust(found.error, norms)
        if not has_jumps(self.sigma):
            self._trust(found.kdot_error, np.sqrt(found.kdot[own]))
            self.tangent = self.tangent * weight * found.kdot + weight * found.k + bias**2
        self._move_on(theta, found.k, norms)
        return self._matrix(weight * found.k + bias**2), self._matrix(self.tangent)

    def _trust(self, errors, norms):
        scale = np.prod(self.of_pairs(norms), axis=0)
        assert np.all((errors <= PROMISED * scale) | (scale == 0))

    def _matrix(self, values):
        size = len(self.deviations)
        result = np.empty((size, size))
        result[self.pairs] = result[self.pairs[::-1]] = values
        return result

    def _move_on(self, theta, k, norms):
        """The deviations and gaps of the next layer."""
        weight, square = self.spec.weight, self.spec.bias**2
        before, (n1, n2) = self.of_pairs(self.deviations), self.of_pairs(norms)
        self.deviations = np.sqrt(weight * norms**2 + square)
        exact, self.exact = self.of_pairs(self.exact), self.deviations
        size = np.prod(self.of_pairs(self.deviations), axis=0)
        # size - (w n1 n2 + β²), by the difference of the squares
        uneven = weight * square * (n1 - n2) ** 2 / np.where(size > 0, size + weight * n1 * n2 + square, 1.0)
        gaps = []
        for sign, extra in ((1, uneven), (-1, uneven + 2 * square)):
            copies = (sign == 1) & (theta == 0) & (before[0] == before[1])
            lost = np.where(copies, 0.0, n1 * n2 - sign * k)
            for p in np.nonzero((lost < NEAR * n1 * n2) & ~copies & (np.minimum(*before) > 0))[0]:
                c, d = before[0][p], before[1][p]
                lost[p] = self._lost(sign, theta[p], (c, d), (n1[p], n2[p]))
                if has_jumps(self.sigma) and c != d:
                    # Points after a jump are √|b/c - b/d| apart: roundings of c and b/c count a hundred thousand times
                    # after three layers, if these are 1e-9 apart.
                    other = c, d + 1e-3 * (d - c)
                    change = self._lost(sign, theta[p], other, (n1[p], n2[p])) - lost[p]
                    here, there = break_distance(self.sigma, (c, d)), break_distance(self.sigma, other)
                    lost[p] += change * float(((exact[1][p] - exact[0][p]) / exact[0][p] - here) / (there - here))
            gaps.append((extra + weight * np.maximum(lost, 0.0)) / np.where(size > 0, size, 1.0))
        self.gaps = self._zero_vectors(gaps)

    def _zero_vectors(self, gaps):
        """A zero vector is parallel to zero vectors and orthogonal to all others."""
        zeros = np.sum(np.array(self.of_pairs(self.deviations)) == 0, axis=0)
        return [np.choose(zeros, [gap, 1.0, limit]) for gap, limit in zip(gaps, (0.0, 2.0), strict=True)]

    def _lost(self, sign, theta, c, n):
        """n1 n2 - s k by the formula of the module."""
        end, side = (0.0, 1) if theta < np.pi / 2 else (np.pi, -1)
        width = abs(theta - end)
        result = n[0] * n[1] * distance(self.sigma, (c[0], side * c[1]), n, sign)
        if width > 0:
            # Two jumps give exp(-δ²/(2 t²)), δ the distance of the breaks b/c1 and b/c2: panels towards t = 0, as δ
            # may be much smaller than the angle.
            edges = np.append(0.0, 2.0 ** np.arange(-40 if has_jumps(self.sigma) else 0, 1))
            nodes, weights = panels(edges)
            t = np.abs(end - width * nodes.ravel())
            kdot = dual(self.sigma, *c, theta=t, method="quadrature").kdot
            result += sign * side * c[0] * c[1] * width * np.sum(weights.ravel() * np.sin(t) * kdot)
        return result


def break_distance(sigma, c):
    """b/c over b/d less one, as it follows from both in floats, for the break b farthest from zero."""
    b = max((abs(float(b)) for b in sigma.breaks), default=0.0)
    first, second = (np.longdouble(b / one) if b else 1 / np.longdouble(one) for one in c)
    return (first - second) / second


def angle(below, above):
    """The angle from 1 - cos θ and 1 + cos θ."""
    small = 2 * np.arcsin(np.sqrt(np.minimum(below, above) / 2))
    return np.where(below <= above, small, np.pi - small)


def panels(edges):
    """Gauss–Legendre nodes and weights, one row for each panel."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    widths = np.diff(edges)[:, None] / 2
    return edges[:-1, None] + widths * (1 + nodes), widths * weights


def distance(sigma, c, n, sign):
    """|f/n1 - s g/n2|²/2 by panels that end at the breaks of both."""
    reach = 9 + 2 * max(*np.abs(c), 1.0)
    breaks = np.array([float(b) / d for b in sigma.breaks for d in c])
    edges = np.unique(np.concatenate([np.linspace(-reach, reach, 1601), breaks[np.abs(breaks) < reach]]))
    z, weights = panels(edges)
    density = weights * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    return np.sum((sigma(c[0] * z) / n[0] - sign * sigma(c[1] * z) / n[1]) ** 2 * density) / 2


def has_jumps(sigma):
    return bool(np.any(profile_of(sigma).jumps))


def error(found, exact):
    """The largest error relative to √(k_ii k_jj); where that is zero or underflows, the entry must too."""
    root = np.sqrt(np.diag(exact))
    scale = np.outer(root, root)
    assert np.all(np.abs(found[scale == 0]) < np.finfo(float).tiny)
    return float(np.max(np.abs(found - exact) / np.where(scale > 0, scale, 1.0)))


def check(sigma, x, bias, depths, engines=ENGINES):
    """Every kernel of every depth by every engine against the reference, and the laws of kernel matrices."""
    nets = {depth: Network(sigma, depth, bias=bias) for depth in depths}
    recursion = Recursion(nets[depths[0]], x)
    for depth in range(1, depths[-1] + 1):
        exact = recursion.layer()
        if depth not in nets:
            continue
        for engine in engines:
            check_one(nets[depth], x, exact, engine, depth == depths[0])


def check_one(net, x, exact, engine, alone):
    """One network by one engine; ``alone`` asks for one kernel at a time too."""
    if any(map(has_jumps, net.activations)):
        found = {"nngp": net.nngp(x, engine=engine)}
    else:
        found = dict(zip(("nngp", "ntk"), net.both(x, engine=engine), strict=True))
        if alone:
            for kind, matrix in found.items():
                assert error(getattr(net, kind)(x, engine=engine), matrix) < 1e-14
    for (kind, matrix), true in zip(found.items(), exact, strict=False):
        assert error(matrix, true) < TOLERANCE, (kind, net.depth, engine)
        assert np.array_equal(matrix, matrix.T), (kind, net.depth, engine)
        values = np.linalg.eigvalsh(matrix)
        assert values[0] > -1e-13 * len(x) * values[-1], (kind, net.depth, engine)


def case(source, bias, slow=False):
    """Parameters of a test with the marks that they need."""
    return pytest.param(source, bias, marks=[pytest.mark.slow] if slow else [])


def random_expression(seed):
    """A D-finite expression that grows at most linearly, so that two layers keep their deviations in reach."""
    rng = np.random.default_rng(seed)

    def number():
        return f"({rng.integers(-8, 9)}/4)"

    def smooth():
        factors = ["sin(u)", "cos(2*u)", "erf(u)", "exp(-u^2)", "1"]
        product = "*".join(rng.choice(factors, size=rng.integers(1, 3)))
        return f"({number()}*{product} + {number()}*{rng.choice(['u', '1'])} + 1/3)"

    where = rng.choice(["0", number()])
    forms = {
        "plain": smooth(),
        "jump": f"Heaviside(u - {where})*{smooth()}",
        "kink": f"Max(u - {where}, 0)*{rng.choice(['erf(u)', 'exp(-u^2)', 'sin(u)'])} + {number()}*u",
        "cases": f"Piecewise(({smooth()}, u < {where}), ({smooth()}, True))",
    }
    return forms[str(rng.choice(list(forms)))]


@pytest.mark.parametrize(
    ("name", "bias"), [case(name, BIAS if place % 2 else 0.0, name not in SHORT) for place, name in enumerate(NAMES)]
)
def test_named_activations(name, bias):
    check(named(name), delicate(), bias, (1,) if name in ONE_LAYER else (1, 2))


def test_three_layers():
    check(activation("elu"), delicate(), BIAS, (1, 2, 3))


@pytest.mark.parametrize("name", ["sign", "hardshrink", "softshrink"])
def test_three_layers_that_enlarge_roundings(name):
    """Jumps do so for nearly parallel points; and shrinking makes points vanish."""
    check(activation(name), delicate(11, (10 / 128, 0.3, 0.9)), 0.0, (1, 2, 3), ("layers",))


@pytest.mark.parametrize(
    ("seed", "bias"), [case(seed, BIAS if seed % 2 == 0 else 0.0, seed not in QUICK) for seed in range(28)]
)
def test_random_expressions(seed, bias):
    check(activation(random_expression(seed)), delicate(seed), bias, (1, 2))


@pytest.mark.parametrize(("name", "bias"), [case(name, bias, True) for name in NAMES for bias in (0.0, BIAS)])
def test_named_activations_with_more_points(name, bias):
    x = delicate(11, (10 / 128, 0.3, 0.9, 1.1, 3.0, 7.0))
    check(named(name), x, bias, (1,) if name in ONE_LAYER else (1, 2, 3))


def similar():
    """Points of similar norms, one longer in the direction of another, then 1e-9 away, a copy, an antipode and zero."""
    x = np.random.default_rng(3).standard_normal((4, 4))
    x *= (np.array([0.8, 1.0, 1.1, 1.3]) / np.linalg.norm(x, axis=1))[:, None]
    return np.concatenate([x, [2 * x[0], x[1] + 1e-9 * x[2], x[2], -x[2], 0 * x[0]]])


@pytest.mark.parametrize(
    ("name", "bias"),
    [case(name, 0.0 if place % 2 else BIAS, name not in SHORT_SIMILAR) for place, name in enumerate(NAMES)],
)
def test_similar_norms(name, bias):
    check(named(name), similar(), bias, (1,) if name in ONE_LAYER else (1, 2))


@pytest.mark.parametrize("name", [pytest.param("elu", marks=pytest.mark.slow), "tanh"])
def test_points_on_a_sphere(name):
    x = similar()[[0, 1, 2, 3, 5, 6, 7]]
    check(activation(name), x / np.linalg.norm(x, axis=1)[:, None], 0.0, (1, 2, 3))


@pytest.mark.slow
@pytest.mark.parametrize("seed", (1, 5, 12))
def test_random_expressions_without_bias(seed):
    check(activation(random_expression(seed)), delicate(seed), 0.0, (1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elu", "erf", "gelu", "hardtanh", "relu", "resin", "silu", "softplus", "tanh"])
def test_norms_from_a_thousandth_to_a_thousand(name):
    check(named(name), delicate(13, (1 / 1024, 0.05, 1.0, 1000.0)), BIAS, (1, 2))
