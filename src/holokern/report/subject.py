"""An activation with all that the parts of its page share, and the data of its charts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holokern.activation import Activation, curves
from holokern.dual import dual
from holokern.network import EdgePart, edge_of_chaos
from holokern.numeric import Array
from holokern.paper import Json
from holokern.progress import report
from holokern.report.value_tables import Sigma, ValueTables, read_sigma, value_tables

# the degree that the rule of the paper starts with, and one that costs sixteen times as much
NODES = (25, 100)
# shares that a sum of one does not feel
ROUNDING = 1e-17
# the chart shows degrees 0 to 60
_DEGREES = 61


@dataclass(frozen=True)
class Subject:
    """An activation with all that its parts of the page share."""

    activation: Activation
    sigma: Sigma
    tables: ValueTables
    edge: list[EdgePart]
    weight: float

    @classmethod
    def of(cls, activation: Activation) -> Subject:
        """Compute the tables of an activation and its edge of chaos."""
        sigma = read_sigma(activation)
        report(f"tables of k and k′ of {activation}")
        tables = value_tables(sigma)
        edge = [] if sigma.steep else edge_of_chaos(activation, *tables.wide)
        return cls(activation, sigma, tables, edge, 1 / float(sigma.norms(np.ones(1))[0]))

    @property
    def name(self) -> str:
        """The name with the parameters that are not the usual ones, or the expression."""
        return _name(self.activation)

    def data(self) -> dict[str, Json]:
        """What the script of the page draws."""
        report(f"Gauss–Hermite rules for {self.activation}")
        edge = [
            {"weight": _digits(part.weight), "bias": _digits(part.bias), "stable": part.stable} for part in self.edge
        ]
        return {
            "name": self.name,
            "weight": self.weight,
            "tables": self.tables.data(),
            "sigma": _graph(self.activation),
            "gauss": _gauss_data(self.sigma),
            "spectrum": _spectrum_data(self.sigma),
            "edge": edge,
        }


def _name(activation: Activation) -> str:
    text = str(activation)
    if activation.name not in (None, text):
        given = ", ".join(f"{key} = {value}" for key, value in activation.parameters.items())
        text = f"{activation.name} ({given})"
    return text if len(text) <= 80 else f"{text[:79]}…"


def _graph(activation: Activation) -> dict[str, Json]:
    """σ and σ′ for the first chart; a gap where σ or σ′ jumps."""
    u, value, slope = curves(activation)
    jumps = activation.jump_order == 0
    return {"u": _digits(u), "value": _digits(value), "slope": _digits(slope), "jumps": jumps}


def _gauss_data(sigma: Sigma) -> dict[str, Json]:
    """Errors of Gauss–Hermite rules at c1 = c2 = 1, relative to the values at r = 1."""
    theta = np.linspace(0.01, np.pi - 0.01, 121)
    rows = [rule_errors(sigma, 1.0, 1.0, theta, nodes) for nodes in NODES]
    return {
        "r": _digits(np.cos(theta)),
        "k": [_digits(row[0], 3) for row in rows],
        "kdot": [_digits(row[1], 3) for row in rows],
    }


def rule_errors(sigma: Sigma, c1: float, c2: float, theta: Array, nodes: int) -> tuple[Array, Array]:
    """Errors of k and of k′ by a Gauss–Hermite rule, relative to the values at r = 1."""
    truth = dual(sigma.activation, c1, c2, theta=theta)
    rule = dual(sigma.activation, c1, c2, theta=theta, method="gauss_hermite", degree=nodes)
    size, slope_size = (float(np.prod(radical(np.array([c1, c2])))) for radical in (sigma.norms, sigma.slope_norms))
    return np.abs(rule.k - truth.k) / size, np.abs(rule.kdot - truth.kdot) / slope_size


def _spectrum_data(sigma: Sigma) -> dict[str, Json]:
    share = sigma.spectrum(1.0)[:_DEGREES] ** 2 / float(sigma.norms(np.ones(1))[0]) ** 2
    n = np.flatnonzero(share > ROUNDING)
    return {"n": n.tolist(), "share": _digits(share[n], 4)}


def _digits(values: Array, digits: int = 6) -> list[float | None]:
    return [float(f"{x:.{digits}g}") if np.isfinite(x) else None for x in values]
