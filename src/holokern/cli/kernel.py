"""``holokern kernel``: the NTK or NNGP matrix of a data file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from holokern.cli.completion import complete_expression

__all__ = ["kernel"]


@click.command()
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--activation", "-a", required=True, shell_complete=complete_expression, help="Name or expression in u.")
@click.option("--depth", "-d", type=int, default=1, show_default=True, help="Number of hidden layers.")
@click.option("--bias", type=float, default=0.0, show_default=True, help="Standard deviation of the biases.")
@click.option("--weight-variance", type=float, default=None, help="W_std²; the paper's c_σ by default.")
@click.option("--residual", is_flag=True, help="Add every layer to its input.")
@click.option("--kind", type=click.Choice(["ntk", "nngp"]), default="ntk", show_default=True, help="Which kernel.")
@click.option("--against", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Points of the columns.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="A .npy file.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def kernel(
    data: Path,
    activation: str,
    depth: int,
    bias: float,
    weight_variance: float | None,
    residual: bool,
    kind: str,
    against: Path | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write the kernel matrix of the rows of DATA (.npy, .npz, or text with commas or blanks) to a .npy file.

    The file appears when it is complete; an interruption leaves nothing.

    \b
    Examples:
      holokern kernel points.npy --activation gelu --depth 3 -o K.npy
      holokern kernel train.csv -a "Heaviside(u)*sin(u)" -d 2 --kind nngp -o K.npy
    """  # noqa: D301 (click reads the backspace)
    from holokern import progress
    from holokern.network import Network
    from holokern.network.output import check_writable

    check_writable(output)
    net = Network(activation, depth=depth, bias=bias, weight_variance=weight_variance, residual=residual)
    rows = _read(data)
    columns = None if against is None else _read(against)
    with progress.display("compiling"):
        matrix = getattr(net, kind)(rows, columns, out=output)
    record = {"kind": kind, "network": repr(net), "shape": list(matrix.shape), "file": str(output)}
    if as_json:
        click.echo(json.dumps(record))
    else:
        click.echo(f"{record['network']}: {kind} of shape {matrix.shape[0]} x {matrix.shape[1]} in {output}")


def _read(path: Path) -> Any:
    import zipfile

    import numpy as np

    from holokern.errors import BadInput

    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if path.suffix == ".npz":
            return _only_array(path)
        text = path.read_text(encoding="utf-8")
        return np.loadtxt(text.replace(",", " ").replace(";", " ").splitlines(), ndmin=2)
    except (ValueError, OSError, EOFError, UnicodeDecodeError, zipfile.BadZipFile) as error:
        hint = "give a .npy file, a .npz file with one array, or a table of numbers without a header"
        reason = str(error).splitlines()[0] if str(error) else "it is empty"
        raise BadInput(f"cannot read points from {str(path)!r}: {reason}; {hint}") from None


def _only_array(path: Path) -> Any:
    import numpy as np

    with np.load(path, allow_pickle=False) as archive:
        names = archive.files
        chosen = [name for name in names if name in {"X", "x"}] if len(names) > 1 else names
        if len(chosen) != 1:
            raise ValueError(f"it holds the arrays {', '.join(names) or '(none)'} and none of them is called X")
        return archive[chosen[0]]
