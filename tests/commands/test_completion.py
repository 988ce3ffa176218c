"""Completion: what could come next, and real shells that take their script and complete with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from aicli import paths
from aicli.cli import app, run
from aicli.commands._complete import candidates
from aicli.commands._typed import for_bash, for_powershell, offerable
from aicli.commands._typed import typed as read
from aicli.commands.completion import SCRIPTS
from tests.support.screen import Tty

ROOT = Path(__file__).parents[2]
PROGRAM = get_command(app)


def offered(line: str) -> list[str]:
    return [value for value, _ in candidates(PROGRAM, line)[1]]


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("aicli ", ["chat", "agent", "config", "sessions"]),
        ("aicli agent ", ["list", "show", "run", "interactive"]),
        ("aicli agent run ", ["general", "explore", "plan", "code"]),
        ("aicli agent interactive ex", ["explore"]),
        ("aicli chat --agent pl", ["plan"]),
        ("aicli agent run --permission-mode ", ["plan", "default", "accept-edits", "dont-ask", "bypass"]),
        ("aicli prompt --output-format ", ["text", "json", "stream-json"]),
        ("aicli prompt --output-format=js", ["--output-format=json"]),
        ("aicli prompt --tools ", ["read", "all", "none"]),
        ("aicli config set ", ["models.fast", "permissions.mode", "ui.language"]),
        ("aicli config get ui.la", ["ui.language"]),
        ("aicli config set sandbox.mode ", ["auto", "required", "off"]),
        ("aicli config set ui.plain ", ["true", "false"]),
        ("aicli config set permissions.mode acc", ["accept-edits"]),
        ("aicli config set models.fast olla", ["ollama:"]),
        ("aicli chat --model ", ["fast", "thinking", "ollama:", "anthropic:"]),
        ("aicli tools rea", ["read_file", "read_many_files"]),
        ("aicli plan ", ["enter", "list", "show", "exit"]),
        ("aicli completion ", ["bash", "zsh", "fish", "powershell"]),
        ("aicli doctor --m", ["--model"]),
        ("aicli --v", ["--version"]),
    ],
)
def test_what_could_come_next(line: str, some: list[str]) -> None:
    found = offered(line)
    assert set(some) <= set(found), found
    assert all(value.startswith(line.rpartition(" ")[2]) for value in found)


@pytest.mark.parametrize(
    "line",
    [
        "aicli agent run general ",
        "aicli agent run --output ",
        "aicli menu ",
        "aicli prompt hel",
        "aicli agent run x -- --",
    ],
)
def test_where_anything_may_come_nothing_is_offered(line: str) -> None:
    """The shell then offers files."""
    assert offered(line) == []


def test_hidden_things_are_not_offered() -> None:
    assert "menu" not in offered("aicli ") and "info" not in offered("aicli agent ")
    assert "--continuous" not in offered("aicli chat --")


def test_an_open_quote_and_blanks_are_read_as_a_shell_reads_them() -> None:
    assert offered("aicli  agent   run 'exp") == ["explore"]
    assert offered('aicli prompt --prompt "two words" --output-format ') == ["text", "json", "stream-json"]
    assert offered(r"aicli prompt -p a\ b --output-format t") == ["text"]


def test_folders_where_a_folder_is_wanted() -> None:
    Path("项目").mkdir()
    Path("file.txt").touch()
    assert offered("aicli chat --cwd ") == ["项目/"]


def test_own_agents_plans_and_kept_sessions() -> None:
    own = paths.config_folder() / "agents"
    own.mkdir(parents=True)
    (own / "reviewer.md").write_text('+++\ndescription = "Reviews."\n+++\nReview.\n')
    assert ("reviewer", "Reviews.") in candidates(PROGRAM, "aicli agent run re")[1]
    plans = paths.project_folder(Path.cwd()) / "plans"
    plans.mkdir(parents=True)
    (plans / "20300101-000000-问候.md").write_text("# Plan: 问候\n")
    assert candidates(PROGRAM, "aicli plan show ")[1] == [("20300101-000000-问候", "问候")]


def test_kept_sessions_with_what_was_asked() -> None:
    assert offered("aicli chat --resume ") == []
    subprocess.run(
        [sys.executable, "-m", "aicli", "prompt", "--session-id", "tea-talk", "-q", "is tea 茶 good?"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "AICLI_MODELS__FAST": "openai:m",
            "AICLI_BASE_URL": "http://127.0.0.1:9",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert candidates(PROGRAM, "aicli sessions show ")[1] == [("tea-talk", "is tea 茶 good?")]
    assert offered("aicli replay t") == offered("aicli chat -r ") == ["tea-talk"]


def test_an_unknown_shell() -> None:
    assert run(["completion", "tcsh"]) == 2


def test_commands_and_options_load_nothing_heavy() -> None:
    code = (
        "import sys\nfrom typer.main import get_command\nfrom aicli.cli import app\n"
        "from aicli.commands._complete import candidates\nroot = get_command(app)\n"
        "assert candidates(root, 'aicli ag')[1] and candidates(root, 'aicli agent run --mo')[1]\n"
        "assert candidates(root, 'aicli prompt --output-format ')[1]\n"
        "print([m for m in ('pydantic', 'asyncio', 'httpx', 'rich', 'prompt_toolkit') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


# -- real shells


@pytest.fixture
def shell_env(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which `aicli` is this program."""
    program = tmp_path / "bin" / "aicli"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m aicli "$@"\n')
    program.chmod(0o755)
    yield {
        **os.environ,
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PS1": "> ",
        "PROMPT": "> ",
        "ZDOTDIR": str(tmp_path),
    }


