"""Records the real program at work into an animated SVG: `python scripts/record.py docs/recording.svg`.

A scripted model answers, so that the recording is the same each time; everything else is the program itself.
"""

from __future__ import annotations

import html
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from aicli.testing.server import ModelServer  # noqa: E402
from aicli.testing.steps import call, text, think, usage, wait  # noqa: E402
from tests.support.screen import Tty  # noqa: E402

COLUMNS, ROWS = 84, 26
CELL, LINE, PAD = 8.4, 18, 14
COLOURS = {
    "default": "#d7dae0", "red": "#f07178", "green": "#a5d67c", "brown": "#e6c07b", "yellow": "#e6c07b",
    "brightblack": "#868e99",
    "blue": "#6cb2f0", "magenta": "#cf8fef", "cyan": "#6fd0d0", "white": "#ffffff", "black": "#5b6268",
}  # fmt: skip
CART = """class Cart:
    def __init__(self, items):
        self.items = items

    def total(self):
        return sum(price for price in self.items)
"""
TEST = """from cart import Cart

total = Cart([0.1, 0.2]).total()
if total != 0.3:
    raise SystemExit(f"0.1 + 0.2 is {total}")
print("ok")
"""
ANSWER = """The sum was kept in **floats**. It is now kept as whole cents:

| file | change |
|---|---|
| `cart.py` | cents as integers, divided once at the end |
| `说明.md` | 金额一律以整数分保存 |

The check passes: `0.1 + 0.2` is `0.3`.
"""


@dataclass
class Frame:
    """What the screen showed from `at` seconds on: rows of (column, text, colour, bold, reverse)."""

    at: float
    rows: tuple[tuple[tuple[int, str, str, bool, bool], ...], ...]
    cursor: tuple[int, int] | None


def shot(tty: Tty, at: float) -> Frame:
    rows = []
    for y in range(ROWS):
        runs: list[tuple[int, str, str, bool, bool]] = []
        for x in range(COLUMNS):
            cell = tty.screen.buffer[y][x]
            if cell.data in (" ", "") and not cell.reverse:
                continue
            if runs and runs[-1][0] + len(runs[-1][1]) == x and runs[-1][2:] == (cell.fg, cell.bold, cell.reverse):
                runs[-1] = (runs[-1][0], runs[-1][1] + cell.data, *runs[-1][2:])
            else:
                runs.append((x, cell.data, cell.fg, cell.bold, cell.reverse))
        rows.append(tuple(runs))
    cursor = None if tty.screen.cursor.hidden else (tty.screen.cursor.x, tty.screen.cursor.y)
    return Frame(at, tuple(rows), cursor)


class Recorder:
    def __init__(self, tty: Tty) -> None:
        self.tty, self.frames = tty, [Frame(0.0, (), None)]
        self.began = time.monotonic()

    def run(self, what: str, seconds: float = 20) -> None:
        """Films until the text is on the screen."""
        end = time.monotonic() + seconds
        while what not in self.tty.text:
            if time.monotonic() > end:
                raise SystemExit(f"never came: {what}\n{self.tty.text}")
            self.film(0.1)

    def film(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tty.pump(0.04)
            frame = shot(self.tty, time.monotonic() - self.began)
            if (frame.rows, frame.cursor) != (self.frames[-1].rows, self.frames[-1].cursor):
                self.frames.append(frame)

    def type(self, text: str) -> None:
        for char in text:
            self.tty.send(char)
            self.film(0.045)


def record(server: ModelServer, folder: Path) -> list[Frame]:
    env = {
        "PYTHONPATH": str(ROOT), "AICLI_BASE_URL": server.url + "/v1", "AICLI_MODELS__FAST": "openai:qwen3-coder",
        "AICLI_MODELS__NUM_CTX": "131072", "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"),
    }  # fmt: skip
    work = folder / "shop"
    work.mkdir()
    (work / "cart.py").write_text(CART)
    (work / "check.py").write_text(TEST)
    (work / "说明.md").write_text("金额以整数分保存。\n", "utf-8")
    argv = [sys.executable, "-m", "aicli", "chat"]
    with Tty(argv, columns=COLUMNS, rows=ROWS, env=env, cwd=work) as tty:
        draw = tty.stream.feed
        tty.stream.feed = lambda data: draw(
            re.sub(rb"\x1b\[(;?)2m", lambda m: b"\x1b[" + m[1] + b"90m", data)
        )  # faint as grey
        film = Recorder(tty)
        film.run("/help")
        film.film(0.6)
        film.type("why does checkout round wrongly? @cart.py")
        film.film(0.4)
        tty.send("\r")
        film.run("y once")
        film.film(1.6)
        tty.send("y")
        film.run("allowed once")
        film.run("y once")
        film.film(1.8)
        tty.send("y")
        film.run("session:")
        film.run("? shell")
        film.film(1.4)
        tty.send("s")
        film.run("passes: 0.1 + 0.2 is 0.3.")
        film.run("/help")
        film.film(2.5)
        tty.send("\x04")
        film.run("aicli chat -r")
        film.film(1.5)
        tty.wait()
    return film.frames


