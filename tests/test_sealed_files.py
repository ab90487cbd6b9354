"""Whatever lies in the place of a cache entry: the same answer as without a cache, no exception, no file left open."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from holokern import files
from holokern.cache import Cache
from holokern.dual.tables import kept_tables
from holokern.errors import ArchiveError
from holokern.pfaffian import archive
from holokern.pfaffian.cache import cached, path_of
from holokern.pfaffian.coordinates import COORDINATES
from holokern.pfaffian.derivation.by_stein import derive, read_operators

REQUEST = {"annihilators": ("u*D - 1",), "coordinates": "sigma", "basis": None}


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """A key and a cache of their own."""
    monkeypatch.delenv("HOLOKERN_CACHE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture(scope="module")
def relu():
    operators = read_operators("u*D - 1")
    return derive(operators, operators, COORDINATES["sigma"])


def opened():
    return len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0


def repaired(text, change):
    """A system with other content and a digest that fits it."""
    record = json.loads(text)
    change(record)
    content = {key: value for key, value in record.items() if key not in ("format", "version", "digest")}
    record["digest"] = archive._digest(content)
    return json.dumps(record)


def other_coefficient(record):
    record["polynomials"][-1][0][0] = str(int(record["polynomials"][-1][0][0]) + 1)


def high_exponent(record):
    record["polynomials"][-1][0][1][0] = 10**9


def huge_exponent(record):
    record["polynomials"][-1][0][1][0] = 10**30


def no_basis(record):
    record["basis"], record["matrices"] = [], [[], [], []]


def large_scale(record):
    record["scale"] = ["1" + "0" * 400, "1"]


def no_scale(record):
    record["scale"] = ["0", "0"]


def words(record):
    record["polynomials"] = "polynomials"


def numbers(record):
    record["basis"] = 7


def fields_missing(record):
    del record["matrices"]


def nested(record):
    record["matrices"] = [[[[[]]]]] * 3


ALTERED = [
    other_coefficient, high_exponent, huge_exponent, no_basis, large_scale, no_scale, words, numbers, fields_missing,
    nested,
]  # fmt: skip


@pytest.mark.parametrize("change", ALTERED)
def test_altered_systems_with_a_good_digest_are_rebuilt(relu, places, change):
    """Whoever can write into the cache does not know the key."""
    folder = places / "cache"
    cached(REQUEST, lambda: relu, folder)
    path = path_of(Cache(folder), REQUEST)
    content, seal = path.read_bytes().rsplit(b"\n", 1)
    envelope = json.loads(content)
    envelope["system"] = repaired(envelope["system"], change)
    path.write_bytes(json.dumps(envelope).encode() + b"\n" + seal)
    built = []
    assert cached(REQUEST, lambda: built.append(relu) or relu, folder) == relu
    assert built


# a system of rank 0 has no basis, and other coefficients make another system
@pytest.mark.parametrize("change", [change for change in ALTERED if change not in (other_coefficient, no_basis)])
def test_altered_systems_raise_archive_errors(relu, change):
    with pytest.raises(ArchiveError, match="damaged"):
        archive.from_json(repaired(archive.to_json(relu), change))


def seal_again(content):
    """Even with a good seal the reader must not trip."""
    return files.sealed(content)


def stored(arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def absurd_size(content):
    """An array whose header declares 2^60 numbers."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"'shape': (3,)", b"'shape': (1152921504606846976,)"))
    return stream.getvalue()


def unknown_compression(content):
    return content.replace(b"PK\x01\x02", b"PK\x01\x02").replace(
        b"\x14\x00\x00\x00\x00\x00", b"\x14\x00\x00\x00\x63\x00"
    )


def fuzzed(good, random):
    """Truncated, flipped, swapped, stretched."""
    kind = random.integers(6)
    data = bytearray(good)
    at = int(random.integers(len(data)))
    if kind == 0:
        return bytes(data[:at])
    if kind == 1:
        data[at] ^= 1 << int(random.integers(8))
        return bytes(data)
    if kind == 2:
        return bytes(data[at:] + data[:at])
    if kind == 3:
        return bytes(data) + random.bytes(int(random.integers(1, 200)))
    if kind == 4:
        data[at : at + 40] = random.bytes(40)
        return bytes(data)
    return random.bytes(int(random.integers(300)))


