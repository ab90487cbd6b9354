"""The program ``holokern``: Ctrl-C answers with one line from the first moment on.

Importing the library takes a second or two, and whatever lies inside the package imports all of it first.  So this
module lies beside the package, and imports it when Ctrl-C is already looked after.  It imports next to nothing itself.
"""

import os
import signal

__all__ = ["main"]


def main() -> None:
    """Import the library and run the command line; Ctrl-C gives exit code 130 and one line in either.

    While libraries are imported nothing is written, so Ctrl-C ends the process at once.  An exception would not do:
    some libraries catch it, or print it and go on.  A Ctrl-C that the shell asked to ignore stays ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop)
    from holokern.cli import main as command_line

    signal.signal(signal.SIGINT, before)
    command_line(prog_name="holokern")


def _stop(*_: object) -> None:
    # the terminal shows ^C; the message begins on a line of its own
    os.write(2, b"\nholokern: interrupted; nothing half-written is left\n")
    os._exit(130)
