"""Every slash command through the real program: it answers, and none ends the conversation."""

from __future__ import annotations

import json
import re
from pathlib import Path

from aicli.commands._slash import TABLE, filled, parse
from aicli.ui.words import Words
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, text, usage
from tests.support.screen import Tty
from tests.support.terminal import aicli, prompt


def say(tty: Tty, line: str, answer: str) -> None:
    """One line, and what must come below it."""
    prompt(tty)
    tty.send(line + "\r")

    def below() -> bool:
        before, found, after = "\n".join(tty.scrollback).rpartition(f"› {line}")
        return bool(found) and answer in after

    tty.until(below)


def test_all_of_them_in_one_conversation(isolated: Path) -> None:
    Path("AGENTS.md").write_text("Be brief.\n")
    (isolated.parent / "home" / "config" / "aicli" / "commands").mkdir(parents=True)
    own = isolated.parent / "home" / "config" / "aicli" / "commands" / "review.md"
    own.write_text('+++\ndescription = "Reviews a file."\n+++\nReview $1 for $ARGUMENTS.\n')
    replies = [
        [call("write_file", path="new.txt", content="one\n"), usage(900, 20)],
        ["First answer. " + "word " * 1500, usage(950, 10)],
        ["Second answer."],
        ["A summary of it all."],
        ["Reviewed."],
    ]
    with ModelServer(replies) as server, aicli("chat", "--trust", "--yolo", server=server, rows=40, columns=100) as tty:
        say(tty, "write new.txt", "First answer.")
        say(tty, "and more", "Second answer.")
        say(tty, "/stats", "tokens in")
        say(tty, "/history", "messages")
        say(tty, "/context", "AGENTS.md")
        say(tty, "/tools write", "write_file")
        say(tty, "/memory add likes tea", "remembered")
        say(tty, "/memory show", "likes tea")
        say(tty, "/memory forget likes tea", "forgotten")
        say(tty, "/diff", "new.txt  +1")
        say(tty, "/permissions", "sandbox")
        say(tty, "/mode accept-edits", "permission mode: accept-edits")
        say(tty, "/mode nonsense", "there is no permission mode nonsense")
        say(tty, "/agents", "explore")
        say(tty, "/agents explore", "now talking: explore")
        say(tty, "/agents general", "now talking: general")
        say(tty, "/model", "thinking")
        say(tty, "/model set openai:other", "openai:other (fast)")
        say(tty, "/role auto", "(auto)")
        say(tty, "/rename tea talk", "now called tea talk")
        say(tty, "/sessions", "tea talk")
        say(tty, "/export talk.md", "written to")
        say(tty, "/config get limits.max_turns", "50")
        say(tty, "/copy", "clipboard")
        say(tty, "/plan", "permission mode: plan")
        say(tty, "/compact", "older turns summarised")
        say(tty, "/review new.txt bugs", "Reviewed.")
        assert "Review new.txt for new.txt bugs." in str(server.requests[-1].body)
        assert server.violations == []
        say(tty, "/undo", "1 turn taken back: new.txt")
        assert not Path("new.txt").exists()
        say(tty, "/fork", "now in the copy")
        say(tty, "/clear", "a new conversation begins")
        say(tty, "/doctor", "100x40, utf-8")
        say(tty, "/resume nothing", "there is no session")
        prompt(tty)
        tty.send("/q\r")
        assert tty.wait() == 0
        assert "First answer." in Path("talk.md").read_text("utf-8")


def test_the_doctor_looks_at_the_model_in_use() -> None:
    replies = [[call("note_color", color="blue"), usage(900)], [text("walnut"), usage(9_000)]]
    with ModelServer(replies) as server:
        flags = ("-m", "openai:other", "--base-url", server.url + "/v1")
        with aicli("chat", *flags, env={"AICLI_MODELS__FAST": "openai:configured"}) as tty:
            prompt(tty)
            say(tty, "/doctor", "openai:other answers")
        assert {body["model"] for body in server.bodies} == {"other"}


def test_rewind_goes_back_with_the_files(isolated: Path) -> None:
    replies = [["one"], [call("write_file", path="f.txt", content="x")], ["two"], ["three"]]
    with ModelServer(replies) as server, aicli("chat", "--yolo", server=server) as tty:
        say(tty, "first", "  one")
        say(tty, "second", "  two")
        assert Path("f.txt").exists()
        prompt(tty)
        tty.send("/rewind\r")
        tty.until("Back to before: second")
        tty.send("f")
        tty.until("gone back")
        assert not Path("f.txt").exists()
        tty.send("\r")
        tty.until("  three")
        said = [m["content"] for m in server.requests[-1].body["messages"] if m["role"] == "user"]
        assert sum("second" in str(s) for s in said) == 1 and "two" not in json.dumps(
            server.requests[-1].body["messages"]
        )


def test_folds_open_and_the_editor_edits(isolated: Path) -> None:
    editor = isolated / "edit.sh"
    editor.write_text('#!/bin/sh\nprintf " and edited" >> "$1"\n')
    editor.chmod(0o755)
    replies = [[call("shell", command="seq 100 130")], ["done"], ["seen"]]
    replies = replies
    with (
        ModelServer(replies) as server,
        aicli("chat", "--yolo", server=server, env={"VISUAL": str(editor)}, rows=50) as tty,
    ):
        say(tty, "go", "done")
        prompt(tty)
        assert "      110" not in tty.text
        tty.send("\x0f")
        tty.until("      110")
        tty.send("draft\x07")
        tty.until("› draft and edited")
        tty.send("\r")
        tty.until("seen")
        assert "draft and edited" in str(server.requests[-1].body)


def test_every_command_has_help_in_both_languages() -> None:
    for slash in TABLE:
        assert slash.run.__name__ == slash.name
        for language in ("en", "zh"):
            assert Words(language)(f"slash.{slash.name}")
    names = [n for slash in TABLE for n in (slash.name, *slash.aliases)]
    assert len(names) == len(set(names))
    wanted = (
        "help clear quit model role history stats compact tools memory undo rewind diff sessions resume fork rename"
    )
    wanted += " export permissions mode agents plan context config doctor copy"
    assert set(wanted.split()) == {slash.name for slash in TABLE}


def test_what_is_a_command() -> None:
    assert parse("/help") == ("help", "") and parse("/MODEL set a:b") == ("model", "set a:b")
    assert parse("exit") == ("quit", "") and parse("hello") is None
    assert parse("/tmp") is None and parse("/home/x y") is None and parse("//x") is None and parse("/") is None


def test_arguments_of_own_commands() -> None:
    assert filled("---\ndescription: x\n---\nDo $1 with $2.", "a b") == "Do a with b."
    assert filled("Do it.", "now please") == "Do it.\n\nnow please"
    assert re.search(r"\$", filled("Only $ARGUMENTS", "x")) is None
