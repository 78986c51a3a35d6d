"""The built-in mask and hooks: what is taken out, what stays, and that equal values stay equal."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from aletheia.config import Settings
from aletheia.errors import ConfigError, DataError
from aletheia.pipeline.redact import Mask, redaction_of
from aletheia.pipeline.stored import capture
from aletheia.schema.trace import ContextChunk

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1c7+9z5Pad7Oejecs\nabc==\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("jane.doe@example.org", "[EMAIL-1]"),
        (
            "Mail JANE+x@sub.example.co.uk, or o'neil@example.com.",
            "Mail [EMAIL-1], or [EMAIL-2].",
        ),
        ("jürgen@müller.de", "[EMAIL-1]"),
        ("用户@例子.公司", "[EMAIL-1]"),
        (
            "<jane@example.org>; mailto:jane@example.org?x=1",
            "<[EMAIL-1]>; mailto:[EMAIL-1]?x=1",
        ),
        ("sk-proj-abcdefghijklmnop1234", "[KEY-1]"),
        ("sk-ant-api03-AbCdEfGhIjKlMnOp_-12", "[KEY-1]"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[KEY-1]"),
        ("AKIAIOSFODNN7EXAMPLE", "[KEY-1]"),
        (f"token {JWT}.", "token [KEY-1]."),
        ("Authorization: Bearer abcDEF1234567890xyz==", "Authorization: Bearer [KEY-1]"),
        (f"before\n{PEM}\nafter", "before\n[KEY-1]\nafter"),
        (PEM[:60], "[KEY-1]"),
        ("postgres://user:s3cret@db.example.com/x", "postgres://user:[KEY-1]@db.example.com/x"),
        ("DB_PASSWORD=hunter2hunter2", "DB_PASSWORD=[KEY-1]"),
        ('"api_key": "a1b2c3d4e5f6"', '"api_key": "[KEY-1]"'),
        ("4111 1111 1111 1111", "[CARD-1]"),
        ("378282246310005", "[CARD-1]"),
        ("DE89 3704 0044 0532 0130 00 BANK", "[IBAN-1] BANK"),
        ("GB29NWBK60161331926819", "[IBAN-1]"),
        ("+49 711 1234567", "[PHONE-1]"),
        ("+49 (0) 711 123-456", "[PHONE-1]"),
        ("+1 (555) 123-4567", "[PHONE-1]"),
        ("+442079460958 and +44 20 7946 0958", "[PHONE-1] and [PHONE-1]"),
        ("0049 711 123456", "[PHONE-1]"),
        ("(212) 555-0143, 212.555.0144", "[PHONE-1], [PHONE-2]"),
        ("020 7946 0958", "[PHONE-1]"),
        ("0711/123456-0", "[PHONE-1]"),
        ("06 12 34 56 78", "[PHONE-1]"),
        ("phone 5551234567", "phone [PHONE-1]"),
        ("Tel.: 123-4567", "Tel.: [PHONE-1]"),
        ("call us at 555 0143 22", "call us at [PHONE-1]"),
    ],
)
def test_the_mask_takes_out(text: str, masked: str) -> None:
    assert Mask()(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "In 1911, 1999-2003 and 2024-05-12",
        "12.05.2024 and 12/05/2024 at 23:59:59, BA 0123 at 12:30-14:30",
        "version 2.10.1, 10.0.19045.3803 and pkg@1.2.3",
        "192.168.100.200 and 10.0.0.1:8080",
        "order 123456, case 98-7654, 1234567890, 20240501123456",
        "1,234,567.89 EUR, $1 234 567, €1.234.567, +12.345.678 EUR, +15000000 %",
        "+10 2020 2021 2022 and +5 2024-05-01",
        "+49.123456, +11.234567",
        "ISBN 978-3-16-148410-0, EAN 4006381333931",
        "550e8400-e29b-41d4-a716-446655440000, CVE-2024-123456",
        "RFC 2616, ISO 8601-1:2019, Section 01-02-03, page 12 of 345, 2019 6789",
        "3.14159265358979, 0.123 456 789, 1700000000000 ms",
        "4111 1111 1111 1112 is no card, DE12 is a road",
        "icon@2x.png, git@github.com:org/repo.git, @handle, http://example.org:8080/a@b",
        "sk-learn and sk-short",
        "the password: must have at least eight characters; max_tokens: 4096; token = something",
        "bearer certificates of deposit-and-loans, basic understanding-of-telecommunications",
        "the phone has 4096 MB and costs 1200, call 1000000 users, a phone in 2024 and 2025",
        "phone: 2024-05-12 12:30, fax in 1985 1986",
        "GDP of 21 433 226 in 2019, 4 000 000 000 people, 5 100 200 300",
        "0123 items, the 555 123 units, mobile 5 of 10",
        "[E1] and [email] and E-mail",
    ],
)
def test_the_mask_leaves(text: str) -> None:
    """Years, versions, short ids, prices: what answers are checked by."""
    assert Mask()(text) == text


def test_a_masked_text_is_not_masked_again() -> None:
    once = Mask()("jane@example.org, +49 711 1234567, sk-proj-abcdefghijklmnop1234")

    assert Mask()(once) == once


@pytest.mark.parametrize(
    "text",
    [
        *("a" * 20_000, "1 " * 10_000, "a." * 10_000, "0-" * 10_000, "a_" * 10_000, "x@" * 10_000),
        *("+1" * 10_000, "-----BEGIN AB-----" * 1_000, "DE12 " * 4_000, "tel " * 5_000),
        "x" * 10_000 + "@" + "a-" * 5_000,
    ],
    ids=lambda text: text[:8],
)
def test_no_text_takes_the_mask_long(text: str) -> None:
    """CPU seconds, with room for a slow machine; a square would take minutes."""
    started = time.thread_time()
    Mask()(text)

    assert time.thread_time() - started < 5.0


# --- a trace ----------------------------------------------------------------------------------

ONCE = Settings(redact="mask")


def chunk(rank: int, text: str, source: str | None = None) -> ContextChunk:
    return ContextChunk(text=text, rank=rank, source=source, score=0.5)


def test_one_value_has_one_mark_in_all_texts_of_a_trace() -> None:
    kept = capture(
        "Is it jane@example.org or bob@example.org?",
        [
            chunk(0, "Bob is bob@example.org.", "mailto:bob@example.org"),
            chunk(1, "Jane is JANE@example.org, call +44 20 7946 0958."),
        ],
        "It is jane@example.org, +442079460958.",
        ONCE,
        notes={"blank_chunks": "1"},
    )

    assert kept.query == "Is it [EMAIL-1] or [EMAIL-2]?"
    assert [item.text for item in kept.chunks] == [
        "Bob is [EMAIL-2].",
        "Jane is [EMAIL-1], call [PHONE-1].",
    ]
    assert [item.source for item in kept.chunks] == ["mailto:[EMAIL-2]", None]
    assert [(item.rank, item.score) for item in kept.chunks] == [(0, 0.5), (1, 0.5)]
    assert kept.response == "It is [EMAIL-1], [PHONE-1]."
    assert kept.notes == {"blank_chunks": "1", "redacted": "email 2, phone 1"}


def test_the_next_trace_begins_to_count_anew() -> None:
    first, second = (capture(None, [], text, ONCE) for text in ("a@b.org", "c@d.org"))

    assert (first.response, second.response) == ("[EMAIL-1]", "[EMAIL-1]")


def test_off_is_the_default_and_changes_nothing() -> None:
    kept = capture("jane@example.org", [], "x", Settings())

    assert (kept.query, kept.notes) == ("jane@example.org", {})


def shouted(text: str) -> str:
    return text.upper()


def emptied(text: str) -> str:
    return ""


def test_a_hook_sees_every_text_and_wins_over_the_settings() -> None:
    kept = capture("who", [chunk(0, "him", "book")], "him", ONCE, redact=shouted)

    assert (kept.query, kept.chunks[0].text, kept.chunks[0].source) == ("WHO", "HIM", "BOOK")
    assert (kept.response, kept.notes) == ("HIM", {"redacted": "shouted"})


def test_a_chunk_of_which_nothing_is_left_keeps_its_rank() -> None:
    kept = capture("who", [chunk(0, "him")], "him", ONCE, redact=emptied)

    assert [(item.rank, item.text) for item in kept.chunks] == [(0, "[redacted]")]


def test_a_hook_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_hooks.py").write_text("low = str.lower\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    kept = capture("WHO", [], "HIM", Settings(redact="my_hooks:low"))

    assert (kept.query, kept.notes["redacted"]) == ("who", "my_hooks:low")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("on", "`redact` is 'on'"),
        ("nowhere.at_all:f", "No module named 'nowhere'"),
        ("json:nothing", "has no attribute 'nothing'"),
        ("json:__name__", "a `str`"),
        (":f", "`redact` is ':f'"),
    ],
)
def test_a_name_that_leads_to_no_function_is_refused(name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        redaction_of(Settings(), name)
    assert said in str(caught.value)
    assert "`module:function`" in str(caught.value)


def raising(text: str) -> str:
    raise KeyError(text)


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (raising, "failed with KeyError"),
        (lambda text: None, "returned a `NoneType`"),
        (lambda text: text.encode(), "returned a `bytes`"),
    ],
)
def test_a_hook_that_fails_keeps_nothing_and_shows_no_text(hook: Any, said: str) -> None:
    with pytest.raises(DataError) as caught:
        capture("a secret", [], "x", Settings(), redact=hook)
    assert said in str(caught.value)
    assert caught.value.field == "query"
    assert "secret" not in str(caught.value)
