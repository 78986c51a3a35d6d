"""The names that `aletheia` offers, and what it costs to import them."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import pytest

import aletheia
from aletheia import errors


def loaded_by(statement: str) -> set[str]:
    """Modules that a fresh interpreter loads for `statement`."""
    program = (
        f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


def test_the_names_are_sorted_and_listed_once() -> None:
    assert aletheia.__all__ == sorted(set(aletheia.__all__))


@pytest.mark.parametrize("name", aletheia.__all__)
def test_a_listed_name_exists_and_shows_in_dir(name: str) -> None:
    assert getattr(aletheia, name) is getattr(aletheia, name)
    assert name in dir(aletheia)


@pytest.mark.parametrize(
    "name", [name for name in aletheia.__all__ if callable(getattr(aletheia, name))]
)
def test_a_listed_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(aletheia, name))


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="`veriffy`"):
        aletheia.veriffy  # noqa: B018
    assert not hasattr(aletheia, "__wrapped__")


def test_the_signature_of_verify_is_the_contract() -> None:
    parameters = inspect.signature(aletheia.verify).parameters

    assert list(parameters)[:4] == ["evidence", "reply", "question", "mode"]
    assert parameters["question"].default is None
    assert parameters["mode"].default == "strict"


def test_importing_the_package_loads_nothing_but_the_version() -> None:
    loaded = loaded_by("import aletheia")

    assert {name for name in loaded if name.startswith("aletheia")} == {
        "aletheia",
        "aletheia._version",
    }
    assert {name.partition(".")[0] for name in loaded} <= {"aletheia", *sys.stdlib_module_names}


def test_verifying_loads_one_library() -> None:
    loaded = loaded_by("import aletheia; aletheia.verify(['It opened in 1911.'], '{}')")

    libraries = {name.partition(".")[0] for name in loaded if "cython" not in name}
    libraries -= set(sys.stdlib_module_names)
    assert libraries <= {"aletheia", "rapidfuzz"}


def test_the_help_of_the_program_loads_no_library_but_its_own() -> None:
    loaded = loaded_by("from aletheia.cli.app import run; run(['--version'])")

    heavy = {"pydantic", "numpy", "openai", "ragas", "datasets", "networkx", "rich", "rapidfuzz"}
    assert {name.partition(".")[0] for name in loaded} & heavy == set()


ERRORS = [
    item
    for _, item in inspect.getmembers(errors, inspect.isclass)
    if issubclass(item, errors.AletheiaError)
]


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_stands_in_the_drawn_tree_and_has_an_exit_code(
    error: type[errors.AletheiaError],
) -> None:
    assert error.__name__ in (errors.__doc__ or "")
    assert error.exit_code > 0


def test_a_result_survives_pickling() -> None:
    """A caller may verify in worker processes."""
    result = aletheia.verify(["It opened in 1911."], "{}")

    assert pickle.loads(pickle.dumps(result)) == result
