"""What stands behind a message: @files put in, images as images, and !commands run for the person."""

from __future__ import annotations

import base64
import mimetypes
import re
from typing import TYPE_CHECKING

from aicli.content.events import Outcome, ToolFinished, ToolProgress, ToolStarted
from aicli.content.messages import Message
from aicli.content.parts import ContentPart, FunctionCallPart, InlineDataPart, TextPart
from aicli.tools.base import ToolContext, ToolFailed
from aicli.workspace.faults import WorkspaceError
from aicli.workspace.text import decode, looks_binary

if TYPE_CHECKING:
    from aicli.runtime import Session
    from aicli.ui.stage import Stage

_MENTION = re.compile(r"(?:(?<=\s)|^)@(?:\"([^\"\n]+)\"|([^\s\"]+))")
FILE_LIMIT, IMAGE_LIMIT = 60_000, 8_000_000
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def expand(text: str, session: Session) -> list[ContentPart]:
    """The message's parts: the files that it names with @ first, the text as typed last."""
    parts: list[ContentPart] = []
    seen: set[str] = set()
    for found in _MENTION.finditer(text):
        path = (found[1] or found[2]).rstrip(".,;:!?，。；：！？)）")
        if path and path not in seen:
            seen.add(path)
            part = _file(path, session)
            if part is not None:
                parts.append(part)
    return [*parts, TextPart(text=text)]


def _file(path: str, session: Session) -> ContentPart | None:
    """The file's content, or None where there is no such file; a folder is named only."""
    mime = mimetypes.guess_type(path)[0] or ""
    try:
        if mime in IMAGES and session.state.images:
            data = session.workspace.read_bytes(path, IMAGE_LIMIT)
            return InlineDataPart(mime=mime, data=base64.b64encode(data).decode(), name=path)
        data = session.workspace.read_bytes(path, FILE_LIMIT)
    except (WorkspaceError, OSError):
        return None
    if looks_binary(data):
        return None
    body = decode(data).text
    note = f"\n[only the first {FILE_LIMIT:,} bytes]" if len(data) >= FILE_LIMIT else ""
    return TextPart(text=f'<file path="{path}">\n{body}{note}\n</file>\n')


def typed(message: Message) -> str:
    """What the person typed, without the files and notes that were put before it."""
    texts = [p.text for p in message.parts if p.type == "text"]
    return texts[-1] if texts else ""


async def run_command(command: str, session: Session, stage: Stage) -> str:
    """Runs it with the shell tool, unasked, for the person said so. Returns what the model is told."""
    call = FunctionCallPart(id=f"person-{id(command):x}", name="shell", args={"command": command})
    tool = session.tools.get("shell")
    if tool is None:
        raise ToolFailed("there is no shell tool")
    stage.feed(ToolStarted(call=call, title=f"$ {command}", kind="execute", tool="shell"))
    began = stage.now

    def progress(text: str) -> None:
        stage.feed(ToolProgress(call_id=call.id, text=text))

    context = ToolContext(state=session.state, host=session.host, call_id=call.id, progress=progress)
    try:
        params = tool.params.model_validate(call.args)
        values = {name: getattr(params, name) for name in type(params).model_fields}
        result = await tool.run(context, **values)  # type: ignore[misc]
    except ToolFailed as error:
        from aicli.content.results import ToolResult

        result = ToolResult.of(str(error), is_error=True, display=error.display)
    assert not isinstance(result, str)
    outcome = Outcome.FAILED if result.is_error else Outcome.OK
    stage.feed(ToolFinished(call_id=call.id, name="shell", result=result, outcome=outcome, seconds=stage.now - began))
    output = "\n".join(getattr(p, "text", "") for p in result.content)
    return f"I ran `{command}` myself:\n\n{output}"
