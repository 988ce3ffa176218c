"""ApprovalPanel: the calls that wait for a yes, as lines and keys. Nothing is preselected; only a lone letter decides."""

from __future__ import annotations

import re
from collections.abc import Callable

from aicli.clean import spelled
from aicli.content.results import DiffDisplay
from aicli.tools.host import Approval, ApprovalRequest
from aicli.ui.buffer import Buffer
from aicli.ui.calls import split_title
from aicli.ui.cells import Line, cut, cut_middle, hard_wrap, sides, width
from aicli.ui.display import diff_lines, short_path
from aicli.ui.hunks import keep_only
from aicli.ui.keys import Key
from aicli.ui.lone import STILL, LoneKey, laid
from aicli.ui.pending import Pending, settings, text_lines, what_runs
from aicli.ui.theme import ASKS, BOLD, DIM, STYLE_OF, YELLOW
from aicli.ui.words import Words

Editing = Callable[[str, Callable[[str | None], None]], None]
STOPPED_HERE, NO_PART = "the person stopped the turn here", "the person refused every part of the change"
"""Reasons for the model, so in its language."""


class ApprovalPanel:
    """A list of requests, one in view. `edit_text` runs an editor on a text and later calls back with what came of it."""

    def __init__(self, words: Words, last_key: float, edit_text: Editing) -> None:
        self.words = words
        self.pending: list[Pending] = []
        self.index = 0
        self.mode = "choose"  # choose, where, reason, command, hunk
        self.kept: list[bool] = []
        self.flash = False
        self._edit_text = edit_text
        self._lone = LoneKey(last_key)
        self._line = Buffer()
        self._open = False

    # -- requests

    def add(self, pending: Pending) -> None:
        self.pending.append(pending)

    def remove(self, pending: Pending) -> None:
        """Answered, or its run was stopped."""
        if pending in self.pending:
            at = self.pending.index(pending)
            self.pending.remove(pending)
            if at <= self.index:
                self.index = max(0, self.index - (at < self.index))
            self.index = min(self.index, max(0, len(self.pending) - 1))
            self.mode, self._open, self._lone.candidate = "choose", False, ""

    @property
    def current(self) -> Pending | None:
        return self.pending[self.index] if self.pending else None

    def is_open(self, now: float) -> bool:
        """The prompt appears only once the input has been still; from then on it stays."""
        if self.pending and not self._open and now - self._lone.last >= STILL:
            self._open = True
        self._lone.settle(now)
        return self._open and bool(self.pending)

    @property
    def deadline(self) -> float | None:
        """When time alone changes something."""
        if not self.pending:
            return None
        return self._lone.deadline if self._open else self._lone.last + STILL

    @property
    def letters(self) -> str:
        pending = self.current
        if pending is None:
            return ""
        if self.mode == "where":
            return "up"
        if self.mode == "hunk":
            return "yn"
        letters = "yn" + ("sa" if pending.request.rule else "") + ("e" if pending.editable else "")
        letters += "h" if len(pending.hunks) > 1 else ""
        return letters + ("A" if self._all_shown() else "")

    def _alike(self) -> list[Pending]:
        first = self.current
        return [p for p in self.pending if first and p.request.kind == first.request.kind]

    def _all_shown(self) -> bool:
        alike = self._alike()
        return len(alike) > 1 and all(p.shown for p in alike)

    # -- keys

    def typed(self, now: float) -> None:
        """A key came before the prompt was open: it is the draft's, and the prompt waits longer."""
        self._lone.last = now

    def key(self, key: Key, now: float) -> tuple[str, bool]:
        """(what belongs to the draft, is the key itself for others to handle?)."""
        self.flash = False
        if self.mode in ("reason", "command"):
            self._line_key(key, now)
            return "", False
        if key.name == "char":
            rest = self._lone.press(key.text, self.letters, now)
            self.flash = bool(rest)
            return rest, False
        if key.name.startswith("focus"):
            return "", True
        held = self._lone.other(now)
        if key.name in ("esc", "ctrl-c"):
            if not held:
                self._escape()
            return held, False
        if key.name in ("tab", "shift-tab", "down", "up") and len(self.pending) > 1 and self.mode == "choose":
            self.index = (self.index + (1 if key.name in ("tab", "down") else -1)) % len(self.pending)
            return held, False
        self.flash = True
        return held, key.name != "enter"

    def tick(self, now: float) -> None:
        """A letter that stood alone long enough decides."""
        letter = self._lone.due(now)
        if letter:
            self._decide(letter)

    def _escape(self) -> None:
        if self.mode in ("where", "hunk"):
            self.mode = "choose"
        else:
            self._answer(Approval("stop", reason=STOPPED_HERE))

    def _decide(self, letter: str) -> None:
        pending = self.current
        if pending is None:
            return
        rule = pending.request.rule
        if self.mode == "where":
            self._answer(Approval("always", scope="user" if letter == "u" else "project", rule=rule))
        elif self.mode == "hunk":
            self._hunk(pending, letter == "y")
        elif letter == "y":
            self._answer(Approval("once"))
        elif letter == "s":
            self._answer(Approval("session", rule=rule))
        elif letter == "a":
            self.mode = "where"
        elif letter == "n":
            self.mode, self._line = "reason", Buffer()
        elif letter == "e":
            self._edit(pending)
        elif letter == "h":
            self.mode, self.kept = "hunk", []
        elif letter == "A":
            for each in self._alike():
                each.answer(Approval("once"))

    def _edit(self, pending: Pending) -> None:
        name = pending.editable
        if name == "command":
            self.mode, self._line = "command", Buffer(pending.command or "")
            return

        def done(text: str | None) -> None:
            if text is not None and pending in self.pending:
                self._settle(pending, Approval("once", args={**pending.args, name: text}))

        self._edit_text(str(pending.args.get(name, "")), done)

    def _hunk(self, pending: Pending, keep: bool) -> None:
        self.kept.append(keep)
        if len(self.kept) < len(pending.hunks):
            return
        if not any(self.kept):
            self._answer(Approval("deny", reason=NO_PART))
        elif all(self.kept):
            self._answer(Approval("once"))
        else:
            args = keep_only(pending.args, pending.hunk_name, pending.hunks, self.kept)
            self._answer(Approval("once", args=args))

    def _line_key(self, key: Key, now: float) -> None:
        self._lone.other(now)
        b = self._line
        if key.name in ("char", "paste"):
            b.insert(key.text if self.mode == "command" else key.text.replace("\n", " "))
        elif key.name == "esc":
            self.mode = "choose"
        elif key.name == "ctrl-c":
            self._answer(Approval("stop", reason=STOPPED_HERE))
        elif key.name == "enter":
            self._finish_line(b.text)
        elif key.name == "backspace":
            b.delete(b.caret - 1, b.caret)
        elif key.name == "delete":
            b.delete(b.caret, b.caret + 1)
        elif key.name == "ctrl-u":
            b.delete(0, b.caret)
        elif key.name in ("left", "right"):
            b.caret = max(0, min(len(b.items), b.caret + (1 if key.name == "right" else -1)))
        elif key.name in ("home", "ctrl-a"):
            b.caret = 0
        elif key.name in ("end", "ctrl-e"):
            b.caret = len(b.items)

    def _finish_line(self, text: str) -> None:
        pending = self.current
        if pending is None:
            return
        if self.mode == "reason":
            self._answer(Approval("deny", reason=text.strip()))
        elif text.strip():
            changed = text != pending.command
            args = {**pending.args, "command": text} if changed else None
            self._answer(Approval("once", args=args))

    def _answer(self, approval: Approval) -> None:
        if self.current is not None:
            self._settle(self.current, approval)

    def _settle(self, pending: Pending, approval: Approval) -> None:
        pending.answer(approval)
        self.remove(pending)

    # -- lines

    def lines(self, columns: int, limit: int, draft: str = "") -> tuple[list[Line], tuple[int, int] | None]:
        """At most `limit` lines: head, what would run, why, the choices. The middle gives way, the choices never."""
        pending = self.current
        if pending is None:
            return [], None
        pending.shown = True
        request = pending.request
        head = self._head(pending, columns)
        choices, caret = self._choices(pending, columns)
        if len(choices) > limit - 2:
            choices, caret = self._choices(pending, columns, short=True)
        tail: list[Line] = []
        if draft and self.mode == "choose":
            tail = [cut(((self.words("approval.draft", text=" ".join(draft.split())), DIM),), columns)]
        hunk = self.mode == "hunk"
        reason, where = ([], []) if hunk else (self._why(request, columns), self._where(request, columns))
        body = self._body(pending, columns)
        if where and limit - 1 - len(choices) - len(tail) - len(where) < 2:
            choices, caret = self._choices(pending, columns, short=True)
        room = limit - 1 - len(choices) - len(tail)
        if len(where) >= room:
            body, where, reason = [*where, *body], [], []  # what is cut from the middle is counted, so never unseen
        if len(body) + len(where) + len(reason) > room:
            reason = reason if room - len(where) - len(reason) >= min(3, len(body)) else []
        middle = [*self._fit(body, max(1, room - len(where) - len(reason)), columns), *where]
        lines = [head, *middle, *reason, *choices, *tail][:limit]
        place = (1 + len(middle) + len(reason) + caret[0], caret[1]) if caret else None
        return lines, place

    def whole(self, columns: int) -> tuple[str, list[Line]]:
        """Everything of the request in view, for the scrollback."""
        pending = self.current
        if pending is None:
            return "", []
        rule = text_lines(self.words("approval.session", rule=pending.request.rule), columns)
        where = settings(pending.request, self.words)
        lines = [self._head(pending, columns), *self._body(pending, columns)]
        lines += text_lines(" · ".join(where), columns) if where else []
        return pending.request.title, [*lines, *(rule if pending.request.rule else [])]

    def _titled(self, pending: Pending) -> tuple[str, str]:
        request = pending.request
        verb, subject = split_title(request.call.name, self.words.title(request.title))
        if pending.command is not None:
            verb, subject = request.call.name, ""
        change = request.preview
        if isinstance(change, DiffDisplay):
            subject += f"  +{change.added} −{change.removed}"
        return verb, subject

    def _head(self, pending: Pending, columns: int) -> Line:
        verb, subject = self._titled(pending)
        left: Line = ((f"{ASKS} ", STYLE_OF[ASKS]), (verb, BOLD), (" " + subject, BOLD))
        return sides(left, ((self._count(), DIM),), columns)

    def _count(self) -> str:
        return self.words("approval.count", n=self.index + 1, total=len(self.pending))

    def _target(self, pending: Pending, columns: int) -> list[Line]:
        """The file of a change where the head has no room for it, or names it by another name."""
        change, (verb, subject) = pending.request.preview, self._titled(pending)
        if pending.command is not None or not isinstance(change, DiffDisplay):
            return []
        cut_off = width(f"{ASKS} {verb} {subject}") + 2 + width(self._count()) > columns
        return text_lines(change.path, columns) if cut_off or change.path not in subject else []

    def _body(self, pending: Pending, columns: int) -> list[Line]:
        if self.mode == "hunk" and len(self.kept) < len(pending.hunks):
            return diff_lines(pending.hunks[len(self.kept)].diff, columns, " ")
        return [*self._target(pending, columns), *what_runs(pending.request, columns)]

    def _fit(self, body: list[Line], room: int, columns: int) -> list[Line]:
        """The first lines; the last one says how many lines and characters are missing and which key shows them."""
        if len(body) <= room:
            return body
        kept = body[: room - 1]
        missing = body[room - 1 :]
        characters = sum(len(text) for line in missing for text, _ in line[1:])
        key = "approval.cut" if columns >= 60 else "approval.cut_short"
        note = self.words(key, lines=len(missing), n=characters)
        note = note if width(note) <= columns - 2 else f"… {characters}  ⌃O"
        return [*kept, cut((("  " + note, YELLOW),), columns)]

    def _where(self, request: ApprovalRequest, columns: int) -> list[Line]:
        """Folder, network and the like, over as many lines as they need; a long path keeps its ends, ⌃O has all of it."""
        short = self.words("approval.cwd", cwd="")
        path = cut_middle(spelled(short_path(request.cwd)), max(9, columns - 2 - width(short)))
        rows: list[str] = []
        for one in settings(request, self.words, path):
            joined = f"{rows[-1]} · {one}" if rows else one
            if rows and width(joined) > columns - 2:
                rows.append(one)
            else:
                rows[-1:] = [joined]
        return [(("  ", ""), *part) for row in rows for part in hard_wrap(row, max(8, columns - 2), DIM)]

    def _why(self, request: ApprovalRequest, columns: int) -> list[Line]:
        lines: list[Line] = []
        if request.why:
            why = self.words("approval.because", why=spelled(self.words.said(request.why)))
            lines.append(cut((("  " + why, DIM),), columns))
        if self.mode == "where":
            some = " · ".join(map(spelled, request.covers[:3]))
            key = "approval.covers" if request.covers else "approval.covers_none"
            lines.append(cut((("  " + self.words(key, n=len(request.covers), calls=some), DIM),), columns))
        return lines

    def _choices(
        self, pending: Pending, columns: int, short: bool = False
    ) -> tuple[list[Line], tuple[int, int] | None]:
        words, rule = self.words, spelled(pending.request.rule)
        if self.mode in ("reason", "command"):
            label = words(f"approval.{self.mode}") + " "
            first: Line = (("  " + label, BOLD),)
            rest: Line = ((" " * (2 + width(label)), ""),)
            lines, caret = self._line.view(columns, 3, first, rest)
            return [*lines, (("  " + words("approval.line_keys"), DIM),)], caret
        if self.mode == "where":
            return self._laid([("u", words("approval.user")), ("p", words("approval.project"))], rule, columns), None
        if self.mode == "hunk":
            count = words("approval.hunk", n=len(self.kept) + 1, total=len(pending.hunks))
            return self._laid([("y", words("approval.keep")), ("n", words("approval.leave"))], count, columns), None
        labels = {
            "y": words("approval.once"),
            "s": words("approval.session", rule=rule),
            "n": words("approval.no"),
            "e": words("approval.edit"),
            "h": words("approval.hunks"),
            "a": words("approval.always"),
            "A": words("approval.all", n=len(self._alike())),
        }
        if short:
            labels = {k: re.split(r"[\s:：,，…]", label)[0] for k, label in labels.items()}
        return self._laid([(k, labels[k]) for k in "ysnehaA" if k in self.letters], "", columns), None

    def _laid(self, choices: list[tuple[str, str]], title: str, columns: int) -> list[Line]:
        """The choices side by side in as many lines as they need; none is cut."""
        head: list[Line] = [cut((("  " + title, DIM),), columns)] if title else []
        return [*head, *laid(choices, columns, self._lone.candidate, self.flash, self._lone.deaf)]
