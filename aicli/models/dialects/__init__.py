"""Tool calls and thinking that models write as text: one file a family, found by folder.

`parse` reads a whole reply, `Parser` one that comes in pieces; `names` lists the dialects; `render_call` and
`render_result` write a history back, `tools_prompt` tells a model how to call. A family is a module here with a
`FAMILIES` tuple of `reader.Family`.
"""

from aicli.models.dialects.calls import Call
from aicli.models.dialects.parser import Parsed, Parser, fold, names, parse
from aicli.models.dialects.render import render_call, render_result, tools_prompt

__all__ = ["Call", "Parsed", "Parser", "fold", "names", "parse", "render_call", "render_result", "tools_prompt"]
