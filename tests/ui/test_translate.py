"""Everything that the program says to people can be said in Chinese: complete, with its values, and nothing left over."""

from __future__ import annotations

import os
import random
import re
import time
import tomllib
from collections.abc import Iterator
from importlib.resources import files

import pytest

from aicli.agents.registry import AgentRegistry
from aicli.settings_load import fields, wrong
from aicli.tools.registry import ToolRegistry
from aicli.ui.language import spoken
from aicli.ui.translate import entries, error_line, lines, said
from aicli.ui.words import Words
from tests.support import sayings
from tests.support.counts import count

CHINESE = entries("zh")
SLOT = re.compile(r"\{(\d+)(?::t)?\}")
NO_SENTENCES = re.compile(
    r"testing/|models/dialects/|models/embedded/(?!cache|engine|fetch|pull|sink)|ui/(?:translate|words)"
)
"""Modules that say nothing to people, or in words of the other catalogue."""

FOR_OTHERS = {
    *("aicli {0}", "aicli chat", "aicli: {0}\n", "aicli models pull embedded", "No commits yet on "),
    *("config get", "config reset", "config explain", "sessions show", "sessions export", "sessions fork"),
    *("pip install '.[embedded]' in aicli's own folder", "[enter] TASK… | list | show NAME | exit [NAME]"),
    *("plan, default, accept-edits, dont-ask, bypass", "One of plan, default, accept-edits, dont-ask, bypass"),
    *('<file path="{0}">\n{1}{2}\n</file>\n', "\n[only the first {0} bytes]", "I ran `{0}` myself:\n\n{1}"),
    *("{0} {1}, {2} token", "{0} on {1}, {2}, {3}", "{0} min {1} s", "{0} h {1} min", "⟨{0} blanks⟩"),
}
"""Names, and what the model reads."""

OF_OTHERS = re.compile(
    r"\n    verbose log_http|Carry out this plan, step|# aicli settings\.|\\s\*\\\(at|.*(?:\n.*)*COMPREPLY"
)
SHELL = re.compile(r"cat '|test \"|mkdir -p|echo harmed|env; cat|ls -A|#compdef|function __|Register-Arg|_aicli\(\)")
PIECES = {
    " by {0}": "{0} settings changed by {1}",
    "{0} settings changed": "{0} settings changed by {1}",
    "NOT held": "{0}: NOT held ({1})",
    " and {0} more": "{0} and {1} more",
    " (a link to {0})": "{0} (a link to {1})",
    " at character {0}": "{0} at character {1}",
    " while thinking": "{0} reached its output limit while thinking, with no answer",
    "; {0} lines differ": "{0} rules can be read and fit their examples; {1} lines differ",
    "{0} {1}:": "{0} undone:",
    "  not {0}: {1}: {2}": "  not undone: {0}: {1}",
    "{0} {1} in {2} {3}": "{0} hits in {1} files",
    "Give more of it: ": "Give more of it: {0}",
    "{0}, not {1}": "{0} should be text, not {1}",
    "{0} declined to answer{1}": "{0} declined to answer: {1}",
    "{0}unknown setting {1}": "{0}: unknown setting {1}",
    "{0}Providers: {1}.": "Did you mean {0}? Providers: {1}",
    "{0} One of: {1}.": "One of: {0}",
    "; without a sandbox every command has the network": (
        "the rule {0} refuses it; without a sandbox every command has the network"
    ),
    " (too many searches, try later)": "{0} (too many searches, try later)",
    " (the key is wrong, or the server does not allow JSON answers)": (
        "{0} (the key is wrong, or the server does not allow JSON answers)"
    ),
}
"""Parts of a sentence, and the whole one that is translated."""


def filled(text: str) -> str:
    """With something in each slot; a plural's ending is one."""
    text = re.sub(r"(?<=[a-z])\{\d\}(?![\w,])", "s", text)
    return re.sub(r"\{(\d+)\}", lambda m: f"X{m[1]}", text).strip()


