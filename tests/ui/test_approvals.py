"""Approvals: nothing is preselected, only a lone letter decides, and no choice is ever cut."""

from __future__ import annotations

import random

import pytest

from aicli.content.parts import FunctionCallPart
from aicli.content.results import DiffDisplay
from aicli.tools.host import Approval, ApprovalRequest
from aicli.ui.approvals import ApprovalPanel
from aicli.ui.cells import line_width, plain
from aicli.ui.hunks import hunks_of, keep_only
from aicli.ui.keys import Key
from aicli.ui.pending import Pending
from aicli.ui.words import Words
from tests.support.counts import count

DIFF = "--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n-d\n+D\n e\n"


def shell(command: str = "rm -rf build && make dist", **more: object) -> ApprovalRequest:
    call = FunctionCallPart(id="1", name="shell", args={"command": command})
    values = {"kind": "execute", "why": 'deletes (rule "rm")', "rule": "shell(make *)", "cwd": "~/code/shop", **more}
    return ApprovalRequest(call=call, title=f"$ {command}", **values)  # type: ignore[arg-type]


def edit(lines: int = 0) -> ApprovalRequest:
    diff = DIFF + "".join(f"+more {i}\n" for i in range(lines))
    call = FunctionCallPart(id="2", name="write_file", args={"path": "f", "content": "a\nB\nc\nD\ne\n"})
    preview = DiffDisplay(path="f", diff=diff, added=2, removed=2)
    return ApprovalRequest(
        call=call, title="Write f", kind="edit", why="edits ask", rule="edit(src/**)", preview=preview
    )


class Asked:
    """A panel, its clock, the draft, and what was decided."""

    def __init__(self, *requests: ApprovalRequest, last_key: float = -1.0) -> None:
        self.now = 100.0
        self.draft = ""
        self.decided: list[Approval] = []
        self.panel = ApprovalPanel(Words("en"), last_key, lambda text, done: done(text.replace("B", "edited")))
        for request in requests or (shell(),):
            pending = Pending(request, self.decided.append)
            self.panel.add(pending)

    def wait(self, seconds: float) -> Asked:
        end = self.now + seconds
        while self.panel.deadline is not None and self.panel.deadline <= end:
            self.now = max(self.now, self.panel.deadline) + 0.001
            if self.panel.is_open(self.now):
                self.panel.tick(self.now)
        self.now = end
        return self

    def press(self, *keys: str) -> Asked:
        for name in keys:
            key = Key(name[1:-1]) if name.startswith("<") else Key("char", name)
            if self.panel.is_open(self.now):
                text, _ = self.panel.key(key, self.now)
                self.draft += text
            else:
                self.panel.typed(self.now)
                self.draft += key.text
        return self

    def type(self, text: str, pause: float = 0.12) -> Asked:
        for char in text:
            self.press("<enter>" if char == "\n" else char).wait(pause)
        return self


@pytest.mark.parametrize(("letter", "decision"), [("y", "once"), ("s", "session")])
def test_a_lone_letter_decides(letter: str, decision: str) -> None:
    asked = Asked().wait(1).press(letter)
    assert asked.decided == []
    asked.wait(0.3)
    assert [a.decision for a in asked.decided] == [decision]


def test_a_letter_with_a_neighbour_belongs_to_the_draft() -> None:
    asked = Asked().wait(1).type("yes", 0.2).wait(2)
    assert asked.decided == [] and asked.draft == "yes"


@pytest.mark.parametrize("text", ["also try 1 or 2 and yes, no, always\n", "y n s a e h A", "no", "say yes", "ny\n"])
@pytest.mark.parametrize("before", [0.0, 5.0])
def test_a_sentence_decides_nothing(text: str, before: float) -> None:
    """Across the appearance of the prompt (0 s) and on an open one."""
    asked = Asked(last_key=100.0).wait(before).type(text).wait(2)
    assert asked.decided == [] and asked.draft == text.replace("\n", "")


@pytest.mark.parametrize("key", ["<enter>", " ", "1", "2", "<tab>", "<up>", "Y", "N", "x", "<ctrl-d>", "<ctrl-j>"])
def test_other_keys_decide_nothing(key: str) -> None:
    asked = Asked().wait(1).press(key).wait(1)
    assert asked.decided == []


def test_the_choices_are_dim_while_letters_go_to_the_draft() -> None:
    def styles(asked: Asked) -> set[str]:
        asked.panel.is_open(asked.now)
        lines, _ = asked.panel.lines(80, 20, asked.draft)
        row = next(line for line in lines if plain(line).lstrip().startswith("y once"))
        return {style for text, style in row if text.strip()}

    asked = Asked().wait(1)
    live = styles(asked)
    assert "2" not in live
    asked.press("x").wait(0.2)
    assert styles(asked) == {"2"} and asked.panel.deadline is not None
    asked.press("y").wait(0.3)
    assert styles(asked) == {"2"} and asked.decided == [] and asked.draft == "xy"
    asked.wait(0.6)
    assert "2" not in styles(asked)
    asked.press("y").wait(0.3)
    assert [a.decision for a in asked.decided] == ["once"]


