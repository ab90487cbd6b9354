"""`activation` makes an Activation from a name, an expression, an ODE or a function of another library."""

from __future__ import annotations

import re
from functools import partial

from holokern.activation.catalogue import ALIASES, REGISTRY
from holokern.activation.expression import Expression
from holokern.activation.foreign.functions import differs, recognised, respelled
from holokern.activation.foreign.sampled import sampled
from holokern.activation.foreign.splines import is_spline, spline_tree
from holokern.activation.function import Activation
from holokern.activation.named import suggestion
from holokern.activation.ode.ode_activation import OdeActivation, ode_activation
from holokern.activation.tree.grammar import FUNCTIONS, build, read_expression
from holokern.activation.tree.sympy_bridge import from_sympy, is_sympy
from holokern.errors import BadInput, TooLarge, UnknownName

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)  # a name and nothing else
_RELU_POWER = re.compile(r"relu\s*(?:\^|\*\*)\s*(\d{1,6})", re.ASCII)  # relu^3, as papers write it


def activation(
    source: object = None,
    /,
    *,
    operator: object = None,
    values: object = None,
    whole: bool = False,
    breaks: object = None,
    derivative: object = None,
    **parameters: object,
) -> Activation:
    """Make an activation.

    Parameters
    ----------
    source : str, SymPy expression, Activation, or an object of another library
        A name (:func:`activations` lists them), an expression in u such as ``"Heaviside(u)*sin(u)"``, or a SymPy
        expression in one symbol.  A name takes precedence over an expression.  Modules and functions of PyTorch,
        functions of JAX, NumPy, SciPy and ``math``, and partial applications of them become the named activations that
        they compute; a ``PPoly``, ``CubicSpline`` or ``BSpline`` becomes an exact piecewise polynomial.  Any other
        callable on arrays is used numerically.
    operator : str, Operator or sequence of them
        Instead of a source, operators in u and D that annihilate σ.
    values : mapping
        With ``operator``, the data that fixes the solution: ``{0: [0, 1]}`` means σ(0) = 0 and σ′(0) = 1, and
        ``{(None, 0): 0, (0, None): {0: [0, 1]}}`` gives such data on each interval of a piecewise solution.
    whole : bool
        With ``operator``, enlarge the operators to the whole annihilator of σ.
    breaks : iterable of numbers
        With a callable, points where it has a kink or a jump.  holokern finds up to eight more between -16 and 16.
    derivative : callable
        With a callable, its derivative.  If it is left out, PyTorch, JAX or a complex step find it to all digits, or
        a series finds it to fewer.
    **parameters
        Parameters of a named activation.  Numbers are read exactly; a float counts as the decimal number that it
        prints as.  PyTorch's parameter names work too: ``negative_slope``, ``approximate``, ``lambd``, ``min_val``.

    Raises
    ------
    UnknownName
        For an unknown name, function, variable or parameter; the message suggests what was probably meant.
    BadInput
        For anything else that cannot be read.
    TooLarge
        For input beyond the limits of size, depth or degree.
    CheckFailed
        When the operators do not annihilate the solution as a distribution.

    Examples
    --------
    >>> activation("elu", alpha=1.5)
    activation('elu', alpha='3/2')
    >>> activation("gelu", approximate="tanh")
    activation('gelu_tanh')
    >>> import numpy as np
    >>> activation(np.tanh)
    activation('tanh')
    >>> activation("relu^3")
    activation('relu_k', k=3)
    >>> activation("u/2*(1 + erf(u/sqrt(2)))") == activation("gelu")
    True
    >>> resin = activation(operator="u*(D^2 + 1)", values={(None, 0): 0, (0, None): {0: [0, 1]}})
    >>> resin.jump_order, resin(-1.0)
    (1, 0.0)
    """
    numerical = breaks is not None or derivative is not None
    if (operator is not None or values is not None or whole) and not numerical:
        return _from_ode(source, operator, values, whole, parameters)
    if isinstance(source, str) and not numerical:
        return _from_text(source, parameters)
    if numerical:
        if not callable(source) or isinstance(source, Activation) or parameters or operator is not None:
            raise BadInput("'breaks' and 'derivative' belong to an activation given by a callable, without parameters")
        return Activation(sampled(source, () if breaks is None else breaks, derivative))
    called = partial(source, **parameters) if parameters and callable(source) else source
    if (known := recognised(called)) is not None:
        return _from_function(called, *known)
    if parameters:
        raise BadInput(f"parameters ({', '.join(parameters)[:80]}) belong to an activation given by name")
    if isinstance(source, Activation):
        return source
    if isinstance(source, OdeActivation):
        return Activation(source)
    if is_sympy(source):
        return Activation(Expression(from_sympy(source)))
    if is_spline(source):
        return Activation(Expression(spline_tree(source)))
    if callable(source):
        return Activation(sampled(source))
    raise BadInput(
        f"expected the name of an activation, an expression in u as text, a SymPy expression, an Activation, a spline "
        f"of SciPy or a callable, got {type(source).__name__}"
    )


def activations() -> dict[str, str]:
    """The names of all named activations, each with a line that says what it is.

    Examples
    --------
    >>> activations()["gelu"]
    'u times the normal distribution function'
    """
    return {name: entry.summary for name, entry in REGISTRY.items() if name not in ALIASES}


def _from_ode(
    source: object, operator: object, values: object, whole: bool, parameters: dict[str, object]
) -> Activation:
    if source is not None or parameters:
        raise BadInput("an activation is given by a name or expression, or by operator and values, not by both")
    if operator is None:
        raise BadInput("'values' and 'whole' belong to an activation by ODE; give its operator=... in u and D")
    if values is None:
        raise BadInput(
            "an operator alone fixes no function; give values={point: [σ, σ', ...]}, for example {0: [0, 1]}"
        )
    return Activation(ode_activation(operator, values, whole=whole))


def _from_function(source: object, text: str, parameters: dict[str, object]) -> Activation:
    """The activation that a function of another library is, compared with it at a few points."""
    if text == "threshold" and len(parameters) < 2:
        raise BadInput(
            "torch's threshold needs its parameters; write hk.activation('threshold', threshold=..., value=...)"
        )
    found = _from_text(text, parameters)
    point = differs(source, found)
    if point is not None:
        raise BadInput(
            f"{source!s:.80} is called like {text!r}, but has another value at u = {point}; give it as an expression "
            "in u"
        )
    return found


def _from_text(source: str, parameters: dict[str, object]) -> Activation:
    text = source.strip() if len(source) < 1000 else source
    if found := _RELU_POWER.fullmatch(text.lower()):
        text, parameters = "relu_k", {"k": int(found.group(1)), **parameters}
    entry = REGISTRY.get(text) or REGISTRY.get(text.lower())
    if entry is not None:
        name, parameters = respelled(entry.name, parameters)
        entry = REGISTRY[name]
        tree, given = build(entry, parameters)
        return Activation(Expression(tree), entry.name, given)
    if _NAME.fullmatch(text) and text not in FUNCTIONS and text not in ("u", "pi", "E"):
        raise UnknownName(
            f"{text[:60]!r} is neither the name of an activation nor an expression in u"
            f"{suggestion(text, REGISTRY) or '; hk.activations() lists the names'}"
        )
    if parameters:
        raise BadInput(
            f"parameters ({', '.join(parameters)[:80]}) belong to an activation given by name, and {text[:60]!r} "
            "is not a name; hk.activations() lists the names"
        )
    try:
        return Activation(Expression(read_expression(text)))
    except TooLarge:
        raise
    except BadInput as error:
        raise type(error)(f"{error}; nor is the text a name that hk.activations() lists") from None
