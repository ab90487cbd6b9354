"""Closed forms of activations that keep the digits of nearly equal points, so that they need no table.

`DistanceForm` has formulas of k and k′, `LineForm` has machine code for lines of pairs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.numeric import Array

Code = Callable[[NDArray[np.int64], Array, Array, Array, Array], None]
"""Machine code with the arguments index, first, second, gap and tangent, as `dual.forms.pair_lines` has them."""


_NEAR = 0.01
"""Below this loss 1 - k/(n₁n₂) has lost two digits."""


BEYOND = 16
"""Numbers behind those of the last pair in arrays of G and Θ, which vectors may reach."""


EVERYTHING = -(2**62)
"""The value of `Places.unwanted` if every pair is wanted."""


class Places(NamedTuple):
    """Where the numbers of blocks of pairs are in flat arrays."""

    # how far the numbers that count are behind the first ones of a block, for the first and the second variables
    begin: tuple[int, int]
    # lines, width: a block has so many lines of so many pairs. The second variables are the same in all of them.
    lines: int
    width: int
    is_tied: bool  # whether there is one line, with a first variable for each pair; else there is one for each line
    # how far the next number of the same variable is from the one before, for the first and the second variables
    apart: tuple[int, int]
    # how many pairs at the beginning of the first line are not wanted, and one more in each next line; or below zero
    unwanted: int = EVERYTHING


class LineForm(ABC):
    """Moments of an activation at single deviations, and distances and slopes of pairs; deviations may be zero."""

    @abstractmethod
    def norms(self, c: Array) -> Array:
        """E[σ(cz)²]^(1/2) for deviations c > 0."""

    @abstractmethod
    def slope_norms(self, c: Array) -> Array:
        """E[σ′(cz)²]^(1/2)."""

    @abstractmethod
    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many numbers the machine code needs of a variable."""

    @abstractmethod
    def numbers(self, c: Array) -> Array:
        """These numbers for deviations c ≥ 0, along a first axis; the first one is c."""

    def norms_of(self, numbers: Array) -> Array:
        """`norms` of deviations whose numbers are known."""
        return self.norms(numbers[0])

    def slope_norms_of(self, numbers: Array) -> Array:
        """E[σ′(cz)²]^(1/2) of variables with these numbers, and 0 for zeros."""
        return self.slope_norms(numbers[0])

    @abstractmethod
    def code(self, places: Places) -> Code:
        """The machine code for numbers in these places."""

    def tiles(self, first: Array, second: Array, given: Array, before: Array) -> tuple[Array, Array]:
        """Half squared distances G and products of slopes Θ after the activation.

        ``first``, ``second``: `numbers` of the rows and the columns of tiles, of shape (tiles, numbers, points).
        ``given``, ``before``: G and Θ, of shape (tiles, rows, columns); Θ may have no elements.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> from holokern.dual.forms.pair_form import pair_form
        >>> form, c = pair_form(activation("erf"), None), np.array([0.5])
        >>> side = form.numbers(c)[None]
        >>> apart, slope = form.tiles(side, side, np.full((1, 1, 1), 0.125), np.ones((1, 1, 1)))
        >>> k = form.norms(c) ** 2 - apart[0]  # of u and v with variance 1/4 and covariance 1/8
        >>> bool(abs(k[0, 0] - 2 / np.pi * np.arcsin(0.25 / 1.5)) < 1e-15)
        True
        """
        # The vectors of machine code reach beyond the last pair.
        gap, tangent = (np.append(side, np.zeros(BEYOND if side.size else 0)) for side in (given, before))
        one, two = (np.array(side, order="C").reshape(-1) for side in (first, second))
        tiles, height, width = given.shape
        index = np.arange(tiles)[:, None] * [self.count * height, self.count * width, height * width]
        code = self.code(Places((0, 0), height, width, False, (height, width)))
        code(index, one, two, gap, tangent)
        return gap[: given.size].reshape(given.shape), tangent[: before.size].reshape(before.shape)


class DistanceForm(LineForm):
    """Closed forms of k, k′ and of the distance ½E[(σ(u) - σ(v))²]."""

    @abstractmethod
    def values(self, c: Array, d: Array, theta: Array) -> tuple[Array, Array]:
        """The values k and k′ of pairs, for arrays that go together."""

    def gaps(self, c: Array, d: Array, given: Array) -> Array:
        """½E[(σ(u) - σ(v))²] from ½E[(u - v)²], by machine code, which is compiled only if it is needed."""
        left, right = (self.numbers(side).T[:, :, None] for side in (c, d))
        gap, _ = self.tiles(left, right, given[:, None, None], np.empty((0, 0, 0)))
        return np.asarray(gap[:, 0, 0])

    @abstractmethod
    def scale(self, high: float) -> float:
        """The angle over which k changes next to θ = 0, for deviations up to ``high``."""

    @property
    @abstractmethod
    def oscillates(self) -> bool:
        """Whether k also changes over this distance in the logarithms of the deviations."""

    def losses(self, theta: Array, c: Array, d: Array, folded: bool, with_slope: bool) -> tuple[Array, Array]:
        """1 - |k|/(n₁n₂) and k′ for a matrix of angles between points with deviations c and d.

        If ``folded``, |k| is that of the supplement past π/2. Without slopes k′ is zero.

        Examples
        --------
        >>> from holokern.activation import activation
        >>> from holokern.dual.forms.pair_form import pair_form
        >>> form, c = pair_form(activation("erf"), None), np.array([0.5])
        >>> lost, slope = form.losses(np.full((1, 1), np.pi / 3), c, c, True, True)
        >>> k = form.norms(c)[0] ** 2 * (1 - lost[0, 0])
        >>> bool(abs(k - 2 / np.pi * np.arcsin(0.25 / 1.5)) < 1e-15)
        True
        """
        angle = np.minimum(theta, np.pi - theta) if folded else theta
        one, other = self.norms(c), self.norms(d)
        value, slope = self.values(c[:, None], d, angle)
        lost = 1 - value / (one[:, None] * other)
        rows, columns = np.nonzero(lost < _NEAR)
        if len(rows):
            # Nearly equal points keep their digits through their distance; that of different lengths says little.
            first, second, between = c[rows], d[columns], angle[rows, columns]
            apart = (first - second) ** 2
            given = 2 * first * second * np.sin(between / 2) ** 2 + apart / 2
            gap = self.gaps(first, second, given) - (one[rows] - other[columns]) ** 2 / 2
            kept = np.where(apart <= first * second / 4, gap / (one[rows] * other[columns]), lost[rows, columns])
            lost[rows, columns] = np.where((apart == 0) & (between == 0), 0.0, kept)
        return np.maximum(lost, 0.0, out=lost), slope if with_slope else np.zeros_like(lost)
