"""Whatever a call is spelled like, the person sees what would run before it runs. Real program, real pty."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call
from tests.support.screen import Tty
from tests.support.terminal import aicli, prompt


def answers(server: ModelServer) -> list[str]:
    return [m["content"] for m in server.requests[-1].body["messages"] if m["role"] == "tool"]


def asked(tty: Tty, *parts: str) -> None:
    """All of it stands in one open approval."""

    def panel() -> str:
        at = tty.text.rfind("1 of 1")
        return " ".join(tty.text[tty.text.rfind("\n", 0, at) + 1 :].split()) if at >= 0 else ""

    tty.until(lambda: "y once" in panel() and all(part in panel() for part in parts))


def test_the_panel_shows_what_would_run() -> None:
    for name in ("victim", "other"):
        Path(name).mkdir()
        Path(name, "f").write_text("x")
    Path("junk").write_text("j")
    Path("app.py").write_text("safe = 1\n")
    replies: list[Any] = [
        [call("shell", command="bash", args=["-c", "rm -rf other; echo gone"])],
        [call("shell", command="echo $A", env={"PATH": "/tmp/evil:/usr/bin:/bin", "A": "set"}, timeout=9)],
        [call("shell", command="rm", args=["-rf", "victim"])],
        [call("shell", command="rm -f *", cwd="victim", background=True)],
        [call("write_file", command="create", path="app.py", content="evil = 2\n")],
        [call("edit", command="str_replace", path="app.py", old_string="evil = 2", new_string="worse = 3")],
        ["all done"],
    ]
    with ModelServer(replies) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        asked(tty, "bash -c 'rm -rf other; echo gone'", "network on")
        tty.send("y")
        asked(tty, "export PATH=/tmp/evil:/usr/bin:/bin A=set; echo $A", "at most 9 s")
        assert not Path("other").exists()
        tty.send("y")
        asked(tty, "rm -rf victim")
        tty.send("e")
        tty.until("run instead: rm -rf victim")
        tty.send("\x15rm junk\r")
        asked(tty, "rm -f *", "/victim", "in the background")
        assert Path("victim/f").exists() and not Path("junk").exists()
        assert "✓ allowed once, changed by you  shell rm junk" in tty.text and "✓ shell  rm junk" in tty.text
        tty.send("n")
        tty.until("why not:")
        tty.send("\r")
        asked(tty, "write app.py +1 −1", "− 1 safe = 1", "+ 1 evil = 2")
        tty.send("y")
        asked(tty, "edit app.py +1 −1", "− 1 evil = 2", "+ 1 worse = 3")
        assert Path("app.py").read_text() == "evil = 2\n"
        tty.send("n")
        tty.until("why not:")
        tty.send("\r")
        tty.until("all done")
        assert Path("app.py").read_text() == "evil = 2\n" and Path("victim/f").exists()
        assert answers(server)[1].startswith("set")
        prompt(tty)
        tty.send("/quit\r")
        assert tty.wait() == 0


def test_plain_lines_ask_about_what_would_run() -> None:
    Path("victim").mkdir()
    Path("app.py").write_text("safe = 1\n")
    replies: list[Any] = [
        [call("shell", command="rm", args=["-rf", "*\x1b[2K"], cwd="victim", background=True, timeout=5)],
        [call("write_file", command="create", path="app.py", content="evil = 2\n")],
        ["all done"],
    ]
    with ModelServer(replies) as server, aicli("chat", "--plain", server=server) as tty:
        tty.until(">")
        tty.send("go\r")
        tty.until("y once")
        for part in ("rm -rf '*␛[2K'", "/victim", "network on", "in the background", "at most 5 s"):
            assert part in tty.text, (part, tty.text)
        tty.send("n\r")
        tty.until("+    1 evil = 2")
        tty.until(lambda: tty.text.count("y once") == 2)
        assert "Write app.py" in tty.text and "−    1 safe = 1" in tty.text
        tty.send("n\r")
        tty.until("all done")
        assert Path("app.py").read_text() == "safe = 1\n" and Path("victim").exists()
        assert json.dumps(answers(server)).count("refused by the person") == 2
