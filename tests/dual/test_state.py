"""Calls leave the process as they found it, from several threads at once, and memory levels off."""

from __future__ import annotations

import random
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from flint import ctx
from threadpoolctl import threadpool_info

import holokern as hk


def state():
    """What a library must not change."""
    pools = sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info())
    flints = ctx.prec, ctx.cap
    return np.geterr(), list(warnings.filters), np.random.get_state()[1].tolist(), random.getstate(), pools, flints  # noqa: NPY002


def calls(place):
    """Some calls of every kind with an activation that no other place has."""
    sigma = f"tanh(u + {place}/97) - u/(1 + u^2)"
    hk.dual(sigma, 1.0, 0.5, [0.3, -0.9])
    hk.dual(sigma, 1.0, 1.0, 1.0)
    hk.activation(sigma)(np.array([0.0, np.inf, 1e300]))
    hk.dual_activation(sigma).norms(np.array([0.5, 2.0]))
    # flint has one working precision for all threads
    hk.enclose(f"Heaviside(u)*sin({place + 1}*u)", 1, "1/2", "1/3", digits=30 + place % 7)
    hk.dual("resin", 1.0, 1.0 + place / 97, 0.5, method="hgm")


def test_nothing_is_left_changed():
    calls(0)
    hk.Network("gelu", depth=2).both(np.random.default_rng(0).normal(size=(4, 3)))
    before = state()
    failures = []

    def work(place):
        try:
            with np.errstate(divide="raise"):
                calls(place)
                if np.geterr()["divide"] != "raise":
                    failures.append("error state")
        except BaseException as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=work, args=(place,)) for place in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hk.Network("gelu", depth=2).both(np.random.default_rng(0).normal(size=(4, 3)))
    with pytest.raises(hk.errors.BadInput):
        hk.dual("tan(u)", 1, 1, 0.5)
    assert not failures
    after = state()
    assert after == before


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_memory_levels_off():
    """Two hundred new activations: the second hundred costs next to nothing."""

    def resident():
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        return pages * 4096

    sizes = []
    for place in range(200):
        calls(100 + place)
        if place in (99, 199):
            sizes.append(resident())
    assert sizes[1] - sizes[0] < 100 << 20
