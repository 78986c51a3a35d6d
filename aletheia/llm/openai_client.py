"""The only importer of `openai`: one client per event loop, and its errors as ours.

A model object may be used from several event loops, one after the other or at once; sockets
belong to one loop. So the client is made per loop, and closed when that loop shuts its
asynchronous generators down, which `asyncio.run` and `anyio.run` do before they end. Who runs a
loop by hand awaits `aclose` in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
from anyio.lowlevel import RunVar

from aletheia.errors import (
    AletheiaError,
    ConfigError,
    ModelBadReply,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from aletheia.llm.base import requests_only
from aletheia.llm.failures import Complaint, complaint, failure, redacted, retry_after
from aletheia.schema.model import Usage

if TYPE_CHECKING:
    import ssl

    from openai import AsyncOpenAI

OFFICIAL_URL: Final = "https://api.openai.com/v1"
_NO_KEY: Final = "no-key"
_LONGEST_CONNECT_S: Final = 10.0


_TOLD_OF_CALLS: Final = (
    "X-Stainless-Async",
    "x-stainless-retry-count",
    "x-stainless-read-timeout",
)

_NOT_REACHED: Final = frozenset(
    ("ClientConnectorError", "ConnectionTimeoutError", "ConnectError", "PoolTimeout")
)
"""Classes, or bases of them, that say that no connection was made."""

_OTHER_CLASSES: Final[dict[str, type[ConfigError | ModelError]]] = {
    "OpenAIError": ConfigError,
    "APIError": ModelUnavailable,
    "APIResponseValidationError": ModelBadReply,
    "LengthFinishReasonError": ModelBadReply,
    "ContentFilterFinishReasonError": ModelRefused,
    "SubjectTokenProviderError": ConfigError,
    "MissingDependencyError": ConfigError,
    "MutuallyExclusiveAuthError": ConfigError,
    "APIRemovedInV1": ConfigError,
    "_AmbiguousModuleClientUsageError": ConfigError,
    "StreamAlreadyConsumed": ModelBadReply,
    "WebSocketConnectionClosedError": ModelUnavailable,
    "WebSocketQueueFullError": ModelUnavailable,
    "InvalidWebhookSignatureError": ModelBadReply,
}
"""Classes without an HTTP status, by name: `openai` is not imported to read this table."""


class RawAnswer(Protocol):
    """What `with_raw_response` gives for a 2xx answer."""

    @property
    def content(self) -> bytes:
        """The body as it came."""
        ...


class OpenAIConnection:
    """Sends requests to one endpoint, without retries, each within `timeout_s` seconds.

    Without a key a placeholder goes out, which local servers ignore. With `api_version` requests
    go out as Azure wants them: the model is a deployment and stands in the path, unless the URL
    ends like `/v1`. Raises `ConfigError` where there is neither key nor URL, an API version
    without a URL, or a key that cannot stand in a header.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_s: float = 120.0,
        api_version: str | None = None,
    ) -> None:
        if not api_key and not base_url:
            raise ConfigError(
                "no model endpoint is set", hint="set `OPENAI_API_KEY` or `OPENAI_BASE_URL`"
            )
        if api_key and not re.fullmatch(r"[!-~]+", api_key):
            raise ConfigError("the API key holds white space or a character no header may carry")
        if base_url and not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s?#]*)?", base_url):
            raise ConfigError(
                "the base URL is not a plain URL", hint="such as `http://localhost:8000/v1`"
            )
        if api_version and not base_url:
            raise ConfigError(
                "`OPENAI_API_VERSION` is set, but not whose it is",
                hint="set `OPENAI_BASE_URL` to `https://<resource>.openai.azure.com`",
            )
        self.base_url: Final = base_url or OFFICIAL_URL
        self.api_version: Final = api_version or None
        self.has_key: Final = bool(api_key)
        self._key = api_key or None
        self._timeout_s = timeout_s
        # Azure's client puts the deployment into a relative path; a whole URL is joined to nothing.
        root = "" if api_version else self.base_url.rstrip("/")
        self._chat_path: Final = f"{root}/chat/completions"
        self._clients: RunVar[tuple[AsyncOpenAI, AsyncGenerator[AsyncOpenAI]] | None] = RunVar(
            "openai client", default=None
        )

    def __repr__(self) -> str:
        return f"OpenAIConnection(base_url={self.base_url!r}, has_key={self.has_key})"

    async def chat(self, body: Mapping[str, Any]) -> Any:  # noqa: ANN401 - parsed JSON
        """Ask for a chat completion and return its JSON. Raises `ModelError`."""
        import httpx2
        import openai

        def ask(client: AsyncOpenAI) -> Awaitable[httpx2.Response]:
            # What the client tells about this machine is half of all headers.
            told = (*client.platform_headers(), *_TOLD_OF_CALLS)
            # The body is built by us and read by us: `chat.completions.create` would walk through
            # the whole of it, schema included, once more before it goes out.
            return client.post(
                self._chat_path,
                body=dict(body),
                cast_to=httpx2.Response,
                options={"headers": dict.fromkeys(told, openai.omit)},
            )

        return await self.call(ask)

    async def models(self) -> Any:  # noqa: ANN401 - parsed JSON
        """Ask for the list of models and return its JSON. Raises `ModelError`."""
        return await self.call(lambda client: client.models.with_raw_response.list())

    async def embeddings(self, model: str, texts: list[str]) -> Any:  # noqa: ANN401 - parsed JSON
        """Ask for one vector a text and return the JSON. Raises `ModelError`."""
        return await self.call(
            lambda client: client.embeddings.with_raw_response.create(
                model=model, input=texts, encoding_format="float"
            )
        )

    async def aclose(self) -> None:
        """Close the connections of the running event loop; the next request opens new ones."""
        held = self._clients.get()
        if held is not None:
            await held[1].aclose()

    async def call(self, request: Callable[[AsyncOpenAI], Awaitable[RawAnswer]]) -> Any:  # noqa: ANN401 - parsed JSON
        """Send one request with the client of this event loop and return its JSON."""
        client = await self._client()
        with anyio.move_on_after(self._timeout_s):
            return await self._send(client, request)
        raise ModelUnavailable(
            f"`{self.base_url}` gave no reply within {self._timeout_s:g} s",
            usage=Usage(),  # it may have been worked on, and charged
        )

    async def _send(
        self, client: AsyncOpenAI, request: Callable[[AsyncOpenAI], Awaitable[RawAnswer]]
    ) -> Any:  # noqa: ANN401 - parsed JSON
        import openai

        try:
            answer = await request(client)
        except openai.OpenAIError as error:
            # The cause may quote the key; what it says is in our message, redacted.
            raise map_error(error, where=self.base_url, secret=self._key) from None
        except UnicodeError:
            # An error page in another encoding than it says.
            raise self._no_json(b"") from None
        return self._read(answer.content)

    def _read(self, content: bytes) -> Any:  # noqa: ANN401 - parsed JSON
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            raise self._no_json(content) from None
        if isinstance(body, dict) and body.get("error") and not body.get("choices"):
            raise self._error_in_success(body)
        return body

    def _no_json(self, content: bytes) -> ModelBadReply:
        shown = redacted(content[:1000].decode(errors="replace"), self._key)[:80]
        return ModelBadReply(
            f"`{self.base_url}` answered with something that is not JSON: {shown!r}",
            hint="check that `OPENAI_BASE_URL` ends like `/v1`",
            usage=requests_only(1),
        )

    def _error_in_success(self, body: dict[str, Any]) -> ModelError:
        """Read the failure that some gateways put into the body of a 200."""
        said = _clean(complaint(body), self._key)
        inner = body["error"]
        code = inner.get("code") if isinstance(inner, dict) else None
        status = code if isinstance(code, int) and 400 <= code <= 599 else 502
        return failure(status, said, where=self.base_url)

    async def _client(self) -> AsyncOpenAI:
        held = self._clients.get()
        if held is None:
            keeper = self._keep()
            # Nothing is awaited before the generator yields, so no other task gets in between.
            held = (await anext(keeper), keeper)
            self._clients.set(held)
        return held[0]

    async def _keep(self) -> AsyncGenerator[AsyncOpenAI]:
        client = self._new_client()
        try:
            yield client
        finally:
            # The client refers to the loop, and the loop's variables must not refer to it.
            self._clients.set(None)
            await client.close()

    def _new_client(self) -> AsyncOpenAI:
        import openai

        connect_s = min(self._timeout_s, _LONGEST_CONNECT_S)
        timeout = openai.Timeout(self._timeout_s, connect=connect_s)
        # The transport that reads HTTP in C: half the processor time of a request.
        http = openai.DefaultAioHttpClient(verify=self._tls)
        key = self._key or _NO_KEY
        if self.api_version is None:
            return openai.AsyncOpenAI(
                api_key=key,
                base_url=self.base_url,
                timeout=timeout,
                max_retries=0,
                http_client=http,
            )
        if re.search(r"/v\d+/?$", self.base_url):
            return openai.AsyncOpenAI(
                api_key=key,
                base_url=self.base_url,
                default_headers={"api-key": key},
                default_query={"api-version": self.api_version},
                timeout=timeout,
                max_retries=0,
                http_client=http,
            )
        return openai.AsyncAzureOpenAI(
            api_key=key,
            base_url=_azure_url(self.base_url),
            api_version=self.api_version,
            timeout=timeout,
            max_retries=0,
            http_client=http,
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Certificates, loaded once: it takes longer than a request, and belongs to no loop."""
        import httpx2

        return httpx2.create_ssl_context()


def _azure_url(base_url: str) -> str:
    """Return the URL below which Azure has its deployments."""
    url = base_url.rstrip("/")
    return url if re.search(r"/openai(/|$)", url) else f"{url}/openai"


def map_error(
    error: Exception, *, where: str, secret: str | None = None, now: datetime | None = None
) -> AletheiaError:
    """Return our error for one of `openai`. `secret` is cut out of every message.

    Raises `KeyError` for a class that has no entry, which a test rules out for this release.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        headers = error.response.headers
        wait = retry_after(headers, now or datetime.now(UTC))
        said = _clean(complaint(error.body), secret)
        return failure(error.status_code, said, where=where, retry_after_s=wait)
    if isinstance(error, openai.APIConnectionError):
        told = redacted(_root_cause(error), secret)
        usage = requests_only(1) if _never_connected(error) else Usage()
        return ModelUnavailable(f"no answer from `{where}`: {told}", usage=usage)
    kind = _OTHER_CLASSES[_nearest_known(error)]
    return kind(f"`{where}`: {redacted(str(error), secret)}")


def _never_connected(error: BaseException) -> bool:
    """Whether the request did not reach the endpoint, which then charges nothing."""
    # The classes above the lowest one call every lost connection one that was never made.
    lowest = _lowest(error, of="aiohttp") or _lowest(error, of="httpx2")
    names = [kind.__name__ for kind in type(lowest).__mro__]
    return not _NOT_REACHED.isdisjoint(names)


def _lowest(error: BaseException | None, *, of: str) -> BaseException | None:
    """Return the last cause that comes from the library `of`, None where there is none."""
    found = None
    while error is not None:
        if type(error).__module__.partition(".")[0] == of:
            found = error
        error = error.__cause__
    return found


def _nearest_known(error: Exception) -> str:
    names = [kind.__name__ for kind in type(error).__mro__]
    return next((name for name in names if name in _OTHER_CLASSES), "OpenAIError")


def _clean(said: Complaint, secret: str | None) -> Complaint:
    return Complaint(message=redacted(said.message, secret), param=said.param, words=said.words)


def _root_cause(error: BaseException) -> str:
    """Return what the lowest layer said; `openai` itself says no more than "Connection error."."""
    while error.__cause__ is not None:
        error = error.__cause__
    # Some carry a text and put a status before it that the endpoint never sent.
    said = getattr(error, "message", None)
    if said is None:
        return str(error) or type(error).__name__
    return said if isinstance(said, str) else "the connection ended within the headers"
