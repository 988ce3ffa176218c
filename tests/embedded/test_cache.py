"""The model file is trusted by its hash, which is written down once; a saved prompt only if its bytes are those saved."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from aicli.errors import ConfigError
from aicli.models.embedded import cache


def test_without_the_file_the_command_to_type_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as failed:
        cache.checked(tmp_path)
    assert failed.value.exit_code == 52
    assert "aicli models pull embedded" in failed.value.line
    assert cache.installed(tmp_path) is None


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    file = cache.models_folder(tmp_path) / cache.pinned().file
    file.parent.mkdir()
    file.write_bytes(b"not a model")
    with pytest.raises(ConfigError, match="not the published file"):
        cache.checked(tmp_path)
    assert cache.known_hash(file) is None


def test_the_hash_that_was_written_down_holds_only_for_the_same_size_and_time(tmp_path: Path) -> None:
    file = tmp_path / "模型.gguf"
    file.write_bytes(b"one")
    cache.remember(file, cache.file_hash(file))
    assert cache.known_hash(file) == hashlib.sha256(b"one").hexdigest()
    stat = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert cache.known_hash(file) is None
    (tmp_path / "模型.gguf.json").write_text("[]")
    assert cache.known_hash(file) is None


def test_a_file_of_the_persons_own_needs_no_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "other.gguf"
    monkeypatch.setenv("AICLI_EMBEDDED_MODEL", str(own))
    with pytest.raises(ConfigError, match="is no file"):
        cache.checked(tmp_path)
    own.write_bytes(b"any")
    assert cache.checked(tmp_path)[0] == own
    assert cache.installed(tmp_path) == own


def saved(folder: Path, prefix: str = "p") -> cache.PromptCache:
    return cache.PromptCache(folder, "hash", "1.0", prefix)


def test_a_saved_prompt_that_was_changed_or_is_of_another_prefix_is_not_used(tmp_path: Path) -> None:
    prompt = saved(tmp_path)
    assert not prompt.usable()
    fresh = tmp_path / f"{prompt.name}.new"
    fresh.write_bytes(b"state" * 100)
    prompt.adopt(fresh)
    assert prompt.usable()
    assert prompt.path.stat().st_mode & 0o777 == 0o600
    assert not saved(tmp_path, "other").usable()
    stat = prompt.path.stat()
    prompt.path.write_bytes(b"STATE" * 100)
    os.utime(prompt.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert not prompt.usable()


def test_a_new_prefix_takes_the_place_of_the_old(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    for prefix in ("one", "two"):
        prompt = saved(folder, prefix)
        fresh = folder / f"{prompt.name}.new"
        fresh.write_bytes(prefix.encode())
        prompt.adopt(fresh)
    assert sorted(p.name for p in folder.iterdir()) == [prompt.name, f"{prompt.name}.json"]