def test_a_paste_decides_nothing() -> None:
    asked = Asked().wait(1)
    text, for_others = asked.panel.key(Key("paste", "y"), asked.now)
    asked.wait(2)
    assert asked.decided == [] and text == "" and for_others


def test_random_typing_decides_nothing() -> None:
    for seed in range(count(40, 2000)):
        pick = random.Random(seed)
        asked = Asked(edit(), last_key=100.0)
        text = "".join(pick.choice("ysanehA yn1\n") for _ in range(30))
        asked.type(text, pick.uniform(0.01, 0.24))
        assert asked.decided == []
        asked.wait(5)
        assert asked.decided == [] and asked.draft == text.replace("\n", "")


def test_it_opens_only_when_the_input_was_still() -> None:
    asked = Asked(last_key=99.9)
    assert not asked.panel.is_open(100.0) and not asked.panel.is_open(100.5)
    assert asked.panel.is_open(100.61)


def test_escape_stops_the_turn() -> None:
    asked = Asked().wait(1).press("<esc>")
    assert [a.decision for a in asked.decided] == ["stop"]


def test_no_comes_with_a_reason() -> None:
    asked = Asked().wait(1).press("n").wait(0.3).type("use make clean").press("<enter>")
    assert asked.decided == [Approval("deny", reason="use make clean")]


def test_always_asks_where() -> None:
    asked = Asked().wait(1).press("a").wait(1)
    assert asked.decided == []
    asked.press("p").wait(0.3)
    assert asked.decided == [Approval("always", scope="project", rule="shell(make *)")]


def test_without_a_rule_nothing_can_be_saved() -> None:
    asked = Asked(shell(rule="")).wait(1)
    assert "s" not in asked.panel.letters and "a" not in asked.panel.letters
    asked.press("s").wait(1).press("a").wait(1)
    assert asked.decided == []


def test_a_command_can_be_changed_first() -> None:
    asked = Asked(shell("make")).wait(1).press("e").wait(0.3).type(" -j1").press("<enter>")
    assert asked.decided == [Approval("once", args={"command": "make -j1"})]


def test_a_file_is_changed_in_the_editor() -> None:
    asked = Asked(edit()).wait(1).press("e").wait(0.3)
    assert asked.decided[0].args == {"path": "f", "content": "a\nedited\nc\nD\ne\n"}


def test_hunk_by_hunk() -> None:
    asked = Asked(edit()).wait(1).press("h").wait(1).press("y").wait(1).press("n").wait(1)
    assert asked.decided == [Approval("once", args={"path": "f", "content": "a\nB\nc\nd\ne\n"})]
    none = Asked(edit()).wait(1).press("h").wait(1).press("n").wait(1).press("n").wait(1)
    assert none.decided[0].decision == "deny"


def test_hunks_of_an_edit_are_exact() -> None:
    args = {"path": "f", "old_string": "1\n2\n3\n4\n", "new_string": "1\nzwei\n3\nvier\n"}
    name, hunks = hunks_of(args, None)
    assert len(hunks) == 2
    assert keep_only(args, name, hunks, [False, True])["new_string"] == "1\n2\n3\nvier\n"
    assert keep_only(args, name, hunks, [False, False])["new_string"] == args["old_string"]


def test_all_alike_only_after_each_was_shown() -> None:
    asked = Asked(edit(), edit(), shell()).wait(1)
    asked.panel.lines(80, 10)
    assert "A" not in asked.panel.letters
    asked.press("<tab>")
    asked.panel.lines(80, 10)
    asked.wait(1)
    assert "A" in asked.panel.letters
    asked.press("A").wait(0.3)
    assert [a.decision for a in asked.decided] == ["once", "once"]


@pytest.mark.parametrize(("columns", "limit"), [(39, 8), (79, 10)])
@pytest.mark.parametrize("lines", [0, 500])
def test_all_choices_are_on_the_screen(columns: int, limit: int, lines: int) -> None:
    asked = Asked(edit(lines)).wait(1)
    shown, _ = asked.panel.lines(columns, limit, "a draft that is kept")
    text = " ".join(plain(line).strip() for line in shown)
    assert len(shown) <= limit and all(line_width(line) <= columns for line in shown)
    for choice in ("y once", "s session: edit(src/**)", "n no, and say why", "e change it", "h hunks", "a always…"):
        assert choice in text or choice.replace(" ", "") in text.replace(" ", ""), (choice, shown)


def test_on_the_narrowest_screen_every_letter_is_there() -> None:
    shown, _ = Asked(edit(500)).wait(1).panel.lines(19, 8)
    text = " ".join(plain(line).strip() for line in shown)
    assert all(f"{letter} " in text for letter in "ysneha")


def test_a_cut_command_says_how_much_is_missing() -> None:
    command = "echo " + "x" * 3000
    asked = Asked(shell(command)).wait(1)
    shown, _ = asked.panel.lines(39, 8)
    text = "\n".join(plain(line) for line in shown)
    seen = "".join(plain(line)[2:] for line in shown[1:] if "⌃O" not in plain(line) and "xxx" in plain(line))
    assert f"{len(command) - len(seen)} characters" in text and "⌃O" in text
    _, whole = asked.panel.whole(39)
    assert "".join(plain(line)[2:] for line in whole[1:]).startswith(command)


