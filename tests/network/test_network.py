"""Networks against closed recursions written here, single layers against quadrature, and the laws of kernels."""

from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from holokern.activation import activation
from holokern.dual import dual_activation
from holokern.dual.dual import dual
from holokern.dual.enclosure.enclose import enclose
from holokern.errors import BadInput, HolokernError, Unsupported
from holokern.network import Network
from holokern.numeric.unit_vectors import unit_vectors


def points(count=30, dimension=6, seed=0):
    return np.random.default_rng(seed).standard_normal((count, dimension)) / np.sqrt(dimension)


def hard_points():
    """Norms over a factor of 30, coinciding, antipodal, nearly coinciding and parallel points, and a zero vector."""
    x = points(14, 4, 5) * np.geomspace(0.3, 3.0, 14)[:, None]
    extra = [x[4], -x[4], x[4] * (1 + 1e-9), x[4] + 1e-9 * x[5], -x[4] + 1e-7 * x[5], 2.5 * x[4], 0 * x[4]]
    return np.concatenate([x, extra])


def close(mine, other, whole, tolerance=2e-12):
    """Entries agree relative to the roots of the products of diagonal entries, which is how errors are promised."""
    size = np.sqrt(np.diag(whole))
    rows, columns = (size[:n] for n in mine.shape)
    return np.max(np.abs(mine - other) / np.outer(rows, columns)) < tolerance


def relu(s1, s2, s12):
    root = np.sqrt(s1 * s2)
    theta = np.arctan2(np.sqrt(np.maximum(s1 * s2 - s12**2, 0)), s12)
    np.fill_diagonal(theta, 0.0)
    return root * (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi), (np.pi - theta) / (2 * np.pi)


def erf(s1, s2, s12):
    total = (1 + 2 * s1) * (1 + 2 * s2)
    return 2 / np.pi * np.arcsin(2 * s12 / np.sqrt(total)), 4 / np.pi / np.sqrt(total - 4 * s12**2)


def gelu(s1, s2, s12):
    """Stein's lemma three times, with F = E[Φ(u)Φ(v)] and P = E[φ(u)φ(v)]."""
    total = (1 + s1) * (1 + s2)
    f = 0.25 + np.arcsin(s12 / np.sqrt(total)) / (2 * np.pi)
    p = 1 / (2 * np.pi * np.sqrt(total - s12**2))
    k = s1 * p * (s2 - s12**2 / (1 + s1)) + s12 * f + s12**2 * p / (1 + s2)
    return k, f + s12 * p * (1 / (1 + s1) + 1 / (1 + s2) + 1 / (total - s12**2))


CLOSED = {"relu": relu, "erf": erf, "gelu": gelu}


def recursion(formula, x, depth, bias, weight, residual=False):
    sigma = x @ x.T + bias**2
    tangent = sigma.copy()
    for _ in range(depth):
        square = np.diag(sigma)
        s1, s2 = square[:, None] + 0 * sigma, square[None, :] + 0 * sigma
        k, kdot = formula(s1, s2, sigma)
        new = weight * k + bias**2
        tangent = (tangent if residual else 0) + tangent * weight * kdot + new
        sigma = sigma + new if residual else new
    return sigma, tangent


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("bias", [0.0, 0.4])
@pytest.mark.parametrize("depth", [1, 3, 10])
@pytest.mark.parametrize("name", sorted(CLOSED))
def test_closed_recursions(name, depth, bias, residual):
    x = points()
    one = np.ones((1, 1))
    weight = 1 / CLOSED[name](one, one, one)[0][0, 0]
    want = recursion(CLOSED[name], x, depth, bias, weight, residual)
    got = Network(name, depth, bias=bias, residual=residual).both(x)
    for mine, exact in zip(got, want, strict=True):
        scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
        assert np.max(np.abs(mine - exact) / scale) < 2e-12


def test_the_usual_parametrisation():
    x = points(12, 3)
    want = recursion(erf, x * np.sqrt(1.7 / 3), 2, 0.3, 1.7)
    got = Network("erf", 2, bias=0.3, weight_variance=1.7).both(x)
    for mine, exact in zip(got, want, strict=True):
        assert close(mine, exact, exact)


