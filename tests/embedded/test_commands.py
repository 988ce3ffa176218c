"""`aicli models` and `aicli eval` as real processes, over the scripted server."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.process import aicli
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call


def task(folder: Path, name: str, prompt: str, **more: str) -> None:
    place = folder / name
    (place / "workspace").mkdir(parents=True)
    lines = [f"prompt = {json.dumps(prompt, ensure_ascii=False)}", *(f"{k} = {json.dumps(v)}" for k, v in more.items())]
    (place / "task.toml").write_text("\n".join(lines), encoding="utf-8")
    (place / "workspace" / "数据.txt").write_text("7\n", encoding="utf-8")


def test_tasks_run_in_copies_and_are_judged_by_their_effect(isolated: Path) -> None:
    task(isolated / "set", "good", "write it", check='test "$(cat out.txt)" = 7 && grep -q done "$AICLI_ANSWER"')
    task(isolated / "set", "wrong", "write it", check="test -f out.txt")
    task(isolated / "set", "asked", "what is in 数据.txt?", answer=r"\b7\b")
    replies = [
        "It holds 7.",
        [call("write_file", path="out.txt", content="7\n")],
        "done",
        "I did nothing",
    ]
    with ModelServer(replies) as server:
        ran = aicli("eval", "set", "--json", "-o", "report", "--need", "0.6", server=server)
        assert not server.violations
    assert ran.code == 0, ran
    report = json.loads(ran.out)
    assert report["schema_version"] == 1
    assert [(r["task"], r["passed"]) for r in report["runs"]] == [("asked", True), ("good", True), ("wrong", False)]
    assert report["runs"][2]["why"].startswith("the check ended with 1")
    (row,) = report["models"]
    assert (row["model"], row["runs"], row["passed"]) == ("openai:test-model", 3, 2)
    assert row["input_tokens"] > 0
    assert json.loads((isolated / "report" / "report.json").read_text("utf-8")) == report
    assert "2 of 3 passed (67%)" in (isolated / "report" / "report.md").read_text("utf-8")
    assert not (isolated / "set" / "good" / "workspace" / "out.txt").exists()
    assert [line.split()[0] for line in ran.err.splitlines() if line.startswith(("ok", "fail"))] == ["ok", "ok", "fail"]


def test_fewer_than_needed_pass_is_exit_1_and_two_models_are_two_columns(isolated: Path) -> None:
    task(isolated / "set", "one", "say 7", answer="7")
    with ModelServer(["7", "8"]) as server:
        ran = aicli("eval", "set/one", "-m", "openai:first", "-m", "openai:second", "-q", server=server)
    assert ran.code == 1
    assert "| one | pass" in ran.text
    assert "fail: the answer does not match 7" in ran.text
    assert ran.err == ""


def test_each_run_is_kept_beside_the_report_and_can_be_shown_again(isolated: Path) -> None:
    task(isolated / "set", "一", "write it", check="grep -q 7 out.txt")
    with ModelServer([[call("write_file", path="out.txt", content="7\n")], "done", "no"]) as server:
        ran = aicli("eval", "set", "-m", "openai:m", "--base-url", server.url, "-o", "rep", "--runs", "2")
        server.check()
    assert ran.code == 1 and "1 of 2" in ran.text
    assert sorted(f.name for f in (isolated / "rep" / "runs").iterdir()) == ["一_1.jsonl", "一_2.jsonl"]
    shown = aicli("replay", "rep/runs/一_1.jsonl")
    assert shown.code == 0 and "out.txt" in shown.text and shown.text.endswith("done\n")
    (isolated / "empty.jsonl").write_text("{}\n", encoding="utf-8")
    for name in ("nothere.jsonl", "empty.jsonl"):
        wrong = aicli("replay", name)
        assert wrong.code == 42 and wrong.err.count("\n") == 1 and name in wrong.err


def test_a_broken_task_or_an_empty_folder_is_one_line(isolated: Path) -> None:
    (isolated / "none").mkdir()
    ran = aicli("eval", "none")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    task(isolated / "set", "one", "say 7", answer="(")
    ran = aicli("eval", "set")
    assert ran.code == 42
    assert "task.toml: answer is no valid pattern" in ran.err
    task(isolated / "other", "two", "say 7", chek="true")
    ran = aicli("eval", "other")
    assert ran.code == 42
    assert "chek" in ran.err
    assert aicli("eval", "nowhere").code == 2


def test_models_lists_roles_with_reasons_and_providers_that_are_reachable(isolated: Path) -> None:
    with ModelServer([], models=["test-model", "other"]) as server:
        ran = aicli("models", "--json", server=server)
    assert ran.code == 0, ran
    found = json.loads(ran.out)
    roles = {row["role"]: row for row in found["roles"]}
    assert roles["fast"]["model"] == "openai:test-model"
    assert roles["embedding"]["why"]
    rows = {row["provider"]: row for row in found["providers"]}
    assert rows["openai"]["reachable"] is True
    assert rows["openai"]["models"] == ["test-model", "other"]
    assert [row["why"] for row in rows.values() if row["reachable"] is False and row["why"]]
    assert rows["embedded"]["reachable"] is False
    assert "aicli models pull embedded" in rows["embedded"]["why"] or "pip install" in rows["embedded"]["why"]
    plain = aicli("models")
    assert plain.code == 0
    assert plain.text.startswith("Roles\n")


def test_a_run_never_pulls_by_itself(isolated: Path) -> None:
    ran = aicli("agent", "run", "general", "say hi", env={"AICLI_USE_LOCAL_GENERATOR": "true"})
    assert ran.code == 52
    assert "aicli models pull embedded" in ran.err or "pip install" in ran.err


def test_only_the_embedded_model_is_pulled(isolated: Path) -> None:
    ran = aicli("models", "pull", "llama3")
    assert ran.code == 2
    assert "ollama pull" in ran.err


def test_where_no_run_could_begin_one_line_says_why(isolated: Path) -> None:
    for name in ("one", "two", "three"):
        task(isolated / "set", name, "say 7", answer="7")
    ran = aicli("eval", "set", env={"AICLI_USE_LOCAL_GENERATOR": "1", "XDG_CACHE_HOME": str(isolated)})
    assert ran.code == 52 and ran.out == b"" and len(ran.err.splitlines()) == 1, ran