def test_what_hides_is_made_visible() -> None:
    asked = Asked(shell("ls\x1b[2K\u202e" + " " * 60 + "; rm -rf ~")).wait(1)
    shown, _ = asked.panel.lines(79, 10)
    text = "\n".join(plain(line) for line in shown)
    assert "\x1b" not in text and "\u202e" not in text
    assert "⟨60 blanks⟩; rm -rf ~" in text


def request(name: str, kind: str, args: dict[str, object], **more: object) -> ApprovalRequest:
    call = FunctionCallPart(id="1", name=name, args=args)
    return ApprovalRequest(call=call, title=f"{name} it", kind=kind, why="it does", **more)  # type: ignore[arg-type]


def rows(asked: Asked, columns: int = 79, limit: int = 10) -> list[str]:
    return [plain(line) for line in asked.panel.lines(columns, limit)[0]]


def test_all_that_changes_what_a_command_does_is_shown() -> None:
    args = {"command": "rm -rf *", "cwd": "victim", "background": True, "timeout": 7.5, "network": True, "user": "root"}
    asked = Asked(request("shell", "execute", args, cwd="/w/vic\x1btim", network=True, sandbox="reduced")).wait(1)
    for columns, limit in ((79, 10), (39, 8), (25, 8)):
        text = " ".join(row.strip() for row in rows(asked, columns, limit))
        for part in ("in /w/vic␛tim", "network on", "sandbox: reduced", "in the background", "at most 7.5 s", "y once"):
            assert part in text or "⌃O" in text, (columns, part, text)
        assert len(rows(asked, columns, limit)) <= limit
    assert "  user: root" in rows(asked)
    assert all(part in " ".join(rows(asked, 39)) for part in ("in the background", "at most 7.5 s", "network on"))
    whole = " ".join(plain(line).strip() for line in asked.panel.whole(200)[1])
    assert all(
        part in whole for part in ("rm -rf *", "in /w/vic␛tim", "in the background", "at most 7.5 s", "user: root")
    )


def test_a_long_command_never_pushes_out_where_it_runs() -> None:
    asked = Asked(
        request("shell", "execute", {"command": "x\n" * 900, "background": True}, cwd="/w" + "/深" * 90)
    ).wait(1)
    for columns, limit in ((79, 10), (39, 8)):
        text = "\n".join(rows(asked, columns, limit))
        assert "network off" in text and "in the background" in text and "⌃O" in text and "y once" in text
        assert len(rows(asked, columns, limit)) <= limit
    assert "/深" * 90 in "".join(plain(line)[2:] for line in asked.panel.whole(39)[1])


def test_only_a_tool_that_runs_something_has_a_command() -> None:
    preview = DiffDisplay(path="f", diff=DIFF, added=2, removed=2)
    asked = Asked(
        request("write_file", "edit", {"command": "create", "path": "f", "content": "x"}, preview=preview)
    ).wait(1)
    assert any("+    2 B" in row for row in rows(asked)) and not any("create" in row for row in rows(asked))
    other = Asked(request("deploy", "other", {"command": "create", "force": True, "to": ["a", "深"]})).wait(1)
    assert {"  command: create", "  force: true", '  to: ["a", "深"]'} <= set(rows(other))


def test_a_value_cannot_look_like_another_argument() -> None:
    asked = Asked(request("deploy", "other", {"note": "x\nforce: false\n  force: false", "force": True})).wait(1)
    assert [row for row in rows(asked) if row.startswith("  force")] == ["  force: true"]
    extra = Asked(request("runner", "execute", {"command": "ls", "cwd": "victim"}, cwd="/w")).wait(1)
    assert "  cwd: victim" in rows(extra)


def test_the_file_of_a_change_is_told_whole() -> None:
    path = "src/" + "a/" * 40 + "authorized_keys"
    preview = DiffDisplay(path=path, diff=DIFF, added=2, removed=2)
    asked = Asked(request("write_file", "edit", {"path": path, "content": "x"}, preview=preview)).wait(1)
    assert path in "".join(row.strip() for row in rows(asked, 79))
    moved = DiffDisplay(path="elsewhere.py", diff=DIFF, added=2, removed=2)
    assert "  elsewhere.py" in rows(Asked(request("edit", "edit", {"path": "link"}, preview=moved)).wait(1))


def test_hunks_only_where_they_are_the_whole_change() -> None:
    args = {"path": "f", "old_string": "1\n2\n3\n", "new_string": "a\n2\nb\n"}
    preview = DiffDisplay(path="f", diff=DIFF, added=2, removed=2)
    assert len(hunks_of(args, preview)[1]) == 2
    assert hunks_of({**args, "edits": [{"old_string": "x", "new_string": "y"}]}, preview)[1] == []
    thrice = DiffDisplay(path="f", diff="".join(f"@@ -{n},1 +{n},1 @@\n-1\n+a\n" for n in (1, 9, 20)))
    assert hunks_of({**args, "replace_all": True}, thrice)[1] == []