@pytest.mark.parametrize(
    "name",
    ["relu", "gelu", "elu", "resin", "tanh", "cos", "sigmoid", "step", "hardtanh", "relu6", "hardswish", "hardshrink"],
)
def test_one_layer_on_hard_points_against_quadrature(name):
    x = hard_points()
    net = Network(name, 1, weight_variance=None)
    weight = net.hidden_layers[0].weight
    unit, length = unit_vectors(x)
    i, j = (
        index.ravel() for index in np.meshgrid([0, 4, 9, 14, 15, 16, 17, 18, 19, 20], [3, 4, 12, 20], indexing="ij")
    )
    same = np.linalg.norm(unit[i] - unit[j], axis=1)
    opposite = np.linalg.norm(unit[i] + unit[j], axis=1)
    theta = np.where(same < opposite, 2 * np.arcsin(same / 2), np.pi - 2 * np.arcsin(opposite / 2))
    zero = (length[i] == 0) | (length[j] == 0)
    theta = np.where(zero, np.where(length[i] == length[j], 0.0, np.pi / 2), theta)
    exact = dual(name, length[i], length[j], theta=theta, method="quadrature")
    sigma = net.nngp(x)
    scale = np.sqrt(np.diag(sigma)[i] * np.diag(sigma)[j]) + 1e-300
    assert np.max(np.abs(sigma[i, j] - weight * exact.k) / scale) < 1e-11
    if name not in {"step", "hardshrink"}:
        tangent = net.ntk(x)
        want = length[i] * length[j] * np.cos(theta) * weight * exact.kdot + weight * exact.k
        size = np.sqrt(np.diag(tangent)[i] * np.diag(tangent)[j]) + 1e-300
        assert np.max(np.abs(tangent[i, j] - want) / size) < 1e-11


@pytest.mark.parametrize("name", ["relu", "gelu", "elu", "erf", "cos", "silu", "hardtanh", "hardswish"])
def test_matrices_are_symmetric_to_the_bit_and_semidefinite(name):
    x = hard_points()
    for net in (Network(name, 3), Network(name, 2, bias=0.5), Network(name, 2, residual=True, weight_variance=0.8)):
        for matrix in net.both(x):
            assert np.array_equal(matrix, matrix.T)
            values = np.linalg.eigvalsh(matrix)
            assert values[0] > -1e-13 * len(x) * values[-1]


@pytest.mark.parametrize("name", ["relu", "gelu", "tanh", "hardtanh", "relu6"])
def test_near_duplicates_keep_their_digits_through_layers(name):
    """Θ of points 1e-9 apart differs from the diagonal by about 1e-9, not by the root of the rounding error."""
    x = points(3, 5)
    x = np.concatenate([x, x + 1e-9 * points(3, 5, 1)])
    theta = Network(name, 4).ntk(x)
    for i in range(3):
        assert abs(theta[i, i + 3] - theta[i, i]) < 4e-8 * theta[i, i]
        assert abs(theta[i, i + 3] - theta[i, i]) > 0 or name != "relu"
    copies = np.concatenate([x[:3], x[:3]])
    assert np.array_equal(Network(name, 4).ntk(copies)[:3, 3:], Network(name, 4).ntk(copies)[:3, :3])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hardtanh", "softshrink", "hardswish", "hardshrink"])
def test_hinges_keep_the_digits_of_small_angles(name):
    """The root of 1 - k/(n1 n2), which is half the next chord, against balls of 30 digits."""
    owner = dual_activation(name)
    deviations = ["1.3", "1.3001"]
    c = np.array([float(Fraction(d)) for d in deviations])
    norms = [enclose(owner.activation, d, d, 1, 30).k for d in deviations]
    sides = owner.hinge_sides(c, c)
    for cosine in (1 - Fraction(1, 10**8), 1 - Fraction(1, 10**12)):
        theta = np.full((2, 2), 2 * np.arcsin(np.sqrt(float(1 - cosine) / 2)))
        lost, _ = owner.hinge_tile(theta, *sides)
        for i, j in ((0, 0), (0, 1)):
            ball = enclose(owner.activation, deviations[i], deviations[j], cosine, 30).k
            with ctx.workprec(128):
                exact = float(1 - ball / (norms[i] * norms[j]).sqrt())
            assert abs(np.sqrt(lost[i, j]) - np.sqrt(exact)) < 4e-12


