"""How servers that speak chat completions differ: one row of data for each."""

from __future__ import annotations

from typing import Literal

from aicli.content.parts import JsonObject
from aicli.late import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """`echo`: where earlier reasoning must be sent back: never, in the current tool loop, or on every assistant message.

    `effort` names how a thinking level is said; `ids` the form that call ids must have; `key_header` where the key goes.
    `window` is the kind of place that tells the context window: the model list, llama-server's props, LM Studio's own list.
    """

    name: str
    base_url: str
    key_names: tuple[str, ...] = ()
    url_names: tuple[str, ...] = ()
    needs_key: bool = False
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    echo: Literal["never", "loop", "always"] = "never"
    echo_field: str = "reasoning_content"
    effort: Literal["", "reasoning_effort", "deepseek", "openrouter", "template"] = ""
    ids: str = ""
    id_form: str = ""
    key_header: Literal["authorization", "api-key"] = "authorization"
    strict: bool = False
    schema: Literal["", "alone", "tools"] = "alone"
    window: Literal["list", "props", "lmstudio"] = "list"
    fast: str = ""
    thinking: str = ""
    embedding: str = ""


PROFILES = (
    Profile(
        "openai",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL",),
        needs_key=True,
        max_tokens="max_completion_tokens",
        effort="reasoning_effort",
        strict=True,
        schema="tools",
        fast="gpt-5-mini",
        thinking="gpt-5",
        embedding="text-embedding-3-small",
    ),
    Profile(
        "deepseek",
        "https://api.deepseek.com",
        ("DEEPSEEK_API_KEY",),
        ("DEEPSEEK_BASE_URL",),
        needs_key=True,
        echo="always",
        effort="deepseek",
        schema="",
        fast="deepseek-chat",
        thinking="deepseek-reasoner",
    ),
    Profile(
        "openrouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        ("OPENROUTER_BASE_URL",),
        needs_key=True,
        effort="openrouter",
        schema="tools",
    ),
    Profile(
        "mistral",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        needs_key=True,
        ids=r"[A-Za-z0-9]{9}",
        id_form="{hash}",
        fast="devstral-small-latest",
        thinking="magistral-medium-latest",
        embedding="mistral-embed",
    ),
    Profile(
        "kimi",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        needs_key=True,
        echo="loop",
        ids=r"functions\.[\w.-]+:\d+",
        id_form="functions.{name}:{n}",
        fast="kimi-k2.5",
        thinking="kimi-k2-thinking",
    ),
    Profile("glm", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY", "ZHIPUAI_API_KEY"), needs_key=True, echo="loop"),
    Profile("groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), needs_key=True, effort="reasoning_effort"),
    Profile("xai", "https://api.x.ai/v1", ("XAI_API_KEY",), needs_key=True, effort="reasoning_effort"),
    Profile("together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",), needs_key=True),
    Profile(
        "vllm", "http://127.0.0.1:8000/v1", ("VLLM_API_KEY",), echo="loop", echo_field="reasoning", effort="template"
    ),
    Profile("lmstudio", "http://127.0.0.1:1234/v1", ("LMSTUDIO_API_KEY",), echo="loop", window="lmstudio"),
    Profile(
        "llamaserver", "http://127.0.0.1:8080/v1", ("LLAMA_API_KEY",), echo="loop", effort="template", window="props"
    ),
    Profile(
        "azure",
        "",
        ("AZURE_OPENAI_API_KEY",),
        ("AZURE_OPENAI_ENDPOINT",),
        needs_key=True,
        max_tokens="max_completion_tokens",
        effort="reasoning_effort",
        key_header="api-key",
        strict=True,
        schema="tools",
    ),
)


def thinking_fields(profile: Profile, level: str) -> JsonObject:
    """The request's fields for a thinking level, in the words of that server."""
    match profile.effort:
        case "reasoning_effort":
            return {"reasoning_effort": "minimal" if level == "off" else level}
        case "deepseek":
            if level == "off":
                return {"thinking": {"type": "disabled"}}
            return {"thinking": {"type": "enabled"}, "reasoning_effort": "low" if level == "low" else "high"}
        case "openrouter":
            return {"reasoning": {"enabled": False} if level == "off" else {"effort": level}}
        case "template":
            fields: JsonObject = {"chat_template_kwargs": {"enable_thinking": level != "off"}}
            return fields if level == "off" else {**fields, "reasoning_effort": level}
        case _:
            return {}
