"""StepReader: the JSON of one step, as it comes, to stream events."""

from __future__ import annotations

import json
import re
from typing import Any

from aicli.content.parts import JsonObject
from aicli.content.stream import CallDelta, StreamEvent, TextDelta, new_id
from aicli.late import dataclass
from aicli.models.embedded.steps import ANSWER, completed, step_text

_OPENING = re.compile(r'\s*\{\s*"tool"\s*:\s*"answer"\s*,\s*"args"\s*:\s*\{\s*"text"\s*:\s*"')
_NAME = re.compile(r'\s*\{\s*"tool"\s*:\s*"(\w+)"')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(slots=True)
class StepReader:
    """Reads one step as it comes. An answer's text and a call's name are given out at once, its arguments when whole."""

    text: str = ""
    answering: bool = False
    _id: str = ""
    _at: int = 0
    _ended: bool = False

    def feed(self, piece: str) -> list[StreamEvent]:
        self.text += piece
        if not self.answering:
            opening = _OPENING.match(self.text)
            if opening is None:
                return self._named()
            self.answering, self._at = True, opening.end()
        out = self._string()
        return [TextDelta(out)] if out else []

    def _named(self) -> list[StreamEvent]:
        named = None if self._id else _NAME.match(self.text)
        if named is None or named[1] == ANSWER:
            return []
        self._id = new_id()
        return [CallDelta(0, id=self._id, name=named[1])]

    def _string(self) -> str:
        """The characters of the answer's string that are whole by now."""
        out: list[str] = []
        s, i = self.text, self._at
        while i < len(s) and not self._ended:
            if s[i] == '"':
                self._ended = True
            elif s[i] != "\\":
                out.append(s[i])
                i += 1
            else:
                char, i_next = _escape(s, i)
                if i_next == i:
                    break
                out.append(char)
                i = i_next
        self._at = i
        return "".join(out)

    def call(self) -> tuple[str, JsonObject] | None:
        """The whole call, or None: an answer, or cut short."""
        step = self.value()
        if step is None or step.get("tool") == ANSWER:
            return None
        args = step.get("args")
        name = str(step.get("tool", ""))
        return name, completed(name, args) if isinstance(args, dict) else {}

    def replace(self, name: str, args: JsonObject) -> None:
        """Another call in place of the one that was read."""
        self.text, self._id = step_text(name, args), ""

    def value(self) -> dict[str, Any] | None:
        try:
            step = json.loads(self.text)
        except ValueError:
            return None
        return step if isinstance(step, dict) else None

    def close(self) -> list[StreamEvent]:
        """What is left once the reply ended: the call's arguments, or a structured answer."""
        if self.answering:
            return []
        call = self.call()
        if call is not None and not self._id:
            return [CallDelta(0, id=new_id(), name=call[0], args=call[1])]
        if self._id:
            return [CallDelta(0, args=call[1])] if call is not None else [CallDelta(0, args={}, raw=self.text)]
        step = self.value()
        if step is None:
            return [TextDelta(self.text)] if self.text.strip() else []
        text = step.get("args", {}).get("text", "")
        return [TextDelta(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False))]


def _escape(s: str, i: int) -> tuple[str, int]:
    """The character that the escape at `i` stands for, and where it ends; (…, i) while it isn't whole."""
    if i + 1 >= len(s):
        return "", i
    if s[i + 1] != "u":
        return _ESCAPES.get(s[i + 1], s[i + 1]), i + 2
    unit = s[i + 2 : i + 6]
    if len(unit) < 4:
        return "", i
    code = int(unit, 16)
    if not 0xD800 <= code < 0xE000:
        return chr(code), i + 6
    low = s[i + 6 : i + 12]
    if code >= 0xDC00 or (len(low) >= 2 and low[:2] != "\\u"):
        return "�", i + 6
    if len(low) < 6:
        return "", i
    second = int(low[2:], 16)
    if not 0xDC00 <= second < 0xE000:
        return "�", i + 6
    return chr(0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)), i + 12
