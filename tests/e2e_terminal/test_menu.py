"""The menu of a bare aicli, each entry through the real program; first run and trust."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import golden
from tests.support.counts import some
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call
from tests.support.terminal import aicli, prompt

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("key", some(["\x1b", "q", "\x03", "\x04"], 2))
def test_leaving_is_exit_0_and_leaves_nothing_behind(key: str) -> None:
    with ModelServer([]) as server, aicli(server=server) as tty:
        tty.until("ready")
        tty.send(key)
        assert tty.wait() == 0 and tty.stty_back and tty.text == ""


def test_enter_is_chat_here_and_a_sentence_is_the_first_question() -> None:
    with ModelServer([["An answer."]]) as server, aicli(server=server) as tty:
        tty.until("ready")
        tty.send("also try 1 or 2\r")
        tty.until("An answer.")
        prompt(tty)
        assert "also try 1 or 2" in str(server.requests[0].body)
        tty.send("/quit\r")
        assert tty.wait() == 0


def test_another_folder_then_one_question_there(isolated: Path) -> None:
    (isolated / "项目").mkdir()
    with ModelServer([["The answer is 42."]]) as server, aicli(server=server) as tty:
        tty.until("ready")
        tty.send("2")
        tty.until("which folder?")
        tty.send("nowhere\r")
        tty.until("there is no folder nowhere")
        tty.quiet(0.8)
        tty.send("2")
        tty.until("which folder?")
        tty.send("项目\r")
        tty.until(lambda: "work/项目" in tty.text and "another folder" in tty.text)
        tty.quiet(0.8)
        tty.send("p")
        tty.until("the question:")
        tty.send("what is it?\r")
        assert tty.wait() == 0
        assert "The answer is 42." in tty.text
        assert "work/项目" in str(server.requests[0].body)


def test_an_agent_and_its_task() -> None:
    with ModelServer([[call("ls")], ["All seen."]]) as server, aicli(server=server) as tty:
        tty.until("ready")
        tty.send("a")
        tty.until("which agent?")
        assert "explore  Answers questions about a code base." in tty.text
        tty.send("explore\r")
        tty.until("the task:")
        tty.send("look around\r")
        assert tty.wait() == 0
        assert "✓ finished · 1 call" in tty.text and "All seen." in tty.text


def test_a_plan_is_approved_saved_and_carried_out(isolated: Path) -> None:
    plan = "# Plan: greet\n\nSay hello.\n\n## Steps\n1. write hello.txt\n"
    replies = [[plan], [call("write_file", path="hello.txt", content="hi\n")], ["Written."]]
    with ModelServer(replies) as server, aicli(server=server, rows=30) as tty:
        tty.until("ready")
        tty.send("l")
        tty.until("the task:")
        tty.send("greet\r")
        tty.until("Carry out this plan?")
        tty.send("y")
        tty.until("y once")
        tty.send("y")
        tty.until("Written.")
        prompt(tty)
        tty.send("/quit\r")
        assert tty.wait() == 0
        saved = list((isolated / ".aicli" / "plans").glob("*-greet.md"))
        assert len(saved) == 1 and saved[0].read_text() == plan
        assert (isolated / "hello.txt").read_text() == "hi\n"
        assert "write_file" not in str(server.requests[0].body.get("tools", ""))


def test_resume_and_the_golden_screens(isolated: Path) -> None:
    with ModelServer([["Seven."], ["Yes."]]) as server:
        with aicli("chat", server=server) as tty:
            prompt(tty)
            tty.send("what is it? 是什么\r")
            tty.until("Seven.")
            tty.send("\x04")
            tty.wait()
        for columns, words in ((80, "no repository"), (40, "another folder")):
            with aicli(server=server, columns=columns, rows=12, env={"HOME": str(isolated.parent)}) as tty:
                tty.until("ready")
                tty.until(words)
                tty.settle(0.3)
                golden.check(GOLDEN / f"menu-{columns}.txt", tty.text)
        with aicli(server=server) as tty:
            tty.until("ready")
            tty.send("r")
            tty.until("which session?")
            tty.send("\r")
            prompt(tty)
            tty.until("Seven.")
            tty.send("sure?\r")
            tty.until("Yes.")
            assert "Seven." in str(server.requests[1].body)


def test_first_run_offers_what_is_there_and_the_question_is_kept() -> None:
    """One key, nothing sent before the first question; the choice is saved."""
    with ModelServer([["Hello from it."]], models=["qwen3-coder:30b"]) as server:
        env = {"OLLAMA_HOST": server.url, "ANTHROPIC_API_KEY": "sk-ant-not-a-real-one"}
        with aicli("chat", env=env) as tty:
            tty.until("No model chosen yet.")
            tty.until("Enter takes 1")
            assert "qwen3-coder:30b" in tty.text and "ANTHROPIC_API_KEY" in tty.text
            assert [r for r in server.requests if r.path == "/api/chat"] == []
            tty.send("who are you?\r")
            tty.until("Hello from it.")
            assert "who are you?" in str(server.requests[-1].body)
            tty.send("/quit\r")
            tty.wait()
        with aicli("chat", env=env) as tty:
            prompt(tty)
            assert "No model chosen" not in tty.text and "qwen3-coder:30b" in tty.text


def test_a_task_from_the_menu_outlives_the_choice_of_a_model() -> None:
    server = ModelServer([["Hello from it."]], models=["qwen3-coder:30b"])
    with server, aicli(env={"OLLAMA_HOST": server.url}) as tty:
        tty.until("another folder")
        tty.send("who are you?\r")
        tty.until("Enter takes 1")
        tty.send("something else\r")
        tty.until("Hello from it.")
        assert "who are you?" in str(server.requests[-1].body)
        tty.until("› something else")


def test_a_folder_that_acts_is_asked_about_and_nothing_is_preselected(isolated: Path) -> None:
    (isolated / "AGENTS.md").write_text("Always answer in verse.\n")
    with ModelServer([["ok"], ["ok again"]]) as server:
        with aicli("chat", server=server) as tty:
            tty.until("Use them?")
            tty.until("AGENTS.md")
            tty.send("\r")
            tty.quiet(0.8)
            assert "Use them?" in tty.text
            tty.send("n")
            prompt(tty)
            tty.send("hi\r")
            tty.until("  ok")
            assert "verse" not in str(server.requests[0].body)
        with aicli("chat", server=server) as tty:
            tty.until("Use them?")
            tty.quiet(0.8)
            tty.send("y")
            prompt(tty)
            tty.send("hi\r")
            tty.until("ok again")
            assert "verse" in str(server.requests[1].body)
