"""Sessions of the real process: resumed, forked, kept through kill -9, twenty at once, on a full disk."""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aicli import paths
from aicli.content.messages import open_calls
from aicli.sessions.store import SessionStore
from tests.e2e.process import BOUND, Ran, aicli, finish, start
from tests.support.counts import count
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, text, usage

FOLDER_MODES = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no POSIX users here")


def store() -> SessionStore:
    return SessionStore(paths.state_folder() / "sessions")


def texts(body: dict) -> str:
    return json.dumps(body["messages"], ensure_ascii=False)


def test_a_resumed_session_goes_to_the_address_it_was_given_and_takes_no_key_there(here: Callable[..., Ran]) -> None:
    env = {"AICLI_BASE_URL": "", "AICLI_MODELS__FAST": "", "AICLI_API_KEY": "", "OPENAI_API_KEY": "sk-" + "k" * 40}
    with ModelServer(["one", "two", "three", "four", "five"]) as server, ModelServer(["six"]) as other:
        url = f"{server.url}/v1"
        assert here("prompt", "a", "-m", "openai:q", "--base-url", url, env=env).text == "one\n"
        for told in ("two\n", "three\n"):
            assert here("prompt", "b", "-c", env=env).text == told
        assert here("agent", "run", "general", "c", "-c", env={**env, "AICLI_API_KEY": "sk-other"}).text == "four\n"
        sent = [request.headers.get("authorization") for request in server.requests]
        assert here("prompt", "d", "-c", "--base-url", f"{other.url}/v1", env=env).text == "six\n"
        inside = url.replace("://", "://me:word@")
        assert here("prompt", "e", "-m", "openai:q", "--base-url", inside, env=env).text == "five\n"
    kept = b"".join(store().path(name).read_bytes() for name in store().ids())
    assert url.encode() in kept and b"me:word" not in kept
    assert "k" * 40 in str(sent[0]) and not any(sent[1:]), sent


def test_continue_resume_fork_and_ephemeral(isolated: Path, here: Callable[..., Ran]) -> None:
    with ModelServer(["one", "two", "three", "four", "five"]) as server:
        first = here("prompt", "first 一", "--json", server=server).result("json")["session_id"]
        second = here("prompt", "second", "-c", "--json", server=server).result("json")["session_id"]
        assert second == first and "first 一" in texts(server.bodies[1]) and "one" in texts(server.bodies[1])
        fork = here("prompt", "third", "-r", first[:6], "--fork-session", "--json", server=server).result("json")
        assert fork["session_id"] != first and "two" in texts(server.bodies[2])
        kept = store().ids()
        assert here("prompt", "fourth", "--ephemeral", server=server).code == 0
        assert store().ids() == kept
        (isolated / "elsewhere").mkdir()
        ran = here("prompt", "fifth", "-c", "-C", "elsewhere", server=server)
        assert ran.code == 0 and "no earlier session" in ran.err and "first" not in texts(server.bodies[4])
        assert server.violations == []
    assert [len(store().load(name).history) for name in (first, fork["session_id"])] == [4, 6]


def test_a_chosen_id_is_used_once(here: Callable[..., Ran]) -> None:
    with ModelServer(["one"]) as server:
        ran = here("prompt", "x", "--session-id", "my-id", "--json", server=server)
        assert ran.result("json")["session_id"] == "my-id"
        assert here("prompt", "x", "--session-id", "my-id", server=server).code == 2
        assert here("prompt", "x", "--session-id", "../x", server=server).code == 2
    assert store().ids() == ["my-id"]


def test_the_model_may_change_between_two_runs_of_a_session(here: Callable[..., Ran]) -> None:
    """Calls and results go over to another provider; ids are paired there too."""
    with ModelServer([[call("ls", path=".")], "seen", [text("and now"), usage(9_000)]]) as server:
        assert here("agent", "run", "general", "look", "--session-id", "s", server=server).code == 0
        env = {"AICLI_BASE_URL": server.url, "AICLI_MODELS__FAST": "ollama:test-model"}
        ran = here("agent", "run", "general", "again", "-r", "s", "-m", "ollama:test-model", server=server, env=env)
        assert (ran.code, ran.text) == (0, "and now\n"), ran
        assert server.violations == []


def test_bad_lines_and_empty_files_are_told(here: Callable[..., Ran]) -> None:
    with ModelServer(["one", "two", "three"]) as server:
        here("prompt", "x", "--session-id", "s", server=server)
        with store().path("s").open("ab") as file:
            file.write(b'garbage\n{"seq":9,"torn')
        ran = here("prompt", "y", "-r", "s", server=server)
        assert ran.code == 0 and "2 unreadable" in ran.err, ran
        store().path("empty").touch()
        ran = here("prompt", "y", "-r", "empty", server=server)
        assert ran.code == 0, ran
    assert store().path("s").with_suffix(".torn").read_bytes() == b'{"seq":9,"torn\n'


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is a POSIX matter")
def test_kill_9_at_any_moment_leaves_a_session_that_goes_on(isolated: Path, here: Callable[..., Ran]) -> None:
    chooser = random.Random(11)
    (isolated / "a.txt").write_text("a\n")
    steps = [[call("ls", path=".")], [call("read_file", path="a.txt"), call("ls", path=".")]]
    for n in range(count(3, 300)):
        moment = chooser.randrange(5)
        reached = threading.Event()

        def reply(body: dict, at: int, reached: threading.Event = reached, moment: int = moment) -> list:
            if at == moment:
                reached.set()
            return [*steps[at % 2], text("…")] if at < 4 else ["end"]

        replies = [lambda body, at=at, reply=reply: reply(body, at) for at in range(5)]
        with ModelServer([*replies, "resumed"]) as server:
            process = start("agent", "run", "general", "work", "--session-id", f"k{n}", server=server)
            assert reached.wait(BOUND)
            time.sleep(chooser.random() * 0.02)  # the moment, not a synchronisation
            process.kill()
            process.wait()
            restored = store().load(f"k{n}")
            assert open_calls(restored.history) == () and restored.skipped <= 1
            server._left = itertools.repeat("resumed")  # the dead process may have one request under way
            ran = here("agent", "run", "general", "go on", "-r", f"k{n}", server=server)
            assert (ran.code, ran.text) == (0, "resumed\n"), ran
            assert server.violations == []


