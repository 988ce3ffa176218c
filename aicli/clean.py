"""The two funnels, pure: sanitise (nothing may drive the terminal) and redact (no secret may leave)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from aicli.late import regex

REDACTED = "[redacted]"

_ESC_MARK = "␛"
_JOINERS = "\u200c\u200d"
_PLAIN = regex(
    r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bcaf\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_CONTROLS = regex(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]+|[\udc80-\udcff]+")
"""Runs of characters that each stand for themselves alone: no text, a million of them in a row in binary output."""
_SHOWN = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}
_SHOWN |= {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)}


class Sanitiser:
    """Incremental sanitise: a sequence split over chunks is still seen whole. Feed text, close at the end."""

    def __init__(self, *, keep_newlines: bool = True) -> None:
        self._newline = "\n" if keep_newlines else "⏎"
        self._state = ""
        self._colour = False
        self._last = ""
        self._cr = False

    def feed(self, text: str) -> str:
        """The part of the text that may be shown. What an escape sequence holds is swallowed, a mark stands for it."""
        out: list[str] = []
        at = 0
        while at < len(text):
            if not self._state and (plain := _PLAIN.match(text, at)):
                run = plain.group()
                if self._cr and run[0] == "\n":
                    run = run[1:]
                self._cr = False
                out.append(run if self._newline == "\n" else run.replace("\n", self._newline))
                self._last = run[-1] if run else self._last
                at = plain.end()
                continue
            if not self._state and (odd := _CONTROLS.match(text, at)):
                self._cr = False
                self._last = self._last if text[at] >= "\udc80" else ""
                out.append(odd.group().translate(_SHOWN))
                at = odd.end()
                continue
            out.append(self._one(text[at]))
            at += 1
        return "".join(out)

    def close(self) -> str:
        """What was still held: an unfinished sequence is shown as its mark."""
        held, self._state, self._cr = self._state, "", False
        return _ESC_MARK if held else ""

    def _one(self, char: str) -> str:
        if self._state:
            return self._inside(char)
        cr, self._cr = self._cr, False
        if char == "\r":
            self._cr = True
            return self._newline
        if char == "\n":
            return "" if cr else self._newline
        code = ord(char)
        if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8; 0x80-0x9F of these would be C1 controls again
            return f"\\x{code - 0xDC00:02x}"
        if char == "\x1b":
            self._state = "esc"
            return ""
        if char in "\x90\x98\x9d\x9e\x9f":
            self._state = "string"
            return ""
        if char == "\x9b":
            self._state, self._colour = "csi", True
            return ""
        return self._mark(char, code)

    def _mark(self, char: str, code: int) -> str:
        if char in _JOINERS and ord(self._last or " ") > 0x7F:
            return char  # emoji families and Persian need it; between ASCII it only hides
        self._last = ""
        if code < 0x20:
            return chr(0x2400 + code)
        if code == 0x7F:
            return "␡"
        if 0xD800 <= code <= 0xDFFF:
            return "\ufffd"
        if code in (0x2028, 0x2029):
            return self._newline
        if 0x80 <= code < 0xA0 or unicodedata.category(char) == "Cf":
            return f"<U+{code:04X}>"
        self._last = char
        return char

    def _inside(self, char: str) -> str:
        """One character of a sequence; returns the mark when the sequence ends."""
        if char in "\x18\x1a":
            return self._end()
        if char == "\x1b":
            ended = "" if self._state in ("esc", "string") else self._end()
            self._state = "string-esc" if self._state == "string" else "esc"
            return ended
        if self._state == "string-esc":
            if char == "\\":
                return self._end()
            self._state = "esc"
        if self._state == "string":
            if char in "\x07\x9c":
                return self._end()
            if char == "\n":  # no terminal string spans lines in earnest: the rest is text again
                return self._end() + self._one(char)
            return ""
        if self._state == "csi":
            if "\x20" <= char <= "\x3f":
                self._colour = self._colour and char in "0123456789;:"
                return ""
            return self._close_csi(char)
        return self._after_escape(char)

    def _close_csi(self, char: str) -> str:
        if not "\x40" <= char <= "\x7e":
            return self._end() + self._one(char)
        silent = self._colour and char == "m"  # colours say nothing and harm nothing: dropped without a mark
        mark = self._end()
        return "" if silent else mark

    def _after_escape(self, char: str) -> str:
        if char == "[":
            self._state, self._colour = "csi", True
            return ""
        if char in "]PX^_":
            self._state = "string"
            return ""
        if "\x20" <= char <= "\x2f":
            self._state = "inter"
            return ""
        if "\x30" <= char <= "\x7e":
            return self._end()
        return self._end() + self._one(char)

    def _end(self) -> str:
        self._state = ""
        self._last = ""
        return _ESC_MARK


def sanitise(text: str, *, keep_newlines: bool = True) -> str:
    """The text with nothing in it that could move a cursor, set a title, reverse or hide; newline and tab stay.

    Without `keep_newlines` the result is one line; a newline shows as ⏎.
    """
    one = Sanitiser(keep_newlines=keep_newlines)
    return one.feed(text) + one.close()


_SPELLED = {0x1B: "␛"} | {code: f"<U+{code:04X}>" for code in range(0x80, 0xA0)}


def spelled(text: str) -> str:
    """The text on one line with every character of it shown, also those inside an escape sequence, which a shell or a
    file would get: for questions, where nothing may hide. A newline shows as ⏎."""
    return sanitise(text.translate(_SPELLED), keep_newlines=False)


_IN_JSON = {
    code: f"\\u{code:04x}"
    for code in (*range(0x7F, 0xA0), 0x061C, *range(0x200E, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}


def escape_json(text: str) -> str:
    """JSON text that says the same and holds nothing a terminal acts on, should it be printed to one."""
    return text.translate(_IN_JSON)


def json_text(value: Any) -> str:
    """Indented JSON for standard output, safe to look at on a terminal, with a newline at its end."""
    return escape_json(json.dumps(value, ensure_ascii=False, indent=2)) + "\n"


_EDGE = r"(?<![A-Za-z0-9])"
_SHAPES = regex(
    "|".join(
        (
            _EDGE + r"sk-ant-[A-Za-z0-9_-]{8,}",
            _EDGE + r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}",
            _EDGE + r"gh[pousr]_[A-Za-z0-9]{20,}",
            _EDGE + r"github_pat_[A-Za-z0-9_]{20,}",
            _EDGE + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
            _EDGE + r"AIza[A-Za-z0-9_-]{30,}",
            _EDGE + r"xox[a-z]-[A-Za-z0-9-]{10,}",
            _EDGE + r"glpat-[A-Za-z0-9_-]{16,}",
            _EDGE + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
            r"(?<=://)[A-Za-z0-9._~%+-]{0,64}:[A-Za-z0-9._~%!$&'()*+,;=:-]{1,256}@",
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:(?:\\[nr]|\s)*(?:[A-Za-z0-9+/=]{2,}(?=\\[nr]|\s|-|$)"
            r"|[A-Z][A-Za-z-]+: [^\n]*))*(?:(?:\\[nr]|\s)*-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?",
        )
    )
)
_SIGNS = (
    *("sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox"),
    *("AKIA", "ASIA", "AIza", "eyJ", "://", "-----BEGIN "),
)
"""One of them stands in whatever has a shape: text without any need not be read sign by sign."""
_TOKEN_TAIL = regex(r"[!-~]+\Z")
_PEM_TAIL = regex(r"-----BEGIN[A-Z0-9 ]{0,60}(?:-{0,5}|-----(?:(?!-----END )[\s\S])*(?:-----END [A-Z0-9 ]*-{0,4})?)\Z")
_EXACT_ONLY = frozenset({"meta", "id", "call_id", "session_id", "sha256", "hash", "signature", "encrypted_content"})
_HOLD = 16_384


class Redactor:
    """Takes secrets out of text: the exact ones given (8 characters or more), then whatever has a key's shape."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if len(secret) >= 8:
                forms |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
                forms |= {quote(secret, safe=""), quote(secret)}
        self._forms = sorted(forms, key=len, reverse=True)
        self._exact = re.compile("|".join(map(re.escape, self._forms))) if forms else None

    def __call__(self, text: str) -> str:
        text = self.exact(text)
        return _SHAPES.sub(REDACTED, text) if any(sign in text for sign in _SIGNS) else text

    def exact(self, text: str) -> str:
        """Only the exact secrets are taken out: for opaque data that must come back unchanged otherwise."""
        return self._exact.sub(REDACTED, text) if self._exact else text

    def value(self, value: Any, *, opaque: bool = False) -> Any:
        """The same JSON shape with every string redacted. Inside `meta`, ids, hashes and inline data only exactly."""
        if isinstance(value, str):
            return self.exact(value) if opaque else self(value)
        if isinstance(value, dict):
            return {
                self.exact(k) if isinstance(k, str) else k: self.value(
                    v, opaque=opaque or k in _EXACT_ONLY or (k == "data" and isinstance(v, str))
                )
                for k, v in value.items()
            }
        if isinstance(value, list):
            return [self.value(v, opaque=opaque) for v in value]
        if isinstance(value, tuple):
            return tuple(self.value(v, opaque=opaque) for v in value)
        return value

    def stream(self) -> RedactedStream:
        """For text that comes in pieces: holds back a tail so that a secret split over two pieces is caught."""
        return RedactedStream(self)

    def matches(self, text: str) -> list[tuple[int, int]]:
        """Where secrets stand, as (start, end); they may overlap."""
        found = [m.span() for m in _SHAPES.finditer(text)]
        return found + ([m.span() for m in self._exact.finditer(text)] if self._exact else [])

    def opening(self, text: str) -> int:
        """Where a secret may have begun that the text does not hold whole; len(text) if nowhere."""
        at = len(text)
        if token := _TOKEN_TAIL.search(text, max(0, len(text) - _HOLD)):
            at = token.start()
        if pem := _PEM_TAIL.search(text, max(0, len(text) - _HOLD)):
            at = min(at, pem.start())
        for form in self._forms:
            for size in range(min(len(form) - 1, len(text)), len(text) - at, -1):
                if text.endswith(form[:size]):
                    at = len(text) - size
                    break
        return at


class RedactedStream:
    """Redacts text that comes in pieces. What feed and close return, joined, equals the whole text redacted."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._swallow = False

    def feed(self, piece: str) -> str:
        """What can be let go by now; a word that may still grow into a secret is held back."""
        self._held += piece
        if self._swallow:
            rest = self._held.lstrip("".join(map(chr, range(0x21, 0x7F))))
            self._swallow = not rest
            self._held = rest
        at = self._redactor.opening(self._held)
        for start, end in sorted(self._redactor.matches(self._held), reverse=True):
            if start < at and end >= at:
                at = start
        if len(self._held) - at > _HOLD:
            at = len(self._held)
            self._swallow = any(end == at for _, end in self._redactor.matches(self._held))
        ready, self._held = self._held[:at], self._held[at:]
        return self._redactor(ready) if ready else ""

    def close(self) -> str:
        ready, self._held, self._swallow = self._held, "", False
        return self._redactor(ready)
