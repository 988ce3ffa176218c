from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "api_docs.py"


def test_the_api_page_is_what_the_docstrings_say() -> None:
    """If this fails: make docs."""
    made = runpy.run_path(str(SCRIPT))
    assert made["FILE"].read_text(encoding="utf-8") == made["text"](), "docs/api.md is out of date: run make docs"


def test_every_public_name_has_its_words() -> None:
    import aicli

    for name in aicli.__all__:
        if not name.startswith("_"):
            assert (getattr(aicli, name).__doc__ or "").strip(), name