def ask(seen):
    """Ask for three numbers; tell whether they had to be computed."""
    built = []

    def make():
        built.append(True)
        return np.arange(3.0)

    def unpack(arrays):
        if arrays["numbers"].shape != (3,) or arrays["numbers"].dtype != np.float64:
            raise ValueError("not three numbers")
        seen.append(arrays["numbers"].tolist())
        return arrays["numbers"]

    assert kept_tables.stored(["a question"], make, lambda made: {"numbers": made}, unpack).tolist() == [0.0, 1.0, 2.0]
    return bool(built)


def entry(places):
    (path,) = (path for path in (places / "cache").iterdir() if path.suffix == ".npz")
    return path


def test_the_readers_survive_whatever_they_read(relu, places):
    random = np.random.default_rng(0)
    seen = []
    ask(seen)
    path = entry(places)
    good = path.read_bytes()
    content = good.rsplit(b"\n", 1)[0]
    before = opened()
    for _ in range(120):
        path.write_bytes(fuzzed(good, random))
        changed = path.read_bytes() != good
        assert ask(seen) == changed
        # the same with a seal that fits
        spoilt = fuzzed(content, random)
        path.write_bytes(seal_again(spoilt))
        ask(seen)
    for spoil in (absurd_size, unknown_compression):
        path.write_bytes(seal_again(spoil(content)))
        ask(seen)
    for arrays in ({}, {"request": np.array("text")}, {"numbers": np.array(["a"])}, {"numbers": np.ones((2, 2))}):
        path.write_bytes(seal_again(stored(arrays)))
        assert ask(seen)
    assert all(numbers == [0.0, 1.0, 2.0] for numbers in seen)
    folder = places / "systems"
    cached(REQUEST, lambda: relu, folder)
    system = path_of(Cache(folder), REQUEST)
    good = system.read_bytes()
    for _ in range(40):
        system.write_bytes(fuzzed(good, random))
        assert cached(REQUEST, lambda: relu, folder) == relu
        system.write_bytes(seal_again(fuzzed(good.rsplit(b"\n", 1)[0], random)))
        assert cached(REQUEST, lambda: relu, folder) == relu
    assert opened() == before


@pytest.mark.skipif(sys.platform == "win32", reason="special files")
@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "loop", "socket"])
def test_special_files_are_not_read(relu, places, kind):
    folder = places / "systems"
    folder.mkdir()
    path = path_of(Cache(folder), REQUEST)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    else:
        os.mknod(path, 0o600 | stat.S_IFSOCK)
    before = opened()
    assert files.read_regular(path, 1 << 20) is None
    for _ in range(2):
        assert cached(REQUEST, lambda: relu, folder) == relu
    assert opened() == before


def test_the_key_is_made_once_and_is_nobody_elses(places, monkeypatch):
    content = files.sealed(b"numbers")
    (places / "entry").write_bytes(content)
    key = places / "state" / "holokern" / "cache.key"
    assert len(key.read_bytes()) == 32
    if sys.platform != "win32":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert files.read_sealed(places / "entry", 100) == b"numbers"
    assert files.read_sealed(places / "entry", 10) is None
    monkeypatch.setenv("XDG_STATE_HOME", str(places / "another"))
    assert files.read_sealed(places / "entry", 100) is None


def test_without_a_place_for_the_key_entries_last_as_long_as_the_process(places, monkeypatch):
    (places / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(places / "file"))
    (places / "entry").write_bytes(files.sealed(b"numbers"))
    assert files.read_sealed(places / "entry", 100) == b"numbers"
    files._key.cache_clear()
    assert files.read_sealed(places / "entry", 100) is None
    assert Path(places / "file").read_text() == ""
