"""What stands at the head of an agent file: read, or refused with the reason, never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from aicli.agents.registry import AgentRegistry
from aicli.agents.spec import parse_spec
from aicli.errors import ConfigError

OF_OTHERS = """---
name: reviewer
description: "Use it when: a change # is ready"
# a remark
tools: Read, Grep, kind:search  # no writing
model: inherit
max_turns: 7
delegates: true
aliases:
  - rev
  - '审查'
---

You review.
---
Not the end.
"""


@pytest.mark.parametrize("text", [OF_OTHERS, "\ufeff" + OF_OTHERS, OF_OTHERS.replace("\n", "\r\n")])
def test_the_plain_yaml_of_other_programs_is_read(text: str) -> None:
    spec = parse_spec("reviewer", text)
    assert spec.description == "Use it when: a change # is ready" and spec.tools == ("Read", "Grep", "kind:search")
    assert (spec.model, spec.max_turns, spec.delegates, spec.aliases) == ("fast", 7, True, ("rev", "审查"))
    assert spec.instructions == "You review.\n---\nNot the end."


def test_lists_in_brackets_and_the_toml_form_mean_the_same() -> None:
    yaml = parse_spec("x", "---\ntools: [read_file, 'grep']\n---\nGo.")
    toml = parse_spec("x", '+++\ntools = ["read_file", "grep"]\n+++\nGo.')
    assert yaml == toml and toml.tools == ("read_file", "grep")
    assert parse_spec("x", "Go.").tools == ("*",)


WRONG = [
    ("---\ntool: [grep]\n---\nx", "an agent has no 'tool'. Did you mean tools?"),
    ("+++\nallowed-tools = []\n+++\nx", "Did you mean tools?"),
    ("---\nmaxTurns: 3\n---\nx", "Did you mean max_turns?"),
    ("---\npermissionMode: plan\n---\nx", "Did you mean mode?"),
    ("---\ncolour: red\n---\nx", "Keys: name, description"),
    ("---\ninstructions: red\n---\nx", "an agent has no 'instructions'"),
    ("---\ntools:\n---\nx", "tools is empty"),
    ("---\ntools: []\n---\nx", "tools is empty"),
    ("+++\ntools = []\n+++\nx", "tools is empty"),
    ("---\ntools: [a,\n  b]\n---\nx", "line 2: a list ends with ]"),
    ("---\ndescription: >\n  long\n---\nx", "line 2: > begins what is not read"),
    ("---\ndescription: one\n  two\n---\nx", "line 3 is neither"),
    ("---\ntools: a\ntools: b\n---\nx", "tools stands there twice"),
    ("---\ntools: a\nx", "starts with --- never ends"),
    ("----\ntools: a\n----\nx", "the first line is ----"),
    ("---\nmodel: sonnet\n---\nx", "there is no model 'sonnet'"),
    ("---\nmax_turns: many\n---\nx", "max_turns should be a whole number"),
    ("+++\ntools = 3\n+++\n", "tools should be a list"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[row[1] for row in WRONG])
def test_what_is_wrong_is_said_once_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.md").write_text(text)
    registry = AgentRegistry([tmp_path])
    (problem,) = registry.problems
    assert said in problem and problem.count("mine.md") == 1
    with pytest.raises(ConfigError) as e:
        registry.get("mine")
    assert e.value.line == problem


def test_a_broken_file_is_not_replaced_by_the_builtin_agent_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "code.md").write_text("---\ntool: [read_file]\n---\nOnly look.")
    with pytest.raises(ConfigError, match="an agent has no 'tool'"):
        AgentRegistry([tmp_path]).get("code")
