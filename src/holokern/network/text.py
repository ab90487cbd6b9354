"""A network as text, and as a table for notebooks."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from holokern.activation import Activation

if TYPE_CHECKING:
    from holokern.network.network import Network


def text_of(network: Network) -> str:
    """Text that gives the network again."""
    if network.kernels is not None:
        extra = ", parameterization='standard'" if network.kernels.is_standard else ""
        return f"Network({network.kernels.layer!r}{extra})"
    names = [_shown(a) for a in network.activations]
    shown = names[0] if len(set(names)) == 1 else f"[{', '.join(names)}]"
    extras = "".join(
        f", {name}={value!r}"
        for name, value, default in (
            ("bias", network.bias, 0.0),
            (*_weights(network.weight_variance), None),
            ("residual", network.residual, False),
        )
        if value != default
    )
    return f"Network({shown}, depth={network.depth}{extras})"


def _weights(variance: object) -> tuple[str, object]:
    """The keyword of the weights and its value: the deviation if it is a short number and its square is the variance.

    Examples
    --------
    >>> _weights(1.4 * 1.4), _weights(2.0)
    (('W_std', 1.4), ('weight_variance', 2.0))
    """
    if isinstance(variance, float):
        deviation = float(f"{variance**0.5:.6g}")
        if deviation * deviation == variance and len(repr(deviation)) < len(repr(variance)):
            return "W_std", deviation
    return "weight_variance", variance


def table_of(network: Network) -> str:
    """A table of the hidden layers in HTML; equal layers that follow each other share a row."""
    rows, first = [], 1
    for layer, group in groupby(network.hidden_layers):
        last = first + len(list(group)) - 1
        cells = f"{first}" if last == first else f"{first}–{last}", str(layer.activation)
        numbers = f"{layer.weight:.6g}", f"{layer.bias:.6g}"
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in (*cells, *numbers)) + "</tr>")
        first = last + 1
    if not rows and network.kernels is not None:
        return f"<pre>{escape(network.kernels.summary(None))}</pre>"
    head = "".join(f"<th>{name}</th>" for name in ("hidden layer", "activation", "weight variance", "bias"))
    return f"<table><caption>{escape(text_of(network))}</caption><tr>{head}</tr>{''.join(rows)}</table>"


def _shown(activation: Activation) -> str:
    """Text that gives the activation again: its name, with its parameters where they matter, or its expression."""
    text = str(activation)
    return repr(activation) if activation.name not in (None, text) else repr(text)
