"""Bytes from the terminal to keys: characters, named keys, whole pastes, focus. Pure and incremental."""

from __future__ import annotations

import codecs
import re

from aicli.late import dataclass

PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"
_CSI = re.compile(r"\x1b\[([0-9;:<=>?]*)([ -/]*)([@-~])")
_SS3 = re.compile(r"\x1bO(.)")
_FINAL = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "shift-tab"}
_FINAL |= {"I": "focus-in", "O": "focus-out", "P": "f1", "Q": "f2", "R": "f3", "S": "f4"}
_TILDE = {
    "1": "home",
    "2": "insert",
    "3": "delete",
    "4": "end",
    "5": "pageup",
    "6": "pagedown",
    "7": "home",
    "8": "end",
}
_MODIFIER = {"2": "shift-", "3": "alt-", "4": "alt-", "5": "ctrl-", "6": "ctrl-", "7": "ctrl-", "8": "ctrl-"}
_CONTROL = {
    "\r": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x1f": "ctrl-_",
    "\x00": "ctrl-space",
}


@dataclass(frozen=True, slots=True)
class Key:
    """`name` is "char" or "paste" with their `text`, or a key such as enter, ctrl-j, alt-b, esc, up."""

    name: str
    text: str = ""


class KeyReader:
    """Feed bytes, get keys. `pending` is true while an escape sequence or a lone Esc is undecided: call `flush` later."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._buffer = ""
        self._paste: list[str] | None = None

    @property
    def pending(self) -> bool:
        return bool(self._buffer) and self._paste is None

    @property
    def pasting(self) -> bool:
        return self._paste is not None

    def feed(self, data: bytes) -> list[Key]:
        self._buffer += self._decode(data)
        return self._read(final=False)

    def flush(self) -> list[Key]:
        """Nothing more came in time: a lone Esc is the key Esc."""
        return self._read(final=True)

    def _read(self, final: bool) -> list[Key]:
        keys: list[Key] = []
        while self._buffer:
            if self._paste is not None:
                if not self._end_paste(keys):
                    break
                continue
            taken = self._one(keys, final)
            if not taken:
                break
            self._buffer = self._buffer[taken:]
        return keys

    def _end_paste(self, keys: list[Key]) -> bool:
        """True once the end of the paste was seen; a part of the end mark is kept back."""
        assert self._paste is not None
        end = self._buffer.find(PASTE_END)
        if end >= 0:
            self._paste.append(self._buffer[:end])
            self._buffer = self._buffer[end + len(PASTE_END) :]
            text = "".join(self._paste).replace("\r\n", "\n").replace("\r", "\n")
            self._paste = None
            keys.append(Key("paste", text))
            return True
        held = next((n for n in range(len(PASTE_END) - 1, 0, -1) if self._buffer.endswith(PASTE_END[:n])), 0)
        keep = len(self._buffer) - held
        self._paste.append(self._buffer[:keep])
        self._buffer = self._buffer[keep:]
        return False

    def _one(self, keys: list[Key], final: bool) -> int:
        """Reads one key from the front of the buffer; 0 when more is needed."""
        text = self._buffer
        first = text[0]
        if first == "\x1b":
            return self._escape(keys, final)
        if first in _CONTROL:
            keys.append(Key(_CONTROL[first]))
        elif first < " ":
            keys.append(Key("ctrl-" + chr(ord(first) + 96)))
        elif "\x80" <= first < "\xa0":
            pass  # C1 controls are no keys
        else:
            end = 1
            while end < len(text) and text[end] >= " " and text[end] != "\x7f" and not "\x80" <= text[end] < "\xa0":
                end += 1
            keys.append(Key("char", text[:end]))
            return end
        return 1

    def _escape(self, keys: list[Key], final: bool) -> int:
        text = self._buffer
        if len(text) == 1:
            if final:
                keys.append(Key("esc"))
            return 1 if final else 0
        if text[1] == "[":
            return self._csi(keys, final)
        if text[1] == "O":
            found = _SS3.match(text)
            if found is None:
                if final:
                    keys.append(Key("alt-O"))
                return 2 if final else 0
            if found[1] in _FINAL:
                keys.append(Key(_FINAL[found[1]]))
            return 3
        if text[1] == "\x1b":
            keys.append(Key("esc"))
            return 1
        named = _CONTROL.get(text[1]) or (text[1] if text[1] >= " " else "ctrl-" + chr(ord(text[1]) + 96))
        keys.append(Key("alt-" + named))
        return 2

    def _csi(self, keys: list[Key], final: bool) -> int:
        text = self._buffer
        if text.startswith(PASTE_BEGIN):
            self._paste = []
            return len(PASTE_BEGIN)
        found = _CSI.match(text)
        if found is None:
            if final or len(text) > 64:
                keys.append(Key("alt-["))
                return 2
            return 0
        params, _, end = found.groups()
        numbers = params.split(";")
        name = _TILDE.get(numbers[0], "") if end == "~" else _FINAL.get(end, "")
        if name and len(numbers) > 1:
            name = _MODIFIER.get(numbers[1], "") + name
        if name:
            keys.append(Key(name))
        return found.end()
