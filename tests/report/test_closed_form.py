"""Closed forms for readers: the same values in fewer signs."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy as sp

from holokern import closed_form, dual
from holokern.report.algebra_section import readable, shortened


@pytest.mark.parametrize("name", ["relu", "gelu", "erf", "leaky_relu", "sin", "u*(1 + erf(u))", "u*exp(-u^2/2)"])
def test_the_short_form_has_the_same_values(name: str) -> None:
    form = closed_form(name)
    expressions, names = shortened(form)
    c1, c2, theta = 0.7, 1.9, 1.1
    truth = dual(name, c1, c2, theta=theta)
    for expression, expected in zip(expressions, (truth.k, truth.kdot), strict=True):
        whole = expression.subs(names)
        values = {s: {"c1": c1, "c2": c2, "theta": theta, "r": np.cos(theta)}[s.name] for s in whole.free_symbols}
        assert float(sp.N(whole.subs(values))) == pytest.approx(float(expected), rel=1e-12)


def test_gelu_becomes_short() -> None:
    (k, kdot), names = shortened(closed_form("gelu"))
    assert [str(name) for name in names] == ["D"]
    assert sp.count_ops(k) < sp.count_ops(closed_form("gelu").k) / 2
    assert sp.count_ops(kdot) < 0.6 * sp.count_ops(closed_form("gelu").kdot)


def test_long_numbers_are_rounded_and_it_is_said() -> None:
    shown = readable(closed_form("selu"))
    assert shown.rounded
    assert max(len(number) for number in re.findall(r"[0-9]+", shown.k + shown.kdot)) <= 7
    assert not readable(closed_form("elu")).rounded
