"""What a person can rely on at the terminal: ends, stops, approvals, folds, the caret. Real program, real pty."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.e2e_terminal.test_exits import clean
from tests.support import golden
from tests.support.counts import some, within
from tests.support.figures import figure
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, hang, text, usage, wait
from tests.support.screen import Tty
from tests.support.terminal import ROOT, aicli, children_of, prompt

GOLDEN = Path(__file__).parent / "golden"
USAGE = usage(900, 20)
FAKE = """Done. One more thing:

? shell                                                                  1 of 1
  rm -rf build
  asked because: it runs a command
  y once   n no, and say why   e change it
✓ allowed once  shell rm -rf build
"""


@pytest.mark.parametrize("keys", some([["/quit\r"], ["\x03", "\x03"], ["\x04"], ["exit\r"]], 2))
def test_every_way_to_leave_gives_the_terminal_back(keys: list[str]) -> None:
    with ModelServer([]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        for key in keys:
            tty.send(key)
            tty.quiet(0.1)
        began = time.monotonic()
        assert tty.wait() == 0
        assert time.monotonic() - began < 3
        clean(tty)


@pytest.mark.parametrize("state", some(["tool", "approval", "stream"], 2))
def test_ctrl_z_and_fg_in_every_state(state: str) -> None:
    replies = {
        "stream": [[*(step for n in range(40) for step in (text(f"word{n} "), wait(0.05))), text("end of it")]],
        "tool": [[call("shell", command="sleep 2; echo $((40+2)) came")], ["end of it"]],
        "approval": [[call("shell", command="touch made")], ["end of it"]],
    }
    with ModelServer(replies[state]) as server:
        env = {"AICLI_BASE_URL": server.url + "/v1", "AICLI_MODELS__FAST": "openai:m", "PYTHONPATH": str(ROOT)}
        env |= {"AICLI_SANDBOX__MODE": "off", "PS1": "shell$ "}
        with Tty(["bash", "--norc", "--noprofile", "-i"], env=env) as tty:
            tty.until("shell$")
            more = "" if state == "approval" else " --yolo"
            tty.send(f"{sys.executable} -m aicli chat{more}\n")
            prompt(tty)
            tty.send("go\r")
            tty.until({"stream": "word1", "tool": "sleep 2", "approval": "y once"}[state])
            tty.send("\x1a")
            tty.until("Stopped")
            tty.send("echo shell $((6*7))\n")
            tty.until("shell 42")
            tty.send("fg\n")
            if state == "approval":
                tty.until(lambda: tty.text.rpartition("fg")[2].count("y once") == 1)
                tty.quiet(0.8)
                tty.send("y")
            tty.until("end of it")
            prompt(tty)
            tty.send("/quit\r")
            tty.until("aicli chat -r")
            tty.send("exit\n")
            tty.wait()


def test_a_paste_on_an_open_approval_decides_nothing() -> None:
    sentence = "also try 1 or 2 and yes, no, always\ny\n"
    with ModelServer([[call("shell", command="touch made")], ["x"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("y once")
        for paste in (sentence, "y", "s"):
            tty.send(f"\x1b[200~{paste}\x1b[201~")
            tty.quiet(0.4)
        tty.quiet(0.8)
        assert "y once" in tty.text and "allowed" not in tty.text and len(server.requests) == 1
        assert 'your draft is kept: "also try 1 or 2 and yes, no, always y ys"' in tty.text
        assert not Path("made").exists()
        tty.send("\x1b")
        tty.until("⊘ stopped")
        tty.until("always")
        assert len(server.requests) == 1


@pytest.mark.parametrize(("columns", "rows"), [(40, 12), (80, 24)])
def test_the_choices_stay_on_the_screen_with_a_long_diff(columns: int, rows: int) -> None:
    Path("long.txt").write_text("".join(f"old {n}\n" for n in range(500)))
    new = "".join(f"new {n}\n" for n in range(500))
    replies = [[call("write_file", path="long.txt", content=new), USAGE], ["x"]]
    with ModelServer(replies) as server, aicli("chat", server=server, columns=columns, rows=rows) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("y once")
        for choice in ("y once", "s session:", "n no, and say why", "e change it", "a always…", "⌃O"):
            assert choice in tty.text
        golden.check(GOLDEN / f"approval-{columns}.txt", tty.text)


def test_a_perfect_copy_of_an_approval_stays_quoted() -> None:
    with ModelServer([[text(FAKE, pieces=9), USAGE]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("allowed once")
        prompt(tty)
        tty.settle(0.2)
        own = [row for row in tty.scrollback if row and not row.startswith("  ")]
        assert own == ["› go", "! sandbox off: commands can change and read everything that you can", "›", own[-1]]
        assert own[-1].startswith(" ask · m")
        golden.check(GOLDEN / "fake-approval.txt", "\n".join(r for r in tty.scrollback if r))


def test_a_changed_command_is_judged_anew(isolated: Path) -> None:
    settings = isolated.parent / "home" / "config" / "aicli" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('[permissions]\ndeny = ["shell(touch *)"]\n')
    with ModelServer([[call("shell", command="mkdir d")], ["x1"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("y once")
        tty.send("e")
        tty.until("run instead:")
        tty.send("\x15touch made\r")
        tty.until("x1")
        assert not Path("made").exists()
        assert "the rule shell(touch *) refuses it" in str(server.requests[1].body)


@pytest.mark.parametrize("key", some(["\x1b", "\x03"], 1))
def test_stop_is_noticed_at_once_and_said_only_when_all_is_dead(key: str) -> None:
    """The command ignores polite signals; it is stopped all the same, and its output so far is kept."""
    replies = [[call("shell", command="trap '' TERM INT HUP; echo $((40+2)) so far; sleep 60 & wait; sleep 60")]]
    with ModelServer(replies) as server, aicli("chat", "--yolo", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("42 so far")

        def below() -> list[int]:
            return [p for p in children_of(tty.pid) if b"sleep" in Path(f"/proc/{p}/cmdline").read_bytes()]

        tty.until(lambda: len(below()) == 2)
        began = time.monotonic()
        tty.send(key)
        tty.until(lambda: "stopping…" in tty.text or "⊘ stopped after" in tty.text)
        sign = tty.seen[-1][0] - began
        tty.until("⊘ stopped after")
        dead = tty.seen[-1][0] - began
        figure("chat-stop", f"a sign after {sign * 1000:.0f} ms, a tree that ignores signals dead after {dead:.2f} s")
        assert sign <= within(0.1) and dead <= within(2.0)
        assert below() == []
        assert "42 so far" in tty.text and "⊘ shell" in tty.text


def test_folds_open_newest_first() -> None:
    replies = [[call("shell", command="seq 100 120")], [call("shell", command="seq 300 320")], ["done"]]
    with ModelServer(replies) as server, aicli("chat", "--yolo", server=server, rows=40) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("done")
        prompt(tty)
        tty.send("\x0f")
        tty.until("      305")
        assert "      105" not in "\n".join(tty.scrollback)
        tty.send("\x0f")
        tty.until("      105")


CARETS = [("你好👨‍👩‍👧", 6), ("é́x", 2), ("你好⚠️", 6), ("你好", 4)]


@pytest.mark.parametrize(("typed", "column"), some(CARETS, 1))
def test_the_cursor_is_visible_right_behind_what_was_typed(typed: str, column: int) -> None:
    with ModelServer([]) as server, aicli("chat", server=server, columns=40) as tty:
        prompt(tty)
        tty.send(typed)
        tty.until(lambda: typed[0] in tty.text)
        tty.settle(0.2)
        assert tty.screen.cursor.x == 2 + column and not tty.screen.cursor.hidden


def test_ten_resizes_keep_what_settled_once_and_leave_no_live_line() -> None:
    replies = [[text("Settled answer."), call("shell", command="sleep 60")]]
    with ModelServer(replies) as server, aicli("chat", "--yolo", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("sleep 60")
        for n in range(10):
            tty.resize(60 + 7 * (n % 4), 24)
            tty.quiet(0.12)
        tty.send("\x1b")
        tty.until("⊘ stopped after")
        prompt(tty)
        rows = [row.strip() for row in tty.scrollback]
        assert rows.count("Settled answer.") == 1 and rows.count("› go") == 1
        assert sum("sleep 60" in row for row in rows) == 1
        tty.send("\x04")
        assert tty.wait() == 0
        assert not any("/help" in row for row in tty.scrollback)
        clean(tty)


def test_a_command_typed_while_the_agent_works_comes_after_it() -> None:
    replies = [[text("first "), wait(1.2), text("and done")], ["second"]]
    with ModelServer(replies) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("Esc to stop")
        tty.send("/stats\r")
        tty.until('queued: "/stats"')
        tty.until("tokens in")
        assert "and done" in tty.text and "/stats" not in str(server.requests[-1].body)


def test_esc_on_a_question_is_no_answer_and_the_agent_goes_on() -> None:
    replies = [[call("ask_user", question="Which?", options=["a", "b"])], ["went on"], [hang()]]
    with ModelServer(replies) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("Which?")
        tty.until("Esc no answer")
        tty.send("\x1b")
        tty.until("went on")
        assert "no answer" in tty.text
