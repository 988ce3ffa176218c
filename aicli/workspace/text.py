"""Bytes to text and back, exactly: marks, line ends and legacy encodings survive; what isn't text is recognised."""

from __future__ import annotations

import codecs
from dataclasses import replace

from aicli.late import dataclass, regex
from aicli.workspace.charsets import legacy

SAMPLE = 65_536
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (b"%PDF-", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04", b"\x7fELF", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_ODD = regex(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec's name, how it treats what does not fit (`errors`), and the mark at the file's start."""

    name: str = "utf-8"
    errors: str = "surrogateescape"
    bom: bytes = b""

    @property
    def title(self) -> str:
        """For people: "UTF-16 (LE) with a byte order mark"."""
        known = {
            "cp932": "Shift-JIS",
            "gb18030": "GB18030",
            "big5hkscs": "Big5",
            "latin-1": "Latin-1",
            "cp949": "EUC-KR",
        }
        name = known.get(self.name, self.name.upper())
        return name + (" with a byte order mark" if self.bom else "")


@dataclass(frozen=True, slots=True)
class Text:
    """A file's text with its line ends as they are, without the mark; `encode` of it gives the file's bytes again."""

    text: str
    encoding: Encoding = Encoding()

    @property
    def newline(self) -> str:
        """The line end that most lines have; "\\n" where there is none."""
        return newline_of(self.text)

    @property
    def mixed(self) -> bool:
        """Are there different line ends?"""
        crlf = self.text.count("\r\n")
        return 0 < crlf < self.text.count("\n")

    @property
    def lines(self) -> list[str]:
        """The lines without their ends; a final line end makes no further line."""
        return split_lines(self.text)

    def with_text(self, text: str) -> Text:
        return replace(self, text=text)


def newline_of(text: str) -> str:
    """The line end that most lines of a text have; "\\n" where there is none."""
    lines, crlf = text.count("\n"), text.count("\r\n")
    if lines:
        return "\r\n" if crlf * 2 > lines else "\n"
    return "\r" if "\r" in text else "\n"


def split_lines(text: str) -> list[str]:
    """Lines without their ends. \\n and \\r\\n end a line; a bare \\r does only where there is no \\n at all."""
    if "\n" not in text:
        parts = text.split("\r")
    else:
        parts = text.split("\n")
        if "\r" in text:
            last = parts.pop()
            parts = [p[:-1] if p.endswith("\r") else p for p in parts] + [last]
    if parts and parts[-1] == "":
        parts.pop()
    return parts


def with_newlines(text: str, newline: str) -> str:
    """The same text with every \\n and \\r\\n as `newline`; a bare \\r is left as it is."""
    plain = text.replace("\r\n", "\n")
    return plain if newline == "\n" else plain.replace("\n", newline)


def detect(sample: bytes, *, whole: bool = True) -> Encoding:
    """The encoding that the bytes (or the file's first SAMPLE bytes) are most likely in. Never fails."""
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name, "surrogateescape" if name == "utf-8" else "surrogatepass", mark)
    wide = _unmarked_utf16(sample[:4_096])
    if wide:
        return Encoding(wide, "surrogatepass")
    body = sample if whole else _without_cut_end(sample)
    if b"\x00" in body:
        return Encoding()
    try:
        body.decode("utf-8")
        return Encoding()
    except UnicodeDecodeError:
        pass
    name = "" if _mostly_utf8(body) else legacy(body)
    return Encoding(name, "strict") if name else Encoding()


def decode(data: bytes) -> Text:
    """The text of a whole file. `encode(decode(data)) == data` for any bytes: bytes that fit nothing become surrogates."""
    guess = detect(data[:SAMPLE], whole=len(data) <= SAMPLE)
    if guess.name == "utf-8" and not guess.bom and len(data) > SAMPLE:
        guess = _judge_rest(data, guess)
    body = data[len(guess.bom) :]
    try:
        text = body.decode(guess.name, guess.errors)
        if text.encode(guess.name, guess.errors) == body:
            return Text(text, guess)
    except (UnicodeDecodeError, UnicodeEncodeError):
        pass
    return Text(data.decode("utf-8", "surrogateescape"), Encoding())


def encode(text: Text) -> bytes:
    """The file's bytes. Raises UnicodeEncodeError where the encoding has no such character."""
    return text.encoding.bom + text.text.encode(text.encoding.name, text.encoding.errors)


def looks_binary(data: bytes) -> bool:
    """Is this no text? Judged by the first bytes: NUL outside UTF-16/32, known file marks, many control characters."""
    head = data[:8_192]
    if head.startswith(_MAGIC):
        return True
    if detect(head, whole=len(data) <= 8_192).name.startswith(("utf-16", "utf-32")):
        return False
    if b"\x00" in head:
        return True
    odd = len(_ODD.findall(head))
    if odd * 20 > len(head):
        return True
    return odd > 0 and _undecodable(head) * 10 > len(head)


def _undecodable(data: bytes) -> int:
    return sum("\udc80" <= c <= "\udcff" for c in data.decode("utf-8", "surrogateescape"))


def _judge_rest(data: bytes, guess: Encoding) -> Encoding:
    """The first bytes said UTF-8 (or plain ASCII); if what follows is not, judge where the first other byte stands."""
    try:
        data.decode("utf-8")
        return guess
    except UnicodeDecodeError as error:
        start = max(0, data.rfind(b"\n", 0, error.start) + 1)
        body = _without_cut_end(data[start : start + SAMPLE])
        name = "" if _mostly_utf8(data) else legacy(body)
        return Encoding(name, "strict") if name else guess


def _mostly_utf8(body: bytes) -> bool:
    text = body.decode("utf-8", "surrogateescape")
    bad = sum("\udc80" <= c <= "\udcff" for c in text)
    good = sum(c > "\x7f" for c in text) - bad
    return good > 3 * bad


def _without_cut_end(sample: bytes) -> bytes:
    """A sample may end inside a character: up to its last line end, or without its last bytes."""
    end = sample.rfind(b"\n")
    return sample[: end + 1] if end > len(sample) // 2 else sample[:-4]


def _unmarked_utf16(head: bytes) -> str:
    """UTF-16 without its mark, told by its NUL bytes: one of each pair, nearly always, and it must decode."""
    if len(head) < 8 or b"\x00" not in head:
        return ""
    pairs = len(head) // 2
    even, odd = head[0 : pairs * 2 : 2].count(0), head[1 : pairs * 2 : 2].count(0)
    for name, zero, other in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zero * 10 > pairs * 4 and other * 50 < pairs:
            try:
                text = head[: pairs * 2 - 2].decode(name)
            except UnicodeDecodeError:
                return ""
            return name if all(c.isprintable() or c in "\t\r\n\f\x1b" for c in text) else ""
    return ""
