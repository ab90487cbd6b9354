"""Compiled kernels on disk: the same numbers come back, damage is noticed, switches are obeyed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import holokern as hk
from holokern.dual import store
from holokern.dual.compiled import compile_dual
from holokern.dual.compiled_tensors import CompiledDual
from holokern.errors import ArchiveError


@dataclass(frozen=True)
class Made:
    activation: Any
    size: float
    count: int
    degree: float | None
    table: np.ndarray


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("HOLOKERN_CACHE", raising=False)
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def ask():
    """Ask for an answer; tell whether it had to be built."""

    def question(activation="gelu", numbers=(0.5, 2.0)):
        built = []

        def build():
            built.append(True)
            return Made(sigma, 0.1, 3, None, np.array([[1.0, np.pi]]))

        sigma = hk.activation(activation)
        return store.stored(Made, sigma, numbers, build), bool(built)

    return question


def test_the_second_time_nothing_is_built(folder, ask):
    first, built = ask()
    again, rebuilt = ask()
    assert (built, rebuilt) == (True, False)
    assert (again.size, again.count, again.degree) == (0.1, 3, None)
    np.testing.assert_array_equal(again.table, first.table)
    assert again.activation == hk.activation("gelu")


def test_other_questions_have_other_answers(folder, ask):
    ask()
    assert ask(numbers=(0.5, 2.5))[1]
    assert ask("erf")[1]
    assert len(list(folder.iterdir())) == 3


def test_other_code_has_other_answers(folder, ask, monkeypatch):
    ask()
    monkeypatch.setattr(store, "_sources", lambda: "other")
    assert ask()[1]


@pytest.mark.parametrize("damage", [b"", b"PK", None])
def test_damaged_files_are_absent(folder, ask, damage):
    ask()
    (path,) = folder.iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content) if damage is None else damage)
    assert ask()[1]
    assert not ask()[1]


def test_no_cache_when_switched_off(folder, ask, monkeypatch):
    monkeypatch.setenv("HOLOKERN_CACHE", "off")
    assert ask()[1]
    assert ask()[1]
    assert not list(folder.iterdir())


def test_activations_by_their_ode_are_not_stored(folder):
    sigma = hk.activation(operator="D^2 + 1", values={0: (0, 1)})
    made = Made(sigma, 1.0, 1, None, np.zeros(1))
    assert store.stored(Made, sigma, (1.0, 2.0), lambda: made) is made
    assert not list(folder.iterdir())


def test_a_named_folder_that_cannot_be_written_is_an_error(tmp_path, ask, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.delenv("HOLOKERN_CACHE", raising=False)
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(blocked))
    with pytest.raises(ArchiveError, match="folder"):
        ask()


def test_a_compiled_kernel_comes_back(folder):
    sigma = hk.activation("relu")
    made = compile_dual(sigma, 0.5, 2.0)
    store.stored(CompiledDual, sigma, (0.5, 2.0), lambda: made)
    again = store.stored(CompiledDual, sigma, (0.5, 2.0), lambda: pytest.fail("built again"))
    point = (np.array([0.7]), np.array([1.9]), np.array([1.1]))
    assert again(*point) == made(*point)
    assert (again.homogeneity, again.has_slope) == (made.homogeneity, made.has_slope)
