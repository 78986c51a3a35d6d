"""An attribute that is worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, overload

S = TypeVar("S")
T = TypeVar("T")


class lazy(Generic[S, T]):  # noqa: N801 - used as a decorator, like `property`
    """`functools.cached_property` without its lock, which Python 3.11 takes a dozen times a record.

    What has such attributes belongs to one verification, and so to one thread.
    """

    def __init__(self, function: Callable[[S], T]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type[S]) -> lazy[S, T]: ...

    @overload
    def __get__(self, instance: S, owner: type[S]) -> T: ...

    def __get__(self, instance: S | None, owner: type[S]) -> lazy[S, T] | T:
        if instance is None:
            return self
        # The value hides this descriptor from now on: it has no `__set__`.
        value = instance.__dict__[self._name] = self._function(instance)
        return value
