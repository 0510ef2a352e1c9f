"""A cached property without a lock.

In Python 3.11, `functools.cached_property` holds one lock for all instances, so threads that estimate different
columns would wait for each other. Without a lock, two threads that read the property of one instance at the same time
both compute it, and one of the equal results is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["lazy"]

Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - used as a decorator, like `property`
    """A property that is computed once and then stored in the instance.

    Examples
    --------
    >>> from countwise._cached import lazy
    >>> class Circle:
    ...     @lazy
    ...     def area(self):
    ...         print("computing")
    ...         return 3
    >>> circle = Circle()
    >>> circle.area + circle.area
    computing
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
