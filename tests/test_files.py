"""Atomic writing: whole files or none, and early errors for folders that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from holokern.errors import ArchiveError
from holokern.files import prepare_folder, write_atomically


def test_writes_and_replaces(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_atomically(target, "one")
    write_atomically(target, b"two")
    assert target.read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_an_interruption_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.txt"
    write_atomically(target, "old")

    def interrupted(self: Path, other: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_is_made_and_proved(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path / "x" / "y")
    assert folder.is_dir()
    assert not list(folder.iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(ArchiveError, match="choose another folder"):
        prepare_folder(tmp_path / "file")
    with pytest.raises(ArchiveError):
        prepare_folder(tmp_path / "file" / "below")
