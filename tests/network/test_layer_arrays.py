"""Compositions of layers on JAX, torch and dask arrays, beside the numpy engine."""

import numpy as np
import pytest

import holokern as hk
from holokern import layers as L


def data():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(4, 4, 3, 2)), rng.normal(size=(3, 4, 3, 2))
    x[0, :2] = 0.0
    return x, y


def flat(name):
    return hk.Network(
        L.Serial(L.Conv(3, 1.4, 0.1), L.Activation(name), L.Conv(2, 1.2), L.Activation(name), L.Flatten(), L.Dense())
    )


def pooled(name):
    return hk.Network(
        L.Serial(
            L.Conv(3, 1.4, 0.2), L.LayerNorm(), L.Activation(name), L.AvgPool(2, stride=1), L.GlobalAvgPool(), L.Dense()
        )
    )


def agrees_in_jax(net, *given):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        kernel = net.compile(like=np.concatenate(given))
        found = jax.jit(kernel.both)(*map(jax.numpy.asarray, given))
        for mine, expected in zip(found, net.both(*given), strict=True):
            assert np.asarray(mine) == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_jax_agrees_with_numpy_and_traces():
    agrees_in_jax(flat("relu"), *data())


@pytest.mark.slow
@pytest.mark.parametrize("net", [flat("gelu"), pooled("gelu")], ids=["flat", "pooled"])
def test_jax_agrees_with_numpy_for_tables(net):
    x, y = data()
    agrees_in_jax(net, x)
    agrees_in_jax(net, x, y)


@pytest.mark.parametrize("net", [flat("gelu"), pooled("relu")], ids=["flat", "pooled"])
def test_torch_gradients_are_differences_of_numpy(net):
    torch = pytest.importorskip("torch")
    x, y = data()
    moved = torch.tensor(x, requires_grad=True)
    torch.sin(net.ntk(moved, torch.tensor(y))).sum().backward()
    step = np.zeros_like(x)
    step[2, 1, 2, 1] = 1e-5
    ends = [np.sum(np.sin(net.ntk(x + sign * step, y))) for sign in (1, -1)]
    assert bool(torch.isfinite(moved.grad).all())
    assert moved.grad[2, 1, 2, 1].item() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


def test_tracing_without_ranges_is_refused_unless_they_do_not_matter():
    jax = pytest.importorskip("jax")
    x, _ = data()
    with jax.enable_x64(True):
        assert np.asarray(jax.jit(flat("relu").nngp)(jax.numpy.asarray(x))) == pytest.approx(
            flat("relu").nngp(x), rel=1e-12
        )
        with pytest.raises(hk.errors.BadInput, match="like=X"):
            jax.jit(flat("gelu").nngp)(jax.numpy.asarray(x))
    with pytest.raises(hk.errors.BadInput, match="like=X"):
        flat("gelu").compile(0.5, 2.0)


def test_dask_blocks_are_those_of_the_matrix():
    da = pytest.importorskip("dask.array")
    x, y = data()
    net = pooled("gelu")
    lazy = da.from_array(x, chunks=(2, -1, -1, -1))
    nngp, ntk = net.both(lazy)
    assert nngp.compute(scheduler="synchronous") == pytest.approx(net.nngp(x), rel=1e-12)
    assert ntk.compute(scheduler="synchronous") == pytest.approx(net.ntk(x), rel=1e-12)
    assert net.ntk(lazy, da.from_array(y)).compute(scheduler="synchronous") == pytest.approx(net.ntk(x, y), rel=1e-12)
    assert net.diagonals(lazy).nngp.compute(scheduler="synchronous") == pytest.approx(np.diag(net.nngp(x)), rel=1e-12)
