"""What could come next on a command line: commands, options, and values of both; each value is looked up when asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from aicli.commands._typed import typed

Found = tuple[str, str]
"""(value, what it is); a value that ends with a colon or a slash goes on."""


def candidates(root: Any, line: str) -> tuple[str, list[Found]]:
    """(the word that is being typed, what it could become). No candidates: a file name, or anything.

    `root` is the program's command, `line` the command line up to the caret, the program's name included. Opens no
    connection.
    """
    read = typed(line)
    words, current = read.words, read.current
    if current.startswith("-") and "=" in current:
        name, _, rest = current.partition("=")
        values = _Place(root, [*words[1:], name]).values()
        return current, [(f"{name}={value}", about) for value, about in values if value.startswith(rest)]
    place = _Place(root, words[1:])
    found = place.options() if current.startswith("-") and place.waits is None and not place.plain else place.values()
    return current, [one for one in found if one[0].startswith(current)]


class _Place:
    """Where on the line the next word stands: its command, and the parameter that waits for a value (or none)."""

    def __init__(self, root: Any, words: Sequence[str]) -> None:
        self.command = root
        self.path: list[str] = []
        self.given: list[str] = []  # arguments so far
        self.waits: Any = None
        self.plain = False  # after "--" nothing is an option
        for word in words:
            if self.waits is not None:
                self.waits = None
            elif word == "--":
                self.plain = True
            elif word.startswith("-") and not self.plain:
                self.waits = None if "=" in word else self._option(word)
            elif not self.given and (inner := self._inner(word)) is not None:
                self.command = inner
                self.path.append(word)
            else:
                self.given.append(word)

    def _inner(self, name: str) -> Any:
        return self.command.get_command(None, name) if hasattr(self.command, "list_commands") else None

    def _option(self, name: str) -> Any:
        """The option of that name if a value must follow it."""
        for param in self.command.params:
            if name in param.opts and param.param_type_name == "option" and not (param.is_flag or param.count):
                return param
        return None

    def options(self) -> Iterator[Found]:
        for param in self.command.params:
            if param.param_type_name == "option" and not param.hidden:
                for name in (*param.opts, *param.secondary_opts):
                    if name.startswith("--"):
                        yield name, param.help or ""
        yield "--help", ""

    def values(self) -> Iterator[Found]:
        if self.waits is None and hasattr(self.command, "list_commands"):
            yield from () if self.given else self._commands()
            return
        param = self.waits or self._argument()
        if param is not None:
            yield from _values(" ".join(self.path), param, self.given)

    def _commands(self) -> Iterator[Found]:
        for name in self.command.list_commands(None):
            if not self.path:
                with (Path(__file__).parent / f"{name}.py").open(encoding="utf-8") as lines:
                    yield name, lines.readline().strip().strip('"').rstrip(".")  # the file itself need not be imported
            elif not (inner := self.command.get_command(None, name)).hidden:
                yield name, (inner.help or "").strip().split("\n")[0]

    def _argument(self) -> Any:
        """The argument that the next word would be."""
        arguments = [p for p in self.command.params if p.param_type_name == "argument"]
        at = len(self.given)
        return arguments[min(at, len(arguments) - 1)] if arguments and (
            at < len(arguments) or arguments[-1].nargs == -1
        ) else None  # fmt: skip


def _values(path: str, param: Any, given: list[str]) -> Iterator[Found]:
    look = _LOOK.get((path, param.name)) or _LOOK.get(("", param.name))
    if look is not None:
        yield from look(given)
        return
    said = param.metavar or ""
    if re.fullmatch(r"[\w-]+(\|[\w,…-]+)+", said):
        yield from ((value, "") for value in said.split("|") if re.fullmatch(r"[a-z-]+", value))
    elif said in ("DIR", "FOLDER"):
        yield from ((f"{f.name}/", "") for f in sorted(Path.cwd().iterdir()) if f.name[0] not in ".-" and f.is_dir())


def _agents(given: list[str]) -> Iterator[Found]:
    from aicli.commands._listing import agents_of

    return ((spec.name, spec.description) for spec in agents_of(Path.cwd())) if not given else iter(())


def _agents_always(given: list[str]) -> Iterator[Found]:
    return _agents([])


def _tools(given: list[str]) -> Iterator[Found]:
    from aicli.commands._listing import tools_of

    return ((tool.name, _first(tool.description)) for tool in tools_of(Path.cwd()).select(("*",)))


def _sessions(given: list[str]) -> Iterator[Found]:
    """The latest ones, those of this folder first."""
    from aicli import paths
    from aicli.sessions.store import SessionStore

    here = str(Path.cwd())
    kept = sorted(SessionStore(paths.state_folder() / "sessions").list(40), key=lambda one: one.cwd != here)
    return ((one.id, one.name or " ".join(one.task.split())) for one in kept)


def _keys(given: list[str]) -> Iterator[Found]:
    from aicli.settings_load import fields

    return ((key, field.description or "") for key, field in fields().items())


def _setting(given: list[str]) -> Iterator[Found]:
    """Values of the setting whose key was given, where there are only a few."""
    from typing import get_args

    from aicli.settings_load import fields

    field = fields().get(given[0]) if given else None
    kind = field.annotation if field is not None else None
    if kind is bool:
        return iter([("true", ""), ("false", "")])
    if given and given[0] == "permissions.mode":
        return _modes(given)
    if given and given[0].startswith("models."):
        return _models(given)
    return ((value, "") for value in get_args(kind) if isinstance(value, str))


def _models(given: list[str]) -> Iterator[Found]:
    """Roles, what the settings name, and each provider with the models it would choose itself; nobody is asked."""
    from aicli.models.registry import providers

    yield "fast", ""
    yield "thinking", ""
    for name, provider in providers().items():
        yield f"{name}:", ""
        for model in dict.fromkeys(provider.roles.values()):
            yield f"{name}:{model}", ""


def _modes(given: list[str]) -> Iterator[Found]:
    from aicli.content.kinds import PermissionMode

    return ((mode.value, "") for mode in PermissionMode)


def _roles(given: list[str]) -> Iterator[Found]:
    return iter([("fast", ""), ("thinking", ""), ("embedding", "")])


def _plan(given: list[str]) -> Iterator[Found]:
    from aicli.commands._planning import VERBS, saved, title_of

    if not given:
        yield from ((verb, "") for verb in VERBS)
    elif given in (["show"], ["exit"]):
        yield from ((f.stem, title_of(f.read_text("utf-8", "replace"))) for f in saved(Path.cwd()))


def _first(text: str) -> str:
    return " ".join(text.split()).split(". ")[0]


_LOOK: dict[tuple[str, str], Callable[[list[str]], Iterator[Found]]] = {
    ("agent run", "kind"): _agents,
    ("agent interactive", "kind"): _agents,
    ("agent show", "name"): _agents,
    ("", "agent"): _agents_always,
    ("tools", "name"): _tools,
    ("", "allowed_tools"): _tools,
    ("", "disallowed_tools"): _tools,
    ("", "session_ids"): _sessions,
    ("", "resume"): _sessions,
    ("sessions show", "session_id"): _sessions,
    ("sessions export", "session_id"): _sessions,
    ("sessions fork", "session_id"): _sessions,
    ("replay", "session_id"): _sessions,
    ("config get", "key"): _keys,
    ("config set", "key"): _keys,
    ("config reset", "key"): _keys,
    ("config explain", "key"): _keys,
    ("config set", "value"): _setting,
    ("", "model"): _models,
    ("", "permission_mode"): _modes,
    ("", "mode"): _modes,
    ("", "role"): _roles,
    ("plan", "words"): _plan,
}
