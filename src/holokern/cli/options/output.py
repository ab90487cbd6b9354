"""Output files: their folder is made, the input is never overwritten, and a failure leaves nothing behind."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

# columns: narrower terminals get lines of this length all the same
_NARROWEST = 40


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

    Raises
    ------
    click.BadParameter
        If the output would replace an input.
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

    Raises
    ------
    ArchiveError
        When the folder cannot be made or written.
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
