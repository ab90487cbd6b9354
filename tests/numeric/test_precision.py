"""Flint's settings belong to one thread at a time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flint import arb, ctx

import holokern as hk
from holokern.numeric import series_length, working_precision


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Let Python change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_hasty")
def test_threads_keep_their_own_precision() -> None:
    begin = threading.Barrier(4)

    def work(bits: int) -> set[int]:
        begin.wait()
        seen = set()
        for _ in range(300):
            with working_precision(bits), series_length(bits):
                seen.add(ctx.prec)
                arb(2).sqrt()
                with working_precision(bits + 1):
                    seen.add(ctx.prec - 1)
                seen.add(ctx.cap)
        return seen

    before = ctx.prec, ctx.cap
    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(work, (60, 200, 1000, 3000)))
    assert seen == [{60}, {200}, {1000}, {3000}]
    assert (ctx.prec, ctx.cap) == before


def test_a_refused_precision_leaves_the_lock_free() -> None:
    before = ctx.prec
    with pytest.raises(ValueError), working_precision(-1):
        pass
    assert ctx.prec == before
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: hk.enclose("erf", 1, 1, "1/2").k.contains(0)).result(timeout=60) is False


@pytest.mark.usefixtures("_hasty")
def test_proofs_in_threads_agree_with_proofs_in_turn() -> None:
    points = [("erf", "3/10"), ("sin", "-2/5"), ("relu6", "1/5"), ("gelu", "9/10")]

    def prove(point: tuple[str, str]) -> tuple[arb, arb]:
        # not as text, which has as many digits as flint's precision at the moment
        k = hk.enclose(point[0], 1, 2, point[1]).k
        return k.mid().man_exp(), k.rad().man_exp()

    in_turn = [prove(point) for point in points]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(prove, points)) == in_turn