def test_many_runs_in_one_folder_leave_as_many_whole_logs() -> None:
    number = count(3, 20)

    def reply(body: dict) -> list:
        if body["messages"][-1]["role"] == "tool":
            return [text("done")]
        return [call("memory", action="save", text=f"fact {body['messages'][-1]['content'][-40:]}")]

    with ModelServer([reply] * (2 * number)) as server:
        args = ("agent", "run", "general", "--allowed-tools", "memory")
        runs = [
            start(*args, f"remember number {n} of it", "--session-id", f"p{n}", server=server) for n in range(number)
        ]
        assert [finish(run).code for run in runs] == [0] * number
        assert server.violations == []
    for n in range(number):
        restored = store().load(f"p{n}")
        assert restored.skipped == 0 and restored.history[-1].text == "done"
    facts = (paths.config_folder() / "memory.md").read_text(encoding="utf-8")
    assert [f"number {n} of it" in facts for n in range(number)] == [True] * number


def _small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))


@pytest.mark.skipif(os.name == "nt", reason="no file size limits there")
def test_a_full_disk_is_told_once_and_the_answer_is_whole() -> None:
    with ModelServer([[call("ls", path="."), text("x" * 9_000)], "the answer"]) as server:
        ran = aicli("agent", "run", "general", "x", "--json", server=server, preexec_fn=_small_files)
    result = ran.result("json")
    assert ran.code == 1 and result["result"] == "the answer"
    assert result["subtype"] == "error_during_execution" and "session log" in result["error"]["message"]


@FOLDER_MODES
def test_a_home_that_cannot_be_written_is_a_warning(isolated: Path, here: Callable[..., Ran]) -> None:
    state = Path(os.environ["XDG_STATE_HOME"])
    state.parent.mkdir(exist_ok=True)
    state.write_text("not a folder")
    with ModelServer(["the answer"]) as server:
        ran = here("prompt", "x", "--json", server=server)
    result = ran.result("json")
    assert result["result"] == "the answer" and any("not kept" in w for w in result["warnings"]), ran


def test_model_mode_and_tasks_come_back(here: Callable[..., Ran]) -> None:
    steps = [{"text": "读", "status": "completed"}, {"text": "write"}]
    with ModelServer([[call("tasks", tasks=steps)], "one", "two"]) as server:
        args = ("--session-id", "s", "-m", "openai:another-model")
        assert here("agent", "run", "general", "first", *args, server=server).code == 0
        ran = here("agent", "run", "general", "second", "-c", "--output-format", "stream-json", server=server)
        assert server.bodies[2]["model"] == "another-model"
        updates = [line for line in ran.lines if line.get("subtype") == "init"]
        assert updates[0]["model"] == "openai:another-model"
        assert server.violations == []
    assert [(task.text, task.status) for task in store().load("s").tasks] == [("读", "completed"), ("write", "pending")]


def test_a_sub_agent_stands_in_the_log_and_the_stream_under_its_call(here: Callable[..., Ran]) -> None:
    def reply(body: dict) -> list:
        said = texts(body)
        if body["messages"][-1]["role"] == "tool":
            return [
                text("the report" if "look around" in said and "delegate it" not in said else "the end"),
                usage(9_000, 2),
            ]
        if "delegate it" in said:
            return [call("agent", _id="p1", type="explore", task="look around"), usage(9_000, 2)]
        return [call("ls", path="."), usage(9_000, 2)]

    with ModelServer([reply] * 4) as server:
        args = ("--session-id", "s", "--output-format", "stream-json")
        ran = here("agent", "run", "general", "delegate it", *args, server=server)
        assert server.violations == []
    result = ran.result("stream-json")
    assert result["result"] == "the end" and result["num_turns"] == 2 and result["usage"]["input_tokens"] == 36_000
    nested = [line for line in ran.lines if line.get("parent_tool_use_id") == "p1"]
    assert [line["type"] for line in nested] == ["user", "assistant", "user", "assistant"]
    restored = store().load("s")
    assert len(restored.history) == 4 and "the report" in restored.history[2].responses[0].text


def test_a_cap_holds_for_sub_agents_too(here: Callable[..., Ran]) -> None:
    def reply(body: dict) -> list:
        if "delegate it" in texts(body):
            return [call("agent", type="explore", task="look around"), usage(400, 2)]
        return [call("ls", path="."), usage(400, 2)]

    with ModelServer([reply] * 9) as server:
        ran = here("agent", "run", "general", "delegate it", "--max-tokens", "1000", "--json", server=server)
        assert ran.result("json")["subtype"] == "error_max_tokens", ran
        assert len(server.requests) == 3