def svg(frames: list[Frame]) -> str:
    """Each frame is a group that is visible for its own part of the time."""
    total = frames[-1].at + 2
    wide, high = COLUMNS * CELL + 2 * PAD, ROWS * LINE + 2 * PAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" font-size="14" '
        "font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\">",
        f'<rect width="100%" height="100%" rx="8" fill="#1d2126"/><g transform="translate({PAD},{PAD})">',
    ]
    names: dict[object, str] = {}
    for frame in frames[1:]:
        for row in frame.rows:
            if row and row not in names:
                names[row] = f"r{len(names)}"
                parts.append(f'<defs><g id="{names[row]}">' + "".join(_run(*run) for run in row) + "</g></defs>")
    for n, frame in enumerate(frames[1:], 1):
        begin = frame.at / total
        end = frames[n + 1].at / total if n + 1 < len(frames) else 1.0
        parts.append(
            f'<g visibility="hidden"><animate attributeName="visibility" dur="{total:.1f}s" repeatCount="indefinite" '
            f'calcMode="discrete" values="hidden;visible;hidden" keyTimes="0;{begin:.5f};{min(end, 0.99999):.5f}"/>'
        )
        parts += [f'<use href="#{names[row]}" y="{y * LINE}"/>' for y, row in enumerate(frame.rows) if row]
        if frame.cursor:
            x, y = frame.cursor
            parts.append(f'<rect x="{x * CELL:.1f}" y="{y * LINE + 2}" width="{CELL}" height="16" fill="#8a93a0"/>')
        parts.append("</g>")
    return "\n".join([*parts, "</g></svg>\n"])


def _run(x: int, said: str, colour: str, bold: bool, reverse: bool) -> str:
    fill = COLOURS.get(colour, COLOURS["default"])
    weight = ' font-weight="bold"' if bold else ""
    width = f' textLength="{len(said) * CELL:.1f}"' if len(said) > 1 else ""
    box = f'<rect x="{x * CELL:.1f}" y="2" width="{len(said) * CELL:.1f}" height="16" fill="#444c56"/>'
    label = f'<text x="{x * CELL:.1f}" y="14" fill="{fill}"{weight}{width} xml:space="preserve">'
    return (box if reverse else "") + label + html.escape(said) + "</text>"


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/recording.svg")
    fixed = CART.replace(
        "return sum(price for price in self.items)",
        "cents = sum(round(price * 100) for price in self.items)\n        return cents / 100",
    )
    old, new = CART.splitlines(True)[-1], "".join(fixed.splitlines(True)[-2:])
    replies = [
        [think("total() adds floats; "), wait(0.6), think("rounding comes last."), wait(0.6),
         text("I look for the place where it rounds.", pieces=8),
         call("grep", pattern="total", path="."), call("shell", command="sleep 1; python3 check.py"),
         usage(2900, 60)],
        [wait(0.8), text("Floats it is. I keep whole cents instead.", pieces=8),
         call("edit", path="cart.py", old_string=old, new_string=new),
         usage(3400, 90)],
        [wait(0.5), call("shell", command="python3 check.py"), usage(3700, 30)],
        [wait(0.5), *(step for piece in ANSWER.split(" ") for step in (text(piece + " "), wait(0.03))), usage(3900, 80)],
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, ModelServer(replies, strict=False) as server:
        os.environ.pop("NO_COLOR", None)
        frames = record(server, Path(folder))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(svg(frames), "utf-8")
    sys.stderr.write(f"{target}: {len(frames)} frames, {target.stat().st_size // 1000} kB\n")


if __name__ == "__main__":
    main()
