"""Operators as text that reads back, and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flint import fmpq

from holokern.weyl.algebra.operator import Operator
from holokern.weyl.algebra.weyl_algebra import Monomial


def sorted_terms(operator: Operator) -> list[tuple[Monomial, fmpq]]:
    """Terms as printed: higher order first, then higher degree, then lexicographically."""
    n = operator.algebra.dimension
    return sorted(
        operator, key=lambda term: (-sum(term[0][n:]), [-e for e in term[0][n:]], -sum(term[0]), [-e for e in term[0]])
    )


def text(operator: Operator) -> str:
    """Text in the grammar that ``algebra(text)`` reads.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> text(weyl_algebra("x")("dx^2/2 - x"))
    '1/2*dx^2 - x'
    """
    names = (*operator.algebra.variables, *operator.algebra.derivations)

    def monomial(key: Monomial) -> str:
        return "*".join(name if e == 1 else f"{name}^{e}" for name, e in zip(names, key, strict=True) if e)

    return join_terms([(c, monomial(key)) for key, c in sorted_terms(operator)], "*", str)


def latex(operator: Operator) -> str:
    r"""LaTeX source, with \partial for the derivations.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> print(latex(weyl_algebra("x")("dx^2/2 - x")))
    \frac{1}{2} \partial_{x}^{2} - x
    """
    algebra = operator.algebra
    names = [latex_name(name) for name in algebra.variables]
    names += [rf"\partial_{{{latex_name(name)}}}" for name in algebra.variables]

    def monomial(key: Monomial) -> str:
        return " ".join(name if e == 1 else f"{name}^{{{e}}}" for name, e in zip(names, key, strict=True) if e)

    def number(c: Any) -> str:
        return str(c.p) if c.q == 1 else rf"\frac{{{c.p}}}{{{c.q}}}"

    return join_terms([(c, monomial(key)) for key, c in sorted_terms(operator)], " ", number)


def ideal_latex(generators: Iterable[Any]) -> str:
    r"""LaTeX source of the ideal of operators that have a method ``latex``.

    Examples
    --------
    >>> from holokern.weyl import weyl_algebra
    >>> D = weyl_algebra("x")
    >>> print(ideal_latex([D("x*dx"), D("dx^2")]))
    \left\langle x \partial_{x},\; \partial_{x}^{2} \right\rangle
    """
    inside = r",\; ".join(g.latex() for g in generators) or "0"
    return rf"\left\langle {inside} \right\rangle"


def latex_name(name: str) -> str:
    r"""A variable's name in LaTeX: trailing digits become an index, and ``xi_x`` the symbol \xi_{x}."""
    symbol = name.removeprefix("xi_")
    if symbol and symbol != name:
        return rf"\xi_{{{latex_name(symbol)}}}"
    head = name.rstrip("0123456789")
    tail = name[len(head) :]
    plain = head.replace("_", r"\_")
    return f"{plain}_{{{tail}}}" if tail and head else plain + tail


def join_terms(terms: list[tuple[Any, str]], times: str, number: Any) -> str:
    """Join coefficients and printed monomials to a signed sum."""
    pieces: list[str] = []
    for c, monomial in terms:
        size = -c if c < 0 else c
        body = number(size) if not monomial else monomial if size == 1 else f"{number(size)}{times}{monomial}"
        if pieces:
            pieces.append(f" - {body}" if c < 0 else f" + {body}")
        else:
            pieces.append(f"-{body}" if c < 0 else body)
    return "".join(pieces) or "0"
