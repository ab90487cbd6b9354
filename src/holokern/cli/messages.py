"""Errors of the library in the words of the command line.

The library speaks to people who write Python.  Someone at a terminal has options instead of keyword arguments, and
commands instead of functions.
"""

from __future__ import annotations

import re

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
# compiled once
_PATTERNS = [(re.compile(pattern), words) for pattern, words in _WORDS]


def for_the_command_line(message: str) -> str:
    """The message on one line, with options and commands where it names keywords and functions of Python.

    Examples
    --------
    >>> for_the_command_line('numerical methods serve it: hk.dual(activation, ..., method="quadrature")')
    'numerical methods serve it: holokern dual EXPR --method quadrature'
    >>> for_the_command_line("the parameter 'degree' is missing; write activation('hermite', degree=...)")
    "the parameter 'degree' is missing; write --param degree=..."
    """
    line = " ".join(message.split())
    for pattern, words in _PATTERNS:
        line = pattern.sub(words, line)
    return line
