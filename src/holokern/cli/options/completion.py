"""Completion of words on the command line: activations, their parameters, methods.

In bash, ``eval "$(_HOLOKERN_COMPLETE=bash_source holokern)"`` turns it on; zsh and fish work likewise.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def complete_expression(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of activations that begin with what was typed; expressions are not completed."""
    from holokern.activation import REGISTRY

    return [
        CompletionItem(name, help=entry.summary)
        for name, entry in sorted(REGISTRY.items())
        if name.startswith(incomplete)
    ]


def complete_parameter(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of parameters: those of the activation that was already typed, else of all activations."""
    from holokern.activation import REGISTRY

    # while an option is incomplete, click leaves the words before it in ctx.args
    typed = [ctx.params.get("expression"), *ctx.args]
    entries = [REGISTRY[word] for word in typed if word in REGISTRY] or list(REGISTRY.values())
    names = {p.name: p.default for entry in entries for p in entry.parameters}
    return [
        CompletionItem(f"{name}=", help="" if default is None else f"{default} by default")
        for name, default in sorted(names.items())
        if name.startswith(incomplete)
    ]


def complete_method(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of methods that begin with what was typed."""
    from holokern.dual import method_named, methods

    return [
        CompletionItem(name, help="" if name == "auto" else method_named(name).summary)
        for name in methods()
        if name.startswith(incomplete)
    ]
