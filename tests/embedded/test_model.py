"""The real engine and the real model: real calls, cancelling by closing, a quick second start."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from aicli.content.messages import Message
from aicli.content.request import FinishReason, ModelRequest
from aicli.content.stream import Assembler, Finished, TextDelta
from aicli.errors import ConfigError, InputError
from aicli.models.embedded import engine, grammar
from aicli.models.embedded.engine import Engine
from aicli.models.providers.embedded import EmbeddedModel
from tests.e2e.process import environment
from tests.embedded.test_steps import TOOLS, exchange

pytestmark = pytest.mark.timeout(600)


async def reply(model: EmbeddedModel, request: ModelRequest) -> tuple[Message, Finished]:
    assembler = Assembler("embedded")
    async with aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
        async for event in stream:
            assembler.feed(event)
    assert assembler.finish is not None
    return assembler.message(), assembler.finish


@pytest.mark.embedded
def test_a_task_becomes_a_real_call_and_a_closed_stream_leaves_the_engine_free(embedded_cache: Path) -> None:
    async def run() -> None:
        model = EmbeddedModel(embedded_cache)
        assert model.info.id == "embedded:qwen2.5-coder-1.5b"
        chat = ModelRequest(system="You count.", messages=(Message.user("Count from 1 to 500, in words."),))
        async with aclosing(model.stream(chat)) as stream:  # type: ignore[type-var]
            async for event in stream:
                assert isinstance(event, TextDelta)
                break
        ask = ModelRequest(messages=(Message.user("create hello.py that prints hello"),), tools=TOOLS)
        message, finish = await reply(model, ask)
        (call,) = message.calls
        assert (call.name, call.args["path"]) == ("write_file", "hello.py")
        assert "hello" in call.args["content"]
        assert finish.reason is FinishReason.TOOL_CALLS
        assert finish.usage.cache_read_input_tokens > 0.8 * finish.usage.input_tokens

    asyncio.run(run())
    engine.close_all()


@pytest.mark.embedded
@pytest.mark.soak
def test_the_second_start_finds_its_examples_read_and_its_first_word_soon(embedded_cache: Path) -> None:
    async def start() -> tuple[bool, float]:
        model = EmbeddedModel(embedded_cache)
        begin = time.monotonic()
        there = await model.warm()
        return there, time.monotonic() - begin

    first = asyncio.run(start())
    engine.close_all()
    second = asyncio.run(start())
    assert second[0]
    assert second[1] < max(first[1], 60)  # a guard against a hang, not a measurement


@pytest.mark.embedded
@pytest.mark.soak
def test_a_schema_forces_the_answer_and_odd_names_are_sayable(embedded_cache: Path) -> None:
    async def run() -> None:
        model = EmbeddedModel(embedded_cache)
        schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
        message, _ = await reply(
            model, ModelRequest(messages=(Message.user("What is 2 + 3? As JSON."),), output_schema=schema)
        )
        assert '"sum"' in message.text
        names = ('a "b".txt', "back\\slash.txt", "文件 一.md", "tab\there.py", "π/ünï.txt")
        lines = "\n".join(f'     {n}\tline {n}: "x\\y" é 你' for n in range(1, 50))
        read = exchange("read_file", lines, path=names[0])
        request = ModelRequest(
            messages=(Message.user("Change line 7 to say done"), *read), tools=TOOLS, paths=names, max_output_tokens=80
        )
        message, finish = await reply(model, request)
        assert message.calls or message.text
        assert finish.reason in (FinishReason.TOOL_CALLS, FinishReason.STOP, FinishReason.LENGTH)

    asyncio.run(run())


def needs_engine() -> None:
    if not engine.library_version():
        pytest.skip("the engine is not installed (pip install '.[embedded]')")


def test_a_file_that_is_no_model_is_one_clear_error(tmp_path: Path) -> None:
    needs_engine()
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + bytes(5_000))

    async def run() -> None:
        broken = Engine(file, window=512, slots=tmp_path)
        try:
            with pytest.raises(ConfigError, match="can't be loaded") as failed:
                await broken.ready()
            assert failed.value.exit_code == 52
        finally:
            broken.close()

    asyncio.run(run())


def test_waiting_for_the_engine_can_be_cancelled_and_its_process_ends_with_close(tmp_path: Path) -> None:
    needs_engine()
    fifo = tmp_path / "never.gguf"  # opening it blocks for good, as a slow disk would
    os.mkfifo(fifo)

    async def run() -> None:
        slow = Engine(fifo, window=512, slots=tmp_path)
        waiting = asyncio.create_task(slow.ready())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        child = slow._child
        assert child is not None
        slow.close()
        assert child.returncode is not None

    asyncio.run(run())


def test_another_name_is_refused_with_the_right_one(embedded_cache: Path) -> None:
    from aicli.models import registry
    from aicli.models.http import Http
    from aicli.models.provider import Link

    found = registry.provider("embedded")
    assert found is not None
    with pytest.raises(InputError) as failed:
        asyncio.run(found.model("llama-70b", Link(found, "", Http(), cache_dir=embedded_cache)))
    assert "embedded:qwen2.5-coder-1.5b" in failed.value.hint


def test_the_grammar_names_no_rule_that_is_not_there() -> None:
    built = grammar.Grammar()
    built.step("x", [("a", built.schema({"type": "array", "items": {"enum": ["é", 1, None]}}), True)])
    built.step("y", [("b", "boolean", False), ("c", built.schema({"type": "object", "properties": {}}), False)])
    built.edit("f", "one\ntwo")
    text = built.text()
    rules = {line.split(" ::= ")[0] for line in text.splitlines() if " ::= " in line}
    assert {"root", "string", "value"} <= rules
    for line in text.splitlines():
        if " ::= " in line:
            for word in _words(line.split(" ::= ", 1)[1]):
                assert word in rules, line


def _words(body: str) -> list[str]:
    """The rule names in a body: what is left without literals and character classes."""
    import re

    plain = re.sub(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]', " ", body)
    return re.findall(r"[a-z]\w*", plain)


@pytest.mark.embedded
@pytest.mark.soak
def test_the_engine_ends_with_a_program_that_is_killed(embedded_cache: Path) -> None:
    script = """
import asyncio, sys
from pathlib import Path
from aicli.models.providers.embedded import EmbeddedModel
model = EmbeddedModel(Path(sys.argv[1]))
asyncio.run(model.warm())
print(model._engine._child.pid, flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", script, str(embedded_cache)]
    program = subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout is not None and program.stdin is not None
    engine_pid = int(program.stdout.readline())
    program.kill()
    program.wait()
    program.stdout.close()
    program.stdin.close()
    until = time.monotonic() + 30
    while _alive(engine_pid):
        assert time.monotonic() < until
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
