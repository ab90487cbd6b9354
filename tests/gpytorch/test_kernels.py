"""Kernels for GPyTorch: the numbers of numpy and of BoTorch, derivatives where points coincide, batches, learning."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

from holokern.errors import BadInput, Unsupported
from holokern.network import Network

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "gallery" / "bayesian_optimisation.py"


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def kernels(torch):
    from holokern import gpytorch

    return {"nngp": gpytorch.NNGPKernel, "ntk": gpytorch.NTKKernel}


@pytest.fixture(scope="module")
def points(torch):
    return torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, size=(6, 3)))


@pytest.mark.parametrize("kind", ["nngp", "ntk"])
@pytest.mark.parametrize("activation", ["relu", "elu"])
def test_equals_numpy(torch, kernels, kind, activation, points):
    kernel = kernels[kind](activation, 3, 0.3, 1.7)
    exact = getattr(Network(activation, 3, bias=0.3, weight_variance=1.7), kind)(points.numpy())
    made = kernel(points).to_dense()
    assert made.dtype == torch.float64
    np.testing.assert_allclose(made.detach().numpy(), exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel(points, diag=True).detach().numpy(), np.diagonal(exact), rtol=1e-12)
    np.testing.assert_allclose(kernel(points.float()).to_dense().detach().numpy(), exact, rtol=1e-5)
    shifted = points.flip(0)
    np.testing.assert_allclose(
        kernel(points, shifted, diag=True).detach().numpy(), np.diagonal(exact[:, ::-1]), rtol=1e-10
    )


def test_a_network_normalised_and_without_bias(kernels, points):
    network = Network(["relu", "erf"])
    kernel = kernels["ntk"](network)
    assert list(kernel.parameters()) == []
    np.testing.assert_allclose(kernel(points).to_dense().numpy(), network.ntk(points.numpy()), rtol=1e-12, atol=1e-12)


def test_equals_botorch(torch, kernels, points):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("botorch")
        from botorch.models.kernels.infinite_width_bnn import InfiniteWidthBNNKernel
    theirs = InfiniteWidthBNNKernel(3).double()
    theirs.weight_var, theirs.bias_var = (torch.tensor(v, dtype=torch.float64) for v in (1.7, 0.09))
    ours = kernels["nngp"]("relu", 3, 0.3, 1.7)
    for other in (points, -points):
        np.testing.assert_allclose(
            ours(points, other).to_dense().detach().numpy(),
            theirs(points, other).to_dense().detach().numpy(),
            atol=1e-7,  # their clamp of the cosine
        )


@pytest.mark.parametrize(("kind", "activation"), [("nngp", "relu"), ("nngp", "elu"), ("ntk", "erf")])
def test_derivatives_at_coincident_and_opposite_points(torch, kernels, kind, activation, points):
    kernel = kernels[kind](activation, 2, 0.3, 1.7)
    left = torch.cat([points[:2], -points[:1]]).clone().requires_grad_(True)
    right = points[:2].clone().requires_grad_(True)
    names = [name for name, _ in kernel.named_parameters()]

    def function(a, b, *values):
        called = torch.func.functional_call(kernel, dict(zip(names, values, strict=True)), (a, b))
        return called.to_dense()

    values = [value.detach().clone().requires_grad_(True) for value in kernel.parameters()]
    assert torch.autograd.gradcheck(function, (left, right, *values), atol=2e-6, rtol=1e-5)
    assert torch.autograd.gradcheck(lambda a: kernel(a).to_dense(), (left,), atol=2e-6, rtol=1e-5)


def test_antipodes_without_bias(torch, kernels, points):
    kernel = kernels["nngp"]("gelu", 1, 0.0, 2.0)
    left, right = points[:2].clone().requires_grad_(True), -points[:2]
    assert torch.autograd.gradcheck(lambda a: kernel(a, right).to_dense(), (left,), atol=2e-6, rtol=1e-5)


def test_batches_have_variances_of_their_own(torch, kernels, points):
    kernel = kernels["nngp"]("relu", 2, 0.3, 1.7, batch_shape=torch.Size([2]))
    kernel.initialize(raw_bias=torch.tensor([-0.4, 0.8], dtype=torch.float64))
    x, y = (
        torch.stack([points[i], points[j]])[:, None].expand(2, 2, -1, -1) for i, j in (([0, 1], [2, 3]), ([4], [5]))
    )
    made = kernel(x, y).to_dense().detach().numpy()
    assert made.shape == (2, 2, 2, 1)
    for batch, bias in enumerate(kernel.bias.tolist()):
        network = Network("relu", 2, bias=bias, weight_variance=1.7)
        for row in range(2):
            np.testing.assert_allclose(made[row, batch], network.nngp(x[row, batch].numpy(), y[row, batch].numpy()))
    single = kernels["ntk"]("relu", 2, 0.3, 1.7)
    np.testing.assert_allclose(single(x, y).to_dense()[1, 0].detach(), single(x[1, 0], y[1, 0]).to_dense().detach())


def test_variances_of_each_layer(torch, kernels, points):
    kernel = kernels["nngp"]("relu", 1, 0.0, 2.0, per_layer=True)
    assert kernel.weight_variance.shape == (2,)
    kernel.initialize(raw_weight_variance=torch.tensor([0.5, 2.0], dtype=torch.float64))
    first, second = kernel.weight_variance.tolist()
    plain = Network("relu", 1, weight_variance=1.0).nngp(points.numpy())
    np.testing.assert_allclose(kernel(points).to_dense().detach().numpy(), first * second * plain, rtol=1e-12)


def test_a_parameter_of_the_activation_is_learnable(torch, kernels, points):
    kernel = kernels["nngp"]("elu", 1, 0.2, 1.5, activation_parameters={"alpha": 1.3})
    total = kernel(points[:3]).to_dense().sum()
    (rate,) = torch.autograd.grad(total, kernel.raw_activation_alpha)
    kernel.requires_grad_(False)

    def moved(step):
        raw = kernel.raw_activation_alpha.detach() + step
        alpha = float(kernel.raw_activation_alpha_constraint.transform(raw))
        from holokern.activation import activation

        return Network(activation("elu", alpha=alpha), 1, bias=0.2, weight_variance=1.5).nngp(points[:3].numpy()).sum()

    assert float(rate) == pytest.approx((moved(0.01) - moved(-0.01)) / 0.02, rel=1e-3)


def test_refusals(kernels, points):
    with pytest.raises(BadInput, match="by its name"):
        kernels["nngp"](Network("relu", 1), activation_parameters={"alpha": 1.0})
    with pytest.raises(Unsupported):
        kernels["ntk"]("step", 1)
    with pytest.raises(Unsupported, match="last_dim_is_batch"):
        kernels["nngp"]().forward(points, points, last_dim_is_batch=True)


def test_learnable_numbers_have_a_range(torch, kernels, points):
    kernel = kernels["nngp"]("relu", 1, 0.5, 1.5)
    for end, raw in ((1e-3, -1e3), (1e3, 1e3)):
        for parameter in kernel.parameters():
            parameter.data.fill_(raw)  # as an optimiser does
        assert kernel.bias.item() == pytest.approx(end)
        assert torch.isfinite(kernel(points).to_dense()).all()
    assert kernels["nngp"]("relu", 1, 0.5, 5000.0).weight_variance.item() == pytest.approx(5000.0)


@pytest.mark.slow
@pytest.mark.timeout(1800)  # six rounds, each a fit and a search
@pytest.mark.filterwarnings("ignore")
def test_bayesian_optimisation_finds_the_hill():
    pytest.importorskip("botorch")
    example = runpy.run_path(str(EXAMPLE))
    found = example["search"](6)
    assert float(found[-1]) > 1.05
