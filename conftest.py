"""Every test and every example leaves the process as it found it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse
import scipy.special  # noqa: F401 (first imports of both add warning filters, which no test is to blame for)
from flint import ctx


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