def test_any_other_break_away_from_zero_by_quadrature():
    x = points(6, 3)
    net = Network("Heaviside(u - 1/2)*sin(u - 1/2)", 2, weight_variance=3.0)
    sigma, tangent = net.both(x)
    assert np.array_equal(tangent, tangent.T)
    c = np.sqrt(np.diag(x @ x.T))
    cosine = x @ x.T / np.outer(c, c)
    np.fill_diagonal(cosine, 1.0)
    first = dual(net.activations[0], c[:, None], c, cosine, method="quadrature").k * 3.0
    assert np.allclose(net.layers(x)[0][0], first, rtol=0, atol=1e-13)
    assert np.allclose(net.layers(x)[1][0], sigma, rtol=0, atol=1e-13)


def test_odd_activations_at_antipodes():
    x = points(5, 4)
    sigma, tangent = Network("erf", 3).both(np.concatenate([x, -x]))
    assert np.allclose(sigma[:5, 5:], -sigma[:5, :5], rtol=0, atol=1e-13)
    assert close(tangent[:5, 5:], -tangent[:5, :5], tangent)


def test_two_sets_of_points_and_tiles():
    x, y = points(150, 5, 1), points(70, 5, 2)
    net = Network("gelu", 2, bias=0.1)
    whole = net.both(np.concatenate([x, y]))
    for part, matrix in zip(net.both(x, y), whole, strict=True):
        size = np.sqrt(np.diag(matrix))
        assert np.max(np.abs(part - matrix[:150, 150:]) / np.outer(size[:150], size[150:])) < 2e-12
    for one, two in zip(net.both(x, threads=1), net.both(x, threads=3), strict=True):
        assert np.array_equal(one, two)


def test_diagonals_layers_and_last_layer():
    x = points(20)
    net = Network(["gelu", "relu", "erf"], bias=0.2)
    sigma, tangent = net.both(x)
    found = net.diagonals(x)
    assert np.allclose(found.nngp, np.diag(sigma), rtol=1e-13)
    assert np.allclose(found.ntk, np.diag(tangent), rtol=1e-12)
    assert np.array_equal(net.last_layer(x), sigma)
    layers = net.layers(x)
    theta = x @ x.T + 0.04
    for matrix, dot in layers:
        theta = theta * dot + matrix
    assert close(layers[-1][0], sigma, sigma)
    assert close(theta, tangent, tangent)


def test_jumps():
    x = points(8)
    net = Network("step", 2)
    assert np.allclose(np.diag(net.nngp(x)), 1.0)
    for ask in (net.ntk, net.both):
        with pytest.raises(Unsupported, match="jumps"):
            ask(x)
    assert np.all(np.isinf(net.diagonals(x).ntk))
    assert net.layers(x)[0][1].size == 0


def test_zero_vectors():
    x = np.zeros((3, 4))
    x[2] = 1.0
    assert np.array_equal(Network("relu", 2).ntk(x)[:2], np.zeros((2, 3)))
    sigma, tangent = Network("sigmoid", 2).both(x)
    assert np.allclose(sigma[0, 0], sigma[0, 1], rtol=1e-14)
    assert np.all(np.isfinite(tangent))
    small = Network("sigmoid", 2).nngp(np.array([[1e-5, -1e-5, 0, 0], [1.0, 1.0, 1.0, 1.0]]))
    assert np.allclose(sigma[0, 2], small[0, 1], rtol=0, atol=1e-9)


def test_float32_out_and_files(tmp_path):
    x = points(70)
    net = Network("gelu", 2)
    exact = net.ntk(x)
    single = net.ntk(x.astype(np.float32))
    assert single.dtype == np.float32
    assert np.allclose(single, exact, rtol=1e-5)
    out = np.empty((70, 70))
    assert net.ntk(x, out=out) is out
    assert np.array_equal(out, exact)
    mapped = net.ntk(x, out=tmp_path / "k.npy")
    assert np.array_equal(mapped, exact)
    assert np.array_equal(np.load(tmp_path / "k.npy"), exact)
    assert [p.name for p in tmp_path.iterdir()] == ["k.npy"]
    sigma, tangent = net.both(x, out=(None, tmp_path / "t.npy"))
    assert np.array_equal(np.load(tmp_path / "t.npy"), tangent)
    assert np.array_equal(sigma, net.nngp(x))


