"""Under a Chinese locale people read Chinese: help, errors, tables, runs. Exit codes, JSON and the model's text stay."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from aicli.cli import app
from aicli.ui.cells import width
from tests.e2e.process import Ran, aicli, environment
from tests.support import terminal
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call

Here = Callable[..., Ran]
ZH = {"LANG": "zh_CN.UTF-8", "LC_ALL": "zh_CN.UTF-8"}
SENTENCE = re.compile(r"(?<![-\w./{])[a-z']{2,} [a-z']{2,} [a-z']{2,}\b")
TYPED = re.compile(r"`[^`]*`|aicli [a-z -]+|\([^)]*[*=][^)]*\)|'[^']*'|\$\(.*?\)")
"""What a person types or what is quoted, not what is said."""


@pytest.fixture(autouse=True)
def alike_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AICLI_SANDBOX__MODE", "off")  # what is said of a sandbox depends on the machine


def english(text: str) -> list[str]:
    return SENTENCE.findall(TYPED.sub("", text))


def chinese(text: str) -> bool:
    return re.search("[\u4e00-\u9fff]", text) is not None and not english(text)


def pages() -> Iterator[tuple[str, str]]:
    """(command line, its help) of every command there is."""

    def walk(command: Any, ctx: Any) -> Iterator[tuple[str, str]]:
        yield ctx.command_path, command.get_help(ctx)
        for name in command.list_commands(ctx) if hasattr(command, "list_commands") else ():
            below = command.get_command(ctx, name)
            yield from walk(below, below.context_class(below, info_name=name, parent=ctx))

    root: Any = get_command(app)
    return walk(root, root.context_class(root, info_name="aicli"))


@pytest.mark.parametrize("columns", [40, 80])
def test_every_help_page_is_chinese_and_fits(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv("COLUMNS", str(columns))
    found = dict(pages())
    assert len(found) > 40 and {"aicli", "aicli agent run", "aicli sessions prune"} <= set(found)
    for path, text in found.items():
        assert text.startswith(f"用法：{path}"[:columns]) or columns == 40, text
        assert english(text) == [], (path, english(text), text)
        long = [row for row in text.split("\n") if width(row) >= columns and not re.fullmatch(r" *\S+( \S+)?", row)]
        assert long == [], (path, long)


def test_without_a_chinese_locale_nothing_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = dict(pages())
    assert not any(re.search("[\u4e00-\u9fff]", text) for text in found.values())
    monkeypatch.setenv("AICLI_UI__LANGUAGE", "zh")
    assert chinese(dict(pages())["aicli undo"])


ERRORS = [
    (["--bad"], 2, "没有选项 --bad。见 aicli --help"),
    (["chatt"], 2, "没有命令 'chatt'。是不是 chat？"),
    (["agent", "run"], 2, "缺少参数 'AGENT'"),
    (["agent", "foo"], 2, "没有命令 'foo'"),
    (["sessions", "list", "-n", "0"], 2, "'--limit' / '-n' 的值无效：至少应为 1"),
    (["sessions", "list", "-n", "x"], 2, "应为整数"),
    (["config", "get"], 2, "缺少参数 'KEY'"),
    (["config", "get", "a", "b"], 2, "多余的参数（b）"),
    (["config", "show", "--json=3"], 2, "选项 '--json' 不带值"),
    (["config", "get", "modls.fast"], 2, "没有设置 'modls.fast'。是不是 models.fast？"),
    (["config", "set", "limits.max_turns", "0"], 2, "limits.max_turns 至少应为 1，而不是 0"),
    (["config", "set", "permissions.mode", "x"], 2, "应为 plan、default、accept-edits、dont-ask、bypass 之一"),
    (["config", "import", "none.json"], 42, "无法读取 none.json：没有那个文件或文件夹"),
    (["sessions", "show", "zz"], 42, "没有会话 'zz'。见：aicli sessions list"),
    (["replay", "zz"], 42, "没有会话 'zz'"),
    (["undo"], 1, "这里没有可撤回的内容"),
    (["plan", "show", "zz"], 2, "没有计划 'zz'"),
    (["tools", "zz"], 2, "没有工具 'zz'"),
    (["agent", "show", "zz"], 2, "没有名为 'zz' 的智能体"),
    (["completion", "zz"], 2, "没有 'zz' 的补全"),
    (["eval", "."], 2, "中没有 task.toml"),
    (["models", "pull", "zz"], 2, "只能下载内置模型，不能下载 'zz'"),
    (["models", "probe", "zz:m"], 42, "没有提供方 'zz'；写成 provider:model"),
    (["permissions", "list", "--mode", "zz"], 2, "没有权限模式 'zz'"),
    (["prompt", "hi", "-m", "openai:m", "--base-url", "http://127.0.0.1:9/v1"], 75, "无法连接 http://127.0.0.1:9"),
    (["prompt", "hi", "-m", "anthropic:m"], 41, "没有 anthropic 的密钥。请设置环境变量 ANTHROPIC_API_KEY"),
    (["agent", "run", "general", "hi", "--resume", "zz"], 42, "没有会话 'zz'"),
    (["agent", "run", "general", "hi", "--max-wall-time", "xx"], 2, "'xx' 不是时间"),
    (["agent", "run", "general", "hi", "--json-schema", "{"], 42, "不是 JSON：第 1 行第 2 列应为双引号中的名称"),
    (["agent", "run", "general", "hi", "--replay", "zz"], 42, "没有录制文件 zz"),
    (["agent", "run", "general", "hi", "--allowed-tools", "shell(a * b)"], 2, "* 只能是最后一个词"),
    (["agent", "run", "general"], 2, "没有任务。请直接写出，或用管道给出"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), ERRORS, ids=[" ".join(row[0]) for row in ERRORS])
def test_errors_are_chinese_with_the_same_exit_code(here: Here, arguments: list[str], code: int, said: str) -> None:
    told = here(*arguments, env=ZH)
    assert said in told.err and told.code == code, told
    assert told.err.splitlines()[-1].startswith("aicli: ")
    assert english(told.err) == [], told.err
    plain = here(*arguments)
    assert plain.code == code and not re.search("[\u4e00-\u9fff]", plain.err), plain


def test_errors_of_the_settings_name_their_line(here: Here, isolated: Path) -> None:
    file = isolated.parent / "home" / "config" / "aicli" / "config.toml"
    file.parent.mkdir(parents=True)
    for text, said in (
        ("[models]\nfsat = 1\n", f"{file}:2：没有设置 'models.fsat'。是不是 models.fast？"),
        ("[limits]\nmax_turns = 0\n", f"{file}:2：limits.max_turns 至少应为 1，而不是 0"),
        ("[limits\n", f"{file}:1：表头的末尾应有 ]：[limits。用 aicli config edit 改正"),
    ):
        file.write_text(text)
        told = here("config", "show", env=ZH)
        assert told.code == 52 and said in told.err, told.err
    file.unlink()
    told = here("config", "show", env={**ZH, "AICLI_OFFLINE": "maybe"})
    assert told.code == 52 and "AICLI_OFFLINE：offline 应为 true 或 false，而不是" in told.err, told.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["doctor", "--no-probe"], ["正常  密钥", "无（本地模型不需要）"]),
        (["agent", "list"], ["完成整个任务"]),
        (["tools"], ["以文本抓取公开网页", "也叫"]),
        (["config", "show"], ["设置文件  ", "未设置  (默认)"]),
        (["config", "explain", "ui.bell"], ["智能体等待而你在看别处时的提示方式", "现在", "变量"]),
        (["permissions", "list"], ["没有规则：由模式决定"]),
        (["permissions", "test"], ["0 条规则可以读懂"]),
        (["permissions", "explain", "curl x; ls"], ["它会执行命令", "由最严格的部分决定"]),
        (["sessions", "list"], ["还没有会话"]),
        (["sessions", "search", "x"], ["没有会话出现过它"]),
        (["undo", "--list"], ["这里没有运行修改过文件"]),
        (["diff"], ["这里没有修改"]),
        (["plan", "list"], ["这里还没有计划"]),
        (["completion", "zsh", "--line", "aicli un"], ["undo:逐轮撤回一次运行对文件的修改"]),
    ],
)
def test_tables_are_chinese_and_their_json_is_not(here: Here, arguments: list[str], said: list[str]) -> None:
    told = here(*arguments, env=ZH)
    shown = told.text + told.err
    assert all(text in shown for text in said), shown
    assert english(shown) == [], shown
    if arguments[0] in ("config", "agent", "tools") and "explain" not in arguments:
        assert json.loads(here(*arguments, "--json", env=ZH).text) == json.loads(here(*arguments, "--json").text)


def test_machines_and_the_model_read_english(here: Here) -> None:
    replies: list[Any] = [[call("read_file", path="none.txt"), call("shell", command="touch x")], ["done"]]

    def ran(*flags: str, env: dict[str, str]) -> tuple[Ran, list[Any]]:
        with ModelServer(replies) as server:
            done = here("agent", "run", "general", "go", *flags, server=server, env=env)
            return done, [request.body for request in server.requests]

    told, asked = ran(env=ZH)
    english_told, english_asked = ran(env={})
    assert json.dumps(asked[1]["messages"][2:]) == json.dumps(english_asked[1]["messages"][2:])
    assert told.code == english_told.code == 0 and told.text == english_told.text
    assert re.search(r"失败 +读取 +none.txt", told.err) and re.search(
        r"拒绝 .*这里不询问任何人：可用 --allowed-tools", told.err
    )
    assert "2 次调用，2 次失败" in told.err and english(told.err) == [], told.err

    lines = [ran("--output-format", "stream-json", env=env)[0].lines for env in (ZH, {})]
    assert [_still(line) for line in lines[0]] == [_still(line) for line in lines[1]]
    failed = [here("prompt", "hi", "--json", "-m", "anthropic:m", env=env) for env in (ZH, {})]
    assert _still(json.loads(failed[0].text)) == _still(json.loads(failed[1].text))


def _still(value: Any) -> Any:
    """Without ids and times."""
    if isinstance(value, dict):
        changing = re.compile(r"(?:.*_)?(?:id|uuid|ms|seconds|time|at)$")
        return {k: _still(v) for k, v in value.items() if not changing.fullmatch(k)}
    return [_still(v) for v in value] if isinstance(value, list) else value


def test_what_a_run_left_is_told_in_chinese(here: Here) -> None:
    replies: list[Any] = [[call("write_file", path="一.txt", content="1\n")], ["好了。"]]
    with ModelServer(replies) as server:
        assert here("agent", "run", "general", "写", "--yolo", server=server, env=ZH).code == 0
    listed = here("sessions", "list", env=ZH).text
    assert re.search(r"刚刚 +2 轮  写", listed), listed
    shown = here("sessions", "show", listed.split()[0], env=ZH).text
    assert "## 你\n" in shown and "## 智能体\n" in shown and "· 2 轮" in shown and "会话 " in shown
    assert re.search(r"第 1 轮\n    新建  一.txt", here("undo", "--list", env=ZH).text)
    assert here("undo", env=ZH).text == "已撤回 1 轮：\n  移除：一.txt\n"
    assert "(已撤回)" in here("undo", "--list", env=ZH).text
    assert here("undo", "--redo", env=ZH).text == "已重做 1 轮：\n  恢复：一.txt\n"
    assert "跳过" not in here("replay", listed.split()[0], env=ZH).err


def test_english_loads_nothing_for_another_language() -> None:
    code = (
        "import sys\nfrom aicli.__main__ import main\n"
        "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, "--help"], env=environment(), capture_output=True, text=True)
    loaded = set(done.stderr.split())
    assert done.returncode == 0 and "aicli.cli" in loaded
    assert not loaded & {"aicli.ui.translate", "aicli.ui.help_page", "aicli.ui.words", "aicli.ui.cells", "tomllib"}


def test_the_real_process(isolated: Path) -> None:
    done = aicli("undo", "--help", env=ZH)
    assert done.code == 0 and "逐轮撤回一次运行对文件的修改" in done.text and english(done.text) == []
    done = aicli("undo", env=ZH)
    assert (done.code, done.err) == (1, "aicli: 这里没有可撤回的内容。aicli undo --list 显示修改了什么\n")


@pytest.mark.skipif(os.name == "nt", reason="needs a pty")
def test_approval_and_last_line_on_a_terminal() -> None:
    replies: list[Any] = [[call("shell", command="touch made")], ["好了。"]]
    with ModelServer(replies) as server, terminal.aicli("agent", "run", "general", "做", server=server, env=ZH) as tty:
        tty.until("允许一次")
        assert "询问原因：" in tty.text and english(tty.text.split("询问原因：")[1].split("\n")[0]) == []
        tty.send("y")
        assert tty.wait() == 0
        assert "✓ 完成 · 1 次调用" in tty.text, tty.text


def test_a_limit_is_told_in_chinese_on_the_last_line() -> None:
    replies = [[call("shell", command=f"echo {n}")] for n in range(3)]
    flags = ("--yolo", "--max-turns", "1")
    with ModelServer(replies) as server:
        with terminal.aicli("agent", "run", "general", "做", *flags, server=server, env=ZH) as tty:
            assert tty.wait() == 53
            shown = re.sub(r"\s+", "", tty.text)
        assert "✗提前结束：1轮后停止：达到本次运行的上限" in shown and "用--max-turns提高上限" in shown, tty.text
