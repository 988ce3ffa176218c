"""The grep tool, with ripgrep and without: the same hits."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from aicli.tools.builtin.grep import grep
from aicli.tools.state import RunState
from tests.support.counts import count
from tests.tools.calling import call, state_in


@pytest.fixture(params=["with ripgrep", "without ripgrep"])
def state(request: pytest.FixtureRequest, isolated: Path, monkeypatch: pytest.MonkeyPatch) -> RunState:
    if request.param == "without ripgrep":
        monkeypatch.setenv("PATH", "/nowhere")
    elif shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return state_in(isolated)


def put(path: str, text: str | bytes) -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)


def lines(state: RunState, pattern: str, **more: object) -> list[str]:
    result = call(grep, state, pattern=pattern, **more)
    assert not result.is_error, result.text
    return [line for line in result.text.splitlines() if not line.startswith("[")]


def test_hits_are_named_by_path_and_line(state: RunState) -> None:
    put("a.py", "one\ntwo needle\nthree\nneedle four")
    put("sub/b.py", "needle\n")
    assert lines(state, "needle") == ["a.py:2: two needle", "a.py:4: needle four", "sub/b.py:1: needle"]
    assert lines(state, "needle", path="sub") == ["sub/b.py:1: needle"]
    assert lines(state, "needle", path="a.py") == ["a.py:2: two needle", "a.py:4: needle four"]
    assert lines(state, "absent") == ["No matches."]


def test_patterns_are_pythons(state: RunState) -> None:
    put("a", "foo(bar)\nfoobar\nnaïve café\nx = 12\n\tend\n你好，世界\n")
    assert lines(state, r"foo\(") == ["a:1: foo(bar)"]
    assert lines(state, "foo(", literal=True) == ["a:1: foo(bar)"]
    assert lines(state, r"(?<=foo)bar") == ["a:2: foobar"]
    assert lines(state, r"(?P<x>o)(?P=x)b") == ["a:2: foobar"]
    assert lines(state, r"^\w+ \w+$") == ["a:3: naïve café"]
    assert lines(state, r"^\tend$|\d{2}") == ["a:4: x = 12", "a:5: \tend"]
    assert lines(state, "你.，") == ["a:6: 你好，世界"]
    assert lines(state, r"foo(?!bar)") == ["a:1: foo(bar)"]
    assert lines(state, r"12\Z") == ["a:4: x = 12"]


def test_a_match_never_crosses_lines_unless_asked(state: RunState) -> None:
    put("a", "one\ntwo\nthree one\n\nend\n")
    assert lines(state, r"one\s+two") == ["No matches."]
    assert lines(state, r"t[^x]+one") == ["a:3: three one"]
    assert lines(state, r"(?s)t.+e") == ["a:3: three one"]
    assert lines(state, r"one\s*") == ["a:1: one", "a:3: three one"]
    assert lines(state, r"one\ntwo", multiline=True) == ["a:1: one", "a:2: two"]
    assert lines(state, r"^$") == ["a:4: "]


def test_case(state: RunState) -> None:
    put("a", "Needle\nneedle\nNEEDLE\nÄrger\nKELVIN \u212aelvin\n")
    assert len(lines(state, "needle", ignore_case=True)) == 3
    assert len(lines(state, "needle")) == 1
    assert len(lines(state, "needle", case_sensitive=False)) == 3
    assert lines(state, "ÄRGER", ignore_case=True) == ["a:4: Ärger"]
    assert lines(state, "kelvin", ignore_case=True) == ["a:5: KELVIN \u212aelvin"]


@pytest.mark.parametrize("pattern", ["-world", "--flag", "->", "-e"])
def test_a_pattern_that_starts_with_a_dash(state: RunState, pattern: str) -> None:
    put("with", f"hello\nsay {pattern} now\n")
    put("without", "hello\nworld flag e >\n")
    assert lines(state, pattern) == [f"with:2: say {pattern} now"]


def test_colons_in_file_names(state: RunState) -> None:
    put("dir:7:x/a:12:b.txt", "one\nkey: value: 3: hit\n")
    assert lines(state, "hit") == ["dir:7:x/a:12:b.txt:2: key: value: 3: hit"]


def test_odd_names(state: RunState) -> None:
    names = [
        "café.txt",
        "文件.md",
        "a b.txt",
        'q"uote.txt',
        "-dash",
        "back\\slash",
        " lead",
        "new\nline",
        "[id]/(x)/p.tsx",
    ]
    for name in names:
        put(name, "the word\n")
    put(os.fsdecode(b"bad\xff.txt"), "the word\n")
    text = call(grep, state, pattern="the word").text
    for shown in (*names[:6], '" lead"', '"new\\nline"', "[id]/(x)/p.tsx", "bad\\xff.txt"):
        assert f"{shown}" in text, shown
    assert "\\303" not in text and len(text.splitlines()) == 10
    for path in ("[id]/(x)", "[id]/(x)/p.tsx"):
        assert call(grep, state, pattern="word", path=path).text == "[id]/(x)/p.tsx:1: the word"


def test_globs(state: RunState) -> None:
    for name in ("a.ts", "b.tsx", "c.md", "d.sh", "x/e.sh", "*.{ts"):
        put(name, "word\n")
    assert lines(state, "word", glob="*.{md,sh}") == ["c.md:1: word", "d.sh:1: word", "x/e.sh:1: word"]
    assert lines(state, "word", glob="x/*.sh") == ["x/e.sh:1: word"]
    assert lines(state, "word", glob="!*.{ts,tsx,sh}") == ["*.{ts:1: word", "c.md:1: word"]
    assert lines(state, "word", glob="*.{ts") == ["*.{ts:1: word"]
    assert lines(state, "word", include="*.md") == ["c.md:1: word"]


def test_files_and_counts(state: RunState) -> None:
    put("a", "w\nw\n")
    put("b", "w\n")
    assert lines(state, "w", mode="files") == ["a", "b"]
    assert lines(state, "w", output_mode="files_with_matches") == ["a", "b"]
    assert lines(state, "w", mode="count") == ["a: 2", "b: 1"]


def test_context(state: RunState) -> None:
    put("a", "".join(f"line {n}\n" for n in range(1, 21)))
    assert lines(state, "line (5|7|15)$", context=1) == [
        *("a-4- line 4", "a:5: line 5", "a-6- line 6", "a:7: line 7", "a-8- line 8"),
        *("--", "a-14- line 14", "a:15: line 15", "a-16- line 16"),
    ]


def test_rules_hidden_and_secret_files(state: RunState) -> None:
    put(".gitignore", "*.log\nbuild/\n!keep.log\n")
    put("sub/.gitignore", "/local\n!x.log\n")
    for name in (
        "a.log",
        "keep.log",
        "build/x",
        "sub/local",
        "sub/x.log",
        "local",
        ".hidden/x",
        ".env",
        "k.pem",
        "a.txt",
    ):
        put(name, "word\n")
    put(".git/config", "word\n")
    found = lines(state, "word", mode="files")
    assert found == ["a.txt", "keep.log", "local", "sub/x.log"]
    assert "k.pem" in call(grep, state, pattern="word").text.splitlines()[-1]
    assert lines(state, "word", path="build") == ["build/x:1: word"]
    assert lines(state, "word", path="a.log") == ["a.log:1: word"]
    assert lines(state, "word", path=".env") == [".env:1: word"]
    assert lines(state, "word", path=".hidden") == [".hidden/x:1: word"]
    assert lines(state, "word", glob=".hidden/*") == [".hidden/x:1: word"]


def test_links_are_not_followed(state: RunState, tmp_path: Path) -> None:
    put("d/f.txt", "word\n")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "s").write_text("word\n")
    Path("d/sub").mkdir()
    Path("d/sub/up").symlink_to("..")
    Path("d/sub/me").symlink_to(".")
    Path("out").symlink_to(tmp_path / "secret")
    Path("file").symlink_to(tmp_path / "secret" / "s")
    Path("gone").symlink_to("nowhere")
    start = time.monotonic()
    assert lines(state, "word") == ["d/f.txt:1: word"]
    assert time.monotonic() - start < 2
    assert lines(state, "word", path="d/sub/up") == ["d/f.txt:1: word"]
    for path in ("out", "file", "../secret", "/etc", "gone", "missing"):
        result = call(grep, state, pattern="word", path=path)
        assert result.is_error and "word\n" not in result.text


def test_special_files_beside(state: RunState) -> None:
    os.mkfifo("pipe")
    put("normal", "word\n")
    start = time.monotonic()
    assert lines(state, "word") == ["normal:1: word"]
    assert call(grep, state, pattern="word", path="pipe").is_error
    assert time.monotonic() - start < 3


def test_encodings(state: RunState) -> None:
    text = "第一行 first\r\nhi 你好\r\n"
    put("gbk", (text * 3).encode("gbk"))
    put("big5", "第一行\r\nhi 你好，這個世界真的很大\r\n".encode("big5"))
    put("le", "\ufeff".encode("utf-16-le") + text.encode("utf-16-le"))
    put("be", "\ufeff".encode("utf-16-be") + text.encode("utf-16-be"))
    put("bom", b"\xef\xbb\xbf" + text.encode())
    put("late", b"ascii only\n" * 20_000 + "hi 你好，世界很大，我们都在这里\n".encode("gbk"))
    put("latin", "caf\xe9 hi there\n".encode("latin-1"))
    hits = lines(state, "你好")
    assert hits[:3] == ["be:2: hi 你好", "big5:2: hi 你好，這個世界真的很大", "bom:2: hi 你好"]
    assert [h.split(":")[0] for h in hits[3:]] == ["gbk", "gbk", "gbk", "late", "le"]
    assert {h.split(":")[0] for h in lines(state, "hi ")} == {"be", "big5", "bom", "gbk", "late", "latin", "le"}
    assert lines(state, "^第一行 first$", path="bom") == ["bom:1: 第一行 first"]


def test_binary_files_are_told_not_shown(state: RunState) -> None:
    put("bin", b"word\0\x01\x02 word\n" * 50)
    put("text", "word\n")
    assert lines(state, "word") == ["text:1: word"]
    result = call(grep, state, pattern="word", path="bin")
    assert "No matches" in result.text and "binary" in result.text


def test_binary_files_that_can_hold_no_hit_are_not_told(state: RunState) -> None:
    put("a", b"\0\1other" * 40_000)
    put("b", b"\0\1" + b"z" * 65_530 + b"needle" + b"\0" * 100_000)
    assert call(grep, state, pattern="needle").text == "No matches.\n[1 binary file skipped]"
    assert call(grep, state, pattern="absent").text == "No matches."


def test_long_lines_are_cut_around_the_hit(state: RunState) -> None:
    put("min.js", "a" * 1_000_000 + "needle" + "b" * 1_000_000)
    put("x", "c" * 3_000_000 + "\nneedle\n")
    found = lines(state, "needle")
    assert found[1] == "x:2: needle" and len(found[0]) < 600 and "needle" in found[0] and "more]" in found[0]


def test_large_files(state: RunState) -> None:
    put("log", b"nothing to see here\n" * 400_000 + b"a needle at last\r\n" + b"more\n" * 10)
    assert lines(state, "needle") == ["log:400001: a needle at last"]
    assert lines(state, "needle", path="log") == ["log:400001: a needle at last"]
    assert lines(state, "NEEDLE \\w+ last$", path="log", ignore_case=True) == ["log:400001: a needle at last"]
    wanted = ["log-400000- nothing to see here", "log:400001: a needle at last", "log-400002- more"]
    assert lines(state, "needle", context=1) == wanted
    assert lines(state, "absent words", context=1) == ["No matches."]
    put("two", b"first needle\n" + b"nothing to see here\n" * 400_000 + b"needle\n" + b"after\n" * 200_000)
    found = lines(state, "needle", context=2, path="two")
    assert [line.split(" ")[0] for line in found] == [
        *("two:1:", "two-2-", "two-3-", "--", "two-400000-", "two-400001-", "two:400002:", "two-400003-", "two-400004-")
    ]
    assert len(lines(state, "see here", context=1, path="two", limit=5)) == 6


def test_limits(state: RunState) -> None:
    put("a", "word\n" * 500)
    assert len(lines(state, "word")) == 100
    result = call(grep, state, pattern="word", max_results=7)
    assert "only the first 7" in result.text and result.data["hits"] == 7 and result.data["complete"] is False
    assert "only the first" not in call(grep, state, pattern="word", limit=500).text
    put("wide", ("word" + "x" * 300 + "\n") * 1000)
    assert len(call(grep, state, pattern="word", limit=2000, path="wide").text) < 55_000


def test_invalid_patterns_are_explained(state: RunState) -> None:
    text = call(grep, state, pattern="foo(").text
    assert "missing ), unterminated subpattern at character 4" in text and "literal=true" in text
    assert call(grep, state, pattern="").is_error
    assert call(grep, state, pattern="x", glob="{" + ",".join("abc") * 200 + "}" + "{a,b}" * 12).is_error


def test_a_catastrophic_pattern_ends(state: RunState, monkeypatch: pytest.MonkeyPatch) -> None:
    from aicli.workspace.search import request, search

    put("a", "aaa\n")
    put("b", "a" * 40 + "!\n")
    start = time.monotonic()
    found = search(request(Path.cwd(), r"(a+)+$"), ["a", "b"], limit=0.5)
    assert found.timed_out and not found.complete and time.monotonic() - start < 3
    assert [line.path for line in found.lines] == ["a"]


def test_a_cancelled_search_ends_its_child(state: RunState) -> None:
    import asyncio

    from tests.tools.calling import acall
    from tests.tools.processes import alive_with

    put("a", "a" * 40 + "!\n")

    async def go() -> None:
        task = asyncio.create_task(acall(grep, state, pattern="(?=a)(a+)+$"))  # ripgrep can't tell
        while not alive_with("searcher", os.getpid()):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    start = time.monotonic()
    asyncio.run(go())
    assert time.monotonic() - start < 5 and not alive_with("searcher", os.getpid())


@pytest.mark.parametrize("name", ["search_file_content", "grep_search", "ripgrep"])
def test_other_names(isolated: Path, name: str) -> None:
    put("a", "word\n")
    assert "a:1: word" in call(grep, state_in(isolated), name=name, query="word", directory=".").text


def test_it_agrees_with_ripgrep_on_a_tree(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shutil.which("rg")
    if program is None:
        pytest.skip("ripgrep is not installed")
    seed = 20_261_130
    total = count(300, 50_000)
    print(f"seed {seed}, {total} files")
    rng = random.Random(seed)
    words = ["alpha", "beta", "gamma", "import", "return", "class", "你好", "世界", "foo", "bar", "_x", "x1", "naïve"]
    Path(".git").mkdir()
    for n in range(total):
        folder = Path(f"d{n % 7}", f"e{n % 31}")
        folder.mkdir(parents=True, exist_ok=True)
        if n % 40 == 0:
            rules = rng.choice(["*.log\n", "f1*\n!f1.txt\n", "/f2.md\n", "e1/\n**/f3*\n", "[a-f]4.py\n# no\n\n"])
            (folder / ".gitignore").write_text(rules)
        body = "".join(" ".join(rng.choices(words, k=6)) + rng.choice(["\n", "\r\n", "\n\n"]) for _ in range(12))
        (folder / f"f{n}.{rng.choice(['py', 'md', 'txt', 'log'])}").write_bytes(body.encode())
    for pattern in (
        *("alpha beta", r"class \w+ foo$", "你好 世界", r"(foo|bar) _x\b", r"^naïve", r"x1 .* x1 alpha"),
        *(r"\d+$", r"\bx\d (?:foo|bar)", "[A-Z]"),
    ):
        argv = [program, "--no-config", "--line-number", "--no-heading", "--crlf", "-e", pattern, "."]
        out = subprocess.run(argv, capture_output=True, check=False).stdout.decode()
        wanted = sorted(tuple(line.removeprefix("./").split(":", 2)) for line in out.splitlines())
        for path in (os.path.dirname(program), "/nowhere"):
            monkeypatch.setenv("PATH", path)
            assert _all(isolated, pattern) == wanted, pattern


def _all(root: Path, pattern: str) -> list[tuple[str, ...]]:
    import threading

    from aicli.workspace.listing import Listing
    from aicli.workspace.prefilter import candidates
    from aicli.workspace.root import Workspace
    from aicli.workspace.search import request, search

    workspace = Workspace(root)
    listing = Listing(workspace, workspace.real("."))
    ask = request(root, pattern, limit=10_000_000)
    likely = candidates(listing, ask, threading.Event(), 60)
    names = likely if likely is not None else listing.files()
    found = search(ask, names, limit=120)
    assert found.complete
    return sorted((line.path, str(line.number), line.text.rstrip("\r")) for line in found.lines)
