"""Interpolation modulo a prime."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
from flint import nmod_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from holokern.pfaffian.derivation.interpolate import (
    Line,
    denominator_on_line,
    interpolate,
    lower_set,
    residue_product,
    residue_times,
    value_modulo,
    values_at,
)
from holokern.pfaffian.derivation.quotient import PRIMES
from holokern.weyl.rational.fractions import function_field

P = PRIMES[0]
residues = st.integers(0, P - 1)


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 6), st.data())
@settings(deadline=None, max_examples=30)
def test_grid_interpolation_inverts_evaluation(d1, d2, d3, total, data):
    monomials = lower_set([d1, d2, d3], total)
    wanted = data.draw(
        st.lists(st.lists(residues, min_size=len(monomials), max_size=len(monomials)), min_size=1, max_size=2)
    )

    def values(point):
        at = [pow(point[0], e, P) * pow(point[1], f, P) * pow(point[2], g, P) for e, f, g in monomials]
        return [sum(c * v for c, v in zip(row, at, strict=True)) % P for row in wanted]

    assert interpolate(partial(values_at, values), monomials, P, Random(1)) == wanted


@given(st.lists(residues, min_size=1, max_size=4), st.lists(residues, max_size=3))
@settings(deadline=None, max_examples=30)
def test_denominator_on_a_line(top, bottom):
    t, b = nmod_poly(top, P), nmod_poly([*bottom, 1], P)
    n = 12
    if any(int(b(x)) == 0 for x in range(1, n + 1)):
        return
    values = [int(t(x)) * pow(int(b(x)), -1, P) % P for x in range(1, n + 1)]
    common = b.gcd(t)
    expected = b // common if not t.is_zero() else nmod_poly([1], P)
    assert denominator_on_line(values, P) == expected


def test_too_few_values_are_noticed():
    b = nmod_poly([5, 0, 0, 1], P)
    assert denominator_on_line([pow(int(b(x)), -1, P) for x in range(1, 6)], P) is None


def test_restriction_to_a_line():
    polynomial = function_field("x y z")("x^2*y - 3*z + 1").numerator
    line = Line(lambda point: [0], (1, 2, 3), (4, 5, 6), P)
    on_line = line.restrict(polynomial)
    for t in (1, 7, 100):
        assert int(on_line(t)) == value_modulo(polynomial, line.point(t), P)


@given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.sampled_from([P, PRIMES[-1], 2**61 - 1]))
@settings(deadline=None, max_examples=30)
def test_products_of_residues(size, seed, prime):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, prime, shape, dtype=np.uint64) for shape in ((3, size), (size, 5)))
    # the largest ones test carries
    a[0], b[:, 0] = prime - 1, prime - 1
    exact = a.astype(object) @ b.astype(object) % prime
    assert residue_product(a, b, prime).tolist() == exact.tolist()
    assert residue_times(a[:, :1], b[:1], prime).tolist() == (a[:, :1].astype(object) * b[:1] % prime).tolist()
