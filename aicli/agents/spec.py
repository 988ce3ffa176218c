"""AgentSpec: an agent as data. A Markdown file with TOML front matter, or the same in Python."""

from __future__ import annotations

import tomllib
from typing import Literal

from aicli.content.value import Misfit, Value, field
from aicli.errors import ConfigError


class AgentSpec(Value):
    """`model` is a role (fast, thinking) or provider:model; `tools` are names, globs or kind:NAME; `instructions` the body.

    `verify`: after files changed, run the project's own check and feed a failure back, at most `verify` rounds.
    `mode` lowers the permission mode (an agent can never raise it). `delegates`: may start sub-agents.
    """

    name: str
    description: str = ""
    display_name: str = ""
    aliases: tuple[str, ...] = ()
    model: str = "fast"
    tools: tuple[str, ...] = ("*",)
    max_turns: int | None = field(default=None, ge=1)
    mode: Literal["", "plan", "default", "accept-edits", "dont-ask"] = ""
    verify: int = field(default=0, ge=0)
    delegates: bool = False
    instructions: str = ""
    source: str = ""


def parse_spec(name: str, text: str, source: str = "") -> AgentSpec:
    """An agent file: `+++`, TOML, `+++`, the instructions. Raises ConfigError naming the file and what is wrong."""
    head, body = "", text
    if text.startswith("+++"):
        head, mark, body = text[3:].partition("\n+++")
        if not mark:
            raise ConfigError(f"{source or name}: the front matter that starts with +++ never ends")
    try:
        fields = tomllib.loads(head)
        return AgentSpec.from_data({"name": name, "instructions": body.strip(), "source": source, **fields})
    except tomllib.TOMLDecodeError as e:
        raise ConfigError(f"{source or name}: {e}") from e
    except Misfit as e:
        raise ConfigError(f"{source or name}: {e}") from e
