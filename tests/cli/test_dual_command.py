"""``holokern dual``: values, proved digits, JSON and one-line errors."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

from holokern.cli import main

RELU = (math.sqrt(3) / 2 + math.pi / 3) / (2 * math.pi)


def run(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(main, ["dual", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output, parse_constant=pytest.fail)
    assert isinstance(found, dict)
    return found


def test_a_value_with_its_error() -> None:
    found = run("relu", "--c1", "1", "--c2", "1", "--r", "1/2")
    assert found["k"] == pytest.approx(RELU, rel=1e-14)
    assert found["kdot"] == pytest.approx(1 / 3, rel=1e-14)
    assert 0 < float(str(found["error"])) < 1e-13


def test_parameters_method_and_angle() -> None:
    point = ["--c1", "1", "--c2", "1", "--theta", str(math.pi / 3)]
    scaled = run("leaky_relu", "--param", "slope=0", *point, "--method", "quadrature")
    assert scaled["method"] == "quadrature"
    assert scaled["k"] == pytest.approx(RELU, rel=1e-13)


def test_proved_digits_and_closed_form() -> None:
    found = run("relu", "--c1", "1", "--c2", "1", "--r", "1/2", "--digits", "30", "--closed-form")
    assert str(found["k"]).startswith("[0.304498890522114679044498291245 +/-")
    assert "acos" in str(found["k_closed_form"]) or "theta" in str(found["k_closed_form"])


def test_json_has_no_numbers_that_json_does_not_know() -> None:
    infinite = run("step", "--c1", "1", "--c2", "1", "--r", "1")
    assert infinite["kdot"] == "inf"
    missing = run("step", "--c1", "1", "--c2", "1", "--r", "0.5", "--method", "compiled")
    assert missing["kdot"] is None


def test_plain_text() -> None:
    result = CliRunner().invoke(main, ["dual", "relu", "--c1", "1", "--c2", "1", "--r", "1/2"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == ["k", "error", "k′", "k′", "method"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["relu", "--c1", "1", "--c2", "1"], 2),
        (["relu", "--c1", "1", "--c2", "1", "--r", "0", "--theta", "1"], 2),
        (["relu", "--c1", "1", "--c2", "1", "--r", "1.5"], 2),
        (["relu", "--c1", "-1", "--c2", "1", "--r", "0"], 2),
        (["relu", "--c1", "nan", "--c2", "1", "--r", "0"], 2),
        (["relu", "--c1", "inf", "--c2", "1", "--r", "0"], 2),
        (["relu", "--c1", "1/0", "--c2", "1", "--r", "0"], 2),
        (["relu", "--c1", "1", "--c2", "1", "--r", "0", "--method", "nothing"], 2),
        (["tanh", "--c1", "1", "--c2", "1", "--r", "0", "--method", "closed"], 1),
        (["nothing(u)", "--c1", "1", "--c2", "1", "--r", "0"], 2),
        (["relu", "--c1", "1", "--c2", "1", "--theta", "0", "--digits", "20"], 2),
        (["relu", "--c1", "1", "--c2", "1", "--r", "0", "--tolerance", "2"], 2),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], code: int) -> None:
    result = CliRunner().invoke(main, ["dual", *arguments])
    assert result.exit_code == code
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
