"""read_file: numbered windows of files of any size and kind."""

from __future__ import annotations

import base64
import json
import os
import resource
import socket
import struct
import time
import zlib
from pathlib import Path

import pytest

from aicli.content.parts import InlineDataPart
from aicli.tools.builtin.grep import grep
from aicli.tools.builtin.ls import ls
from tests.support.hands import Hands
from tests.tools.calling import call, state_in


@pytest.fixture
def hands(isolated: Path) -> Hands:
    return Hands(isolated)


def png() -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", 3, 2, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + b"\x80" * 3 for _ in range(2))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_lines_come_with_number_tab_and_their_own_tabs(hands: Hands) -> None:
    hands.put("f", b"func f() {\n\treturn 1\n}\n")
    assert hands.ok("read_file", path="f") == "     1\tfunc f() {\n     2\t\treturn 1\n     3\t}"


def test_a_window_says_where_to_go_on(hands: Hands) -> None:
    hands.put("f", b"".join(b"line %d\n" % i for i in range(1, 11)))
    text = hands.ok("read_file", path="f", offset=3, limit=2)
    assert text == "     3\tline 3\n     4\tline 4\n[lines 3-4 of 10; go on with offset=5]"
    assert hands.ok("read_file", path="f", offset=9) == "     9\tline 9\n    10\tline 10"


@pytest.mark.parametrize(
    "args",
    [
        {"file_path": "f", "start_line": 2, "end_line": 3},
        {"filePath": "f", "startLine": "2", "endLine": "3"},
        {"path": "f", "view_range": [2, 3]},
        {"path": "f", "command": "view", "view_range": [2, 3]},
        {"path": "f", "offset": 2, "limit": 2},
    ],
)
def test_start_and_end_lines_are_inclusive(hands: Hands, args: dict[str, object]) -> None:
    hands.put("f", b"a\nb\nc\nd\n")
    assert hands.ok("view", **args).split("\n[")[0] == "     2\tb\n     3\tc"


def test_the_end_of_the_file_as_minus_one(hands: Hands) -> None:
    hands.put("f", b"a\nb\nc\n")
    assert hands.ok("read_file", path="f", view_range=[2, -1]) == "     2\tb\n     3\tc"


def test_past_the_end_and_empty_are_told_apart(hands: Hands) -> None:
    hands.put("five", b"1\n2\n3\n4\n5\n")
    hands.put("none", b"")
    hands.put("mark", b"\xef\xbb\xbf")
    hands.put("one", b"a\n")
    said = hands.fails("read_file", path="five", offset=100)
    assert "5 lines" in said
    assert "empty" not in said
    assert "is empty (0 bytes)" in hands.ok("read_file", path="none")
    assert "byte order mark" in hands.ok("read_file", path="mark")
    assert hands.ok("read_file", path="one") == "     1\ta"
    assert "1 line," in hands.fails("read_file", path="one", offset=2)


