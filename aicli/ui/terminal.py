"""Terminal: raw keys in, bytes out, and every mode given back whatever ends the program."""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import select
import shutil
import signal
import sys
from collections.abc import Callable, Mapping

from aicli.ui.cells import width
from aicli.ui.keys import Key, KeyReader

try:
    import termios
except ImportError:  # Windows: chat reads whole lines there
    termios = None  # type: ignore[assignment]

MODES_ON = "\x1b[?2004h\x1b[?1004h"
MODES_OFF = "\x1b[?2026l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[m"
TITLE_PUSH, TITLE_POP = "\x1b[22;0t", "\x1b[23;0t"
ESC_WAIT = 0.04
"""Seconds until a lone Esc is the key and not the start of a sequence."""


def interactive(environ: Mapping[str, str] | None = None, *, plain: bool = False) -> bool:
    """May keys be read one by one and lines be rewritten here?"""
    environ = os.environ if environ is None else environ
    if plain or termios is None or environ.get("TERM", "dumb") in ("dumb", ""):
        return False
    try:
        return os.isatty(0) and os.isatty(1)
    except OSError:
        return False


def colours(environ: Mapping[str, str] | None = None) -> bool:
    return not (os.environ if environ is None else environ).get("NO_COLOR")


def reflows(environ: Mapping[str, str] | None = None) -> bool:
    """Does this terminal wrap old lines anew on a resize? All but a few do."""
    environ = os.environ if environ is None else environ
    return not (environ.get("XTERM_VERSION") or environ.get("TERM", "").startswith(("linux", "rxvt", "vt", "cons")))


def unecho(typed: bytes, columns: int) -> str:
    """What takes away the echo of text typed before the start, so that it stands once, and in the line.

    Of several lines only the last: a line's end may have been typed where nothing is echoed, and what stands above be
    somebody else's. One line goes by itself, whatever stood before it, or began in the first column when it was wrapped.
    """
    rows = cells = 0
    for char in re.split(r"[\r\n]", typed.decode("utf-8", "replace"))[-1]:
        wide = 8 - cells % 8 if char == "\t" else 2 if char < " " or char == "\x7f" else width(char)
        if cells + wide > columns:
            rows, cells = rows + 1, 0
        cells += wide
    if rows:
        return f"\r\x1b[{rows}A \x1b[J\r"
    return f"\x1b[{cells}D\x1b[K" if cells else ""


class Terminal:
    """Standard input and output as a terminal. `open` and `close` may alternate (suspend, an editor).

    `on_keys` gets the keys of one read; `on_resize` is called after the size changed; `on_resume` after fg.
    All in the running loop. `write` blocks until the terminal took everything; a gone terminal is noted, not raised.
    """

    def __init__(self, on_keys: Callable[[list[Key]], None], on_resize: Callable[[], None]) -> None:
        self._on_keys, self._on_resize = on_keys, on_resize
        self._reader = KeyReader()
        self._saved: list[int | list[bytes | int]] | None = None
        self._flush_timer: asyncio.TimerHandle | None = None
        self._titled = False
        self.gone = False
        self.on_resume: Callable[[], None] = lambda: None
        self.on_gone: Callable[[], None] = lambda: None

    @property
    def is_open(self) -> bool:
        return self._saved is not None

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)"""
        try:
            size = os.get_terminal_size(1)
        except OSError:
            size = shutil.get_terminal_size()
        return max(8, size.columns or 80), max(4, size.lines or 24)

    def open(self) -> None:
        """Raw keys and our modes. What was typed before is kept and comes as keys."""
        if self._saved is not None:
            return
        self._saved = termios.tcgetattr(0)
        self._raw()
        early = self._typed_early()
        atexit.register(self.restore)
        loop = asyncio.get_running_loop()
        loop.add_reader(0, self._readable)
        loop.add_signal_handler(signal.SIGWINCH, self._on_resize)
        loop.add_signal_handler(signal.SIGCONT, self._continued)
        shown = bool(self._saved[3] & termios.ECHO)  # type: ignore[operator]
        self.write((unecho(early, self.size[0]) if shown else "") + MODES_ON)
        if early:
            loop.call_soon(self._came, early)

    def _typed_early(self) -> bytes:
        """What was typed before keys were read one by one."""
        if not select.select([0], [], [], 0)[0]:
            return b""
        try:
            return os.read(0, 65536)
        except OSError:
            return b""

    def _raw(self) -> None:
        assert self._saved is not None
        mode = [*self._saved]
        mode[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.ISTRIP)  # type: ignore[operator]
        mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)  # type: ignore[operator]
        control = list(mode[6])  # type: ignore[arg-type]
        control[termios.VMIN], control[termios.VTIME] = 1, 0
        mode[6] = control
        termios.tcsetattr(0, termios.TCSADRAIN, mode)

    def close(self) -> None:
        """Gives everything back."""
        if self._saved is None:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(0)
        loop.remove_signal_handler(signal.SIGWINCH)
        loop.remove_signal_handler(signal.SIGCONT)
        if self._flush_timer:
            self._flush_timer.cancel()
        self.restore()
        atexit.unregister(self.restore)

    def restore(self) -> None:
        """Modes and line discipline as they were; safe to call at any time, also without a loop."""
        saved, self._saved = self._saved, None
        if saved is None:
            return
        self.write((TITLE_POP if self._titled else "") + MODES_OFF)
        self._titled = False
        try:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
        except (termios.error, OSError):
            self.gone = True

    def title(self, text: str) -> str:
        """The bytes that show `text` in the window's title until `untitle`; text must be sanitised."""
        push = "" if self._titled else TITLE_PUSH
        self._titled = True
        return f"{push}\x1b]2;{text}\x07"

    def untitle(self) -> str:
        if not self._titled:
            return ""
        self._titled = False
        return TITLE_POP

    def write(self, text: str) -> None:
        data = memoryview(text.encode("utf-8", "replace"))
        while data and not self.gone:
            try:
                data = data[os.write(1, data) :]
            except BlockingIOError:
                select.select([], [1], [], 1.0)
            except OSError:
                self.gone = True
                self.on_gone()

    def suspend(self) -> None:
        """Ctrl-Z: gives the terminal back and stops this program's process group, as the shell expects."""
        self.restore()
        os.kill(0, signal.SIGTSTP)
        # Where no shell could continue us the signal is dropped, and no SIGCONT will come.
        asyncio.get_running_loop().call_later(0.1, self._still_here)

    def _still_here(self) -> None:
        if self._saved is None and not self.gone:
            self._continued()

    def _continued(self) -> None:
        """SIGCONT: after fg, or together with SIGHUP from a terminal that has gone."""
        ours = self._saved
        try:
            self._saved = ours or termios.tcgetattr(0)
            self._raw()
        except (termios.error, OSError):
            self._saved = ours
            return
        self.write(MODES_ON)
        self.on_resume()

    def _readable(self) -> None:
        try:
            data = os.read(0, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(0)
            self.gone = True
            self.on_gone()
            return
        self._came(data)

    def _came(self, data: bytes) -> None:
        if self._flush_timer:
            self._flush_timer.cancel()
            self._flush_timer = None
        keys = self._reader.feed(data)
        if self._reader.pending:
            self._flush_timer = asyncio.get_running_loop().call_later(ESC_WAIT, self._flush)
        if keys:
            self._on_keys(keys)

    def _flush(self) -> None:
        self._flush_timer = None
        keys = self._reader.flush()
        if keys:
            self._on_keys(keys)


def drop_typed_ahead() -> None:
    """Forgets what was typed and not read yet, so that it answers no question."""
    if termios is not None and sys.stdin and sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
