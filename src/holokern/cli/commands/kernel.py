"""``holokern kernel``: the NTK or NNGP matrix of a data file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holokern.cli.options.arguments import (
    DEVIATION,
    POSITIVE,
    Real,
    complete_expression,
    parameter_option,
    read_activation,
)
from holokern.cli.options.output import OutputFile, output_folder, refuse_inputs
from holokern.errors import BadInput, PrecisionLost

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from holokern.network import Network

    Points = NDArray[Any]

_BLOCK = 256  # rows of the matrix that are looked at together, so that a matrix larger than the memory can be checked


@click.command()
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--activation", "-a", required=True, shell_complete=complete_expression, help="Name or expression in u.")
@parameter_option
@click.option(
    "--depth", "-d", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Number of hidden layers."
)
@click.option(
    "--bias", type=Real(DEVIATION, 0.0), default=0.0, show_default=True, help="Standard deviation of the biases."
)
@click.option("--weight-variance", type=POSITIVE, default=None, help="W_std²; the paper's c_σ by default.")
@click.option("--residual", is_flag=True, help="Add every layer to its input.")
@click.option("--kind", type=click.Choice(["ntk", "nngp"]), default="ntk", show_default=True, help="Which kernel.")
@click.option(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A second file, whose points give the columns.",
)
@click.option("-o", "--output", type=OutputFile(".npy"), required=True, help="A .npy file; its folder is made.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def kernel(
    *,
    data: Path,
    activation: str,
    parameters: tuple[str, ...],
    depth: int,
    bias: float,
    weight_variance: float | None,
    residual: bool,
    kind: str,
    against: Path | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write the kernel matrix of the rows of DATA to a .npy file.

    DATA is a .npy file, a .npz file, or text: numbers separated by commas, semicolons, tabs or blanks, one line for
    each point; a header row is skipped.  The output file appears only when it is complete and all its entries are
    finite; an interrupted command leaves no file.

    \b
    Examples:
      holokern kernel points.npy --activation gelu --depth 3 -o K.npy
      holokern kernel points.npy -a elu --param alpha=1.5 -o K.npy
      holokern kernel train.csv -a "Heaviside(u)*sin(u)" -d 2 --kind nngp -o K.npy
    """  # noqa: D301 (click reads the backspace)
    refuse_inputs(output, (data, against))

    from holokern.cli.options.points import read_points
    from holokern.network import Network
    from holokern.progress import display

    sigma = read_activation(activation, parameters)
    net = Network(sigma, depth=depth, bias=bias, weight_variance=weight_variance, residual=residual)
    rows = read_points(data)
    columns = None if against is None else read_points(against)
    if columns is not None and columns.shape[1] != rows.shape[1]:
        raise BadInput(
            f"{str(data)!r} has {rows.shape[1]} columns and {str(against)!r} has {columns.shape[1]}; points can only "
            "be compared when they have the same features"
        )
    for path, points in ((data, rows), (against, columns)):
        _check_size(path, points)
    with output_folder(output.parent), display("compiling"):
        shape = _write(net, kind, (rows, columns), output)
    record = {"kind": kind, "network": repr(net), "shape": list(shape), "file": str(output)}
    if as_json:
        click.echo(json.dumps(record))
    else:
        click.echo(f"{record['network']}: {kind} of shape {shape[0]} x {shape[1]} in {output}")


def _check_size(path: Path | None, points: Points | None) -> None:
    """The kernel squares the norms, so those beyond the root of the largest float can only give infinities."""
    import numpy as np

    if points is None:
        return
    largest = np.max(np.abs(points), axis=1).astype(float)
    safe = np.sqrt(np.finfo(float).max / points.shape[1])
    if np.any(largest > safe):
        row = int(np.argmax(largest))
        raise BadInput(
            f"row {row + 1} of {str(path)!r} holds a number of size {largest[row]:.3g}, whose square overflows; "
            "rescale the data, for example by dividing all of them by their largest entry"
        )


def _write(net: Network, kind: str, points: tuple[Points, Points | None], output: Path) -> tuple[int, int]:
    """Fill the file through a map; an entry that is not finite is an error, and no file appears."""
    import numpy as np

    from holokern.files import destination

    rows, columns = points
    shape = (len(rows), len(rows if columns is None else columns))
    kinds = [p.dtype if p.dtype in (np.float32, np.float64) else np.dtype(float) for p in points if p is not None]
    with destination(output, shape, np.result_type(*kinds)) as (matrix, *_):
        try:
            getattr(net, kind)(rows, columns, out=matrix)
            finite = all(np.isfinite(matrix[start : start + _BLOCK]).all() for start in range(0, shape[0], _BLOCK))
        except (OverflowError, FloatingPointError):
            finite = False
        if not finite:
            raise PrecisionLost(
                f"the {kind} of {net} leaves the range of floating-point numbers on these data; rescale the data, or "
                "lower --weight-variance, --bias or --depth"
            )
    return shape
