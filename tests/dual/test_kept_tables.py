"""Tables on disk: the same numbers come back, whatever else is found there costs a rebuild and nothing else."""

from __future__ import annotations

import os

import numpy as np
import pytest

import holokern as hk
from holokern import cache
from holokern.dual import dual_activation
from holokern.dual.tables import kept_tables
from holokern.dual.tables.build import build_table
from holokern.errors import ArchiveError, PrecisionLost
from holokern.numeric.table import Range

SPAN = Range(-0.1, 0.1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("HOLOKERN_CACHE", raising=False)
    # Also the default folder when XDG_CACHE_HOME is its parent.
    named = tmp_path / "holokern"
    named.mkdir()
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(named))
    return named


@pytest.fixture(scope="module")
def made():
    """Small tables, made once."""
    known = {}

    def of(name, span, smallest):
        key = name, span, smallest
        if key not in known:
            sigma = hk.activation(name)
            known[key] = build_table(sigma, span, dual_activation(sigma).homogeneity, smallest)
        return known[key]

    return of


@pytest.fixture
def ask(made):
    """Ask for a table; tell whether it had to be built."""

    def question(name="gelu", span=SPAN, smallest=0.4):
        built = []

        def build():
            built.append(True)
            return made(name, span, smallest)

        return kept_tables.stored_table(hk.activation(name), span, smallest, build), bool(built)

    return question


def points(smallest=0.4):
    random = np.random.default_rng(0)
    c1, c2 = np.exp(random.uniform(-0.1, 0.1, (2, 20)))
    return c1, c2, smallest + (np.pi - 2 * smallest - 1e-9) * random.random(20)


