"""The files and batches of an endpoint that has the Batch API of OpenAI.

A batch is paid for once it is made, so making one is careful: each carries a random token in its
metadata, and where the answer to the request is lost, the batch is looked up by its token before
another one is made.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aletheia.errors import (
    AletheiaError,
    ConfigError,
    ModelBadReply,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from aletheia.llm.batch import ENDPOINT, BatchRequest
from aletheia.llm.batch_results import BatchResults, read_results
from aletheia.llm.batch_status import TOKEN, BatchStatus, read_page, read_status
from aletheia.llm.openai_client import OpenAIConnection, RawAnswer
from aletheia.llm.openai_wire import Shape
from aletheia.llm.retry import Retrier, RetryPolicy

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")

_ABSENT: Final = frozenset({404, 405, 501})
_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class _Content:
    """What a request gives to the connection that has read its own answer already."""

    content: bytes = b"null"


class BatchClient:
    """Makes batches, looks at them and fetches what they brought.

    What may pass is tried again as `policy` says. An upload may take long: the time limit of
    `connection` is that of one request. Raises `ConfigError` where the endpoint has no Batch API.
    """

    def __init__(
        self,
        connection: OpenAIConnection,
        policy: RetryPolicy | None = None,
        *,
        retrier: Retrier | None = None,
    ) -> None:
        self._connection = connection
        self._retrier = retrier or Retrier(policy or RetryPolicy())

    @property
    def base_url(self) -> str:
        """URL of the endpoint."""
        return self._connection.base_url

    async def submit(self, requests: Sequence[BatchRequest], token: str) -> BatchStatus:
        """Upload the requests and make one batch of them, which carries `token`.

        After `ModelRefused` or `ConfigError` the batch was not made. After any other error that is
        not known: `find` tells.
        """
        content = b"".join(request.line() for request in requests)
        file_id = await self._retried(lambda: self._upload(content, token))
        try:
            return await self._retried(_Making(self, file_id, token))
        except (ModelRefused, ConfigError):
            await self._discard(file_id)
            raise

    async def status(self, batch_id: str) -> BatchStatus:
        """Look at a batch. Raises `ModelRefused` where the endpoint does not know it."""
        try:
            body = await self._retried(
                lambda: self._connection.call(
                    lambda client: client.batches.with_raw_response.retrieve(batch_id)
                )
            )
        except ModelRefused as error:
            if error.status == 404:
                error.hint = f"batch `{batch_id}` was made with another key or at another endpoint"
            raise
        return read_status(body)

    async def find(self, token: str) -> BatchStatus | None:
        """Return the batch that carries a token, None where there is none."""
        async for batch in self._all():
            if batch.token == token:
                return batch
        return None

    async def cancel(self, batch_id: str) -> BatchStatus:
        """Stop a batch; what it has answered by then is kept. Returns it as it is now."""
        body = await self._retried(
            lambda: self._connection.call(
                lambda client: client.batches.with_raw_response.cancel(batch_id)
            )
        )
        return read_status(body)

    async def results(
        self, batch: BatchStatus, asked: Collection[str], *, shape: Shape
    ) -> BatchResults:
        """Fetch what an ended batch brought for the items `asked`, which went out in `shape`."""
        named = {"output file": batch.output_file_id, "error file": batch.error_file_id}
        files = {
            f"{name} of `{batch.id}`": await self._fetch(file_id)
            for name, file_id in named.items()
            if file_id is not None
        }
        return read_results(asked, files, shape=shape, whole=batch.state == "completed")

    async def make(self, file_id: str, token: str) -> BatchStatus:
        """Send the one request that makes a batch of an uploaded file. `submit` is what to use."""
        body = await self._present(
            lambda client: client.batches.with_raw_response.create(
                completion_window="24h",
                endpoint=ENDPOINT,
                input_file_id=file_id,
                metadata={TOKEN: token},
            )
        )
        return read_status(body)

    async def _upload(self, content: bytes, token: str) -> str:
        name = f"aletheia-{token}.jsonl"
        body = await self._present(
            lambda client: client.files.with_raw_response.create(
                file=(name, content, "application/jsonl"), purpose="batch"
            )
        )
        file_id = body.get("id") if isinstance(body, Mapping) else None
        if not isinstance(file_id, str) or not file_id:
            raise ModelBadReply(f"`{self.base_url}` took a file and gave it no id")
        return file_id

    async def _fetch(self, file_id: str) -> bytes:
        try:
            return await self._retried(_Fetching(self._connection, file_id))
        except ModelRefused as error:
            if error.status == 404:
                error.hint = f"the endpoint no longer has the file `{file_id}`"
            raise

    async def _discard(self, file_id: str) -> None:
        try:
            await self._connection.call(
                lambda client: client.files.with_raw_response.delete(file_id)
            )
        except AletheiaError:
            return  # the endpoint removes it in time

    async def _all(self) -> AsyncIterator[BatchStatus]:
        """All batches of the account, the newest first."""
        last: str | None = None
        while True:
            page = await self._retried(_Listing(self, last))
            batches, more = read_page(page)
            for batch in batches:
                yield batch
            # An endpoint that ignores the cursor would give the first page for ever.
            if not batches or not more or batches[-1].id == last:
                return
            last = batches[-1].id

    async def page(self, after: str | None) -> object:
        """Ask for one page of the list of batches and return its JSON."""
        return await self._present(
            lambda client: (
                client.batches.with_raw_response.list(limit=_PAGE)
                if after is None
                else client.batches.with_raw_response.list(limit=_PAGE, after=after)
            )
        )

    async def _present(self, request: Callable[[AsyncOpenAI], Awaitable[RawAnswer]]) -> Any:  # noqa: ANN401 - parsed JSON
        """Send a request that only an endpoint without a Batch API answers with 404."""
        try:
            return await self._connection.call(request)
        except ModelError as error:
            if error.status in _ABSENT:
                raise _no_batch_api(self.base_url, error) from None
            raise

    async def _retried(self, call: Callable[[], Awaitable[T]]) -> T:
        return (await self._retrier.run(call)).value


@dataclass(slots=True)
class _Making:
    """The making of one batch, which may be tried again: it never makes two."""

    client: BatchClient
    file_id: str
    token: str
    in_doubt: bool = False

    async def __call__(self) -> BatchStatus:
        if self.in_doubt:
            found = await self.client.find(self.token)
            if found is not None:
                return found
        try:
            return await self.client.make(self.file_id, self.token)
        except ModelUnavailable as error:
            # 429 says that nothing was done; after anything else the batch may be there.
            self.in_doubt = self.in_doubt or error.status != 429
            raise


@dataclass(frozen=True, slots=True)
class _Listing:
    """One page of the list of batches."""

    client: BatchClient
    after: str | None

    async def __call__(self) -> object:
        return await self.client.page(self.after)


@dataclass(frozen=True, slots=True)
class _Fetching:
    """The content of one file."""

    connection: OpenAIConnection
    file_id: str

    async def __call__(self) -> bytes:
        fetched: list[bytes] = []

        async def fetch(client: AsyncOpenAI) -> RawAnswer:
            answer = await client.files.with_raw_response.content(self.file_id)
            fetched.append(answer.content)
            return _Content()  # the connection reads JSON, and a file is many lines of it

        await self.connection.call(fetch)
        return fetched[-1]


def _no_batch_api(where: str, error: ModelError) -> ConfigError:
    return ConfigError(
        f"`{where}` has no Batch API: it answered {error.status} to a request for files or batches",
        hint="run without `--batch`, or set `OPENAI_BASE_URL` to an endpoint that has one",
    )
