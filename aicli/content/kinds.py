"""ToolKind, PermissionMode and Verdict: the words in which permission is decided."""

from __future__ import annotations

from enum import StrEnum

from aicli.late import dataclass


class ToolKind(StrEnum):
    """What a call does. Decides whether it is asked about and whether it may run beside others."""

    READ = "read"
    SEARCH = "search"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    EXECUTE = "execute"
    FETCH = "fetch"
    THINK = "think"
    PLAN = "plan"
    AGENT = "agent"
    COMMUNICATE = "communicate"
    OTHER = "other"

    @property
    def parallel(self) -> bool:
        """May run at the same time as its neighbours in one reply."""
        return self not in _EFFECTS

    @property
    def asks(self) -> bool:
        """Policy is consulted about a person's consent."""
        return self in _EFFECTS or self is ToolKind.FETCH

    @property
    def effect(self) -> bool:
        """Changes something outside the conversation: the log is synced before it runs."""
        return self in _EFFECTS


_EFFECTS = frozenset({ToolKind.EDIT, ToolKind.DELETE, ToolKind.MOVE, ToolKind.EXECUTE, ToolKind.OTHER})


class PermissionMode(StrEnum):
    """Who is asked before something happens, from strict to loose; dont-ask refuses what would be asked."""

    PLAN = "plan"
    DEFAULT = "default"
    ACCEPT_EDITS = "accept-edits"
    DONT_ASK = "dont-ask"
    BYPASS = "bypass"

    @classmethod
    def parse(cls, text: str) -> PermissionMode:
        """Accepts the spellings of other agents too. Raises ValueError."""
        folded = text.strip().lower().replace("_", "").replace("-", "")
        return cls(_MODE_ALIASES.get(folded, text))


_MODE_ALIASES = {
    "acceptedits": "accept-edits",
    "autoedit": "accept-edits",
    "dontask": "dont-ask",
    "bypasspermissions": "bypass",
    "yolo": "bypass",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What policy says of one call. `rule` is the rule or default that decided, `why` is for people and the model."""

    decision: str  # "allow" | "ask" | "deny"
    why: str = ""
    rule: str = ""
