"""Every test and every example leaves the process as it found it."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator
from importlib.util import find_spec

import numpy as np
import pytest
from flint import ctx

# a module that needs what is not installed; every other file that cannot be imported is an error
collect_ignore = [] if find_spec("gpytorch") else ["src/holokern/gpytorch.py"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay until the end, so looking for garbage among them is a fifth of the collection lost."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def _state() -> dict[str, object]:
    return {
        "flint's precision": ctx.prec,
        "the length of flint's series": ctx.cap,
        "numpy's error state": np.geterr(),
    }


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Fail where flint's or numpy's settings, which the whole process shares, are not put back."""
    before = _state()
    yield
    after = _state()
    assert after == before
