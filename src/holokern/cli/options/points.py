"""Points from a file: ``.npy``, ``.npz``, or a table of numbers as text, with or without a header row."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holokern.errors import BadInput

Points: TypeAlias = NDArray[Any]
"""Real numbers of any type, one row for each point."""

_KINDS = "give a .npy file, a .npz file with one array, or a table of numbers"  # what messages ask for


def read_points(path: Path) -> Points:
    """A matrix with one row for each point, all its entries finite.

    A first line of text that holds no number is a header and is skipped.  Columns are separated by commas, semicolons,
    tabs or blanks; ``#`` begins a comment.

    Raises BadInput if the file cannot be read, is empty, or holds something else than a table of finite numbers.
    """
    try:
        array = _array(path)
    except (ValueError, OSError, EOFError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or "it is empty"
        raise BadInput(f"cannot read points from {str(path)!r}: {reason}; {_KINDS}") from None
    _check(array, path)
    return array


def _array(path: Path) -> Points:
    if path.stat().st_size == 0:
        raise ValueError("it is empty")
    if path.suffix == ".npy":
        array: Points = _binary(path)
        return array
    if path.suffix == ".npz":
        return _only_array(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not text") from None
    return _table(text)


def _binary(path: Path) -> Any:
    import zipfile

    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile):
        # numpy's own words advise Python keywords, which mean nothing here
        raise ValueError(f"it is not a {path.suffix} file of numbers") from None


def _only_array(path: Path) -> Points:
    archive = _binary(path)
    if isinstance(archive, np.ndarray):
        return archive
    with archive:
        names = archive.files
        chosen = [name for name in names if name in {"X", "x"}] if len(names) > 1 else names
        if len(chosen) != 1:
            raise ValueError(f"it holds the arrays {', '.join(names) or '(none)'}, and none of them is called X")
        try:
            array: Points = archive[chosen[0]]
            return array
        except ValueError:
            raise ValueError(f"its array {chosen[0]!r} does not hold numbers") from None


def _table(text: str) -> Points:
    lines = [(place, line.split("#", 1)[0].strip()) for place, line in enumerate(text.splitlines(), 1)]
    lines = [(place, line) for place, line in lines if line]
    if not lines:
        raise ValueError("it is empty")
    separator = _separator([line for _, line in lines])
    if _is_header(lines[0][1], separator):
        lines = lines[1:]
        if not lines:
            raise ValueError("it has a header row and nothing below")
    try:
        return np.loadtxt([line for _, line in lines], delimiter=separator, ndmin=2, comments=None, quotechar='"')
    except ValueError:
        raise ValueError(_fault(lines, separator)) from None


def _separator(lines: list[str]) -> str | None:
    """The separator of the columns, None for blanks; a header may hold other signs, so most lines decide."""
    lines_with = {sign: sum(sign in line for line in lines) for sign in ";\t,"}
    most = max(lines_with.values())
    found = [sign for sign, count in lines_with.items() if count == most > 0]
    if len(found) > 1:
        raise ValueError("its lines hold two kinds of separators; use commas, semicolons or tabs, and decimal points")
    return found[0] if found else None


def _is_header(line: str, separator: str | None) -> bool:
    """Whether the line holds no number, however it is split; a row of numbers with a typing error is not a header."""
    parts = re.split(r"[;\t,]" if separator else r"[;\t,\s]", line)
    return not any(map(_is_number, [*parts, *_fields(line, separator)]))


def _fields(line: str, separator: str | None) -> list[str]:
    return (
        line.split()
        if separator is None
        else [field.strip() for field in next(csv.reader([line], delimiter=separator))]
    )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field


def _fault(lines: list[tuple[int, str]], separator: str | None) -> str:
    """The first line that is not a row of numbers like the others, in words."""
    width = len(_fields(lines[0][1], separator))
    for place, line in lines:
        fields = _fields(line, separator)
        for column, field in enumerate(fields, 1):
            if not field:
                return f"line {place} has no number in column {column}; fill the gap or remove the line"
            if not _is_number(field):
                return f"line {place} has {field[:30]!r} in column {column}, which is not a number"
        if len(fields) != width:
            return f"line {place} has {len(fields)} columns and line {lines[0][0]} has {width}"
    return "its lines are not rows of numbers"


def _check(array: Points, path: Path) -> None:
    name = str(path)
    if array.dtype.kind not in "fiub":
        raise BadInput(f"{name!r} holds entries of type {array.dtype}, not real numbers; {_KINDS}")
    if array.ndim != 2:
        raise BadInput(
            f"{name!r} holds an array of shape {array.shape}, and a table is needed: one row for each point, one "
            "column for each feature"
        )
    if 0 in array.shape:
        rows, columns = array.shape
        raise BadInput(f"{name!r} is empty: it has {rows} rows and {columns} columns; give at least one of each")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        where = f"row {row + 1}, column {column + 1}"
        raise BadInput(f"{name!r} has {array[row, column]} in {where}; remove the row or fill in a finite number")
