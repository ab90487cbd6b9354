import json
import subprocess
import sys
from pathlib import Path

import pytest

import holokern.cache
from holokern.cache import Cache, default_folder, open_cache
from holokern.errors import ArchiveError, BadInput, CheckFailed, TooLarge
from holokern.pfaffian import cache as cache_module
from holokern.pfaffian.cache import cached, code_version, path_of
from holokern.pfaffian.coordinates import COORDINATES
from holokern.pfaffian.derivation.by_stein import derive, read_operators

REQUEST = {"annihilators": ("u*D - 1",), "coordinates": "sigma", "basis": None}


def _relu():
    operators = read_operators("u*D - 1")
    return derive(operators, operators, COORDINATES["sigma"])


class Builder:
    """Counts how often it is asked."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return _relu()


@pytest.fixture
def build():
    return Builder()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    for name in ("HOLOKERN_CACHE", "HOLOKERN_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))


def _files(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def test_the_second_time_nothing_is_built(build, tmp_path):
    folder = tmp_path / "a" / "b"
    first = cached(REQUEST, build, folder)
    second = cached(dict(REQUEST, annihilators=["u*D - 1"]), build, str(folder))
    assert first == second == _relu()
    assert build.calls == 1
    assert len(_files(folder)) == 1


def test_another_request_or_other_code_is_another_entry(build, tmp_path, monkeypatch):
    cached(REQUEST, build, tmp_path)
    cached({**REQUEST, "coordinates": "x"}, build, tmp_path)
    monkeypatch.setattr(cache_module, "code_version", lambda: "other")
    cached(REQUEST, build, tmp_path)
    assert build.calls == 3
    assert len(_files(tmp_path)) == 3


def test_the_code_version_is_a_digest_of_the_sources():
    assert len(code_version()) == 16
    assert code_version() == code_version()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe\x80", b"[]", b"null", b'{"request": 1}', b"[" * 50_000, b'{"format": "foreign"}'],
    ids=lambda content: repr(content[:12]),
)
def test_damaged_or_foreign_files_are_rebuilt(build, tmp_path, content):
    cached(REQUEST, build, tmp_path)
    path = path_of(Cache(tmp_path), REQUEST)
    good = path.read_bytes()
    path.write_bytes(content)
    assert cached(REQUEST, build, tmp_path) == _relu()
    assert build.calls == 2
    assert path.read_bytes() == good


def test_truncated_and_bit_flipped_files_are_rebuilt(build, tmp_path):
    cached(REQUEST, build, tmp_path)
    path = path_of(Cache(tmp_path), REQUEST)
    good = path.read_text()
    for damaged in (good[: len(good) // 2], good.replace("S12", "S21", 1), good.replace('\\"1\\"', '\\"2\\"', 1)):
        assert damaged != good
        path.write_text(damaged)
        assert cached(REQUEST, build, tmp_path) == _relu()
    assert build.calls == 4


def test_a_good_answer_to_another_question_is_not_taken(build, tmp_path):
    other = {**REQUEST, "basis": "1, d12"}
    cached(other, build, tmp_path)
    path_of(Cache(tmp_path), other).rename(path_of(Cache(tmp_path), REQUEST))
    cached(REQUEST, build, tmp_path)
    assert build.calls == 2


def test_a_folder_in_place_of_the_file_is_no_harm(build, tmp_path, monkeypatch):
    """It cannot be replaced; the system is derived each time."""
    default = default_folder()
    default.mkdir(parents=True)
    path_of(Cache(default), REQUEST).mkdir()
    assert cached(REQUEST, build) == _relu()
    assert cached(REQUEST, build, default) == _relu()
    assert build.calls == 2


def test_nothing_is_stored_when_the_check_fails(tmp_path):
    def wrong():
        raise CheckFailed("no")

    with pytest.raises(CheckFailed):
        cached(REQUEST, wrong, tmp_path)
    assert _files(tmp_path) == []


def test_an_interruption_while_writing_leaves_nothing(build, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cached(REQUEST, build, tmp_path)
    assert _files(tmp_path) == []


def test_choices(build, tmp_path, monkeypatch):
    assert open_cache(False) is None
    assert open_cache() == Cache(default_folder())
    assert open_cache(True) == open_cache(None)
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(tmp_path / "named"))
    assert open_cache() == Cache(tmp_path / "named", demanded=True)
    monkeypatch.setenv("HOLOKERN_CACHE", "OFF")
    assert open_cache() is None
    assert open_cache(tmp_path) == Cache(tmp_path, demanded=True)
    assert cached(REQUEST, build) == _relu()
    assert not default_folder().exists()
    for bad in (3, "", object()):
        with pytest.raises(BadInput, match="cache"):
            open_cache(bad)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG paths")
def test_the_platform_folder(monkeypatch, tmp_path):
    assert default_folder() == tmp_path / "xdg" / "holokern"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder() == Path.home() / ".cache" / "holokern"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_folder() == Path.home() / "Library" / "Caches" / "holokern"
    monkeypatch.setattr(sys, "platform", "win32")
    assert default_folder() == tmp_path / "local" / "holokern" / "cache"


def test_a_named_folder_that_cannot_be_written_is_refused_before_any_work(build, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for bad in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ArchiveError, match="choose another folder"):
            cached(REQUEST, build, bad)
    monkeypatch.setenv("HOLOKERN_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ArchiveError):
        cached(REQUEST, build)
    assert build.calls == 0


def test_a_default_folder_that_cannot_be_written_means_no_cache(build, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "file"))
    if sys.platform == "darwin":
        monkeypatch.setattr(holokern.cache, "default_folder", lambda: tmp_path / "file" / "holokern")
    assert cached(REQUEST, build) == _relu()
    assert cached(REQUEST, build) == _relu()
    assert build.calls == 2


WORKER = """
import sys
from pathlib import Path
from holokern.pfaffian import pfaffian

folder = Path(sys.argv[1])
plain = pfaffian(operator="u*D - 1", cache=False)
for _ in range(15):
    assert pfaffian(operator="u*D - 1", cache=folder) == plain
    for path in folder.glob("pfaffian-*.json"):
        path.unlink(missing_ok=True)
"""


def test_processes_that_derive_store_and_delete_at_once_do_no_harm(tmp_path):
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for worker in workers:
        _, complaint = worker.communicate(timeout=200)
        assert worker.returncode == 0, complaint
    assert not list(tmp_path.glob("*.part"))
    assert not list(tmp_path.glob(".*.part"))
    cached(REQUEST, _relu, tmp_path)
    assert json.loads(path_of(Cache(tmp_path), REQUEST).read_text().rsplit("\n", 1)[0])["code"] == code_version()


def test_refusals_are_remembered(tmp_path):
    """To find out that a system is too large takes seconds; once is enough, and a small system is still made."""
    calls = []

    def build():
        calls.append(1)
        raise TooLarge("a basis of 10^6 elements")

    for _ in range(3):
        with pytest.raises(TooLarge, match="a basis of"):
            cached({"name": "too large"}, build, tmp_path)
    assert len(calls) == 1
    with pytest.raises(TooLarge):
        cached({"name": "another"}, build, tmp_path)
    assert len(calls) == 2
