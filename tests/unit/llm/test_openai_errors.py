"""Every exception class of the SDK has its place in our tree."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx2
import openai
import pytest

from aletheia.errors import AletheiaError, ConfigError, ModelError, ModelRefused, ModelUnavailable
from aletheia.llm import openai_client
from aletheia.llm.openai_client import map_error

REQUEST = httpx2.Request("POST", "http://stub/v1/chat/completions")
WHERE = "http://stub/v1"
SECRET = "sk-secret-0123456789abcdef"


def exception_classes() -> list[type[Exception]]:
    """Every exception class that the package defines, found by loading what it consists of."""
    for package in ("openai", "openai.lib", "openai._utils", "openai._extras", "openai.auth"):
        for module in pkgutil.iter_modules(
            importlib.import_module(package).__path__, package + "."
        ):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    found = {*_below(openai.OpenAIError), *_below(ValueError), *_below(RuntimeError)}
    ours = {kind for kind in found if kind.__module__.partition(".")[0] == "openai"}
    return sorted({openai.OpenAIError, *ours}, key=lambda kind: kind.__name__)


def _below(kind: type[Exception]) -> Iterator[type[Exception]]:
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)


def test_the_walk_finds_the_classes_that_are_documented() -> None:
    names = {kind.__name__ for kind in exception_classes()}
    assert set(openai._exceptions.__all__) <= names
    assert len(names) >= 20


@pytest.mark.parametrize("kind", exception_classes(), ids=lambda kind: kind.__name__)
def test_every_class_of_this_release_is_mapped_on_purpose(kind: type[Exception]) -> None:
    """A new class fails here until somebody decides what it means."""
    by_status = issubclass(kind, openai.APIStatusError)
    by_transport = issubclass(kind, openai.APIConnectionError)
    assert by_status or by_transport or kind.__name__ in openai_client._OTHER_CLASSES


def status_error(kind: type[openai.APIStatusError], status: int) -> openai.APIStatusError:
    response = httpx2.Response(status, request=REQUEST, headers={"retry-after": "7"})
    if kind is openai.OAuthError:
        return openai.OAuthError(response=response, body={"error": "invalid_grant"})
    return kind(f"said {SECRET}", response=response, body={"message": f"said {SECRET}"})


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        (openai.BadRequestError, 400, ModelRefused),
        (openai.AuthenticationError, 401, ModelRefused),
        (openai.OAuthError, 401, ModelRefused),
        (openai.PermissionDeniedError, 403, ModelRefused),
        (openai.NotFoundError, 404, ModelRefused),
        (openai.ConflictError, 409, ModelUnavailable),
        (openai.UnprocessableEntityError, 422, ModelRefused),
        (openai.RateLimitError, 429, ModelUnavailable),
        (openai.InternalServerError, 500, ModelUnavailable),
        (openai.APIStatusError, 302, ModelRefused),
    ],
)
def test_a_status_decides(
    kind: type[openai.APIStatusError], status: int, expected: type[ModelError]
) -> None:
    mapped = map_error(status_error(kind, status), where=WHERE, secret=SECRET)
    assert isinstance(mapped, expected)
    assert mapped.status == status
    assert WHERE in str(mapped)
    assert SECRET not in str(mapped)
    if isinstance(mapped, ModelUnavailable):
        assert mapped.retry_after_s == 7.0


def test_a_lost_connection_says_what_the_lowest_layer_said() -> None:
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = OSError("name or service not known")
    mapped = map_error(error, where=WHERE)
    assert isinstance(mapped, ModelUnavailable)
    assert "name or service not known" in str(mapped)
    assert isinstance(map_error(openai.APITimeoutError(REQUEST), where=WHERE), ModelUnavailable)


@pytest.mark.parametrize("name", sorted(openai_client._OTHER_CLASSES))
def test_classes_without_a_status_become_what_the_table_says(name: str) -> None:
    kind = {found.__name__: found for found in exception_classes()}[name]
    error = kind.__new__(kind)
    error.args = (f"said {SECRET}",)
    mapped = map_error(error, where=WHERE, secret=SECRET)
    assert type(mapped) is openai_client._OTHER_CLASSES[name]
    assert isinstance(mapped, ConfigError | ModelError)
    assert SECRET not in str(mapped)


def test_a_date_in_retry_after_is_read_against_the_clock_given() -> None:
    response = httpx2.Response(
        429, request=REQUEST, headers={"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}
    )
    error = openai.RateLimitError("slow down", response=response, body=None)
    now = datetime(2026, 10, 21, 7, 28, 0, tzinfo=UTC)
    mapped: AletheiaError = map_error(error, where=WHERE, now=now)
    assert isinstance(mapped, ModelUnavailable)
    assert mapped.retry_after_s == 30.0
