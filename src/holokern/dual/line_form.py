"""`LineForm`: an activation that machine code takes lines of pairs through, from some numbers of each variable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holokern.numeric import Array

Code = Callable[[NDArray[np.int64], Array, Array, Array, Array], None]
"""Machine code with the arguments index, first, second, gap and tangent, as `pair_lines` explains them."""


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


class Form(ABC):
    """Moments of an activation at single deviations."""

    @abstractmethod
    def norms(self, c: Array) -> Array:
        """E[σ(cz)²]^(1/2) for deviations c > 0."""

    @abstractmethod
    def slope_norms(self, c: Array) -> Array:
        """E[σ′(cz)²]^(1/2)."""

    @abstractmethod
    def means(self, c: Array) -> Array:
        """E[σ(cz)]."""


class LineForm(Form):
    """Distances and slopes of pairs after an activation; deviations may be zero."""

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
        >>> from holokern.dual.closed.pair_form import pair_form
        >>> form, c = pair_form(activation("erf"), None), np.array([0.5])
        >>> side = form.numbers(c)[None]
        >>> apart, slope = form.tiles(side, side, np.full((1, 1, 1), 0.125), np.ones((1, 1, 1)))
        >>> k = form.norms(c) ** 2 - apart[0]  # of u and v with variance 1/4 and covariance 1/8
        >>> bool(abs(k[0, 0] - 2 / np.pi * np.arcsin(0.25 / 1.5)) < 1e-15)
        True
        """
        gap, tangent = np.array(given, order="C"), np.array(before, order="C")
        one, two = (np.array(side, order="C").reshape(-1) for side in (first, second))
        tiles, height, width = gap.shape
        index = np.arange(tiles)[:, None] * [self.count * height, self.count * width, height * width]
        code = self.code(Places((0, 0), height, width, False, (height, width)))
        code(index, one, two, gap.reshape(-1), tangent.reshape(-1))
        return gap, tangent
