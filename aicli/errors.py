"""The exception tree. Each error knows its exit code, its result subtype and whether a retry can help.

AicliError
├── UsageError               bad flag, empty task, unknown agent or command            2
├── InputError               unreadable file, stdin or schema, bad model name         42
├── ConfigError              broken settings, missing model file                      52
│   └── NoModelForRole       nothing fills a role
├── SandboxError             a required sandbox is not there                          44
├── TrustError               the folder is not trusted and had to be                  55
├── LimitReached             a cap of the run (turns, tokens, cost, calls, time)      53
├── LoopDetected             the same calls again and again                           53
├── PermissionRefused        a refusal or tool failure under --strict                 54
├── SchemaFailed             the answer never fitted the wanted schema                 1
└── ModelError               everything a provider can report                          1
    ├── AuthFailed           no key, or a wrong one                                   41
    ├── NetworkFailed        try again later                                          75
    │   ├── ConnectFailed · ModelTimeout · RateLimited · Overloaded · ServerFailed · StreamCut
    ├── ModelNotFound · BadRequest · ContextTooLong · ContentFiltered
    └── EmptyReply · MalformedReply · Refused
"""

from __future__ import annotations


class AicliError(Exception):
    """Base of all errors meant for people: `str(e)` says what failed and why, `hint` what to do next."""

    exit_code = 1
    subtype = "error_during_execution"
    retryable = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def line(self) -> str:
        """The one line for stderr."""
        return f"{self}. {self.hint}" if self.hint else str(self)


class UsageError(AicliError):
    exit_code, subtype = 2, "error_usage"


class InputError(AicliError):
    exit_code, subtype = 42, "error_input"


class ConfigError(AicliError):
    exit_code, subtype = 52, "error_config"


class NoModelForRole(ConfigError):
    """No configured or reachable model fills the role."""


class SandboxError(AicliError):
    exit_code, subtype = 44, "error_sandbox"


class TrustError(AicliError):
    exit_code, subtype = 55, "error_trust"


class LimitReached(AicliError):
    """A cap of the run; `subtype` names which: error_max_turns, error_max_tokens, …"""

    exit_code = 53

    def __init__(self, message: str, *, subtype: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.subtype = subtype


class LoopDetected(AicliError):
    exit_code, subtype = 53, "error_loop"


class PermissionRefused(AicliError):
    exit_code, subtype = 54, "error_permission"


class SchemaFailed(AicliError):
    subtype = "error_schema"


class ModelError(AicliError):
    """Anything a provider reports. `status` is the HTTP status if there was one, `body` a short excerpt."""

    subtype = "error_model"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        raw: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after = retry_after
        self.raw = raw


class AuthFailed(ModelError):
    exit_code, subtype = 41, "error_auth"


class NetworkFailed(ModelError):
    exit_code, subtype, retryable = 75, "error_network", True


class ConnectFailed(NetworkFailed):
    """No connection to the server at all."""


class ModelTimeout(NetworkFailed):
    """No connection, no first byte or no further byte within its limit."""


class RateLimited(NetworkFailed):
    """HTTP 429, or a provider's own form of it; `retry_after` in seconds if the server said so."""


class Overloaded(NetworkFailed):
    """The server has no capacity now (503, 529, insufficient_system_resource)."""


class ServerFailed(NetworkFailed):
    """Another 5xx."""


class StreamCut(NetworkFailed):
    """The stream ended without its end mark."""


class ModelNotFound(ModelError):
    """The server does not have the model."""


class BadRequest(ModelError):
    """The server says that the request is wrong."""


class ContextTooLong(ModelError):
    subtype = "error_context"


class ContentFiltered(ModelError):
    """The provider's filter stopped the reply."""


class Refused(ModelError):
    """The model declined, by the provider's own mark."""


class EmptyReply(ModelError):
    """Neither text nor calls."""


class MalformedReply(ModelError):
    """The model's output broke the server's parser, or ours; `raw` holds it where the server gave it."""
