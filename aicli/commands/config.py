"""Settings: show, get, set, edit, reset, init, path, import, explain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from aicli.settings import Settings
    from aicli.settings_load import Loaded
    from aicli.ui.console import Console

app = typer.Typer(
    help="Settings: show, get, set, edit, reset, init, path, import, explain.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
)
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="Such as limits.max_turns.")]


@app.callback()
def config(
    ctx: typer.Context,
    key: Annotated[str | None, typer.Option("--api-key", "-k", "--key", metavar="KEY", help="Set api_key.")] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", metavar="MODEL", help="Set models.fast.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", "-b", metavar="URL", help="Set base_url.")] = None,
    show_: Annotated[bool, typer.Option("--show", "-s", help="Same as config show.")] = False,
    edit_: Annotated[bool, typer.Option("--edit", "-e", help="Same as config edit.")] = False,
    reset_: Annotated[bool, typer.Option("--reset", "-r", help="Same as config reset.")] = False,
) -> int | None:
    """Settings: show, get, set, edit, reset, init, path, import, explain."""
    if ctx.invoked_subcommand is not None:
        return None
    given = {"api_key": key, "models.fast": model, "base_url": base_url}
    values = {name: text for name, text in given.items() if text is not None}
    if not (values or show_ or edit_ or reset_):
        _console().out_text(ctx.get_help())
        return 0
    code = 0
    if reset_:
        code = reset(None)
    if values:
        _change(dict(values))
    if edit_:
        code = code or edit()
    if show_:
        code = code or show()
    return code


@app.command()
def show(
    effective: Annotated[bool, typer.Option("--effective", help="All settings, and which layer set each.")] = False,
    as_json: AsJson = False,
) -> int:
    """What is set, and where; with --effective every setting."""
    from aicli.settings_load import fields, plain, user_file, value_of
    from aicli.settings_text import shown
    from aicli.ui.translate import said

    loaded = _load()
    keys = [
        k for k in fields() if effective or loaded.origin[k] != "default" or k in ("models.fast", "base_url", "api_key")
    ]
    rows = {k: (plain(value_of(loaded.settings, k)), loaded.origin[k]) for k in keys}
    if as_json:
        _dump({"file": str(user_file()), "settings": {k: {"value": v, "from": o} for k, (v, o) in rows.items()}})
    else:
        file = user_file()
        lines = [said(f"settings file  {file}" if file.exists() else f"settings file  {file} (not there yet)")]
        lines += [
            f"{k:<28} {said('unset') if v in (None, '') else shown(v)}  ({said(o)})" for k, (v, o) in rows.items()
        ]
        if not effective:
            lines.append(said("Set one: aicli config set KEY VALUE. All of them: aicli config show --effective"))
        _console().out_text("\n".join(lines))
    return 0


@app.command()
def get(key: Key, as_json: AsJson = False) -> int:
    """The value of one setting."""
    from aicli.settings_load import plain, value_of

    value = plain(value_of(_load().settings, _known(key)))
    if value in (None, ""):
        _dump(None) if as_json else _console().out_text("")
        _console().remark(f"{key} unset")
    elif as_json or not isinstance(value, str):
        _dump(value)
    else:
        _console().out_text(value)
    return 0


@app.command("set", context_settings={"ignore_unknown_options": True})
def set_(key: Key, value: Annotated[list[str], typer.Argument(metavar="VALUE", help="Lists: a, b or JSON.")]) -> int:
    """Change one setting of the user file; comments in it stay."""
    return _change({key: " ".join(value)})


@app.command()
def edit() -> int:
    """Open the user file in $EDITOR or $VISUAL, and check it afterwards."""
    import os
    import shlex
    import shutil
    import subprocess

    from aicli.errors import InputError
    from aicli.settings_file import write
    from aicli.settings_load import user_file
    from aicli.settings_text import default_text

    path = user_file()
    if not path.exists():
        write(path, default_text())
    editor = os.environ.get("EDITOR") or os.environ.get("VISUAL") or ("notepad" if os.name == "nt" else "vi")
    words = shlex.split(editor)
    if not words or not shutil.which(words[0]):
        raise InputError(f"there is no editor {editor!r}", hint=f"Set EDITOR, or change {path} yourself.")
    code = subprocess.call([*words, str(path)])
    if code != 0:
        _console().remark(f"the editor ended with {code}")
        return 1
    _load()
    return 0


@app.command()
def reset(key: Annotated[str | None, typer.Argument(metavar="KEY", help="Only this setting.")] = None) -> int:
    """Back to the defaults; the old file is kept beside it."""
    from aicli.settings_file import write
    from aicli.settings_load import user_file

    path = user_file()
    if key is not None:
        return _change({key: None})
    if not path.is_file():
        _console().remark("nothing is set")
        return 0
    kept = path.with_name(path.name + ".bak")
    write(kept, path.read_bytes().decode("utf-8", "backslashreplace"))
    path.unlink()
    _console().remark(f"all settings are back to their defaults; the old file is {kept}")
    return 0


@app.command()
def init(
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print it instead.")] = False,
) -> int:
    """Write a file with every setting, commented out."""
    from aicli.errors import InputError
    from aicli.settings_file import write
    from aicli.settings_load import user_file
    from aicli.settings_text import default_text

    if stdout:
        _console().out_exact(default_text())
        return 0
    path = user_file()
    if path.exists() and not force:
        raise InputError(f"{path} is there already", hint="--force writes over it.")
    write(path, default_text())
    _console().out_text(str(path))
    return 0


@app.command()
def path() -> int:
    """Where the user file is."""
    from aicli.settings_load import user_file

    _console().out_text(str(user_file()))
    return 0


@app.command("import")
def import_(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Else ~/.aicli/settings.json.")] = None,
) -> int:
    """Take over an older settings.json."""
    from aicli.settings_text import from_json

    values, others = from_json(file or Path.home() / ".aicli" / "settings.json")
    for name in others:
        _console().remark(f"{name} has no place here: left out")
    if values:
        _change(values)
    return 0


@app.command()
def explain(key: Key) -> int:
    """What a setting is for, what each layer says, and which one won."""
    from aicli.settings_load import plain, value_of
    from aicli.settings_text import explanation

    loaded = _load()
    known = _known(key)
    value = plain(value_of(loaded.settings, known))
    _console().tell(explanation(known, loaded.layers, value, loaded.origin[known]))
    return 0


def _console() -> Console:
    from aicli.ui.console import Console

    return Console()


def _load() -> Loaded:
    from aicli.safety.trust import trusted
    from aicli.settings_load import load

    loaded = load(cwd=Path.cwd(), trusted=trusted(Path.cwd()))
    for warning in loaded.warnings:
        _console().remark(f"warn  {warning}")
    if loaded.ignored:
        _console().remark(f"note  {loaded.ignored} is not used: the folder is not trusted")
    return loaded


def _known(key: str) -> str:
    from aicli.errors import UsageError
    from aicli.settings_file import closest
    from aicli.settings_load import fields

    if key in fields():
        return key
    near = closest(key, fields())
    raise UsageError(
        f"there is no setting {key!r}", hint=f"Did you mean {near}?" if near else "See: aicli config show --effective."
    )


def _change(values: dict[str, Any]) -> int:
    """Sets (or, with None, removes) keys of the user file, all or none."""
    from aicli.errors import UsageError
    from aicli.settings_file import read, with_value, write
    from aicli.settings_load import parse, user_file, wrong
    from aicli.settings_text import shown

    ready: dict[str, Any] = {}
    for key, said in values.items():
        known = _known(key)
        ready[known] = parse(known, said) if isinstance(said, str) else said
        if said is not None and (complaint := wrong(known, ready[known])):
            raise UsageError(f"{known} {complaint}")
    _check_meaning(ready)
    file = read(user_file())
    text = file.text
    for key, value in ready.items():
        text = with_value(text, key, value)
    write(file.path, text)
    for key, value in ready.items():
        said = "unset" if value is None else "set" if key == "api_key" else f"= {shown(value)}"
        _console().remark(f"{key} {said}")
    return 0


def _check_meaning(values: dict[str, Any]) -> None:
    """What the types can't tell: a rule that names no tool, a model of no provider. Raises UsageError."""
    from aicli.errors import AicliError, UsageError
    from aicli.settings_load import RULES

    for key, value in values.items():
        try:
            if value and key in RULES:
                from aicli.commands._listing import tools_of
                from aicli.safety.rules import parse_rule

                known = tools_of(Path.cwd()).canonical
                for rule in value:
                    parse_rule(rule, known)
            elif value and key in ("models.fast", "models.thinking", "models.embedding", "models.fallback"):
                from aicli.models.orchestrator import named

                named(_settings_with(values), value)
            elif value and key == "provider":
                from aicli.models.registry import provider, unknown

                if provider(value) is None:
                    raise unknown(f"{value}:model")
        except AicliError as e:
            raise UsageError(f"{key}: {e}", hint=e.hint) from None


def _settings_with(values: dict[str, Any]) -> Settings:
    """The settings with these too; the defaults with them where the settings can't be loaded."""
    from aicli.errors import ConfigError
    from aicli.settings import Settings
    from aicli.settings_file import nested
    from aicli.settings_load import load

    given = {k: v for k, v in values.items() if v is not None and k in ("provider", "base_url", "api_key")}
    try:
        return load(given, cwd=Path.cwd()).settings
    except ConfigError:
        return Settings.from_data(nested(given))


def _dump(value: Any) -> None:
    from aicli.clean import json_text

    _console().out_exact(json_text(value))
