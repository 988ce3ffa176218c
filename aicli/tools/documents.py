"""Files that aren't plain text, as something a model can take: images, PDF, notebooks, and a description of the rest."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import io
import json
import struct
from typing import BinaryIO

from aicli.content.parts import InlineDataPart, TextPart
from aicli.content.results import TextDisplay, ToolResult
from aicli.tools.base import ToolFailed
from aicli.workspace.text import split_lines

IMAGE_LIMIT = 5_000_000
DOCUMENT_LIMIT = 50_000_000
_PAGES = 500
_IMAGES = ((b"\x89PNG\r\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
_KINDS = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\x7fELF", "a compiled program or library"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\xca\xfe\xba\xbe", "a compiled Java class"),
    (b"\x00asm", "WebAssembly"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
)


def image_type(head: bytes) -> str:
    """The image's media type by its first bytes, "" if it is none."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for mark, mime in _IMAGES if head.startswith(mark)), "")


def image(path: str, file: BinaryIO, size: int, wanted: bool) -> ToolResult:
    """The image itself for a model that takes images, else what it is in words."""
    file.seek(0)
    head = file.read(64)
    mime = image_type(head)
    what = f"{path}: {mime} image{_pixels(head)}, {size:,} bytes."
    if not wanted:
        return _said(f"{what} This model takes no images, so only this description is given.", "image")
    if size > IMAGE_LIMIT:
        return _said(
            f"{what} It is larger than {IMAGE_LIMIT:,} bytes and can't be shown; make a smaller copy.", "image"
        )
    data = base64.b64encode(head + file.read(IMAGE_LIMIT)).decode()
    return ToolResult(
        content=(TextPart(text=what), InlineDataPart(mime=mime, data=data, name=path)),
        display=TextDisplay(text=what, summary="image"),
    )


def _pixels(head: bytes) -> str:
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        return " of {}x{} pixels".format(*struct.unpack(">II", head[16:24]))
    if head.startswith(b"GIF8") and len(head) >= 10:
        return " of {}x{} pixels".format(*struct.unpack("<HH", head[6:10]))
    return ""


def describe(path: str, head: bytes, size: int) -> ToolResult:
    """A binary file in words; its bytes are never dumped."""
    kind = next((name for mark, name in _KINDS if head.startswith(mark)), "")
    what = f"{path} is binary ({kind}, {size:,} bytes)" if kind else f"{path} is binary ({size:,} bytes)"
    return _said(f"{what}; its content is not shown. Use a program that knows the format.", "binary")


def _said(text: str, summary: str) -> ToolResult:
    return ToolResult.of(text, display=TextDisplay(text=text, summary=summary))


def pdf_lines(path: str, file: BinaryIO, size: int) -> list[str]:
    """The text of a PDF, page by page. Raises ToolFailed where it can't be had."""
    if importlib.util.find_spec("pypdf") is None:
        raise ToolFailed(
            f"{path} is a PDF document ({size:,} bytes). Reading its text needs the pypdf package: "
            "the person can install aicli[documents]."
        )
    if size > DOCUMENT_LIMIT:
        raise ToolFailed(f"{path} is a PDF document of {size:,} bytes, too large to read here.")
    pypdf = importlib.import_module("pypdf")
    errors = importlib.import_module("pypdf.errors")
    file.seek(0)
    lines: list[str] = []
    try:
        reader = pypdf.PdfReader(io.BytesIO(file.read(DOCUMENT_LIMIT)))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ToolFailed(f"{path} is a PDF document that is protected by a password.")
        for number, page in enumerate(reader.pages[:_PAGES], 1):
            lines += [f"--- page {number} of {len(reader.pages)} ---", *split_lines(page.extract_text() or "")]
    except (errors.PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ToolFailed(f"{path} is a damaged PDF document: {type(error).__name__}: {error}") from error
    if not any(line.strip() for line in lines if not line.startswith("--- page ")):
        raise ToolFailed(f"{path} is a PDF document without text (perhaps scanned pages, {len(lines)} of them).")
    return lines


def notebook_lines(text: str) -> list[str] | None:
    """A Jupyter notebook's cells and text outputs as lines; None if it is no notebook."""
    try:
        cells = json.loads(text)["cells"]
        out: list[str] = []
        for number, cell in enumerate(cells, 1):
            out.append(f"# --- cell {number} ({cell['cell_type']}) ---")
            out += split_lines(_joined(cell["source"]))
            for output in cell.get("outputs", ()):
                shown = _joined(output.get("text") or output.get("data", {}).get("text/plain") or "")
                if output.get("output_type") == "error":
                    shown = f"{output.get('ename')}: {output.get('evalue')}"
                out += [f"# > {line}" for line in split_lines(shown)[:50]]
        return out
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _joined(source: object) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
