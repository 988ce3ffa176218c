"""One run's output: events to the chosen format as they come, and the one result at the end, whatever happened."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from aicli.clean import Redactor
from aicli.commands._answer_file import AnswerFile
from aicli.commands._options import RunFlags
from aicli.content.events import AgentEvent, ErrorInfo, RunFinished, RunStarted
from aicli.content.run_result import ResultFold, RunResult
from aicli.errors import AicliError, InputError, UsageError
from aicli.safety.secrets import all_secrets
from aicli.sessions.log import new_id
from aicli.ui.console import Console, ReaderGone
from aicli.ui.language import spoken
from aicli.ui.plain import PlainRenderer, closing
from aicli.ui.stream_json import StreamJson, line, result_object
from aicli.ui.words import Words


class Output:
    """Give it every event, then `finish` or `failed`, which return the exit code; `close` says the result if neither did.

    `on_gone` is called once when the reader of stdout has gone.
    """

    def __init__(self, flags: RunFlags, session_id: str, agent: str, *, progress: bool) -> None:
        self.format = flags.format
        self.flags = flags
        self.console = Console(Redactor(all_secrets(os.environ)), quiet=flags.quiet, stdout=sys.stdout)
        self.on_gone: Callable[[], object] = lambda: None
        self._shows: Callable[[AgentEvent], None] | None = None
        self._close_shown: Callable[[], object] = lambda: None
        self.log_failed: Callable[[], str] = lambda: ""
        self._redactor = Redactor(all_secrets(os.environ))
        self._session_id = session_id
        self._agent = agent
        self._began = time.monotonic()
        self._fold = ResultFold()
        self._sandbox = ""
        self._gone = False
        self._done = False
        self._code: int | None = None
        self._inited = False
        self._shown = False
        self._file: AnswerFile | None = None
        self._stream = StreamJson(self._json, partials=flags.include_partial_messages)
        progress = progress and self.format == "text" and not flags.quiet
        self.words = Words(spoken())
        self._plain = PlainRenderer(self.console.err, progress=progress, verbose=flags.verbose, words=self.words)

    def open_file(self) -> None:
        """The file of `-o`, before anything is spent. Raises InputError."""
        if self.flags.output is not None:
            self._file = AnswerFile(self.flags.output)

    def use(self, redactor: Redactor) -> None:
        """From now on these secrets are taken out too."""
        self._redactor = redactor
        self.console.redact = redactor

    def show_on(self, feed: Callable[[AgentEvent], None], close: Callable[[], object]) -> None:
        """A renderer takes the events instead of the plain lines, and shows answer and end itself."""
        self._shows, self._close_shown = feed, close

    def event(self, event: AgentEvent) -> None:
        """Never raises for want of a reader."""
        self._fold.feed(event)
        if isinstance(event, RunStarted):
            self._sandbox = event.sandbox
            self._session_id = event.session_id
        if self._shows is None:
            self._plain(event)
        else:
            self._shows(event)
            if isinstance(event, RunFinished):
                self._shown = True
                self._close_shown()
        if self.format == "stream-json" and not self._gone:
            self._inited = self._inited or isinstance(event, RunStarted)
            try:
                self._stream(event)
            except ReaderGone:
                self._gone = True
                self.on_gone()

    def _json(self, value: dict[str, Any]) -> None:
        self.console.out_exact(line(self._redactor.value(value)))

    def finish(self, result: RunResult) -> int:
        """Says the result; returns the exit code. Call it once."""
        self._done = True
        ended = result
        answer = self._answer(result)
        lost = self.log_failed()
        if lost and result.exit_code == 0:
            result = _with_error(result, "error_during_execution", 1, f"the session log could not be written: {lost}")
        if self._file is not None:
            try:
                if answer is not None:
                    self._file.write(answer)
            except InputError as e:
                result = _with_error(result, e.subtype, e.exit_code, str(e)) if result.exit_code == 0 else result
        self._code = result.exit_code
        try:
            self._say(result, answer)
        except ReaderGone:
            self._gone = True
        except InputError as e:
            self.console.error(self.words.error(str(e), e.hint))
            return result.exit_code or e.exit_code
        self._close_file()
        if result.error is not None and not (self._shown and result is ended):
            self.console.error(self.words.error(result.error.message.rstrip("."), result.error.hint.rstrip(".")))
        return 0 if self._gone else result.exit_code

    def _say(self, result: RunResult, answer: str | None) -> None:
        if self.format != "text":
            if self.format == "stream-json" and not self._inited and not self._gone:
                self._inited = True
                self._stream(RunStarted(session_id=self._session_id, agent=self._agent, cwd=str(self.flags.cwd or "")))
            if not self._gone:
                self._json(result_object(result, sandbox=self._sandbox))
            return
        if self._shown:
            return
        if result.turns and (self._plain_progress or self.flags.verbose):
            self.console.err(closing(result, self.words))
        elif result.status == "cancelled" and result.error is None:
            self.console.err(self.words.said("cancelled"))
        elif result.failed_calls:
            many = f"{result.failed_calls} tool calls failed" if result.failed_calls > 1 else "1 tool call failed"
            self.console.err(self.words.said(f"warn  {many}"))
        if answer is not None:
            self.console.out_text(answer)

    @property
    def _plain_progress(self) -> bool:
        return self._plain.progress

    def _answer(self, result: RunResult) -> str | None:
        """The whole final message, None if there is none: a run that was cut short has none."""
        if result.structured_output is not None:
            return json.dumps(result.structured_output, ensure_ascii=False)
        whole = result.status == "completed" or result.reason in ("error_permission", "error_during_execution")
        return result.text if whole and result.text.strip() else None

    def failed(self, error: AicliError) -> int:
        """The same for a run that ended by an error of its own."""
        if self.flags.debug:
            self.console.complain("".join(traceback.format_exception(error)))
        info = ErrorInfo(
            type=type(error).__name__, message=str(error), hint=error.hint, status=getattr(error, "status", None)
        )
        return self.finish(self._cut(error.subtype, error.exit_code, info))

    def cancelled(self, code: int) -> int:
        """The same for a run that a signal ended before the agent could say so."""
        info = ErrorInfo(type="cancelled", message="cancelled")
        return self.finish(self._cut("cancelled", code, info))

    def last_words(self, code: int) -> int:
        """For a run whose end takes too long after a signal: says its result if nothing did yet; returns the exit code."""
        if not self._done:
            return self.cancelled(code)
        return code if self._code is None else self._code

    def _cut(self, reason: str, code: int, error: ErrorInfo) -> RunResult:
        so_far = self._fold.result(time.monotonic() - self._began)
        status = "cancelled" if reason == "cancelled" else "failed"
        update = {"status": status, "reason": reason, "exit_code": code, "error": error, "session_id": self._session_id}
        return so_far.model_copy(update=update)

    def close(self) -> None:
        """For `finally`: a run that neither finished nor failed by the book still has its result line."""
        if not self._done:
            fault = sys.exc_info()[1]
            message = f"{type(fault).__name__}: {fault}" if fault else "the run did not end by the book"
            self._shown = True  # whoever catches the fault says its line
            self.finish(self._cut("error_during_execution", 1, ErrorInfo(type="internal", message=message)))
        self._close_file()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()


def _with_error(result: RunResult, reason: str, code: int, message: str) -> RunResult:
    error = ErrorInfo(type=reason, message=message)
    return result.model_copy(update={"status": "failed", "reason": reason, "exit_code": code, "error": error})


def misused(form: str, message: str, hint: str) -> int:
    """The output of a run whose command line can't be read, in the form that it asks for; returns the exit code."""
    output = Output(RunFlags(output_format=form), new_id(), "", progress=False)
    return output.failed(UsageError(message, hint=hint))
