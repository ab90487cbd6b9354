"""The methods by name: which activations each can handle, and how it runs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holokern.activation import Activation
from holokern.errors import UnknownName, Unsupported
from holokern.numeric import Array

Arrays = tuple[Array, Array, Array, Array]


@dataclass(frozen=True)
class Method:
    """A way to compute dual activations.

    Attributes
    ----------
    name
        What ``dual(..., method=name)`` takes.
    serves
        A function that gives the reason why the method cannot handle an activation, or None.
    run
        ``run(activation, c1, c2, theta, tolerance, **options)`` gives (k, k′, error of k, error of k′) for flat arrays
        with c1, c2 > 0 and 0 < θ < π.
    summary
        One line for the documentation.
    options
        Names of the keyword options of ``run``.
    aligned
        Whether ``run`` takes θ = 0 and θ = π as well; otherwise those points are given by one-dimensional integrals.
    """

    name: str
    serves: Callable[[Activation], str | None]
    run: Callable[..., Arrays]
    summary: str
    options: tuple[str, ...] = ()
    aligned: bool = False

    def check(self, activation: Activation, options: Mapping[str, object]) -> None:
        """Raise before any work if the activation or an option cannot be served."""
        for option in options:
            if option not in self.options:
                known = ", ".join(self.options) or "none"
                raise UnknownName(f"method {self.name!r} has no option {option!r}; its options are: {known}")
        reason = self.serves(activation)
        if reason is not None:
            raise Unsupported(f"method {self.name!r} cannot serve {activation}: {reason}")


# filled by `register`
_METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Add a method; a second one of the same name replaces the first."""
    _METHODS[method.name] = method
    return method


def methods() -> tuple[str, ...]:
    """Names of all methods.

    Examples
    --------
    >>> import holokern.dual
    >>> "quadrature" in methods()
    True
    """
    return ("auto", *sorted(_METHODS))


def method_named(name: str) -> Method:
    """The method of that name.

    Raises UnknownName with the nearest names.
    """
    if isinstance(name, str) and name in _METHODS:
        return _METHODS[name]
    near = difflib.get_close_matches(str(name), methods(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(methods())}"
    raise UnknownName(f"there is no method {name!r}; {hint}")
