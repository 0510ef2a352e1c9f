"""A property that is worked out once.

Python 3.11's `functools.cached_property` holds one lock for all instances while it works, so that
threads that settle different columns wait for each other. Here there is none: two threads that ask
one instance at the same moment both work, and either's answer is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["lazy"]

Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - used as a decorator, like `property`
    """A property whose value is kept in the instance once it is known.

    Examples
    --------
    >>> from countwise._cached import lazy
    >>> class Circle:
    ...     @lazy
    ...     def area(self):
    ...         print("working")
    ...         return 3
    >>> circle = Circle()
    >>> circle.area + circle.area
    working
    6
    """

    def __init__(self, work: Callable[[Any], Value]) -> None:
        self.work = work
        self.__doc__ = work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = self.work(instance)
        vars(instance)[self.name] = value
        return value
