"""AgentSpec: an agent as data. A Markdown file with front matter, or the same in Python."""

from __future__ import annotations

import difflib
import re
from typing import Literal

from aicli.agents.front_matter import as_ours, head_and_body
from aicli.content.value import Misfit, Value, declared_fields, field
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


_OTHERS = {"permission_mode": "mode", "allowed_tools": "tools", "turns": "max_turns", "subagents": "delegates"}
OWN = ("instructions", "source")
"""Fields that no front matter sets."""


def parse_spec(name: str, text: str, source: str = "") -> AgentSpec:
    """An agent file: front matter between `+++` (TOML) or `---` (plain YAML), then the instructions.

    Raises ConfigError naming the file and what is wrong: a key that is none, a value that does not fit.
    """
    place = source or name
    try:
        fields, body = head_and_body(text)
    except ValueError as e:
        raise ConfigError(f"{place}: {e}") from e
    known = [key for key in declared_fields(AgentSpec) if key not in OWN]
    for key in fields:
        if key not in known:
            folded = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).lower().replace("-", "_")
            near = difflib.get_close_matches(_OTHERS.get(folded, folded), known, 1)
            hint = f"Did you mean {near[0]}?" if near else "Keys: " + ", ".join(known)
            raise ConfigError(f"{place}: an agent has no {key!r}", hint=hint)
    fields = as_ours(fields)
    if fields.get("tools") in ([], ""):
        raise ConfigError(f"{place}: tools is empty", hint="Name some, or say none")
    model = fields.get("model", "fast")
    if isinstance(model, str) and model not in ("fast", "thinking") and ":" not in model:
        raise ConfigError(f"{place}: there is no model {model!r}", hint="Write fast, thinking or provider:model")
    try:
        return AgentSpec.from_data({"name": name, "instructions": body, "source": source, **fields})
    except Misfit as e:
        raise ConfigError(f"{place}: {e}") from e
