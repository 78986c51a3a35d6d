"""The pytest plugin, in test runs of its own."""

from __future__ import annotations

import pytest

pytest_plugins = ("pytester",)

# The plugin is loaded by name, whether or not it is installed as a plugin as well.
LOADED = ("-p", "no:aletheia", "-p", "aletheia.pytest_plugin", "-p", "no:cacheprovider")

EVIDENCE = '["The pump runs at 40 Hz.", "Mara Quint built it in 1911."]'


def outcome(pytester: pytest.Pytester, body: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(f"EVIDENCE = {EVIDENCE}\n\n{body}")
    return pytester.runpytest_inprocess(*LOADED, *arguments)


def case(call: str, fixture: str = "assert_grounded") -> str:
    return f"def test_it({fixture}):\n    {call}\n"


@pytest.mark.parametrize(
    "call",
    [
        'assert_grounded(EVIDENCE, {"answer": "It runs at 40 Hz.", "evidence_ids": ["E1"]})',
        'assert_grounded(EVIDENCE, {"answer": "INSUFFICIENT_CONTEXT", "evidence_ids": []})',
        'assert_grounded(EVIDENCE, \'{"answer": "It runs at 40 Hz (E1).", "evidence_ids": []}\', mode="lenient")',
        'assert assert_grounded(EVIDENCE, {"answer": "It runs at 40 Hz.", "evidence_ids": ["E1"]}).cited_ids == ("E1",)',
    ],
)
def test_a_grounded_reply_passes(pytester: pytest.Pytester, call: str) -> None:
    outcome(pytester, case(call)).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            'assert_grounded(EVIDENCE, {"answer": "Built in 1912.", "evidence_ids": ["E2"]})',
            [
                "*the reply is not grounded in the evidence it cites",
                "*answer: Built in 1912.",
                "*cited:  E2",
                "*reason: uncited_entities: *",
                "*date or time `1912` at 9-13: *; the evidence has `1911`",
            ],
        ),
        (
            'assert_grounded(EVIDENCE, {"answer": "Mara Quint built it.", "evidence_ids": ["E1"]})',
            ["*E2, which is not cited, carries it*"],
        ),
        (
            'assert_grounded(EVIDENCE, {"answer": "Built in 1912.", "evidence_ids": ["E2"]}, mode="lenient")',
            ["*reason: uncited_entities: *"],
        ),
        (
            'assert_grounded(EVIDENCE, {"answer": "Built in 1912.", "evidence_ids": ["E2"]}, mode="off")',
            ["*date or time `1912`*"],
        ),
        ('assert_grounded(EVIDENCE, "not JSON")', ["*answer: none could be read", "*parse_error*"]),
        ("assert_grounded(EVIDENCE, None)", ["*parse_error*"]),
        (
            'assert_grounded(EVIDENCE, {"answer": "INSUFFICIENT_CONTEXT", "evidence_ids": []}, allow_abstention=False)',
            ["*the reply abstains*"],
        ),
        (
            'assert_grounded(EVIDENCE, {"answer": "Built by \\x1b[31m Bo Hale.", "evidence_ids": ["E2"]})',
            ["*answer: Built by ‹ESC›*"],
        ),
    ],
)
def test_a_reply_that_fails_fails_the_test_in_every_mode_and_says_why(
    pytester: pytest.Pytester, call: str, said: list[str]
) -> None:
    result = outcome(pytester, case(call))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(said)


def test_a_misspelled_mode_is_an_error_and_no_verdict(pytester: pytest.Pytester) -> None:
    result = outcome(pytester, case('assert_grounded(EVIDENCE, {"answer": "x"}, mode="stict")'))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*did you mean `strict`*"])


def test_the_other_fixture_is_verify_itself(pytester: pytest.Pytester) -> None:
    body = "import aletheia\n\n" + case(
        "assert aletheia_verify is aletheia.verify", "aletheia_verify"
    )

    outcome(pytester, body).assert_outcomes(passed=1)


def test_fixtures_are_listed_with_what_they_do(pytester: pytest.Pytester) -> None:
    result = outcome(pytester, "", "--fixtures")

    result.stdout.fnmatch_lines(["assert_grounded*", "*fails the test unless*"])


def test_nothing_is_imported_where_it_is_not_used(pytester: pytest.Pytester) -> None:
    body = (
        "import sys\n\n"
        "def test_it():\n"
        "    loaded = [name for name in sys.modules if name.startswith('aletheia.')]\n"
        "    assert sorted(loaded) == ['aletheia._version', 'aletheia.pytest_plugin']\n"
    )
    pytester.makepyfile(body)

    pytester.runpytest_subprocess(*LOADED).assert_outcomes(passed=1)
