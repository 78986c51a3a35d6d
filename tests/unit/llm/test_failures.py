"""What error bodies and headers say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aletheia.llm.failures import complaint, redacted, retry_after

NOW = datetime(2026, 10, 21, 7, 28, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("body", "message", "param"),
    [
        ({"error": {"message": "no", "param": "temperature"}}, "no", "temperature"),
        ({"message": "no", "param": None}, "no", None),
        ({"error": "no"}, "no", None),
        ({"detail": "no"}, "no", None),
        (
            {"detail": [{"loc": ["body", "x"], "msg": "extra", "input": "LONG"}]},
            "body.x: extra",
            None,
        ),
        ({"detail": [5]}, "5", None),
        ({"error": {"code": "bad", "param": 3}}, "bad 3", None),
        ({"error": {"message": "", "innererror": {"code": "Policy"}}}, "Policy", None),
        ({}, "", None),
        ("<html>no</html>", "<html>no</html>", None),
        (None, "", None),
    ],
)
def test_an_error_body_of_any_shape_is_read(body: object, message: str, param: str | None) -> None:
    said = complaint(body)
    assert (said.message, said.param) == (message, param)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:12 GMT"}, 12.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:12"}, 12.0),
        ({"retry-after": "Wed, 21 Oct 2026 09:28:12 +0200"}, 12.0),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:12 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 41 Oct 2026 07:28:12 GMT"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after_as_number_date_or_nonsense(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key my+key(1) is bad", "key *** is bad"),
        (
            "Incorrect API key provided: sk-proj-ab12CD34**** here",
            "Incorrect API key provided: *** here",
        ),
        ("header Bearer abcdefghij failed", "header *** failed"),
        ("two\nlines\x1b[31m and\ttabs", "two lines [31m and tabs"),
        ("x" * 400, "x" * 299 + "…"),
    ],
)
def test_text_of_an_endpoint_becomes_one_safe_line(text: str, shown: str) -> None:
    assert redacted(text, "my+key(1)") == shown
