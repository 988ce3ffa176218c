"""Both catalogues are complete and say the same things; every word the code asks for is there."""

from __future__ import annotations

import inspect
import re
import string
from pathlib import Path

import pytest

import aicli
from aicli.content.events import Outcome
from aicli.content.kinds import PermissionMode
from aicli.ui.language import LANGUAGES, language_of
from aicli.ui.words import Words, catalogue

SOURCES = [f.read_text("utf-8") for f in Path(aicli.__file__).parent.rglob("*.py") if f.name != "words.py"]


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_messages_and_values() -> None:
    english, chinese = catalogue("en"), catalogue("zh")
    ones = {k for k in english if k.endswith("_one")}
    assert set(english) - ones == set(chinese)
    assert {k.removesuffix("_one") for k in ones} < set(english)
    assert [k for k in chinese if fields(english[k]) != fields(chinese[k])] == []


def test_chinese_is_chinese() -> None:
    own = {k for k, text in catalogue("zh").items() if not re.search(r"[\u4e00-\u9fff]", text)}
    assert own <= {"menu.branch", "chat.resume", "chat.key_help", "chat.model", "plain.joint", "plain.because"}


def test_every_word_asked_for_is_there() -> None:
    wanted = {
        k
        for text in SOURCES
        for k in re.findall(r"(?:words|self\._words|_words)\(\s*[\"']([a-z]+\.[a-z_]+)[\"']", text)
    }
    assert len(wanted) > 60
    assert wanted - set(catalogue("en")) == set()


def test_words_named_by_values_are_there() -> None:
    for outcome in Outcome:
        assert Words("en")(f"outcome.{outcome.value}")
    for mode in PermissionMode:
        assert Words("zh")(f"mode.{mode.value}")


def test_no_word_is_left_over() -> None:
    built = ("plain.", "verb.", "outcome.", "mode.", "slash.", "ago.", "plan.", "approval.", "question.", "trust.")
    built += ("history.",)
    text = "\n".join([*SOURCES, inspect.getsource(Words)])
    unused = {k for k in catalogue("zh") if f'"{k}"' not in text and f"'{k}'" not in text and not k.startswith(built)}
    assert unused == set()


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_locale_chooses_the_language(environ: dict[str, str], language: str) -> None:
    assert language_of("auto", environ) == language
    assert [language_of(name, environ) for name in LANGUAGES] == list(LANGUAGES)


def test_one_of_a_thing() -> None:
    assert (Words("en")("call.lines", n=1), Words("en")("call.lines", n=2)) == ("1 line", "2 lines")
    assert Words("zh")("call.lines", n=1) == Words("zh")("call.lines", n=2).replace("2", "1")
