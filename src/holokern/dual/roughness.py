"""What the breaks of σ do to k and k′ next to θ = 0 and π, and how k at π - θ follows from k at θ."""

from __future__ import annotations

from functools import lru_cache

from holokern.activation import Activation, has_branch, unbounded_sides


@lru_cache(maxsize=256)
def has_infinite_slope(sigma: Activation) -> bool:
    """Whether E[σ′(cz)²] is infinite: σ jumps, or grows like |u - b|^e with e ≤ 1/2 at a break b.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> [has_infinite_slope(activation(one)) for one in ("step", "Abs(u)^(1/2)", "Abs(u)^(3/4)", "relu")]
    [True, True, False, False]
    """
    return sigma.jump_order == 0 or any(2 * side.exponent <= 1 for side in unbounded_sides(sigma))


@lru_cache(maxsize=256)
def is_rough_at_ends(sigma: Activation) -> bool:
    """Whether k is not smooth next to θ = 0 and π: σ breaks away from zero, or like a fractional power at zero.

    Examples
    --------
    >>> from holokern.activation import activation
    >>> [is_rough_at_ends(activation(one)) for one in ("relu", "hardtanh", "Max(u, 0)^(3/2)")]
    [False, True, True]
    """
    return any(b != 0 for b in sigma.breaks) or has_branch(sigma)


def fold_of(sigma: Activation) -> int:
    """+1 if k is even in the correlation, -1 if it is odd, else 0."""
    return {"even": 1, "odd": -1}.get(sigma.parity or "", 0)
