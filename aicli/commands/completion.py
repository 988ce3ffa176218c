"""Print the completion script of a shell."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False)

# Each script hands over the line up to the caret and shows what comes back: one candidate a line.
SCRIPTS = {
    "bash": r"""_aicli() {
    local one
    COMPREPLY=()
    while IFS= read -r one; do COMPREPLY+=("$one"); done \
        < <("$1" completion bash --line "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:/] ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _aicli aicli
""",
    "zsh": r"""#compdef aicli
_aicli() {
    local -a whole open
    local one
    for one in "${(@f)$("${words[1]}" completion zsh --line "${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" 2>/dev/null)}"; do
        [[ -z $one ]] && continue
        if [[ ${one%%:[^:]#} == *[:/] ]]; then open+=("$one"); else whole+=("$one"); fi
    done
    if (( $#whole + $#open == 0 )); then _files; return; fi
    _describe aicli whole -- open -S ''
}
if [[ $funcstack[1] == _aicli ]]; then _aicli "$@"; else compdef _aicli aicli; fi
""",
    "fish": r"""function __aicli_complete
    set -l found (aicli completion fish --line (commandline -cp | string collect) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c aicli -f -a '(__aicli_complete)'
""",
    "powershell": r"""Register-ArgumentCompleter -Native -CommandName aicli -ScriptBlock {
    param($word, $ast, $caret)
    $line = $ast.ToString().PadRight($caret).Substring(0, $caret)
    aicli completion powershell --line $line 2>$null | ForEach-Object {
        $value, $help = $_ -split "`t", 2
        $about = if ($help) { $help } else { $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $about)
    }
}
""",
}


@app.command()
def completion(
    ctx: typer.Context,
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish|powershell")] = "bash",
    line: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> int:
    """Print the completion script of a shell, for example: eval "$(aicli completion bash)"."""
    from aicli.errors import UsageError
    from aicli.ui.console import Console

    if shell not in SCRIPTS:
        raise UsageError(f"no completion for {shell!r}: bash, zsh, fish or powershell")
    if line is None:
        Console().out_text(SCRIPTS[shell])
        return 0
    from aicli.clean import sanitise
    from aicli.commands._complete import candidates
    from aicli.commands._typed import for_bash, for_powershell, offerable, typed
    from aicli.ui.translate import said

    read = typed(line)
    rows = []
    for value, told in candidates(ctx.find_root().command, line)[1]:
        if offerable(value):
            about = sanitise(said(" ".join(told.split())), keep_newlines=False)[:100]
            match shell:
                case "bash":
                    rows.append(for_bash(value, read))
                case "zsh":  # quotes by itself, as fish does
                    plain = value.replace("\\", "\\\\").replace(":", "\\:")
                    rows.append(f"{plain}:{about}" if about else plain)
                case _:
                    row = for_powershell(value) if shell == "powershell" else value
                    rows.append(f"{row}\t{about}" if about else row)
    if found := [row for row in dict.fromkeys(rows) if row]:
        Console().out_text("\n".join(found))
    return 0