def in_chinese(text: str) -> bool:
    """Is it translated, with no English sentence left in it? A command to type stays."""
    chinese = said(filled(text), "zh")
    rest = re.sub(r"`[^`]*`|'[^']*'|aicli [a-z -]+|apt install bubblewrap|dnf install bubblewrap", "", chinese)
    return chinese != filled(text) and not re.search(r"(?<![-\w.])[a-z']{2,} [a-z']{2,} [a-z']{2,}\b", rest)


def test_every_sentence_for_people_has_its_translation() -> None:
    missing = []
    count = 0
    for name, texts in sayings.sayings().items():
        for text in texts if not NO_SENTENCES.match(name) else ():
            count += 1
            others = text in FOR_OTHERS or text in PIECES or OF_OTHERS.match(text) or SHELL.match(text)
            if not others and not in_chinese(text):
                missing.append(f"{name}: {text}")
    assert count > 700
    assert missing == [], "aicli/ui/words/zh/*.toml lacks these"
    assert [whole for whole in PIECES.values() if whole not in CHINESE] == []


def test_every_summary_of_a_call_has_its_translation() -> None:
    pieces = {"hit", "hits", "file", "files", "entry", "entries", "{0} {1} in {2} {3}", "HTTP {0}", "{0} {1}"}
    found = sayings.summaries() - pieces
    assert len(found) > 12
    assert {text for text in found if not in_chinese(text)} == set()


def test_every_verb_of_a_title_has_its_word() -> None:
    tools = ToolRegistry()
    tools.load_builtin()
    titles = [tool.title for tool in tools.select(("*",)) if isinstance(tool.title, str)]
    verbs = {title.split()[0] for title in titles if re.fullmatch("[A-Za-z]+:?", title.split()[0])}
    assert len(verbs) > 8
    assert {verb for verb in verbs if Words("zh").title(f"{verb} x") == f"{verb} x"} == set()
    assert Words("zh").title("Search the web: 天气 today") == "搜索网络 天气 today"
    assert Words("zh").title("$ (network on) curl x") == "$ (可联网) curl x"
    assert Words("zh").title("Read a b.txt") == "读取 a b.txt" and Words("zh").title("explore: 找") == "explore: 找"


def test_every_setting_and_agent_is_described() -> None:
    told = [info.description or "" for info in fields().values()] + [spec.description for spec in AgentRegistry([])]
    assert len(told) > 45
    assert [text for text in told if not in_chinese(text)] == []


def test_the_files_are_toml_of_one_plain_form() -> None:
    found: dict[str, str] = {}
    count = 0
    for file in files("aicli.ui").joinpath("words", "zh").iterdir():
        own = tomllib.loads(file.read_text("utf-8"))
        count += len(own)
        found |= own
    assert found == CHINESE and count == len(found) > 1_000


def test_translations_keep_the_values() -> None:
    """A plural's ending may go: `{1}` of "{0} file{1}"."""
    foreign = set(_foreign())
    for english, chinese in CHINESE.items():
        if english in foreign:
            continue
        endings = set(re.findall(r"(?<=[a-z])\{(\d)\}", english))
        ours, theirs = set(SLOT.findall(english)), set(SLOT.findall(chinese))
        assert theirs <= ours and ours - theirs <= endings, (english, chinese)


def test_no_template_stands_in_another_one_s_light() -> None:
    for english, chinese in CHINESE.items():
        words = set(re.findall(r"\{(\d+):t\}", chinese)) if "}{" not in english else set()
        text = filled(SLOT.sub(lambda m: "yes" if m[1] in words else m[0], english))  # noqa: B023
        wanted = SLOT.sub(lambda m: "是" if m[1] in words else f"X{m[1]}", chinese).strip()  # noqa: B023
        assert said(text, "zh").rstrip("。") == wanted.rstrip("。"), english


ENDING = re.compile(r"(?<=[a-z])\{\d\}(?![\w,])")
FILLED = [SLOT.sub("z", english) for english in CHINESE if SLOT.search(english)]


