"""Who wants to know how far the work has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["current", "reporting"]

_listener: ContextVar[Callable[[int], None] | None] = ContextVar("countwise_progress", default=None)


def current() -> Callable[[int], None] | None:
    """The function to call with the number of rows done, if anybody listens."""
    return _listener.get()


@contextmanager
def reporting(listener: Callable[[int], None]) -> Iterator[None]:
    """Tell `listener` how many rows of the present piece are done.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.progress import reporting
    >>> heard = []
    >>> with reporting(heard.append):
    ...     _ = NaiveBayesClassifier().fit(samples.load("rain").X, samples.load("rain").y)
    >>> heard[-1]
    6
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
