"""The root command: a folder of commands, each imported when it is asked for; errors become one line and an exit code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from aicli import __version__
from aicli.errors import AicliError

COMMANDS = Path(__file__).parent / "commands"
HIDDEN = {"menu"}
_FIRST = ("chat", "agent", "prompt", "plan")


class Spoken(typer.Context):
    """Writes its help in the person's language, which is found out when help is wanted."""

    def make_formatter(self) -> Any:
        language = import_module("aicli.ui.language").spoken()
        if language == "en":
            return super().make_formatter()
        return import_module("aicli.ui.help_page").HelpPage(language)


class CommandFolder(TyperGroup):
    """One file a command; its help line is the first line of the file's docstring, read without importing it."""

    context_class = Spoken

    def list_commands(self, ctx: Any) -> list[str]:
        names = {f.stem for f in COMMANDS.glob("*.py") if not f.stem.startswith("_")} - HIDDEN
        return [n for n in _FIRST if n in names] + sorted(names - set(_FIRST))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = get_command(import_module(f"aicli.commands.{cmd_name}").app)
        command.name = cmd_name
        return unconverted(command)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [(name, help_line(COMMANDS / f"{name}.py")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self.list_commands(ctx):
            import difflib

            near = difflib.get_close_matches(name, self.list_commands(ctx), 1)
            hint = f"Did you mean {near[0]}?" if near else "Try aicli --help"
            raise UnknownCommand(f"there is no command {name!r}", hint=hint)
        return super().resolve_command(ctx, args)


def unconverted(command: Any) -> Any:
    """The command, with flags that were not given and plain words taken as they are: converters cost more than the rest."""
    command.context_class = Spoken
    for sub in getattr(command, "commands", {}).values():
        unconverted(sub)
        sub.short_help = sub.short_help or first_sentence(sub.help or "")
    command.get_params = partial(_unconverted, command.get_params)
    return command


def first_sentence(text: str) -> str:
    """The whole of it, where the parser would cut it to its line."""
    first = " ".join(text.split("\n\n")[0].split()).partition(". ")[0]
    return first if not first or first[-1] in ".?!…" else f"{first}."


def _unconverted(get_params: Callable[[Any], list[Any]], ctx: Any) -> list[Any]:
    params = get_params(ctx)
    for param in params:
        if "process_value" not in vars(param):
            param.process_value = partial(_converted, param, param.process_value)
    return params


def _converted(param: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """The value where it is what the parameter wants; the parser converts all else, and says what is wrong with it."""
    if (value is None or value is param.default) and not param.required:
        value = () if value is None and (param.multiple or param.nargs == -1) else value
        return param.callback(ctx, param, value) if param.callback else value
    wanted = param.type_descriptor
    if param.callback:
        return convert(ctx, value)
    if wanted.annotation is str and isinstance(value, str):
        return value
    if wanted.annotation == list[str] and isinstance(value, list | tuple) and value:
        return list(value)
    if wanted.annotation is int and not wanted.is_ranged and str(value).isascii() and str(value).isdigit():
        return int(value)
    return convert(ctx, value)


class UnknownCommand(AicliError):
    exit_code, subtype = 2, "error_usage"


def help_line(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return lines.readline().strip().strip('"').rstrip(".")


app = typer.Typer(
    cls=CommandFolder,
    name="aicli",
    help="A terminal agent you can trust with any model. Without a command: the menu, or chat when stdin is a pipe.",
    invoke_without_command=True,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", "-V", help="Print the version and end."),
) -> int | None:
    if version:
        typer.echo(f"aicli {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        raise typer.Exit(_bare())
    return None


def _bare() -> int:
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        code = import_module("aicli.commands.menu").open_menu()
        return int(code)
    result = get_command(import_module("aicli.commands.chat").app).main(
        [], prog_name="aicli chat", standalone_mode=False
    )
    return result if isinstance(result, int) else 0


def run(args: Sequence[str]) -> int:
    """Runs one command line; returns its exit code. One line on stderr for any error, a traceback only with --debug."""
    debug = "--debug" in args or os.environ.get("AICLI_DEBUG") == "1"
    try:
        result = unconverted(get_command(app)).main(list(args), prog_name="aicli", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except AicliError as e:
        if debug:
            raise
        complain(line_of(str(e), e.hint))
        return e.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _drop_stdout()
        return 0
    except Exception as e:
        if hasattr(e, "format_message"):  # the parser's own usage errors
            _explain(e, args)
            return 2
        if type(e).__name__ == "Abort":
            return 130
        if debug:
            raise
        complain(line_of(f"{type(e).__name__}: {e}", "This is a fault of aicli; --debug shows where"))
        return 1


def _explain(error: Any, args: Sequence[str]) -> None:
    """A usage error in one line that names the help of its command; a group without a sub-command shows its help.

    A run whose output is for a program has its result too.
    """
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)
        return
    place = getattr(getattr(error, "ctx", None), "command_path", "") or _place(args)
    said = plainly(error.format_message().rstrip())
    form = _form_asked(args)
    if form:
        import_module("aicli.commands._output").misused(form, said, f"Try {place} --help")
    else:
        complain(line_of(said, f"Try {place} --help"))


def _place(args: Sequence[str]) -> str:
    """The command that the words lead to: where the parser stopped before it knew of one."""
    command: Any = get_command(app)
    found = ["aicli"]
    context = command.make_context("aicli", [], resilient_parsing=True)
    for word in args:
        command = command.get_command(context, word) if hasattr(command, "get_command") else None
        if command is None:
            break
        found.append(word)
    return " ".join(found)


_PLAINLY = {
    r"Input should be a valid integer\b.*": "should be a whole number",
    r"Input should be a (?:valid|finite) number\b.*": "should be a number",
    r"Input should be a valid boolean\b.*": "should be true or false",
    r"Input should be a valid string\b.*": "should be text",
    r"Input should be greater than or equal to (\S+)": r"should be at least \1",
    r"Input should be less than or equal to (\S+)": r"should be at most \1",
    r"Input should be greater than (\S+)": r"should be more than \1",
    r"Input should be less than (\S+)": r"should be less than \1",
}
"""What the parser says, and what we say."""


def plainly(said: str) -> str:
    """A complaint of the parser in words for people."""
    for theirs, ours in _PLAINLY.items():
        said = re.sub(theirs, ours, said)
    return said


def _form_asked(args: Sequence[str]) -> str:
    """json or stream-json, where the words of a run ask for one of them, be the rest as it may; else ""."""
    words = list(args[: args.index("--")] if "--" in args else args)
    if words[:1] != ["prompt"] and words[:2] != ["agent", "run"]:
        return ""
    forms = [after for before, after in pairwise(words) if before == "--output-format"]
    forms += [word.partition("=")[2] for word in words if word.startswith("--output-format=")]
    forms += ["json"] if "--json" in words else []
    return forms[0] if forms and forms[0] in ("json", "stream-json") else ""


def line_of(message: str, hint: str) -> str:
    """An error and what to do about it, in the person's language."""
    language = import_module("aicli.ui.language").spoken()
    if language != "en":
        return str(import_module("aicli.ui.translate").error_line(message, hint, language))
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} {hint}" if hint else message


def complain(text: str) -> None:
    """One line to stderr; never raises."""
    line = " ".join(text.split())
    try:
        sys.stderr.write(f"aicli: {line}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass


def _drop_stdout() -> None:
    """The reader is gone: nothing more may be written, not even at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
