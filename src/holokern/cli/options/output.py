"""What commands give: output files and messages.

The folder of an output file is made, the input is never overwritten, and a failure leaves nothing behind.  Errors of
the library speak to people who write Python; someone at a terminal has options instead of keyword arguments, and
commands instead of functions.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

_NARROWEST = 40  # columns: narrower terminals get lines of this length all the same


class OutputFile(click.Path):
    """The path of a file to write; ``suffix`` is the ending that its name must have."""

    def __init__(self, suffix: str | None = None) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.suffix = suffix

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, if a file can have this name."""
        if not str(value):
            self.fail("the name of the file is empty.", param, ctx)
        path = Path(str(super().convert(value, param, ctx)))
        if self.suffix is not None and path.suffix != self.suffix:
            self.fail(f"{str(path)!r} does not end in {self.suffix}.", param, ctx)
        return path


def refuse_inputs(output: Path, inputs: Iterable[Path | None]) -> None:
    """Refuse an output that is the same file as an input, even under another name: links and ``..`` are followed.

    Raises click.BadParameter if the output would replace an input.
    """
    for given in inputs:
        if given is None:
            continue
        # samefile sees hard links, and only files whose folder exists; missing/../x.npy names a file too
        if output.resolve() == given.resolve() or (output.exists() and output.samefile(given)):
            raise click.BadParameter(
                f"{str(output)!r} is the input {str(given)!r}, which would be lost; choose another name.",
                param_hint="'-o' / '--output'",
            )


@contextmanager
def output_folder(folder: Path) -> Iterator[None]:
    """Make a folder for output and check that it can be written; if not, the new folders are removed again.

    Raises ArchiveError when the folder cannot be made or written.
    """
    from holokern.files import prepare_folder

    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        prepare_folder(folder)
        yield
    except BaseException:
        for one in missing:
            with suppress(OSError):  # never made, or not empty
                one.rmdir()
        raise


def terminal_width() -> int:
    """The columns of the terminal; 100 when the output goes elsewhere."""
    from holokern.paper import WIDTH

    return max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns) if sys.stdout.isatty() else WIDTH


# In this order: whole calls first, then what is left of them.
_WORDS = [
    (r"""\bhk\.dual\([^()]*method=['"](\w+)['"]\)""", r"holokern dual EXPR --method \1"),
    (r"""\s*\(method=['"]quadrature['"] serves every activation\)""", ""),
    (r"\bhk\.activations\(\)", "holokern activations"),
    (r"\bhk\.dual\b(\([^()]*\))?", "holokern dual"),
    (r"\bhk\.enclose\b(\([^()]*\))?|\benclose\(\)", "holokern dual --digits"),
    (r"\bhk\.pfaffian\b(\([^()]*\))?", "holokern derive"),
    (r"\bhk\.Network\b(\([^()]*\))?", "holokern kernel"),
    (r"\bactivation\(operator=[^()]*\)", "holokern derive --operator"),
    (r"\bactivation\('\w+', (\w+)=\.\.\.\)", r"--param \1=..."),
    (r"""\b(?:method|solver)=['"](\w+)['"]""", r"--method \1"),
    (r"""\bcoordinates=['"](\w+)['"]""", r"--coordinates \1"),
    (r"\bcache=False\b", "--no-cache"),
    (r"; check=False[^;]*", ""),
    (r"\buse nngp\b", "use --kind nngp"),
    (r"\bweight_variance=…", "--weight-variance"),
    (r"\b(?:pass )?(r|theta|tolerance)=…", r"use --\1"),
]
_PATTERNS = [(re.compile(pattern), words) for pattern, words in _WORDS]  # compiled once


def for_the_command_line(message: str) -> str:
    """The message on one line, with options and commands where it names keywords and functions of Python.

    >>> for_the_command_line('numerical methods serve it: hk.dual(activation, ..., method="quadrature")')
    'numerical methods serve it: holokern dual EXPR --method quadrature'
    >>> for_the_command_line("the parameter 'degree' is missing; write activation('hermite', degree=...)")
    "the parameter 'degree' is missing; write --param degree=..."
    """
    line = " ".join(message.split())
    for pattern, words in _PATTERNS:
        line = pattern.sub(words, line)
    return line
