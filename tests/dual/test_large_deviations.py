"""Deviations of thousands and more, where a sigmoid is a step and its slope a needle that a mesh must not miss."""

import numpy as np
import pytest

from holokern.activation import activation
from holokern.dual import dual, dual_activation
from holokern.dual.sampling.mesh import Mesh

MORE = "tanh", "silu", "elu", "selu", "mish", "softplus", "sigmoid", "gelu", "erf", "gaussian", "exp(-u^2)+u"
SOURCES = ["gelu_tanh", "tanh(100*u)", *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)]
THETA = np.array([0.15, 0.9, 2.9])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("c", [3e3, 1e6])
def test_meshes_against_quadrature(source, c):
    owner, others = dual_activation(source), np.array([c, 1.3 * c])
    norms, slopes = owner.norms(others), owner.slope_norms(others)
    same = dual(source, others, others, theta=np.zeros(2), method="quadrature")
    assert np.allclose(norms**2, same.k, rtol=1e-12)
    assert np.allclose(slopes**2, same.kdot, rtol=1e-11)
    exact = dual(source, np.full(3, c), np.full(3, 1.3 * c), theta=THETA, method="quadrature")
    k, kdot = owner.grid(others[:1], others[1:], THETA)
    assert np.max(np.abs(k[0, 0] - exact.k)) < 1e-12 * np.prod(norms)
    assert np.max(np.abs(kdot[0, 0] - exact.kdot)) < 1e-12 * np.prod(slopes)
    table = owner.table(c, 1.4 * c, 0.4)
    k, kdot = table(others[:1], others[1:], THETA[1:2])
    assert abs(k[0] - exact.k[1]) < 1e-12 * np.prod(norms)
    assert abs(kdot[0] - exact.kdot[1]) < 1e-12 * np.prod(slopes)


def test_a_needle_beside_zero_is_seen_only_from_near():
    """To both sides of zero wide panels see a constant."""
    slope = activation("gelu_tanh").derivative

    def function(x, owner):
        return slope(1e4 * x)[None]

    blind = Mesh.resolving([function], 9.0, 4e-15, 10**5, "a needle")
    seeing = Mesh.resolving([function], 9.0, 4e-15, 10**5, "a needle", scale=1e-4)
    assert len(blind.edges) == 19 and seeing.edges[1] < 2e-4
    x = np.linspace(-1e-3, 1e-3, 41)
    values = slope(1e4 * seeing.nodes)[None]
    assert np.max(np.abs(seeing.values_at(values, x) - slope(1e4 * x))) < 1e-13
