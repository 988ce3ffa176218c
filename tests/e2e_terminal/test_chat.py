"""Chat through the real program in a pty: answers, approvals, queue, stop, commands, and nothing lost on the way."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.counts import count, some
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, error, hang, text, think, wait
from tests.support.terminal import ROOT, aicli, prompt

SHELL = [call("shell", command="echo begun; sleep 60")]


def last_user(server: ModelServer) -> str:
    message = [m for m in server.requests[-1].body["messages"] if m["role"] == "user"][-1]
    content = message["content"]
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


def test_a_question_a_tool_an_approval_an_answer() -> None:
    Path("文件.py").write_text("print(1)\n", "utf-8")
    replies = [
        [think("Let me look."), text("I **read** it.", pieces=4), call("read_file", path="文件.py")],
        [call("shell", command="python3 -c 'print(6*7)'")],
        [text("It prints 1. 很好。", pieces=5)],
    ]
    with ModelServer(replies) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("what does @文件.py do?\r")
        tty.until("y once")
        assert "python3 -c 'print(6*7)'" in tty.text and "1 of 1" in tty.text
        tty.send("y")
        tty.until("很好。")
        prompt(tty)
        assert "✓ allowed once  shell python3 -c 'print(6*7)'" in tty.text
        assert "openai:m (fast)" in tty.text and "◆ thought" in tty.text
        tty.send("/quit\r")
        assert tty.wait() == 0
        assert server.violations == []
        sent = str(server.requests[0].body["messages"])
        assert "print(1)" in sent and "what does @文件.py do?" in sent
        assert "42" in str(server.requests[2].body["messages"])
        goodbye = [line for line in tty.scrollback if line][-2:]
        assert goodbye[0].startswith("1 turn · 2 calls") and goodbye[1].startswith("aicli chat -r ")
        assert len(goodbye[1]) <= 60


def test_keys_typed_before_the_start_land_in_the_draft() -> None:
    with ModelServer([["hi"]]) as server, aicli("chat", server=server, typed="typed early 你好") as tty:
        tty.until("› typed early 你好")
        prompt(tty)
        tty.send("\r")
        tty.until("  hi")
        assert last_user(server).endswith("typed early 你好")


@pytest.mark.parametrize("key", some(["\x1b", "\x03"], 1))
def test_one_key_stops_and_the_tree_is_dead_before_it_says_so(key: str) -> None:
    mark = f"sleep 6{os.getpid() % 1000:03d}"
    replies = [[call("shell", command=f"echo begun; {mark}")], ["fine"]]
    with ModelServer(replies) as server, aicli("chat", "--yolo", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("begun")
        tty.send(key)
        tty.until("⊘ stopped after")
        assert subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).stdout == b""
        prompt(tty)
        tty.send("again\r")
        tty.until("fine")
        assert server.violations == []  # the call that was stopped has an answer
        tty.send("\x04")
        assert tty.wait() == 0


def test_queued_text_joins_at_the_next_tool_boundary() -> None:
    replies = [[wait(1.0), call("ls")], ["done"]]
    with ModelServer(replies) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("first\r")
        tty.until("Esc to stop")
        tty.send("one\r")
        tty.until('queued: "one"')
        tty.send("two\r")
        tty.until('queued: "two"')
        tty.send("\x1b[A")
        tty.until("› two")
        tty.send("\x15")
        tty.until("done")
        prompt(tty)
        users = [m["content"] for m in server.requests[1].body["messages"] if m["role"] == "user"]
        assert users[-1] == "one" and "› one" in tty.text
        assert server.violations == []


def test_a_stop_gives_queued_text_back_unsent() -> None:
    with ModelServer([[text("part of it "), hang()]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("first\r")
        tty.until("part of it")
        tty.send("not yet sent\r")
        tty.until('queued: "not yet sent"')
        tty.send("\x1b")
        tty.until("⊘ stopped after")
        tty.until("› not yet sent")
        assert "part of it" in tty.text and "queued" not in tty.text
        assert len(server.requests) == 1


def test_a_stop_keeps_commands_and_messages_apart() -> None:
    with ModelServer([[text("part of it "), hang()]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("first\r")
        tty.until("part of it")
        for line in ("/undo", "and then this"):
            tty.send(line + "\r")
            tty.until(f'queued: "{line}"')
        tty.send("\x1b")
        tty.until("⊘ stopped after")
        tty.until("not sent, ↑ has it: /undo")
        tty.until("› and then this")
        assert "› /undo" not in tty.text


def test_a_failed_turn_is_rolled_back_and_the_session_goes_on() -> None:
    replies = [[error(400, "no such thing")], ["now it works"]]
    with ModelServer(replies) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("broken\r")
        tty.until("✗ failed")
        prompt(tty)
        tty.send("good\r")
        tty.until("now it works")
        assert "broken" not in str(server.requests[1].body)


def test_a_long_message_goes_to_the_thinking_model() -> None:
    with ModelServer([["a"], ["b"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("\x1b[200~" + "word " * 400 + "\x1b[201~\r")
        tty.until("openai:thinker (thinking: more than 1,500 characters)")
        tty.until("  a")
        prompt(tty)
        tty.send("short\r")
        tty.until("openai:m (fast)")
        tty.until("  b")
        assert [r.body["model"] for r in server.requests] == ["thinker", "m"]


def test_a_paste_of_several_lines_is_sent_by_enter_only() -> None:
    with ModelServer([["ok"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("\x1b[200~one\r\ntwo\r\n\x1b[201~")
        tty.settle(0.6)
        assert server.requests == []
        tty.send("\r")
        tty.until("  ok")
        assert len(server.requests) == 1 and "one\ntwo" in last_user(server)


def test_what_looks_like_a_path_is_text_and_unknown_commands_get_a_hint() -> None:
    with ModelServer([["a1"], ["b2"], ["c3"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        for line, answer in (("/home/me/x explain", "a1"), ("/tmp", "b2"), ("//x", "c3")):
            tty.send(line + "\r")
            tty.until("  " + answer)
            prompt(tty)
            assert last_user(server).endswith(line)
        tty.send("/hepl\r")
        tty.until("Did you mean /help?")
        tty.send("/help\r")
        tty.until("/doctor")
        assert len(server.requests) == 3


def test_type_ahead_never_answers_an_approval() -> None:
    """A sentence typed across the appearance of an approval, and again while it is open: no decision, draft complete."""
    sentence = "also try 1 or 2 and yes, no, always"[: count(21, 40)]
    replies = [[wait(1.0), call("shell", command="touch made")], ["x"]]
    with ModelServer(replies) as server, aicli("chat", server=server, rows=30) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("Esc to stop")
        for char in sentence:
            tty.send(char)
            tty.quiet(0.12)
        tty.until("y once")
        assert f'your draft is kept: "{sentence}"' in tty.text
        for char in " " + sentence + "\r":
            tty.send(char)
            tty.quiet(0.12)
        tty.quiet(1.0)
        assert "y once" in tty.text and "allowed" not in tty.text and len(server.requests) == 1
        assert f"{sentence} {sentence}"[:50] in tty.text
        tty.send("n")
        tty.until("why not:")
        tty.send("because 不行\r")
        tty.until("⊘ refused")
        tty.until("  x")
        assert "because 不行" in str(server.requests[1].body["messages"])


def test_the_model_asks_and_gets_the_answer() -> None:
    replies = [[call("ask_user", question="Which colour?", options=["red", "blue"])], ["ok then"]]
    with ModelServer(replies) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("Which colour?")
        tty.until("2  blue")
        tty.send("2\r")
        tty.until("ok then")
        assert "blue" in str(server.requests[1].body["messages"][-1])


def test_a_person_runs_a_command_and_the_model_is_told() -> None:
    with ModelServer([["seen"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("!echo $((6*7))\r")
        tty.until("      42")
        prompt(tty)
        tty.send("what came?\r")
        tty.until("seen")
        assert "I ran `echo $((6*7))` myself" in last_user(server) and "42" in last_user(server)


def test_resume_shows_the_last_exchange_and_the_model_sees_it() -> None:
    with ModelServer([["My answer is 7."], ["Still 7."]]) as server:
        with aicli("chat", server=server) as tty:
            prompt(tty)
            tty.send("what is it?\r")
            tty.until("My answer is 7.")
            tty.send("\x04")
            assert tty.wait() == 0
            command = next(line for line in tty.scrollback if line.startswith("aicli chat -r "))
        with aicli(*command.split()[1:], server=server) as tty:
            prompt(tty)
            tty.until("My answer is 7.")
            assert "› what is it?" in tty.text
            tty.send("sure?\r")
            tty.until("Still 7.")
            assert "My answer is 7." in str(server.requests[1].body["messages"])


def test_ctrl_c_on_an_idle_line_clears_then_hints_then_quits() -> None:
    with ModelServer([]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("draft")
        tty.until("› draft")
        tty.send("\x03")
        tty.until(lambda: "draft" not in tty.text)
        tty.send("\x1b[A")
        tty.until("› draft")
        tty.send("\x03")
        tty.until(lambda: "draft" not in tty.text)
        tty.send("\x03")
        tty.until("again to quit")
        tty.send("\x03")
        assert tty.wait() == 0 and tty.stty_back


@pytest.mark.parametrize("arguments", [["chat"], []])
def test_off_a_terminal_each_line_is_a_turn(arguments: list[str]) -> None:
    with ModelServer([["你好 one"], ["two"]]) as server:
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "AICLI_BASE_URL": server.url + "/v1"}
        environ |= {"AICLI_MODELS__FAST": "openai:m", "AICLI_SANDBOX__MODE": "off"}
        argv = [sys.executable, "-m", "aicli", *arguments]
        typed = "hi\n\nagain\nquit\n"
        done = subprocess.run(argv, input=typed, capture_output=True, text=True, env=environ, timeout=30, check=False)
        assert (done.returncode, done.stdout) == (0, "你好 one\ntwo\n")
        assert "\x1b" not in done.stderr and "Traceback" not in done.stderr


def test_plain_mode_writes_no_escape_sequence() -> None:
    with ModelServer([["plain answer"]]) as server, aicli("chat", "--plain", server=server) as tty:
        tty.until(">")
        tty.send("hello\r")
        tty.until("plain answer")
        tty.send("/quit\r")
        assert tty.wait() == 0 and b"\x1b" not in tty.raw


def test_no_colour_and_dumb_terminals() -> None:
    with ModelServer([["**bold** answer"], ["x"]]) as server:
        with aicli("chat", server=server, env={"NO_COLOR": "1"}) as tty:
            prompt(tty)
            tty.send("hello\r")
            tty.until("bold answer")
            assert re.findall(rb"\x1b\[[0-9;]+m", tty.raw) == []
        with aicli("chat", server=server, env={"TERM": "dumb"}) as tty:
            tty.until(">")
            tty.send("/quit\r")
            assert tty.wait() == 0 and b"\x1b" not in tty.raw


def test_settled_text_occurs_once_through_resizes_and_scrollback_before_is_kept() -> None:
    reply = [step for n in range(70) for step in (text(f"## Heading {n}\n\nText of {n}.\n\n"), wait(0.01))]
    with ModelServer([reply]) as server, aicli("chat", server=server, rows=20) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("Heading 9")
        tty.resize(60, 20)
        tty.until("Heading 30")
        tty.resize(90, 20)
        tty.until("Text of 69.")
        prompt(tty)
        tty.settle(0.3)
        rows = [row.strip() for row in tty.scrollback]
        assert [r for r in rows if r.startswith("Heading ")] == [f"Heading {n}" for n in range(70)]
        assert [r for r in rows if "/help" in r] == rows[-1:]
        tty.send("\x04")
        assert tty.wait() == 0
        assert not any("/help" in row for row in tty.scrollback)


def test_only_the_allowed_modes_are_used() -> None:
    with ModelServer([[think("t"), text("x | y"), call("ls")], ["z"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("  z")
        tty.resize(50, 20)
        tty.settle(0.2)
        tty.send("\x04")
        tty.wait()
        assert tty.modes_used <= {"25", "2004", "2026", "1004"} and tty.modes_left == set()
        assert not any(bad in tty.raw for bad in (b"\x1b[2J", b"\x1b[3J", b"\x1b]52", b"?1049", b"?1000"))