def _foreign_text(rng: random.Random, mark: str, others: bool) -> str:
    """Anybody's text: words, joined as ours are, or one that reads like a sentence of ours."""
    words = [f"{mark}{rng.randrange(100)}" for _ in range(3)]
    if others and rng.random() < 0.5:
        return rng.choice([words[0] + " ", ""]) + rng.choice(FILLED) + rng.choice(["; ", " ", "\n"]) + words[1]
    return rng.choice(["; ", ". ", ": ", "? ", "\n", " ", ", ", "  "]).join(words[: rng.randint(1, 3)])


@pytest.mark.parametrize("others", [False, True])
def test_a_translation_loses_no_value_and_changes_none(others: bool) -> None:
    """Whatever stands in the slots: each word of it is there, and where none of it reads like ours, to the letter."""
    rng = random.Random(7)
    translated = 0
    for english, chinese in CHINESE.items():
        slots = SLOT.findall(ENDING.sub("", english))
        words = set(re.findall(r"\{(\d+):t\}", chinese))
        for _ in range(count(1, 20)):
            values = {n: f"w{n}" if n in words else _foreign_text(rng, f"q{n}v", others) for n in slots}
            text = SLOT.sub(lambda m: values[m[1]], ENDING.sub("s", english))  # noqa: B023
            found = said(text, "zh")
            translated += found != text
            for mark in re.findall(r"q\dv\d+", text):
                assert found.count(mark) >= text.count(mark), (text, found)
            if not others and "}{" not in english and len(english.split()) > 2:
                assert found == text or all(values[n] in found for n in slots), (text, found)
    assert translated > 300


def test_no_ending_takes_a_name() -> None:
    assert said("deleted 3 session; rm -rf / follows", "zh") == "已删除 3 session; rm -rf / follows"
    name = "deleted 3 session of mine and the important rest of the name"
    assert said(f"{name} does not exist.", "zh") == f"{name} 不存在。"
    assert said("Cannot read new: a: permission denied (EACCES)", "zh") == "无法读取 new: a：权限不够（EACCES）"
    assert said("No files match a. b", "zh") == "没有文件符合 a. b"
    both = "Cannot read a: permission denied: permission denied"
    assert said(both, "zh") == both  # two names may be meant


def test_no_message_takes_long() -> None:
    """Twenty thousandths of a second each at most, on average over the hardest."""
    texts = ["".join(SLOT.split(english)[::2]) for english in CHINESE if SLOT.search(english)]
    hard = [(text * 400)[:size] for text in texts[::9] for size in (480, 1_950)]
    hard += [joint.join(texts[i : i + 6]) for i in range(0, len(texts), 40) for joint in ("; ", ". ", ": ", "? ")]
    began = time.process_time()
    for text in hard:
        said(text, "zh")
    assert time.process_time() - began < 0.02 * len(hard)


def test_translations_are_written_as_chinese_is() -> None:
    for english, chinese in CHINESE.items():
        han = "\u4e00-\u9fff"
        plain = SLOT.sub("", re.sub(r"`[^`]*`|“[^”]*”", "", chinese))
        assert re.search(f"[{han}]", chinese) or not re.search(r"[a-z]{2} [a-z]{2}", SLOT.sub("", chinese)), chinese
        assert not re.search(f"[{han}][,;:?!]|[,;:?!][{han}]", plain), chinese
        assert not re.search(f"[{han}][A-Za-z0-9]|[A-Za-z0-9][{han}]", plain), chinese
        assert not re.search(rf"[{han}]\{{\d\}}|\{{\d\}}[{han}]", chinese), chinese
        assert english.endswith("…") == chinese.endswith("…"), chinese


def _corpus() -> Iterator[str]:
    for nodes in sayings.modules().values():
        yield from sayings.strings(nodes)
        yield from (" ".join(str(node.value).split()) for node in sayings.docstrings(nodes))
    yield from (info.description or "" for info in fields().values())
    yield from (spec.description for spec in AgentRegistry([]))