@pytest.mark.parametrize(("name", "smallest"), [("gelu", 0.4), ("gelu", 0.0), ("relu", 0.0), ("sign", 0.0)])
def test_the_second_time_nothing_is_built(folder, ask, name, smallest):
    first, built = ask(name, smallest=smallest)
    again, rebuilt = ask(name, smallest=smallest)
    assert (built, rebuilt) == (True, False)
    for a, b in zip(first(*points(smallest)), again(*points(smallest)), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    for attribute in ("activation", "homogeneity", "fold", "power", "error", "has_slope", "range", "smallest"):
        assert getattr(again, attribute) == getattr(first, attribute)
    c = points()[0]
    assert np.array_equal(again.means(c), first.means(c))


def test_other_questions_have_other_answers(folder, ask):
    ask()
    assert ask(span=Range(-0.1, 0.15))[1]
    assert ask(smallest=0.0)[1]
    assert ask("erf")[1]
    requests = [str(np.load(path)["request"]) for path in folder.iterdir()]
    assert sum('"dual"' in one for one in requests) == 4


def test_other_code_has_other_answers(folder, ask, monkeypatch):
    ask()
    monkeypatch.setattr(kept_tables, "_sources", lambda: "other")
    assert ask()[1]


def rewritten(path, change):
    """The file with other arrays."""
    with np.load(path) as archive:
        request, arrays = archive["request"], kept_tables.parted(archive["layout"], archive["values"])
    arrays["request"] = request
    change(arrays)
    asked = {"request": arrays.pop("request")} if "request" in arrays else {}
    np.savez(path, **asked, **kept_tables.joined(arrays))


def spoil_a_core(arrays):
    name = next(name for name in arrays if name.startswith("core"))
    arrays[name] = np.full_like(arrays[name], np.nan)


def drop_a_core(arrays):
    del arrays[next(name for name in arrays if name.startswith("core"))]


def other_type(arrays):
    arrays["edges"] = arrays["edges"].astype(np.float32)


def objects(arrays):
    arrays["edges"] = arrays["edges"].astype(object)


def text(arrays):
    arrays["log_norm"] = np.array(["a", "b"])


def few_numbers(arrays):
    arrays["numbers"] = arrays["numbers"][:2]


def many_dimensions(arrays):
    arrays["log_norm"] = np.ones((2, 2))


def not_finite(arrays):
    arrays["mean"] = np.full(3, np.inf)


def other_request(arrays):
    arrays["request"] = np.array("another question")


def no_request(arrays):
    del arrays["request"]


CHANGES = [
    spoil_a_core, drop_a_core, other_type, objects, text, few_numbers, many_dimensions, not_finite, other_request,
    no_request,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_files_with_other_arrays_are_absent(folder, ask, change):
    ask()
    (path,) = folder.iterdir()
    rewritten(path, change)
    assert ask()[1]
    assert not ask()[1]


@pytest.mark.parametrize("content", [b"", b"PK", b"not a table", b"\x93NUMPY\x01\x00", "half", "flipped", "zeros"])
def test_damaged_files_are_absent(folder, ask, content):
    ask()
    (path,) = folder.iterdir()
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 0xFF
    other = {"half": good[: len(good) // 2], "flipped": bytes(flipped), "zeros": bytes(len(good))}
    path.write_bytes(other.get(content, content))
    assert ask()[1]
    assert not ask()[1]
    assert path.read_bytes() == good


def test_a_plain_array_is_absent(folder, ask):
    ask()
    (path,) = folder.iterdir()
    with path.open("wb") as stream:
        np.save(stream, np.ones(3))
    assert ask()[1]


def test_the_file_of_another_activation_is_absent(folder, ask):
    """Swapped files would give wrong numbers, were the question not written inside."""
    ask("gelu")
    (gelu,) = folder.iterdir()
    ask("erf")
    (erf,) = set(folder.iterdir()) - {gelu}
    gelu.write_bytes(erf.read_bytes())
    again, built = ask("gelu")
    assert built
    assert again.activation == hk.activation("gelu")


def replaced(path, kind):
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "dangling link":
        path.symlink_to(path.with_name("nowhere"))
    elif kind == "loop":
        path.symlink_to(path)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["fifo", "device", "dangling link", "loop"])
def test_special_files_are_replaced(folder, ask, kind):
    """Reading them could wait or run for ever."""
    ask()
    (path,) = folder.iterdir()
    replaced(path, kind)
    assert ask()[1]
    assert not ask()[1]
    assert path.is_file()
    assert not path.is_symlink()


def test_a_folder_in_the_place_of_a_file(folder, ask):
    """It cannot be replaced: a rebuild each time."""
    ask()
    (path,) = folder.iterdir()
    replaced(path, "folder")
    assert ask()[1]
    assert ask()[1]


def test_files_too_large_are_not_read(folder, ask, monkeypatch):
    ask()
    monkeypatch.setattr(cache, "_LARGEST", 100)
    assert ask()[1]


def test_no_cache_when_switched_off(folder, ask, monkeypatch):
    monkeypatch.setenv("HOLOKERN_CACHE", "off")
    assert ask()[1]
    assert ask()[1]
    assert not list(folder.iterdir())


def test_refusals_are_stored_until_the_limits_change(folder, monkeypatch):
    sigma, asked = hk.activation("gelu"), []

    def refuse():
        asked.append(True)
        raise PrecisionLost("gelu: off by 1e-3 – too rough")

    for _ in range(2):
        answer = kept_tables.stored_table(sigma, SPAN, 0.4, refuse)
        assert isinstance(answer, PrecisionLost) and str(answer) == "gelu: off by 1e-3 – too rough"
    assert len(asked) == 1
    monkeypatch.setenv("HOLOKERN_PATIENCE", "10")
    kept_tables.stored_table(sigma, SPAN, 0.4, refuse)
    assert len(asked) == 2


def test_a_long_table_is_made_when_it_is_asked_for(folder, made):
    sigma, table = hk.activation("gelu"), made("gelu", SPAN, 0.4)
    assert kept_tables.stored_table(sigma, SPAN, 0.4, lambda: None, short=True) is None
    assert kept_tables.stored_table(sigma, SPAN, 0.4, lambda: table, short=True) is None
    assert kept_tables.stored_table(sigma, SPAN, 0.4, lambda: table) is table
    assert kept_tables.stored_table(sigma, SPAN, 0.4, lambda: None, short=True).error == table.error


def test_activations_by_their_ode_are_not_stored(folder, made):
    sigma = hk.activation(operator="D^2 + 1", values={0: (0, 1)})
    table = made("gelu", SPAN, 0.4)
    assert kept_tables.stored_table(sigma, SPAN, 0.4, lambda: table) is table
    assert not list(folder.iterdir())


def test_a_named_folder_that_cannot_be_written_is_an_error(tmp_path, ask, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.delenv("HOLOKERN_CACHE", raising=False)
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(blocked))
    with pytest.raises(ArchiveError, match="folder"):
        ask()


def test_any_other_arrays(folder):
    """Networks store theirs in the same way."""
    seen = []

    def unpack(arrays):
        seen.append(arrays["numbers"].tolist())
        return arrays["numbers"]

    for _ in range(2):
        found = kept_tables.stored(["a question"], lambda: np.arange(3.0), lambda made: {"numbers": made}, unpack)
        assert found.tolist() == [0.0, 1.0, 2.0]
    assert seen == [[0.0, 1.0, 2.0]]
