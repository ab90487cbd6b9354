"""Formulas for pages without a network: the LaTeX that holokern and SymPy print becomes MathML, which browsers draw."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from holokern.errors import Unsupported

__all__ = ["mathml"]

# a command, an escaped sign, a number, space, or one sign
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.", re.DOTALL)

# commands that are identifiers
_LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ",
    "pi": "π", "sigma": "σ", "tau": "τ", "Sigma": "Σ", "Phi": "Φ", "Theta": "Θ", "partial": "∂", "infty": "∞",
}  # fmt: skip
# commands that are operators
_OPERATORS = {
    "cdot": "·", "times": "×", "geq": "≥", "leq": "≤", "ge": "≥", "le": "≤", "neq": "≠", "ne": "≠", "in": "∈",
    "int": "∫", "sum": "∑", "iint": "∬", "wedge": "∧", "vee": "∨", "neg": "¬", "to": "→", "lvert": "|", "rvert": "|",
    "{": "{", "}": "}", "|": "‖",
}  # fmt: skip
# commands that are names of functions, set upright
_FUNCTIONS = frozenset(
    ("sin", "cos", "tan", "cot", "sinh", "cosh", "tanh", "exp", "log", "max", "min", "arccos", "arcsin", "arctan")
)
# LaTeX's own widths of its spaces
_SPACES = {",": "0.167em", ":": "0.222em", ";": "0.278em", " ": "0.25em", "quad": "1em", "qquad": "2em", "!": "0"}
# what \left and \right may stand before
_FENCES = {"(": "(", ")": ")", "[": "[", "]": "]", "|": "|", r"\{": "{", r"\}": "}", ".": "", r"\lvert": "|"}
# commands that put a sign over what follows
_ACCENTS = {"dot": "˙", "bar": "¯", "hat": "^", "tilde": "~", "overline": "¯"}
# what makes fences stretch
_TALL = ("<mfrac", "<mtable", "<msqrt", "<mroot")
# environments, and the fences round each
_TABLES = {"pmatrix": "()", "bmatrix": "[]", "matrix": "", "array": "", "aligned": "", "cases": "{"}


def mathml(source: str, *, block: bool = False) -> str:
    r"""The formula as a ``<math>`` element.

    Raises
    ------
    Unsupported
        For LaTeX that neither holokern nor SymPy's printer writes for activations.

    Examples
    --------
    >>> mathml(r"\frac{u}{2}")
    '<math><mfrac><mi>u</mi><mn>2</mn></mfrac></math>'
    """
    parser = _Parser([token for token in _TOKEN.findall(source) if not token.isspace()])
    body = "".join(parser.row(lambda token: False))
    return f'<math display="block">{body}</math>' if block else f"<math>{body}</math>"


@dataclass
class _Parser:
    """Recursive descent over the tokens; every method returns MathML text."""

    tokens: list[str]
    place: int = 0

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        if self.place >= len(self.tokens):
            raise Unsupported("the formula ends too early; print it with --latex instead")
        self.place += 1
        return self.tokens[self.place - 1]

    def expect(self, token: str) -> None:
        found = self.take()
        if found != token:
            raise Unsupported(f"expected {token!r} in the formula and found {found!r}; print it with --latex instead")

    def row(self, stop: Callable[[str], bool]) -> list[str]:
        """Atoms with their scripts until a token that stops them, which is left."""
        found: list[str] = []
        while self.peek() and not stop(self.peek()):
            token = self.peek()
            if token[1:] in _FUNCTIONS | {"operatorname"} and found and not found[-1].startswith("<mo"):
                found.append('<mspace width="0.167em"/>')
            found.append(self.scripted())
        return found

    def scripted(self) -> str:
        base = self.atom()
        below, above = "", self.primes()
        while self.peek() in ("^", "_"):
            if self.take() == "^":
                above = f"<mrow>{above}{self.atom()}</mrow>" if above else self.atom()
            else:
                below = self.atom()
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below:
            return f"<msub>{base}{below}</msub>"
        return f"<msup>{base}{above}</msup>" if above else base

    def primes(self) -> str:
        """A prime as a superscript, as for k'."""
        if self.peek() != "'":
            return ""
        self.take()
        return "<mo>′</mo>"

    def group(self) -> str:
        """What braces hold, as one element."""
        self.expect("{")
        inner = self.row(lambda token: token == "}")
        self.expect("}")
        return inner[0] if len(inner) == 1 else f"<mrow>{''.join(inner)}</mrow>"

    def words(self) -> str:
        """What braces hold, as plain text."""
        self.expect("{")
        found = []
        while self.peek() != "}":
            found.append(self.take().lstrip("\\"))
        self.expect("}")
        return "".join(found)

    def atom(self) -> str:
        token = self.peek()
        if token == "{":
            return self.group()
        self.take()
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token in "^_&}":
            raise Unsupported(f"{token!r} stands alone in the formula; print it with --latex instead")
        if token in "()[]|":
            return f'<mo stretchy="false">{token}</mo>'
        return f"<mo>{'−' if token == '-' else escape(token)}</mo>"

    def command(self, name: str) -> str:
        if name in _LETTERS:
            return f"<mi>{_LETTERS[name]}</mi>"
        if name in _OPERATORS:
            return f"<mo>{_OPERATORS[name]}</mo>"
        if name in _FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in _SPACES:
            return f'<mspace width="{_SPACES[name]}"/>'
        if name in _ACCENTS:
            # not as an accent, which would touch the stem of k
            return f'<mover>{self.atom()}<mo stretchy="false">{_ACCENTS[name]}</mo></mover>'
        match name:
            case "frac":
                return f"<mfrac>{self.atom()}{self.atom()}</mfrac>"
            case "sqrt":
                return self.root()
            case "left":
                return self.fenced()
            case "begin":
                return self.table()
            case "operatorname" | "mathrm":
                return f'<mi mathvariant="normal">{escape(self.words())}</mi>'
            case "text":
                return f"<mtext>\N{NO-BREAK SPACE}{escape(self.words())}\N{NO-BREAK SPACE}</mtext>"
        raise Unsupported(f"the command \\{name[:40]} is not drawn here; print the formula with --latex instead")

    def root(self) -> str:
        if self.peek() != "[":
            return f"<msqrt>{self.atom()}</msqrt>"
        self.take()
        degree = "".join(self.row(lambda token: token == "]"))
        self.expect("]")
        return f"<mroot>{self.atom()}<mrow>{degree}</mrow></mroot>"

    def fenced(self) -> str:
        opening = self.fence()
        inner = "".join(self.row(lambda token: token == r"\right"))
        self.expect(r"\right")
        tall = any(tag in inner for tag in _TALL)
        return f"<mrow>{_bracket(opening, tall)}{inner}{_bracket(self.fence(), tall)}</mrow>"

    def fence(self) -> str:
        token = self.take()
        if token not in _FENCES and token != r"\rvert":
            raise Unsupported(f"{token!r} is no bracket that is drawn here; print the formula with --latex instead")
        return _FENCES.get(token, "|")

    def table(self) -> str:
        kind = self.words()
        if kind not in _TABLES:
            raise Unsupported(
                f"the environment {kind[:40]!r} is not drawn here; print the formula with --latex instead"
            )
        if kind == "array":
            self.words()
        rows: list[str] = []
        cells: list[str] = []
        while True:
            cells.append("".join(self.row(lambda token: token in ("&", r"\\", r"\end"))))
            token = self.take()
            if token != "&":
                rows.append("<mtr>" + "".join(f"<mtd>{cell}</mtd>" for cell in cells) + "</mtr>")
                cells = []
            if token == r"\end":
                break
        self.words()
        shown = f'<mtable class="{kind}">{"".join(rows)}</mtable>'
        fences = _TABLES[kind]
        if not fences:
            return shown
        return f"<mrow>{_bracket(fences[0])}{shown}{_bracket(fences[1:])}</mrow>"


def _bracket(sign: str, tall: bool = True) -> str:
    """A bracket; one that may stretch is wider even where it need not."""
    return f'<mo stretchy="{str(tall).lower()}">{escape(sign)}</mo>' if sign else ""
