"""Importing GPyTorch and BoTorch warns about torch itself; that is none of our business."""

from __future__ import annotations

import warnings

import pytest


@pytest.fixture(scope="session", autouse=True)
def gpytorch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("gpytorch")
