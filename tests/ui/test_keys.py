"""KeyReader: bytes in any pieces give the same keys; a paste is one key, whatever is in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aicli.ui.keys import Key, KeyReader

KEYS = {
    b"\r": "enter",
    b"\n": "ctrl-j",
    b"\x1b\r": "alt-enter",
    b"\x7f": "backspace",
    b"\x1b[A": "up",
    b"\x1bOB": "down",
    b"\x1b[1;5C": "ctrl-right",
    b"\x1b[3~": "delete",
    b"\x1b[H": "home",
    b"\x1b[Z": "shift-tab",
    b"\x1b[I": "focus-in",
    b"\x1b[O": "focus-out",
    b"\x03": "ctrl-c",
    b"\x12": "ctrl-r",
    b"\x1bb": "alt-b",
    b"\t": "tab",
}


def test_named_keys() -> None:
    for data, name in KEYS.items():
        assert KeyReader().feed(data) == [Key(name)], data


def test_a_lone_escape_is_known_after_a_while() -> None:
    reader = KeyReader()
    assert reader.feed(b"\x1b") == [] and reader.pending
    assert reader.flush() == [Key("esc")] and not reader.pending


def test_a_paste_is_one_key_with_its_line_ends_mended() -> None:
    reader = KeyReader()
    assert reader.feed(b"a\x1b[200~one\r\ntwo\r\n\x1b[A\x03\x1b[201~\r") == [
        Key("char", "a"),
        Key("paste", "one\ntwo\n\x1b[A\x03"),
        Key("enter"),
    ]


def test_unknown_sequences_are_swallowed() -> None:
    assert KeyReader().feed(b"\x1b[?1;2c\x1b[38;5;1ux") == [Key("char", "x")]


@given(
    st.lists(st.sampled_from([*KEYS, "你好".encode(), b"hello", b"\x1b[200~x\ny\x1b[201~"]), max_size=12),
    st.lists(st.integers(0, 80), max_size=12),
)
def test_any_cut_gives_the_same_keys(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)

    def keys(parts: list[bytes]) -> list[Key]:
        reader = KeyReader()
        found = [key for part in parts for key in reader.feed(part)] + reader.flush()
        joined: list[Key] = []
        for key in found:
            if key.name == "char" and joined and joined[-1].name == "char":
                joined[-1] = Key("char", joined[-1].text + key.text)
            else:
                joined.append(key)
        return joined

    places = sorted({c for c in cuts if c < len(data)})
    parts = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    assert keys(parts) == keys([data])