def needs(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed: its completion script was not tried")


def bash(env: dict[str, str], *lines: str) -> list[list[str]]:
    """COMPREPLY for each line, by the function that the script made known to bash."""
    script = 'eval "$(aicli completion bash)"\ncomplete -p aicli >&2\n'
    script += 'try() { COMP_LINE=$1; COMP_POINT=${#1}; _aicli aicli; printf "%s\\n" "${COMPREPLY[@]}" --; }\n'
    script += "".join(f"try '{line}'\n" for line in lines)
    done = subprocess.run(["bash", "--norc", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert "-F _aicli aicli" in done.stderr
    return [part.split() for part in done.stdout.split("--\n")[:-1]]


def test_bash_sources_its_script_and_completes(shell_env: dict[str, str]) -> None:
    agents, mode, models, none = bash(
        shell_env,
        "aicli agent run ",
        "aicli chat --permission-mode=b",
        "aicli chat --model anthropic:claude-h",
        "aicli agent run general ",
    )
    assert {"general", "explore"} <= set(agents)
    assert mode == ["bypass"]
    assert models == ["claude-haiku-4-5"]  # bash has taken the part before the colon for a word of its own
    assert none == []


def typed(shell: list[str], env: dict[str, str], tmp_path: Path, begin: str, steps: list[tuple[str, str]]) -> None:
    """Keys in a real interactive shell, and what its line must become."""
    with Tty(shell, env=env, columns=100, cwd=tmp_path) as tty:
        tty.send(begin + "\n")
        tty.until(lambda: "\nready-to-go\n> " in tty.text + " ")
        for keys, line in steps:
            tty.send("\x15" + keys)
            tty.until(lambda line=line: any(row.endswith(f"> {line}") for row in tty.lines))  # type: ignore[misc]
        tty.send("\x15exit\n")
        tty.wait()


STEPS = [
    ("aicli ag\tru\tex\t", "aicli agent run explore"),
    ("aicli chat --model anthropic:claude-h\t", "aicli chat --model anthropic:claude-haiku-4-5"),
    ("aicli config get ui.lan\t", "aicli config get ui.language"),
]


def test_a_person_at_bash_completes_with_tab(shell_env: dict[str, str], tmp_path: Path) -> None:
    begin = 'eval "$(aicli completion bash)"; echo ready-"to"-go'
    typed(["bash", "--norc", "--noprofile", "-i"], shell_env, tmp_path, begin, STEPS)


def test_a_person_at_zsh_completes_with_tab(shell_env: dict[str, str], tmp_path: Path) -> None:
    needs("zsh")
    begin = 'autoload -Uz compinit; compinit -D -u; eval "$(aicli completion zsh)"; echo ready-"to"-go'
    typed(["zsh", "-f", "-i"], shell_env, tmp_path, begin, STEPS)


def test_fish_completes(shell_env: dict[str, str]) -> None:
    needs("fish")
    (Path.cwd() / "notes.md").touch()
    script = (
        "aicli completion fish | source; complete -C 'aicli agent run '; echo ===; complete -C 'aicli chat --sandbox=r'"
    )
    script += "; echo ===; complete -C 'aicli prompt not'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script], env=shell_env, capture_output=True, text=True, check=True
    )
    agents, sandbox, files = (part.split("\n") for part in done.stdout.split("===\n", 2))
    assert any(row.startswith("explore\tAnswers") for row in agents)
    assert sandbox[0] == "--sandbox=required"
    assert files[0] == "notes.md"


HOSTILE = ("$(touch PWN)", "`touch PWN2`", "a'b\"c;touch PWN;", "z&touch PWN3&", "我的 项目", "~", "*", "!x", "-C")
UNOFFERED = ("n\nl", "t\tb", "e\x1b[2Jc", "r\u202el", "c\x85d")


@pytest.mark.skipif(sys.platform == "win32", reason="such names can't be made there")
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_bash_reads_each_name_as_it_is(tmp_path: Path, quote: str) -> None:
    """A word is completed to what bash then takes for the name and nothing else, whatever quote is open in it."""
    names = [
        name
        for name in (*HOSTILE, "\\", "a\\b", "$HOME", "{a,b}", "x=y:z", "=", "#")
        if quote != '"' or "!" not in name
    ]
    ends = "".join(f"printf '%s\\n' {quote}{for_bash(name, read(f'aicli eval {quote}'))}{quote}\n" for name in names)
    done = subprocess.run(["bash", "--norc"], input=ends, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.splitlines() == names and not list(tmp_path.glob("PWN*"))
    assert for_bash("!x", read('aicli eval "')) == ""


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("aicli eval x=", "y\\ z/"),
        ("aicli eval 'x=", "x=y z/"),
        ('aicli eval x="', "y z/"),
        ("aicli eval x\\=", "x=y\\ z/"),
        ("aicli 'a b' x=y\\ ", "y\\ z/"),
        ("aicli eval 'x='", "x=y\\ z/"),
    ],
)
def test_bash_completes_behind_a_break_or_an_open_quote(line: str, row: str) -> None:
    assert for_bash("x=y z/", read(line)) == row
    assert "x=y z/".startswith(read(line).current)


def test_powershell_gets_its_own_quotes() -> None:
    assert for_powershell("ollama:qwen3") == "ollama:qwen3" and for_powershell("项目/") == "项目/"
    assert for_powershell("$(calc)/") == "'$(calc)/'" and for_powershell("a'b’c") == "'a''b’’c'"


def test_names_that_would_act_on_a_terminal_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    if sys.platform != "win32":
        for name in (*HOSTILE, *UNOFFERED):
            Path(name).mkdir()
    assert not any(map(offerable, UNOFFERED)) and all(map(offerable, HOSTILE)) and offerable("全\u3000角")
    for shell in SCRIPTS:
        run(["completion", shell, "--line", "aicli eval "])
        out = capsys.readouterr().out
        assert not {"\x1b", "\t", "\u202e", "\x85"} & set(out) and "l/" not in out.split("\n") and "-C/" not in out
        assert "项目/" in out


def named(shell: list[str], env: dict[str, str], folder: Path, begin: str, keys: list[str]) -> str:
    """What the shell takes the completed lines for: each is echoed instead of run."""
    for name in HOSTILE:
        (folder / name).mkdir()
    with Tty(shell, env=env, columns=100, cwd=folder) as tty:
        tty.send(begin + "\n")
        tty.until(lambda: "\nready-to-go" in tty.text)
        for key in keys:
            before = tty.text
            tty.send(f"aicli eval {key}\t")
            tty.until(lambda before=before: "/" in tty.text.replace(before, "").rpartition("eval ")[2])  # type: ignore[misc]
            tty.send("\x01echo : \x05" + (key[0] if shell[0] != "bash" and key[0] in "'\"" else "") + "\r")
            tty.until(lambda key=key: tty.text.count("\n: aicli eval") > keys.index(key))  # type: ignore[misc]
        text = tty.text
        tty.send("exit\n")
        tty.wait()
    assert not list(folder.glob("**/PWN*"))
    return text


KEYS = ["\\$", "\\`", "a", "z", "我", "'$", "'我", '"我', '"\\$']


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_tab_runs_nothing_and_leaves_the_name(shell_env: dict[str, str], tmp_path: Path, shell: str) -> None:
    needs(shell)
    folder = tmp_path / "hostile"
    folder.mkdir()
    argv, begin = {
        "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(aicli completion bash)"'),
        "zsh": (["zsh", "-f", "-i"], 'autoload -Uz compinit; compinit -D -u; eval "$(aicli completion zsh)"'),
        "fish": (["fish", "--no-config", "-i"], "aicli completion fish | source"),
    }[shell]
    text = named(argv, shell_env, folder, begin + '; echo ready-"to"-go', KEYS)
    for name in ("$(touch PWN)", "`touch PWN2`", "a'b\"c;touch PWN;", "z&touch PWN3&", "我的 项目"):
        assert f"\n: aicli eval {name}/" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_good_syntax(shell: str) -> None:
    needs(shell)
    subprocess.run([shell, "-n"], input=SCRIPTS[shell], text=True, check=True)


def test_it_is_quick(shell_env: dict[str, str]) -> None:
    began = time.monotonic()
    subprocess.run(
        ["aicli", "completion", "bash", "--line", "aicli ag"], env=shell_env, check=True, capture_output=True
    )
    assert time.monotonic() - began < 3
