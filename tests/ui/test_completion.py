"""@path completion: ignore rules honoured, best first, never blocking, quick in a folder of many files."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from aicli.ui.completion import ChatCompleter, FileIndex
from tests.support.counts import count


def make(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x", "utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def ready(root: Path) -> FileIndex:
    index = FileIndex(root)
    index.start()
    index.wait(30)
    return index


def test_ignored_files_are_not_offered(root: Path) -> None:
    make(root, "src/cart.py", "src/skip.log", "build/cart.o", "文档/购物车.md")
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    index = ready(root)
    assert index.find("cart") == ["src/cart.py"]
    assert index.find("购物") == ["文档/购物车.md"]
    assert index.find("") == [".gitignore", "src/", "文档/", "src/cart.py", "文档/购物车.md"]


def test_best_matches_first_and_letters_in_order_last(root: Path) -> None:
    make(root, "cart.py", "a/cart_test.py", "lib/shopcart.py", "c/a/r/t.txt")
    index = ready(root)
    assert index.find("cart")[:3] == ["cart.py", "a/cart_test.py", "lib/shopcart.py"]
    assert index.find("c/r/t") == ["c/a/r/t.txt"]


def test_mentions_and_commands_complete(root: Path) -> None:
    make(root, "my notes.txt", "main.py")
    complete = ChatCompleter(ready(root), lambda: [("help", "this list"), ("history", "messages")])
    assert [c.text for c in complete("look at @mai")] == ["@main.py"]
    assert [c.text for c in complete("@my")] == ['@"my notes.txt"']
    assert complete("mail@mai") == () and complete("no mention") == ()
    assert [c.text for c in complete("/h")] == ["/help ", "/history "]
    assert complete("/help") == () and complete("/help x") == ()


def test_many_files_answer_while_the_listing_grows(root: Path) -> None:
    """The answer comes from what is listed by then: the nearest level is there at once."""
    folders, files = count(12, 500), 100
    for n in range(folders):
        make(root, *(f"d{n}/sub/f{i}.py" for i in range(files)))
    make(root, "top.py")
    told = threading.Event()
    index = FileIndex(root, told.set)
    complete = ChatCompleter(index, list)

    def offered(text: str, wanted: list[str]) -> None:
        """Asks again whenever there is more to know, as the input line does."""
        end = time.monotonic() + 20
        while [c.text for c in complete(text)][: max(1, len(wanted))] != wanted:
            assert told.wait(10) and time.monotonic() < end, complete(text)
            told.clear()

    offered("@top", ["@top.py"])
    index.wait(60)
    assert len(index.paths) == folders * files + 2 * folders + 1
    offered("@d7/sub/f99.p", ["@d7/sub/f99.py"])
    offered("@d7sf98py", ["@d7/sub/f98.py"])
    offered("@no such", [])
    offered("@", [f"@{path}" for path in index.find("")])
