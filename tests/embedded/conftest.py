"""The real model's file from the real home's cache, put into the test's own; tests that need it are skipped without it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aicli.models.embedded import cache, engine
from tests.conftest import REAL_HOME

REAL_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or REAL_HOME / ".cache") / "aicli"


@pytest.fixture
def embedded_cache(tmp_path: Path) -> Path:
    """A cache folder of the test's own that holds the real model (a link) and what was saved of its start."""
    if not engine.library_version():
        pytest.skip("the engine is not installed (pip install '.[embedded]')")
    real = cache.models_folder(REAL_CACHE) / cache.pinned().file
    if not real.is_file() or real.stat().st_size != cache.pinned().size:
        pytest.skip(f"the embedded model is not at {real} (aicli models pull embedded)")
    folder = cache.models_folder(tmp_path / "home" / "cache" / "aicli")
    folder.mkdir(parents=True)
    (folder / real.name).symlink_to(real)
    side = real.with_name(f"{real.name}.json")
    if side.is_file():
        shutil.copy2(side, folder / side.name)
    if (real.parent / "prompts").is_dir():
        shutil.copytree(real.parent / "prompts", folder / "prompts")
    return folder.parent


@pytest.fixture(autouse=True)
def no_engine_left() -> Iterator[None]:
    yield
    engine.close_all()
