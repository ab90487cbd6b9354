"""Reference values for the tests of dual activations."""

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest


def _load():
    source = Path(__file__).resolve().parents[1] / "data" / "reference.json"
    entries = json.loads(source.read_text(encoding="utf-8"))["activations"]
    return {name: _case(name, entry) for name, entry in entries.items()}


def _case(name, entry):
    rows = entry["values"]
    gap = [Fraction(1, 10**12) if row["r"] == "1-1e-12" else 1 - Fraction(row["r"]) for row in rows]
    theta = np.array([np.pi if g == 2 else 2 * np.arcsin(np.sqrt(float(g / 2))) for g in gap])
    column = {key: np.array([float(row.get(key, "nan")) for row in rows]) for key in ("k", "kdot")}
    return SimpleNamespace(
        # The constants of selu are written in words there.
        source="selu" if name == "selu" else entry["expression"],
        c1=np.array([float(Fraction(row["c1"])) for row in rows]),
        c2=np.array([float(Fraction(row["c2"])) for row in rows]),
        theta=theta,
        **column,
    )


REFERENCE = _load()


@pytest.fixture(params=list(REFERENCE))
def reference(request):
    return REFERENCE[request.param]


# their systems take seconds to derive, and others of the same kind remain: a break at zero, breaks away from it
LONG = {"selu", "relu6", "rectified u^3-2u^2+u"}


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in REFERENCE])
def derived_reference(request):
    """For methods that need the system of an activation."""
    return REFERENCE[request.param]


@pytest.fixture
def references():
    """All cases by name."""
    return REFERENCE
