"""A web page's bytes as text a model can read: HTML as Markdown, text, JSON, PDF; by the rules of charsets."""

from __future__ import annotations

import codecs
import io
import os
import re
import subprocess
import sys

from aicli.late import regex
from aicli.workspace.text import decode, looks_binary

_HTML_SIZE = 2 * 1024 * 1024
"""Characters of HTML that are turned into Markdown; more takes too long."""
_HTML_SECONDS = 15
_PROGRAM = os.path.join(os.path.dirname(__file__), "htmlpage.py")
_LABELS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "big5": "big5hkscs",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "utf8": "utf-8",
    "unicode": "utf-16-le",
}
_META = regex(rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
_XML = regex(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_:.-]{1,40})""")


class NotText(Exception):
    """The content can't be shown as text; the text of the error says what it is."""


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def text_of(body: bytes, content_type: str, url: str = "") -> str:
    """Readable text of a body. Raises NotText. May take a second for a large page: call it in a thread."""
    kind = media_type(content_type)
    if kind == "application/pdf" or body.startswith(b"%PDF-"):
        return _pdf(body)
    if kind.startswith(("image/", "audio/", "video/", "font/")) and kind != "image/svg+xml":
        raise NotText(f"it is {kind} of {len(body):,} bytes, not text")
    if not kind.startswith("text/") and looks_binary(body):
        raise NotText(f"it is binary ({kind or 'of unknown type'}, {len(body):,} bytes), not text")
    text = decoded(body, content_type)
    if kind in ("text/html", "application/xhtml+xml") or (not kind and _looks_html(text)):
        return markdown(text, url)
    return text


def _looks_html(text: str) -> bool:
    return re.match(r"\s*(?:<!doctype html|<html|<head|<body)", text, re.IGNORECASE) is not None


def decoded(body: bytes, content_type: str) -> str:
    """By mark, then header, then the document's own word, then by looking at the bytes."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    label = re.search(r"charset\s*=\s*[\"']?([^\s\"';]+)", content_type, re.IGNORECASE)
    inside = _META.search(body[:4096]) or _XML.match(body[:1024])
    for name in (label.group(1) if label else "", inside.group(1).decode() if inside else ""):
        codec = _codec(name)
        if codec.startswith("utf-16") and inside and name == inside.group(1).decode():
            codec = "utf-8"  # a page that could be read so far is not UTF-16, whatever it says
        if codec:
            return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return decode(body).text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _codec(label: str) -> str:
    name = _LABELS.get(label.strip().lower(), label.strip().lower())
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    return name if getattr(info, "_is_text_encoding", True) else ""


def markdown(html: str, url: str = "") -> str:
    """HTML as Markdown, made by a child with a time limit; the bare text where that fails or takes too long."""
    part = html[:_HTML_SIZE]
    argv = [sys.executable, "-I", "-S", _PROGRAM, url, *(p for p in sys.path if os.path.isabs(p))]
    try:
        done = subprocess.run(
            argv,
            input=part.encode("utf-8", "replace"),
            capture_output=True,
            env={k: v for k, v in os.environ.items() if k.upper() == "SYSTEMROOT"},
            timeout=_HTML_SECONDS,
            check=False,
        )
        text = done.stdout.decode("utf-8", "replace") if done.returncode == 0 else plain(part)
    except (OSError, subprocess.TimeoutExpired):
        text = plain(part)
    if len(html) > _HTML_SIZE:
        text += f"\n\n[only the first {_HTML_SIZE:,} characters of the page's HTML were read]"
    return text


def plain(html: str) -> str:
    """Only the text between the tags: quick, whatever the page."""
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"<[^<>]{0,5000}>", " ", html)).strip()


def _pdf(body: bytes) -> str:
    try:
        from pypdf import PdfReader  # an optional extra
        from pypdf.errors import PyPdfError
    except ImportError:
        raise NotText("it is a PDF; install aicli[documents] to read such files") from None
    try:
        pages = [page.extract_text() for page in PdfReader(io.BytesIO(body)).pages[:200]]
    except (PyPdfError, ValueError, KeyError, TypeError, RecursionError, OSError) as e:
        raise NotText(f"it is a PDF that can't be read ({type(e).__name__})") from None
    text = "\n\n".join(f"[page {n}]\n{page.strip()}" for n, page in enumerate(pages, 1))
    if not any(page.strip() for page in pages):
        raise NotText("it is a PDF without text (scanned pages?)")
    return text
