"""Bytes to text and back, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.workspace.text import decode, encode, looks_binary, split_lines, with_newlines
from tests.support.counts import count

SIMPLIFIED = "你好，世界。这是一个测试文件，内容很普通。\n第二行：价格 100 元\n"
TRADITIONAL = "你好，世界。這是一個測試檔案，內容很普通。\n第二行：價格 100 元\n"
JAPANESE = "これはテストです。日本語のファイルを読む。\n名前 = 1\n"


@given(st.binary(max_size=400))
@settings(max_examples=count(300, 20_000), deadline=None)
def test_any_bytes_come_back(data: bytes) -> None:
    assert encode(decode(data)) == data


@given(
    st.text(max_size=120).filter(lambda t: "\x00" not in t),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "latin-1"]),
)
@settings(max_examples=count(200, 10_000), deadline=None)
def test_whatever_the_encoding_the_bytes_come_back(text: str, codec: str) -> None:
    data = text.encode(codec, "replace" if codec == "latin-1" else "surrogatepass" if "utf" in codec else "strict")
    assert encode(decode(data)) == data


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (SIMPLIFIED, "gbk"),
        (SIMPLIFIED, "gb18030"),
        ("# 配置文件\nname = '中文'\n", "gbk"),
        ("print('你好')\n", "gbk"),
        ("世界", "gbk"),
        (TRADITIONAL, "big5"),
        ("測試 test 檔案 file\n", "big5"),
        ("世界", "big5"),
        (JAPANESE, "shift_jis"),
        ("テスト\n", "shift_jis"),
        ("안녕하세요 세계\n", "euc-kr"),
        ("café déjà vu, naïve\n", "latin-1"),
        ("Grüße aus Köln\n", "latin-1"),
        ("he said “no” — twice\n", "cp1252"),
        ("hi 你好\r\n", "utf-8"),
        ("hi 你好\r\n", "utf-8-sig"),
        ("hi 你好\r\n", "utf-16"),
        ("hello world, plain\n", "utf-16-le"),
        ("hello world, plain\n", "utf-16-be"),
        ("hi 你好\r\n", "utf-32"),
    ],
)
def test_the_encoding_is_recognised(text: str, codec: str) -> None:
    data = text.encode(codec)
    assert decode(data).text == text
    assert not looks_binary(data)


def test_a_few_broken_bytes_do_not_turn_utf8_into_something_else() -> None:
    data = "中文内容很多很多\n".encode() * 5 + b"broken \xff\xe9 bytes\n"
    text = decode(data)
    assert text.encoding.name == "utf-8"
    assert text.text.startswith("中文内容很多很多\n")
    assert encode(text.with_text(text.text.replace("broken", "some"))) == data.replace(b"broken", b"some")


def test_a_legacy_character_far_behind_the_start_is_seen() -> None:
    data = b"plain ascii line\n" * 10_000 + SIMPLIFIED.encode("gbk")
    assert decode(data).text.endswith(SIMPLIFIED)


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
def test_the_mark_is_no_part_of_the_text_and_comes_back(mark: bytes) -> None:
    codec = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}[mark]
    data = mark + "hello\n".encode(codec)
    assert decode(data).text == "hello\n"
    assert encode(decode(data)) == data


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n....",
        b"%PDF-1.7\n%",
        b"\x7fELF\x02\x01",
        b"abc\x00def\n",
        bytes(range(256)) * 4,
        b"PK\x03\x04zz",
    ],
)
def test_what_is_no_text_is_recognised(data: bytes) -> None:
    assert looks_binary(data)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\x1b[31mred\x1b[0m\n", b"form\x0cfeed\n", b"tab\there\n", b"\xe9t\xe9\n"]
)
def test_odd_text_is_still_text(data: bytes) -> None:
    assert not looks_binary(data)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\r\nb\n", ["a", "b"]),
        ("a\rb\r", ["a", "b"]),
        ("a\rb\nc", ["a\rb", "c"]),
        ("a\u2028b\x0cc\x85d\n", ["a\u2028b\x0cc\x85d"]),
        ("\n\n", ["", ""]),
    ],
)
def test_lines_end_where_editors_say_so(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


def test_line_ends_take_the_form_that_is_asked_for() -> None:
    assert with_newlines("a\nb\r\nc\rd", "\r\n") == "a\r\nb\r\nc\rd"
    assert with_newlines("a\r\nb", "\n") == "a\nb"
    assert decode(b"a\r\nb\r\nc\n").newline == "\r\n"
    assert decode(b"a\r\nb\n").mixed
