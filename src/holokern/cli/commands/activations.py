"""``holokern activations``: the names that every other command understands."""

from __future__ import annotations

import json
from typing import Any

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list for machines.")
def activations(as_json: bool) -> None:
    """List the activations that are known by name, with their parameters.

    \b
    Examples:
      holokern activations
      holokern activations --json
    """  # noqa: D301 (click reads the backspace)
    from holokern.activation import REGISTRY

    entries = [REGISTRY[name] for name in sorted(REGISTRY) if REGISTRY[name].name == name]
    aliases = {entry.name: sorted(key for key, e in REGISTRY.items() if e is entry) for entry in entries}
    if as_json:
        click.echo(json.dumps([_record(entry, aliases[entry.name]) for entry in entries], indent=2))
        return
    signatures = [_signature(entry) for entry in entries]
    width = max(map(len, signatures))
    for signature, entry in zip(signatures, entries, strict=True):
        others = [name for name in aliases[entry.name] if name != entry.name]
        also = f" (also {', '.join(others)})" if others else ""
        click.echo(f"{signature:<{width}}  {entry.summary}{also}")


def _signature(entry: Any) -> str:
    parts = [p.name if p.default is None else f"{p.name}={_text(p.default)}" for p in entry.parameters]
    return f"{entry.name}({', '.join(parts)})" if parts else str(entry.name)


def _record(entry: Any, names: list[str]) -> dict[str, Any]:
    return {
        "name": entry.name,
        "aliases": [name for name in names if name != entry.name],
        "summary": entry.summary,
        "parameters": [
            {"name": p.name, "kind": p.kind, "default": None if p.default is None else _text(p.default)}
            for p in entry.parameters
        ],
    }


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
