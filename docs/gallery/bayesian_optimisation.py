"""
Bayesian optimisation with the kernel of an ELU network
=======================================================

BoTorch has a kernel of infinitely wide ReLU networks. `holokern.gpytorch` has those of any activation. Here a Gaussian
process with the NNGP kernel of an ELU network looks for the largest value of a function. Its bias, weight variance and
noise are fitted by the marginal likelihood in every round.

It needs ``pip install 'holokern[botorch]'``.
"""

# sphinx_gallery_thumbnail_path = "_static/bayesian_optimisation.svg"

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.kernels import ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood

from holokern.gpytorch import NNGPKernel


def objective(x: torch.Tensor) -> torch.Tensor:
    """A smooth hill with ripples; the largest value, 1.1, is at (0.4, -0.3)."""
    away = x - torch.tensor([0.4, -0.3], dtype=x.dtype)
    return torch.exp(-(away**2).sum(-1)) + 0.1 * torch.cos(4 * away).prod(-1)


def search(rounds: int, first: int = 6, seed: int = 0) -> torch.Tensor:
    """The largest value known after each round."""
    torch.manual_seed(seed)
    points = 2 * torch.rand(first, 2, dtype=torch.float64) - 1
    bounds = torch.tensor([[-1.0, -1.0], [1.0, 1.0]], dtype=torch.float64)
    found = []
    for _ in range(rounds):
        values = objective(points)[:, None]
        kernel = ScaleKernel(NNGPKernel("elu", depth=2, bias=0.5, weight_variance=1.5))
        model = SingleTaskGP(points, values, covar_module=kernel)
        fit_gpytorch_mll(
            ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs={"options": {"maxiter": 40}}
        )
        improvement = LogExpectedImprovement(model, best_f=values.max())
        new, _ = optimize_acqf(improvement, bounds, q=1, num_restarts=2, raw_samples=32, options={"maxiter": 40})
        points = torch.cat([points, new])
        found.append(objective(points).max())
    return torch.stack(found)


if __name__ == "__main__":
    for place, value in enumerate(search(12), start=1):
        print(f"round {place:2d}: best value {value:.4f} of 1.1")
