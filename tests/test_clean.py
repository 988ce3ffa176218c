from __future__ import annotations

import json
import random
import unicodedata

import pytest

from aicli.clean import REDACTED, Redactor, Sanitiser, escape_json, sanitise
from tests.support.counts import count
from tests.support.figures import figure

SEQUENCES = {
    "csi": "\x1b[2J",
    "csi-private": "\x1b[?1049h",
    "osc-title": "\x1b]0;title\x07",
    "osc-clipboard": "\x1b]52;c;aGVsbG8=\x1b\\",
    "osc-link": "\x1b]8;;http://x\x1b\\",
    "dcs": "\x1bP1$r0m\x1b\\",
    "apc": "\x1b_payload\x1b\\",
    "pm": "\x1b^payload\x1b\\",
    "sos": "\x1bXpayload\x1b\\",
    "c1-csi": "\x9b2J",
    "c1-osc": "\x9d0;t\x9c",
    "charset": "\x1b(0",
    "reset": "\x1bc",
}


def raw(text: str) -> list[str]:
    """Characters that a terminal could act on, or that hide."""
    return [
        c for c in text if c not in "\n\t\u200c\u200d" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    ]


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0)])
def test_control_characters_become_marks(code: int) -> None:
    shown = sanitise(f"a{chr(code)}b")
    assert not raw(shown)
    if chr(code) not in "\n\t":
        assert shown != f"a{chr(code)}b"
    assert shown[0] == "a"


@pytest.mark.parametrize("sequence", SEQUENCES.values(), ids=SEQUENCES.keys())
def test_sequences_are_swallowed_whole_wherever_they_are_split(sequence: str) -> None:
    text = f"vor{sequence}nach 中文"
    for cut in range(len(text) + 1):
        one = Sanitiser()
        shown = one.feed(text[:cut]) + one.feed(text[cut:]) + one.close()
        assert shown == "vor␛nach 中文"


def test_colours_vanish_and_line_ends_become_newlines() -> None:
    assert sanitise("\x1b[1;31mred\x1b[0m\r\nnext\rover\n") == "red\nnext\nover\n"
    one = Sanitiser()
    assert one.feed("a\r") + one.feed("\nb") == "a\nb"
    assert sanitise("a\nb", keep_newlines=False) == "a⏎b"


def test_text_is_kept() -> None:
    for text in ("[/INST] [bold]x[/]", "文件名 ｗｉｄｅ 👨‍👩‍👧 ⚠️ é e\u0301 می‌خواهم", "𠀀𠮷", "tab\there"):
        assert sanitise(text) == text


def test_hidden_characters_are_visible() -> None:
    assert sanitise("a\u202eb\u2066c\U000e0041d\u200be\u200df\ufeff\xadg") == (
        "a<U+202E>b<U+2066>c<U+E0041>d<U+200B>e<U+200D>f<U+FEFF><U+00AD>g"
    )
    assert sanitise("name\udc9b2J\udcff") == "name\\x9b2J\\xff"


def test_json_says_the_same_without_raw_controls() -> None:
    value = {"a": "".join(map(chr, range(0x100))) + "\u202e\u2028中文", "\x9b": 1}
    text = escape_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(text) == value and not raw(text.replace("\xad", "")) and "中文" in text


def test_an_unfinished_string_does_not_eat_the_following_lines() -> None:
    assert sanitise("\x1b]0;never closed\nnext line") == "␛\nnext line"
    assert sanitise("end \x1b") == "end ␛"
    assert sanitise("\x1b[12\x1b[2Jx") == "␛␛x"


