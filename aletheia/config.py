"""Settings: the only place that reads the environment.

An argument wins over the environment, the environment over a `.env` file in the working
directory, that file over the default. Nothing is read at import: `Settings()` reads when it is
called, `settings` (the handle below) each time an attribute is asked for. An empty variable
counts as not set.

Every setting is honoured wherever it applies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import AfterValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from aletheia.errors import ConfigError

_PREFIX: Final = "ALETHEIA_"
_MASK: Final = "********"
_ENV_FILE: Final = Path(".env")


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("it is blank")
    return value


ModelName = Annotated[str, AfterValidator(_not_blank)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Settings(BaseSettings):
    """All settings, frozen. Raises `ConfigError` that names the variable and says what is wrong.

    Times are in seconds. `timeout_s` bounds one request, `total_timeout_s` one call with all its
    retries. `max_retries` counts the tries after the first. `concurrency` is how many questions
    are worked on at once. `graph_path` lists directories that are searched for knowledge graphs
    beside the shipped ones, divided as in `PATH`.

    Money is in US dollars. `per_trace_budget_usd` bounds what one question or trace may cost,
    `run_budget_usd` a whole run (None = no bound). `unknown_price` says what becomes of a call to
    a model without a known price while a budget is set: `warn` makes it and says so, `block`
    raises. `price_input_usd` and `price_output_usd`, per million tokens, are the prices of an
    endpoint that no price list knows. `requests_per_minute` bounds what is sent to one endpoint
    (None = as fast as it answers). `context_window` is the size of the model's window in tokens,
    where the endpoint does not say it. `max_output_tokens` goes out with every request for an
    answer or a verdict exactly as it is (None = the endpoint's own limit, and one more try with
    more room where a reply was cut). `openai_api_version` makes requests go out as Azure wants
    them.
    """

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=_PREFIX,
        env_file=_ENV_FILE,
        env_file_encoding="utf-8-sig",
        env_ignore_empty=True,
        dotenv_filtering="only_existing",
        populate_by_name=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )

    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    model: ModelName = "gpt-4o-mini"
    judge_model: ModelName = "gpt-4o"
    decomposer_model: ModelName = "gpt-4o-mini"
    embed_model: ModelName = "text-embedding-3-small"
    timeout_s: Seconds = 120.0
    total_timeout_s: Seconds = 600.0
    max_retries: int = Field(default=4, ge=0, le=100)
    concurrency: int = Field(default=4, ge=1, le=1000)
    graph_path: Annotated[tuple[Path, ...], NoDecode] = ()
    db_path: Path = Path("aletheia.db")
    db_url: str | None = Field(default=None, repr=False)
    project: ModelName = "default"
    redact: str = "off"
    queue_size: int = Field(default=10_000, ge=1)
    calibration_min_traces: int = Field(default=20, ge=2)
    fallback_threshold_project: float = Field(default=1.0, ge=0, le=1)
    fallback_threshold_memory: float = Field(default=0.8, ge=0, le=1)
    batch_size: int = Field(default=5, ge=1)
    default_sync: bool = False
    per_trace_budget_usd: float = Field(default=0.50, ge=0, allow_inf_nan=False)
    worker_concurrency: int = Field(default=4, ge=1)
    cache_enabled: bool = True
    run_budget_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    unknown_price: Literal["warn", "block"] = "warn"
    price_input_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    price_output_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    requests_per_minute: int | None = Field(default=None, ge=1)
    context_window: int | None = Field(default=None, ge=256)
    max_output_tokens: int | None = Field(default=None, ge=1)
    openai_api_version: str | None = Field(default=None, validation_alias="OPENAI_API_VERSION")

    def __init__(self, **values: Any) -> None:  # noqa: ANN401 - pydantic does the typing
        _reject_unknown(values, type(self))
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _config_error(error) from None
        except SettingsError as error:
            raise ConfigError(f"the settings cannot be read: {error}") from None
        except (OSError, UnicodeError) as error:
            raise ConfigError(
                f"`{_ENV_FILE}` cannot be read: {error}", hint="it must be UTF-8 text"
            ) from None

    @field_validator("openai_api_key")
    @classmethod
    def _check_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value():
            return None
        if not re.fullmatch(r"[!-~]+", value.get_secret_value()):
            raise ValueError("it holds white space or a character that no HTTP header may carry")
        return value

    @field_validator("openai_base_url")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        return None if not value else _checked_url(value)

    @field_validator("db_url")
    @classmethod
    def _check_db_url(cls, value: str | None) -> str | None:
        if not value:
            return None
        if not re.match(r"[a-z][a-z0-9+]*://", value):
            raise ValueError("it is not a URL such as `postgresql+psycopg://user@host/name`")
        return value

    @field_validator("redact")
    @classmethod
    def _check_redact(cls, value: str) -> str:
        if value not in ("off", "mask") and not re.fullmatch(r"[\w.]+:\w+", value):
            raise ValueError("it is neither `off`, `mask` nor `module:function`")
        return value

    @field_validator("graph_path", mode="before")
    @classmethod
    def _split_path(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(Path(part) for part in value.split(os.pathsep) if part)
        return value

    @property
    def has_key(self) -> bool:
        """Whether an API key is set."""
        return self.openai_api_key is not None

    @property
    def has_endpoint(self) -> bool:
        """Whether a model can be called: a key, or the URL of a server that may need none."""
        return self.has_key or self.openai_base_url is not None

    @property
    def store_at(self) -> str | Path:
        """Where traces are kept: the URL of a database, or a SQLite file."""
        return self.db_url or self.db_path

    @property
    def judging_model(self) -> str:
        """Model that judges; a server of one's own hardly has the default one, so its model does."""
        return self._unless_own_server("judge_model")

    @property
    def decomposing_model(self) -> str:
        """Model that cuts queries and responses, by the same rule."""
        return self._unless_own_server("decomposer_model")

    def _unless_own_server(self, name: Literal["judge_model", "decomposer_model"]) -> str:
        own_server = self.openai_base_url is not None
        chosen: str = getattr(self, name)
        return self.model if own_server and name not in self.model_fields_set else chosen

    def non_default(self) -> dict[str, str]:
        """Return what differs from its default, as text with secrets masked, for a report."""
        fields = type(self).model_fields
        return {
            name: _MASK if isinstance(value, SecretStr) or name == "db_url" else _as_text(value)
            for name, value in self
            if value != fields[name].default
        }

    @classmethod
    def variable(cls, name: str) -> str:
        """Return the environment variable of a setting."""
        alias = cls.model_fields[name].validation_alias
        return alias if isinstance(alias, str) else f"{_PREFIX}{name}".upper()


