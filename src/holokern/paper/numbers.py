"""The paper's own numbers, as data; every table prints them beside ours.

All values are read off [SakodaTakayama2024]; seconds were measured by its authors on their machines ("sw": Intel
i5-12400; "o3n": AMD EPYC 7552) and are never scaled here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Derivation:
    """One holonomic system of the paper; the second function is the first unless it is given."""

    label: str
    left: str  # operators in u and D that the paper uses for σ1
    function: str  # σ1 itself, for the whole annihilator
    basis: tuple[tuple[int, int, int], ...]  # the paper's standard monomials as exponents of (∂11, ∂12, ∂22)
    rank: int | None = None  # the paper's rank, where it gives one
    seconds: float | None = None  # the paper's time, where it gives one (of the two last parts together, on the first)
    # irreducible factors of the singular locus that the paper prints (empty where it prints none)
    factors: tuple[str, ...] = ()
    right: str | None = None
    other: str | None = None


_ONE_D12 = ((0, 0, 0), (0, 1, 0))  # the basis 1, ∂12
_DET = "x12^2 - x11*x22"  # det x up to sign
_GELU = "u^2*D^2 - 2*u*(1 - u^2)*D + 2*(1 - u^2)"  # the paper's operator for u(1 + erf u)
# the paper's eight standard monomials
_GELU_BASIS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (1, 1, 0), (1, 0, 1), (1, 1, 1))
_GELU_DERIVATIVE = "(u^2 - 1)*D^2 + (2*u^3 - 4*u)*D"  # an operator of least order for the derivative of GELU
_GELU_PART_F = "u*D + 2*u^2 - 1"  # the paper's operator for one part of GELU'
# the factors of the singular locus that the paper prints
_GELU_FACTORS = (
    "x22",
    "x22 - 1",
    "x11",
    "x11 - 1",
    _DET,
    "x12^2 - x11*x22 + x22",
    "x12^2 - x11*x22 + x11",
    "x12^2 - x11*x22 + x11 + x22 - 1",
    "x12^4 + (x22 - x22^2)*x11^2 + (x22^2 - x22)*x11",
)

DERIVATIONS: tuple[Derivation, ...] = (
    Derivation("ReLU", "u*D - 1", "relu", _ONE_D12, 2, None, ("x11", "x22", _DET)),
    Derivation("Heaviside", "u*D", "step", _ONE_D12, 2, None, ("x11", "x22", _DET)),
    Derivation(
        "ReSin",
        "u^2*(D^2 + 1)",
        "resin",
        ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 1, 1)),
        8,
        13.114,
        ("x11", "x12", "x22", _DET, "x12^2 + x11*x22"),
    ),
    Derivation("GELU", _GELU, "u*(1 + erf(u))", _GELU_BASIS, 8, 338.8, _GELU_FACTORS),
    # the paper prints a rank and no operator; the one here is the operator of least order
    Derivation("GELU'", _GELU_DERIVATIVE, "1 + erf(u) + 2*u*exp(-u^2)/sqrt(pi)", _GELU_BASIS, 8),
    Derivation("GELU', parts f(u) f(v)", _GELU_PART_F, "u*exp(-u^2)", _ONE_D12),
    Derivation(
        "GELU', parts f(u) g(v)",
        _GELU_PART_F,
        "u*exp(-u^2)",
        _ONE_D12,
        2,
        10.066,
        ("x22", "x22 - 1", "x11 - 1", "x12^2 - x11*x22 + x22", "x12^2 - x11*x22 + x11 + x22 - 1"),
        right="D^2 + 2*u*D",
        other="1 + erf(u)",
    ),
    Derivation(
        "GELU', parts g(u) g(v)",
        "D^2 + 2*u*D",
        "1 + erf(u)",
        _ONE_D12,
        2,
        None,
        (
            "x12^2 - x11*x22 + x22",
            "x12^2 - x11*x22 + x11 + x22 - 1",
            _DET,
            "x12^2 - x11*x22 + x11",
            "x12^4 + (x22 - x22^2)*x11^2 + (x22^2 - x22)*x11",
        ),
    ),
)

HERMITE: dict[str, float | int] = {"seconds": 0.009315, "mathematica_c99": 1.6998, "order": 6}

#: Activation -> method -> (training seconds, inference seconds, the printed "inference error").
LEARNING: dict[str, dict[str, tuple[float | None, float | None, float | None]]] = {
    "ReLU": {
        "closed": (0.007292, None, None),
        "gauss_hermite": (1.500, 1.442, 0.97729),
        "hgm": (1.316, 1.953, 0.96766),
        "all_at_once": (4.352, 5.143, 0.97460),
    },
    "GELU": {
        "gauss_hermite": (41.25, 62.56, 0.97163),
        "hgm": (86.21, 120.2, 0.97166),
        "all_at_once": (32.89, 381.1, 0.97163),
    },
    "ReSin": {
        "gauss_hermite": (3.916, 4.949, 0.97328),
        "hgm": (289.5, 1005.0, 0.96874),
        "all_at_once": (21.07, 23.39, 0.95745),
    },
}

#: Activation -> pair of methods -> Frobenius norm of the difference of the kernels, divided by the number of elements.
KERNEL_ERRORS: dict[str, dict[tuple[str, str], float]] = {
    "ReLU": {
        ("gauss_hermite", "hgm"): 0.0010347,
        ("gauss_hermite", "all_at_once"): 0.0010348,
        ("hgm", "all_at_once"): 2.7771e-8,
    },
    "GELU": {
        ("gauss_hermite", "hgm"): 1.1718e-8,
        ("gauss_hermite", "all_at_once"): 1.4983e-8,
        ("hgm", "all_at_once"): 1.5138e-8,
    },
    "ReSin": {
        ("gauss_hermite", "hgm"): 0.0019103,
        ("gauss_hermite", "all_at_once"): 0.0016427,
        ("hgm", "all_at_once"): 0.00062839,
    },
}

#: Step -> seconds of one run through the 91 points, with the GSL in C on "o3n".
PATH: dict[int, float] = {1: 2.065, 2: 1.820, 5: 1.550, 10: 1.115, 15: 0.771, 20: 0.692}
#: The same with scipy, step 1.
PATH_SCIPY = 3.9166