JOINED = {
    *("{0} settings changed; {1}", "{0}: held ({1})", "nothing: {0}", "{0} answers, {1} s; {2}", "{0}, and {1} more"),
    *(
        "{0} unset",
        "{0} set",
        "new: {0}: {1}",
        "changed: {0}: {1}",
        "  not redone: {0}: {1}",
        "the check {0}",
        "1 result",
    ),
    *(
        "there is no task ({0})",
        "Agents: {0}",
        "Tools: {0}",
        "`{0}` passed",
        "`{0}` failed",
        "{0} entry",
        "{0} entries",
    ),
    *("{0} should be one of plan, default, accept-edits, dont-ask, bypass, not {1}", "{0} does not exist"),
    *("did you mean {0}?", "the request differs from the recorded one: {0}"),
    *("agent {0}", "tool {0}", "hook {0}", "command {0}", "provider {0}", "{0}, code that would run", "sets {0}"),
    *(
        "not tried out: {0}",
        "{0} is not used: the folder is not trusted",
        "Run: {0}",
        "See: {0}",
        "long prompt: {0}",
        "call: {0}",
        "failed: {0}",
        "limited: {0}",
        "cancelled: {0}",
        "image: {0}",
        "Set {0}",
        "starts {0}",
        "Nothing is remembered about that",
        "read {0}",
    ),
    "{0}: {1}. This is a fault of aicli; --debug shows where",
    "{0} lies outside the workspace {1}. Use a path inside it. To work there too, start with --add-dir FOLDER",
    "{0} redone:",
    *("no Ollama at {0}; {1}", "{0} has no model for it; {1}"),
}
"""Made of two strings of the code, or of a word and a name."""


def test_no_translation_is_left_over() -> None:
    """Each stands in the code, or is one of its sentences with some of the values filled in or more of them left open."""
    texts = {text.strip().rstrip(".") for text in _corpus()}
    whole = "\n".join(texts)
    patterns = [_pattern(text) for text in texts if _telling(text)]
    known = JOINED | set(PIECES.values()) | set(_foreign())
    reasons = {f"{why} ({{0}})" for why in [*texts, *(os.strerror(n).lower() for n in range(1, 60))]}
    left = []
    for english in CHINESE:
        bare = english.strip().rstrip(".")
        if english in known or bare in texts or bare in reasons or (not SLOT.search(bare) and bare in whole):
            continue
        if any(p.fullmatch(bare) for p in patterns):
            continue
        if not (_telling(bare) and any(map(_pattern(bare).fullmatch, texts))):
            left.append(english)
    assert left == []
    assert [english for english in JOINED if english not in CHINESE] == []


def _telling(text: str) -> bool:
    parts = re.split(r"\{\d+\}", text)
    return len(parts) > 1 and sum(map(str.isalpha, "".join(parts))) >= 4


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, re.split(r"\{\d+\}", text))), re.DOTALL)


def _foreign() -> Iterator[str]:
    """What the parser, the readers and the system say."""
    yield from tomllib.loads(files("aicli.ui").joinpath("words", "zh", "parser.toml").read_text("utf-8"))
    yield from (
        "Usage",
        "Arguments",
        "Options",
        "required",
        "default: {0}",
        "env var: {0}",
        "Show this message and exit",
    )


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("it contacts example.org", "它会访问 example.org"),
        ("it runs a command; nobody is there to approve it", "它会执行命令；没有人可以批准"),
        ("a.txt does not exist. Did you mean b.txt?", "a.txt 不存在。是不是 b.txt？"),
        ("Cannot read x: permission denied (EACCES).", "无法读取 x：权限不够（EACCES）。"),
        ("3 hits in 2 files", "2 个文件中 3 处"),
        ("  now      50  (default)", "  现在  50（默认）"),
        (
            "no Ollama at http://[::1]:1; openai has no model for it",
            "http://[::1]:1 没有 Ollama；openai 没有合适的模型",
        ),
        ("/c/config.toml:3: Invalid value: x = …", "/c/config.toml:3：值无效：x = …"),
        ("there is no folder '没有那个文件夹 {0}'", "没有文件夹 '没有那个文件夹 {0}'"),
    ],
)
def test_sentences_and_those_made_of_others(english: str, chinese: str) -> None:
    assert said(english, "zh") == chinese
    assert said(english, "en") == english