def test_fuzzed_strings_hold_no_control_and_keep_their_text() -> None:
    chance = random.Random(7)
    pool = [*SEQUENCES.values(), *map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\U000e0020", "\ud800"]
    for _ in range(count(400, 10_000)):
        words = [f"w{n}中" for n in range(6)]
        text = "".join(w + "\n" + "".join(chance.choices(pool, k=2)) + "\x18\n" for w in words)
        one = Sanitiser()
        cut = chance.randrange(len(text))
        shown = one.feed(text[:cut]) + one.feed(text[cut:]) + one.close()
        assert shown == sanitise(text)
        assert not raw(shown)
        assert all(w in shown for w in words)
    kinds = f"65 control bytes, {len(SEQUENCES)} kinds of sequence cut at each character"
    figure("G8", f"{kinds}, {count(400, 10_000)} fuzzed strings: 0 raw control bytes, text kept")


KEYS = (
    "sk-ant-api03-abcdefgh12345678",
    "sk-proj-abcd1234efgh5678ijkl",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl_mnop",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefghijkl",
    "glpat-abcdefghijklmnopqrst",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "ASIAIOSFODNN7EXAMPLE",
    *(f"gh{kind}_abcdefghijklmnopqrstuvwxyz0123456789" for kind in "ours"),
)


@pytest.mark.parametrize("key", KEYS)
def test_shapes_are_redacted_whole_and_split(key: str) -> None:
    redact = Redactor()
    text = f'before {key} 之后"{key}" end'
    assert key not in redact(text)
    for cut in range(len(text)):
        stream = redact.stream()
        assert stream.feed(text[:cut]) + stream.feed(text[cut:]) + stream.close() == redact(text)


def test_private_keys_and_passwords_in_urls() -> None:
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234\nabcd/+==\n-----END RSA PRIVATE KEY-----"
    redact = Redactor()
    assert redact(f"x\n{pem}\ny") == f"x\n{REDACTED}\ny"
    assert "MIIE" not in redact(pem.replace("\n", "\\n"))
    assert redact("postgres://me:pa55word@db/x") == f"postgres://{REDACTED}db/x"
    for size in (1, 7, 30):
        stream = redact.stream()
        text = f"x\n{pem}\ny"
        out = "".join(stream.feed(text[i : i + size]) for i in range(0, len(text), size)) + stream.close()
        assert out == redact(text)


def test_exact_secrets_in_every_spelling_and_split() -> None:
    secret = 'pass wörd/"42'
    redact = Redactor([secret, "short"])
    text = f'a {secret} b short pass%20w%C3%B6rd%2F%2242 pass w\\u00f6rd/\\"42'
    assert redact(text) == f"a {REDACTED} b short {REDACTED} {REDACTED}"
    for size in range(1, 15):
        stream = redact.stream()
        out = "".join(stream.feed(text[i : i + size]) for i in range(0, len(text), size)) + stream.close()
        assert out == redact(text)


def test_ordinary_text_streams_at_once_and_unchanged() -> None:
    stream = Redactor(["ABC-SECRET-1"]).stream()
    assert stream.feed("你好，世界。这里没有密钥。") == "你好，世界。这里没有密钥。"
    assert stream.feed("one two ") == "one two "
    for text in (
        "task-based sk-learn",
        "eyJust a word",
        "mailto:me@x.org",
        "http://localhost:8080/@x",
        "git@github.com:a/b",
    ):
        assert Redactor()(text) == text


def test_a_secret_longer_than_the_held_tail_does_not_leak_its_end() -> None:
    long = "sk-1" + "a1" * 20_000
    stream = Redactor().stream()
    out = "".join(stream.feed(f"x {long} y"[i : i + 999]) for i in range(0, len(long) + 4, 999)) + stream.close()
    assert "a1a1" not in out and out.startswith("x ") and out.endswith(" y")


def test_values_keep_their_shape_and_opaque_data() -> None:
    redact = Redactor(["ABC-SECRET-1"])
    value = {
        "text": f"k {KEYS[0]}",
        "n": 3,
        "list": [KEYS[1], None, True],
        "meta": {"signature": KEYS[0], "x": "ABC-SECRET-1"},
        "id": "call_" + KEYS[0],
        "ABC-SECRET-1": 1,
    }
    assert redact.value(value) == {
        "text": f"k {REDACTED}",
        "n": 3,
        "list": [REDACTED, None, True],
        "meta": {"signature": KEYS[0], "x": REDACTED},
        "id": "call_" + KEYS[0],
        REDACTED: 1,
    }


def test_runs_of_odd_characters_are_as_one_by_one() -> None:
    rng = random.Random(7)
    odd = [
        "\0",
        "\0",
        "\x07",
        "\x18",
        "\x1b",
        "[",
        "m",
        "\x7f",
        "\udc80",
        "\udcff",
        "\r",
        "\n",
        "a",
        "é",
        "\u200d",
        "\x9b",
    ]
    for _ in range(3_000):
        text = "".join(rng.choices(odd, k=rng.randrange(10)))
        one = Sanitiser()
        assert "".join(map(one.feed, text)) + one.close() == sanitise(text), ascii(text)
