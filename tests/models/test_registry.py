"""Providers by name: built in, from the user's folder, from an installed package; a broken one takes no other with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aicli import paths
from aicli.errors import InputError
from aicli.models import registry

OWN = """
from aicli.models.provider import Provider
from aicli.models.providers import ollama

PROVIDER = Provider("{name}", "http://127.0.0.1:1", ollama.model, ollama.models)
"""


@pytest.fixture(autouse=True)
def forget() -> None:
    registry.skipped.clear()


def test_names() -> None:
    assert registry.split("ollama:qwen2.5-coder:7b")[1] == "qwen2.5-coder:7b"
    for name, found in (("google", "gemini"), ("claude", "anthropic"), ("OpenAI", "openai")):
        provider = registry.provider(name)
        assert provider is not None and provider.name == found
    assert registry.provider("nobody") is None


def test_a_file_in_the_users_folder() -> None:
    folder = paths.config_folder() / "providers"
    folder.mkdir(parents=True)
    (folder / "house.py").write_text(OWN.format(name="house"))
    (folder / "broken.py").write_text("this is no Python")
    assert registry.split("house:large")[0].base_url == "http://127.0.0.1:1"
    assert "house" in registry.providers()
    assert [Path(k).name for k in registry.skipped] == ["broken.py"]
    with pytest.raises(InputError, match="no provider") as caught:
        registry.split("hause:large")
    assert "house:large" in caught.value.hint


def test_a_project_cannot_add_a_provider() -> None:
    folder = Path.cwd() / ".aicli" / "providers"
    folder.mkdir(parents=True)
    (folder / "house.py").write_text("raise SystemExit('imported')")
    assert registry.provider("house") is None


def test_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "house_provider.py").write_text(OWN.format(name="packaged"))
    info = tmp_path / "house_provider-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: house-provider\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[aicli.providers]\nhouse = house_provider\nbad = house_provider:nothing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "packaged" in registry.providers()
    assert "bad" in registry.skipped


def test_one_provider_is_found_without_importing_the_others() -> None:
    code = (
        "import sys; from aicli.models import registry; registry.provider('ollama');"
        "sys.stdout.write(' '.join(m for m in sys.modules if m.startswith('aicli.models.providers.') or m == 'httpx'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["aicli.models.providers.ollama"]