def test_nothing_is_left_after_a_failure(tmp_path, monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr("holokern.network.matrices.fill", fail)
    with pytest.raises(MemoryError):
        Network("relu", 1).ntk(points(20), out=tmp_path / "k.npy")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: Network("relu"),
        lambda: Network("relu", 0),
        lambda: Network("relu", 1.5),
        lambda: Network(["relu", "gelu"], 3),
        lambda: Network("relu", 1, bias=-1),
        lambda: Network("relu", 1, bias=np.nan),
        lambda: Network("relu", 1, weight_variance=0),
        lambda: Network("relu", 1, bias="much"),
        lambda: Network("rleu", 1),
        lambda: Network("relu", 1).ntk([1.0, 2.0]),
        lambda: Network("relu", 1).ntk([[1.0, np.nan]]),
        lambda: Network("relu", 1).ntk([["a", "b"]]),
        lambda: Network("relu", 1).ntk([[1j]]),
        lambda: Network("relu", 1).ntk(np.ones((3, 2)), np.ones((3, 4))),
        lambda: Network("relu", 1).ntk(np.ones((3, 2)), out=np.empty((2, 2))),
        lambda: Network("relu", 1).ntk(np.ones((3, 2)), out=np.empty((3, 3), dtype=int)),
        lambda: Network("relu", 1).ntk(np.ones((3, 2)), out="kernel.txt"),
        lambda: Network("relu", 1).ntk(np.ones((3, 2)), threads=0),
    ],
)
def test_bad_input(make):
    with pytest.raises(BadInput):
        make()


def test_an_unwritable_place():
    with pytest.raises(HolokernError, match="cannot write"):
        Network("relu", 1).ntk(np.ones((3, 2)), out="/nonexistent/k.npy")


def test_empty_sets_and_repr():
    assert Network("relu", 1).ntk(np.empty((0, 3))).shape == (0, 0)
    assert Network("relu", 1).ntk(np.ones((2, 3)), np.empty((0, 3))).shape == (2, 0)
    assert repr(Network("relu", 2, bias=0.5)) == "Network('relu', depth=2, bias=0.5)"
    assert Network(["relu", "gelu"]).depth == 2


def test_the_layout_of_the_data_does_not_matter() -> None:
    points = np.random.default_rng(5).standard_normal((7, 12))
    expected = Network("relu", 2).ntk(points)
    assert np.array_equal(Network("relu", 2).ntk(np.asfortranarray(points)), expected)
    assert np.array_equal(Network("relu", 2).ntk(np.repeat(points, 2, axis=0)[::2]), expected)


def test_the_spellings_of_neural_tangents() -> None:
    x = np.eye(3)
    ours = Network("erf", 2, bias=0.3, weight_variance=2.25)
    assert Network("erf", 2, W_std=1.5, b_std=0.3) == ours
    assert np.array_equal(Network("erf", 2, W_std=1.5, b_std=0.3).ntk(x), ours.ntk(x))
    for wrong in ({"W_std": 1.5, "weight_variance": 2.25}, {"b_std": 0.1, "bias": 0.1}):
        with pytest.raises(BadInput, match="pass only one"):
            Network("erf", 2, **wrong)
    with pytest.raises(BadInput, match=r"W_std = -1\.5 is not positive"):
        Network("erf", 2, W_std=-1.5)


def test_names_stay_in_print_and_in_notebooks() -> None:
    assert repr(Network("elu", 2)) == "Network('elu', depth=2)"
    assert repr(Network(activation("elu", alpha=2), 1)) == "Network(activation('elu', alpha=2), depth=1)"
    assert repr(Network("u*erf(u)", 1)) == "Network('u*erf(u)', depth=1)"
    Network("Max(u, 0)", 1)
    assert repr(Network("relu", 1)) == "Network('relu', depth=1)"
    page = Network(["gelu", "gelu", "u + Heaviside(u)"], bias=0.1)._repr_html_()
    assert "<td>1–2</td><td>gelu</td>" in page
    assert "<td>3</td>" in page
