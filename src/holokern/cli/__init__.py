"""The command line: argument parsing only; every command calls the public functions."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import click

from holokern import __version__
from holokern.cli.commands.activations import activations
from holokern.cli.commands.derive import derive
from holokern.cli.commands.dual import dual
from holokern.cli.commands.hgm import hgm
from holokern.cli.commands.kernel import kernel
from holokern.cli.commands.paper import paper
from holokern.cli.commands.report import report
from holokern.cli.options.output import for_the_command_line
from holokern.errors import HolokernError

__all__ = ["main"]

# exit codes: an error of the library, wrong usage as in click, and 128 + SIGINT as shells have it
_FAILED, _USAGE, _INTERRUPTED = 1, 2, 130


class OneLineErrors(click.Group):
    """A group that answers every error on purpose with one line on stderr.

    The exit code is 1 for an error of holokern (a file that cannot be read or written, digits lost, a function that is
    not holonomic), 2 for options and arguments that are missing, unknown, cannot be read, contradict each other or lie
    outside their domain, and 130 after Ctrl-C.  A Ctrl-C that the shell asked to ignore, as for a command in the
    background, stays ignored.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; with ``standalone_mode`` off, exceptions reach the caller."""

        def run() -> Any:
            return super(OneLineErrors, self).main(args, prog_name, complete_var, standalone_mode=False, **extra)

        if not standalone_mode:
            return run()
        _print_any_character()
        try:
            with _quiet():
                code = run()
        except click.exceptions.NoArgsIsHelpError as help_text:
            click.echo(help_text.format_message())
            code = _USAGE
        except click.ClickException as error:
            code = _fail(error.format_message(), error.exit_code)
        except HolokernError as error:
            code = _fail(str(error), _FAILED)
        except (click.Abort, KeyboardInterrupt):
            click.echo("holokern: interrupted; nothing half-written is left", err=True)
            code = _INTERRUPTED
        except MemoryError:
            code = _fail("there is not enough memory; give fewer points, or fewer digits", _FAILED)
        except BrokenPipeError:
            # the reader (head, less) has seen enough; keep Python from complaining at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = _FAILED
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> int:
    click.echo(f"holokern: error: {for_the_command_line(message)}", err=True)
    return code


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Warnings of libraries are for programmers; ``python -W`` shows them."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
        yield


def _print_any_character() -> None:
    """Greek letters must not crash a terminal that cannot show them."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="holokern")
def main() -> None:
    """Exact infinite-width kernels of holonomic activation functions.

    \b
    Examples:
      holokern derive relu
      holokern derive "Heaviside(u)*sin(u)" --latex
      holokern dual gelu --c1 1 --c2 2 --r 0.9
      holokern kernel points.npy --activation gelu --depth 3 -o K.npy
      holokern hgm airy.txt --start 0 --value 1 --value 0 --target 2
      holokern report gelu -o gelu.html
      holokern activations
      holokern paper

    \b
    The tab key completes commands, options, activations and methods once bash has run
      eval "$(_HOLOKERN_COMPLETE=bash_source holokern)"
    For zsh and fish write zsh_source or fish_source.

    \b
    Exit codes: 0 done; 1 an error, explained in one line; 2 wrong usage; 130 interrupted.
    """  # noqa: D301 (click reads the backspace)


for _command in (activations, derive, hgm, kernel, dual, paper, report):
    main.add_command(_command)