@pytest.mark.parametrize(
    "text",
    [
        "something new",
        "",
        "  ",
        "find_files, glob_search, edit",
        "I read it. Then I wrote it.",
        "{0} {1}",
        "读到了。",
        "a. " * 900,
    ],
)
def test_what_is_not_ours_stays_as_it_is(text: str) -> None:
    assert said(text, "zh") == text


def test_an_error_and_its_hint_are_one_line() -> None:
    assert (
        error_line("there is no task", "Give it as words, or by a pipe.", "zh")
        == "没有任务。请直接写出，或用管道给出。"
    )
    assert error_line("there is no task", "Try again", "en") == "there is no task. Try again"
    assert error_line("there is no task", "", "zh") == "没有任务"
    assert lines("Roles\nProviders\nother", "zh") == "角色\n提供方\nother"


def test_the_language_is_that_of_chat(isolated, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    assert spoken({"LANG": "zh_CN.UTF-8"}) == "zh" and spoken({"LANG": "C"}) == "en"
    assert spoken({"LANG": "C", "AICLI_UI__LANGUAGE": "zh"}) == "zh"
    file = isolated.parent / "home" / "config" / "aicli" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[ui]\nlanguage = "zh"\n')
    assert spoken({"LANG": "C"}) == "zh"
    assert spoken({"LANG": "zh_CN.UTF-8", "AICLI_UI__LANGUAGE": "en"}) == "en"
    for broken in ('[ui]\nlanguage = "xx"\n', "language = [", "[ui\nlanguage", "ui = 3 # language"):
        file.write_text(broken)
        assert spoken({"LANG": "zh_CN.UTF-8"}) == "zh"
    file.write_bytes(b"\xff language")
    assert spoken({"LANG": "C"}) == "en"


def test_whatever_is_wrong_with_a_setting_can_be_said() -> None:
    values: tuple[object, ...] = ("x", -1, 10**12, [], {}, True, 1.5, ["a", 3], "", float("inf"))
    found = {f"{key} {complaint}" for key in fields() for value in values if (complaint := wrong(key, value))}
    assert len(found) > 150
    assert {text for text in found if said(text, "zh") == text or "should" in said(text, "zh")} == set()


BROKEN = (
    *(
        "x",
        "x =",
        "x = [",
        "x = { a = 1",
        'x = "a',
        "[x",
        "[[x",
        "x = 1 y",
        "x = 1\nx = 2",
        "= 1",
        "x = 0x",
        'x = "\\q"',
    ),
    *("x = 2020-99-99", "[a]\n[a]", "x = \t\x01", 'x = "\\ud800"', "x = {a=1, a=2}", "x = {a=1}\nx.b=2"),
)


@pytest.mark.parametrize("text", BROKEN)
def test_what_the_reader_of_settings_says_is_known(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as raised:
        tomllib.loads(text)
    assert in_chinese(str(raised.value)), raised.value


@pytest.mark.parametrize("number", [2, 13, 17, 20, 21, 28, 30])
def test_the_system_s_own_words_are_known(number: int) -> None:
    assert in_chinese(os.strerror(number))


def test_no_full_stop_follows_a_question() -> None:
    told = error_line("No such command 'lst'. Did you mean 'list'?", "Try aicli sessions --help", "zh")
    assert told == "没有命令 'lst'。是不是 'list'？见 aicli sessions --help"
    for end in "？！。…?!":
        assert error_line(f"好{end}", "See: aicli x", "zh").startswith(f"好{end.replace('。', '。')}见")