_Seen = tuple[Mapping[str, object], Mapping[str, str], tuple[int, ...] | None]
"""Overrides, the environment, and what tells one version of the file from another."""

_NONE: Final[Mapping[str, object]] = MappingProxyType({})


def _seen(overrides: Mapping[str, object]) -> _Seen:
    try:
        found = _ENV_FILE.stat()
    except OSError:
        stamp = None
    else:
        stamp = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)
    return overrides, dict(os.environ), stamp


class SettingsHandle:
    """The settings as they are now, with the overrides of the running context.

    Attributes read like those of `Settings`. An override holds for the current thread or task
    and those tasks it starts; it is gone when its block ends, also after an error.
    """

    __slots__ = ("_last", "_overrides")

    def __init__(self) -> None:
        self._overrides: ContextVar[Mapping[str, object]] = ContextVar(
            "settings_overrides", default=_NONE
        )
        self._last: tuple[_Seen, Settings] | None = None

    def current(self) -> Settings:
        """Read all settings. Raises `ConfigError` for an invalid one.

        Nothing is read again while the environment, the file and the overrides are the same.
        """
        seen = _seen(self._overrides.get())
        last = self._last
        if last is None or last[0] != seen or last[0][0] is not seen[0]:
            last = self._last = (seen, Settings(**seen[0]))
        return last[1]

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - one type per setting
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.current(), name)

    @contextmanager
    def override(self, **values: object) -> Iterator[Settings]:
        """Set `values` above everything else inside the block; nested blocks add up.

        Raises `ConfigError` for a name that is no setting, or a value that is not valid.
        """
        _reject_unknown(values, Settings)
        token = self._overrides.set({**self._overrides.get(), **values})
        try:
            yield self.current()
        finally:
            self._overrides.reset(token)


settings: Final = SettingsHandle()
"""What is in force: `settings.model`, `with settings.override(model="..."):`."""


def unknown_variables() -> tuple[tuple[str, str | None], ...]:
    """Variables that begin like ours and name no setting, each with the nearest that does."""
    known = [Settings.variable(name) for name in Settings.model_fields]
    in_force = {name.upper() for name in (*os.environ, *dotenv_values(_ENV_FILE))}
    strange = sorted(name for name in in_force if name.startswith(_PREFIX) and name not in known)
    return tuple((name, _nearest(name, known)) for name in strange)


def _reject_unknown(values: Mapping[str, object], model: type[Settings]) -> None:
    for name in values:
        if name not in model.model_fields:
            near = _nearest(name, list(model.model_fields))
            hint = f"did you mean `{near}`?" if near else None
            raise ConfigError(f"`{name}` is not a setting", hint=hint)


def _nearest(name: str, known: list[str]) -> str | None:
    return next(iter(get_close_matches(name, known, n=1)), None)


def _config_error(error: ValidationError) -> ConfigError:
    """Name every variable that is wrong."""
    parts = [_complaint(item) for item in error.errors()]
    return ConfigError(
        "invalid setting: " + "; ".join(parts),
        hint=f"it came from an argument, the environment or `{_ENV_FILE}`",
    )


def _complaint(item: ErrorDetails) -> str:
    name = str(item["loc"][0])
    variable = Settings.variable(name) if name in Settings.model_fields else name
    # The key is a secret, and a URL may hold one.
    secret = variable.startswith("OPENAI_") or variable.endswith("_URL")
    value = "" if secret else f" is {str(item['input'])!r}"
    reason = item["msg"].removeprefix("Value error, ")
    return f"`{variable}`{value}: {reason[:1].lower()}{reason[1:]}"


def _checked_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if re.search(r"\s", value) or parts.scheme not in ("http", "https") or not host:
        raise ValueError("it is not a URL such as `http://localhost:8000/v1`")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("it must end with its path; the key goes into `OPENAI_API_KEY`")
    return value


def _as_text(value: object) -> str:
    return os.pathsep.join(map(str, value)) if isinstance(value, tuple) else str(value)