def test_one_line_of_a_huge_file_costs_next_to_nothing(hands: Hands) -> None:
    with (hands.root / "big").open("wb") as file:
        file.write(b"first line\n")
        file.truncate(2 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.monotonic()
    text = hands.ok("read_file", path="big", limit=1)
    assert time.monotonic() - begin < 9
    assert "first line" in text
    assert len(text) < 5_000
    assert "binary" in hands.ok("read_file", path="big")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_the_middle_of_a_large_file_is_found_and_memory_stays_flat(hands: Hands) -> None:
    with (hands.root / "log").open("wb") as file:
        for i in range(0, 600_000, 1_000):
            file.write(b"".join(b"entry number %d with some words\n" % n for n in range(i, i + 1_000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = hands.ok("read_file", path="log", offset=500_001, limit=2)
    assert "500001\tentry number 500000 with" in text
    assert "more follow; go on with offset=500003" in text
    assert "600,000 lines" in hands.fails("read_file", path="log", offset=600_001)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_an_enormous_line_is_cut_and_says_how_much(hands: Hands) -> None:
    hands.put("min.js", b"x" * 2_000_000)
    text = hands.ok("read_file", path="min.js")
    assert len(text) < 100_000
    assert "1,998,000 more characters" in text
    hands.put("min6.js", b"a\n" + "中".encode() * 2_000_000 + b"\nend\n")
    text = hands.ok("read_file", path="min6.js")
    assert "1,998,000 more characters" in text
    assert text.endswith("     3\tend")


def test_many_long_lines_stay_under_the_budget(hands: Hands) -> None:
    hands.put("f", b"".join(b"%d " % i + b"w" * 1_500 + b"\n" for i in range(500)))
    text = hands.ok("read_file", path="f")
    assert len(text) < 60_000
    assert "go on with offset=" in text
    first = int(text.rsplit("offset=", 1)[1].rstrip("]"))
    assert hands.ok("read_file", path="f", offset=first, limit=1).startswith(f"{first:>6}\t{first - 1} ")


@pytest.mark.parametrize("codec", ["utf-16", "gbk", "big5", "shift_jis", "latin-1"])
def test_other_encodings_are_shown_as_text(hands: Hands, codec: str) -> None:
    line = {"shift_jis": "これは日本語のテスト", "latin-1": "café crème", "big5": "這是一個測試檔案"}.get(
        codec, "这是一个测试文件"
    )
    hands.put("f", f"{line}\n".encode(codec))
    text = hands.ok("read_file", path="f")
    assert f"     1\t{line}\n" in text
    assert "\x00" not in text


def test_a_large_utf16_file_is_read_by_windows_too(hands: Hands) -> None:
    (hands.root / "f").write_text("hi 你好\n" * 500_000, encoding="utf-16")
    assert "400000\thi 你好" in hands.ok("read_file", path="f", offset=400_000, limit=1)


@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_special_files_are_refused_at_once_by_kind(hands: Hands, kind: str) -> None:
    path = "p"
    server = None
    if kind == "fifo":
        os.mkfifo("p")
    elif kind == "socket":
        server = socket.socket(socket.AF_UNIX)
        server.bind("p")
    else:
        hands, path = Hands(Path("/dev")), "zero"
    begin = time.monotonic()
    said = hands.fails("read_file", path=path)
    assert kind in said.lower()
    assert time.monotonic() - begin < 3
    if server:
        server.close()


def test_folders_and_missing_files_name_the_next_step(hands: Hands) -> None:
    hands.put("src/main.py", b"")
    assert "Use ls" in hands.fails("read_file", path="src")
    assert "Did you mean src/main.py" in hands.fails("read_file", path="src/man.py")
    assert "outside the workspace" in hands.fails("read_file", path="/etc/passwd")
    assert "root:" not in hands.fails("read_file", path="../../../../../../../etc/passwd")


@pytest.mark.parametrize("path", ["link", "sub/deep", "./sub/deep"])
def test_a_link_to_nothing_is_called_that(hands: Hands, isolated: Path, path: str) -> None:
    """Every tool that reads says so, and none proposes the link's own name."""
    (isolated / "link").symlink_to("没有.txt")
    (isolated / "sub").symlink_to("gone")
    name, target = ("link", "没有.txt") if path == "link" else ("sub", "gone")
    said = [
        hands.fails("read_file", path=path),
        hands.fails("edit", path=path, old_string="a", new_string="b"),
        call(ls, state_in(isolated), path=path).text,
        call(grep, state_in(isolated), pattern="x", path=path).text,
    ]
    for text in said:
        assert f"{name} is a link to {target}, which is missing" in text and "Did you mean" not in text
    assert f"{name} is a link to {target}" in hands.fails("read_many_files", paths=[path])


def test_binary_files_are_described_not_dumped(hands: Hands) -> None:
    hands.put("prog", b"\x7fELF" + bytes(range(256)) * 10)
    text = hands.ok("read_file", path="prog")
    assert "compiled program" in text
    assert "2,564 bytes" in text
    assert len(text) < 200


def test_text_before_a_binary_payload_is_shown(hands: Hands) -> None:
    hands.put("installer", b"#!/bin/sh\nexec tail\n" + bytes(1_000))
    assert hands.ok("read_file", path="installer").endswith("[from line 3 on the file is binary and not shown]")


def test_images_go_to_models_that_take_them(hands: Hands) -> None:
    hands.put("i.png", png())
    text = hands.ok("read_file", path="i.png")
    assert "3x2 pixels" in text
    assert "takes no images" in text
    hands.state.images = True
    result = hands.call("read_file", path="i.png")
    part = result.content[1]
    assert isinstance(part, InlineDataPart)
    assert (part.mime, base64.b64decode(part.data)) == ("image/png", png())


def test_a_notebook_is_read_as_its_cells(hands: Hands) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"], "metadata": {}},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "error", "ename": "E", "evalue": "v"},
            ],
        },
    ]
    hands.put("n.ipynb", json.dumps({"cells": cells, "nbformat": 4}).encode())
    text = hands.ok("read_file", path="n.ipynb")
    for piece in ("# Title", "print(1)", "# > 1", "# > E: v", "raw JSON"):
        assert piece in text
    hands.put("bad.ipynb", b"{not json")
    assert "{not json" in hands.ok("read_file", path="bad.ipynb")


def pdf(text: str) -> bytes:
    stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    return out + b"xref\n0 5\n0000000000 65535 f \n%strailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        start,
    )


def test_a_pdf_is_read_as_text_and_a_broken_one_is_said_to_be(hands: Hands) -> None:
    pytest.importorskip("pypdf", reason="pypdf is an optional extra")
    hands.put("d.pdf", pdf("Hello from a document"))
    text = hands.ok("read_file", path="d.pdf")
    assert "page 1 of 1" in text
    assert "Hello from a document" in text
    hands.put("broken.pdf", b"%PDF-1.4\n" + b"junk " * 100)
    assert "damaged PDF" in hands.fails("read_file", path="broken.pdf")


def test_each_read_remembers_the_version_under_the_real_name(hands: Hands) -> None:
    hands.put("d/f", b"x\n")
    (hands.root / "l").symlink_to("d/f")
    hands.ok("read_file", path="l")
    assert list(hands.state.seen) == ["d/f"]
    assert hands.state.seen["d/f"].size == 2
