"""What databases report, as one error of ours each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError, StatementError

from aletheia.errors import AletheiaError, MissingExtra, StoreError
from aletheia.store.address import Address

_TRY_LATER: Final = "try again when it is done"
_SQLITE: Final = (
    (("SQLITE_NOTADB",), "`{name}` is not a SQLite database", None),
    (("SQLITE_CORRUPT",), "`{name}` is damaged: {said}", "move the file away; a new one is made"),
    (
        ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"),
        "the traces in `{name}` cannot be written: {said}",
        None,
    ),
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        "`{name}` is in use by another program: {said}",
        _TRY_LATER,
    ),
    (("SQLITE_FULL",), "there is no room left for `{name}`: {said}", None),
)
_POSTGRES: Final = (
    (("25006", "42501"), "the traces in `{name}` cannot be written: {said}", None),
    (("55P03", "40P01", "40001"), "`{name}` is in use by another program: {said}", _TRY_LATER),
    (("53100",), "there is no room left for `{name}`: {said}", None),
    (
        ("42P07",),
        "`{name}` holds a table of the same name that is not ours: {said}",
        "use a database or a schema of its own",
    ),
)


@contextmanager
def mapped(address: Address) -> Iterator[None]:
    """Turn whatever the library and the driver raise inside into `StoreError`."""
    try:
        yield
    except StatementError as error:
        # Our own types say what is wrong with a value.
        if isinstance(error.orig, AletheiaError):
            raise error.orig from None
        raise store_error(address, error) from None
    except NoSuchModuleError:
        raise StoreError(f"there is no driver for `{address.shown}`", hint=address.hint) from None
    except ModuleNotFoundError as error:
        if address.path is not None:
            raise
        raise MissingExtra(f"a store in PostgreSQL (`{error.name}`)", "postgres") from None
    except SQLAlchemyError as error:
        raise StoreError(
            f"the store in `{address.name}` cannot be used: {_first_line(error)}",
            hint=address.hint,
        ) from None
    except OverflowError:
        raise StoreError("a whole number has more than 64 bits") from None
    except OSError as error:
        raise StoreError(
            f"`{address.name}` cannot be used: {error.strerror or error}", hint=address.hint
        ) from None


def store_error(address: Address, error: StatementError) -> StoreError:
    """Say what a driver reported, without the values of the statement."""
    said = _first_line(error.orig or error)
    code, table = _code(error)
    for begins, message, hint in table:
        if code.startswith(begins):
            return StoreError(
                message.format(name=address.name, said=said), hint=hint or address.hint
            )
    if address.path is None and not code:
        return StoreError(f"`{address.name}` cannot be reached: {said}", hint=address.hint)
    return StoreError(f"the store in `{address.name}` cannot be used: {said}", hint=address.hint)


def is_passing(error: BaseException) -> bool:
    """Whether the same work may succeed when it is done again: two writers held each other up."""
    return isinstance(error, StatementError) and _code(error)[0] in ("40P01", "40001")


def is_busy(error: BaseException) -> bool:
    """Whether SQLite says that somebody else holds the file."""
    return str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY")


def _code(error: StatementError) -> tuple[str, tuple[tuple[tuple[str, ...], str, str | None], ...]]:
    name = getattr(error.orig, "sqlite_errorname", None)
    if name is not None:
        return str(name), _SQLITE
    return str(getattr(error.orig, "sqlstate", None) or ""), _POSTGRES


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
