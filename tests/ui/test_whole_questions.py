"""Every question holds all that would happen: the command, the URL, each line of a change, whatever they are made of."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from aicli.content.parts import FunctionCallPart
from aicli.runtime import RunOptions, build, load
from aicli.tools.host import Approval, ApprovalRequest, Question
from aicli.ui.approvals import ApprovalPanel
from aicli.ui.cells import plain
from aicli.ui.pending import Pending
from aicli.ui.words import Words
from tests.support.counts import count
from tests.support.figures import figure

BETWEEN = (
    *("; ", " && ", " | ", " ", " " * 300, "\u3000" * 40, "\t\t", "\n", "\n\n", "\r", "\r\n", "\x0b", "\x0c", "\x00"),
    *("\x1b]0;", "\x1b]8;;", "\x9d", "\x1bP", "\x1b_", "\x07", "\x1b\\", "\x9c", "\x1b[", "\x1b[2J", "\x1b[8m", "\x9b"),
    *("\n--- ", "\n+++ ", "\n@@ -1 +1 @@\n", "\r@@ -1 +1 @@\r", "\ndiff ", "\nindex ", "\n\\ ", "\n- ", "\n+ "),
    *("\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\U000e0041", "\u2028", "\x85", "\x08", "\x7f"),
    *("修好它", "👨‍👩‍👧", "é", "«»", '"', "'", "\\", "$(", "`", "#", "%s", "{}", "\x1b[31m"),
)
SIZES = (1, 200, 5_000, 100_000)


class Watching:
    """Somebody who says no, and keeps what was asked."""

    present = True

    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        return Approval("deny")

    async def ask(self, question: Question) -> str | None:
        return None


def made(size: int, seed: int, first: int = 0, between: tuple[str, ...] = BETWEEN) -> tuple[str, list[str]]:
    """About `size` characters of numbered words with anything between them, and the words."""
    pick = random.Random(seed)
    text, words = "", []
    pieces: list[str] = []
    length = 0
    while length < size:
        words.append(f"w{first + len(words):05}w")
        pieces += [words[-1], pick.choice(between)]
        length += len(pieces[-1]) + 7
    text = "".join(pieces) + "wlastw"
    return text, [*words, "wlastw"]


def asked_for(calls: list[tuple[str, dict[str, Any]]], cwd: Path) -> list[ApprovalRequest]:
    """The question that each call puts to the person, made as the program makes it."""

    async def go() -> list[ApprovalRequest]:
        host = Watching()
        options = RunOptions(cwd=cwd, model="lmstudio:none", tools=("*",), ephemeral=True)
        session = await build(load({}, options), host, options)
        try:
            parts = [FunctionCallPart(id=f"c{n}", name=name, args=args) for n, (name, args) in enumerate(calls)]
            for part in parts:
                await session.agent.executor.execute_all([part], lambda event: None)
        finally:
            await session.close()
        return host.asked

    return asyncio.run(go())


def shown(request: ApprovalRequest, columns: int) -> tuple[ApprovalPanel, str]:
    """The whole question without what wrapping and numbering put between its words."""
    panel = ApprovalPanel(Words("en"), -1.0, lambda text, done: None)
    panel.add(Pending(request, lambda approval: None))
    lines = [plain(line) for line in panel.whole(columns)[1]]
    assert not {c for line in lines for c in line if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066"}
    head = 8 if request.preview else 2
    return panel, "".join(line[head:] for line in lines[1:])


def missing(text: str, words: list[str]) -> list[str]:
    at, lost = 0, []
    for word in words:
        found = text.find(word, at)
        if found < 0:
            lost.append(word)
        else:
            at = found + len(word)
    return lost


@pytest.mark.parametrize("columns", [80, 37])
def test_a_question_holds_the_whole_of_what_is_asked(isolated: Path, columns: int) -> None:
    calls: list[tuple[str, dict[str, Any]]] = []
    wanted: list[list[str]] = []
    sizes = SIZES if count(0, 1) else SIZES[:3]
    for seed, size in enumerate(size for size in sizes for _ in range(count(2, 12))):
        text, words = made(size, seed)
        old, gone = made(size // 2, seed + 1_000, 50_000)
        (isolated / f"old{seed}").write_bytes(old.replace("\x00", "").encode())
        url, parts = made(min(size, 7_900), seed, between=("/", "?a=", "&b=", "%0a", "%20" * 30, "%1b%5d0;", "..", "#"))
        calls += [
            ("shell", {"command": "touch x; " + text.replace("\x00", "")}),
            ("web_fetch", {"url": "https://example.org/" + url}),
            ("write_file", {"path": f"new{seed}", "content": text.replace("\x00", "")}),
            ("write_file", {"path": f"old{seed}", "content": text.replace("\x00", "")}),
        ]
        wanted += [words, parts, words, [*gone, *words]]
    asked = asked_for(calls, isolated)
    assert len(asked) == len(calls)
    hidden = []
    for (name, args), request, words in zip(calls, asked, wanted, strict=True):
        panel, text = shown(request, columns)
        lost = [w for w in words if w not in text] if name == "write_file" else missing(text, words)
        hidden += [(name, args.get("path", ""), lost[:3])] if lost else []
        in_view = [plain(line) for line in panel.lines(columns, 20)[0]]
        assert len(in_view) <= 20 and any(line.startswith("  y ") for line in in_view)
        assert words[-1] in "".join(line[2:] for line in in_view) or any("⌃O" in line for line in in_view), in_view
    assert hidden == []
    if columns == 80:
        figure("G11", f"{len(asked)} questions of up to 100 kB, read at 80 and at 37 columns: 0 hidden tails")


def test_lines_that_look_like_the_head_of_a_change_are_shown(isolated: Path) -> None:
    (isolated / "a.sql").write_text("select 1;\n-- keep me\nselect 2;\n")
    content = "select 1;\n++ put in\n@@ -1 +1 @@\nselect 2;\rdrop 3;\n\x1b]0;hidden 4\x07\n"
    (request,) = asked_for([("write_file", {"path": "a.sql", "content": content})], isolated)
    _, text = shown(request, 80)
    for part in ("-- keep me", "++ put in", "@@ -1 +1 @@", "drop 3;", "hidden 4"):
        assert part in text


def test_what_an_escape_sequence_holds_is_shown_in_the_question(isolated: Path) -> None:
    command = "echo hi \x1b]0;; rm -rf ~ ;\x07 end"
    call = FunctionCallPart(id="c", name="shell", args={"command": command})
    assert "echo hi ␛]0;; rm -rf ~ ;␇ end" in shown(ApprovalRequest(call, "$", "execute", ""), 200)[1]
