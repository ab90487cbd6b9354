"""The Koyama–Takemura ideal: what annihilates a Gaussian-type integral of a holonomic function on ℝᵈ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holokern.errors import BadInput, BadOperator
from holokern.weyl.algebra.operator import Operator, substituted, widened
from holokern.weyl.algebra.weyl_algebra import WeylAlgebra
from holokern.weyl.modules.ideal import LeftIdeal


def gaussian_integral_algebra(d: int, linear: str = "y", quadratic: str = "x") -> WeylAlgebra:
    """The Weyl algebra in y_1, …, y_d and x_ij, i ≤ j, where the integral of :func:`koyama_takemura_ideal` lives.

    Examples
    --------
    >>> gaussian_integral_algebra(2).variables
    ('y1', 'y2', 'x11', 'x12', 'x22')
    """
    if not isinstance(d, int) or isinstance(d, bool) or d < 1:
        raise BadInput(f"expected a dimension of at least 1 for the Koyama–Takemura ideal, got {d!r}")
    # two-digit indices need a separator: x_1_12 and x_11_2 must differ
    joint = "" if d < 10 else "_"
    names = [f"{linear}{i}" for i in range(1, d + 1)]
    names += [f"{quadratic}{i}{joint}{j}" for i in range(1, d + 1) for j in range(i, d + 1)]
    return WeylAlgebra(tuple(names), tuple("d" + name for name in names))


def product_annihilator(factors: Sequence[Iterable[Operator]]) -> tuple[Operator, ...]:
    """Operators in t_1, …, t_d that annihilate σ_1(t_1)···σ_d(t_d), from operators for each univariate σ_i.

    ``factors``: the i-th entry holds operators of a Weyl algebra in one variable (of any name) that annihilate σ_i.

    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("u", "D")
    >>> product_annihilator([[D("u*D - 1")], [D("D^2 + 1")]])
    (t1*dt1 - 1, dt2^2 + 1)
    """
    d = len(factors)
    if d == 0:
        raise BadInput("expected at least one factor, got an empty product")
    names = tuple(f"t{i}" for i in range(1, d + 1))
    algebra = WeylAlgebra(names, tuple("d" + name for name in names))
    found = []
    for i, factor in enumerate(factors):
        for operator in factor:
            if not isinstance(operator, Operator) or operator.algebra.dimension != 1:
                raise BadOperator(f"expected an operator in one variable for factor {i + 1}, got {operator!r}")
            found.append(widened(operator, algebra, [i]))
    return tuple(found)


def koyama_takemura_ideal(operators: Sequence[Operator], linear: str = "y", quadratic: str = "x") -> LeftIdeal:
    """The ideal that annihilates g(x, y) = ∫ f(t) exp(Σ_ij t_i x_ij t_j + Σ_i t_i y_i) dt.

    The homomorphism φ(t_i) = ∂_{y_i}, φ(∂_{t_i}) = -y_i - 2 Σ_k x_ik ∂_{y_k} carries Ann f to operators that
    annihilate g; the rest are ∂_{x_ii} - ∂_{y_i}² and ∂_{x_ij} - 2 ∂_{y_i}∂_{y_j}.  When the given operators
    generate a holonomic ideal, so do these [KoyamaTakemura2013, Thm 1, 2].

    Parameters
    ----------
    operators : sequence of Operator
        Operators in t_1, …, t_d that annihilate f, as a function or as a tempered distribution.
    linear, quadratic : str
        The letters of the new variables y_i and x_ij, i ≤ j; x_ij with i < j occurs twice in the exponent.

    Returns
    -------
    LeftIdeal
        In the algebra :func:`gaussian_integral_algebra`.

    Examples
    --------
    The Gaussian integral, f = 1:

    >>> from holokern.weyl import weyl_algebra
    >>> ideal = koyama_takemura_ideal([weyl_algebra("t")("dt")])
    >>> ideal.generators
    (-2*x11*dy1 - y1, -dy1^2 + dx11)
    """
    operators = tuple(operators)
    if not operators:
        raise BadInput("expected at least one annihilating operator; the operator 0 stands for none")
    if not all(isinstance(operator, Operator) for operator in operators):
        raise BadOperator("expected operators of one Weyl algebra; read texts with weyl_algebra(...)(text) first")
    source = operators[0].algebra
    if any(operator.algebra != source for operator in operators):
        raise BadOperator("the annihilating operators belong to different Weyl algebras")
    d = source.dimension
    target = gaussian_integral_algebra(d, linear, quadratic)
    n = target.dimension
    y, rest = target.gens[:d], target.gens[d:n]
    dy, derivations = target.gens[n : n + d], target.gens[n + d :]
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    x = dict(zip(pairs, rest, strict=True))
    image_of_derivation = [
        -y[i] - sum((2 * x[min(i, k), max(i, k)] * dy[k] for k in range(d)), target.zero) for i in range(d)
    ]
    images = [substituted(operator, dy, image_of_derivation, target) for operator in operators]
    heat = [
        dx - (dy[i] * dy[j] if i == j else 2 * dy[i] * dy[j]) for (i, j), dx in zip(pairs, derivations, strict=True)
    ]
    return LeftIdeal(target, (*images, *heat))


def koyama_takemura_ideal_of_product(
    factors: Sequence[Iterable[Operator]], linear: str = "y", quadratic: str = "x"
) -> LeftIdeal:
    """The Koyama–Takemura ideal of f(t) = σ_1(t_1)···σ_d(t_d), from univariate operators.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> relu = [weyl_algebra("u", "D")("u*D - 1")]
    >>> koyama_takemura_ideal_of_product([relu, relu]).generators[0]
    -2*x11*dy1^2 - 2*x12*dy1*dy2 - y1*dy1 - 2
    """
    return koyama_takemura_ideal(product_annihilator(factors), linear, quadratic)
