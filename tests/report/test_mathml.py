"""Every formula that a page may show becomes well-formed MathML."""

from __future__ import annotations

from xml.dom import minidom

import pytest

from holokern import activation, activations, pfaffian
from holokern.errors import HolokernError, Unsupported
from holokern.report.mathml import mathml

PARAMETERS = {
    "polynomial": {"coefficients": [1, 2, 3]},
    "monomial": {"degree": 3},
    "hermite": {"degree": 4},
    "rectified_polynomial": {"coefficients": [1, 2, 3]},
}


def well_formed(source: str) -> str:
    shown = mathml(source)
    minidom.parseString(shown)
    assert "\\" not in shown
    return shown


@pytest.mark.parametrize("name", activations())
def test_named_activations(name: str) -> None:
    sigma = activation(name, **PARAMETERS.get(name, {}))
    well_formed(sigma.latex())
    if sigma.is_holonomic:
        for operator in sigma.annihilator:
            well_formed(operator.latex())


@pytest.mark.parametrize(
    "text",
    [
        "Piecewise((u, (u > 0) & (u < 2)), (sin(u)/u, u > 3), (1, True))",
        "besselj(1, u) + airyai(u)",
        "Abs(u)^(1/3)*sign(u)",
        "atan(u) + asinh(u) + erfc(u)",
        "Min(u, 1)*sqrt(1 + u^2)",
        "exp(-u^2)*cos(3*u) + pi",
    ],
)
def test_expressions(text: str) -> None:
    well_formed(activation(text).latex())


@pytest.mark.parametrize("name", ["relu", "gelu", "elu", "snake", "step"])
def test_closed_forms_and_systems(name: str) -> None:
    form = activation(name).closed_form()
    well_formed(form.k_latex)
    well_formed(form.kdot_latex)
    well_formed(pfaffian(name).latex())


def test_the_structure_of_a_formula() -> None:
    assert well_formed(r"\Sigma_{12}^{2} - x") == (
        "<math><msubsup><mi>Σ</mi><mn>12</mn><mn>2</mn></msubsup><mo>−</mo><mi>x</mi></math>"
    )
    assert well_formed(r"\sqrt[3]{u}") == "<math><mroot><mi>u</mi><mrow><mn>3</mn></mrow></mroot></math>"
    table = well_formed(r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}")
    assert table.count("<mtr>") == 2
    assert table.count("<mtd>") == 4
    tall, flat = well_formed(r"\left(\frac{1}{2}\right)"), well_formed(r"\left(u\right)")
    assert 'stretchy="true"' in tall
    assert 'stretchy="true"' not in flat
    assert "&lt;" in well_formed("u < 2")


@pytest.mark.parametrize(
    "source", [r"\color{red}", r"\frac{1}", r"\left(u", "{u", "^2", r"\begin{tikz} u \end{tikz}", r"\left<u\right>"]
)
def test_other_latex_is_refused(source: str) -> None:
    with pytest.raises(Unsupported):
        mathml(source)
    assert issubclass(Unsupported, HolokernError)
