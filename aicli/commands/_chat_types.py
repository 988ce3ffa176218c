"""Chat: what slash commands and the set-up may use of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from aicli.commands._options import RunFlags
from aicli.content.events import RunFinished
from aicli.content.kinds import PermissionMode
from aicli.content.run_result import ResultFold
from aicli.ui.chat_screen import ChatScreen
from aicli.ui.prompts import TerminalHost
from aicli.ui.words import Words

if TYPE_CHECKING:
    from aicli.agents.agent import Agent
    from aicli.runtime import RunOptions, Session


class Chat(Protocol):
    """`turns` holds the history's length before each message, `tasks` its name in the checkpoints (of this program's
    messages only); `told` what goes before the next one; `switch`: may a long message go to the thinking role; `first`
    a message to begin with."""

    flags: RunFlags
    words: Words
    screen: ChatScreen
    session: Session
    host: TerminalHost
    total: ResultFold
    turns: list[int]
    tasks: list[str]
    told: list[str]
    switch: bool
    first: str

    @property
    def agent(self) -> Agent: ...
    @property
    def model(self) -> str: ...
    def options(self, **more: Any) -> RunOptions: ...
    def settings(self) -> dict[str, object]: ...
    async def turn(self, text: str, *, shown: str | None = None) -> RunFinished | None: ...
    async def reopen(self, **more: Any) -> None: ...
    def set_mode(self, mode: PermissionMode) -> None: ...
    def show_model(self) -> None: ...
    def quit(self, code: int = 0) -> None: ...
