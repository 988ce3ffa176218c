"""What a search is asked for, as it goes from the program to its child."""

from __future__ import annotations


class Request:
    """What to search for: fields by keyword, with these defaults. (No dataclass: its import costs as much as a search.)

    `mode` is content, files or count. `needles` as in needles.py; `by_line` when the pattern may look past a line's
    ends; `width` cuts a shown line; `ripgrep` that program's own path, "" for none; `translated` as in translate.py,
    `shapes` as in shape.py, for ASCII and beyond. `parts`: large files may be searched in parts, by several children.
    `seconds` of processor time end it, and the end of the process `parent`.
    """

    root = ""
    pattern = ""
    ignore_case = False
    mode = "content"
    context = 0
    multiline = False
    limit = 100
    width = 400
    needles: tuple[str, ...] = ()
    by_line = False
    ripgrep = ""
    translated = ""
    shapes = (("", ""), ("", ""))
    parts = False
    seconds = 3600
    parent = 0

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)
