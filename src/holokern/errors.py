"""The one small hierarchy of errors; every message names the object, the reason and what to try next."""

from __future__ import annotations


class HolokernError(Exception):
    """Base class of every error that holokern raises on purpose."""


class BadInput(HolokernError, ValueError):
    """The caller's input cannot be used: wrong text, shape, range or value."""


class UnknownName(BadInput, KeyError):
    """A name (of an activation, a parameter, a variable or a method) that holokern does not know."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class BadOperator(BadInput):
    """A text or object that is not an operator of the expected Weyl algebra."""


class TooLarge(BadInput):
    """An input beyond the stated limits of size, depth or degree."""


class NotHolonomic(HolokernError, ValueError):
    """The function or ideal is not holonomic, so no finite holonomic system exists."""


class Unsupported(HolokernError, ValueError):
    """A valid request that this version cannot serve exactly; the message says what can."""


class SingularPath(HolokernError, ArithmeticError):
    """A path of integration meets the singular locus."""


class PrecisionLost(HolokernError, ArithmeticError):
    """A numerical result does not reach the requested accuracy."""


class CheckFailed(HolokernError, AssertionError):
    """A derived object contradicts its independent check; nothing was returned or stored."""


class ArchiveError(HolokernError, OSError):
    """A file of the archive cannot be read or written."""
