"""Odd streams, paths, addresses and schemas: each has its own exit code and a result that agrees."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from aicli import paths
from tests.e2e.process import Ran, aicli, finish, start
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call

Here = Callable[..., Ran]
JSON = ("--output-format", "json")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_stderr_changes_no_exit_code() -> None:
    with ModelServer(["hello"]) as server, open("/dev/full", "w") as full:
        ran = aicli("prompt", "hi", *JSON, server=server, stderr=full)
    assert ran.code == 0 and ran.result("json")["result"] == "hello"


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_pipe_that_never_waits_loses_nothing_of_a_long_answer() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    with ModelServer(["x" * 500_000]) as server:
        process = start("prompt", "hi", server=server, stdout=write)
        os.close(write)
        with open(read, "rb") as pipe:
            assert len(pipe.read()) == 500_001
        assert finish(process).code == 0


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_signals_one_upon_the_other_print_no_traceback() -> None:
    with ModelServer([[call("shell", command="trap '' TERM INT; sleep 60")], "done"]) as server:
        args = ("agent", "run", "general", "go", "--yolo", "--output-format", "stream-json")
        process = start(*args, server=server)
        assert process.stdout is not None
        lines = b""
        while b"tool_use" not in lines:
            lines += process.stdout.readline()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
        ran = finish(process)
    assert ran.code in (130, 143) and "Traceback" not in ran.err
    assert Ran(ran.code, lines + ran.out, ran.err).result("stream-json")["subtype"] == "cancelled"


@pytest.mark.parametrize("flag", ["-o", "--log-http", "--record", "--replay", "--output-schema", "-C", "--add-dir"])
def test_a_name_too_long_for_the_disk_is_the_users_fault(flag: str, here: Here, tmp_path: Path) -> None:
    ran = here("prompt", "hi", *JSON, flag, str(tmp_path / ("n" * 300)))
    assert ran.code in (2, 42) and ran.code == (2 if flag in ("-C", "--add-dir") else 42), ran
    ran.result("json")


@pytest.mark.parametrize("url", ["http://[::1", "http://x:99999", "http://x:abc", "http://" + "x" * 300 + ".com", "::"])
def test_an_address_that_is_none_is_a_fault_of_the_settings(url: str, here: Here) -> None:
    ran = here("prompt", "hi", *JSON, env={"AICLI_BASE_URL": url, "AICLI_MODELS__FAST": "openai:x"})
    assert ran.code == 52, ran
    assert "no usable address" in ran.result("json")["error"]["message"]


@pytest.mark.parametrize(
    "schema", ['{"$ref": "http://127.0.0.1:1/x"}', '{"$ref": "#/definitions/none"}', '{"$ref": "#"}', '{"not":' * 3000]
)
def test_a_schema_that_leads_nowhere_is_the_users_fault(schema: str, here: Here) -> None:
    with ModelServer(["{}"]) as server:
        ran = here("prompt", "hi", *JSON, "--json-schema", schema, server=server)
    assert ran.code == 42, ran
    ran.result("json")


def test_an_answer_nested_beyond_reason_fails_its_schema(here: Here) -> None:
    with ModelServer(["[" * 5000 + "]" * 5000] * 3) as server:
        ran = here("prompt", "hi", *JSON, "--json-schema", "{}", server=server)
    assert (ran.code, ran.result("json")["subtype"]) == (1, "error_schema")


def test_an_empty_id_resumes_nothing_and_says_so(here: Here) -> None:
    ran = here("prompt", "hi", "--resume", "", *JSON)
    assert (ran.code, ran.result("json")["subtype"]) == (2, "error_usage")


def test_what_a_tool_prints_is_no_part_of_the_output(here: Here) -> None:
    folder = paths.config_folder() / "tools"
    folder.mkdir(parents=True)
    code = 'from aicli import ToolKind, tool\n\n\n@tool(kind=ToolKind.READ)\ndef loud() -> str:\n    """Loud."""\n'
    (folder / "loud.py").write_text(code + '    print("noise")\n    return "quiet"\n')
    with ModelServer([[call("loud")], "done"]) as server:
        ran = here("agent", "run", "general", "go", "--output-format", "stream-json", server=server)
    assert ran.code == 0 and ran.result("stream-json")["result"] == "done"
    assert "noise" in ran.err and b"noise" not in ran.out
