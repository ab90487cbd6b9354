"""Every test and every example begins with flint's usual precision."""

from __future__ import annotations

import pytest
from flint import ctx


@pytest.fixture(autouse=True)
def _usual_precision() -> None:
    """Flint has one precision for all threads, and threads that change it at the same time may leave it high."""
    ctx.prec = 53
