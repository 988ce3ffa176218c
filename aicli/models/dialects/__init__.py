"""Tool calls and thinking that models write as text: one file a family, found by folder.

`parse` reads a whole reply, `Parser` one that comes in pieces; `render_call` and `render_result` write a history back,
`tools_prompt` tells a model how to call, `repaired_arguments` reads broken JSON of structured calls. A family is a
module here with a `FAMILIES` tuple of `reader.Family`.

The names that `dialect` takes, in any spelling of `-`, `_` and `.`; most have the names of their models as aliases:
anthropic_xml apertus atem command_r deepseek (V3, R1, V3.1) dots dsml (DeepSeek V3.2 and later) firefunction functionary
functiongemma gemma4 gigachat glm (also Ling, Hy3, Laguna) granite harmony (gpt-oss) hermes (Qwen 2.5 and 3, Nemotron,
Jamba, LongCat) hunyuan inkling internlm json (bare or fenced) k2_horizon kimi kimi_k3 lfm2 llama3 minicpm minimax
minimax_m3 mistral muse olmo3 phi4 plamo pythonic (Llama 4) qwen_xml (Qwen3-Coder, Qwen 3.5, Seed-OSS, Nemotron 3) react
step3
"""

from aicli.models.dialects.calls import Call, repaired_arguments
from aicli.models.dialects.parser import Parsed, Parser, fold, names, parse
from aicli.models.dialects.render import render_call, render_result, tools_prompt

__all__ = [
    "Call",
    "Parsed",
    "Parser",
    "fold",
    "names",
    "parse",
    "render_call",
    "render_result",
    "repaired_arguments",
    "tools_prompt",
]
